"""Norms, pooling and losses: short formulas in FP64 whose sums are those of :mod:`.sums`, rounded once at the end."""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from .elementwise import operation
from .native import known, layer_norm, reduce, rounded

Given = "torch.Tensor | None"


def _wide(x: torch.Tensor | None) -> torch.Tensor | None:
    return None if x is None else x.double()


def _in(found: torch.Tensor | None, like: torch.Tensor | None, wanted: bool = True) -> Any:
    """A result in the dtype of a tensor, if it is wanted."""
    return rounded(found, like.dtype) if wanted and found is not None and like is not None else None


@operation("native_layer_norm")
def _layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    if not known(x) or any(one is not None and not known(one) for one in (weight, bias)) or not x.numel():
        return NotImplemented
    # CPU kernels of PyTorch keep moments of narrow operands with FP32 weights in FP32
    held = weight if weight is not None else bias
    dtype = x.dtype if held is None else held.dtype
    out, means, factors = layer_norm(x, prod(shape), weight, bias, eps, dtype)
    lead = [*x.shape[: x.dim() - len(shape)], *[1] * len(shape)]
    return out, means.reshape(lead), factors.reshape(lead)


@operation("native_layer_norm_backward")
def _layer_norm_backward(gradient: Any, x: Any, shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any, mask: Any) -> Any:
    if not known(gradient) or not known(x):
        return NotImplemented
    length = prod(shape)
    rows = x.numel() // max(length, 1)
    g, wide = gradient.double().reshape(rows, length), x.double().reshape(rows, length)
    factor = rstd.double().reshape(rows, 1)
    normed = (wide - mean.double().reshape(rows, 1)) * factor
    scaled = g if weight is None else g * weight.double().reshape(1, length)
    found = None
    if mask[0]:
        centred = scaled - reduce("mean", scaled, 1, True) - normed * reduce("mean", scaled * normed, 1, True)
        found = rounded(centred * factor, x.dtype).reshape(x.shape)
    to_weight = reduce("sum", g * normed, 0).reshape(shape) if mask[1] and weight is not None else None
    to_bias = reduce("sum", g, 0).reshape(shape) if mask[2] and bias is not None else None
    return found, _in(to_weight, weight), _in(to_bias, bias)


@operation("_fused_rms_norm")
def _rms_norm(x: Any, shape: Any, weight: Any, eps: float | None) -> Any:
    if not known(x):
        return NotImplemented
    dims = list(range(x.dim() - len(shape), x.dim()))
    wide = x.double()
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    factor = 1 / (reduce("mean", wide * wide, dims, True) + eps).sqrt()
    found = wide * factor if weight is None else wide * factor * weight.double()
    return rounded(found, x.dtype), rounded(factor, torch.float32 if x.dtype != torch.float64 else x.dtype)


@operation("_fused_rms_norm_backward")
def _rms_norm_backward(gradient: Any, x: Any, shape: Any, rstd: Any, weight: Any, mask: Any) -> Any:
    if not known(gradient) or not known(x):
        return NotImplemented
    dims = list(range(x.dim() - len(shape), x.dim()))
    g, factor = gradient.double(), rstd.double()
    normed = x.double() * factor
    scaled = g if weight is None else g * weight.double()
    found = (scaled - normed * reduce("mean", scaled * normed, dims, True)) * factor if mask[0] else None
    lead = list(range(x.dim() - len(shape)))
    to_weight = None
    if mask[1] and weight is not None:
        to_weight = reduce("sum", g * normed, lead) if lead else g * normed
    return _in(found, x), _in(to_weight, weight)


# -- batches and groups -----------------------------------------------------------------------------------------


def _channels(x: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
    """A number for each channel, to be stretched."""
    return one.reshape([1, -1, *[1] * (x.dim() - 2)])


def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float, eps: float) -> Any:
    """The result and the moments of a batch; running moments are changed."""
    if not known(x) or x.dim() < 2 or not x.numel():
        return NotImplemented
    wide, dims = x.double(), [one for one in range(x.dim()) if one != 1]
    if training:
        count = x.numel() // x.shape[1]
        means, variances = reduce("mean", wide, dims), reduce("var", wide, dims)
        for running, new, factor in ((mean, means, 1.0), (variance, variances, count / max(count - 1, 1))):
            if running is not None:
                running.copy_(rounded(running.double() * (1 - momentum) + new * (factor * momentum), running.dtype))
    else:
        means, variances = mean.double(), variance.double()
    factor = 1 / (variances + eps).sqrt()
    found = (wide - _channels(x, means)) * _channels(x, factor)
    found = found if weight is None else found * _channels(x, weight.double())
    found = found if bias is None else found + _channels(x, bias.double())
    dtype = x.dtype if weight is None else weight.dtype
    saved = (rounded(means, dtype), rounded(factor, dtype)) if training else (torch.empty(0, dtype=dtype), torch.empty(0, dtype=dtype))
    return rounded(found, x.dtype), *saved


