"""Whether two instructions, models or plans compute the same, and if not, on which input they differ."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from . import _arrays, _bitmma, _reading
from ._options import whole
from ._product import Target, _unit
from ._results import Result, result
from .errors import OptionError
from .simulate import Unit

if TYPE_CHECKING:
    from ._bitmma import Instruction

__all__ = ["Diff", "Parameter", "Side", "diff"]

#: A unit, an architecture and an instruction, the file of a model or a plan, or with ``type`` a chip.
Side = Union[Target, str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Parameter:
    """A parameter that is not the same on both sides."""

    parameter: str
    in_left: str
    in_right: str


@dataclass(frozen=True, repr=False)
class Diff(Result):
    """Two sides compared."""

    left: str
    right: str
    k: int
    """Elements along K at which they were compared; 0 for plans that do not differ."""
    verdict: str
    """same: the same bits for every input, by argument; differs; or unknown: no input was found and there is no proof."""
    reason: str
    differences: list[Parameter]
    """What is not the same in them, whether or not it changes a result."""
    inputs: dict[str, Any] | None
    """An input on which they differ: ``a``, ``b``, ``c``, ``scale_a`` and ``scale_b`` as codes in hex."""
    results: dict[str, Any] | None
    """What both give on it: ``of_left`` and ``of_right``, each a ``value``, ``code`` and ``format``."""
    differing: dict[str, int] | None
    """How many of ``cases_normal`` inputs from N(0,1) and ``cases_adversarial`` adversarial ones differ: ``normal``,
    ``adversarial``."""


def diff(left: Side, right: Side, *, type: Any = None, threads: int | None = None) -> Diff:
    """Compares two instructions, models or plans: ``diff(("h100", "wgmma f16 f32"), ("b200", "tcgen05 f16 f32"))``.

    Each side is a :class:`~bitmma.Unit`, an architecture and an instruction, the path of a model (``.toml``), or a chip alone
    with ``type`` (the instruction that a library would run for it). Or both are paths of plans (``bitmma-plan/1``). Both must
    take the same formats. The results are those of ``bitmma diff``.
    """
    whole(threads=threads)
    format = _arrays.format_named("type", type)
    plans = [_is_plan(side) for side in (left, right)]
    if all(plans):
        return result(Diff, _bitmma.diff_plans(_path(left), _path(right), threads=threads))
    if any(plans):
        raise OptionError("a plan is compared with a plan; the other side is none")
    (one, name), (other, other_name) = _side(left, format), _side(right, format)
    return result(Diff, _bitmma.diff_units(one, other, (name, other_name), threads=threads))


def _path(side: Side) -> str:
    return os.fspath(side) if isinstance(side, (str, os.PathLike)) else ""


def _is_plan(side: Side) -> bool:
    path = _path(side)
    return path.endswith((".toml", ".json")) and "bitmma-plan/" in _reading.text(path, "a plan")


def _side(side: Side, format: str | None) -> tuple[Unit, str]:
    """A unit and its name."""
    path = _path(side)
    if path.endswith(".toml"):
        return Unit.from_toml(_reading.text(path, "a model file (TOML)")), path
    if path:
        if format is None:
            raise OptionError(f"{path} has no instruction; give (architecture, instruction), or type")
        found: Instruction = _bitmma.choose(path, format, format, None, None)
        unit = Unit(_bitmma.Unit.of_instruction(found, "hardware"), found)
        return unit, f"{found.architecture} {found.name}"
    if not isinstance(side, (Unit, tuple, list)):
        raise OptionError(f"{side!r} is no side: give a Unit, (architecture, instruction), or a path")
    unit = _unit(side)
    return unit, unit.name if unit.instruction is None else f"{unit.instruction.architecture} {unit.name}"
