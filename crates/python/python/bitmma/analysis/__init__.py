"""What the arithmetic means: where units differ, how large errors can be and are, which designs are risky,
what helps.

Each function is one question; :func:`section` and :func:`report` answer them for the whole catalogue in
tables, figures and words, as ``bitmma analyze`` and ``bitmma report`` do. Units are
:class:`bitmma.Unit`, instructions and models alike, or an architecture and an instruction. Exact numbers
are fractions, statistics are floats. Everything random comes from a seed.
"""

from __future__ import annotations

from .accuracy import (
    BiasGrowth,
    Distributions,
    Errors,
    Histogram,
    Measured,
    Workaround,
    bias_distributions,
    bias_growth,
    errors,
    measure_designs,
    workarounds,
)
from .bounds import Account, Bounds, Entry, WorstCase, account, bounds, error_sources, worst_case
from .discrepancy import Answer, Comparison, Difference, LeftOut, Matrix, compare, matrix, smallest
from .losses import Input, Loss
from .report import PARTS, Figure, Section, Series, Table, report, section
from .risks import Assessed, Verdict, Witness, assess, assess_all

__all__ = [
    "PARTS",
    "Account",
    "Answer",
    "Assessed",
    "BiasGrowth",
    "Bounds",
    "Comparison",
    "Difference",
    "Distributions",
    "Entry",
    "Errors",
    "Figure",
    "Histogram",
    "Input",
    "LeftOut",
    "Loss",
    "Matrix",
    "Measured",
    "Section",
    "Series",
    "Table",
    "Verdict",
    "Witness",
    "Workaround",
    "WorstCase",
    "account",
    "assess",
    "assess_all",
    "bias_distributions",
    "bias_growth",
    "bounds",
    "compare",
    "error_sources",
    "errors",
    "matrix",
    "measure_designs",
    "report",
    "section",
    "smallest",
    "workarounds",
    "worst_case",
]
