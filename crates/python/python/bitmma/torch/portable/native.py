"""Tensors to the native functions and sums, which read and write them where they are."""

from __future__ import annotations

from typing import Any

import torch

from ... import _bitmma

#: The number by which the native half knows a dtype.
CODE = {torch.float64: 0, torch.float32: 1, torch.float16: 2, torch.bfloat16: 3}


def known(x: Any) -> bool:
    """Whether it is a plain tensor of numbers that are computed here."""
    return isinstance(x, torch.Tensor) and x.dtype in CODE and x.device.type == "cpu" and x.layout == torch.strided and not x.is_nested


def _held(x: torch.Tensor) -> tuple[int, int]:
    return CODE[x.dtype], x.data_ptr()


def _as(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """The same numbers in the order of another tensor's memory."""
    if x.stride() == out.stride() and not x.is_neg():
        return x
    return torch.empty_strided(out.shape, out.stride(), dtype=x.dtype).copy_(x)


def apply(name: str, *xs: torch.Tensor, to: torch.dtype | None = None, parameters: tuple[float, ...] = ()) -> torch.Tensor:
    """A function of each element of tensors of one dtype, stretched to one shape; rounded once to ``to``."""
    if len(xs) > 1 and any(x.shape != xs[0].shape for x in xs):
        xs = torch.broadcast_tensors(*xs)  # type: ignore[assignment]
    out = torch.empty_like(xs[0], dtype=to)
    if out.numel():
        held = [x if x.is_contiguous() and out.is_contiguous() and not x.is_neg() else _as(x, out) for x in xs]
        arrays: Any = [_held(x) for x in held]
        numbers: Any = dict(zip("pqr", parameters))
        _bitmma.portable_apply(name, out.numel(), _held(out), *arrays, **numbers)
    return out


def rounded(x: torch.Tensor, to: torch.dtype) -> torch.Tensor:
    """Numbers rounded once to a dtype, and every NaN with the one code."""
    return apply("round_to", x, to=to)


def canonical(x: torch.Tensor) -> torch.Tensor:
    """The tensor, every NaN of which has the positive sign and no payload."""
    if x.is_contiguous() or torch.empty_like(x).stride() == x.stride():
        if x.numel():
            _bitmma.portable_canonical(x.numel(), _held(x))
    elif x.isnan().any():
        x.copy_(canonical(x.contiguous()))
    return x


def axes(x: torch.Tensor, dims: Any) -> list[int]:
    """Dimensions as numbers from 0, in order; all of them for None and for an empty list."""
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return list(range(x.dim()))
    end = max(x.dim(), 1)
    named = [dims] if isinstance(dims, int) else list(dims)
    for one in named:
        if not -end <= one < end:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-end}, {end - 1}], but got {one})")
    found = sorted(one % end for one in named)
    if len(set(found)) < len(found):
        raise RuntimeError(f"dim {next(one for one in found if found.count(one) > 1)} appears multiple times in the list of dims")
    return found if x.dim() else []


def _last(x: torch.Tensor, dims: list[int]) -> torch.Tensor:
    """With some dimensions last, row by row."""
    if dims and dims != list(range(x.dim() - len(dims), x.dim())):
        x = x.permute(*(one for one in range(x.dim()) if one not in dims), *dims)
    return x.resolve_neg().contiguous()


def reduce(name: str, x: torch.Tensor, dims: Any, keep: bool = False, to: torch.dtype | None = None, parameter: float = 0.0) -> torch.Tensor:
    """A sum, or what is like one, along dimensions; rounded once to ``to``."""
    dims = axes(x, dims)
    lines = _last(x, dims)
    shape = [size for place, size in enumerate(x.shape) if place not in dims]
    out = torch.empty(shape, dtype=to or x.dtype)
    if out.numel():
        rows = out.numel()
        _bitmma.portable_reduce(name, rows, x.numel() // rows, _held(out), _held(lines), parameter)
    return out.reshape([1 if place in dims else size for place, size in enumerate(x.shape)]) if keep else out


def along(name: str, x: torch.Tensor, dim: int, *others: torch.Tensor, to: torch.dtype | None = None) -> torch.Tensor:
    """An operation along a dimension whose result has the shape of its operand."""
    dims = axes(x, dim)
    lines = [_last(one, dims) for one in (x, *others)]
    out = torch.empty(lines[0].shape, dtype=to or x.dtype)
    if out.numel():
        length = out.shape[-1] if dims else 1
        _bitmma.portable_along(name, out.numel() // length, length, _held(out), *map(_held, lines))
    return out if not dims or dims[0] == x.dim() - 1 else out.movedim(-1, dims[0]).contiguous()


def layer_norm(
    x: torch.Tensor, length: int, weight: torch.Tensor | None, bias: torch.Tensor | None, epsilon: float, moments: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows less their mean times 1 / √(variance + ε), times weight, plus bias; the means and these factors."""
    x = x.contiguous()
    rows = x.numel() // length if length else 0
    out, means, factors = torch.empty_like(x), torch.empty(rows, dtype=moments), torch.empty(rows, dtype=moments)
    # named, so that both live until the native half has read them
    weight, bias = (None if one is None else one.contiguous() for one in (weight, bias))
    held = [(0, 0) if one is None else _held(one) for one in (weight, bias)]
    if x.numel():
        _bitmma.portable_layer_norm(rows, length, _held(out), _held(means), _held(factors), _held(x), held[0], held[1], epsilon)
    return out, means, factors


def add_at(rows: int, index: torch.Tensor, source: torch.Tensor, start: torch.Tensor | None = None) -> torch.Tensor:
    """Rows in FP64, each ``start`` plus the rows of the source, a matrix, whose index it is, in order. Raises where an index is out of range."""
    source, index = source.contiguous(), index.reshape(-1).to(torch.int64).contiguous()
    width = source.shape[1]
    if start is None:
        out = torch.zeros(rows, width, dtype=torch.float64)
    else:
        out = start.reshape(rows, width).to(torch.float64, copy=True)
    if source.numel() and not _bitmma.portable_add_at(len(index), width, rows, index.data_ptr(), _held(source), out.data_ptr()):
        raise IndexError(f"an index is out of range; there are {rows} rows")
    return out
