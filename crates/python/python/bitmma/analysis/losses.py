"""What several questions answer with: an input, and what is lost on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from .._arrays import Codes

__all__ = ["Input", "Loss"]


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
