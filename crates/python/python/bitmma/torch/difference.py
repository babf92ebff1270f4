"""An element that differs between two chips: from which term on, by which steps, and to which result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from ..explain import Explanation
from .product import Compared, Operands, Product, elements
from .tally import tally
from .ways import Way


@dataclass(frozen=True)
class Side:
    """How one chip reaches the element."""

    chip: str
    instruction: str
    parting: Explanation | None
    """Every step of the sum up to the term from which on the two chips differ, further terms zero; None where
    the sum does not run in one chain."""
    whole: Explanation | None
    """Every step of the whole sum."""
    step: int | None
    """Which fused sum along K takes the term, from 0; None where the sum does not run in one chain."""
    partial: float | None
    """The sum up to the term."""
    total: float
    """The sum of all terms, with C and factors, before it is rounded."""
    element: float
    """The element."""


@dataclass(frozen=True)
class Explained:
    """How both chips reach one element."""

    place: str
    sides: tuple[Side, Side]
    term: int | None
    terms: int
    dtype: torch.dtype

    def __iter__(self) -> Iterator[Side]:
        return iter(self.sides)

    def __str__(self) -> str:
        lines = [self.place]
        dtype = str(self.dtype).rpartition(".")[2]
        for side in self.sides:
            lines.append(f"{side.chip}: {side.instruction}")
            if self.term is not None:
                lines.append(f"  the sum up to term {self.term}: {side.partial!r}")
                lines += [f"    {line}" for line in _last_step(side)]
            lines.append(f"  the sum of all {self.terms} terms, with C and factors: {side.total!r}")
            lines.append(f"  the element, rounded to {dtype}: {side.element!r}")
        return "\n".join(lines)


def _steps(explanation: Explanation) -> list[list[dict[str, Any]]]:
    """The steps of each fused sum along K."""
    found: list[list[dict[str, Any]]] = []
    for step in explanation.steps:
        if step["step"] == "begin":
            found.append([])
        if found:
            found[-1].append(step)
    return found


def _last_step(side: Side) -> list[str]:
    """What the fused sum that takes the term starts from, what it cuts and what is rounded off."""
    if side.parting is None or side.step is None:
        return []
    steps = _steps(side.parting)[side.step]
    begin = steps[0]
    elements, start = begin["elements"], begin["accumulator"]["value"]
    lines = [f"step {side.step}, terms {elements[0]} to {elements[-1]}, starts from {start}"]
    explained = Explanation(steps, side.parting.code, side.parting.format)
    return [*lines, *map(str, [*explained.lost, *explained.rounded])]


@dataclass(frozen=True)
class Difference:
    """The first element of a product that differs between two chips after rounding, row by row."""

    layer: str
    """The module, by its path; empty outside of any."""
    operation: str
    backward: bool
    element: tuple[int, ...]
    """Row and column of the product, the batch in front where there are several."""
    ours: float
    """The element on the first chip, rounded to the result's dtype."""
    theirs: float
    """The element on the second."""
    dtype: torch.dtype
    """The result's."""
    raw: tuple[float, float]
    """Both sums before they are rounded."""
    ways: tuple[Way, Way] = field(repr=False)
    """How both chips compute it."""
    operands: Operands = field(repr=False)
    """The row of A, the column of B, the element of C."""

    @property
    def chips(self) -> tuple[str, str]:
        """The two chips, as they were named."""
        return self.ways[0].label, self.ways[1].label

    @property
    def terms(self) -> int:
        """K."""
        return elements(self.operands.a, -1)

    @cached_property
    def term(self) -> int | None:
        """The first k with which the two sums part: up to it and no further, both products added; None where
        only what surrounds the sums differs."""
        some = max(2**18 // max(self.terms, 1), 1)
        for first in range(0, self.terms, some):
            ends = torch.arange(first, min(first + some, self.terms))
            prefixes = self.operands.prefixes(ends)
            ours, theirs = (way.sums(prefixes, None) for way in self.ways)
            if ours.dtype != theirs.dtype:
                ours, theirs = ours.double(), theirs.double()
            found = tally(ours, theirs)
            if found.first is not None:
                return first + found.first[0]
        return None

    @property
    def steps(self) -> tuple[int | None, int | None]:
        """Which fused sum along K takes the term on either chip, from 0; None where the sum does not run in one chain."""
        ours, theirs = self.explain().sides
        return ours.step, theirs.step

    def explain(self) -> Explained:
        """Every step of both sums, up to the term and to the end, and the element that comes of each."""
        end = self.terms if self.term is None else self.term + 1
        sides = []
        for way, total, element in zip(self.ways, self.raw, (self.ours, self.theirs)):
            partial = way.sums(self.operands.prefixes(torch.tensor([end - 1])), None).item() if self.terms else None
            parting, whole = way.explain(self.operands, end), way.explain(self.operands, self.terms)
            steps = enumerate(_steps(parting) if parting and self.term is not None else [])
            step = next((place for place, one in steps if self.term in one[0]["elements"]), None)
            sides.append(Side(way.label, way.name, parting, whole, step, partial, total, element))
        return Explained(str(self), (sides[0], sides[1]), self.term, self.terms, self.dtype)

    @property
    def place(self) -> str:
        """Where it is, in words."""
        where = f"{self.layer or 'outside of any module'}, {'backward' if self.backward else 'forward'}, {self.operation}"
        return f"{where}, element {list(self.element)}"

    def __str__(self) -> str:
        term = "" if self.term is None else f", term {self.term}"
        ours, theirs = self.chips
        return f"{self.place}{term}: {self.ours!r} on {ours}, {self.theirs!r} on {theirs}"


def compare_sums(
    raw: tuple[torch.Tensor, torch.Tensor],
    rounded: tuple[torch.Tensor, torch.Tensor],
    product: Product,
    ways: tuple[Way, Way],
    operands: Operands | None,
) -> Compared:
    """One product by two ways; with their operands, if they are the same, the first difference is kept, too."""
    found = tally(*rounded)
    same_dtype = raw[0].dtype == raw[1].dtype
    sums = tally(*(raw if same_dtype else (raw[0].double(), raw[1].double())), sizes=False)
    if found.first is None or operands is None:
        return Compared(found, sums)
    element = found.first
    difference = Difference(
        layer=product.layer,
        operation=product.operation,
        backward=product.backward,
        element=element,
        ours=rounded[0][element].item(),
        theirs=rounded[1][element].item(),
        dtype=rounded[0].dtype,
        raw=(raw[0][element].item(), raw[1][element].item()),
        ways=ways,
        operands=operands.of_element(element),
    )
    return Compared(found, sums, difference)
