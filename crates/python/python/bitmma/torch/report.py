"""How far each product is from exact and from a second chip, and where the two first part."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch

from ..explain import Explanation, explain
from ..gemm import gemm
from ..simulate import Unit


@dataclass(frozen=True)
class Difference:
    """The first element of a product that two chips answer differently, row by row."""

    layer: str
    """The module, by its path; empty outside of any."""
    operation: str
    backward: bool
    element: tuple[int, ...]
    """Row and column of D, the batch in front where there are several."""
    term: int | None
    """The first k with which the two sums part: up to it and no further, both products added; None where
    only what surrounds the sums differs."""
    ours: float
    """The element here, before it is rounded to the result's dtype."""
    theirs: float
    """The element on the second chip."""
    units: tuple[Unit, Unit] = field(repr=False)
    row: torch.Tensor = field(repr=False)
    """The row of A."""
    column: torch.Tensor = field(repr=False)
    """The column of B."""

    def explain(self) -> tuple[Explanation, Explanation]:
        """Every step of both sums up to the term, further elements zero."""
        end = len(self.row) if self.term is None else self.term + 1
        found = []
        for unit in self.units:
            padded = -(-end // unit.step) * unit.step
            row, column = (one.new_zeros(padded) for one in (self.row, self.column))
            row[:end], column[:end] = self.row[:end], self.column[:end]
            found.append(explain(unit, row, column))
        return found[0], found[1]

    def __str__(self) -> str:
        where = f"{self.layer or 'outside of any module'}, {'backward' if self.backward else 'forward'}, {self.operation}"
        term = "" if self.term is None else f", term {self.term}"
        return f"{where}, element {list(self.element)}{term}: {self.ours!r} here, {self.theirs!r} there"


@dataclass(frozen=True)
class Product:
    """One product that went through an instruction."""

    index: int
    layer: str
    operation: str
    backward: bool
    instruction: str
    shape: tuple[int, int, int, int]
    """Batch, M, N, K."""
    max_error: float
    """The largest distance of an element from the product in FP64; of those finite in both."""
    relative_error: float
    """The norm of all distances over the norm of the product in FP64."""
    not_finite: int
    """Elements that are infinite or NaN here and not in FP64."""
    differing: int | None
    """Elements whose bits the second chip answers differently, before they are rounded to the result's
    dtype; None without a second chip, or where it has no instruction for this."""
    difference: Difference | None
    """The first of them."""


def measure(
    index: int,
    layer: str,
    backward: bool,
    operation: str,
    units: tuple[Unit, Unit | None],
    product: tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, float, float],
    sums: torch.Tensor,
    theirs: torch.Tensor | None,
) -> Product:
    """Holds one product against FP64 and against the second chip's."""
    a, b, c, alpha, beta = product
    exact = alpha * (a.double() @ b.double())
    if c is not None:
        exact = exact + beta * c.double()
    finite = sums.isfinite() & exact.isfinite()
    distance = (sums.double() - exact)[finite]
    norm = exact[finite].norm().item()
    differing, difference = None, None
    if theirs is not None and units[1] is not None:
        differs = sums.view(_word(sums)) != theirs.view(_word(theirs))
        differs &= ~(sums.isnan() & theirs.isnan())
        differing = int(differs.sum())
        if differing:
            element = tuple(int(one) for one in differs.nonzero()[0])
            difference = _difference((layer, operation, backward), element, (units[0], units[1]), (a, b), sums, theirs)
    batch = a.shape[0] if a.dim() == 3 else 1
    return Product(
        index=index,
        layer=layer,
        operation=operation,
        backward=backward,
        instruction=units[0].instruction.row if units[0].instruction else units[0].name,
        shape=(batch, a.shape[-2], b.shape[-1], a.shape[-1]),
        max_error=distance.abs().max().item() if distance.numel() else 0.0,
        relative_error=distance.norm().item() / norm if norm else 0.0,
        not_finite=int((~sums.isfinite() & exact.isfinite()).sum()),
        differing=differing,
        difference=difference,
    )


def _word(tensor: torch.Tensor) -> torch.dtype:
    return torch.int64 if tensor.dtype == torch.float64 else torch.int32


def _difference(
    place: tuple[str, str, bool],
    element: tuple[int, ...],
    units: tuple[Unit, Unit],
    operands: tuple[torch.Tensor, torch.Tensor],
    sums: torch.Tensor,
    theirs: torch.Tensor,
) -> Difference:
    a, b = (one[element[0]] if one.dim() == 3 else one for one in operands)
    row, column = a[element[-2]].clone(), b[:, element[-1]].clone()
    return Difference(
        *place,
        element=element,
        term=_term(units, row, column),
        ours=sums[element].item(),
        theirs=theirs[element].item(),
        units=units,
        row=row,
        column=column,
    )


def _term(units: tuple[Unit, Unit], row: torch.Tensor, column: torch.Tensor) -> int | None:
    """The first k such that the two sums of the products up to k differ, all later ones zero."""
    count, some = len(row), 512
    for first in range(0, count, some):
        ends = torch.arange(first, min(first + some, count))
        prefixes = row.repeat(len(ends), 1)
        prefixes[torch.arange(count) > ends[:, None]] = 0
        ours, theirs = (gemm(unit, prefixes, column[:, None]) for unit in units)
        differs = (ours.view(_word(ours)) != theirs.view(_word(theirs))) & ~(ours.isnan() & theirs.isnan())
        if differs.any():
            return first + int(differs.nonzero()[0, 0])
    return None


def table(architecture: str, other: str | None, products: list[Product], left: Counter[str]) -> str:
    """The report as text."""
    head = ["", "layer", "pass", "operation", "batch×M×N×K", "max error", "relative error", "not finite"]
    rows = [head + ([f"differ from {other}"] if other else [])]
    for one in products:
        row = [str(one.index), one.layer or "-", "backward" if one.backward else "forward", one.operation]
        row += ["×".join(map(str, one.shape)), f"{one.max_error:.3g}", f"{one.relative_error:.3g}", str(one.not_finite)]
        if other:
            total = one.shape[0] * one.shape[1] * one.shape[2]
            row.append("-" if one.differing is None else f"{one.differing} of {total}")
        rows.append(row)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    instructions = Counter(one.instruction for one in products)
    lines.append("")
    lines += [f"{count} products by {architecture} {name}" for name, count in instructions.items()]
    lines += [f"left as they were: {count} {name}" for name, count in left.items()]
    first: Any = next((one.difference for one in products if one.difference), None)
    if other:
        lines.append(f"first difference from {other}: {first or 'none'}")
    return "\n".join(lines)
