"""Every step of one element of D: which bits of which term are discarded."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Callable

from . import _arrays, _bitmma
from ._bitmma import Format
from ._lazy import numpy as np
from .errors import ShapeError
from .formats import by_name

if TYPE_CHECKING:
    from ._arrays import Array, Codes
    from .simulate import Unit

__all__ = ["Explanation", "Lost", "explain"]


@dataclass(frozen=True)
class Lost:
    """A term of a sum of which something was lost."""

    term: str
    """What it is: ``a3*b3``, ``c``."""
    exact: Fraction
    """Its exact value."""
    kept: Fraction
    """What went into the sum."""
    how: str = "cut"
    """cut; flushed: an operand is subnormal and read as zero; ignored: bits of an operand are not read."""

    def __str__(self) -> str:
        changed = {"cut": "cut", "flushed": "flushed", "ignored": "cut by bits that are not read"}[self.how]
        return f"{self.term}: {_text(self.exact)} {changed} to {_text(self.kept)}, losing {_text(self.exact - self.kept)}"


@dataclass(frozen=True)
class Explanation:
    """One dot product and the steps that led to its result."""

    steps: list[dict[str, Any]]
    """The steps in order, each a dictionary with the key ``step``: flushed and ignored (operands that are not used as they
    are given), begin, aligned, exact, special, converted, binary, changed. Exact numbers are significand, sign and exponent
    of two."""
    code: int
    """The code of D."""
    format: Format
    """The format of D."""
    _of: tuple[Any, ...] | None = field(default=None, repr=False, compare=False)
    """The unit, its operands and the element."""

    @property
    def value(self) -> float:
        """The value of D."""
        return float(self.format.display(self.code))

    @property
    def lost(self) -> list[Lost]:
        """Every term of which something was lost, in the order of the steps: an operand was flushed to zero, bits of it were
        not read, or the term was cut."""
        found = []
        for step in self.steps:
            if step["step"] in ("flushed", "ignored") and step["exact"] and step["lost"]:
                exact, lost = _fraction(step["exact"]), _fraction(step["lost"])
                if lost:
                    found.append(Lost(step["term"] or step["operands"][0]["name"], exact, exact - lost, step["step"]))
            for term in step.get("terms", ()):
                exact, kept = _fraction(term["exact"]), _fraction(term["kept"])
                if exact != kept:
                    found.append(Lost(term["name"], exact, kept))
        return found

    @property
    def rounded(self) -> list[Lost]:
        """Every rounding that lost something, in the order of the steps: the sums of fused operations by ρ, single products
        and sums. Those whose exact value is longer than a step holds are left out."""
        found = []
        for step in self.steps:
            if step["step"] == "converted" and step["value"]["exact"]:
                name, exact = f"the sum, {step['conversion']}", _fraction(step["value"])
            elif step["step"] == "binary" and step["operation"] in _BINARY:
                left, right = _number(step["left"]), _number(step["right"])
                if left is None or right is None:
                    continue
                name, exact = step["operation"], _BINARY[step["operation"]](left, right)
            else:
                continue
            kept = _number(step["result"])
            if kept is not None and exact != kept:
                found.append(Lost(name, exact, kept))
        return found

    def __str__(self) -> str:
        return "\n".join([*map(str, self.lost), f"d = {self.format.display(self.code)}"])

    def _repr_html_(self) -> str:
        page = _bitmma.html_terminal(str(self)) if self._of is None else _bitmma.explain_picture(*self._of).html()
        return _bitmma.html_fragment(page)


#: What an operation of two numbers is before it is rounded.
_BINARY: dict[str, Callable[[Fraction, Fraction], Fraction]] = {"FTZ-Mul": operator.mul, "FTZ-Add": operator.add}


def _number(coded: dict[str, Any]) -> Fraction | None:
    """The value of a code, which FP64 holds; None for an infinity or NaN."""
    value = float(coded["value"])
    return Fraction(value) if math.isfinite(value) else None


def _fraction(number: dict[str, int]) -> Fraction:
    return Fraction(number["sign"] * number["significand"]) * Fraction(2) ** number["exponent"]


def _text(value: Fraction) -> str:
    """An exact decimal if it is short, a hexadecimal float if it is not; after ``≈`` what FP64 does not hold."""
    if Fraction(text := f"{float(value):.15g}") == value:
        return text
    head, _, power = float(value).hex().partition("p")
    return ("" if Fraction(float(value)) == value else "≈") + f"{head.rstrip('0').rstrip('.')}p{power}"


def _line(name: str, words: Codes, shape: tuple[int, int]) -> Codes:
    """What goes with a row of A of one dimension, as a matrix."""
    if words.ndim != 1:
        raise ShapeError(f"{name} has {words.ndim} dimensions; A has 1, and so must {name}")
    return words.reshape(shape)


def explain(
    unit: Unit,
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    element: tuple[int, ...] = (0, 0),
) -> Explanation:
    """Every step of one element of D = A·B + C.

    A and B are matrices, or a row and a column of one dimension. ``element`` is row and column of D, with
    the block in front where there are several. K may be any that the model takes.
    """
    words_a, words_b, words_c, words_sa, words_sb = unit._operands(a, b, c, scale_a, scale_b)
    if words_a.ndim == 1:
        words_a, words_b = words_a[np.newaxis], _line("B", words_b, (-1, 1))
        words_sa = None if words_sa is None else _line("scale A", words_sa, (1, -1))
        words_sb = None if words_sb is None else _line("scale B", words_sb, (-1, 1))
        if words_c is not None and words_c.size != 1:
            raise ShapeError(f"C has {words_c.size} elements; a row times a column takes 1")
        words_c = None if words_c is None else words_c.reshape(1, 1)
    if len(element) not in (2, 3):
        raise ShapeError(f"the element is {element}; row and column were expected, or block, row and column")
    block, row, column = element if len(element) == 3 else (0, *element)
    operands = (words_a, words_b, words_c, words_sa, words_sb)
    of = (unit, operands, (block, row, column))
    steps, code = _bitmma.explain(*of)
    return Explanation(steps, code, by_name(unit.d), of)
