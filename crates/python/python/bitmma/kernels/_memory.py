"""Arrays as the memory they are in: those that overlap are one buffer, as on a GPU."""

from __future__ import annotations

import contextlib
import numbers
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from .._lazy import numpy as np
from ..errors import DeviceError, PtxError
from ._descriptor import TensorMap
from ._structure import structure_of


class Span(NamedTuple):
    """The memory that an array lies in: its elements, and what its owner has around them."""

    bytes: Any  # a view of it as unsigned bytes
    address: int
    writeable: bool
    first: int  # the first element, from the start of the span
    argument: int
    own: slice  # from the first element to the last
    layout: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())  # sizes and steps of what these are, in bytes

    def elements(self) -> Any:
        """Which of its own bytes are elements."""
        found = np.zeros(self.own.stop - self.own.start, bool)
        np.lib.stride_tricks.as_strided(found, *self.layout)[...] = True
        return found


class Packed(NamedTuple):
    """A structure's bytes, and the memory that its pointers lead to, by where they are in it."""

    bytes: bytes
    pointers: dict[int, Span]


def dtype_name(value: Any) -> str:
    """The dtype of an array or tensor as NumPy calls it; empty of anything else."""
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.names is None:
        return str(value.dtype)
    torch = sys.modules.get("torch")
    return str(value.dtype).removeprefix("torch.") if torch is not None and isinstance(value, torch.Tensor) else ""


class Address(int):
    """A number that is one of an array's."""


class Mapped(NamedTuple):
    """The memory of a tensor map's tensor, and its fields."""

    span: Span
    fields: tuple[Any, ...]


# Bytes around an array that are its owner's, too, and that a kernel may read as on a GPU: a row, and at least these.
AROUND = 1 << 16
# Owners start where any vector is aligned, as a GPU's allocations do. So does every span, so that an array that starts elsewhere in
# its owner, as x[1:] does, is misaligned in its span as it is on a GPU.
ALIGNMENT = 256


def _around(start: int, end: int, size: int, row: int) -> tuple[int, int]:
    """The bytes of an owner of ``size`` bytes that a kernel may reach from an array at ``start`` to ``end`` with rows of ``row``."""
    around = max(row, AROUND)
    return max(0, start - around) // ALIGNMENT * ALIGNMENT, min(size, end + around)


def _bounds(array: Any) -> Any:
    """Where an array begins and ends."""
    return np.lib.array_utils.byte_bounds(array) if hasattr(np.lib, "array_utils") else np.byte_bounds(array)


def _of_numpy(array: Any, argument: int, called: str) -> Span:
    """Of a NumPy array."""
    address = array.__array_interface__["data"][0]
    if not array.size:
        return Span(np.empty(0, np.uint8), address, True, 0, argument, slice(0, 0), ((0,), (1,)))
    if array.ndim and min(array.strides) < 0:
        raise PtxError(f"{called} runs backward in memory: pass a copy")
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not (owner.flags.c_contiguous or owner.flags.f_contiguous) or array.flags.writeable > owner.flags.writeable:
        owner = array
    first, last = _bounds(array)
    low, high = (first, last) if owner is array else _bounds(owner)
    plain = owner.view(np.ndarray)
    if owner.flags.c_contiguous or owner.flags.f_contiguous:
        view = (plain if owner.flags.c_contiguous else plain.T).reshape(-1).view(np.uint8)
    else:
        # all bytes between the first element and the last one
        view = np.lib.stride_tricks.as_strided(plain, (1,) * owner.ndim).reshape(-1).view(np.uint8)
        view = np.lib.stride_tricks.as_strided(view, (high - low,), (1,))
    start, end = _around(first - low, last - low, high - low, max(array.strides, default=0))
    own = slice(first - low - start, last - low - start)
    layout = (*array.shape, array.itemsize), (*array.strides, 1)
    return Span(view[start:end], low + start, array.flags.writeable, address - low - start, argument, own, layout)


def _of_torch(tensor: Any, argument: int, called: str) -> Span:
    """Of a PyTorch tensor on the CPU."""
    import torch

    tensor = on_host(tensor)
    if tensor.device.type != "cpu":
        raise DeviceError(f"{called} is on {tensor.device}; move it to the CPU: tensor.cpu()")
    if tensor.layout != torch.strided:
        raise PtxError(f"{called} is not a dense tensor")
    tensor = tensor.detach()
    size = tensor.element_size()
    if not tensor.numel():
        return Span(np.empty(0, np.uint8), tensor.data_ptr(), True, 0, argument, slice(0, 0), ((0,), (1,)))
    last = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True))
    whole = torch.empty(0, dtype=torch.uint8, device="cpu").set_(tensor.untyped_storage())
    first = tensor.storage_offset() * size
    start, end = _around(first, first + (last + 1) * size, len(whole), max(tensor.stride(), default=0) * size)
    own = slice(first - start, first - start + (last + 1) * size)
    layout = (*tensor.shape, size), (*(stride * size for stride in tensor.stride()), 1)
    return Span(whole[start:end].numpy(), tensor.data_ptr() - first + start, True, first - start, argument, own, layout)


#: Where tensors say that they are on a GPU: what gives the same memory as a tensor on the CPU.
_HOST: list[Callable[[Any], Any]] = []


@contextlib.contextmanager
def on_gpu(host: Callable[[Any], Any]) -> Iterator[None]:
    """In this block tensors may say that they are on a GPU; ``host`` gives what they are on the CPU."""
    _HOST.append(host)
    try:
        yield
    finally:
        _HOST.remove(host)


