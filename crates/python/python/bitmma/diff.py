"""Whether two instructions, models or plans compute the same, and if not, on which input they differ."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Union

from . import _arrays, _bitmma, _dtypes, _page, _reading
from ._lazy import numpy as np
from ._options import whole
from ._product import Target, _unit
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

    def __str__(self) -> str:
        return f"{self.parameter}: {self.in_left} and {self.in_right}"


@dataclass(frozen=True)
class Diff:
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
    _units: tuple[Unit, Unit] | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        lines = [f"{self.left}", f"{self.right}", f"{self.verdict}: {self.reason}"]
        if self.results is not None:
            left, right = self.results["of_left"], self.results["of_right"]
            lines.append(f"at K = {self.k}: {left['value']} ({left['code']}) and {right['value']} ({right['code']})")
        if self.differing is not None:
            of = self.differing
            lines.append(f"N(0,1): {of['normal']} of {of['cases_normal']} differ; adversarial: {of['adversarial']} of {of['cases_adversarial']}")
        return "\n".join([*lines, *(f"  {one}" for one in self.differences)])

    def __repr__(self) -> str:
        return f"<bitmma.Diff: {self}>"

    def _repr_html_(self) -> str:
        lines = [f"<b>{escape(self.left)}</b><br/><b>{escape(self.right)}</b>", f"{self.verdict}: {escape(self.reason)}"]
        if self.results is not None:
            left, right = self.results["of_left"], self.results["of_right"]
            lines.append(f"At K = {self.k} they compute {left['value']} ({left['code']}) and {right['value']} ({right['code']}).")
        if self.differing is not None:
            of = self.differing
            lines.append(
                f"Of {of['cases_normal']} inputs from N(0,1), {of['normal']} differ; of {of['cases_adversarial']} adversarial ones, {of['adversarial']}."
            )
        text = "".join(f"<p>{line}</p>" for line in lines)
        if self.differences:
            rows = [[one.parameter, one.in_left, one.in_right] for one in self.differences]
            text += _page.table(["parameter", "first", "second"], rows, words=True)
        return _bitmma.html_fragment(text + "".join(map(_bitmma.html_terminal, self._pictures)))

    @property
    def _pictures(self) -> list[str]:
        """What ``explain`` prints of both on the input on which they differ."""
        if self._units is None or self.inputs is None:
            return []
        given: dict[str, Any] = self.inputs

        def picture(unit: Unit) -> str:
            def matrix(name: str, dtype: str, *shape: int) -> Any:
                codes = [int(code, 16) for code in np.atleast_1d(given.get(name) or [])]
                return np.array(codes, dtype).reshape(shape) if codes else None

            a, b, c = (_dtypes.WORD_OF[_arrays.BYTES[format]] for format in (unit.a, unit.b, unit.c))
            factors = matrix("scale_a", "uint8", 1, -1), matrix("scale_b", "uint8", -1, 1)
            operands = unit._operands(matrix("a", a, 1, -1), matrix("b", b, -1, 1), matrix("c", c, 1, 1), *factors)
            return _bitmma.explain_picture(unit, operands, (0, 0, 0))

        return [picture(unit) for unit in self._units]


def diff(left: Side, right: Side, *, type: Any = None, threads: int | None = None) -> Diff:
    """Compares two instructions, models or plans: ``diff(("h100", "wgmma f16 f32"), ("b200", "tcgen05 f16 f32"))``.

    Each side is a :class:`~bitmma.Unit`, an architecture and an instruction, the path of a model (``.toml``), or a chip alone
    with ``type`` (the instruction that a library would run for it). Or both are paths of plans (``bitmma-plan/1``). Both must
    take the same formats. The results are those of ``bitmma diff``.
    """
    whole(threads=threads)
    format = _arrays.format_named("type", type)
    units = None
    plans = [_is_plan(side) for side in (left, right)]
    if all(plans):
        page = _bitmma.diff_plans(_path(left), _path(right), threads=threads)
    elif any(plans):
        raise OptionError("a plan is compared with a plan; the other side is none")
    else:
        (one, name), (other, other_name) = _side(left, format), _side(right, format)
        units = (one, other)
        page = _bitmma.diff_units(one, other, (name, other_name), threads=threads)
    found = json.loads(page)
    found.pop("schema", None)
    differences = [Parameter(**one) for one in found.pop("differences")]
    return Diff(**found, differences=differences, _units=units)


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
