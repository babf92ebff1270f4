"""Where units differ: one input through all instructions, smallest inputs, all against all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Iterable, Sequence, Union

from .. import _bitmma
from .._options import whole
from .._lazy import numpy as np
from ..gemm import Target, _unit
from ..simulate import Unit
from ._results import Input, Loss, loss, losses

if TYPE_CHECKING:
    from .._arrays import Codes

__all__ = ["Answer", "Comparison", "Difference", "LeftOut", "Matrix", "compare", "matrix", "smallest"]

#: A number as text (decimal, hexadecimal float), or a float, which is exact.
Number = Union[str, float]


@dataclass(frozen=True)
class Answer:
    """What one instruction answers."""

    target: str
    """Architecture and instruction."""
    architecture: str
    instruction: str
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
    instruction: str
    reason: str


@dataclass(frozen=True)
class Comparison:
    """Who answers what."""

    answers: list[Answer]
    """In the catalogue's order."""
    left_out: list[LeftOut]
    """The others."""

    @property
    def by_value(self) -> dict[float, list[Answer]]:
        """Every different value, ascending, with who answers it; all NaNs are one and last."""
        groups: dict[str, list[Answer]] = {}
        for answer in self.answers:
            groups.setdefault(str(answer.value), []).append(answer)
        order = sorted(groups, key=lambda text: (text == "nan", float(text)))
        return {float(text): groups[text] for text in order}


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
    have, in place of leaving its instructions out; ``composed`` takes in the instructions that a compiler
    makes of others.
    """
    values = None
    if a is not None or b is not None:
        values = ([_word(x) for x in a or ()], [_word(x) for x in b or ()], _word(c))
    names = None if architectures is None else list(architectures)
    answers, left_out = _bitmma.compare(values, names, round=round, composed=composed, revision_name=revision)
    return Comparison(
        [Answer(**{**row, "losses": losses(row["losses"])}) for row in answers], [LeftOut(**row) for row in left_out]
    )


def _word(number: Number) -> str:
    return number if isinstance(number, str) else float(number).hex()


@dataclass(frozen=True, eq=False)
class Difference:
    """What a search for an input on which two units differ came to."""

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
    1,048,576; ``budget`` the cases tried of each kind at most, 1 or more. Small spaces are tried whole. Answers are compared as values: zeros
    are one, NaNs are one.
    """
    x, y = _unit(left), _unit(right)
    whole(k=k, budget=budget, seed=seed, threads=threads)
    found = _bitmma.smallest_difference(x._native, y._native, k=k, budget=budget, seed=seed, threads=threads)
    one, other = found["first"]
    found["first"] = (one and loss(one), other and loss(other))
    found["input"] = found["input"] and Input(**found["input"])
    return Difference(**found)


@dataclass(frozen=True, eq=False)
class Matrix:
    """All against all."""

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


def matrix(targets: Iterable[Target], *, each: int = 4_000, seed: int = 1, threads: int | None = None) -> Matrix:
    """All units against all, which have the same operands, on ``each`` cases of every family, 1 to
    1,000,000, at the largest K of them."""
    units = [_unit(target) for target in targets]
    whole(each=each, seed=seed, threads=threads)
    found = _bitmma.difference_matrix([unit._native for unit in units], each=each, seed=seed, threads=threads)
    counts = np.array(found["differing"], dtype=np.float64).reshape(len(found["members"]), -1, 2)
    shares = counts / np.maximum(found["cases"], 1)
    members = [[units[place] for place in places] for places in found["members"]]
    return Matrix(members, found["k"], shares[..., 0], shares[..., 1], found["cases"])
