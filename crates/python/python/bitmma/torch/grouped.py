"""Grouped products: one for each expert, of rows, columns or parts of K between offsets."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import torch

Multiply = Callable[..., Any]


def grouped_mm(
    multiply: Multiply,
    a: torch.Tensor,
    b: torch.Tensor,
    offs: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> Any:
    """``torch._grouped_mm``; what lies beyond the last offset is zero."""
    if bias is not None:
        return NotImplemented
    to = out_dtype or a.dtype
    if a.dim() == b.dim() == 3:
        return multiply(a, b, to=to)
    result = _empty(a, b, offs, to)
    for place, (x, y, _, _) in _groups(a, b, offs, result):
        product = multiply(x, y, to=to)
        if product is NotImplemented:
            return product
        place.copy_(product)
    return result


def scaled_grouped_mm(
    multiply: Multiply,
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    offs: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> Any:
    """``torch._scaled_grouped_mm`` with FP32 scales of rows of A and columns of B; of other scales there is none."""
    if bias is not None or scale_result is not None or not scale_a.dtype == scale_b.dtype == torch.float32:
        return NotImplemented
    to = out_dtype or torch.bfloat16
    result = _empty(a, b, offs, to)
    for place, (x, y, group, span) in _groups(a, b, offs, result):
        rows = _of_group(scale_a, a, x.shape[0], group, span)
        columns = _of_group(scale_b, b, y.shape[1], group, span)
        product = multiply(x, y, to=to, fast=use_fast_accum, scaled=(rows, columns))
        if product is NotImplemented:
            return product
        place.copy_(product)
    return result


def _empty(a: torch.Tensor, b: torch.Tensor, offs: torch.Tensor | None, to: torch.dtype) -> torch.Tensor:
    shape = [a.shape[-2], b.shape[-1]]
    if a.dim() == b.dim():  # batches, or parts of K
        shape.insert(0, len(a) if a.dim() == 3 else len(offs) if offs is not None else 0)
    return a.new_zeros(shape, dtype=to)


def _groups(
    a: torch.Tensor, b: torch.Tensor, offs: torch.Tensor | None, result: torch.Tensor
) -> Iterator[tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor, int, slice]]]:
    """The part of the result, A, B, the group's number and its span."""
    if offs is None:
        for group in range(len(a)):
            yield result[group], (a[group], b[group], group, slice(None))
        return
    start = 0
    for group, end in enumerate(offs.tolist()):
        span = slice(start, end)
        start = end
        if a.dim() == 2 and b.dim() == 3:
            yield result[span], (a[span], b[group], group, span)
        elif a.dim() == 3:
            yield result[:, span], (a[group], b[:, span], group, span)
        else:
            yield result[group], (a[:, span], b[span], group, span)


def _of_group(scale: torch.Tensor, operand: torch.Tensor, count: int, group: int, span: slice) -> torch.Tensor:
    """The scales of one group's rows, or columns: by group, by span, or one after the other."""
    if scale.dim() == 2 and operand.dim() == 3:
        return scale[group]
    flat = scale.reshape(-1)
    part = flat[span]
    return part if len(part) == count else flat[group * count : (group + 1) * count]
