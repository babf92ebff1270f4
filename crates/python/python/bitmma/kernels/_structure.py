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


def structure_of(value: Any) -> Structure | None:
    """What is given as a structure: a tuple of its members, one of ``ctypes`` or NumPy, its bytes; None if it is none."""
    if isinstance(value, Structure):
        return value
    if isinstance(value, tuple):
        code, pointers, _ = _packed(value)
        return Structure(code, pointers)
    if isinstance(value, (bytes, bytearray, ctypes.Structure, ctypes.Union, ctypes.Array)):
        return Structure(bytes(value))
    if isinstance(value, np.void) or (isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.names):
        return Structure(value.tobytes())
    return None


def _packed(members: Sequence[Any]) -> tuple[bytes, dict[int, Any], int]:
    """Members in order, each where its alignment allows it; where the pointers are; the alignment of all."""
    code, pointers, most = bytearray(), {}, 1
    for member in members:
        inner: dict[int, Any] = {}
        if isinstance(member, tuple):
            content, inner, align = _packed(member)
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
