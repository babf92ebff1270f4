"""Risky designs, each verdict with an input that shows it."""

from __future__ import annotations

from .. import _bitmma
from .._bitmma import Assessed, Verdict
from .._options import whole
from .._product import Target, _unit

__all__ = ["assess", "assess_all"]


def assess(target: Target, *, k: int | None = None, seed: int = 1) -> list[Verdict]:
    """The verdicts on a unit, an instruction or a model of your own, one for each risk of the paper's table.

    A risk is present where a search found an input that shows it; where nothing in the parameters speaks for
    it, the search is short.
    """
    whole(k=k, seed=seed)
    return _bitmma.assess(_unit(target), k=k, seed=seed)


def assess_all(*, revision: str = "hardware", seed: int = 1, threads: int | None = None) -> list[Assessed]:
    """The verdicts on every model of the catalogue."""
    whole(seed=seed, threads=threads)
    return _bitmma.assess_all(revision_name=revision, seed=seed, threads=threads)
