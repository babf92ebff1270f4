"""``histc`` of integers, which PyTorch has on GPUs only."""

from __future__ import annotations

import torch


def histc(x: torch.Tensor, bins: int = 100, min: float = 0, max: float = 0) -> torch.Tensor:  # noqa: A002  PyTorch's names
    """How many numbers there are in each bin, in the type of the numbers; by whole numbers throughout."""
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        return torch.ops.aten.histc.default(x, bins, min, max)
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    values, low, high = x.reshape(-1).long(), int(min), int(max)
    if low == high and len(values):
        low, high = int(values.min()), int(values.max())
    if low == high:
        low, high = low - 1, high + 1
    if low > high:
        raise RuntimeError("max must be larger than min")
    inside = values[(values >= low) & (values <= high)]
    places = ((inside - low) * bins).div(high - low, rounding_mode="floor").clamp(max=bins - 1)
    return torch.bincount(places, minlength=bins).to(x.dtype)
