"""What may compute the products of a model: a chip, an instruction, a model, a configuration, a plan, a dtype."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Callable, Union

import torch

from .. import _bitmma, _reading
from ..calls import CallPlan
from ..errors import Error, ModelError, OptionError
from ..simulate import Unit, mma
from .choice import Policies, readings, unit_for
from .product import Product
from .ways import Chain, InDtype, Planned, Way

__all__ = ["Arithmetic", "Chip", "Gemm", "Target", "arithmetics", "resolve"]


@dataclass(frozen=True)
class Chip:
    """A chip with policies of its own, as :class:`~bitmma.torch.emulate` has them: ``Chip("mi250x", fp16="bf16-backward")``."""

    name: str
    """An architecture, a compiler target or a chip."""
    fp16: str | None = "native"
    bf16: str | None = "native"
    fp32: str | None = "native"
    fp64: str | None = "native"


@dataclass(frozen=True)
class Gemm:
    """How sums run along K, on any chip, instruction or model: ``Gemm("h100", split_k=4)``."""

    target: Target
    split_k: int | None = None
    """Parts into which K is cut (:func:`bitmma.gemm`)."""
    promote_every: int | None = None
    """Elements along K after which the accumulator is moved to a sum in FP32; also for ``_scaled_mm``."""


#: A chip's name, a :class:`Chip`, ``(architecture, instruction)``, a :class:`~bitmma.Unit`, a model as TOML text or the path
#: of a file, a :class:`Gemm`, a plan (:func:`bitmma.calls.plan_call`), a dtype of PyTorch in which products are summed, or a
#: function from :class:`~bitmma.torch.Product` to any of these, or to None, which leaves the product as it is.
Target = Union[str, Chip, "tuple[str, str]", Unit, Gemm, CallPlan, "os.PathLike[str]", torch.dtype, Callable[[Product], Any]]


@dataclass(frozen=True)
class Arithmetic:
    """A target with its name: it says how each product is computed."""

    label: str
    choose: Callable[[Product, bool], Way | None] = field(repr=False)
    """The way of a product, and whether fast accumulation is allowed; None where there is none."""
    policies: Policies
    why_none: Callable[[Product], str] = field(repr=False)
    """Why there is no way for a product."""
    varies: bool = False
    """Whether a function chooses for each product."""


def resolve(target: Target, policies: Policies, label: str | None = None) -> Arithmetic:
    """A target as an arithmetic. Raises where the target is unknown."""
    if isinstance(target, Arithmetic):
        return target
    if isinstance(target, str) and "\n" not in target and not target.endswith(".toml"):
        return _of_chip(target, policies, label)
    if isinstance(target, Chip):
        own = Policies(target.fp16, target.bf16, target.fp32, target.fp64)
        return _of_chip(target.name, own, label)
    if isinstance(target, Gemm):
        return _of_gemm(target, policies, label)
    if isinstance(target, CallPlan):
        plan = Planned(label or f"plan for {target.platform}", target)
        return _fixed(plan, plan.formats, policies)
    if isinstance(target, torch.dtype):
        if target not in (torch.float32, torch.float64):
            raise OptionError(f"{target} as arithmetic; torch.float32 or torch.float64")
        way = InDtype(label or str(target).rpartition(".")[2], target)
        return Arithmetic(way.label, lambda product, fast: way, policies, lambda product: "")
    if callable(target) and not isinstance(target, Unit):
        return _of_function(target, policies, label)
    unit = _unit(target)
    name = label or (f"{unit.instruction.architecture} {unit.name}" if unit.instruction else f"model {unit.name}")
    return _fixed(Chain(name, unit), (unit.a, unit.b), policies)


def arithmetics(targets: Any, policies: Policies) -> list[Arithmetic]:
    """One target, several, or several by name; their labels are made distinct."""
    if targets is None:
        return []
    if isinstance(targets, Mapping):
        return [resolve(target, policies, str(label)) for label, target in targets.items()]
    one_alone = not isinstance(targets, (list, tuple)) or _is_instruction(targets)
    found = [resolve(target, policies) for target in ([targets] if one_alone else targets)]
    labels = [one.label for one in found]
    if len(set(labels)) == len(labels):
        return found
    return [replace(one, label=f"{one.label} ({place})") for place, one in enumerate(found, 1)]


def _is_instruction(targets: Any) -> bool:
    """Whether a tuple is an architecture and an instruction, and not two chips."""
    if not (isinstance(targets, tuple) and len(targets) == 2 and all(isinstance(one, str) for one in targets)):
        return False
    try:
        _bitmma.architecture(targets[1])
    except Error:
        return True
    return False


def _of_chip(name: str, policies: Policies, label: str | None) -> Arithmetic:
    architecture = _bitmma.architecture(name)
    label = label or name

    @lru_cache(maxsize=256)
    def way(a: torch.dtype, b: torch.dtype, scale: tuple[str, int] | None, fast: bool) -> Way | None:
        formats = policies.formats(a, b)
        of_unit = None if scale is None or scale[0] == "f32" else scale  # FP32 scales are applied outside
        unit = formats and unit_for(architecture, *formats, of_unit)
        return Chain(label, unit, promote_every=None if fast else _bitmma.promotion(architecture)) if unit else None

    def why(product: Product) -> str:
        if product.dtypes == (torch.float32, torch.float32) and policies.fp32 == "native":
            return f"{label} has no FP32 matrix instruction; fp32='tf32' takes TF32"
        return f"{label} has no instruction for them"

    return Arithmetic(label, lambda product, fast: way(*product.dtypes, product.scale, fast), policies, why)


def _fixed(way: Way, formats: tuple[str, str], policies: Policies) -> Arithmetic:
    """One way for every product whose operands it can read."""
    takes = way.unit.scale if isinstance(way, Chain) else None

    def choose(product: Product, fast: bool) -> Way | None:
        fits = all(format in readings(dtype) for format, dtype in zip(formats, product.dtypes))
        return way if fits and _scales_fit(way, product.scale) else None

    why = f"{way.label} takes {formats[0]} and {formats[1]}" + (f" with scales in {takes[0]}" if takes else "")
    return Arithmetic(way.label, choose, policies, lambda product: why)


def _scales_fit(way: Way, scale: tuple[str, int] | None) -> bool:
    """Whether a way applies scales of blocks: an instruction its own, or FP32 ones outside of it."""
    own = way.unit.scale if isinstance(way, Chain) else None
    return scale == own or (own is None and isinstance(way, Chain) and scale is not None and scale[0] == "f32")


def _of_gemm(target: Gemm, policies: Policies, label: str | None) -> Arithmetic:
    inner = resolve(target.target, policies)
    settings = {"split_k": target.split_k, "promote_every": target.promote_every}
    for setting, value in settings.items():
        if value is not None and value < 1:
            raise OptionError(f"{setting} is {value}; it must be 1 or more")
    given = ", ".join(f"{setting}={value}" for setting, value in settings.items() if value is not None)
    name: str = label or (f"{inner.label} {given}" if given else inner.label)

    def choose(product: Product, fast: bool) -> Way | None:
        way = inner.choose(product, fast)
        if way is None:
            return None
        if not isinstance(way, Chain):
            raise OptionError(f"{way.label} has no split_k or promote_every: give Gemm a chip, an instruction or a model")
        promote = target.promote_every or way.promote_every
        return replace(way, label=name, split_k=target.split_k, promote_every=promote)

    return Arithmetic(name, choose, inner.policies, inner.why_none)


def _of_function(target: Callable[[Product], Any], policies: Policies, label: str | None) -> Arithmetic:
    name = label or str(getattr(target, "__name__", type(target).__name__))
    known: dict[int, tuple[Any, Arithmetic]] = {}

    def inner(product: Product) -> Arithmetic | None:
        answer = target(product)
        if answer is None or isinstance(answer, Arithmetic):
            return answer
        if id(answer) not in known:
            known[id(answer)] = answer, resolve(answer, policies)
        return known[id(answer)][1]

    def choose(product: Product, fast: bool) -> Way | None:
        found = inner(product)
        return found.choose(product, fast) if found else None

    def why(product: Product) -> str:
        found = inner(product)
        return found.why_none(product) if found else f"{name} leaves them"

    return Arithmetic(name, choose, policies, why, varies=True)


def _unit(target: Any) -> Unit:
    if isinstance(target, Unit):
        return target
    if isinstance(target, tuple) and len(target) == 2:
        return mma(*target)
    if isinstance(target, (str, os.PathLike)):
        text = target if isinstance(target, str) and "\n" in target else _read(target)
        return Unit.from_toml(text)
    raise OptionError(
        f"{target!r} is not an arithmetic; give a chip, (architecture, instruction), a bitmma.Unit, the path of a model, "
        "a bitmma.torch.Gemm, a plan of bitmma.calls.plan_call, a dtype, or a function from product to any of these"
    )


def _read(path: str | os.PathLike[str]) -> str:
    try:
        return _reading.text(path, "a model file (TOML)")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{os.fspath(path)} is not a model file: {error}; Unit.toml writes one, and a chip is named without .toml") from None
