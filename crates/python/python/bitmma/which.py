"""Who computed a product: which instructions, of all architectures, give exactly this D, and in which order along K."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from . import _arrays, _bitmma, _page
from ._options import whole
from .errors import OptionError

if TYPE_CHECKING:
    from ._arrays import Array

__all__ = ["Candidate", "Mismatch", "Order", "Result", "SeparatingInput", "Which", "which"]


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
        if self.call is not None:
            return self.call
        words = ["one chain along K" if self.split_k == 1 else f"K in {self.split_k} parts (steps of {self.k_step})"]
        words += [f"moved to an FP32 sum every {self.promote_every}"] if self.promote_every else []
        words += ["C added last"] if self.c_last else []
        words += [f"converted to {self.output}" + (", saturated" if self.saturate else "")] if self.output else []
        return ", ".join(words)


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

    @property
    def name(self) -> str:
        """The first instruction and how many more there are."""
        if not self.instructions:
            return "fused multiply-adds of threads"
        more = len(self.instructions) - 1
        return self.instructions[0] + (f" and {more} more" if more else "")

    def order(self, order: Order) -> str:
        """An order in words; with its steps where another that matches has the same words."""
        alike = any(other != order and str(other) == str(order) for other in self.matching)
        return f"{order} (steps of {order.k_step})" if alike else str(order)

    @property
    def _chips(self) -> str:
        return ", ".join(self.chips) or "any GPU"

    @property
    def _orders(self) -> list[str]:
        """Those that match, or the nearest."""
        named = [self.order(order) for order in self.matching[:3]] or [str(self.nearest)]
        more = len(self.matching) - 3
        return [*named, f"{more} more"] if more > 0 else named

    def __str__(self) -> str:
        return f"{self.name} ({self._chips}): {self.agreeing} of {self.compared} elements, {'; '.join(self._orders)}"


@dataclass(frozen=True)
class Result:
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
    results: list[Result]
    """Every result, with those that give it."""


@dataclass(frozen=True)
class Which:
    """Which models compute D."""

    verdict: str
    """one, several or none."""
    rows: list[Candidate]
    """Every model: those that match first, then by the elements on which they agree."""
    tests: list[SeparatingInput]
    """Inputs that tell those that match apart."""
    together: list[list[list[tuple[int, Order]]]]
    """Those that match and give the same on every test. Each inner list is the same for every input, by argument; between
    several of them no input was found that differs."""
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

    def __str__(self) -> str:
        rows = self.matching or self.rows[:3]
        return "\n".join([self._heading, *(f"  {row}" for row in rows)])

    @property
    def _heading(self) -> str:
        tried = f"{self.models} models in {self.candidates} orders were tried in {self.seconds:.1f} s"
        if not self:
            return f"none of them computes D; {tried}. The nearest:"
        orders = sum(len(row.matching) for row in self.matching)
        models = "one model" if len(self.matching) == 1 else f"any of {len(self.matching)} models"
        return f"computed by {models}, in {'one order' if orders == 1 else f'one of {orders} orders'}; {tried}:"

    def _repr_html_(self) -> str:
        rows = self.matching or self.rows[:5]
        cells = [[row.name, row._chips, f"{row.agreeing} of {row.compared}", "; ".join(row._orders)] for row in rows]
        text = f"<p>{escape(self._heading)}</p>" + _page.table(["model", "chips", "elements that agree", "order along K"], cells, words=True)
        first = None if self else self.rows[0].first
        if first is not None:
            computed, observed = first.computed, first.observed
            text += (
                f"<p>The first that differs is D{list(first.element[1:])}: the nearest computes {computed['value']} ({computed['code']}), "
                f"D has {observed['value']} ({observed['code']}).</p>"
            )
        for test in self.tests[:3]:
            results = [[str(result.value), result.code, "; ".join(self._name(*one) for one in result.of[:3])] for result in test.results]
            operands = ", ".join(f"a{pair['k']} = {pair['a']}, b{pair['k']} = {pair['b']}" for pair in test.inputs)
            text += f"<p>An input that tells them apart (codes; every other element is zero): {operands}</p>"
            text += _page.table(["result", "code", "computed by"], results, words=True)
        return _bitmma.html_fragment(text)

    def _name(self, row: int, order: Order) -> str:
        return f"{self.rows[row].name}, {self.rows[row].order(order)}"

    def __repr__(self) -> str:
        return f"<bitmma.Which: {self}>"


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
    page = json.loads(
        _bitmma.who_computed(operands, _arrays.words("D", d, of_d), formats, revision_name=revision, threads=threads)
    )
    return Which(
        verdict=page["verdict"],
        rows=[_candidate(row) for row in page["rows"]],
        tests=[_test(test) for test in page["tests"]],
        together=[[_places(group) for group in one["groups"]] for one in page["together"]],
        models=page["models"],
        candidates=page["candidates"],
        elements=page["elements"],
        seconds=page["seconds"],
    )


def _candidate(row: dict[str, Any]) -> Candidate:
    first = row["first"]
    return Candidate(
        instructions=row["instructions"],
        architectures=row["architectures"],
        chips=row["chips"],
        threads=row["threads"],
        model=row["model"],
        agreeing=row["agreeing"],
        compared=row["compared"],
        matching=[Order(**order) for order in row["matching"]],
        unverified=row["unverified"],
        nearest=Order(**row["nearest"]),
        first=first and Mismatch(tuple(first["element"]), first["observed"], first["computed"]),
    )


def _places(of: list[dict[str, Any]]) -> list[tuple[int, Order]]:
    return [(one["row"], Order(**one["configuration"])) for one in of]


def _test(test: dict[str, Any]) -> SeparatingInput:
    results = [Result(one["value"], one["code"], _places(one["of"])) for one in test["results"]]
    return SeparatingInput(test["inputs"], test["scales"], test["c"], results)
