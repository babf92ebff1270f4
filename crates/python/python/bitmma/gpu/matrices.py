"""Tensors in, tensors out: :func:`bitmma.gemm` where the tensors are."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from .. import _arrays, _batches
from .._dtypes import WORD_OF
from .._product import Target, _unit, on_cpu
from ..errors import DeviceError, DtypeError, RanOnCpu
from ..simulate import Unit
from . import device as devices
from .model import Declined, format_of, model_of
from .packing import DTYPES
from .product import multiply
from .verdicts import why_not

_said: set[str] = set()


def gemm(
    target: Target,
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor | None = None,
    *,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    device: str | torch.device | None = None,
    **options: Any,
) -> torch.Tensor:
    """:func:`bitmma.gemm` by kernels, on the device of the operands and its current stream, bit for bit the same.

    Options are those of :func:`bitmma.gemm`. ``device`` names another device: operands are copied there, and D back to where A is.
    Where no kernel computes the product, or its kernel failed the self-test, the CPU does, and a warning
    (:class:`~bitmma.errors.RanOnCpu`) says why, once for each reason.
    """
    unit = _unit(target)
    operands = (a, b, c, scale_a, scale_b)
    where = _place(operands, device)
    given = [one if one is None else one.to(where) for one in operands]
    try:
        missing = devices.why_none()
        if missing is not None:
            raise Declined(missing)
        return _on_device(unit, given, where, options).to(a.device)
    except Declined as reason:
        why = f"{unit.name}: {reason}"
        if why not in _said:
            _said.add(why)
            warnings.warn(f"computed on the CPU, not on {where}: {why}", RanOnCpu, stacklevel=3)
    x, y, z, scale_x, scale_y = [one if one is None else one.cpu() for one in operands]
    result: torch.Tensor = on_cpu(unit, x, y, z, scale_a=scale_x, scale_b=scale_y, **options)
    return result.to(a.device)


def _place(operands: tuple[Any, ...], device: Any) -> torch.device:
    """Where a product is computed: one device, that of all operands."""
    names = ("A", "B", "C", "scale A", "scale B")
    places = {}
    for name, one in zip(names, operands):
        if one is not None:
            if not isinstance(one, torch.Tensor):
                raise DeviceError(f"{name} is a {type(one).__name__}; on a GPU all operands are PyTorch tensors")
            places[name] = one.device
    if device is not None:
        return devices.named(device)
    if len(set(places.values())) > 1:
        raise DeviceError("operands are on several devices: " + ", ".join(f"{name} on {place}" for name, place in places.items()))
    return places["A"]


def _on_device(unit: Unit, operands: list[Any], where: torch.device, options: dict[str, Any]) -> torch.Tensor:
    """The product by kernels. Raises :class:`Declined` where there is none, or it is not trusted."""
    options = {key: value for key, value in options.items() if key not in ("threads", "progress")}
    model = model_of(unit)
    device = devices.device_of(where)
    distrust = why_not(unit, device, where)
    if distrust is not None:
        raise Declined(distrust)
    names = ("A", "B", "C", "scale A", "scale B")
    like = _arrays.like(*operands[:2])
    scale_format = unit._factors(operands[3], operands[4], options.get("scale_blocks"))
    formats = (unit.a, unit.b, unit.c, scale_format, scale_format)
    taken: list[Any] = [
        None if one is None else codes_of(name, one, format, along) for name, one, format, along in zip(names, operands, formats, (-1, -2, -1, -1, -1))
    ]
    a, b, c, *scales = taken
    shape: tuple[int, ...] | None = None
    if _batches.are_nested(a, b, c, *scales):
        laid_out: Any = _batches.flat((a, b, c, *scales), names)
        (a, b, c, *scales), shape = laid_out
    elif a.dim() == 2:
        taken = [None if one is None else one[None] for one in taken]
        a, b, c, *scales = taken
        shape = (a.shape[1], b.shape[2])
    if a.dim() == 2:  # rows of many A times one B
        a, b, c = a[None], b[None], None if c is None else c[None]
    pair = None if scales[0] is None or scales[1] is None else (scales[0], scales[1])
    if pair is not None and options.get("scale_blocks"):
        pair = (_numbers(pair[0], "f32"), _numbers(pair[1], "f32"))
    if (pair is None) != (scales[0] is None and scales[1] is None):
        raise Declined("one of two operands has scale factors")  # which the CPU says better
    d = multiply(unit, a, b, None if c is None else _numbers(c, model.c.name), device, scales=pair, **options)
    d = d if shape is None else d.reshape(shape)
    return d.view(getattr(torch, WORD_OF[d.element_size()])) if like.codes else d


def codes_of(name: str, tensor: torch.Tensor, format: str, along: int = -1) -> torch.Tensor:
    """The codes of a tensor of that format, as int32, or int64 for FP64."""
    dtype = _arrays.reading(name, tensor, format)
    if tensor.layout != torch.strided:
        raise DtypeError(f"{name} is a {tensor.layout} tensor; make it dense first: tensor.to_dense()")
    tensor = tensor.detach().resolve_neg()
    size = tensor.element_size()
    words = tensor.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size])
    if dtype == "float4_e2m1fn_x2":
        axes = [axis for axis in (-1, -2) if axis >= -words.dim() and words.stride(axis) == 1]
        axis = axes[0] if len(axes) == 1 else along
        pair = torch.stack([words & 15, words >> 4], -1) if axis == -1 else torch.stack([words & 15, words >> 4], -2)
        words = pair.flatten(-2) if axis == -1 else pair.flatten(-3, -2)
    words = words if size >= 4 else words.to(torch.int32) & ((1 << 8 * size) - 1)
    return words & ((1 << format_of(format).bits) - 1) if size == 1 else words


def _numbers(codes: torch.Tensor, format: str) -> torch.Tensor:
    """Codes as numbers of their format."""
    dtype = DTYPES[format]
    return (codes.to(torch.int16) if dtype.itemsize == 2 else codes).view(dtype)
