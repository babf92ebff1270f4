"""A comparison as one page of HTML: it loads nothing, and fits wide and narrow, light and dark screens."""

from __future__ import annotations

import math
from html import escape
from typing import Sequence

from .comparison import FP32, Comparison, Row, percent
from .plots import Line, bars, legend, lines
from .style import STYLE
from .tally import Tally


def page(comparison: Comparison) -> str:
    """The whole page."""
    base, others = comparison.chips[0], comparison.others
    title = f"{', '.join(others)} against {base}"
    parts = [_introduction(comparison), _firsts(comparison), _ends(comparison)]
    parts += [_growth(comparison), _histogram(comparison)]
    depth = comparison.modules or comparison.products
    if depth:
        parts.append(_heat(depth, comparison, "Every module" if comparison.modules else "Every product", "growth"))
    if comparison.local:
        parts.append(_heat(comparison.local, comparison, f"Every product on the operands of {base}", "local"))
    for name, rows in (("Gradients", comparison.gradients), ("Parameters after the step", comparison.parameters)):
        if rows:
            parts.append(_heat(rows, comparison, name, name))
    parts.append(_remarks(comparison))
    return document(title, "".join(parts))


def document(title: str, body: str) -> str:
    """A page with a title; it holds its style and loads nothing."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
    main = f"<main><h1>{escape(title)}</h1>{body}</main>"
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head><body>{main}</body></html>\n'


def _introduction(comparison: Comparison) -> str:
    base = escape(comparison.chips[0])
    ran = "each chip on its own values" if comparison.products else f"each product on the operands of {base}"
    return (
        f"<p>One model, {ran}. An element differs where its bits, after rounding, are not those of {base}: these are the "
        "tensors that the next layer sees. Raw sums are what the instruction answers before that rounding.</p>"
        f"<p>Coverage: {escape(comparison.coverage)}.</p>"
        f"<p><b>{escape(comparison.verdict)}.</b></p>"
        + "".join(f"<p>{escape(str(one))}.</p>" for one in list(comparison.accounts.values())[:1])
    )


def _firsts(comparison: Comparison) -> str:
    items = []
    for chip, first in comparison.first.items():
        if first.product is not None:
            found = first.product
            text = f"{escape(str(found))}; fused sum along K: {escape(comparison._steps(found))}"
            explained = escape("\n".join(str(found.explain()).splitlines()[1:]))
            items.append(f"<li><b>{escape(chip)}</b>: {text}<details><summary>both ways to it</summary><pre>{explained}</pre></details></li>")
        elif first.module is not None:
            items.append(f"<li><b>{escape(chip)}</b>: {escape(first.module or '(model)')}, element {list(first.element or ())}</li>")
        else:
            items.append(f"<li><b>{escape(chip)}</b> {escape(comparison.agreement(chip))}</li>")
    return f"<h2>Where it first differs</h2><ul>{''.join(items)}</ul>" if items else ""


def _ends(comparison: Comparison) -> str:
    labels = [*comparison.others, *comparison.floor, comparison.chips[0], FP32]
    ends = [comparison.outcomes.get(label, comparison.floor.get(label)) for label in labels]
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
    return f"<h2>The effect at the end</h2>{text}" if text else ""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, the first cell of each row its name; narrow screens show each row as lines with their headings."""
    top = "".join(f"<th>{escape(one)}</th>" for one in head)
    lines = []
    for row in rows:
        cells = "".join(f'<td data-h="{escape(name)}">{escape(one)}</td>' for name, one in zip(head[1:], row[1:]))
        lines.append(f"<tr><th>{escape(row[0])}</th>{cells}</tr>")
    body = "".join(lines)
    return f'<div class="scroll"><table class="rows"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _depth(comparison: Comparison) -> list[Row]:
    """The rows along which differences grow: modules without others inside, else products of the forward pass."""
    leaves = [row for row in comparison.modules if row.leaf and row.differences]
    return leaves or [row for row in comparison.products if not row.backward] or comparison.local


