"""How large errors can be, and are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _bitmma
from .._bitmma import Account, Bounds, WorstCase
from .._options import whole
from .._product import Target, _unit

if TYPE_CHECKING:
    from .._arrays import Array

__all__ = ["account", "bounds", "error_sources", "worst_case"]


def account(
    target: Target,
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    element: tuple[int, int] = (0, 0),
) -> Account:
    """What one element of D = A·B + C lost, source by source, each loss beside its bound.

    Operands as in :func:`bitmma.simulate`, K any that the model takes; ``element`` is row and column.
    """
    unit = _unit(target)
    return _bitmma.account(unit, unit._operands(a, b, c, scale_a, scale_b), element)


def bounds(
    target: Target,
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    promote_every: int | None = None,
    threads: int | None = None,
) -> Bounds:
    """What each element of D = A·B + C, computed as :func:`bitmma.gemm` does, lost and could have lost.

    Every step of every element is accounted exactly: some microseconds for each product.
    """
    unit = _unit(target)
    operands = unit._operands(a, b, c, scale_a, scale_b)
    whole(promote_every=promote_every, threads=threads)
    return _bitmma.product_bounds(unit, operands, promote_every=promote_every, threads=threads)


def worst_case(
    target: Target,
    objective: str = "total",
    *,
    k: int | None = None,
    budget: int = 40_000,
    enough: float = 0.95,
    seed: int = 1,
) -> WorstCase | None:
    """The input whose error comes closest to its bound, of those that a search finds; None where nothing can
    be lost.

    ``objective`` is ``total`` (all sources), ``paper`` (the paper's formula), or a source. The search ends
    with a ratio of ``enough``, 0 to 1, or after ``budget`` cases, at least 80. ``k`` is a multiple of what the target
    takes, up to 1,048,576.
    """
    native = _unit(target)
    whole(k=k, budget=budget, seed=seed)
    return _bitmma.worst_case(native, objective, k=k, budget=budget, enough=enough, seed=seed)


def error_sources(target: Target, *, k: int | None = None) -> dict[str, str]:
    """Where a unit's errors come from, each with the bound of one elementary operation as the paper writes
    it."""
    whole(k=k)
    return dict(_bitmma.error_sources(_unit(target), k))
