"""Which instruction of which architecture uses which model."""

from __future__ import annotations

import copyreg
from typing import Callable

from . import _bitmma
from ._bitmma import Instruction, architecture, architectures, find

__all__ = ["Instruction", "architecture", "architectures", "choose", "find", "instructions"]


def instructions(
    architecture: str | None = None, *, format: str | None = None, model: str | None = None
) -> list[Instruction]:
    """The catalogue's rows, or those of one architecture, with one format, of one model family.

    M and N are the smallest where a row has a range.
    """
    return _bitmma.instructions(architecture, format, model)


def choose(
    architecture: str,
    a: str,
    b: str,
    d: str | None = None,
    *,
    scale: tuple[str, int | None] | None = None,
) -> Instruction:
    """The instruction a library would take to multiply formats ``a`` and ``b`` with sums in ``d``.

    Without ``d`` that is f32, and f64 for f64. ``scale`` is the format of scale factors and how many elements
    share one; None is 16 for ue4m3 and 32 for ue8m0. The rule, in this order:

    1. the family kernels are written with: wgmma on Hopper, tcgen05 on Blackwell, mma on the other NVIDIA
       architectures (and where the former lack the formats), v_mfma on AMD;
    2. what the hardware has as one instruction, with C in D's format;
    3. the fewest independent blocks, the largest K, the largest M times N, the first in the tables.

    It is our reading of published kernels, no vendor's promise. FP32 on NVIDIA is computed outside the
    matrix unit unless TF32 is allowed, so there is no instruction for it: ask for ``tf32``.
    """
    return _bitmma.choose(architecture, a, b, d, scale)


def _reduced(one: Instruction) -> tuple[Callable[..., Instruction], tuple[str, str]]:
    """How an instruction is pickled: by its names."""
    return find, (one.architecture, one.name)


copyreg.pickle(Instruction, _reduced)
