"""The result of comparing chips on a model: data, a table of text, a page."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from .accuracy import Accuracy
from .account import Account
from .difference import Difference
from .noise import Variation
from .outcome import Outcome
from .report import columns
from .tally import Tally
from .verdict import Verdict, sentence, verdict

#: The name of the first reference: the model in FP32.
FP32 = "fp32"


@dataclass(frozen=True)
class Row:
    """One tensor of the model on all chips: the result of a module or a product, a gradient, a parameter after the step."""

    kind: str
    """``module``, ``product``, ``gradient`` or ``parameter``."""
    name: str
    """The module's path (empty: the model itself), or the parameter's name."""
    operation: str = ""
    """Of a product."""
    backward: bool = False
    call: int = 0
    """Which time it is that the module, or the operation in the module, runs."""
    leaf: bool = True
    """Of a module: whether it has none inside."""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    instructions: dict[str, str] = field(default_factory=dict)
    """Of a product: what computed it, by chip."""
    differences: dict[str, Tally] = field(default_factory=dict)
    """Against the first chip, after rounding: in what the next layer sees."""
    raw: dict[str, Tally] = field(default_factory=dict)
    """The sums before rounding; of a module those of its own products."""
    errors: dict[str, float] = field(default_factory=dict)
    """The distance from the model in FP64, over the norm: of each chip, and of the model in FP32 (``fp32``)."""
    floor: dict[str, Tally] = field(default_factory=dict)
    """The noise floor: draws in which a part is computed otherwise, against the first chip."""

    @property
    def title(self) -> str:
        """The name, and which call it was where that is not the first."""
        name = self.name or "(model)"
        return name + (f" #{self.call + 1}" if self.call else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.__dict__,
            "shape": list(self.shape),
            "differences": {label: one.to_dict() for label, one in self.differences.items()},
            "raw": {label: one.to_dict() for label, one in self.raw.items()},
            "floor": {label: one.to_dict() for label, one in self.floor.items()},
        }


@dataclass(frozen=True)
class First:
    """Where a chip first differs from the first one."""

    module: str | None
    """The first module whose result differs."""
    element: tuple[int, ...] | None
    """Its first element that does, in the module's result."""
    product: Difference | None
    """The first product that differs: element, term, step, and :meth:`~bitmma.torch.Difference.explain`."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        found = self.product
        product = found and {
            "layer": found.layer,
            "operation": found.operation,
            "backward": found.backward,
            "element": list(found.element),
            "term": found.term,
            "steps": list(found.steps),
            "values": [found.ours, found.theirs],
            "raw": list(found.raw),
        }
        return {"module": self.module, "element": self.element and list(self.element), "product": product}


@dataclass(frozen=True)
class Comparison:
    """A model on several chips. Print it, or :meth:`save` it as a page."""

    chips: list[str]
    """The first is what the others are compared with."""
    modules: list[Row]
    """Results of modules, in the order in which they were done."""
    products: list[Row]
    """Products of the run, each chip on its own values (*propagated*)."""
    local: list[Row]
    """Products of the run, each chip on the first one's operands (*local*); the sums and results of the others go nowhere."""
    gradients: list[Row]
    parameters: list[Row]
    """After the optimizer's step."""
    first: dict[str, First]
    """By chip, all but the first."""
    outcomes: dict[str, Outcome]
    """The logits of each chip against the first one's."""
    exactness: dict[str, Outcome]
    """The logits of each chip, and of the model in FP32 (``fp32``), against FP64."""
    losses: dict[str, float]
    """By chip, and of the model in FP32 and FP64 (``fp32``, ``fp64``)."""
    emulated: dict[str, int]
    """By chip, how many products it computed."""
    left: dict[str, dict[str, int]]
    """By chip, products that were left as they were: what and why, and how many."""
    notes: list[str]
    """What could not be compared, and why."""
    seconds: dict[str, float]
    """Wall time of each run."""
    floor: dict[str, Outcome] = field(default_factory=dict)
    """The noise floor at the end: logits of draws in which a part is computed otherwise, against the first chip's."""
    accounts: dict[str, Account] = field(default_factory=dict)
    """By chip, what it computed and what the host did."""
    variations: list[Variation] = field(default_factory=list)
    """What became of each variation of the noise floor: the labels of its draws, or why it varied nothing."""
    accuracy: dict[str, Accuracy] = field(default_factory=dict)
    """By chip, its errors against FP64, paired with those of the first chip. Empty without a reference."""

    @property
    def verdict(self) -> Verdict:
        """One sentence, with its findings as data: which chips are less accurate than the first one, and what that rests on."""
        return verdict(self)

    @property
    def others(self) -> list[str]:
        """All chips but the first."""
        return self.chips[1:]

    @property
    def coverage(self) -> str:
        """How many products were emulated on each chip, and how many were left as they were."""
        counts = {chip: (count, count + sum(self.left.get(chip, {}).values())) for chip, count in self.emulated.items()}
        if len(set(counts.values())) == 1:
            return "{} of {} products emulated on each".format(*next(iter(counts.values())))
        return "emulated " + ", ".join(f"{count} of {products} products on {chip}" for chip, (count, products) in counts.items())

    @property
    def rows(self) -> list[Row]:
        """All of them."""
        return [*self.modules, *self.products, *self.gradients, *self.parameters]

    def agreement(self, chip: str) -> str:
        """Of a chip without a first difference: that it agrees, or where a product that one of the two left as it was does not."""
        found = ((row, row.differences[chip]) for row in self.products if chip in row.differences)
        parted = next((row for row, tally in found if tally.differing or tally.problem), None)
        if parted is None:
            return f"agrees with {self.chips[0]} throughout"
        return f"first differs in {parted.title} {parted.operation}, which was not emulated on both"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, as JSON takes it: numbers that are not finite are None."""
        lists = ("modules", "products", "local", "gradients", "parameters")
        found = {
            "chips": self.chips,
            **{name: [row.to_dict() for row in getattr(self, name)] for name in lists},
            **{name: {label: one.to_dict() for label, one in getattr(self, name).items()} for name in ("first", "outcomes", "exactness", "floor", "accounts", "accuracy")},
            "variations": [one.to_dict() for one in self.variations],
            "verdict": self.verdict,
            "findings": self.verdict.findings,
            "criterion": self.verdict.criterion,
            **{name: getattr(self, name) for name in ("losses", "emulated", "left", "notes", "seconds")},
        }
        return cast("dict[str, Any]", _finite(found))

    def frame(self) -> Any:
        """A pandas.DataFrame: a line for each tensor and chip."""
        try:
            import pandas
        except ImportError:
            raise ImportError("Comparison.frame needs pandas, which is not installed: pip install pandas") from None
        lines = []
        for mode, rows in (("propagated", self.rows), ("local", self.local)):
            for row in rows:
                place = {"mode": mode, "kind": row.kind, "name": row.name, "operation": row.operation, "backward": row.backward}
                for chip, found in row.differences.items():
                    raw, error = row.raw.get(chip), row.errors.get(chip)
                    sizes: dict[str, Any] = {"elements": found.elements, "differing": found.differing, "share": found.share}
                    sizes.update(largest=found.largest, relative=found.relative, problem=found.problem)
                    lines.append({**place, "call": row.call, "chip": chip, **sizes, "raw": raw.differing if raw else None, "error": error})
        return pandas.DataFrame(lines)

    def __str__(self) -> str:
        base = self.chips[0]
        values = "each on its own values" if self.products else f"each product on the operands of {base}"
        parts = [f"{', '.join(self.others)} compared with {base}, {values}: {self.coverage}"]
        parts += self._firsts()
        parts += [self.verdict, *(str(one) for one in list(self.accounts.values())[:1])]
        if self.modules:
            parts += ["", "results of modules after rounding: share that differs, relative size; raw: sums before rounding; floor: most of the draws"]
            parts += self._table(self.modules, lambda row: row.title)
        else:
            parts += ["", *self._table(self.products, lambda row: f"{row.title} {row.operation}")]
        if self.local:
            parts += ["", f"products on the operands of {base} (local)"]
            parts += self._table(self.local, lambda row: f"{row.title} {row.operation}{' backward' if row.backward else ''}")
        for title, rows in (("gradients", self.gradients), ("parameters after the step", self.parameters)):
            parts += ["", title, *self._table(rows, lambda row: row.title)] if rows else []
        parts += self._ends()
        for chip, left in self.left.items():
            parts += [f"left as they were on {chip}: {count} × {what}" for what, count in left.items()]
        return "\n".join([*parts, *self.notes])

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes a page of HTML with its plots; it needs nothing from elsewhere."""
        from .page import page

        target = Path(path)
        text = page(self)
        partial = target.with_name(target.name + ".part")
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
        return target

    def _repr_html_(self) -> str:
        from .page import fragment

        return fragment(self)

    # -- text -------------------------------------------------------------------------------------------

    def _firsts(self) -> list[str]:
        lines = []
        for chip, first in self.first.items():
            if first.product is None and first.module is None:
                lines.append(f"{chip} {self.agreement(chip)}")
            elif first.product is not None:
                lines.append(f"{chip} first differs in {first.product}; steps along K: {self._steps(first.product)}")
            else:
                lines.append(f"{chip} first differs in {first.module or '(model)'}, element {list(first.element or ())}")
        return lines

    @staticmethod
    def _steps(difference: Difference) -> str:
        return ", ".join(f"{'-' if step is None else step} on {chip}" for chip, step in zip(difference.chips, difference.steps))

    def _table(self, rows: list[Row], name: Any) -> list[str]:
        errors = any(row.errors for row in rows)
        labels = [*self.chips, FP32] if errors else []
        floors = [one for one in self.variations if one.runs]
        head = ["", *[f"{one}" for chip in self.others for one in (chip, "size", "raw")], *[f"floor: {one.name}" for one in floors], *[f"error {label}" for label in labels]]
        cells = [head]
        for row in rows:
            cell = [name(row)]
            for chip in self.others:
                found, raw = row.differences.get(chip), row.raw.get(chip)
                if found is None or found.problem:
                    cell += [found.problem if found else "-", "", ""]
                else:
                    cell += [percent(found.share), f"{found.relative:.1e}" if found.differing else "0"]
                    cell += [percent(raw.share) if raw else "-"]
            cell += [_most(row, one) for one in floors]
            cell += [f"{row.errors[label]:.1e}" if label in row.errors else "-" for label in labels]
            cells.append(cell)
        return columns(cells)

    def _ends(self) -> list[str]:
        lines = [""] if self.outcomes or self.losses or self.accuracy or self.variations else []
        for chip, end in self.outcomes.items():
            lines.append(
                f"logits of {chip}: {percent(end.logits.share)} differ from {self.chips[0]}, {end.decisions}, top {end.top_k} overlap {percent(end.overlap)}, divergence {end.divergence:.2g} "
                f"(largest {end.largest_divergence:.2g})"
            )
        for label, end in self.floor.items():
            lines.append(f"noise floor, {label}: {percent(end.logits.share)} of the logits differ, {end.decisions}, divergence {end.divergence:.2g}")
        lines += [f"noise floor, {one.name}: varied nothing: {one.idle}" for one in self.variations if one.idle]
        lines += [sentence(self.chips[0], chip, one) for chip, one in self.accuracy.items()]
        for label, end in self.exactness.items():
            lines.append(f"against FP64, {label}: {end.flips} of {end.positions} flip, divergence {end.divergence:.2g}")
        if self.losses:
            lines.append("loss: " + ", ".join(f"{label} {value!r}" for label, value in self.losses.items()))
        return lines


def _most(row: Row, variation: Variation) -> str:
    """The largest share that a draw of a variation changed."""
    shares = [row.floor[label].share for label in variation.runs if label in row.floor and not row.floor[label].problem]
    return percent(max(shares)) if shares else "-"


def percent(share: float) -> str:
    """A share for readers: 0 and 100 % are exactly those."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    digits = 2 if share < 0.01 else 1
    text = f"{100 * share:.{digits}f}"
    return "< 0.01%" if float(text) == 0 else "> 99.9%" if float(text) == 100 else f"{text}%"


def _finite(value: Any) -> Any:
    """Plain data with None for numbers that are not finite: JSON has none."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_finite, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value
