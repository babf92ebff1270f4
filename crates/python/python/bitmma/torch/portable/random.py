"""Random numbers: those that PyTorch draws on the CPU for a seed, and the same on every machine.

PyTorch's generator is a Mersenne Twister, whose 24 or 53 bits are a uniform number in [0, 1): these come from PyTorch (``rand``). What
becomes of them is PyTorch's formula too (ATen's ``DistributionTemplates.h`` and ``DistributionsHelper.h`` of 2.15), with the functions
of this package where PyTorch calls those of the machine. Each formula takes as many numbers from the generator as PyTorch does.
One thread at a time draws (:mod:`.host`).
"""

from __future__ import annotations

import math
from typing import Any

import torch

from ..._lazy import numpy as np
from .elementwise import operation
from .native import CODE, apply, canonical, known

#: Where the state of a generator keeps the normal number that it has left, in words of 8 bytes, and whether it has one, in words of 4.
_KEPT, _HAS_KEPT = 628, 1260
#: Contiguous tensors from this size on are filled by blocks of this size.
_BLOCK = 16


def _fillable(x: Any) -> bool:
    """Whether it is a plain tensor, of whatever real dtype."""
    return isinstance(x, torch.Tensor) and x.device.type == "cpu" and x.layout == torch.strided and not x.is_nested and not x.is_complex()


