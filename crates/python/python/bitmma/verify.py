"""A unit compared with its model: the campaigns of ``bitmma verify``."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Iterator, Union

from . import _bitmma
from ._options import whole
from ._progress import listening
from .simulate import Unit

__all__ = ["VerifyReport", "merge", "verify"]

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class VerifyReport:
    """The result of a campaign, or of the part that is done."""

    unit: str
    """What was asked."""
    takes: str
    """Its shape and formats."""
    verdict: str
    """``agrees``, ``incomplete`` (blocks are missing, the others agree), ``differs``, ``NaN everywhere``, ``constant``
    (one result for everything) or ``nothing asked``; only the first is an agreement."""
    blocks: int
    """Blocks that were asked."""
    of: int
    """Blocks of the whole campaign."""
    missing: list[tuple[int, int]]
    """Blocks that are missing, as ranges from the first to the last; those of the shard that was asked for."""
    dot_products: int
    """Elements of D that were compared."""
    mismatches: int
    """How many differ."""
    by_kind: dict[str, int]
    """Mismatches by family of random numbers or by directed feature."""
    digest: str | None
    """Over what was asked and every result; None as long as blocks are missing."""
    first: list[dict[str, Any]] = field(repr=False)
    """The first mismatches of each kind, as codes."""
    model: str = field(repr=False)
    """What the unit was compared with, as TOML."""
    seed: int
    strict_nan: bool
    directed: int
    """Directed cases in front of the random ones."""

    @property
    def agrees(self) -> bool:
        """Whether every block was asked and every result agrees."""
        return self.verdict == "agrees" and self.blocks == self.of


def report(blocks: _bitmma.Blocks) -> dict[str, Any]:
    """The fields of a report."""
    fields: dict[str, Any] = json.loads(blocks.summary())
    fields["missing"] = [(first, last) for first, last in fields["missing"]]
    return fields


def missing(blocks: _bitmma.Blocks, count: int) -> Iterator[list[int]]:
    """The numbers of missing blocks, up to ``count`` at a time."""
    first = 0
    while numbers := blocks.missing(first, count):
        yield numbers
        first = numbers[-1] + 1


def toml(model: str | Unit | None) -> str | None:
    """A model as TOML."""
    return model.toml if isinstance(model, Unit) else model


def verify(
    unit: str,
    *,
    tests: int = 1_000_000,
    seed: int = 0,
    model: str | Unit | None = None,
    against: str | None = None,
    revision: str = "hardware",
    strict_nan: bool = False,
    state: Path | None = None,
    resume: bool = False,
    shard: str = "1/1",
    progress: Callable[[int, int], object] | bool | None = None,
) -> VerifyReport:
    """Compares a unit with its model: every directed case, then random instructions of ten families.

    - ``unit``: a name as ``bitmma verify`` takes it: ``sim:ARCH/INSTRUCTION``, ``cpu:NAME``, ``cuda:N/…``,
      ``hip:N/…``, ``exec:COMMAND``, ``model:FILE@MxNxK``, ``recording:FILE``.
    - ``tests``: random dot products, rounded up to whole instructions.
    - ``model``: TOML text or a :class:`Unit`; ``against``: the model of this ``ARCH/INSTRUCTION``. If both are
      left out it is that of the instruction the unit names.
    - ``state``: a folder for the campaign's file, the same that ``bitmma verify --state`` writes; with
      ``resume`` it continues from there. ``shard``: only every N-th block, from the I-th on, as in ``3/7``.
    - ``progress``: called after each block with the dot products that were compared and those there are. In its place there is a
      bar where tqdm is installed and standard error is a terminal or a notebook shows it (True: always, False: never).

    Needs Ray to run on many machines: :func:`bitmma.fleet.verify`. A unit that cannot be asked, hangs or dies
    raises :class:`UnitError`; the finished blocks are in ``state``.
    """
    whole(tests=tests, seed=seed)
    campaign = _bitmma.Campaign(
        unit,
        tests=tests,
        seed=seed,
        model=toml(model),
        against=against,
        revision_name=revision,
        strict_nan=strict_nan,
    )
    blocks = _bitmma.Blocks(campaign.identity, None if state is None else os.fspath(state), shard, resume)

    def told(_: str, done: int, total: int) -> object:
        return progress(done, total) if callable(progress) else None

    with listening(told if callable(progress) else progress) as listener:

        def each(line: str) -> None:
            blocks.add(line)
            if listener is not None:
                listener(unit, blocks.counts()[2], campaign.dot_products)

        for numbers in missing(blocks, 1 << 16):
            campaign.run(numbers, each)
    return VerifyReport(**report(blocks))


def merge(paths: Iterable[Path]) -> VerifyReport:
    """The report of several files of one campaign, of any machine and in any order."""
    return VerifyReport(**report(_bitmma.Blocks.merge([os.fspath(path) for path in paths])))
