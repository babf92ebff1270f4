"""Products of batches of any rank as those of one batch, which the native half takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _arrays
from ._lazy import numpy as np
from .errors import ShapeError

if TYPE_CHECKING:
    from ._arrays import Array


def rank(array: Array) -> int:
    """Dimensions of an array."""
    return len(array.shape) if hasattr(array, "shape") else int(np.ndim(array))


def are_nested(a: Array, b: Array, *others: Array | None) -> bool:
    """Whether the operands are batches that have to be laid out as one: of rank 4 and more, of different ranks, or of
    different sizes."""
    if max(rank(a), rank(b)) < 3:
        return False
    given = [a, b, *(one for one in others if one is not None)]
    if any(rank(one) < 2 for one in given):
        return False  # which is no batch, and an error elsewhere
    return any(rank(one) != 3 for one in given) or len({len(one) for one in given}) > 1


def flat(operands: tuple[Array | None, ...], names: tuple[str, ...]) -> tuple[tuple[Array | None, ...], tuple[int, ...]]:
    """A, B, and what else there is, each as one matrix or one batch, and the shape of the result.

    Dimensions in front are stretched to each other's. Rows of many A times one B are rows of one A.
    """
    whole = map(_arrays.unmasked, names, operands)
    given: list[Any] = [None if one is None else one if hasattr(one, "reshape") else np.asarray(one) for one in whole]
    for name, one in zip(names, given):
        if one is not None and len(one.shape) < 2:
            raise ShapeError(f"{name} has {len(one.shape)} dimension; a matrix has 2, and batches of matrices more")
    a, b, *others = given
    shapes = [tuple(map(int, one.shape[:-2])) for one in given if one is not None]
    try:
        batch = tuple(map(int, np.broadcast_shapes(*shapes)))
    except ValueError:
        text = ", ".join("×".join(map(str, shape)) or "none" for shape in shapes)
        raise ShapeError(f"batches of shapes {text} do not go together") from None
    shape = (*batch, int(a.shape[-2]), int(b.shape[-1]))
    if len(b.shape) == 2 and all(one is None for one in others):
        return (a.reshape((-1, a.shape[-1])) if a.shape[-1] else a.reshape((int(np.prod(shape[:-1])), 0)), b, *others), shape
    return tuple(None if one is None else _stretched(one, batch) for one in given), shape


def _stretched(array: Any, batch: tuple[int, ...]) -> Any:
    """One batch of matrices."""
    shape = (*batch, *array.shape[-2:])
    stretched = array.broadcast_to(shape) if hasattr(array, "broadcast_to") else np.broadcast_to(array, shape)
    return stretched.reshape((int(np.prod(batch)), *array.shape[-2:]))
