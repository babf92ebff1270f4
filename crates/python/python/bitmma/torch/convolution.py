"""Convolutions as matrix products, in any number of dimensions.

A column of the image matrix holds what one output pixel sees: kernel positions, then channels.
"""

from __future__ import annotations

from typing import Any, Sequence

import torch
import torch.nn.functional as F
from torch._prims_common import suggest_memory_format

from ..errors import ShapeError

Multiply = Any
Sizes = Sequence[int]


def forward(
    multiply: Multiply,
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Any:
    """``aten.convolution``."""
    stride, padding, dilation, extra = (_each(x, one) for one in (stride, padding, dilation, output_padding))
    batched = x if x.dim() == weight.dim() else x.unsqueeze(0)
    if transposed:
        size = [
            (length - 1) * s - 2 * p + d * (kernel - 1) + e + 1
            for length, kernel, s, p, d, e in zip(batched.shape[2:], weight.shape[2:], stride, padding, dilation, extra)
        ]
        result = _spread(multiply, batched, weight, bias, size, stride, padding, dilation, groups)
    else:
        pads = [(p, p) for p in padding]
        result = _gather(multiply, batched, weight, bias, stride, pads, dilation, groups)
    if result is NotImplemented or x.dim() != weight.dim():
        return result if result is NotImplemented else result.squeeze(0)
    return result.contiguous(memory_format=_memory_format(x, weight))


def _memory_format(x: torch.Tensor, weight: torch.Tensor) -> torch.memory_format:
    """Channels come last in the result if they do in one of the operands and the library has such kernels."""
    formats = [suggest_memory_format(one) for one in (x, weight)] if x.dtype != torch.float64 else []
    return next((one for one in formats if one != torch.contiguous_format), torch.contiguous_format)


def of_traces(multiply: Multiply, *args: Any) -> Any:
    """``aten._convolution``, which traced models have: the last arguments are those of cuDNN."""
    return forward(multiply, *args[:9])


def backward(
    multiply: Multiply,
    gradient: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    bias_sizes: Sizes | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
    output_mask: Sequence[bool],
) -> Any:
    """``aten.convolution_backward``: gradients of the input, the weight and the bias."""
    if len(gradient) != len(x):  # PyTorch's kernels do not look
        raise ShapeError(f"the gradient has {len(gradient)} images and the input {len(x)}; they must have the same number")
    stride, padding, dilation, extra = (_each(x, one) for one in (stride, padding, dilation, output_padding))
    # a window for each pixel of the input, also where ``output_padding`` has room for one more
    pads = [(p, p - e if transposed else p) for p, e in zip(padding, extra)]
    to_input = to_weight = to_bias = None
    if output_mask[0]:
        if transposed:
            to_input = _gather(multiply, gradient, weight, None, stride, pads, dilation, groups)
        else:
            to_input = _spread(multiply, gradient, weight, None, x.shape[2:], stride, padding, dilation, groups)
    if output_mask[1]:
        few, many = (x, gradient) if transposed else (gradient, x)
        to_weight = _correlate(multiply, few, many, weight, stride, pads, dilation, groups)
    if output_mask[2]:
        to_bias = multiply.host(torch.ops.aten.sum.dim_IntList, gradient, [0, *range(2, gradient.dim())])
    if to_input is NotImplemented or to_weight is NotImplemented:
        return NotImplemented
    return to_input, to_weight, to_bias


def _each(x: torch.Tensor, sizes: Sizes) -> list[int]:
    """One number for each dimension of space."""
    sizes, dimensions = list(sizes), x.dim() - 2
    return sizes * dimensions if len(sizes) == 1 else sizes


def _columns(
    x: torch.Tensor, kernel: Sizes, stride: Sizes, pads: Sequence[tuple[int, int]], dilation: Sizes
) -> torch.Tensor:
    """What each output pixel sees: images, output pixels, kernel positions, channels."""
    x = F.pad(x, [one for pair in reversed(list(pads)) for one in pair])
    dimensions = len(kernel)
    for axis, (size, step, gap) in enumerate(zip(kernel, stride, dilation)):
        x = x.unfold(2 + axis, gap * (size - 1) + 1, step)[..., ::gap]
    space, positions = range(2, 2 + dimensions), range(2 + dimensions, 2 + 2 * dimensions)
    return x.permute(0, *space, *positions, 1)


def _gather(
    multiply: Multiply,
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sizes,
    pads: Sequence[tuple[int, int]],
    dilation: Sizes,
    groups: int,
) -> Any:
    """Each output pixel from the input pixels it sees; ``weight`` is outputs × inputs of a group × kernel."""
    results: list[Any] = []
    for x_part, w_part in zip(x.chunk(groups, 1), weight.chunk(groups, 0)):
        columns = _columns(x_part, weight.shape[2:], stride, pads, dilation)
        pixels = columns.shape[: weight.dim() - 1]  # images and space
        length = w_part[0].numel()
        matrix = w_part.movedim(1, -1).reshape(w_part.shape[0], length).t()
        first = len(results) * w_part.shape[0]
        c = None if bias is None else bias[first : first + w_part.shape[0]].expand(pixels.numel(), -1)
        part = multiply(columns.reshape(pixels.numel(), length), matrix, c=c, to=x.dtype)
        if part is NotImplemented:
            return part
        results.append(part.reshape(*pixels, len(w_part)).movedim(-1, 1))
    return torch.cat(results, 1).contiguous()


def _spread(
    multiply: Multiply,
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Any:
    """The transpose of :func:`_gather`: zeros between the pixels of ``x``, then the kernel turned around."""
    wide = x.new_zeros(*x.shape[:2], *[max((length - 1) * s + 1, 0) for length, s in zip(x.shape[2:], stride)])
    spaced: Any = (..., *[slice(None, None, s) for s in stride])
    wide[spaced] = x
    pads = []
    for length, stuffed, kernel, p, d in zip(size, wide.shape[2:], weight.shape[2:], padding, dilation):
        before = d * (kernel - 1) - p
        pads.append((before, length - stuffed - before + d * (kernel - 1)))
    turned = weight.flip(list(range(2, weight.dim())))
    parts = [part.transpose(0, 1) for part in turned.chunk(groups, 0)]
    one = [1] * len(pads)
    return _gather(multiply, wide, torch.cat(parts, 0), bias, one, pads, dilation, groups)


def _correlate(
    multiply: Multiply,
    few: torch.Tensor,
    many: torch.Tensor,
    weight: torch.Tensor,
    stride: Sizes,
    pads: Sequence[tuple[int, int]],
    dilation: Sizes,
    groups: int,
) -> Any:
    """The gradient of the weight: pixels of ``few`` times what they see of ``many``, K over images and pixels."""
    results: list[Any] = []
    kernel = weight.shape[2:]
    for few_part, many_part in zip(few.chunk(groups, 1), many.chunk(groups, 1)):
        columns = _columns(many_part, kernel, stride, pads, dilation)
        pixels = columns.shape[: weight.dim() - 1].numel()
        rows = few_part.transpose(0, 1).reshape(few_part.shape[1], pixels)
        part = multiply(rows, columns.reshape(pixels, kernel.numel() * many_part.shape[1]), to=few.dtype)
        if part is NotImplemented:
            return part
        results.append(part.reshape(few_part.shape[1], *kernel, many_part.shape[1]).movedim(-1, 1))
    return torch.cat(results, 0).contiguous()
