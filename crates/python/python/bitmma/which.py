"""Who computed a product: which instructions, of all architectures, give exactly this D, and in which order along K."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _arrays, _bitmma
from ._options import whole
from ._results import Result, result
from .errors import OptionError

if TYPE_CHECKING:
    from ._arrays import Array

__all__ = ["Candidate", "Given", "Mismatch", "Order", "SeparatingInput", "Together", "Which", "which"]


@dataclass(frozen=True)
class Order:
    """In which order a model goes along K, and what becomes of its result."""

    k_step: int | None = None
    """Elements along K of one step: the instruction's K; None for a library's call."""
    split_k: int | None = None
    """Parts of K whose results are added; None for a library's call."""
    promote_every: int | None = None
    """Elements of K after which the accumulator is moved to an FP32 sum."""
    c_last: bool | None = None
    """Whether C is added to A·B."""
    output: str | None = None
    """The format that D is converted to, where it is not the model's own."""
    saturate: bool | None = None
    """Whether numbers beyond its largest become its largest."""
    call: str | None = None
    """A library's call: GPU, library and configuration."""

    def __str__(self) -> str:
        return _bitmma.order_in_words(**vars(self))


@dataclass(frozen=True)
class Mismatch:
    """An element of D that a model computes otherwise."""

    element: tuple[int, int, int]
    """Block, row and column."""
    observed: dict[str, Any]
    """D's ``value``, ``code`` and ``format``."""
    computed: dict[str, Any]
    """The model's."""


@dataclass(frozen=True)
class Candidate:
    """A model, and how far it agrees with D."""

    instructions: list[str]
    """The instructions that compute so, as ``hopper wgmma…``; empty for threads without a matrix unit."""
    architectures: list[str]
    """Their architectures."""
    chips: list[str]
    """The chip that the paper's authors had of each."""
    threads: bool
    """Whether ordinary threads compute so: fused multiply-adds in FP32 (or FP64)."""
    model: dict[str, Any] | None
    """Its ``family``, ``parameters`` and ``lowering``."""
    agreeing: int
    """Elements on which the nearest order agrees."""
    compared: int
    """Elements that were compared."""
    matching: list[Order]
    """The orders in which it computes all of D."""
    unverified: int
    """Orders that agree on the elements compared, but were not compared on all."""
    nearest: Order
    """The order that agrees best."""
    first: Mismatch | None
    """The first element that it computes otherwise."""


@dataclass(frozen=True)
class Given:
    """What some that match give on an input that tells them apart."""

    value: float | str
    """The number; NaN and infinities are text."""
    code: str
    """Its code."""
    of: list[tuple[int, Order]]
    """Those that give it: the index in ``Which.rows``, and the order."""


@dataclass(frozen=True)
class SeparatingInput:
    """A small input, as long as K, on which some that match differ. What is left out is zero, a scale factor one."""

    inputs: list[dict[str, Any]]
    """Where A or B is not zero: ``k``, and ``a`` and ``b`` as codes in hex."""
    scales: list[dict[str, Any]]
    """Blocks with a scale factor other than one: ``block``, ``scale_a`` and ``scale_b``."""
    c: str | None
    """The code of C."""
    results: list[Given]
    """Every result, with those that give it."""


@dataclass(frozen=True)
class Together:
    """Some that match and give the same on every test."""

    searched: bool
    """Whether an input was searched that tells the first from each of the others."""
    groups: list[list[tuple[int, Order]]]
    """Each the same for every input, by argument: the index in ``Which.rows``, and the order. Between several of them no
    input was found that differs."""


@dataclass(frozen=True, repr=False)
class Which(Result):
    """Which models compute D."""

    verdict: str
    """one, several or none."""
    rows: list[Candidate]
    """Every model: those that match first, then by the elements on which they agree."""
    tests: list[SeparatingInput]
    """Inputs that tell those that match apart."""
    together: list[Together]
    """Those that match and give the same on every test."""
    models: int
    """Models that were tried."""
    candidates: int
    """Pairs of a model and an order along K that were tried."""
    elements: int
    """Elements of D."""
    seconds: float
    """How long it took."""

    @property
    def matching(self) -> list[Candidate]:
        """The models that compute all of D."""
        return [row for row in self.rows if row.matching]

    def __bool__(self) -> bool:
        return self.verdict != "none"


def which(
    a: Array,
    b: Array,
    d: Array,
    c: Array | None = None,
    *,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    read_as: str | tuple[str, str] | None = None,
    d_as: str | None = None,
    revision: str = "hardware",
    threads: int | None = None,
) -> Which:
    """Which instructions, of all architectures, compute D = A·B + C, and in which order along K.

    Every model that takes the formats is tried: as one chain along K, K in 2 to 16 parts, moved to an FP32 sum every 32 to
    512 elements, C first or last, D converted where it is in another format; FP32 sums of threads; and the configurations
    of cuBLASLt that are known. float32 is also read as TF32 and XF32. ``read_as`` says what A and B (or each) hold where
    the dtype leaves it open, ``d_as`` what D holds (and C, unless its dtype tells). Any NaN agrees with any other.
    """
    whole(threads=threads)
    if (scale_a is None) != (scale_b is None):
        raise OptionError("scale_a and scale_b go together")
    as_a, as_b = read_as if isinstance(read_as, tuple) else (read_as, read_as)
    of_a, of_b = _arrays.format_of("A", a, as_a), _arrays.format_of("B", b, as_b)
    of_d = _arrays.format_of("D", d, d_as)
    of_c = None if c is None else of_d if _arrays.is_codes(c) else _arrays.format_of("C", c)
    of_scale = None
    if scale_a is not None and not _arrays.is_codes(scale_a):
        of_scale = _arrays.format_of("scale A", scale_a)
        of_scale = "ue4m3" if of_scale == "e4m3" else of_scale
    scale = of_scale or "ue8m0"
    operands = (
        _arrays.words("A", a, of_a, along=-1),
        _arrays.words("B", b, of_b, along=-2),
        None if c is None or of_c is None else _arrays.words("C", c, of_c),
        None if scale_a is None else _arrays.words("scale A", scale_a, scale),
        None if scale_b is None else _arrays.words("scale B", scale_b, scale),
    )
    formats = (of_a, of_b, of_c, of_d, of_scale)
    given = _arrays.words("D", d, of_d)
    return result(Which, _bitmma.who_computed(operands, given, formats, revision_name=revision, threads=threads))
