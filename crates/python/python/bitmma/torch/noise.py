"""The freedom of the host: runs in which what is not the chip's is computed in another way that is as right.

A difference between two chips means little where one chip alone differs as much from itself when functions are off by one unit in the
last place, when sums are added in another order, or when attention runs in tiles.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Callable

import torch

from .._lazy import numpy as np
from ..errors import OptionError
from .account import base_name, kind_of_call
from .lock import LOCK

aten = torch.ops.aten
NARROW = (torch.float16, torch.bfloat16)

#: The variations, by name, and what each changes; the order is that of the runs.
VARIATIONS = {
    "functions": "every function one FP32 ulp up",
    "sums": "sums of reductions in sequence",
    "attention": "attention in tiles",
}


def parse(noise_floor: Any) -> list[str]:
    """The names of the variations that are asked for."""
    if noise_floor is True:
        return list(VARIATIONS)
    if noise_floor is False or noise_floor is None:
        return []
    names = [noise_floor] if isinstance(noise_floor, str) else list(noise_floor)
    for name in names:
        if name not in VARIATIONS:
            raise OptionError(f"noise_floor has {name!r}; True, False, or of {', '.join(map(repr, VARIATIONS))}")
    return [name for name in VARIATIONS if name in names]


@dataclass
class Varied:
    """Computes operations of the host in another way; what it leaves as it is, it counts."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    """What was varied."""
    left: Counter[str] = field(default_factory=Counter)
    """Of the same kind, what was not."""

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        wanted = {"functions": "functions", "sums": "reductions"}[self.name]
        name = base_name(func)
        table = FUNCTIONS if self.name == "functions" else SUMS
        own = table.get(name)
        if own is None and (kind_of_call(func, args) != wanted or not _narrow_or_single(args)):
            return NotImplemented
        if own is None and self.name == "functions":
            own = _one_up
        result = NotImplemented if own is None else own(func, args, kwargs)
        with LOCK:
            (self.left if result is NotImplemented else self.counts)[name] += 1
        return result


def _narrow_or_single(args: tuple[Any, ...]) -> bool:
    return any(isinstance(one, torch.Tensor) and one.dtype in (torch.float32, *NARROW) for one in args)


# -- functions: one ulp up ----------------------------------------------------------------------------------


def _up(x: torch.Tensor) -> torch.Tensor:
    """The next FP32 number above; zero, infinities and NaN stay."""
    above = torch.nextafter(x, torch.full_like(x, float("inf")))
    return torch.where(x.isfinite() & (x != 0), above, x)


def _one_up(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function in FP32, one ulp up, rounded to the dtype of the result as PyTorch does it."""
    if kwargs.get("out") is not None:
        return NotImplemented
    tensors = [one for one in args if isinstance(one, torch.Tensor)]
    if any(one.dtype not in (torch.float32, *NARROW) for one in tensors if one.is_floating_point()):
        return NotImplemented
    in_place = func.overloadpacket.__name__.endswith("_")
    first = next((one.dtype for one in tensors if one.is_floating_point()), torch.float32)
    wide = [one.float() if isinstance(one, torch.Tensor) and one.dtype in NARROW else one for one in args]
    if in_place:
        wide[0] = wide[0].clone()
    found = func(*wide, **kwargs)
    if not isinstance(found, torch.Tensor) or found.dtype != torch.float32:
        return NotImplemented
    mixed = torch.float32 if any(one.dtype == torch.float32 and one.dim() for one in tensors) else first
    found = _up(found).to(args[0].dtype if in_place else mixed)
    return args[0].copy_(found) if in_place else found


