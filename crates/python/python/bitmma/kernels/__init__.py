"""Compiled GPU kernels on the processor, with the bits of a GPU.

``launch_ptx`` runs PTX from anywhere; ``cuda`` compiles CUDA C++ and runs its kernels; ``on`` a Triton kernel, in Triton's own syntax; ``emulate``
every launch of a Triton kernel on CPU tensors in its block; ``compare`` runs a Triton kernel as two chips and says where their results part.
"""

from __future__ import annotations

from ._descriptor import TensorMap
from ._launch import Launched, launch_ptx
from ._structure import Vector
from ._trace import Product, Row, Trace, Watch

__all__ = ["Launched", "Product", "Row", "TensorMap", "Trace", "Vector", "Watch", "compare", "cuda", "emulate", "launch_ptx", "on"]

#: What is imported when it is asked for, and where it is.
_LATER = {"compare": "_compare", "cuda": "_cuda", "emulate": "_triton", "on": "_triton"}


def __getattr__(name: str) -> object:
    """What needs Triton or a compiler is imported when it is asked for."""
    if name in _LATER:
        import importlib

        return getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module 'bitmma.kernels' has no attribute {name!r}")
