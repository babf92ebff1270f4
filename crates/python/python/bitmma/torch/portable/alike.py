"""Operations that PyTorch computes alike on every machine: at most one operation of IEEE 754 for each element.

Only the code of a NaN differs between machines there: which operand it comes from, and what a processor or a conversion makes of
it. After these operations every NaN has the positive sign and no payload. Operations that only move numbers keep the codes.
"""

from __future__ import annotations

import re
from typing import Any

import torch

from ..account import kind_of

_SINGLE = re.compile(
    r"r?sub|add|mul|div|true_divide|reciprocal|sqrt|square|neg|abs|sign|sgn|copysign|relu6?|leaky_relu(_backward)?|threshold(_backward)?"
    r"|hardtanh(_backward)?|hardshrink(_backward)?|softshrink(_backward)?|clamp(_\w+)?|clip|floor|ceil|round|trunc|frac|_prelu_kernel(_backward)?"
    r"|_to_copy|copy|to|native_dropout_backward|max|min|cummax|cummin|_cummax_helper|_cummin_helper|mode|median|nanmedian|deg2rad|rad2deg|heaviside"
    r"|(adaptive_|fractional_)?max_pool\dd(_with_indices)?"
)
#: Operations of the kind "exact" of which something is not alike, whatever the arguments.
_NOT_MOVES = re.compile(r"linspace|arange|logspace|max_pool\w*_backward|sparse_\w+|replication_pad\w*_backward|reflection_pad\w*_backward")
#: Random integers, which come from the generator as they are, and these times a power of two.
_WHOLE_RANDOM = re.compile(r"randint(_like)?|randperm|random|rand(_like)?")


def is_single(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call is one operation of IEEE 754 for each element; ``name`` without the mark of operations in place."""
    if name in ("add", "sub", "rsub"):
        return (args[2] if len(args) > 2 else kwargs.get("alpha", 1)) == 1
    if name == "pow":
        return isinstance(args[0], torch.Tensor) and isinstance(args[1], (int, float)) and args[1] in (1, 2)
    if name in ("div", "true_divide"):
        return kwargs.get("rounding_mode") != "floor"
    if name in ("max", "min"):
        return bool(len(args) > 1 and isinstance(args[1], int))  # with places; ties are the first of them
    return _SINGLE.fullmatch(name) is not None


def is_move(func: Any, name: str) -> bool:
    """Whether an operation moves, chooses, compares or makes numbers, and computes none."""
    if _NOT_MOVES.fullmatch(name) or name in ("scatter", "_scatter") and "reduce" in func._overloadname:
        return False
    return kind_of(func) == "exact" or _WHOLE_RANDOM.fullmatch(name) is not None
