"""How large errors can be, and are."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from .. import _bitmma
from .._arrays import Codes
from .._options import whole
from .._product import Target, _unit
from .._results import read
from .losses import Input, Loss

if TYPE_CHECKING:
    from .._arrays import Array

__all__ = ["Account", "Bounds", "Entry", "WorstCase", "account", "bounds", "error_sources", "worst_case"]


@dataclass(frozen=True)
class Entry:
    """The error of one source in one dot product."""

    source: str
    """As in :class:`Loss`."""
    error: Fraction
    """What it changed, with its sign."""
    bound: Fraction
    """The most that it can have lost, given the exponents that occurred."""


@dataclass(frozen=True)
class Account:
    """What one dot product lost; all errors together are D minus the exact result."""

    code: int
    """The code of D."""
    value: Fraction | None
    """Its value; None if it is not finite, and so for the next three."""
    exact: Fraction | None
    """The exact dot product."""
    error: Fraction | None
    """D minus the exact dot product."""
    bound: Fraction | None
    """The sum of all sources' bounds."""
    paper_bound: Fraction
    """The paper's bound, whether or not a term can lose bits."""
    sources: list[Entry]
    """Sources that can have lost something."""
    losses: list[Loss] = field(repr=False)
    """Every loss, in the order of the steps."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Errors and bounds of a product, rounded to float64."""

    error: Codes
    """D minus the exact result, M×N; NaN where something is not finite."""
    bound: Codes
    """The most that each element can have lost, given the exponents that occurred: a posteriori."""
    a_priori: float | None
    """The most that any element can lose, from the largest magnitudes of the operands alone; None where it
    may overflow, or where results are promoted."""
    a_priori_by_source: dict[str, float]
    """The same by source."""


@dataclass(frozen=True, eq=False)
class WorstCase:
    """A case and how much of its bound it uses up."""

    input: Input
    """The operands."""
    ratio: float
    """Error over bound."""
    error: Fraction
    """The error."""
    tried: int
    """Cases tried."""


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
    return read(Account, _bitmma.account(unit, unit._operands(a, b, c, scale_a, scale_b), element))


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
    return read(Bounds, _bitmma.product_bounds(unit, operands, promote_every=promote_every, threads=threads))


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
    found = _bitmma.worst_case(native, objective, k=k, budget=budget, enough=enough, seed=seed)
    return None if found is None else read(WorstCase, found)


def error_sources(target: Target, *, k: int | None = None) -> dict[str, str]:
    """Where a unit's errors come from, each with the bound of one elementary operation as the paper writes
    it."""
    whole(k=k)
    return dict(_bitmma.error_sources(_unit(target), k))
