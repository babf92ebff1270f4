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

def __getattr__(name: str) -> object:
    """What needs Triton is imported when it is asked for."""
    if name == "compare":
        from . import _compare

        return _compare.compare
    if name == "cuda":
        from . import _cuda

        return _cuda.cuda
    if name in ("emulate", "on"):
        from . import _triton

        return getattr(_triton, name)
    raise AttributeError(f"module 'bitmma.kernels' has no attribute {name!r}")
