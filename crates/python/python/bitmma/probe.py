"""How a function computes, found by asking it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Callable, Mapping

from . import _arrays, _bitmma
from ._options import whole
from ._progress import Progress, listening
from ._dtypes import WORD_OF
from ._lazy import numpy as np
from .errors import DtypeError, ShapeError
from .formats import by_name
from .simulate import Unit

if TYPE_CHECKING:
    from ._arrays import Array, Codes

__all__ = ["ProbeOutcome", "Signature", "probe"]


@dataclass(frozen=True)
class Signature:
    """Shape and formats of one instruction: D = A·B + C, A M×K, B K×N, C and D M×N, ``blocks`` times."""

    name: str
    """What it is called in reports."""
    m: int
    """Rows of A, C and D."""
    n: int
    """Columns of B, C and D."""
    k: int
    """Columns of A, rows of B."""
    a: str
    """Format of A."""
    b: str
    """Format of B."""
    c: str
    """Format of C."""
    d: str
    """Format of D."""
    blocks: int = 1
    """Independent products in one instruction."""
    scale: tuple[str, int] | None = None
    """Format of the scale factors and how many elements share one; None where there are none."""

    @classmethod
    def of(cls, unit: Unit) -> Signature:
        """The signature of an instruction: ``Signature.of(bitmma.mma(...))``."""
        if unit.shape is None:
            raise ShapeError(f"{unit.name} is a model, which takes any shape: write the signature out")
        blocks, m, n, k = unit.shape
        return cls(unit.name, m, n, k, unit.a, unit.b, unit.c, unit.d, blocks, unit.scale)


@dataclass(frozen=True)
class ProbeOutcome:
    """The result of a probe."""

    signature: Signature
    """What was probed."""
    verdict: str
    """``found``: a model agrees with everything that was tried; ``not explained``: no model of the space
    does; ``faulty``: the answers depend on more than the dot product, or change."""
    model: str | None
    """The model as data, for :meth:`bitmma.Unit.from_toml`; None where none was found."""
    known_as: list[str]
    """Instructions of the catalogue that compute so, as ``ARCH/INSTRUCTION``."""
    equivalent: list[str] = field(repr=False)
    """Models that answer alike on everything that was tried, as data."""
    nearest: str | None = field(repr=False)
    """Where nothing explains the answers, the model that comes nearest, if any came near."""
    faults: list[dict[str, Any]] = field(repr=False)
    """Where the verdict is ``faulty``, each fault: ``fault``, ``meaning``, ``place`` (block, row, column), ``asked``,
    ``case`` (codes ``a``, ``b``, ``c``, ``scale_a``, ``scale_b``), ``answer`` and ``expected`` (codes of D), and
    ``explanation``, the mistake in the wiring that explains it, or None."""
    questions: int
    """Elements of D asked before the model was tested."""
    tests: int
    """Elements of D compared in the last test."""
    summary: str = field(repr=False)
    """What came out, in some lines."""
    text: str = field(repr=False)
    """The report."""
    html: str = field(repr=False)
    """The report as a page that needs nothing else."""

    @property
    def unit(self) -> Unit | None:
        """The model that was found, ready for :func:`bitmma.gemm` and :func:`bitmma.simulate`."""
        return None if self.model is None else Unit.from_toml(self.model, step=self.signature.k)

    def __str__(self) -> str:
        return self.summary

    def _repr_html_(self) -> str:
        found = " found" if self.verdict == "found" else ""
        return _bitmma.html_fragment(f'<div class="verdict{found}">{_bitmma.html_terminal(self.summary)}</div>')


def probe(
    fn: Callable[..., Array],
    signature: Signature | Mapping[str, Any] | Unit,
    *,
    tests: int = 1_000_000,
    seed: int = 1,
    log: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = None,
    batched: bool = False,
    codes: bool = False,
) -> ProbeOutcome:
    """Finds the model of ``fn`` by asking it questions, or reports what it cannot explain.

    ``fn(A, B, C)`` gets one instruction and gives D: an M×N array in the dtype of D's format, or of its
    codes. Where there are scale factors it is ``fn(A, B, C, scale_a=..., scale_b=...)``. Where an instruction
    has several blocks, each array has a dimension for them in front. Arrays are NumPy's in the dtype of
    their formats, or codes: of all formats with ``codes``, else of those for which neither NumPy nor an
    installed ml_dtypes has a dtype.

    - ``signature``: a :class:`Signature`, a dictionary of its fields, or an instruction that has the same.
    - ``tests``: elements of D that the model must agree with, at least. One call answers M×N of them, but
      only min(M, N) of the dot products that are asked before and of 2% of the tests: a million of 16×8
      are some ten thousand calls.
    - ``seed``: of all that is random.
    - ``log``: a file where every question is written with its answer, ``resume``: go on with the one that is
      there.
    - ``progress``: called now and then with the stage, how much of it is done, and how much there is; where
      nobody knows, the dot products answered in all, and 0. In its place there is a bar where tqdm is installed and standard
      error is a terminal or a notebook shows it (True: always, False: never).
    - ``batched``: ``fn`` gets many instructions in one call, in a further dimension in front of all others,
      and gives as many D.

    What ``fn`` or ``progress`` raises ends the probe and is raised as it is. The log then holds all answers
    but those of the exchange in which that happened: up to 512 dot products, or 65 536 elements of a test.
    Other Python threads run while ``fn`` does not.
    """
    if isinstance(signature, Unit):
        signature = Signature.of(signature)
    elif not isinstance(signature, Signature):
        signature = Signature(**signature)
    a, b, c, d = (by_name(name).name for name in (signature.a, signature.b, signature.c, signature.d))
    one = replace(signature, a=a, b=b, c=c, d=d)
    ask = _asker(fn, one, batched, codes)
    whole(tests=tests, seed=seed)
    with listening(progress) as listener:
        outcome = _bitmma.probe(
            ask,
            one.name,
            (one.blocks, one.m, one.n, one.k),
            (one.a, one.b, one.c, one.d),
            one.scale,
            tests=tests,
            seed=seed,
            log=None if log is None else os.fspath(log),
            resume=resume,
            progress=listener,
        )
    return ProbeOutcome(signature=one, **outcome)


def _asker(fn: Callable[..., Array], signature: Signature, batched: bool, codes: bool) -> Callable[..., Codes]:
    """``fn`` as a function of stacks of codes: batch, blocks, rows, columns."""
    blocks = () if signature.blocks == 1 else (signature.blocks,)
    shape = (*blocks, signature.m, signature.n)

    def given(words: Codes, format: str) -> Array:
        if not blocks:
            words = words.reshape(words.shape[0], *words.shape[2:])
        if codes:
            return words
        try:
            return _arrays.numpy_view(words, format)
        except DtypeError:
            return words

    def taken(d: Array, expected: tuple[int, ...]) -> Codes:
        words = _arrays.codes("D", d, signature.d)
        if words.shape != expected:
            raise ShapeError(
                f"D is {_text(words.shape)}, {signature.name} gives {_text(expected)}"
                + (" (instructions first: it is batched)" if batched else "")
            )
        return words

    def ask(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, Codes] | None) -> Codes:
        count = len(a)
        operands = [given(a, signature.a), given(b, signature.b), given(c, signature.c)]
        named = {}
        if scales is not None and signature.scale is not None:
            format = signature.scale[0]
            named = {"scale_a": given(scales[0], format), "scale_b": given(scales[1], format)}
        if batched:
            return taken(fn(*operands, **named), (count, *shape))
        d = np.empty((count, *shape), WORD_OF[_arrays.BYTES[signature.d]])
        for index in range(count):
            one = {name: array[index] for name, array in named.items()}
            d[index] = taken(fn(*(array[index] for array in operands), **one), shape)
        return d

    return ask


def _text(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "a single number"
