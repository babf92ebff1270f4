"""Risky designs, each verdict with an input that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .. import _bitmma
from .._options import whole
from .._product import Target, _unit
from .._results import read
from .losses import Input

__all__ = ["Assessed", "Verdict", "Witness", "assess", "assess_all"]


@dataclass(frozen=True, eq=False)
class Witness:
    """An input that shows a risk."""

    input: Input
    """The operands."""
    code: int
    """The code of D."""
    exact: Fraction
    """The exact dot product."""
    mirrored: int | None
    """The code of D of -A, B, -C, for the asymmetry."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether a unit has a risk."""

    risk: str
    """``input FTZ``, ``small F``, ``narrow rho``, ``FP16 output`` or ``asymmetry``."""
    why: str | None
    """What in the parameters makes it so; None where nothing does."""
    witness: Witness | None
    """An input that shows it; None where none was found."""
    tried: int
    """Cases tried before it was found, or in vain."""

    @property
    def present(self) -> bool:
        """Whether it is present: an input shows it."""
        return self.witness is not None


@dataclass(frozen=True, eq=False)
class Assessed:
    """The verdicts on a model of the catalogue."""

    instructions: list[tuple[str, str]]
    """Architecture and name of all that compute so."""
    model: str
    """The model as data."""
    k: int
    """Elements along K."""
    verdicts: list[Verdict]
    """One for each risk."""


def assess(target: Target, *, k: int | None = None, seed: int = 1) -> list[Verdict]:
    """The verdicts on a unit, an instruction or a model of your own, one for each risk of the paper's table.

    A risk is present where a search found an input that shows it; where nothing in the parameters speaks for
    it, the search is short.
    """
    whole(k=k, seed=seed)
    return [read(Verdict, one) for one in _bitmma.assess(_unit(target), k=k, seed=seed)]


def assess_all(*, revision: str = "hardware", seed: int = 1, threads: int | None = None) -> list[Assessed]:
    """The verdicts on every model of the catalogue."""
    whole(seed=seed, threads=threads)
    found = _bitmma.assess_all(revision_name=revision, seed=seed, threads=threads)
    return [read(Assessed, one) for one in found]
