"""One element of a whole product: every step along K, what each loses, and the step at which another D departs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from . import _arrays, _bitmma, _page
from ._options import whole
from ._product import Target, _unit
from .errors import ShapeError

if TYPE_CHECKING:
    from ._arrays import Array

__all__ = ["Departure", "ElementExplanation", "explain_element"]


@dataclass(frozen=True)
class Departure:
    """Where a D that was given departs."""

    observed: dict[str, Any]
    """The element of the D that was given: ``value``, ``code`` and ``format``."""
    agrees: bool
    """Whether it is the element that was computed."""
    step: int | None
    """The first step whose result, moved to the next number, leads to it; None where no single step does."""
    instead: dict[str, Any] | None
    """That number."""
    steps_alike: int
    """The steps of which that is so."""
    complete: bool
    """Whether every step was tried."""


@dataclass(frozen=True)
class ElementExplanation:
    """One element of a whole product."""

    element: list[int]
    """Block, row and column."""
    k: int
    """Elements along K."""
    k_step: int
    """Elements of one step."""
    events: list[dict[str, Any]]
    """What happens, in order: steps of the instruction (``operands`` that are not zero, ``flushed`` terms, ``exact`` result,
    ``error``, ``total_error``, ``losses``, ``trace``) and additions around it. Exact numbers are ``value`` (the nearest
    double), ``significand`` and ``exponent``."""
    exact: dict[str, Any] | None
    """C and all products, exactly; None where something is not finite."""
    d: dict[str, Any]
    """The element: ``value``, ``code`` and ``format``."""
    error: dict[str, Any] | None
    """D minus the exact result."""
    departure: Departure | None
    """Where the D that was given departs."""
    computed_by: dict[str, Any] | None
    """What computes all of the D that departs: ``target``, ``chips``, ``order``, and the ``step`` at which the two differ first,
    with the results ``here`` and ``there``; None where nothing is known to."""

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps of the instruction."""
        return [event for event in self.events if event["event"] == "step"]

    @property
    def lossy(self) -> list[dict[str, Any]]:
        """The steps that lose something."""
        return [step for step in self.steps if step["losses"]]

    @property
    def _heading(self) -> str:
        _, row, column = self.element
        return f"D[{row}, {column}]: K = {self.k} in {len(self.steps)} steps of {self.k_step}, of which {len(self.lossy)} lose something"

    @property
    def _rows(self) -> list[tuple[str, str, str, str, str, str]]:
        """Of every step that loses something its number, elements, result, error, the error so far and what lost."""
        rows = []
        for number, step in enumerate(self.steps):
            if step["losses"] and step["error"] is not None:
                total, terms = step["total_error"], ", ".join(loss["term"] for loss in step["losses"][:4])
                elements, result = f"{step['first']}..{step['last']}", str(step["result"]["value"])
                so_far = "" if total is None else f"{total['value']:.6g}"
                rows.append((str(number + 1), elements, result, f"{step['error']['value']:.6g}", so_far, terms))
        return rows

    @property
    def _ends(self) -> list[str]:
        """The element, and what is known of the D that was given."""
        error = "" if self.error is None else f", error {self.error['value']:.6g}"
        lines = [f"d = {self.d['value']} ({self.d['code']}){error}"]
        if self.departure is not None and not self.departure.agrees:
            given, first = self.departure.observed, self.departure.step
            where = "no single step leads to it" if first is None else f"departs at step {first + 1} or later"
            if self.computed_by is not None:
                by = self.computed_by
                where = f"{by['target']} ({', '.join(by['chips'])}) computes it, {by['order']}"
                where += "" if by["step"] is None else f"; they part at step {by['step'] + 1}"
            lines.append(f"the D that was given is {given['value']} ({given['code']}): {where}")
        return lines

    def __str__(self) -> str:
        lines = [self._heading]
        for number, elements, result, error, so_far, terms in self._rows:
            so_far = so_far and f", {so_far} so far"
            lines.append(f"  {number}: elements {elements}: {result}, error {error}{so_far} ({terms})")
        return "\n".join([*lines, *self._ends])

    def __repr__(self) -> str:
        return f"<bitmma.ElementExplanation: {self}>"

    def _repr_html_(self) -> str:
        head = ["step", "elements", "result", "error", "error so far", "what lost"]
        table = _page.table(head, self._rows, words=True) if self._rows else ""
        ends = "".join(f"<p>{escape(line)}</p>" for line in self._ends)
        return _bitmma.html_fragment(f"<p>{escape(self._heading)}</p>{table}{ends}")


def explain_element(
    target: Target,
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    element: tuple[int, ...],
    d: Array | None = None,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    split_k: int | None = None,
    promote_every: int | None = None,
    c_last: bool = False,
) -> ElementExplanation:
    """One element of D = A·B + C as :func:`bitmma.gemm` computes it, step by step along K.

    ``element`` is row and column of D, with the block in front where there are several. With ``d``, a D that something else
    computed, the result says at which step that departs: where a model computes all of it, the first step at which the two differ,
    otherwise the first whose result, moved to the next number, leads to it.
    ``split_k``, ``promote_every`` and ``c_last`` are those of :func:`bitmma.gemm`.
    """
    unit = _unit(target)
    whole(split_k=split_k, promote_every=promote_every)
    if len(element) not in (2, 3):
        raise ShapeError(f"the element is {element}; row and column were expected, or block, row and column")
    block, row, column = element if len(element) == 3 else (0, *element)
    operands = unit._operands(a, b, c, scale_a, scale_b)
    page = json.loads(
        _bitmma.follow_element(
            unit,
            operands,
            (block, row, column),
            d=None if d is None else _arrays.words("D", d, unit.d),
            split_k=split_k,
            promote_every=promote_every,
            c_last=c_last,
        )
    )
    departure = page.pop("departure")
    return ElementExplanation(**page, departure=departure and Departure(**departure))
