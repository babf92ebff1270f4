"""A decoder of GPT-2's shape with random weights, for the examples: nothing is downloaded."""

from __future__ import annotations

import torch

F = torch.nn.functional
#: Keys and values of each block, for the tokens so far.
Cache = list[tuple[torch.Tensor, torch.Tensor]]


class Block(torch.nn.Module):
    """Attention and a network of two layers, each added to what came in."""

    def __init__(self, width: int, heads: int, linear: type[torch.nn.Linear]) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = linear(width, 3 * width), linear(width, width)
        self.up, self.down = linear(width, 4 * width), linear(4 * width, width)

    def forward(self, x: torch.Tensor, cache: Cache | None = None, place: int = 0) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            if place < len(cache):
                k, v = (torch.cat([before, one], 2) for before, one in zip(cache[place], (k, v)))
            cache[place : place + 1] = [(k, v)]
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(torch.nn.Module):
    """Tokens to logits; weights from the current seed, as large as GPT-2 draws them."""

    def __init__(
        self, layers: int, width: int, heads: int, classes: int, context: int = 1024, linear: type[torch.nn.Linear] = torch.nn.Linear
    ) -> None:
        super().__init__()
        self.tokens, self.positions = torch.nn.Embedding(classes, width), torch.nn.Embedding(context, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, linear) for _ in range(layers))
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, classes, bias=False)
        for name, parameter in self.named_parameters():
            if "norm" in name:
                continue
            if name.endswith("bias"):
                torch.nn.init.zeros_(parameter)
            else:
                deep = (2 * layers) ** -0.5 if name.endswith(("out.weight", "down.weight")) else 1.0
                torch.nn.init.normal_(parameter, std=0.02 * deep)

    def forward(self, ids: torch.Tensor, cache: Cache | None = None) -> torch.Tensor:
        start = cache[0][0].shape[2] if cache else 0
        x = self.tokens(ids) + self.positions(torch.arange(start, start + ids.shape[1]))
        for place, block in enumerate(self.blocks):
            x = block(x, cache, place)
        return self.head(self.norm(x))