def _uniform(count: int, generator: Any, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.rand(count, dtype=dtype, generator=generator)


def _computed_in(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _to(found: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Numbers in FP64 as PyTorch converts them: to FP16 and BF16 by way of FP32."""
    found = found.to(_computed_in(dtype)).to(dtype)
    return canonical(found) if dtype in CODE else found


def _placed(found: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """One number after the other, in the order in which PyTorch fills a tensor: that of its memory."""
    order = list(range(x.dim())) if x.is_contiguous() else sorted(range(x.dim()), key=x.stride, reverse=True)
    return found.reshape([x.shape[one] for one in order]).permute([order.index(one) for one in range(x.dim())])


def _pairs(radius: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    """Box and Muller: a cosine and a sine of each angle, times the radius."""
    return torch.stack([radius * apply("cos", angle), radius * apply("sin", angle)], 1)


def _one_by_one(count: int, generator: Any) -> torch.Tensor:
    """Normal numbers in FP64. They come in pairs: the generator keeps the second of the last pair for the next call."""
    generator = torch.default_generator if generator is None else generator
    kept, has_kept = _kept(generator.get_state())
    before = kept.clone() if has_kept and count else kept[:0]
    uniform = _uniform(2 * max(-(-(count - len(before)) // 2), 0), generator).reshape(-1, 2)
    drawn = torch.cat([before, _pairs((apply("log1p", -uniform[:, 1]) * -2).sqrt(), uniform[:, 0] * (2 * math.pi)).reshape(-1)])
    if len(before) or len(drawn) > count:
        state = generator.get_state()
        kept, has_kept = _kept(state)
        has_kept.fill_(len(drawn) > count)
        kept[: len(drawn) - count] = drawn[count:]
        generator.set_state(state)
    return drawn[:count]


def _kept(state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return state.view(torch.float64)[_KEPT : _KEPT + 1], state.view(torch.int32)[_HAS_KEPT]


def _in_blocks(count: int, dtype: torch.dtype, mean: float, std: float, generator: Any) -> torch.Tensor:
    """Normal numbers by blocks of 16, each of 8 radii and 8 angles; what is left over is a block that replaces the last 16 numbers."""
    wide = _computed_in(dtype)
    rest = count % _BLOCK
    # in FP32 and FP64 the numbers that are replaced are drawn, too
    uniform = _uniform(count if dtype == wide else count - rest, generator, wide)[: count - rest]
    uniform = torch.cat([uniform, _uniform(_BLOCK if rest else 0, generator, wide)]).reshape(-1, 2, _BLOCK // 2)
    radius = (apply("log", 1 - uniform[:, 0]) * -2).sqrt()
    pairs = _pairs(radius, (uniform[:, 1].double() * (2 * math.pi)).to(wide))
    blocks = _to(pairs.double() * _rounded(std, wide) + _rounded(mean, wide), dtype).reshape(-1)
    return torch.cat([blocks[: count - _BLOCK], blocks[-_BLOCK:]]) if rest else blocks


def _rounded(number: float, dtype: torch.dtype) -> float:
    return float(torch.tensor(number, dtype=dtype))


def _normals(x: torch.Tensor, mean: float, std: float, generator: Any) -> torch.Tensor:
    """What ``x.normal_(mean, std)`` is."""
    if x.numel() >= _BLOCK and x.is_contiguous():
        return _in_blocks(x.numel(), x.dtype, mean, std, generator).reshape(x.shape)
    return _placed(_to(_one_by_one(x.numel(), generator) * std + mean, x.dtype), x)


@operation("normal_")
def _normal_(x: Any, mean: float = 0, std: float = 1, *, generator: Any = None) -> Any:
    return _normals(x, mean, std, generator) if known(x) and std >= 0 else NotImplemented


@operation("normal")
@operation("normal_functional")
def _normal(mean: Any, std: Any = 1, size: Any = None, *, generator: Any = None, out: Any = None, **options: Any) -> Any:
    """Of means and deviations: tensors, or numbers and a size."""
    tensors = [one for one in (mean, std) if isinstance(one, torch.Tensor)]
    if not all(map(known, tensors)) or (isinstance(std, torch.Tensor) and not (std >= 0).all()):
        return NotImplemented
    if not isinstance(std, torch.Tensor) and not std >= 0:
        return NotImplemented
    if size is None and tensors:
        size = torch.broadcast_shapes(*(one.shape for one in tensors))
        options = {"dtype": tensors[0].dtype}  # whatever the other one has
    place = _new(size, out, options)
    if place is None:
        return NotImplemented
    if not tensors:
        return _written(_normals(place, mean, std, generator), out)
    if not isinstance(std, torch.Tensor):
        return _written(_normals(place, 0, std, generator) + mean, out)
    return _written((_normals(place, 0, 1, generator) * std + mean).to(place.dtype), out)


def _new(size: Any, out: Any, options: dict[str, Any]) -> torch.Tensor | None:
    """A tensor of a size, or the one that is given for the result; None where it is none of ours."""
    if size is None or "names" in options:
        return None
    new = torch.empty(tuple(size), **options) if out is None else out
    if not known(new):
        return None
    return new if new.shape == tuple(size) else new.resize_(tuple(size))


def _written(found: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    found = canonical(found)
    return found if out is None else out.copy_(found)


@operation("randn")
def _randn(size: Any, *, generator: Any = None, out: Any = None, **options: Any) -> Any:
    place = _new(size, out, options)
    return NotImplemented if place is None else _written(_normals(place, 0, 1, generator), out)


@operation("randn_like")
def _randn_like(x: Any, *, generator: Any = None, **options: Any) -> Any:
    place = torch.empty_like(x, **options) if known(x) else None
    return place.copy_(_normals(place, 0, 1, generator)) if place is not None and known(place) else NotImplemented


@operation("log_normal")
def _log_normal(x: Any, mean: float = 1, std: float = 2, *, generator: Any = None) -> Any:
    if not known(x) or not std > 0:
        return NotImplemented
    return _placed(_to(apply("exp", _one_by_one(x.numel(), generator) * std + mean), x.dtype), x)


@operation("uniform")
def _uniform_(x: Any, low: float = 0, high: float = 1, *, generator: Any = None) -> Any:
    """In [low, high): a result that is rounded up to the end is the start instead."""
    if not known(x) or not low <= high or not -torch.finfo(x.dtype).max <= low <= high <= torch.finfo(x.dtype).max:
        return NotImplemented
    wide = _computed_in(x.dtype)
    first, last = torch.tensor(low, dtype=wide), torch.tensor(high, dtype=wide)
    if not last - first <= torch.finfo(x.dtype).max:
        return NotImplemented
    found = (_uniform(x.numel(), generator, wide) * (last - first) + first).to(x.dtype)
    return _placed(torch.where(found == last.to(x.dtype), first.to(x.dtype), found), x)


@operation("bernoulli_")
def _bernoulli_(x: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Ones with the probability p, or with those in the tensor p."""
    if not _fillable(x):
        return NotImplemented
    if not isinstance(p, torch.Tensor):
        return _placed(_uniform(x.numel(), generator) < p, x).to(x.dtype) if 0 <= p <= 1 else NotImplemented
    if not known(p) or not ((p >= 0) & (p <= 1)).all():
        return NotImplemented
    wide = _computed_in(p.dtype)
    return (_placed(_uniform(x.numel(), generator, wide), x) < p.to(wide)).to(x.dtype)


@operation("bernoulli")
def _bernoulli(x: Any, p: Any = None, *, generator: Any = None, out: Any = None) -> Any:
    if not _fillable(x):
        return NotImplemented
    place = torch.empty(x.shape, dtype=x.dtype) if out is None else out.resize_(x.shape)
    found = _bernoulli_(place, x if p is None else p, generator=generator)
    return found if found is NotImplemented or out is None else out.copy_(found)


@operation("native_dropout")
def _dropout(x: Any, p: float, train: bool | None) -> Any:
    if not known(x) or not 0 <= p <= 1:
        return NotImplemented
    if train is False or not x.numel():
        return x.clone(), torch.ones_like(x, dtype=torch.bool if x.numel() else x.dtype)
    kept = _bernoulli_(torch.empty_like(x, dtype=torch.bool), 1 - p)
    return canonical(x * kept * (0.0 if p == 1 else 1 / (1 - p))), kept


@operation("exponential")
def _exponential_(x: Any, rate: float = 1, *, generator: Any = None) -> Any:
    if not known(x) or not 0 < rate < math.inf:
        return NotImplemented
    return _placed(_to(apply("log1p", -_uniform(x.numel(), generator)) * (-1 / rate), x.dtype), x)


@operation("cauchy")
def _cauchy_(x: Any, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Any:
    if not known(x) or not sigma > 0:
        return NotImplemented
    return _placed(_to(apply("tan", (_uniform(x.numel(), generator) - 0.5) * math.pi) * sigma + median, x.dtype), x)


@operation("geometric")
def _geometric_(x: Any, p: float, *, generator: Any = None) -> Any:
    if not known(x) or not 0 < p < 1:
        return NotImplemented
    failing = apply("log1p", torch.tensor(-p, dtype=torch.float64))
    return _placed(_to((apply("log", _uniform(x.numel(), generator)) / failing).ceil(), x.dtype), x)


@operation("multinomial")
def _multinomial(chances: Any, count: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Places drawn by their chances: without replacement, or only one, those of the largest chances divided by exponential numbers;
    otherwise those where the running sum of the chances reaches a uniform number."""
    if not known(chances) or chances.dim() not in (1, 2) or count <= 0 or not chances.numel():
        return NotImplemented
    positive = (chances > 0).sum(-1)
    if not chances.isfinite().all() or (chances < 0).any() or not (positive >= (1 if replacement else count)).all():
        return NotImplemented  # PyTorch refuses it, or takes places without a chance
    if count == 1 or not replacement:
        shares = chances / _exponential_(torch.empty_like(chances), generator=generator)
        # of equal shares the first
        return shares.argmax(-1, keepdim=True) if count == 1 else shares.sort(dim=-1, stable=True, descending=True).indices[..., :count].contiguous()
    sums = torch.from_numpy(np.add.accumulate(chances.to(_computed_in(chances.dtype)).reshape(-1, chances.shape[-1]).numpy(), axis=-1))
    reached = (sums / sums[:, -1:]).double()
    reached[reached.isnan()] = 1  # the sum is infinite
    reached[:, -1] = 1
    found = torch.searchsorted(reached, _uniform(len(sums) * count, generator).reshape(-1, count))
    return found.reshape(*chances.shape[:-1], count)
