"""Recorded runs as the rows of a comparison."""

from __future__ import annotations

from collections import Counter

from .comparison import FP32, First, Row
from .product import Product
from .recorder import Key, Recorder
from .tally import Tally


def rows_of(first: Recorder, others: list[Recorder], fp32: Recorder | None, varied: list[Recorder]) -> list[Row]:
    """A row for each tensor of the first chip's run, in order, then for those that only other chips have."""
    keys = dict.fromkeys([*first.kept, *(key for other in others for key in other.compared)])
    raw = {other.label: _raw_of_modules(other) for other in others}
    return [_row(key, first, others, fp32, raw, varied) for key in keys]


def _row(
    key: Key, first: Recorder, others: list[Recorder], fp32: Recorder | None, raw: dict[str, dict[str, Tally]], varied: list[Recorder]
) -> Row:
    kept = first.kept.get(key)
    compared = {other.label: other.compared[key] for other in others if key in other.compared}
    errors = {one.label: one.errors[key] for one in [first, *others] if key in one.errors}
    if fp32 is not None and key in fp32.errors:
        errors[FP32] = fp32.errors[key]
    name, operation, backward = key.name, "", False
    sums = {label: one.raw for label, one in compared.items() if one.raw is not None}
    if key.kind == "product":
        name, operation, *rest = key.name.split(":")
        backward = bool(rest)
    elif key.kind == "module":
        sums = {other.label: raw[other.label][name] for other in others if name in raw[other.label]}
    runs = [one for one in [first, *others] if key in one.instructions]
    return Row(
        kind=key.kind,
        name=name,
        operation=operation,
        backward=backward,
        call=key.call,
        leaf=kept.leaf if kept else True,
        shape=tuple(kept.tensor.shape) if kept else (),
        dtype=str(kept.tensor.dtype).rpartition(".")[2] if kept else "",
        instructions={one.label: one.instructions[key] for one in runs},
        differences={label: one.rounded for label, one in compared.items()},
        raw=sums,
        errors=errors,
        floor={one.label: one.compared[key].rounded for one in varied if key in one.compared},
    )


def _raw_of_modules(other: Recorder) -> dict[str, Tally]:
    """The sums of the forward products of each module itself."""
    found: dict[str, Tally] = {}
    for key, compared in other.compared.items():
        layer, _, rest = key.name.partition(":")
        if key.kind == "product" and compared.raw is not None and not rest.endswith(":backward"):
            found[layer] = found[layer].plus(compared.raw) if layer in found else compared.raw
    return found


def local_rows(products: list[Product], root: str) -> list[Row]:
    """Products that several chips computed on the same operands."""
    calls: Counter[tuple[str, str, bool]] = Counter()
    rows = []
    for product in products:
        layer = product.layer.removeprefix(root).lstrip(".") if root else product.layer
        place = (layer, product.operation, product.backward)
        rows.append(
            Row(
                kind="product",
                name=layer,
                operation=product.operation,
                backward=product.backward,
                call=calls[place],
                shape=product.shape,
                dtype=str(product.dtypes[0]).rpartition(".")[2],
                instructions={"": product.instruction},
                differences={label: one.rounded for label, one in product.compared.items()},
                raw={label: one.raw for label, one in product.compared.items() if one.raw is not None},
            )
        )
        calls[place] += 1
    return rows


def firsts(others: list[Recorder]) -> dict[str, First]:
    """Where each chip first differs."""
    found = {}
    for other in others:
        key, tally = other.module or (None, None)
        found[other.label] = First(key.name if key else None, tally.first if tally else None, other.difference)
    return found
