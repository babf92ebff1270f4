"""The noise floor: runs in which a part of the model is computed in another way that is as right.

A difference between two chips means little where one chip alone differs as much from itself when products are summed in another
order, when functions are off by one unit in the last place, when sums are added in another order, or when attention runs in tiles.
Each variation is drawn several times.
"""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Callable

import torch

from .._lazy import numpy as np
from ..errors import OptionError
from .account import base_name, kind_of_call
from .._lock import LOCK

aten = torch.ops.aten
NARROW = (torch.float16, torch.bfloat16)

#: The variations, by name, and what their first draws change; further draws are in a random order, or of a random sign. The order is
#: that of the runs.
VARIATIONS: dict[str, tuple[str, ...]] = {
    "functions": ("every function one FP32 ulp up", "every function one FP32 ulp down"),
    "sums": ("sums of reductions in sequence", "sums of reductions in reverse"),
    "attention": ("attention in tiles", "attention in tiles of 64 queries and 64 keys", "attention in tiles of 128 queries and 32 keys"),
    "products": (),
}
_MORE = {
    "functions": "functions one FP32 ulp up or down",
    "sums": "sums of reductions in a random order",
    "attention": "attention in tiles of {} queries and {} keys",
    "products": "products with their terms in a random order",
}
#: Draws of each variation, unless another number is asked for.
DRAWS = 3


def described(name: str, draw: int) -> str:
    """What a draw of a variation changes; draws are counted from 0."""
    first = VARIATIONS[name]
    if draw < len(first):
        return first[draw]
    return _MORE[name].format(*tile(draw)) + (f", draw {draw - len(first) + 1}" if name != "attention" else "")


def tile(draw: int) -> tuple[int, int]:
    """Queries and keys of the tiles of a draw of attention, from the second draw on."""
    return (64, 64) if draw == 1 else (128, 32) if draw == 2 else (16 * (draw - 2), 16 * (draw - 1))


@dataclass(frozen=True)
class Variation:
    """What became of one variation of the noise floor."""

    name: str
    """A key of ``VARIATIONS``."""
    runs: tuple[str, ...]
    """The labels of its draws that changed something."""
    idle: str = ""
    """Where nothing was varied: why."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "runs": list(self.runs), "idle": self.idle}


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
    draw: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    """What was varied."""
    left: Counter[str] = field(default_factory=Counter)
    """Of the same kind, what was not."""
    inside: Callable[[], AbstractContextManager[Any]] = nullcontext
    """What computes the functions and sums from which it is made."""

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        wanted = {"functions": "functions", "sums": "reductions"}[self.name]
        name = base_name(func)
        table = FUNCTIONS if self.name == "functions" else SUMS
        own = table.get(name)
        if own is None and (kind_of_call(func, args) != wanted or not _narrow_or_single(args)):
            return NotImplemented
        if own is None and self.name == "functions":
            own = _one_off
        with self.inside():
            result = NotImplemented if own is None else own(self.draw, func, args, kwargs)
        with LOCK:
            (self.left if result is NotImplemented else self.counts)[name] += 1
        return result


def _narrow_or_single(args: tuple[Any, ...]) -> bool:
    return any(isinstance(one, torch.Tensor) and one.dtype in (torch.float32, *NARROW) for one in args)


# -- functions: one ulp off ---------------------------------------------------------------------------------


def _off(draw: int, x: torch.Tensor) -> torch.Tensor:
    """The next FP32 number above, below, or on a side that draw and number decide; zero, infinities and NaN stay."""
    if draw < 2:
        side = torch.full_like(x, float("-inf") if draw else float("inf"))
    else:
        mixed = (x.view(torch.int32).long() & 0xFFFFFFFF) * (2654435761 + 2 * draw)
        side = torch.where((mixed >> 24) & 1 == 1, float("inf"), -float("inf"))
    return torch.where(x.isfinite() & (x != 0), torch.nextafter(x, side), x)


def _one_off(draw: int, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function in FP32, one ulp off, rounded to the dtype of the result as PyTorch does it."""
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
    found = _off(draw, found).to(args[0].dtype if in_place else mixed)
    return args[0].copy_(found) if in_place else found


