"""The backward pass, and pinned memory, on a machine without CUDA's driver.

PyTorch's C++ code asks an object, its hooks of CUDA, for what only the driver knows: whether the process uses a GPU (the backward pass, to know its
streams), and who gives out pinned memory. Without a driver each question is an error. Here the object gets a copy of its table of virtual
functions in which these have answers. Their places in the table are read from the header that comes with PyTorch.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

_HEADER = "include/ATen/detail/AcceleratorHooksInterface.h"
#: ``at::detail::getCUDAHooks()`` and ``c10::GetCPUAllocator()``
_HOOKS, _ALLOCATOR = "_ZN2at6detail12getCUDAHooksEv", "_ZN3c1015GetCPUAllocatorEv"
#: Entries of the table before the first function (offset, type), and as many of it as any version of PyTorch has.
_BEFORE, _ENTRIES = 2, 64


def _places(header: str) -> dict[str, int]:
    """The places of virtual functions in their table, by name; a destructor takes two."""
    names = re.findall(r"^\s*virtual\s[^;{(]*?(~?\w+)\(", header, re.MULTILINE)
    places, place = {}, 0
    for name in names:
        places[name] = place
        place += 2 if name.startswith("~") else 1
    return places


def _library(name: str) -> Any:
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / name))


@contextlib.contextmanager
def without_driver() -> Iterator[None]:
    """In this block PyTorch asks no driver: no GPU has streams that a backward pass must wait for, and pinned memory is the CPU's."""
    try:
        places = _places((Path(torch.__file__).parent / _HEADER).read_text())
        hooks, allocator = getattr(_library("libtorch_cpu.so"), _HOOKS), getattr(_library("libc10.so"), _ALLOCATOR)
        wanted = {name: places[name] for name in ("hasPrimaryContext", "getPinnedMemoryAllocator", "init")}
    except (OSError, AttributeError, KeyError) as error:
        raise RuntimeError(f"PyTorch {torch.__version__} cannot pretend that there is a GPU: {error}") from None
    hooks.restype = allocator.restype = ctypes.c_void_p
    memory = allocator()
    functions: dict[str, Any] = {
        "hasPrimaryContext": ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_int8)(lambda hooks, index: False),
        "getPinnedMemoryAllocator": ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda hooks: memory),
        "init": ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda hooks: None),
    }
    owner = ctypes.cast(hooks(), ctypes.POINTER(ctypes.c_size_t))
    plain, size = owner[0], ctypes.sizeof(ctypes.c_size_t)
    table = (ctypes.c_size_t * (_BEFORE + _ENTRIES)).from_buffer_copy((ctypes.c_char * ((_BEFORE + _ENTRIES) * size)).from_address(plain - _BEFORE * size))
    for name, function in functions.items():
        table[_BEFORE + wanted[name]] = ctypes.cast(function, ctypes.c_void_p).value or 0
    owner[0] = ctypes.addressof(table) + _BEFORE * size
    try:
        yield
    finally:
        owner[0] = plain
        functions.clear()
