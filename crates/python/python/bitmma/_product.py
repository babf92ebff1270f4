"""A matrix product on the CPU: what :func:`bitmma.gemm` and the self-test of a GPU's kernels both call."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Union

from . import _arrays, _batches, _bitmma
from ._bitmma import Instruction
from .errors import OptionError
from .prepared import Prepared, multiply
from .simulate import Unit, mma

if TYPE_CHECKING:
    from ._arrays import Array

#: What goes along K: a unit, or an architecture and an instruction.
Target = Union[Unit, "tuple[str, str]"]


def _unit(target: Target) -> Unit:
    if isinstance(target, Unit):
        return target
    if isinstance(target, (tuple, list)) and len(target) == 2:
        return mma(*target)
    raise OptionError(
        f"target is {target!r}; give a Unit or (architecture, instruction), or the chip alone to matmul(like=...)"
    )


@lru_cache(maxsize=256)
def choice(
    like: str, format_a: str, format_b: str, accumulate: str | None, scale: tuple[str, int | None] | None
) -> tuple[Unit, Instruction]:
    """The instruction that :func:`bitmma.catalogue.choose` names, as a unit."""
    found = _bitmma.choose(like, format_a, format_b, accumulate, scale)
    return Unit(_bitmma.Unit.of_instruction(found, "hardware"), found), found


def plain(unit: Unit, a: Array, b: Array, c: Array | None) -> Array:
    """The product of NumPy's matrices without an option: all that is between the call and the kernel counts where they are small."""
    words = _arrays.words
    operands = (words("A", a, unit.a), words("B", b, unit.b, -2), None if c is None else words("C", c, unit.c), None, None)
    d, format = _bitmma.gemm(unit, operands)
    return _arrays.result(d, format, _arrays.like_dtypes(a.dtype, b.dtype), unit.d)


def on_cpu(
    unit: Unit,
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    scale_blocks: str | None = None,
    output: Any = None,
    **options: Any,
) -> Array:
    """:func:`bitmma.gemm` of arrays that are not on a GPU; ``options`` are those of the native half."""
    if isinstance(b, Prepared):
        output = _arrays.format_named("output", output)
        of_scales = {"scale_a": scale_a, "scale_b": scale_b, "scale_blocks": scale_blocks}
        return multiply(unit, a, b, c, output=output, **of_scales, **options)
    if _batches.are_nested(a, b, c, scale_a, scale_b):
        (a, b, c, scale_a, scale_b), shape = _batches.flat((a, b, c, scale_a, scale_b), ("A", "B", "C", "scale A", "scale B"))
    else:
        shape = None
    output = _arrays.format_named("output", output)
    operands = unit._operands(a, b, c, scale_a, scale_b, scale_blocks)
    d, format = _bitmma.gemm(unit, operands, scale_blocks=scale_blocks, output=output, **options)
    d = d if shape is None else d.reshape(shape)
    return _arrays.result(d, format, _arrays.like(a, b), unit.d)
