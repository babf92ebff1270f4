"""Comparisons of chips, as data: ``python host_compare.py``. What they say must not depend on the machine."""

from __future__ import annotations

import json
from typing import Any

import torch

import bitmma
from host_calls import Source

F = torch.nn.functional


class Model(torch.nn.Module):
    """Functions, sums, norms, attention and convolution, in FP32 between the layers where models do so."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.norm, self.qkv = torch.nn.Embedding(16, 32), torch.nn.LayerNorm(32), torch.nn.Linear(32, 96)
        self.convolution, self.batch_norm = torch.nn.Conv1d(32, 32, 3, padding=1), torch.nn.BatchNorm1d(32)
        self.out = torch.nn.Linear(32, 16)

    def forward(self, ids: torch.Tensor) -> Any:
        x = self.embedding(ids)
        q, k, v = self.qkv(self.norm(x)).view(*ids.shape, 3, 2, 16).permute(2, 0, 3, 1, 4)
        x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5).to(x.dtype)
        x = F.silu(self.batch_norm(self.convolution(x.mT))).mT
        return self.out(F.gelu(x))


def compared(dtype: torch.dtype, chips: Any, **options: Any) -> dict[str, Any]:
    source = Source(dtype, False)
    model = Model().to(dtype).eval()
    with torch.no_grad():
        for one in model.parameters():
            one.copy_(source(*one.shape, low=-0.5, high=0.5))
    ids = torch.arange(48).view(4, 12) * 5 % 16
    labels = ids.roll(-1, 1)
    found = bitmma.torch.compare(
        model,
        ids,
        chips=chips,
        backward=True,
        loss=lambda output: F.cross_entropy(output.flatten(0, 1), labels.flatten()),
        optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=1e-2),
        **options,
    )
    data = found.to_dict()
    del data["seconds"]
    assert not any(one["machine"] for one in data["accounts"].values())
    return {"data": data, "verdict": str(found.verdict)}


def comparisons() -> list[dict[str, Any]]:
    """In BF16, where functions are rounded after them, and in FP32."""
    in_parts = {"h100": "h100", "in parts": bitmma.torch.Gemm("h100", split_k=2)}
    return [compared(torch.bfloat16, ["h100", "mi300x"]), compared(torch.float32, in_parts, fp32="tf32")]


if __name__ == "__main__":
    print(json.dumps(comparisons()))
