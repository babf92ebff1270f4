"""Arrays as the memory they are in: those that overlap are one buffer, as on a GPU."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from .._lazy import numpy as np
from ..errors import DeviceError, PtxError


class Span(NamedTuple):
    """The bytes that an array's elements lie in, from the first to the last."""

    bytes: Any  # a view of them as unsigned bytes
    address: int
    writeable: bool
    first: int  # the first element, from the start of the span
    argument: int


def _of_numpy(array: Any, argument: int, called: str) -> Span:
    """Of a NumPy array."""
    low, high = np.lib.array_utils.byte_bounds(array) if hasattr(np.lib, "array_utils") else np.byte_bounds(array)
    address = array.__array_interface__["data"][0]
    size = high - low if array.size else 0
    if not array.size:
        return Span(np.empty(0, np.uint8), address, True, 0, argument)
    if array.flags.c_contiguous:
        view = array.reshape(-1).view(np.uint8)
    elif array.ndim and min(array.strides) >= 0:
        # a view of everything between the first and the last element: all of it is memory of the same owner
        view = np.lib.stride_tricks.as_strided(array.view(), (1,) * array.ndim)
        view = np.lib.stride_tricks.as_strided(view.reshape(-1).view(np.uint8), (size,), (1,))
    else:
        raise PtxError(f"{called} runs backward in memory: pass a copy")
    return Span(view, low, array.flags.writeable, address - low, argument)


def _of_torch(tensor: Any, argument: int, called: str) -> Span:
    """Of a PyTorch tensor on the CPU."""
    import torch

    if tensor.device.type != "cpu":
        raise DeviceError(f"{called} is on {tensor.device}; move it to the CPU: tensor.cpu()")
    if tensor.layout != torch.strided:
        raise PtxError(f"{called} is not a dense tensor")
    tensor = tensor.detach()
    size = tensor.element_size()
    if not tensor.numel():
        return Span(np.empty(0, np.uint8), tensor.data_ptr(), True, 0, argument)
    last = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True))
    whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
    start = tensor.storage_offset() * size
    view = whole[start : start + (last + 1) * size].numpy()
    return Span(view, tensor.data_ptr(), True, 0, argument)


class Memory:
    """Everything a launch can reach. Messages call arguments by ``parameters``, or by number."""

    def __init__(self, parameters: Sequence[str] = ()) -> None:
        self.parameters = parameters
        self.spans: list[Span] = []
        self.groups: list[list[Span]] = []
        self.names: list[str] = []

    def _called(self, index: int) -> str:
        return f"argument '{self.parameters[index]}'" if index < len(self.parameters) else f"argument {index}"

    def argument(self, index: int, value: Any) -> Any:
        """A span, a number or None."""
        if value is None or isinstance(value, (bool, int, float)):
            return int(value) if isinstance(value, bool) else value
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
            value = value.item()
            return int(value) if isinstance(value, bool) else value
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            span = _of_torch(value, index, self._called(index))
        elif isinstance(value, np.ndarray):
            span = _of_numpy(value, index, self._called(index))
        elif isinstance(value, numbers.Integral):
            return int(value)
        elif isinstance(value, numbers.Real):
            return float(value)
        else:
            kind = type(value).__name__
            raise PtxError(f"{self._called(index)} is a {kind}; an array, a tensor on the CPU, a number or None was expected")
        self.spans.append(span)
        return span

    def buffers(self, given: list[Any]) -> tuple[list[Any], list[Any], list[str]]:
        """Arguments, each array as the number of its buffer and an offset; the buffers, copied; what messages call them."""
        places: dict[int, tuple[int, int]] = {}
        for span in sorted(self.spans, key=lambda span: span.address):
            group = self.groups[-1] if self.groups else []
            end = max((other.address + len(other.bytes) for other in group), default=-1)
            if not group or span.address >= end or not len(span.bytes):
                group = []
                self.groups.append(group)
            group.append(span)
            places[span.argument] = (len(self.groups) - 1, span.address - group[0].address + span.first)
        copies = []
        for group in self.groups:
            start = group[0].address
            copy = np.empty(max(span.address + len(span.bytes) for span in group) - start, np.uint8)
            for span in group:
                copy[span.address - start : span.address - start + len(span.bytes)] = span.bytes
            copies.append(copy)
            self.names.append(" and ".join(map(self._called, sorted(span.argument for span in group))))
        arguments = [places[value.argument] if isinstance(value, Span) else value for value in given]
        return arguments, copies, self.names

    def write_back(self, copies: list[Any], written: list[bool]) -> None:
        """What a launch wrote, to where it belongs."""
        for group, copy, touched in zip(self.groups, copies, written, strict=True):
            if not touched:
                continue
            start = group[0].address
            for span in group:
                part = copy[span.address - start : span.address - start + len(span.bytes)]
                if not span.writeable:
                    if (part != span.bytes).any():
                        raise PtxError(f"{self._called(span.argument)} is read-only, and the kernel writes to it")
                    continue
                span.bytes[...] = part
