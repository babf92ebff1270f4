"""Reinforcement learning: a trainer and a server that do not compute alike, and the importance ratio between them.

A server samples a sequence; a trainer computes the probabilities of the same tokens again, and weights each by the importance
ratio, trainer over server. With one arithmetic on both sides every ratio is 1. Here they differ: another split of K, another
chip, FP8 on the server alone, FP8 on both with and without promotion of sums. The model is a decoder with random weights from
a seed; FP8 layers quantise activations and weights to E4M3, one FP32 scale for each 128 elements along K of a row (activations) and
for each 128×128 block (weights), as DeepSeek-V3 does, or one for each row.

    python examples/rl_parity.py [page.html]
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from typing import Any

import torch
from decoder import Decoder

import bitmma
from bitmma.torch import Gemm
from bitmma.torch.page import document, figure, table

SIZES = {"layers": 12, "width": 768, "heads": 12, "classes": 50257}
PROMPT, TOKENS = 16, 48
#: Policies clip ratios outside of this.
CLIP = 0.2


class FP8(torch.nn.Linear):
    """E4M3 weights and activations with scales of rows, or of blocks along K."""

    blocks = False
    fast = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.reshape(-1, x.shape[-1])
        if self.blocks:
            a, scale_a = quantised(rows, (1, 128))
            b, scale_b = quantised(self.weight, (128, 128))
        else:
            a, scale_a = quantised(rows, (1, rows.shape[1]))
            b, scale_b = quantised(self.weight, (1, rows.shape[1]))
        y = torch._scaled_mm(a, b.t(), scale_a, scale_b.t(), out_dtype=x.dtype, use_fast_accum=self.fast)
        return (y if self.bias is None else y + self.bias).reshape(*x.shape[:-1], -1)


class FP8Blocks(FP8):
    """Scales of blocks, which only some kernels take."""

    blocks = True
    fast = False


class FP8Slow(FP8):
    """Sums moved to FP32 every 128 elements on Hopper."""

    fast = False


def quantised(x: torch.Tensor, block: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """E4M3 codes and the FP32 scale of each block, its largest number over 448."""
    rows, columns = x.shape
    tall, wide = min(block[0], rows), min(block[1], columns)
    padded = torch.nn.functional.pad(x.float(), (0, -columns % wide, 0, -rows % tall))
    tiles = padded.reshape(padded.shape[0] // tall, tall, padded.shape[1] // wide, wide)
    scale = tiles.abs().amax((1, 3)).clamp(min=1e-12) / 448
    codes = (tiles / scale[:, None, :, None]).reshape(padded.shape)[:rows, :columns]
    return codes.to(torch.float8_e4m3fn), scale


@dataclass(frozen=True)
class Side:
    """How one side computes."""

    chip: Any
    linear: type[torch.nn.Linear] = torch.nn.Linear


#: Server, trainer.
SETTINGS = {
    "H100 on both sides": (Side("h100"), Side("h100")),
    "H100, trainer splits K in four": (Side("h100"), Side(Gemm("h100", split_k=4))),
    "server H100, trainer A100": (Side("h100"), Side("a100")),
    "server H100, trainer MI300X": (Side("h100"), Side("mi300x")),
    "H100, FP8 on both, server with fast accumulation": (Side("h100", FP8), Side("h100", FP8Slow)),
    "H100, FP8 with block scales on the server alone": (Side("h100", FP8Blocks), Side("h100")),
    "H100, FP8 with row scales on the server alone": (Side("h100", FP8), Side("h100")),
}


def policy(linear: type[torch.nn.Linear], seed: int = 0, **sizes: int) -> Decoder:
    """The same weights, whatever the layers compute with."""
    torch.manual_seed(seed)
    return Decoder(**sizes, linear=linear).bfloat16().eval()


@torch.no_grad()
def probabilities(side: Side, ids: torch.Tensor, **sizes: int) -> torch.Tensor:
    """The logarithm of the probability of each token but the prompt's."""
    with bitmma.torch.emulate(side.chip):
        logits = policy(side.linear, **sizes)(ids)
    every = logits[0, :-1].double().log_softmax(-1)
    return every.gather(1, ids[0, 1:, None])[PROMPT - 1 :, 0]


@torch.no_grad()
def sampled(tokens: int, **sizes: int) -> torch.Tensor:
    """A prompt, and tokens drawn by the server in BF16."""
    model = policy(torch.nn.Linear, **sizes)
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(sizes["classes"], (1, PROMPT), generator=generator)
    cache: list[Any] = []
    step = ids
    with bitmma.torch.emulate("h100"):
        for _ in range(tokens):
            chance = model(step, cache)[0, -1].double().softmax(-1)
            step = torch.multinomial(chance, 1, generator=generator)[None]
            ids = torch.cat([ids, step], 1)
    return ids


def ratios(ids: torch.Tensor, settings: dict[str, tuple[Side, Side]] | None = None, **sizes: int) -> dict[str, torch.Tensor]:
    """The importance ratio of each token, trainer over server."""
    known: dict[Side, torch.Tensor] = {}
    found = {}
    for name, sides in (SETTINGS if settings is None else settings).items():
        for side in sides:
            if side not in known:
                known[side] = probabilities(side, ids, **sizes)
        server, trainer = (known[side] for side in sides)
        found[name] = (trainer - server).exp()
    return found


HEAD = ["", "standard deviation", "smallest", "largest", "of the sequence", "KL, nats a token", f"outside of 1 ± {CLIP}"]


def summary(found: dict[str, torch.Tensor]) -> list[list[str]]:
    """A row for each setting: spread of the ratio, ratio of the whole sequence, divergence of trainer from server, clipped tokens."""
    rows = []
    for name, ratio in found.items():
        divergence = (ratio - 1 - ratio.log()).mean().item()
        clipped = ((ratio - 1).abs() > CLIP).double().mean().item()
        cells = [f"{(ratio - 1).square().mean().sqrt().item():.2g}", f"{ratio.min().item():.4f}", f"{ratio.max().item():.4f}"]
        rows.append([name, *cells, f"{ratio.prod().item():.4f}", f"{divergence:.2g}", f"{clipped:.0%}"])
    return rows


def page(found: dict[str, torch.Tensor]) -> str:
    """The same numbers as a page."""
    tops = [0.0, *(10.0**power for power in range(-6, 0)), math.inf]
    names = ["0", "10^-6", "10^-5", "10^-4", "0.001", "0.01", "0.1", "more"]
    groups = []
    for name, ratio in found.items():
        if (ratio != 1).any():
            away = (ratio - 1).abs()
            groups.append((name, [float(((away <= top) & (away > low)).sum()) for low, top in zip([-1.0, *tops], tops)]))
    picture = figure("Importance ratios", "Tokens by how far their ratio is from 1, at most.", names, "tokens", groups)
    tokens = len(next(iter(found.values())))
    text = f"<p>{tokens} tokens that an H100 sampled in BF16. The ratio of a token is its probability on the trainer over that on the server.</p>"
    return document("Trainer and server: importance ratios", f"{text}{picture}{table(HEAD, summary(found))}")


def main() -> None:
    start = time.perf_counter()
    ids = sampled(TOKENS, **SIZES)
    found = ratios(ids, **SIZES)
    for row in [HEAD, *summary(found)]:
        print(f"{row[0]:50}" + "".join(f"{cell:>20}" for cell in row[1:]))
    print(f"\n{TOKENS} tokens, {time.perf_counter() - start:.0f} s")
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            file.write(page(found))


if __name__ == "__main__":
    main()
