"""What real units returned: recordings, read and compared with the models."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Iterable, Union

from . import _bitmma

__all__ = ["Outcome", "Record", "read", "replay"]

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Record:
    """One dot product that a unit computed, as codes."""

    arch: str
    instruction: str
    a: list[int]
    """K codes."""
    b: list[int]
    """K codes."""
    c: int
    scale_a: list[int]
    """K/block codes, or none."""
    scale_b: list[int]
    """K/block codes, or none."""
    d: int | None
    """The result; None where any NaN agrees."""
    line: int
    """The line it stands on, from 1."""


@dataclass(frozen=True)
class Outcome:
    """The result of replaying the dot products of one instruction."""

    arch: str
    instruction: str
    total: int
    """Dot products compared with the model."""
    mismatches: int
    """How many differ."""
    first: int | None
    """The line of the first that differs."""
    file: str | None
    """The recording in which it stands."""


def read(path: Path) -> list[Record]:
    """Reads a recording; an error names the file and the line."""
    return [Record(**row) for row in _bitmma.read_recording(os.fspath(path))]


def replay(
    paths: Path | Iterable[Path], *, revision: str = "hardware", strict_nan: bool = False
) -> list[Outcome]:
    """Compares recordings with the instructions' models, as ``bitmma replay`` does; an outcome for each
    instruction, in the order in which they first appear. An error names the file."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    outcomes = _bitmma.replay([os.fspath(path) for path in paths], revision, strict_nan)
    return [Outcome(*outcome) for outcome in outcomes]
