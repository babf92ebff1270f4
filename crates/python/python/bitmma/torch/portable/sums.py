"""Sums, and what is made of them along dimensions: means, norms, softmax, running sums, sums by an index."""

from __future__ import annotations

from typing import Any

import torch

from .elementwise import TABLE, floating, operation
from .native import CODE, add_at, along, axes, known, reduce, rounded


def _read(x: Any, dtype: torch.dtype | None) -> Any:
    """The operand of a sum that is wanted in a dtype; NotImplemented where it is none of ours."""
    if not isinstance(x, torch.Tensor) or (dtype or x.dtype) not in CODE:
        return NotImplemented
    if x.dtype not in CODE or (dtype is not None and x.element_size() > dtype.itemsize):
        x = x.to(dtype)
    return x if known(x) else NotImplemented


def _reduced(name: str, x: Any, dims: Any, keep: bool, dtype: torch.dtype | None, parameter: float = 0.0) -> Any:
    x = _read(x, dtype)
    return x if x is NotImplemented else reduce(name, x, dims, keep, dtype, parameter)


@operation("sum")
def _sum(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return _reduced("sum", x, dim, keepdim, dtype)


@operation("nansum")
def _nansum(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return _reduced("sum", torch.where(x.isnan(), 0, x) if x.is_floating_point() else x, dim, keepdim, dtype)


@operation("mean")
def _mean(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return _reduced("mean", x, dim, keepdim, dtype)


@operation("prod")
def _prod(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return _reduced("prod", x, dim, keepdim, dtype)


def _most(name: str) -> None:
    @operation(f"a{name}")
    def _amax(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return reduce(name, x, dim, keepdim) if known(x) and x.numel() else NotImplemented

    @operation(name)
    def _max(x: Any, *rest: Any, **options: Any) -> Any:
        if rest and isinstance(rest[0], torch.Tensor):
            return TABLE[f"{name}imum"](x, *rest)
        return NotImplemented if rest or options else _amax(x)


_most("max")
_most("min")


@operation("aminmax")
def _aminmax(x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    return (reduce("min", x, dim, keepdim), reduce("max", x, dim, keepdim)) if known(x) and x.numel() else NotImplemented


def _spread(name: str) -> None:
    @operation(name)
    def _var(x: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Any:
        return reduce(name, x, dim, keepdim, parameter=float(1 if correction is None else correction)) if known(x) else NotImplemented

    @operation(f"{name}_mean")
    def _both(x: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Any:
        found = _var(x, dim, correction=correction, keepdim=keepdim)
        return found if found is NotImplemented else (found, reduce("mean", x, dim, keepdim))


_spread("var")
_spread("std")


def _norm_of(x: Any, order: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if not known(x) or (dtype is not None and dtype.itemsize < x.element_size()):
        return NotImplemented  # PyTorch refuses it
    return _reduced("norm", x, dim, keepdim, dtype, float(order))


@operation("linalg_vector_norm")
def _vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return _norm_of(x, ord, dim, keepdim, dtype)


@operation("norm")
def _norm(x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return _norm_of(x, 2 if p is None else p, dim, keepdim, dtype)


@operation("dist")
def _dist(x: Any, y: Any, p: Any = 2) -> Any:
    return rounded(reduce("norm", x.double() - y.double(), None, parameter=float(p)), x.dtype) if known(x) and known(y) else NotImplemented


@operation("logsumexp")
def _logsumexp(x: Any, dim: Any, keepdim: bool = False) -> Any:
    x = floating(x)
    return reduce("logsumexp", x, dim, keepdim) if known(x) else NotImplemented


@operation("trace")
def _trace(x: Any) -> Any:
    return reduce("sum", x.diagonal(), None) if known(x) else NotImplemented


def _running(name: str) -> None:
    @operation(name)
    def _sums(x: Any, dim: int, *, dtype: Any = None) -> Any:
        x = _read(x, dtype)
        return x if x is NotImplemented else along(name, x, dim, to=dtype)


_running("cumsum")
_running("cumprod")


# -- softmax ------------------------------------------------------------------------------------------------


def _softmax(name: str) -> None:
    @operation(f"_{name}")
    def _forward(x: Any, dim: int, half_to_float: bool) -> Any:
        return along(name, x, dim, to=torch.float32 if half_to_float else None) if known(x) else NotImplemented

    @operation(f"_{name}_backward_data")
    def _backward(gradient: Any, output: Any, dim: int, input_dtype: torch.dtype) -> Any:
        if not known(gradient) or not known(output):
            return NotImplemented
        return along(f"{name}_backward", gradient, dim, output, to=input_dtype)


_softmax("softmax")
_softmax("log_softmax")


@operation("_safe_softmax")
def _safe_softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    x = _read(x, dtype)
    return x if x is NotImplemented else along("safe_softmax", x, dim, to=dtype)


# -- sums by an index -----------------------------------------------------------------------------------------


@operation("embedding_dense_backward")
def _embedding_backward(gradient: Any, indices: Any, rows: int, padding: int, by_frequency: bool) -> Any:
    if not known(gradient):
        return NotImplemented
    flat, source = indices.reshape(-1), gradient.reshape(indices.numel(), gradient.shape[-1])
    kept = flat != padding
    if by_frequency:
        counts = torch.bincount(flat, minlength=rows)
        source = source.double() / counts[flat][:, None]
    if not kept.all():
        flat, source = flat[kept], source[kept]
    return rounded(add_at(rows, flat, source), gradient.dtype).reshape(rows, gradient.shape[-1])


@operation("index_add")
def _index_add(x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    if not known(x) or not known(source) or not x.dim() or not x.numel() or x.dtype != source.dtype or index.dim() > 1:
        return NotImplemented
    here = source.shape[dim] if source.dim() else 1
    if here != index.numel() or x.numel() // x.shape[dim] * here != source.numel():
        return NotImplemented  # PyTorch refuses it
    lines, terms = x.movedim(dim, 0), source.movedim(dim, 0) if source.dim() else source.reshape(1)
    if alpha != 1:
        terms = terms.double() * float(alpha)
    found = add_at(len(lines), index, terms.reshape(index.numel(), lines[0].numel()), lines.contiguous())
    return rounded(found, x.dtype).reshape(lines.shape).movedim(0, dim).contiguous()


@operation("scatter_add")
def _scatter_add(x: Any, dim: int, index: Any, source: Any) -> Any:
    if not known(x) or not known(source) or x.dtype != source.dtype or not index.dim() == x.dim() == source.dim():
        return NotImplemented
    if any(size > source.shape[one] or (one != dim % x.dim() and size > x.shape[one]) for one, size in enumerate(index.shape)):
        return NotImplemented  # PyTorch refuses it
    if not x.dim() or not index.numel():
        return NotImplemented if index.numel() else x.clone()
    dim %= x.dim()
    if int(index.min()) < 0 or int(index.max()) >= x.shape[dim]:
        raise RuntimeError(f"index {int(index.max())} is out of bounds for dimension {dim} with size {x.shape[dim]}")
    place = torch.zeros_like(index)
    for one, size in enumerate(x.shape):
        along_it = index if one == dim else torch.arange(index.shape[one]).reshape([-1 if two == one else 1 for two in range(x.dim())])
        place = place * size + along_it
    terms = source[tuple(slice(size) for size in index.shape)]
    return rounded(add_at(x.numel(), place, terms.reshape(-1, 1), x.contiguous()), x.dtype).reshape(x.shape)


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False, unsafe: bool = False) -> Any:
    if not accumulate or not known(x) or not known(values) or not x.numel() or x.dtype != values.dtype:
        return NotImplemented
    # where each element comes from: the positions of the elements, indexed as the tensor is
    places = torch.arange(x.numel()).reshape(x.shape)
    place = torch.ops.aten.index.Tensor(places, indices)
    terms = values.expand(place.shape)
    return rounded(add_at(x.numel(), place, terms.reshape(-1, 1), x.contiguous()), x.dtype).reshape(x.shape)


TABLE.update({name: _index_put for name in ("index_put", "_index_put_impl", "_unsafe_index_put")})


@operation("max_pool2d_with_indices_backward")
def _max_pool_backward(gradient: Any, x: Any, size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: Any) -> Any:
    if not known(gradient):
        return NotImplemented
    plane = x.shape[-1] * x.shape[-2]
    planes = x.numel() // max(plane, 1)
    place = indices.reshape(planes, -1) + torch.arange(planes)[:, None] * plane
    found = add_at(x.numel(), place, gradient.contiguous().reshape(-1, 1))
    out = torch.empty_like(x)
    return out.copy_(rounded(found, gradient.dtype).reshape(x.shape))


__all__ = ["axes"]
