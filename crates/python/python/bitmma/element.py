"""One element of a whole product: every step along K, what each loses, and the step at which another D departs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _arrays, _bitmma
from ._options import whole
from ._product import Target, _unit
from ._results import Result, result
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


@dataclass(frozen=True, repr=False)
class ElementExplanation(Result):
    """One element of a whole product. As text it is its error and the three steps that lose most; a notebook has all steps."""

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
    given = None if d is None else _arrays.words("D", d, unit.d)
    native = _bitmma.follow_element(
        unit, operands, (block, row, column), d=given, split_k=split_k, promote_every=promote_every, c_last=c_last
    )
    return result(ElementExplanation, native)