def _layer_norm_up(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Its reciprocal square root one ulp up."""
    x, shape, weight, bias, eps = args
    if x.dtype not in (torch.float32, *NARROW):
        return NotImplemented
    _, mean, rstd = func(x.float(), shape, None, None, eps)
    rstd = _up(rstd)
    _, like_mean, like_rstd = func(x[:0] if x.dim() > len(shape) else x, *args[1:], **kwargs)
    return _normed(x, mean, rstd, weight, bias), mean.to(like_mean.dtype), rstd.to(like_rstd.dtype)


def _normed(x: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None) -> torch.Tensor:
    result = (x.float() - mean) * rstd
    result = result if weight is None else result * weight.float()
    return (result if bias is None else result + bias.float()).to(x.dtype)


FUNCTIONS: dict[str, Callable[..., Any]] = {"native_layer_norm": _layer_norm_up}


# -- sums: in sequence --------------------------------------------------------------------------------------


def _in_sequence(x: torch.Tensor, dims: list[int], keep: bool) -> torch.Tensor:
    """The sums of FP32 numbers along dimensions, one after the other."""
    dims = sorted(one % x.dim() for one in dims) if x.dim() else []
    rest = [one for one in range(x.dim()) if one not in dims]
    flat = x.permute(*rest, *dims).reshape(*[x.shape[one] for one in rest], -1).contiguous() if dims else x[..., None]
    if not flat.shape[-1] or not flat.numel():
        total = flat.sum(-1)
    else:
        total = torch.from_numpy(np.ascontiguousarray(np.add.accumulate(flat.numpy(), axis=-1, dtype=np.float32)[..., -1]))
    if not keep:
        return total
    return total.reshape([1 if one in dims else x.shape[one] for one in range(x.dim())])


def _sum(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], mean: bool = False) -> Any:
    x, *rest = args
    if kwargs.get("out") is not None or x.dtype not in (torch.float32, *NARROW) or x.device.type != "cpu" or kwargs.get("dtype") == torch.float64:
        return NotImplemented
    dims = rest[0] if rest and rest[0] is not None else kwargs.get("dim")
    keep = bool(rest[1]) if len(rest) > 1 else bool(kwargs.get("keepdim", False))
    dims = [dims] if isinstance(dims, int) else list(dims) if dims else list(range(x.dim()))
    total = _in_sequence(x.detach().float(), dims, keep)
    if mean:
        count = 1
        for one in dims:
            count *= x.shape[one]
        total = total / count
    return total.to(kwargs.get("dtype") or x.dtype)


def _mean(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _sum(func, args, kwargs, mean=True)


def _softmax(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, dim, wide = args
    if x.dtype not in (torch.float32, *NARROW) or x.device.type != "cpu" or not x.dim():
        return NotImplemented
    values = x.float()
    powers = (values - values.amax(dim, True)).exp()
    result = powers / _in_sequence(powers, [dim], True)
    return result.to(torch.float32 if wide else x.dtype)


def _safe_softmax(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, dim = args[:2]
    dtype = args[2] if len(args) > 2 else kwargs.get("dtype")
    if dtype not in (None, torch.float32, *NARROW):
        return NotImplemented
    found = _softmax(func, (x, dim, False), {})
    if found is NotImplemented:
        return found
    return found.masked_fill((x == -float("inf")).all(dim, True), 0).to(dtype or x.dtype)


def _log_softmax(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, dim, wide = args
    if x.dtype not in (torch.float32, *NARROW) or x.device.type != "cpu" or not x.dim():
        return NotImplemented
    values = x.float()
    shifted = values - values.amax(dim, True)
    result = shifted - _in_sequence(shifted.exp(), [dim], True).log()
    return result.to(torch.float32 if wide else x.dtype)


def _softmax_backward(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    gradient, output, dim, dtype = args
    if output.dtype not in (torch.float32, *NARROW) or output.device.type != "cpu" or not output.dim() or kwargs.get("grad_input") is not None:
        return NotImplemented
    g, y = gradient.float(), output.float()
    if base_name(func).startswith("_log"):
        result = g - y.exp() * _in_sequence(g, [dim], True)
    else:
        result = y * (g - _in_sequence(g * y, [dim], True))
    return result.to(dtype)


def _layer_norm(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, shape, weight, bias, eps = args
    if x.dtype not in (torch.float32, *NARROW) or x.device.type != "cpu" or not x.numel():
        return NotImplemented
    dims = list(range(x.dim() - len(shape), x.dim()))
    values, count = x.float(), 1
    for size in shape:
        count *= size
    mean = _in_sequence(values, dims, True) / count
    variance = _in_sequence((values - mean).square(), dims, True) / count
    rstd = (variance + eps).rsqrt()
    _, like_mean, like_rstd = func(x[:0] if x.dim() > len(shape) else x, *args[1:], **kwargs)
    return _normed(x, mean, rstd, weight, bias), mean.to(like_mean.dtype), rstd.to(like_rstd.dtype)


SUMS: dict[str, Callable[..., Any]] = {
    "sum": _sum,
    "mean": _mean,
    "_softmax": _softmax,
    "_safe_softmax": _safe_softmax,
    "_log_softmax": _log_softmax,
    "_softmax_backward_data": _softmax_backward,
    "_log_softmax_backward_data": _softmax_backward,
    "native_layer_norm": _layer_norm,
}