def on_host(tensor: Any) -> Any:
    """A tensor on the CPU, of the same memory."""
    return _HOST[-1](tensor) if _HOST and tensor.is_cuda and tensor.device.type == "cuda" else tensor


class Memory:
    """Everything a launch can reach. Messages call arguments by ``parameters``, or by number; after ``count`` of them pointers lead to the others."""

    def __init__(self, parameters: Sequence[str] = (), count: int | None = None) -> None:
        self.parameters, self.count = parameters, count
        self.spans: list[Span] = []
        self.groups: list[list[Span]] = []
        self.names: list[str] = []

    @property
    def hosts(self) -> list[int]:
        """Where the buffers are on this machine."""
        return [group[0].address for group in self.groups]

    def _called(self, index: int) -> str:
        if self.count is not None and index >= self.count:
            return f"reachable array {index - self.count}"
        return f"argument '{self.parameters[index]}'" if index < len(self.parameters) else f"argument {index}"

    def argument(self, index: int, value: Any) -> Any:
        """A span, a map, a structure, a number or None."""
        if value is None or type(value) in (int, float):  # most are, and a launch is short
            return value
        if isinstance(value, TensorMap):
            return Mapped(self.argument(index, value.array), value.fields())
        given = structure_of(value)
        if given is not None:
            return Packed(given.bytes, {at: self.argument(index, array) for at, array in given.pointers.items()})
        if isinstance(value, (bool, int, float)):
            return int(value) if isinstance(value, bool) else value
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
            if value.dtype.kind not in "biuf":
                raise PtxError(f"{self._called(index)} is of {value.dtype}; a number of integers or floats was expected")
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

    def buffers(self, given: list[Any], are_pointers: Sequence[bool] = ()) -> tuple[list[Any], list[Any], list[str]]:
        """Arguments, each array as the number of its buffer and an offset, and so are addresses of arrays that parameters of pointers and
        structures are given; the buffers, copied; what messages call them."""
        places: dict[int, tuple[int, int]] = {}
        # empty ones overlap nothing, wherever they are
        for span in sorted(self.spans, key=lambda span: (len(span.bytes) > 0, span.address)):
            group = self.groups[-1] if self.groups else []
            end = max((other.address + len(other.bytes) for other in group), default=-1)
            if not group or span.address >= end or not len(span.bytes) or not len(group[0].bytes):
                group = []
                self.groups.append(group)
            group.append(span)
            places[id(span)] = (len(self.groups) - 1, span.address - group[0].address + span.first)
        copies = []
        for group in self.groups:
            start = group[0].address
            copy = np.empty(max(span.address + len(span.bytes) for span in group) - start, np.uint8)
            for span in group:
                copy[span.address - start : span.address - start + len(span.bytes)] = span.bytes
            copies.append(copy)
            self.names.append(" and ".join(map(self._called, sorted({span.argument for span in group}))))

        def found(address: int) -> tuple[int, int] | None:
            """Where an address is that an array has."""
            inside = ((at, address - group[0].address) for at, group in enumerate(self.groups))
            return next(((at, offset) for at, offset in inside if 0 <= offset < len(copies[at])), None)

        def placed(index: int, value: Any, is_pointer: bool) -> Any:
            if isinstance(value, Mapped):
                return (*places[id(value.span)], *value.fields)
            if isinstance(value, Packed):
                words = {at: int.from_bytes(value.bytes[at : at + 8], "little") for at in range(0, len(value.bytes) - 7, 8)}
                pointers = {at: place for at, word in words.items() if word and (place := found(word))}
                pointers.update({at: places[id(span)] for at, span in value.pointers.items()})
                return value.bytes, [(at, *place) for at, place in pointers.items()]
            if isinstance(value, Address) or (is_pointer and isinstance(value, int) and value):
                place = found(value)
                if place is None and isinstance(value, Address):
                    raise PtxError(
                        f"{self._called(index)} is {value:#x}, which is no address of an array of this launch: pass the array, or reachable=[it]"
                    )
                return place or value
            return places[id(value)] if isinstance(value, Span) else value

        kinds = zip_longest(given, are_pointers[: len(given)], fillvalue=False)
        return [placed(index, *one) for index, one in enumerate(kinds)], copies, self.names

    def write_back(self, before: list[Any], after: list[Any]) -> None:
        """What a launch changed, to where it belongs, and nothing around it, where other threads may have written meanwhile."""
        changes = []
        for group, old, new in zip(self.groups, before, after, strict=True):
            if new is None:
                continue
            changed, start = old != new, group[0].address
            places = [(span, slice(span.address - start, span.address - start + len(span.bytes))) for span in group]
            if not all(span.writeable for span in group):
                self._check(changed, sorted(places, key=lambda one: one[0].writeable))
            changes += [(span, new[place], changed[place]) for span, place in places if span.writeable]
        for span, new, changed in changes:
            span.bytes[changed] = new[changed]

    def _check(self, changed: Any, places: list[tuple[Span, slice]]) -> None:
        """An error if something changed that no writeable argument takes: first of what is around arrays, then of their elements. Read-only
        ones come first."""
        lost = changed.copy()
        for span, place in places:
            lost[place] = changed[place] & (not span.writeable)
        for span, place in places:
            own, elements = slice(place.start + span.own.start, place.start + span.own.stop), span.elements()
            lost[own][elements] = changed[own][elements] & (not span.writeable)
        for span, place in places:
            if lost[place].any() and not span.writeable:
                raise PtxError(f"{self._called(span.argument)} is read-only, and the kernel writes to it")
