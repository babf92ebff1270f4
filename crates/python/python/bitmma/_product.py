"""A matrix product on the CPU: what :func:`bitmma.gemm` and the self-test of a GPU's kernels both call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

from . import _arrays, _batches, _bitmma
from .errors import OptionError
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
    if _batches.are_nested(a, b, c, scale_a, scale_b):
        (a, b, c, scale_a, scale_b), shape = _batches.flat((a, b, c, scale_a, scale_b), ("A", "B", "C", "scale A", "scale B"))
    else:
        shape = None
    output = _arrays.format_named("output", output)
    operands = unit._operands(a, b, c, scale_a, scale_b, scale_blocks)
    d, format = _bitmma.gemm(unit, operands, scale_blocks=scale_blocks, output=output, **options)
    d = d if shape is None else d.reshape(shape)
    return _arrays.result(d, format, _arrays.like(a, b))
