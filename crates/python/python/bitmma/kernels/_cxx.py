"""Names of C++ as a compiler writes them: what a kernel is called, and the types of its parameters."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import re
from typing import Any, NamedTuple

from .._lazy import numpy as np
from ..errors import PtxError
from ..formats import encode
from ._memory import Address, dtype_name
from ._structure import Structure, structure_of

#: Dtypes of C++'s types, and of CUDA's, by the names that a demangler gives.
DTYPES = {
    "bool": "bool", "char": "int8", "signed char": "int8", "unsigned char": "uint8", "short": "int16", "unsigned short": "uint16",
    "int": "int32", "unsigned int": "uint32", "long": "int64", "unsigned long": "uint64", "long long": "int64",
    "unsigned long long": "uint64", "float": "float32", "double": "float64", "__half": "float16", "__nv_bfloat16": "bfloat16",
    "__nv_fp8_e4m3": "float8_e4m3fn", "__nv_fp8_e5m2": "float8_e5m2",
}  # fmt: skip
#: Pairs that are structures in C++.
PAIRS = {"__half2": "float16", "__nv_bfloat162": "bfloat16"}
#: Formats of those that NumPy lacks, or that C++ has as structures.
CODES = {"float16": "fp16", "bfloat16": "bf16"}
#: Those of the elements of CUDA's vector types, without their numbers.
VECTORS = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32", "long": "int64",
    "ulong": "uint64", "longlong": "int64", "ulonglong": "uint64", "float": "float32", "double": "float64",
}  # fmt: skip


class Type(NamedTuple):
    """The type of a parameter."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def plain(self) -> str:
        """Without qualifiers."""
        return re.sub(r"\b(const|volatile|__restrict__|restrict)\b", "", self.name).strip()

    @property
    def pointee(self) -> str:
        """What it points to; empty if it is no pointer, or one to a pointer."""
        found = re.fullmatch(r"([^*]+?)\s*\*", self.plain)
        return found[1].strip() if found else ""

    def taken(self, value: Any, index: int) -> Any:
        """An argument as the launch takes it; an error if it cannot be one of this type."""
        given = dtype_name(value)
        element, count = elements(self.pointee)
        is_code = _kind(given) == f"int{8 if 'float8' in element else 16}" and element in (*CODES, "float8_e4m3fn", "float8_e5m2")  # as NumPy holds them
        if element and given and _kind(given) != _kind(element) and not is_code:
            raise PtxError(f"argument {index} is an array of {given}, but the kernel takes {self.name}: pass an array of {element}, or a view of it as {element}")
        if "*" in self.plain:
            return Address(value) if isinstance(value, int) and value else value
        element, count = elements(self.plain)
        if count and (isinstance(value, tuple) or structure_of(value) is None):
            numbers = encode(value, CODES[element]) if element in CODES else np.asarray(value).reshape(-1)
            if "int" in element and numbers.dtype.kind == "f":
                raise PtxError(f"argument {index} has {numbers.tolist()}, but the kernel takes {self.name}: integers")
            numbers = numbers if element in CODES else numbers.astype(element)
            if len(numbers) != count:
                raise PtxError(f"argument {index} has {len(numbers)} numbers, but the kernel takes {self.name}, which has {count}")
            return Structure(numbers.tobytes())
        if element in CODES and isinstance(value, (int, float, np.number)):
            return Structure(encode([value], CODES[element]).tobytes())
        if element == "bool" and isinstance(value, (int, np.integer)):
            return bool(value)
        if element and given:
            raise PtxError(f"argument {index} is an array, but the kernel takes {self.name}: pass a number")
        return value


def elements(name: str) -> tuple[str, int]:
    """The dtype of a type's elements, and how many it has if it is a vector; empty and 0 of others."""
    if name in PAIRS:
        return PAIRS[name], 2
    found = re.fullmatch(r"([a-z]+)([1-4])", name)
    if found and found[1] in VECTORS:
        return VECTORS[found[1]], int(found[2])
    return DTYPES.get(name, ""), 0


def _kind(dtype: str) -> str:
    """A dtype, or of integers their bits: signs do not matter, and truth values are bytes."""
    found = re.fullmatch(r"u?int(\d+)", dtype)
    return f"int{found[1]}" if found else "int8" if dtype == "bool" else dtype


class Signature(NamedTuple):
    """A kernel's name in C++ and the types of its parameters; none where its name does not say them."""

    name: str
    types: tuple[Type, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.types))})" if self.types else self.name


@functools.lru_cache(maxsize=None)
def _demangler() -> Any:
    """That of the C++ library of this system, or None."""
    for name in ("libstdc++.so.6", ctypes.util.find_library("stdc++"), ctypes.util.find_library("c++abi"), "libc++.1.dylib"):
        if not name:
            continue
        try:
            function = ctypes.CDLL(name).__cxa_demangle
        except (OSError, AttributeError):
            continue
        function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        function.restype = ctypes.c_void_p
        return function
    return None


@functools.lru_cache(maxsize=None)
def demangled(name: str) -> str:
    """A name as C++ has it."""
    function = _demangler()
    if function is None or not name.startswith("_Z"):
        return name
    status = ctypes.c_int()
    place = function(name.encode(), None, None, ctypes.byref(status))
    if not place:
        return name
    text = ctypes.string_at(place).decode()
    ctypes.CDLL(None).free(ctypes.c_void_p(place))
    return text


def _split(text: str) -> list[str]:
    """At commas outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


@functools.lru_cache(maxsize=None)
def signature(entry: str) -> Signature:
    """Of an entry's name: ``_Z5scalePff`` is ``scale(float*, float)``, ``void scale<float>(float*)`` is ``scale<float>``."""
    text = demangled(entry)
    if text == entry or not text.endswith(")"):
        return Signature(entry, ())
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            break
    head, types = text[:at], _split(text[at + 1 : -1])
    # instances of templates have their result in front
    depth, start = 0, 0
    for place, character in enumerate(head):
        depth += (character in "<(") - (character in ">)")
        if character == " " and depth == 0:
            start = place + 1
    return Signature(head[start:], tuple(map(Type, types)))
