"""The report: every question for the whole catalogue, in tables, figures and words."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Iterable, Union

from .. import _bitmma
from ..errors import OptionError
from .._page import table as html_table
from .._progress import listening
from .._product import Target, _unit

if TYPE_CHECKING:
    from .._arrays import Array
    from .._progress import Progress

__all__ = ["PARTS", "Figure", "Section", "Series", "Table", "report", "section"]

#: The parts of the report, in its order.
PARTS: tuple[str, ...] = tuple(_bitmma.report_parts())

#: A cell of a table: None where there is no such number.
Cell = Union[int, float, str, None]


@dataclass(frozen=True)
class Table:
    """Numbers in rows and columns."""

    name: str
    """File name."""
    title: str
    """Its heading."""
    text: str
    """What it says, in words."""
    columns: list[str]
    """Headings."""
    rows: list[list[Cell]] = field(repr=False)
    """Rows, each with as many cells as there are columns."""

    def _repr_html_(self) -> str:
        rows = [[_short(cell) for cell in row] for row in self.rows]
        words = any(isinstance(cell, str) for row in self.rows for cell in row[1:])
        return _bitmma.html_fragment(f"<h3>{escape(self.title)}</h3><p>{escape(self.text)}</p>" + html_table(self.columns, rows, words=words))


def _short(cell: Cell) -> str:
    """As a reader wants it."""
    return "–" if cell is None else f"{cell:.3g}" if isinstance(cell, float) else str(cell)


@dataclass(frozen=True)
class Series:
    """Numbers of a figure that belong together."""

    name: str
    """Its name in the legend."""
    mark: str
    """``line``, ``points`` or ``steps``."""
    points: list[tuple[float, float]] = field(repr=False)
    """x and y."""
    errors: list[float] = field(repr=False)
    """The sampling error of each y, or none."""
    labels: list[str] = field(repr=False)
    """A label for each point, or none."""


@dataclass(frozen=True)
class Figure:
    """A figure: its numbers, and the picture."""

    name: str
    """File name."""
    title: str
    """Its heading."""
    text: str
    """What it shows, in words."""
    x: dict[str, Any]
    """``label`` and ``scale`` (linear, log2, log10) of the axis."""
    y: dict[str, Any]
    """The same of the other."""
    series: list[Series]
    """What is drawn."""
    _drawn: _bitmma.Section = field(repr=False, compare=False)

    @property
    def svg(self) -> str:
        """The picture."""
        return self._drawn.svg(self.name)

    @property
    def png(self) -> bytes:
        """The picture as a PNG file; a notebook shows it."""
        return bytes(self._drawn.png(self.name))

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    name: str
    """One of :data:`PARTS`."""
    title: str
    """Its heading."""
    text: list[str]
    """Paragraphs."""
    tables: list[Table]
    """Tables."""
    figures: list[Figure]
    """Figures."""
    _drawn: _bitmma.Section = field(repr=False, compare=False)
    finding: dict[str, str] | None = None
    """What the report says of it first: ``headline`` and ``text``."""

    def _repr_html_(self) -> str:
        return self._drawn.html()

    def table(self, name: str) -> Table:
        """The table of that name."""
        return {table.name: table for table in self.tables}[name]


def _section(native: _bitmma.Section) -> Section:
    row = json.loads(native.json())
    tables = [Table(**table) for table in row["tables"]]
    figures = [_figure(figure, native) for figure in row["figures"]]
    return Section(**{**row, "tables": tables, "figures": figures, "_drawn": native})


def _figure(row: dict[str, Any], native: _bitmma.Section) -> Figure:
    series = [Series(**{**one, "points": [(x, y) for x, y in one["points"]]}) for one in row["series"]]
    return Figure(**{**row, "series": series}, _drawn=native)


def _choices(
    target: Target | None,
    a: Array | None,
    b: Array | None,
    c: Array | None,
    scales: tuple[Array | None, Array | None],
    options: dict[str, Any],
) -> dict[str, Any]:
    unit = None if target is None else _unit(target)
    named, operands = None, None
    if unit is not None:
        one = unit.instruction
        named = (unit, unit.name if one is None else f"{one.architecture} {one.row}")
        if a is not None and b is not None:
            operands = unit._operands(a, b, c, *scales)
    if operands is None and not (a is None and b is None and c is None):
        raise OptionError("data need a target, and both A and B")
    return {**options, "unit": named, "operands": operands}


def section(
    part: str,
    target: Target | None = None,
    a: Array | None = None,
    b: Array | None = None,
    c: Array | None = None,
    *,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    distribution: str = "normal",
    scale: float = 1.0,
    k: int = 1024,
    seed: int = 1,
    quick: bool = False,
    revision: str = "hardware",
    threads: int | None = None,
    progress: Progress = None,
) -> Section:
    """One part of the report, as ``bitmma analyze`` prints it: one of :data:`PARTS`.

    A ``target`` comes first in models, risks and design-space; bounds, discrepancy and workarounds are then about it
    alone; bias and published refuse one. A, B and C are its data (bounds, design-space, workarounds), else A and B are random, 32×K
    and K×32 (K 1 to 1,048,576), of a ``distribution`` (normal, uniform, outliers) times ``scale`` (above 0, at most
    1e300). ``quick`` tries fewer cases of
    everything: seconds in place of minutes. ``progress`` is called with what is done, how much of it, and how
    much there is; in its place there is a bar where tqdm is installed and standard error is a terminal or a notebook shows it
    (True: always, False: never). Other Python threads run meanwhile.
    """
    options = {"distribution": distribution, "scale": scale, "k": k, "seed": seed, "quick": quick, "revision": revision}
    choices = _choices(target, a, b, c, (scale_a, scale_b), options)
    with listening(progress) as listener:
        return _section(_bitmma.report_section(part, choices, threads=threads, progress=listener))


def report(
    out: str | os.PathLike[str],
    target: Target | None = None,
    a: Array | None = None,
    b: Array | None = None,
    c: Array | None = None,
    *,
    only: Iterable[str] = PARTS,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    distribution: str = "normal",
    scale: float = 1.0,
    k: int = 1024,
    seed: int = 1,
    quick: bool = False,
    revision: str = "hardware",
    threads: int | None = None,
    progress: Progress = None,
) -> list[Section]:
    """Writes the report into the folder ``out``, as ``bitmma report`` does, and gives its sections.

    The folder: index.html (one page that needs nothing else), report.json, tables, figures, sections. It
    appears when everything is done; until then finished parts are in ``out``.partial, and the next call
    with the same options continues from there. A folder that holds a report is replaced, any other is not. Options as
    for :func:`section`; ``only`` names the parts.
    """
    options = {"distribution": distribution, "scale": scale, "k": k, "seed": seed, "quick": quick, "revision": revision}
    choices = _choices(target, a, b, c, (scale_a, scale_b), options)
    built = os.stat(str(_bitmma.__file__))
    build = f"bitmma {_bitmma.__version__} ({built.st_size} bytes, {built.st_mtime_ns} ns)"
    parts = list(only)
    with listening(progress) as listener:
        sections = _bitmma.write_report(os.fspath(out), parts, choices, build, threads=threads, progress=listener)
    return [_section(one) for one in sections]
