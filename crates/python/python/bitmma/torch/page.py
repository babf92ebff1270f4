"""A comparison as one page of HTML: it loads nothing, and fits wide and narrow, light and dark screens."""

from __future__ import annotations

import math
from html import escape
from typing import Sequence

from .. import _bitmma
from .._page import Values, document, figure, section, table
from .accuracy import FP64, LEVEL
from .comparison import FP32, Comparison, Row, percent
from .tally import Tally


def page(comparison: Comparison) -> str:
    """The whole page."""
    base, others = comparison.chips[0], comparison.others
    return document(f"{', '.join(others)} against {base}", _introduction(comparison), _sections(comparison))


def fragment(comparison: Comparison) -> str:
    """The same for a notebook."""
    parts = [f"<details><summary>{escape(title)}</summary>{body}</details>" for _, title, body in _sections(comparison)]
    return _bitmma.html_fragment(_introduction(comparison) + "".join(parts))


def _sections(comparison: Comparison) -> list[tuple[str, str, str]]:
    depth = comparison.modules or comparison.products
    heats = [("Every module" if comparison.modules else "Every product", depth)]
    heats.append((f"Every product on the operands of {comparison.chips[0]}", comparison.local))
    heats += [("Gradients", comparison.gradients), ("Parameters after the step", comparison.parameters)]
    parts = [
        ("Accuracy", _accuracy(comparison)),
        ("Noise floor", _noise(comparison)),
        ("Where it first differs", _firsts(comparison)),
        ("The effect at the end", _ends(comparison)),
        ("How it grows", _growth(comparison)),
        *((title, _heat(rows, comparison)) for title, rows in heats if rows),
        ("Remarks", _remarks(comparison)),
    ]
    return [section(title, body) for title, body in parts if body]


def _introduction(comparison: Comparison) -> str:
    base = escape(comparison.chips[0])
    ran = "each chip on its own values" if comparison.products else f"each product on the operands of {base}"
    return (
        f"<p>One model, {ran}. An element differs where its bits, after rounding, are not those of {base}: these are the "
        "tensors that the next layer sees. Raw sums are what the instruction returns before that rounding.</p>"
        f"<p>Coverage: {escape(comparison.coverage)}.</p>"
        f"<p><b>{escape(comparison.verdict)}.</b></p>"
        + "".join(f"<p>{escape(str(one))}.</p>" for one in list(comparison.accounts.values())[:1])
    )


def _accuracy(comparison: Comparison) -> str:
    """Errors against FP64, paired with those of the first chip."""
    if not comparison.accuracy:
        return ""
    base, rows = comparison.chips[0], []
    for chip, one in comparison.accuracy.items():
        share, deviation = one.relative
        relative = f"{100 * share:+.1f} % ± {100 * deviation:.1f} %" if math.isfinite(share) and math.isfinite(deviation) else "–"
        sizes = [_size(one.error), _size(one.base_error), f"{_size(one.difference)} ± {_size(one.standard_error)}", relative]
        rows.append([chip, one.kind, *sizes, f"{one.samples}", f"{one.orders}", f"{one.probability:.2g}"])
    reference = next(iter(comparison.accuracy.values())).reference
    against = "the model and its inputs in FP64" if reference == FP64 else "the model as it is, its products summed in FP64"
    text = (
        f"<p>The error of a sample is its distance from {against}. Both chips have the same samples, so differences are taken sample by sample. "
        f"Of chips of equal accuracy, a difference is reported in at most {LEVEL:.0%} of comparisons.</p>"
    )
    head = ["", "finding", "error", f"error of {base}", "difference ± standard error", f"of the error of {base}", "samples", "orders", "probability by chance"]
    return text + table(head, rows)


def _noise(comparison: Comparison) -> str:
    """What became of each variation."""
    if not comparison.variations:
        return ""
    rows = []
    for one in comparison.variations:
        for label in one.runs:
            end = comparison.floor.get(label)
            numbers = [percent(end.logits.share), _size(end.logits.relative), f"{end.flips} of {end.positions}", f"{end.divergence:.2g}"] if end else ["–"] * 4
            rows.append([label, *numbers])
        if one.idle:
            rows.append([f"{one.name} varied nothing: {one.idle}", *["–"] * 4])
    head = ["", "logits that differ", "relative size", "most likely flips", "KL divergence"]
    return f"<p>{escape(comparison.chips[0])} again, with a part computed in another way that is as right.</p>{table(head, rows)}"


def _size(number: float) -> str:
    return f"{number:.3g}" if not number or math.isnan(number) else f"{number:.2e}"


def _firsts(comparison: Comparison) -> str:
    items = []
    for chip, first in comparison.first.items():
        if first.product is not None:
            found = first.product
            text = f"{escape(str(found))}; fused sum along K: {escape(comparison._steps(found))}"
            explained = escape("\n".join(str(found.explain()).splitlines()[1:]))
            items.append(f"<li><b>{escape(chip)}</b>: {text}<details><summary>both sums, step by step</summary><pre>{explained}</pre></details></li>")
        elif first.module is not None:
            items.append(f"<li><b>{escape(chip)}</b>: {escape(first.module or '(model)')}, element {list(first.element or ())}</li>")
        else:
            items.append(f"<li><b>{escape(chip)}</b> {escape(comparison.agreement(chip))}</li>")
    return f"<ul>{''.join(items)}</ul>" if items else ""


