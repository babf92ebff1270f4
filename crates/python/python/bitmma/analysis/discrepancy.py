"""Where units differ: one input through all instructions, smallest inputs, all against all."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from math import isnan
from typing import TYPE_CHECKING, Iterable, Sequence, Union

from .. import _bitmma
from .._options import whole
from .._lazy import numpy as np
from .._product import Target, _unit
from .._results import Result, result
from ..simulate import Unit
from .losses import Input, Loss

if TYPE_CHECKING:
    from .._arrays import Codes

__all__ = ["Answer", "Comparison", "Difference", "LeftOut", "Matrix", "compare", "matrix", "smallest"]

#: A number as text (decimal, hexadecimal float), or a float, which is exact.
Number = Union[str, float]


@dataclass(frozen=True)
class Answer:
    """What one instruction returns."""

    target: str
    """Architecture and instruction."""
    architecture: str
    """The architecture."""
    instruction: str
    """The instruction."""
    format: str
    """The format of D."""
    code: int
    """The code of D."""
    text: str
    """Its value."""
    losses: list[Loss] = field(repr=False)
    """What it lost, in the order of its steps; nothing for what is not finite."""

    @property
    def value(self) -> float:
        """The value of D."""
        return float(self.text)


@dataclass(frozen=True)
class LeftOut:
    """An instruction that does not take the input."""

    target: str
    """Architecture and instruction."""
    architecture: str
    """The architecture."""
    instruction: str
    """The instruction."""
    reason: str
    """Why it does not."""


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Results by architecture."""

    answers: list[Answer]
    """In the catalogue's order."""
    left_out: list[LeftOut]
    """The others."""

    @property
    def by_value(self) -> dict[float, list[Answer]]:
        """Every different value, ascending, with who returns it; all NaNs are one and last."""

        def place(one: Answer) -> tuple[bool, float]:
            return (True, 0.0) if isnan(one.value) else (False, one.value)

        groups = [list(group) for _, group in groupby(sorted(self.answers, key=place), place)]
        return {group[0].value: group for group in groups}


def compare(
    a: Sequence[Number] | None = None,
    b: Sequence[Number] | None = None,
    c: Number = 0.0,
    *,
    architectures: Iterable[str] | None = None,
    round: bool = False,
    composed: bool = False,
    revision: str = "hardware",
) -> Comparison:
    """One input through every instruction that can hold it: the first row of A, the first column of B,
    zeros after them, the first element of C; scale factors are one.

    Without A and B it is the paper's Equation 1, exactly -0.875. ``round`` rounds what a format does not
    have, instead of leaving its instructions out; ``composed`` takes in the instructions that a compiler
    makes of others.
    """
    values = None
    if a is not None or b is not None:
        values = ([_word(x) for x in a or ()], [_word(x) for x in b or ()], _word(c))
    names = None if architectures is None else list(architectures)
    return result(Comparison, _bitmma.compare(values, names, round=round, composed=composed, revision_name=revision))


def _word(number: Number) -> str:
    return number if isinstance(number, str) else float(number).hex()


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Result):
    """The result of a search for an input on which two units differ."""

    verdict: str
    """``found``; ``never``: equal parameters, or every input was tried; ``not found``: there may be one."""
    input: Input | None
    """The operands; None where none was found."""
    smallest: bool
    """Whether every simpler kind of input that is tried at all was tried whole."""
    tried: int
    """Cases tried; 0 where the parameters are equal."""
    answers: tuple[int, int] | None
    """The codes of D of the two."""
    first: tuple[Loss | None, Loss | None]
    """Where they part: the first loss of each that the other does not have."""


def smallest(
    left: Target,
    right: Target,
    *,
    k: int | None = None,
    budget: int = 700_000,
    seed: int = 1,
    threads: int | None = None,
) -> Difference:
    """The smallest input on which two units with the same operands differ: fewest non-zero elements, then
    fewest bits set in significands, then exponents nearest to that of one.

    ``k`` is the length of the dot product, by default the longer of the two units' steps, at most
    1,048,576; ``budget`` the cases tried of each kind at most, 1 or more. Small spaces are tried whole. Results are compared as values: zeros
    are one, NaNs are one.
    """
    x, y = _unit(left), _unit(right)
    whole(k=k, budget=budget, seed=seed, threads=threads)
    return result(Difference, _bitmma.smallest_difference(x, y, k=k, budget=budget, seed=seed, threads=threads))


@dataclass(frozen=True, eq=False)
class Matrix:
    """Every pair of units, compared."""

    units: list[list[Unit]]
    """The units; those that compute alike stand together and are one row and one column."""
    k: int
    """K at which they were compared."""
    adversarial: Codes
    """The share of the cases of the adversarial families on which row and column differ."""
    normal: Codes
    """The share of the cases of N(0, 1)."""
    cases: tuple[int, int]
    """How many cases of the two kinds there were."""

    def _repr_html_(self) -> str:
        numbers = [str(number) for number in range(1, len(self.units) + 1)]
        rows = []
        for number, units, adversarial, normal in zip(numbers, self.units, self.adversarial, self.normal):
            tips = [f"N(0,1): {100 * float(share):.3g} %" for share in normal]
            shares = [100 * float(share) for share in adversarial]
            cells = [(share, f"{share:.3g}", tip) for share, tip in zip(shares, tips)]
            rows.append((f"{number}: {', '.join(unit.name for unit in units)}", cells))
        text = f"<p>K = {self.k}: percent of {self.cases[0]} adversarial cases on which row and column differ.</p>"
        return _bitmma.html_fragment(text + _bitmma.html_heat(numbers, rows))


def matrix(targets: Iterable[Target], *, each: int = 4_000, seed: int = 1, threads: int | None = None) -> Matrix:
    """Every pair of units compared, which have the same operands, on ``each`` cases of every family, 1 to
    1,000,000, at the largest K of them."""
    units = [_unit(target) for target in targets]
    whole(each=each, seed=seed, threads=threads)
    k, cases, members, differing = _bitmma.difference_matrix(units, each=each, seed=seed, threads=threads)
    counts = np.array(differing, dtype=np.float64).reshape(len(members), -1, 2)
    shares = counts / np.maximum(cases, 1)
    return Matrix([[units[place] for place in places] for places in members], k, shares[..., 0], shares[..., 1], cases)