def _layer_norm_off(draw: int, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Its reciprocal square root one ulp off."""
    x, shape, weight, bias, eps = args
    if x.dtype not in (torch.float32, *NARROW):
        return NotImplemented
    _, mean, rstd = func(x.float(), shape, None, None, eps)
    rstd = _off(draw, rstd)
    _, like_mean, like_rstd = func(x[:0] if x.dim() > len(shape) else x, *args[1:], **kwargs)
    return _normed(x, mean, rstd, weight, bias), mean.to(like_mean.dtype), rstd.to(like_rstd.dtype)


def _normed(x: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None) -> torch.Tensor:
    result = (x.float() - mean) * rstd
    result = result if weight is None else result * weight.float()
    return (result if bias is None else result + bias.float()).to(x.dtype)


def _batch_norm_off(draw: int, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Of running statistics: its reciprocal square root one ulp off."""
    found = _of_running_statistics(func, args, kwargs)
    if found is None:
        return NotImplemented
    x, weight, bias, mean, variance, eps = found
    rstd = _off(draw, (variance.float() + eps).rsqrt())
    lines = [None if one is None else one.reshape(-1, *[1] * (x.dim() - 2)) for one in (mean.float(), rstd, weight, bias)]
    assert lines[0] is not None and lines[1] is not None
    _, *saved = func(x, *args[1:], **kwargs)
    return _normed(x, lines[0], lines[1], lines[2], lines[3]), *saved


def _of_running_statistics(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Input, weight, bias, mean, variance and epsilon of a batch norm that does not train; None of another one."""
    schema = func._schema.arguments
    given = {one.name: value for one, value in zip(schema, args)}
    given.update(kwargs)
    x, mean, variance = given.get("input"), given.get("running_mean"), given.get("running_var")
    if given.get("training") or x is None or mean is None or variance is None or x.dtype not in (torch.float32, *NARROW) or x.dim() < 2:
        return None
    return x, given.get("weight"), given.get("bias"), mean, variance, given.get("eps", given.get("epsilon"))


#: The names of batch norm.
BATCH_NORMS = ("native_batch_norm", "_native_batch_norm_legit_no_training", "_native_batch_norm_legit")
FUNCTIONS: dict[str, Callable[..., Any]] = {"native_layer_norm": _layer_norm_off, **dict.fromkeys(BATCH_NORMS, _batch_norm_off)}


# -- sums: in another order ---------------------------------------------------------------------------------


def _in_order(draw: int, x: torch.Tensor, dims: list[int], keep: bool) -> torch.Tensor:
    """The sums of FP32 numbers along dimensions, one after the other: from the first, from the last, or in a random order."""
    dims = sorted(one % x.dim() for one in dims) if x.dim() else []
    rest = [one for one in range(x.dim()) if one not in dims]
    flat = x.permute(*rest, *dims).reshape(*[x.shape[one] for one in rest], -1).contiguous() if dims else x[..., None]
    if draw == 1:
        flat = flat.flip(-1)
    elif draw > 1:
        flat = flat[..., torch.randperm(flat.shape[-1], generator=torch.Generator().manual_seed(draw))]
    if not flat.shape[-1] or not flat.numel():
        total = flat.sum(-1)
    else:
        total = torch.from_numpy(np.ascontiguousarray(np.add.accumulate(flat.numpy(), axis=-1, dtype=np.float32)[..., -1]))
    if not keep:
        return total
    return total.reshape([1 if one in dims else x.shape[one] for one in range(x.dim())])


def _sum(draw: int, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], mean: bool = False) -> Any:
    x, *rest = args
    if kwargs.get("out") is not None or x.dtype not in (torch.float32, *NARROW) or x.device.type != "cpu" or kwargs.get("dtype") == torch.float64:
        return NotImplemented
    dims = rest[0] if rest and rest[0] is not None else kwargs.get("dim")
    keep = bool(rest[1]) if len(rest) > 1 else bool(kwargs.get("keepdim", False))
    dims = [dims] if isinstance(dims, int) else list(dims) if dims else list(range(x.dim()))
    total = _in_order(draw, x.detach().float(), dims, keep)
    if mean:
        count = 1
        for one in dims:
            count *= x.shape[one]
        total = total / count
    return total.to(kwargs.get("dtype") or x.dtype)


def _mean(draw: int, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _sum(draw, func, args, kwargs, mean=True)


def _softmax(draw: int, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, dim, wide = args
    if x.dtype not in (torch.float32, *NARROW) or x.device.type != "cpu" or not x.dim():
        return NotImplemented
    values = x.float()
    powers = (values - values.amax(dim, True)).exp()
    result = powers / _in_order(draw, powers, [dim], True)
    return result.to(torch.float32 if wide else x.dtype)


def _safe_softmax(draw: int, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, dim = args[:2]
    dtype = args[2] if len(args) > 2 else kwargs.get("dtype")
    if dtype not in (None, torch.float32, *NARROW):
        return NotImplemented
    found = _softmax(draw, func, (x, dim, False), {})
    if found is NotImplemented:
        return found
    return found.masked_fill((x == -float("inf")).all(dim, True), 0).to(dtype or x.dtype)


def _log_softmax(draw: int, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, dim, wide = args
    if x.dtype not in (torch.float32, *NARROW) or x.device.type != "cpu" or not x.dim():
        return NotImplemented
    values = x.float()
    shifted = values - values.amax(dim, True)
    result = shifted - _in_order(draw, shifted.exp(), [dim], True).log()
    return result.to(torch.float32 if wide else x.dtype)


def _softmax_backward(draw: int, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    gradient, output, dim, dtype = args
    if output.dtype not in (torch.float32, *NARROW) or output.device.type != "cpu" or not output.dim() or kwargs.get("grad_input") is not None:
        return NotImplemented
    g, y = gradient.float(), output.float()
    if base_name(func).startswith("_log"):
        result = g - y.exp() * _in_order(draw, g, [dim], True)
    else:
        result = y * (g - _in_order(draw, g * y, [dim], True))
    return result.to(dtype)


def _layer_norm(draw: int, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, shape, weight, bias, eps = args
    if x.dtype not in (torch.float32, *NARROW) or x.device.type != "cpu" or not x.numel():
        return NotImplemented
    dims = list(range(x.dim() - len(shape), x.dim()))
    values, count = x.float(), 1
    for size in shape:
        count *= size
    mean = _in_order(draw, values, dims, True) / count
    variance = _in_order(draw, (values - mean).square(), dims, True) / count
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
