"""Parts of pages, and what notebooks show: the report's style, tables and figures."""

from __future__ import annotations

import json
from html import escape
from typing import Sequence

from . import _bitmma

#: Values at places 0, 1, 2, …; None leaves one out.
Values = Sequence["float | None"]


def section(title: str, body: str) -> tuple[str, str, str]:
    """A part of a page: its anchor, its heading, and what is below it."""
    anchor = "".join(letter if letter.isalnum() else "-" for letter in title.lower())
    return anchor, title, body


def document(title: str, lead: str, sections: Sequence[tuple[str, str, str]] = ()) -> str:
    """A page; it holds its style and loads nothing."""
    return _bitmma.html_document(title, lead, list(sections))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, words: bool = False) -> str:
    """A table of texts; the first cell of each row is its name, the others are numbers unless they are ``words``."""
    return _bitmma.html_table(list(head), [list(row) for row in rows], words=words)


def figure(
    title: str, text: str, names: Sequence[str], label: str, lines: Sequence[tuple[str, Values]], *, logarithmic: bool = False
) -> str:
    """Lines over named places. Zero has no place on a logarithmic axis: a line begins where its values do."""
    series = []
    for name, values in lines:
        points = [(place, float(value)) for place, value in enumerate(values) if value is not None]
        series.append({"name": name, "mark": "line", "points": points, "errors": [], "labels": []})
    about = {"name": "figure-" + "".join(filter(str.isalnum, title)).lower(), "title": title, "text": text, "series": series}
    axes = {"x": {"label": "", "scale": "linear", "names": list(names)}, "y": {"label": label, "scale": "log10" if logarithmic else "linear"}}
    svg = _bitmma.figure_svg(json.dumps({**about, **axes}))
    return f"<figure><h3>{escape(title)}</h3>{svg}<figcaption>{escape(text)}</figcaption></figure>"