def _growth(comparison: Comparison) -> str:
    rows = _depth(comparison)
    if len(rows) < 2:
        return ""
    names = [row.title for row in rows]
    shares, sizes = [], []
    for number, chip in enumerate(comparison.others):
        found = [row.differences.get(chip) for row in rows]
        style = f"line c{number % 6} d{number % 3}"  # dashes show lines that lie on each other
        shares.append(Line(chip, style, [one.share if one and not one.problem else None for one in found]))
        sizes.append(Line(chip, style, [one.relative if one and not one.problem else None for one in found]))
    base = comparison.chips[0]
    for label, style, text in ((base, "line error", f"error of {base}, against FP64"), (FP32, "line error d1", "error of FP32")):
        values = [row.errors.get(label) for row in rows]
        if any(value is not None for value in values):
            sizes.append(Line(text, style, values))
    return (
        "<h2>How it grows</h2><figure><figcaption>Share of elements that differ, in the order of execution</figcaption>"
        + lines(names, shares, "share of elements that differ, by depth", logarithmic=False)
        + legend(shares)
        + "</figure><figure><figcaption>Norm of the difference over the norm of the tensor</figcaption>"
        + lines(names, sizes, "relative size of differences, by depth", logarithmic=True)
        + legend(sizes)
        + "</figure>"
    )


def _histogram(comparison: Comparison) -> str:
    """How many codes apart the elements of the last tensor are."""
    rows = _depth(comparison)
    last = next((row for row in reversed(rows) if any(one.codes_apart for one in row.differences.values())), None)
    if last is None:
        return ""
    groups = []
    width = max(len(one.codes_apart) for one in last.differences.values())
    for number, chip in enumerate(comparison.others):
        apart = last.differences[chip].codes_apart if chip in last.differences else ()
        groups.append(Line(chip, f"bar c{number % 6}", [*apart, *[0] * (width - len(apart))]))
    names = ["1", *(f"{2**power}–{2 ** (power + 1) - 1}" if power < 10 else f"2{_up(power)}…" for power in range(1, width))]
    return (
        f"<h2>How far apart the last results are</h2><figure><figcaption>{escape(last.title)}: elements by how many "
        f"{escape(last.dtype)} codes they are apart (1: neighbours)</figcaption>"
        + bars(names, groups, "histogram of differences")
        + legend([Line(group.label, group.style.replace("bar", "line wide-line"), []) for group in groups])
        + "</figure>"
    )


def _up(power: int) -> str:
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(power))


def _heat(rows: Sequence[Row], comparison: Comparison, title: str, kind: str) -> str:
    """A table of modules and chips, the darker the more differs."""
    raw = any(row.raw for row in rows)
    head = "<th></th>" + "".join(f"<th>{escape(chip)}</th>" for chip in comparison.others)
    head += "".join(f'<th class="far">{escape(chip)}, raw sums</th>' for chip in comparison.others) if raw else ""
    body = []
    for row in rows:
        name = row.title + (f" {row.operation}" if row.operation else "") + (" backward" if row.backward else "")
        cells = [_cell(row.differences.get(chip)) for chip in comparison.others]
        cells += [_cell(row.raw.get(chip), "far") for chip in comparison.others] if raw else []
        body.append(f"<tr><th>{escape(name)}</th>{''.join(cells)}</tr>")
    whole = f'<div class="scroll tall"><table class="heat"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
    return f"<h2>{escape(title)}</h2><p>Share of elements that differ{', after rounding and before' if raw else ''}.</p>{whole}"


def _cell(found: Tally | None, style: str = "") -> str:
    if found is None or found.problem:
        return f'<td class="{style}">{escape(found.problem if found else "–")}</td>'
    heat = 0.0 if not found.share else max(0.06, min(1.0, (math.log10(found.share) + 5) / 5))
    size = f"relative size {found.relative:.2g}"
    return f'<td class="{style}" style="--heat:{100 * heat * 0.6:.0f}%" title="{size}">{escape(percent(found.share))}</td>'


def _remarks(comparison: Comparison) -> str:
    items = [f"{escape(chip)}: {count} × {escape(what)}" for chip, left in comparison.left.items() for what, count in left.items()]
    parts = []
    if items:
        parts.append(f"<h2>Products that were left as they were</h2><ul>{''.join(f'<li>{one}</li>' for one in items)}</ul>")
    if comparison.notes:
        parts.append(f"<h2>Remarks</h2><ul>{''.join(f'<li>{escape(one)}</li>' for one in comparison.notes)}</ul>")
    times = ", ".join(f"{escape(label)} {seconds:.1f} s" for label, seconds in comparison.seconds.items())
    return "".join(parts) + f'<p class="small">Made by bitmma. Wall time of the runs: {times}.</p>'
