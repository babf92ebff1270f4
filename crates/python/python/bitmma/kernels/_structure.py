"""Structures and vectors that a kernel takes by value, as C lays them out."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .._lazy import numpy as np
from ..errors import PtxError


class Structure(NamedTuple):
    """Its bytes, and the arrays that its pointers lead to, by where these are in it."""

    bytes: bytes
    pointers: Mapping[int, Any] = {}


class Vector(tuple[Any, ...]):
    """One of CUDA's vectors inside of a structure: ``Vector((1.0, 2.0))`` is a ``float2``, aligned to its 8 bytes."""


def structure_of(value: Any) -> Structure | None:
    """What is given as a structure: a tuple of its members, one of ``ctypes`` or NumPy, its bytes; None if it is none."""
    if isinstance(value, Structure):
        return value
    if isinstance(value, tuple):
        code, pointers, _ = _packed(value, vectors=False)
        if (code, pointers) != _packed(value, vectors=True)[:2]:
            raise PtxError(
                "numbers in brackets inside of a structure may be a vector (float2), which is aligned to all of its bytes, or a structure: "
                "Vector((1.0, 2.0)) of bitmma.kernels says the one, a structured scalar of NumPy or ctypes the other"
            )
        return Structure(code, pointers)
    if isinstance(value, (bytes, bytearray, ctypes.Structure, ctypes.Union, ctypes.Array)):
        return Structure(bytes(value))
    if isinstance(value, np.void) or (isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.names):
        return Structure(value.tobytes())
    return None


def _packed(members: Sequence[Any], vectors: bool) -> tuple[bytes, dict[int, Any], int]:
    """Members in order, each where its alignment allows it; where the pointers are; the alignment of all. ``vectors``: tuples inside that could be
    vectors are some."""
    code, pointers, most = bytearray(), {}, 1
    for member in members:
        inner: dict[int, Any] = {}
        if isinstance(member, tuple):
            content, inner, align = _packed(member, vectors)
            if isinstance(member, Vector) or (vectors and _may_be_vector(member)):
                align = min(len(content), 16) if len(member) in (2, 4) else align
        elif isinstance(member, np.void):
            content, align = member.tobytes(), member.dtype.alignment
        elif isinstance(member, (ctypes.Structure, ctypes.Union, ctypes.Array)):
            content, align = bytes(member), ctypes.alignment(member)
        elif member is None or (isinstance(member, np.ndarray) and member.ndim) or hasattr(member, "data_ptr"):
            content, align = bytes(8), 8
            inner = {} if member is None else {0: member}
        else:
            content = _number(member)
            align = len(content)
        code.extend(bytes(-len(code) % align))
        pointers.update({len(code) + at: array for at, array in inner.items()})
        code.extend(content)
        most = max(most, align)
    code.extend(bytes(-len(code) % most))
    return bytes(code), pointers, most


def _may_be_vector(members: tuple[Any, ...]) -> bool:
    """Whether these are two or four numbers of one type."""
    kinds = {type(member) for member in members}
    return len(members) in (2, 4) and len(kinds) == 1 and issubclass(kinds.pop(), (int, float, np.generic))


def _number(member: Any) -> bytes:
    """A number's bytes: of Python's own an ``int`` is one of 32 bits and a ``float`` an FP32 number, NumPy's say their type."""
    if isinstance(member, np.generic) or (isinstance(member, np.ndarray) and not member.ndim):
        return member.tobytes()
    if isinstance(member, bool):
        return bytes([member])
    if isinstance(member, int):
        if not -(1 << 31) <= member < 1 << 32:
            raise PtxError(f"the member {member} of a structure has more than 32 bits: say its type, as in numpy.int64({member})")
        return (member & 0xFFFFFFFF).to_bytes(4, "little")
    if isinstance(member, float):
        return np.float32(member).tobytes()
    raise PtxError(f"a structure has a member of {type(member).__name__}; numbers, arrays, None and tuples of them were expected")
