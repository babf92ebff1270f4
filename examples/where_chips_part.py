"""Where five chips part on a decoder of GPT-2's size, and what it does to the text.

Twelve layers, 768 wide, BF16, random weights from a seed. Each chip (A100, H100, B200, MI250X, MI300X) generates 64 tokens greedily
after a prompt of 32. Then all read the first chip's text, each on its own values (`bitmma.torch.compare`): how the
difference grows from layer to layer to the logits, and at how many of the 64 places another token becomes the most likely.

    python examples/where_chips_part.py [page.html]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import torch
from decoder import Cache, Decoder

import bitmma
from bitmma.torch import Comparison

CHIPS = ("a100", "h100", "b200", "mi250x", "mi300x")
SIZES = {"layers": 12, "width": 768, "heads": 12, "classes": 50257}
PROMPT, TOKENS = 32, 64


def decoder(seed: int = 0, **sizes: int) -> tuple[Decoder, torch.Tensor]:
    """The model and a prompt."""
    torch.manual_seed(seed)
    model = Decoder(**sizes).bfloat16().eval()
    return model, torch.randint(sizes["classes"], (1, PROMPT))


@torch.no_grad()
def write(model: Decoder, prompt: torch.Tensor, count: int, chip: str) -> list[int]:
    """The most likely tokens one after the other, on a chip's arithmetic."""
    cache: Cache = []
    written: list[int] = []
    step = prompt
    with bitmma.torch.emulate(chip):
        for _ in range(count):
            written.append(int(model(step, cache)[0, -1].argmax()))
            step = torch.tensor([[written[-1]]])
    return written


def growth(model: Decoder, prompt: torch.Tensor, text: list[int], chips: Sequence[str] = CHIPS) -> Comparison:
    """Each chip reads the prompt and a text; the logits compared are those that say the text's tokens."""
    ids = torch.cat([prompt, torch.tensor([text])], 1)
    return bitmma.torch.compare(model, ids, chips=list(chips), logits=lambda output: output[:, prompt.shape[1] - 1 : -1])


def departs(text: list[int], other: list[int]) -> int | None:
    """The first token at which two texts differ."""
    return next((place for place, (x, y) in enumerate(zip(text, other)) if x != y), None)


def report(found: Comparison, texts: dict[str, list[int]]) -> str:
    """Growth and texts in words."""
    base = found.chips[0]
    depth = [row for row in found.modules if row.name.startswith("blocks.") and row.name.count(".") == 1] + [found.modules[-1]]
    lines = [f"share of elements that differ from {base} (relative size)", " " * 10 + "".join(f"{chip:>19}" for chip in found.others)]
    for row in depth:
        cells = [f"{row.differences[chip].share:.2%} ({row.differences[chip].relative:.1e})" for chip in found.others]
        lines.append(f"{row.name or 'logits':10}" + "".join(f"{cell:>19}" for cell in cells))
    lines.append("")
    for chip in found.others:
        end, at = found.outcomes[chip], departs(texts[base], texts[chip])
        place = "is the same" if at is None else f"departs at token {at}"
        lines.append(
            f"{chip:7} first differs in {found.first[chip].module}; {end.flips} of the {end.positions} tokens of {base}'s text flip, "
            f"divergence {end.divergence:.1e}; the chip's own text {place}"
        )
    for label, end in found.exactness.items():
        lines.append(f"against FP64, {label}: {end.flips} of {end.positions} flip, divergence {end.divergence:.1e}")
    return "\n".join(lines)


def main() -> None:
    model, prompt = decoder(**SIZES)
    start = time.perf_counter()
    texts = {chip: write(model, prompt, TOKENS, chip) for chip in CHIPS}
    middle = time.perf_counter()
    found = growth(model, prompt, texts[CHIPS[0]])
    print(report(found, texts))
    print(f"\n{middle - start:.0f} s for {TOKENS} tokens on {len(CHIPS)} chips, {time.perf_counter() - middle:.0f} s for the comparison")
    if len(sys.argv) > 1:
        print(found.save(sys.argv[1]))


if __name__ == "__main__":
    main()