@operation("native_batch_norm")
def _native_batch_norm(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float, eps: float) -> Any:
    return _batch_norm(x, weight, bias, mean, variance, training, momentum, eps)


@operation("_native_batch_norm_legit")
def _batch_norm_legit(x: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    mean, variance = rest[:2] if len(rest) == 5 else (None, None)  # the overload no_stats has none
    return _batch_norm(x, weight, bias, mean, variance, *rest[-3:])


@operation("_native_batch_norm_legit_no_training")
def _batch_norm_fixed(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float) -> Any:
    return _batch_norm(x, weight, bias, mean, variance, False, momentum, eps)


@operation("_batch_norm_with_update")
def _batch_norm_with_update(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float) -> Any:
    found = _batch_norm(x, weight, bias, mean, variance, True, momentum, eps)
    return found if found is NotImplemented else (*found, torch.empty(0, dtype=torch.uint8))


@operation("_batch_norm_no_update")
def _batch_norm_no_update(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float) -> Any:
    found = _batch_norm(x, weight, bias, mean, variance, False, momentum, eps)
    return found if found is NotImplemented else (*found, torch.empty(0, dtype=torch.uint8))


@operation("native_batch_norm_backward")
def _batch_norm_backward(
    gradient: Any, x: Any, weight: Any, mean: Any, variance: Any, saved_mean: Any, saved_rstd: Any, training: bool, eps: float, mask: Any
) -> Any:
    if not known(gradient) or not known(x):
        return NotImplemented
    g, dims = gradient.double(), [one for one in range(x.dim()) if one != 1]
    if training:
        means, factor = saved_mean.double(), saved_rstd.double()
    else:
        means, factor = mean.double(), 1 / (variance.double() + eps).sqrt()
    normed = (x.double() - _channels(x, means)) * _channels(x, factor)
    to_bias, to_weight = reduce("sum", g, dims), reduce("sum", g * normed, dims)
    found = None
    if mask[0]:
        scale = factor if weight is None else factor * weight.double()
        centred = g
        if training:
            count = x.numel() // x.shape[1]
            centred = g - _channels(x, to_bias / count) - normed * _channels(x, to_weight / count)
        found = centred * _channels(x, scale)
    like = x if weight is None else weight
    return _in(found, x), _in(to_weight, like, mask[1]), _in(to_bias, like, mask[2])


@operation("batch_norm_backward")
def _batch_norm_backward_2(
    gradient: Any, x: Any, weight: Any, mean: Any, variance: Any, saved_mean: Any, saved_rstd: Any, training: bool, eps: float, mask: Any, reserve: Any
) -> Any:
    return _batch_norm_backward(gradient, x, weight, mean, variance, saved_mean, saved_rstd, training, eps, mask)


@operation("native_group_norm")
def _group_norm(x: Any, weight: Any, bias: Any, n: int, c: int, hw: int, groups: int, eps: float) -> Any:
    if not known(x) or not x.numel():
        return NotImplemented
    lines = x.double().reshape(n * groups, -1)
    means = reduce("mean", lines, 1, True)
    centred = lines - means
    factor = 1 / (reduce("mean", centred * centred, 1, True) + eps).sqrt()
    found = (centred * factor).reshape(n, c, hw)
    found = found if weight is None else found * weight.double().reshape(1, c, 1)
    found = found if bias is None else found + bias.double().reshape(1, c, 1)
    dtype = x.dtype if weight is None else weight.dtype
    out = torch.empty_like(x).copy_(rounded(found, x.dtype).reshape(x.shape))
    return out, rounded(means, dtype).reshape(n, groups), rounded(factor, dtype).reshape(n, groups)


@operation("native_group_norm_backward")
def _group_norm_backward(gradient: Any, x: Any, mean: Any, rstd: Any, weight: Any, n: int, c: int, hw: int, groups: int, mask: Any) -> Any:
    if not known(gradient) or not known(x):
        return NotImplemented
    g, length = gradient.double().reshape(n, c, hw), c // groups * hw
    factor = rstd.double().reshape(n * groups, 1)
    normed = (x.double().reshape(n * groups, length) - mean.double().reshape(n * groups, 1)) * factor
    found = None
    if mask[0]:
        scaled = (g if weight is None else g * weight.double().reshape(1, c, 1)).reshape(n * groups, length)
        centred = scaled - reduce("mean", scaled, 1, True) - normed * reduce("mean", scaled * normed, 1, True)
        found = rounded(centred * factor, x.dtype).reshape(x.shape)
    to_weight, to_bias = reduce("sum", g * normed.reshape(n, c, hw), (0, 2)), reduce("sum", g, (0, 2))
    return found, _in(to_weight, weight, mask[1]), _in(to_bias, weight, mask[2])


# -- losses -----------------------------------------------------------------------------------------------------


def _told(losses: torch.Tensor, reduction: int, dtype: torch.dtype) -> torch.Tensor:
    """Losses of elements in FP64: as they are, their mean, or their sum."""
    return rounded(losses if reduction == 0 else reduce({1: "mean", 2: "sum"}[reduction], losses, None), dtype)


@operation("mse_loss")
def _mse_loss(x: Any, target: Any, reduction: int = 1) -> Any:
    if not known(x) or not known(target):
        return NotImplemented
    difference = x.double() - target.double()
    return _told(difference * difference, reduction, torch.promote_types(x.dtype, target.dtype))


@operation("mse_loss_backward")
def _mse_loss_backward(gradient: Any, x: Any, target: Any, reduction: int) -> Any:
    if not known(gradient) or not known(x) or not known(target):
        return NotImplemented
    factor = 2.0 / x.numel() if reduction == 1 else 2.0
    return rounded((x.double() - target.double()) * factor * gradient.double(), x.dtype)


def _classes(x: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, ignored: int) -> tuple[torch.Tensor, torch.Tensor, int]:
    """The classes to look up, their weights in FP64, and the dimension of classes."""
    dim = 1 if x.dim() > 1 else 0
    counted = target != ignored
    place = torch.where(counted, target, 0)
    weights = counted.double() if weight is None else torch.where(counted, weight.double()[place], 0.0)
    return place, weights, dim


def _nll_loss(x: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    if not known(x) or target.dtype != torch.int64 or (weight is not None and weight.numel() != x.shape[1 if x.dim() > 1 else 0]):
        return NotImplemented
    if target.dim() != max(x.dim() - 1, 0) or (target.dim() and (target.shape[0] != x.shape[0] or target.shape[1:] != x.shape[2:])):
        return NotImplemented  # PyTorch refuses it
    place, weights, dim = _classes(x, target, weight, ignore_index)
    if place.numel() and (int(place.min()) < 0 or int(place.max()) >= x.shape[dim]):
        raise IndexError(f"Target {int(target.max())} is out of bounds.")
    picked = x.gather(dim, place.unsqueeze(dim)).squeeze(dim).double()
    losses = torch.where(weights == 0, 0.0, -picked * weights)
    if reduction == 0:
        return rounded(losses, x.dtype), torch.zeros((), dtype=x.dtype)
    total = reduce("sum", weights, None)
    found = reduce("sum", losses, None)
    return rounded(found / total if reduction == 1 else found, x.dtype), rounded(total, x.dtype)


def _nll_loss_backward(gradient: Any, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any) -> Any:
    if not known(gradient) or not known(x) or target.dtype != torch.int64:
        return NotImplemented
    place, weights, dim = _classes(x, target, weight, ignore_index)
    g = gradient.double()
    if reduction == 1:
        g = g / total_weight.double()
    values = torch.where(weights == 0, 0.0, -weights * g)
    found = torch.zeros_like(x, memory_format=torch.contiguous_format)
    return found.scatter_(dim, place.unsqueeze(dim), rounded(values, x.dtype).unsqueeze(dim))


for _name in ("nll_loss", "nll_loss2d"):
    operation(f"{_name}_forward")(_nll_loss)
    operation(f"{_name}_backward")(_nll_loss_backward)