def _ends(comparison: Comparison) -> str:
    labels = [*comparison.others, comparison.chips[0], FP32]
    ends = [comparison.outcomes.get(label) for label in labels]
    exact = [comparison.exactness.get(label) for label in labels]
    kept = [place for place in range(len(labels)) if ends[place] or exact[place]]
    top = next((end.top_k for end in ends if end), 5)
    rows = [
        ["logits that differ", *(percent(end.logits.share) if end else "–" for end in ends)],
        ["most likely flips", *(f"{end.flips} of {end.positions}" if end else "–" for end in ends)],
        ["of them exact ties", *(f"{end.tied_flips}" if end else "–" for end in ends)],
        [f"top {top} overlap", *(percent(end.overlap) if end else "–" for end in ends)],
        ["KL divergence, mean", *(f"{end.divergence:.2g}" if end else "–" for end in ends)],
        ["largest", *(f"{end.largest_divergence:.2g}" if end else "–" for end in ends)],
    ]
    if comparison.exactness:
        rows.append(["flips against FP64", *(f"{end.flips}" if end else "–" for end in exact)])
        rows.append(["KL divergence from FP64", *(f"{end.divergence:.2g}" if end else "–" for end in exact)])
    rows = [[row[0], *(row[place + 1] for place in kept)] for row in rows]
    text = table(["", *(labels[place] for place in kept)], rows) if kept else ""
    if comparison.losses:
        losses = ", ".join(f"{escape(label)} {value!r}" for label, value in comparison.losses.items())
        text += f"<p>Loss: {losses}</p>"
    return text


def _depth(comparison: Comparison) -> list[Row]:
    """The rows along which differences grow: modules without others inside, else products of the forward pass."""
    leaves = [row for row in comparison.modules if row.leaf and row.differences]
    return leaves or [row for row in comparison.products if not row.backward] or comparison.local


def _growth(comparison: Comparison) -> str:
    """Three figures: what differs and by how much along the model, and how many codes apart the last results are."""
    rows, base = _depth(comparison), comparison.chips[0]
    parts = []
    if len(rows) > 1:
        names = [row.title for row in rows]
        found = {chip: [row.differences.get(chip) for row in rows] for chip in comparison.others}
        good = {chip: [one if one and not one.problem else None for one in each] for chip, each in found.items()}
        shares: list[tuple[str, Values]] = [(chip, [None if one is None else one.share for one in each]) for chip, each in good.items()]
        sizes: list[tuple[str, Values]] = [(chip, [None if one is None else one.relative for one in each]) for chip, each in good.items()]
        for label, text in ((base, f"error of {base}, against FP64"), (FP32, "error of FP32")):
            values = [row.errors.get(label) for row in rows]
            if any(value is not None for value in values):
                sizes.append((text, values))
        order = "In the order of execution."
        parts.append(figure("Elements that differ", order, names, "share", shares))
        text = f"Norm of the difference over the norm of the tensor. {order}"
        parts.append(figure("Size of differences", text, names, "relative size", sizes, logarithmic=True))
    last = next((row for row in reversed(rows) if any(one.codes_apart for one in row.differences.values())), None)
    if last is not None:
        width = max(len(one.codes_apart) for one in last.differences.values())
        classes = [str(2**power) if power < 10 else f"2^{power}" for power in range(width)]
        counts = [(chip, one.codes_apart) for chip, one in last.differences.items() if chip in comparison.others]
        text = f"Elements of {last.title} by how many {last.dtype} codes they are apart, at least (1: neighbors)."
        parts.append(figure("How far apart the last results are", text, classes, "elements", counts, logarithmic=True))
    return f'<div class="side">{"".join(parts)}</div>' if parts else ""


def _heat(rows: Sequence[Row], comparison: Comparison) -> str:
    """A table of modules and chips, the darker the more differs."""
    raw = any(row.raw for row in rows)
    head = [*comparison.others, *(f"{chip}, raw sums" for chip in comparison.others if raw)]
    body = []
    for row in rows:
        name = row.title + (f" {row.operation}" if row.operation else "") + (" backward" if row.backward else "")
        tallies = [row.differences.get(chip) for chip in comparison.others]
        tallies += [row.raw.get(chip) for chip in comparison.others] if raw else []
        body.append((name, [_cell(one) for one in tallies]))
    text = f"<p>Share of elements that differ{', after rounding and before' if raw else ''}.</p>"
    return f'{text}<div class="tall">{_bitmma.html_heat(head, body)}</div>'


def _cell(found: Tally | None) -> tuple[float, str, str]:
    if found is None or found.problem:
        return 0.0, found.problem if found else "–", ""
    heat = 0.0 if not found.share else max(0.06, min(1.0, (math.log10(found.share) + 5) / 5))
    return 100 * heat, percent(found.share), f"relative size {found.relative:.2g}"


def _remarks(comparison: Comparison) -> str:
    items = [f"{escape(chip)}: {count} × {escape(what)}" for chip, left in comparison.left.items() for what, count in left.items()]
    parts = []
    if items:
        parts.append(f"<p>Products that were left as they were:</p><ul>{''.join(f'<li>{one}</li>' for one in items)}</ul>")
    if comparison.notes:
        parts.append(f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in comparison.notes)}</ul>")
    times = ", ".join(f"{escape(label)} {seconds:.1f} s" for label, seconds in comparison.seconds.items())
    return "".join(parts) + f'<p class="dim">Made by bitmma. Wall time of the runs: {times}.</p>'
