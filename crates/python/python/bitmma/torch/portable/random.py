"""Random numbers: the generator's bits are PyTorch's and alike everywhere, what is made of them is computed here.

PyTorch's uniform numbers in [0, 1) are whole numbers times a power of two. Normal, exponential and other numbers are functions of
them, which PyTorch computes with the machine's vectors or MKL, if it has that. Here they are functions in FP64, rounded once. The
same seed gives the same numbers on every machine; they are not those that PyTorch itself makes of the seed.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .elementwise import operation
from .native import CODE, apply, known, rounded


def _uniform(size: Any, generator: Any, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.rand(tuple(size), dtype=dtype, generator=generator)


def _normal(size: Any, generator: Any) -> torch.Tensor:
    """By Box and Muller: a sine and a cosine of each pair of uniform numbers."""
    count = math.prod(size)
    radii, angles = _uniform((2, -(-count // 2)), generator)
    radius = (apply("log1p", -radii) * -2).sqrt()
    angle = angles * (2 * math.pi)
    pairs = torch.stack([radius * apply("cos", angle), radius * apply("sin", angle)], 1)
    return pairs.reshape(-1)[:count].reshape(tuple(size))


def _exponential(size: Any, generator: Any) -> torch.Tensor:
    """With rate 1, and never zero."""
    return -apply("log1p", -_uniform(size, generator).clamp(min=2.0**-54))


@operation("uniform")
def _uniform_(x: Any, low: float = 0, high: float = 1, *, generator: Any = None) -> Any:
    if not known(x) or not low <= high:
        return NotImplemented
    found = rounded(_uniform(x.shape, generator, x.dtype).double() * (high - low) + low, x.dtype)
    return torch.where(found >= high, torch.full_like(found, low), found) if high > low else found


@operation("normal_")
def _normal_(x: Any, mean: float = 0, std: float = 1, *, generator: Any = None) -> Any:
    if not known(x) or std < 0:
        return NotImplemented
    return rounded(_normal(x.shape, generator) * std + mean, x.dtype)


@operation("normal")
def _normal_of(mean: Any, std: Any = 1, size: Any = None, *, generator: Any = None, **options: Any) -> Any:
    """Of means and deviations: tensors, or numbers and a size."""
    tensors = [one for one in (mean, std) if isinstance(one, torch.Tensor)]
    if not all(map(known, tensors)) or any((one < 0).any() if isinstance(one, torch.Tensor) else one < 0 for one in (std,)):
        return NotImplemented
    if not tensors:
        found = _made(size, {**options, "dtype": torch.float64, "generator": generator})
        dtype = options.get("dtype") or torch.get_default_dtype()
        return found if found is NotImplemented or dtype not in CODE else rounded(found * std + mean, dtype)
    shape = torch.broadcast_shapes(*(one.shape for one in tensors))
    wide = [one.double() if isinstance(one, torch.Tensor) else one for one in (mean, std)]
    return rounded(_normal(shape, generator) * wide[1] + wide[0], tensors[0].dtype)


def _made(size: Any, options: dict[str, Any]) -> Any:
    """Normal numbers as a new tensor; NotImplemented where it is none of ours."""
    dtype = options.get("dtype") or torch.get_default_dtype()
    device, layout = options.get("device"), options.get("layout")
    if dtype not in CODE or (device is not None and torch.device(device).type != "cpu") or layout not in (None, torch.strided):
        return NotImplemented
    return rounded(_normal(size, options.get("generator")), dtype)


@operation("randn")
def _randn(size: Any, **options: Any) -> Any:
    return _made(size, options) if "names" not in options else NotImplemented


@operation("randn_like")
def _randn_like(x: Any, **options: Any) -> Any:
    if not known(x) or set(options) - {"dtype", "layout", "device", "pin_memory"}:
        return NotImplemented
    found = _made(x.shape, {**options, "dtype": options.get("dtype") or x.dtype})
    return found if found is NotImplemented else torch.empty_like(x, dtype=found.dtype).copy_(found)


@operation("bernoulli_")
def _bernoulli_(x: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    return _bernoulli(x, p, generator=generator)


@operation("bernoulli")
def _bernoulli(x: Any, p: Any = None, *, generator: Any = None) -> Any:
    """Ones with the probability p, or with those in the tensor."""
    chances = x if p is None else p
    if not isinstance(chances, torch.Tensor):
        if not known(x) or not 0 <= chances <= 1:
            return NotImplemented
        return (_uniform(x.shape, generator) < chances).to(x.dtype)
    if not known(x) or not known(chances) or not ((chances >= 0) & (chances <= 1)).all():
        return NotImplemented
    return (_uniform(x.shape, generator) < chances.double()).to(x.dtype)


@operation("native_dropout")
def _dropout(x: Any, p: float, train: bool | None) -> Any:
    if not known(x) or not 0 <= p <= 1:
        return NotImplemented
    if train is False or not x.numel():
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    kept = _uniform(x.shape, None) < 1 - p
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return rounded(torch.where(kept, x.double() * scale, 0.0), x.dtype), kept


@operation("exponential")
def _exponential_(x: Any, rate: float = 1, *, generator: Any = None) -> Any:
    return rounded(_exponential(x.shape, generator) / rate, x.dtype) if known(x) and rate > 0 else NotImplemented


@operation("log_normal")
def _log_normal(x: Any, mean: float = 1, std: float = 2, *, generator: Any = None) -> Any:
    return apply("exp", _normal(x.shape, generator) * std + mean, to=x.dtype) if known(x) and std > 0 else NotImplemented


@operation("multinomial")
def _multinomial(chances: Any, count: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Places drawn by their chances: without replacement those of the smallest exponential numbers divided by the chances."""
    if not known(chances) or chances.dim() not in (1, 2) or count <= 0 or not chances.numel():
        return NotImplemented
    wide = chances.double()
    positive = (wide > 0).sum(-1)
    if not wide.isfinite().all() or (wide < 0).any() or not (positive >= (1 if replacement else count)).all():
        return NotImplemented  # PyTorch refuses it, or takes places without a chance
    draws = count if replacement else 1
    times = _exponential((draws, *wide.shape), generator) / wide
    if replacement:
        return times.argmin(-1).movedim(0, -1).contiguous()
    return times[0].sort(dim=-1, stable=True).indices[..., :count].contiguous()
