"""Results that several questions have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Optional, Tuple

if TYPE_CHECKING:
    from .._arrays import Codes

#: An exact number from the native half: hexadecimal digits of the significand, exponent of two.
Exact = Tuple[str, int]


def exact(number: Exact) -> Fraction:
    significand, exponent = number
    return int(significand, 16) * Fraction(2) ** exponent


def maybe(number: Optional[Exact]) -> Fraction | None:
    return None if number is None else exact(number)


@dataclass(frozen=True, eq=False)
class Input:
    """One dot product as codes, ready for any unit: ``simulate(unit, input.a, input.b, input.c)``."""

    a: Codes = field(repr=False)
    """1×K codes."""
    b: Codes = field(repr=False)
    """K×1 codes."""
    c: Codes = field(repr=False)
    """1×1 code."""
    scale_a: Codes | None = field(repr=False)
    """1 × K/block codes; None where the unit takes none."""
    scale_b: Codes | None = field(repr=False)
    """K/block × 1 codes; None where the unit takes none."""
    text: str
    """What is not zero in it: ``a0 = 1, b0 = 0.5, c = -0x1p-25``."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Loss:
    """Something that was cut, rounded or flushed."""

    operation: int
    """The elementary operation along K in which it happened, from 0."""
    source: str
    """What lost it: ``input FTZ``, ``add/mul``, ``output FTZ``, ``fused summation``, ``output rounding``,
    ``lowering``."""
    term: str
    """The term: ``a3*b3``, ``c``; ``d`` for a whole result."""
    exact: Fraction
    """Before."""
    kept: Fraction
    """After."""
    last_bit: int | None
    """Weight of the last bit that is kept, as a power of two; None where it was flushed."""

    @property
    def error(self) -> Fraction:
        """Kept minus exact."""
        return self.kept - self.exact


def loss(row: dict[str, Any]) -> Loss:
    return Loss(**{**row, "exact": exact(row["exact"]), "kept": exact(row["kept"])})


def losses(rows: list[dict[str, Any]]) -> list[Loss]:
    return [loss(row) for row in rows]


@dataclass(frozen=True)
class Errors:
    """Summary statistics; non-finite values are counted and left out."""

    count: int
    """Finite errors."""
    not_finite: int
    """Errors that are no number: D or the exact result is not finite."""
    mean: float
    """Their mean: the bias."""
    mean_error: float
    """The standard error of the mean, errors taken as independent."""
    mean_square: float
    """Mean of the squares."""
    mean_square_error: float
    """The standard error of the mean of the squares."""
    largest: float
    """The largest magnitude."""

    @property
    def root_mean_square(self) -> float:
        """The root of the mean square."""
        return float(self.mean_square**0.5)


@dataclass(frozen=True)
class Histogram:
    """How often errors fall into equal bins; those beyond an end are in the last one there."""

    start: float
    """Lower end of the first bin."""
    width: float
    """Width of a bin."""
    counts: list[int]
    """Errors in each bin."""
