"""The products of an emulation as a table of text."""

from __future__ import annotations

from collections import Counter

from .product import Product


def table(label: str, others: list[str], products: list[Product], left: Counter[str]) -> str:
    """A line for each product, then counts, then where it first differs from each of the others."""
    measured = any(one.max_error is not None for one in products)
    head = ["", "layer", "pass", "operation", "batch×M×N×K"]
    head += ["max error", "relative error", "not finite"] if measured else []
    for other in others:
        head += [f"differ from {other}", "raw sums"]
    rows = [head]
    for one in products:
        row = [str(one.index), one.layer or "-", "backward" if one.backward else "forward", one.operation]
        row.append("×".join(map(str, one.shape)))
        if measured:
            row += [_number(one.max_error), _number(one.relative_error), "-" if one.not_finite is None else str(one.not_finite)]
        for other in others:
            found = one.compared.get(other)
            row += [f"{found.rounded.differing} of {found.rounded.elements}" if found else "-"]
            row += [f"{found.raw.differing}" if found and found.raw else "-"]
        rows.append(row)
    lines = columns(rows)
    lines.append("")
    counts = Counter(one.instruction for one in products)
    lines += [f"{count} products on {label} by {name}" for name, count in counts.items()]
    lines += [f"left as they were: {count} × {name}" for name, count in left.items()]
    for other in others:
        found_first = (one.compared[other].difference for one in products if other in one.compared)
        first = next((one for one in found_first if one), None)
        lines.append(f"first difference from {other} after rounding: {first or 'none'}")
    return "\n".join(lines)


def columns(rows: list[list[str]]) -> list[str]:
    """Rows of cells as lines, each column as wide as its widest cell."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
