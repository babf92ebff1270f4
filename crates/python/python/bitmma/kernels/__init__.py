"""Compiled GPU kernels on the processor, with the bits of a GPU.

``launch_ptx`` runs PTX from anywhere; ``on`` a Triton kernel, in Triton's own syntax; ``emulate`` every launch of a Triton
kernel on CPU tensors in its block.
"""

from __future__ import annotations

from ._launch import Launched, launch_ptx

__all__ = ["Launched", "emulate", "launch_ptx", "on"]


def __getattr__(name: str) -> object:
    """What needs Triton is imported when it is asked for."""
    if name in ("emulate", "on"):
        from . import _triton

        return getattr(_triton, name)
    raise AttributeError(f"module 'bitmma.kernels' has no attribute {name!r}")
