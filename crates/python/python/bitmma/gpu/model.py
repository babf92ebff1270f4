"""A model as the numbers that kernels are made from."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .. import _bitmma
from ..simulate import Unit

__all__ = ["Declined", "Format", "Model", "format_of", "model_of"]


class Declined(Exception):
    """Why no kernel computes a product; the CPU does."""


@dataclass(frozen=True)
class Format:
    """A floating-point format."""

    name: str
    exponent_bits: int
    fraction_bits: int
    padding_bits: int
    """Low bits of a code that mean nothing."""
    bias: int
    bits: int
    """Of a code, with sign and padding."""
    signed: bool
    largest: int
    """The code of the largest finite number, without padding."""
    infinity: int | None
    """The code of +infinity, without padding; None where there is none."""
    nan: int | None
    """The code of the quiet NaN, with padding; None where there is none."""

    @property
    def min_exponent(self) -> int:
        """Of normal numbers."""
        return 1 - self.bias

    @property
    def max_exponent(self) -> int:
        """Of finite numbers."""
        return (self.largest >> self.fraction_bits) - self.bias


@lru_cache(maxsize=None)
def format_of(name: str) -> Format:
    """The format of that name."""
    row = _bitmma.format_named(name)
    padding, infinity = row.padding_bits, row.infinity_code
    return Format(
        row.name,
        row.exponent_bits,
        row.fraction_bits,
        padding,
        row.bias,
        row.bits,
        not row.name.startswith("ue"),
        row.max_finite_code >> padding,
        None if infinity is None else infinity >> padding,
        row.nan_code,
    )


@dataclass(frozen=True)
class Model:
    """What is computed for each element of D; words are those of ``docs/models.md``."""

    family: str
    a: Format
    b: Format
    c: Format
    d: Format
    rounding: str
    """Of rho."""
    result: Format
    """rho's format; :attr:`container` holds its numbers."""
    step: int
    """Elements along K of one instruction."""
    length: int
    """L: products in one elementary operation."""
    nan: int
    """The code of a NaN result."""
    scale: tuple[Format, int] | None
    numbers: dict[str, Any]
    """Further parameters of the family, by their keys in a model file."""
    flush_operands: str
    flush_accumulator: str
    lowering: dict[str, Any]

    @property
    def container(self) -> Format:
        """The format of the words that rho's numbers are kept in."""
        return format_of("f32") if self.result.padding_bits else self.result

    def get(self, key: str, default: Any = None) -> Any:
        """A parameter of the family."""
        return self.numbers.get(key, default)

    def __hash__(self) -> int:
        return hash((self.family, self.a, self.b, self.c, self.d, self.rounding, self.result, self.step, self.length))


def model_of(unit: Unit) -> Model:
    """The model of a unit. Raises :class:`Declined` where kernels have no words for it."""
    return _read(unit.toml, unit.step)


@lru_cache(maxsize=1024)
def _read(toml: str, step: int) -> Model:
    parts: dict[str, dict[str, Any]] = {"": {}}
    here = parts[""]
    for line in toml.splitlines():
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            here = parts.setdefault(line[1:-1], {})
        elif "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            here[key.strip()] = _value(value.strip())
    keys = dict(parts[""])
    lowering, scale = parts.get("lowering", {}), parts.get("scale")
    if "lowering.order.interleaved" in parts:
        lowering["order"] = {"interleaved": parts["lowering.order.interleaved"]}
    if "lowering.chains" in parts:
        lowering["chains"] = parts["lowering.chains"]
    family = keys.pop("model")
    rho = keys.pop("rho")
    rounding, _, name = rho.partition("-")
    if " " in name:
        raise Declined(f"results are converted by {rho}, which kernels do not do")
    a, b, c = (format_of(keys.pop(key)) for key in "ABC")
    result = format_of(name.lower().replace("fp", "f") if name.startswith("FP") else name.lower())
    container = format_of("f32") if result.padding_bits else result
    d = format_of(keys.pop("D")) if "D" in keys else container
    parts_of_k = 1 if "order" not in lowering else _passes(lowering["order"])
    length = {"FMA": 1, "FTZ-AddMul": keys.get("P", 1)}.get(family) or min(keys.get("L_max", 1), step // parts_of_k)
    nan = keys.pop("nan", d.nan)
    return Model(
        family,
        a,
        b,
        c,
        d,
        rounding,
        result,
        step,
        length,
        nan,
        None if scale is None else (format_of(scale["format"]), scale["block"]),
        keys,
        keys.pop("flush_operands", "never"),
        keys.pop("flush_accumulator", "never"),
        lowering,
    )


def _passes(order: Any) -> int:
    inner = order.get("interleaved") if isinstance(order, dict) else None
    return inner["period"] // inner["run"] if inner else 1


def _value(text: str) -> Any:
    """A value of a model file: text, a number, true or false, or a table in a line."""
    if text.startswith("{"):
        return json.loads(re.sub(r"(\w+) *=", r'"\1":', text))
    if text.startswith('"'):
        return json.loads(text)
    return {"true": True, "false": False}[text] if text in ("true", "false") else int(text, 0)
