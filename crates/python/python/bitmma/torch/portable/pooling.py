"""Means over windows of images, and their gradients, in FP64 and rounded once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from .elementwise import operation
from .native import add_at, known, reduce, rounded


def _two(value: Any, default: Any = None) -> tuple[int, int]:
    if value in (None, (), []):
        value = default
    return (value, value) if isinstance(value, int) else (value[0], value[-1])


def _windows(
    shape: Any, size: Any, stride: Any, padding: Any, ceil_mode: bool, include_pad: bool, divisor: int | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each window of a plane the places in it, −1 outside of the plane, and by what its sum is divided."""
    size, padding = _two(size), _two(padding)
    stride = _two(stride, size)
    height, width = shape[-2:]
    rows, inside, counts = [], [], []
    for axis, length in enumerate((height, width)):
        whole = length + 2 * padding[axis] - size[axis]
        count = (-(-whole // stride[axis]) if ceil_mode else whole // stride[axis]) + 1
        if ceil_mode and (count - 1) * stride[axis] >= length + padding[axis]:
            count -= 1
        starts = torch.arange(count) * stride[axis] - padding[axis]
        places = starts[:, None] + torch.arange(size[axis])
        ends = torch.clamp(starts + size[axis], max=length + padding[axis])
        rows.append(torch.where((places >= 0) & (places < length), places, -1))
        inside.append(ends.clamp(max=length) - starts.clamp(min=0))
        counts.append(ends - starts)
    y, x = rows[0][:, None, :, None], rows[1][None, :, None, :]
    places = torch.where((y < 0) | (x < 0), -1, y * width + x).flatten(2)
    extents = counts if include_pad else inside
    divisors = (extents[0][:, None] * extents[1]).double() if not divisor else torch.full(places.shape[:2], float(divisor), dtype=torch.float64)
    return places, divisors


@operation("avg_pool2d")
def _avg_pool(
    x: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None
) -> Any:
    if not known(x) or not x.numel():
        return NotImplemented
    # PyTorch checks the arguments, and says how the result lies in memory
    shape = torch.ops.aten.avg_pool2d(
        torch.empty_like(x, device="meta"), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    places, divisors = _windows(x.shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    planes = torch.nn.functional.pad(x.double().flatten(-2), (0, 1))  # the zero that −1 names
    found = reduce("sum", planes[..., places], -1) / divisors
    return torch.empty_like(shape, device="cpu").copy_(rounded(found, x.dtype).reshape(shape.shape))


@operation("avg_pool2d_backward")
def _avg_pool_backward(
    gradient: Any, x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: Any
) -> Any:
    if not known(gradient) or not x.numel():
        return NotImplemented
    places, divisors = _windows(x.shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    plane = x.shape[-2] * x.shape[-1]
    shares = (gradient.double() / divisors).reshape(-1, *places.shape[:2], 1).expand(-1, *places.shape)
    where = places + torch.arange(len(shares)).reshape(-1, 1, 1, 1) * plane
    kept = (places >= 0).expand(where.shape)
    return rounded(add_at(x.numel(), where[kept], shares[kept].reshape(-1, 1)), gradient.dtype).reshape(x.shape)


def _parts(x: torch.Tensor, size: Any) -> Iterator[tuple[int, int, slice, slice]]:
    """For each element of an adaptive mean its place and the rows and columns that it covers."""
    (rows, columns), (height, width) = size, x.shape[-2:]
    for row in range(rows):
        for column in range(columns):
            yield (
                row,
                column,
                slice(row * height // rows, -(-(row + 1) * height // rows)),
                slice(column * width // columns, -(-(column + 1) * width // columns)),
            )


@operation("_adaptive_avg_pool2d")
def _adaptive(x: Any, output_size: Any) -> Any:
    if not known(x) or not x.numel():
        return NotImplemented
    out = torch.empty_like(torch.ops.aten._adaptive_avg_pool2d(torch.empty_like(x, device="meta"), output_size), device="cpu")
    for row, column, rows, columns in _parts(x, out.shape[-2:]):
        out[..., row, column] = reduce("mean", x[..., rows, columns], (-2, -1))
    return out


@operation("_adaptive_avg_pool2d_backward")
def _adaptive_backward(gradient: Any, x: Any) -> Any:
    if not known(gradient):
        return NotImplemented
    found = torch.zeros(x.shape, dtype=torch.float64)
    for row, column, rows, columns in _parts(x, gradient.shape[-2:]):
        part = found[..., rows, columns]
        part += (gradient[..., row, column].double() / (part.shape[-1] * part.shape[-2]))[..., None, None]
    return torch.empty_like(x).copy_(rounded(found, gradient.dtype))
