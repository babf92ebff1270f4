"""Plots of a comparison as SVG, each drawn twice: for wide screens and for narrow ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Callable, Sequence

#: Widths in pixels; the style shows one of the two.
WIDTHS = {"wide": 900, "narrow": 350}
HEIGHT = 280
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 12, 44


@dataclass(frozen=True)
class Line:
    """One line of a plot."""

    label: str
    style: str
    """The class of its colour and dashes."""
    values: Sequence[float | None]
    """One for each place on the horizontal axis; None leaves a gap."""


def both(draw: Callable[[int, int], str], title: str) -> str:
    """A plot for wide and narrow screens; ``draw`` takes the width and how many names fit below it."""
    found = []
    for name, width in WIDTHS.items():
        ticks = 6 if name == "wide" else 3
        found.append(
            f'<svg class="{name}" viewBox="0 0 {width} {HEIGHT}" role="img" aria-label="{escape(title)}">{draw(width, ticks)}</svg>'
        )
    return "".join(found)


def lines(names: Sequence[str], given: Sequence[Line], title: str, *, logarithmic: bool) -> str:
    """Lines over named places. On a logarithmic axis zeros are on the base line."""
    values = [value for line in given for value in line.values if value is not None]
    marks: list[tuple[float, str]]
    if logarithmic:
        positive = [value for value in values if value > 0]
        lowest = math.floor(math.log10(min(positive))) if positive else -1
        high = float(max(math.ceil(math.log10(max(positive))) if positive else 0, lowest + 1))
        base = lowest - 0.6  # zeros are here
        marks = [(base, "0"), *((one, "10" + _raised(one)) for one in range(lowest, int(high) + 1, max(1, -(-int(high - lowest) // 6))))]
    else:
        base, high = 0.0, _ceiling(max(values, default=1.0))
        marks = [(high * part / 4, f"{100 * high * part / 4:.3g}%") for part in range(5)]

    def place(value: float) -> float:
        if not logarithmic:
            return value
        return math.log10(value) if value > 0 else base

    def draw(width: int, ticks: int) -> str:
        across = (width - LEFT - RIGHT) / max(len(names) - 1, 1)
        down = (HEIGHT - TOP - BOTTOM) / (high - base)

        def x(index: float) -> float:
            return LEFT + index * across

        def y(value: float) -> float:
            return TOP + (high - value) * down

        parts = []
        for at, text in marks:
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y(at):.1f}" y2="{y(at):.1f}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y(at) + 4:.1f}" text-anchor="end">{text}</text>')
        parts += _names(names, ticks, x)
        for line in given:
            parts.append(_path(line, x, lambda value: y(place(value))))
            if len(names) * len(given) <= 600:
                for index, value in enumerate(line.values):
                    if value is not None:
                        tip = f"{escape(names[index])}, {escape(line.label)}: {value:.3g}"
                        parts.append(
                            f'<circle class="{line.style}" cx="{x(index):.1f}" cy="{y(place(value)):.1f}" r="2.2"><title>{tip}</title></circle>'
                        )
        return "".join(parts)

    return both(draw, title)


def bars(names: Sequence[str], groups: Sequence[Line], title: str) -> str:
    """Counts in named classes, one bar for each group, on a logarithmic axis."""
    most = max((value for group in groups for value in group.values if value), default=1)
    high = max(math.ceil(math.log10(most)), 1)

    def draw(width: int, ticks: int) -> str:
        span = (width - LEFT - RIGHT) / max(len(names), 1)
        thick = min(span * 0.8 / max(len(groups), 1), 26)
        bottom, down = HEIGHT - BOTTOM, (HEIGHT - TOP - BOTTOM) / (high + 0.3)
        parts = []
        for power in range(0, high + 1, max(1, high // 5)):
            y = bottom - (power + 0.3) * down
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">10{_raised(power)}</text>')
        for place, name in enumerate(names):
            middle = LEFT + (place + 0.5) * span
            if len(names) <= 2 * ticks or place % -(-len(names) // (2 * ticks)) == 0:
                parts.append(f'<text x="{middle:.1f}" y="{bottom + 16}" text-anchor="middle">{escape(name)}</text>')
            for number, group in enumerate(groups):
                value = group.values[place]
                if value:
                    height = (math.log10(value) + 0.3) * down
                    left = middle + (number - len(groups) / 2) * thick
                    parts.append(
                        f'<rect class="{group.style}" x="{left:.1f}" y="{bottom - height:.1f}" width="{thick - 1:.1f}" '
                        f'height="{height:.1f}"><title>{escape(group.label)}, {escape(name)}: {value:.0f}</title></rect>'
                    )
        parts.append(f'<line class="axis" x1="{LEFT}" x2="{width - RIGHT}" y1="{bottom}" y2="{bottom}"/>')
        return "".join(parts)

    return both(draw, title)


def legend(given: Sequence[Line]) -> str:
    """Which line is which."""
    items = [
        f'<li><svg viewBox="0 0 26 10" aria-hidden="true"><path class="{one.style}" d="M1 5H25"/></svg>{escape(one.label)}</li>'
        for one in given
    ]
    return f'<ul class="legend">{"".join(items)}</ul>'


def _names(names: Sequence[str], ticks: int, x: Callable[[float], float]) -> list[str]:
    """Some of the names below the axis."""
    count = len(names)
    places = sorted({round(part * (count - 1) / max(ticks - 1, 1)) for part in range(ticks)}) if count else []
    parts = []
    for place in places:
        anchor = "start" if place == 0 else "end" if place == count - 1 else "middle"
        parts.append(f'<line class="axis" x1="{x(place):.1f}" x2="{x(place):.1f}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 4}"/>')
        parts.append(f'<text x="{x(place):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="{anchor}">{escape(_short(names[place]))}</text>')
    return parts


def _path(line: Line, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    """The line, with gaps where there is no value."""
    commands, open_ = [], False
    for index, value in enumerate(line.values):
        if value is None:
            open_ = False
            continue
        commands.append(f"{'L' if open_ else 'M'}{x(index):.1f} {y(value):.1f}")
        open_ = True
    return f'<path class="{line.style}" d="{"".join(commands)}"><title>{escape(line.label)}</title></path>'


def _short(name: str) -> str:
    return name if len(name) <= 18 else "…" + name[-17:]


def _ceiling(value: float) -> float:
    """The next larger of 1, 2, 5 times a power of ten, at most 1."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return min(next(power * part for part in (1, 2, 5, 10) if power * part >= value), 1.0) if value <= 1 else value


def _raised(power: int) -> str:
    return "".join("⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".index(digit)] for digit in str(power))
