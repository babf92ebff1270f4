"""Errors measured against exact products: yours, of a bias, of designs, of workarounds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Callable, Iterable, Sequence

from .. import _arrays, _bitmma
from .._product import Target, _unit
from .._results import read, read_all
from ..simulate import Unit

if TYPE_CHECKING:
    from .._arrays import Array, Codes

__all__ = [
    "BiasGrowth",
    "Distributions",
    "Errors",
    "Histogram",
    "Measured",
    "Workaround",
    "bias_distributions",
    "bias_growth",
    "errors",
    "measure_designs",
    "workarounds",
]

#: Called with what is done, how much of it, and how much there is.
Progress = Callable[[str, int, int], object]


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
        return sqrt(self.mean_square)


@dataclass(frozen=True)
class Histogram:
    """How often errors fall into equal bins; those beyond an end are in the last one there."""

    start: float
    """Lower end of the first bin."""
    width: float
    """Width of a bin."""
    counts: list[int]
    """Errors in each bin."""


@dataclass(frozen=True)
class Distributions:
    """D minus the exact result, on CDNA3."""

    round_down: Errors
    """Of the instruction as it is."""
    toward_zero: Errors
    """Of a hypothetical one that rounds toward zero."""
    outside: Errors
    """Of the instruction as it is, with C = 0 and C added outside in FP32."""
    round_down_bins: Histogram
    """Bins of the first."""
    toward_zero_bins: Histogram
    """Bins of the second."""


@dataclass(frozen=True)
class BiasGrowth:
    """Errors after a chain of instructions."""

    k: int
    """Elements along K."""
    round_down: Errors
    """Accumulating in C."""
    toward_zero: Errors
    """Accumulating in C on the hypothetical instruction."""
    outside: Errors
    """Each instruction from C = 0, its result added outside in FP32."""
    bias: Errors
    """The first minus the second, element by element."""


@dataclass(frozen=True)
class Workaround:
    """A method to compute a product, and its errors."""

    name: str
    """In words."""
    instruction: str
    """What computes it."""
    errors: Errors
    """D minus the exact product."""


def errors(
    target: Target,
    a: Array,
    b: Array,
    d: Array,
    c: Array | None = None,
    *,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
) -> Codes:
    """D minus the exact A·B + C for every element: the difference is exact and rounded to float64 once.

    A, B and C have the target's formats, D any that its dtype tells (codes: the target's). NaN where D, or
    something that goes into it, is not finite.
    """
    unit = _unit(target)
    own = _arrays.is_codes(d)
    format = _arrays.format_of("D", d, unit.d if own else None)
    words = _arrays.codes("D", d, format)
    return _bitmma.exact_errors(unit, unit._operands(a, b, c, scale_a, scale_b), words, format)


def bias_distributions(
    *,
    instructions: int = 1_000,
    revision: str = "hardware",
    seed: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Distributions:
    """The bias of round-down on CDNA3 in single instructions (v_mfma_f32_32x32x8_f16, A and B ~ 1000·N(0,1),
    C ~ N(0,1)): the paper's figure. ``instructions`` is 1 to 1,000,000."""
    found = _bitmma.bias_distributions(
        instructions=instructions, revision_name=revision, seed=seed, threads=threads, progress=progress
    )
    return read(Distributions, found)


def bias_growth(
    lengths: Sequence[int],
    *,
    products: int = 24,
    distribution: str = "normal",
    scale: float = 10.0,
    revision: str = "hardware",
    seed: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[BiasGrowth]:
    """How that bias grows along K: ``products`` products of 32×32×K for each K of ``lengths``, A and B drawn
    from ``distribution`` (normal, uniform, outliers) times ``scale``, which is above 0 and at most 1e300. K is 1 to
    1,048,576, ``products`` 1 to 1,000,000."""
    found = _bitmma.bias_growth(
        list(lengths),
        products=products,
        distribution=distribution,
        scale=scale,
        revision_name=revision,
        seed=seed,
        threads=threads,
        progress=progress,
    )
    return read_all(BiasGrowth, found)


@dataclass(frozen=True, eq=False)
class Measured:
    """Errors and cost of a design on a product."""

    unit: Unit
    """The design."""
    adder_bits: int | None
    """Bits of the adders of one fused sum, its cost; None for what has no such sum."""
    errors: Errors
    """D minus the exact product."""
    relative: float
    """Root mean square of the errors over that of the exact results."""


def measure_designs(
    designs: Iterable[Target],
    a: Array,
    b: Array,
    *,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    threads: int | None = None,
) -> list[Measured]:
    """Accuracy against cost: every design, a model of your own or an instruction, on the product A·B.

    All take A and B in the same formats; a model's own step along K is taken.
    """
    units = [_unit(design) for design in designs]
    if not units:
        return []
    operands = units[0]._operands(a, b, None, scale_a, scale_b)
    rows = json.loads(_bitmma.measure_designs(units, operands, threads=threads))
    return [read(Measured, row, unit=unit) for unit, row in zip(units, rows)]


def workarounds(
    target: Target,
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    revision: str = "hardware",
    threads: int | None = None,
) -> list[Workaround]:
    """What helps on your data: the product as it is, first, then every alternative the catalogue has for it:
    FP32 output, promotion, C = 0, FP16 instead of FP8, BF16, scaling, a newer architecture."""
    unit = _unit(target)
    operands = unit._operands(a, b, c, scale_a, scale_b)
    return read_all(Workaround, _bitmma.workarounds(unit, operands, revision_name=revision, threads=threads))
