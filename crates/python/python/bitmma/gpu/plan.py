"""Which kernel computes a model, and with which constants; or why none does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .model import Declined, Format, Model

#: Families whose sums are cut: one kernel, in integers.
FUSED = ("T-FDPA", "ST-FDPA", "GST-FDPA", "TR-FDPA", "GTR-FDPA")
#: Stands for no exponent.
NONE = -30000
#: In place of a base: one for each operation of each row of A and column of B.
VARIES = 1 << 20
#: Products in one turn of a kernel's inner loop: all of an operation's would be loaded at once, and not fit its registers.
UNROLL = 8


@dataclass(frozen=True)
class Plan:
    """A kernel and its constants."""

    model: Model
    kernel: str
    """Its name in ``kernels``."""
    constants: dict[str, Any]
    start: Format
    """The format in which it reads C."""
    end: Format
    """The format of its results."""
    by_step: bool
    """Whether each instruction is a launch of its own, because something is done between them."""
    operations: int
    """Elementary operations of one instruction; where the kernel takes instructions whole, 1."""
    routes: tuple[str, ...] = ()
    """Methods to sum products that hold for the model, the cheapest first (see ``terms``)."""
    base: tuple[int, int] = (0, 0)
    """The powers of two over which those other than ``integers`` have A and B; or VARIES."""
    flushes: bool = False
    """Whether FP32 multiplications and additions that flush subnormal numbers are those of the model."""

    def compiled(self, target: str, only: str | None = None) -> dict[str, Any]:
        """The constants for a target of ``instructions``; with ``only`` one route."""
        if self.kernel != "fused":
            return {**self.constants, "TARGET": target if self.flushes else "none"}
        route = only or next(one for one in self.routes if one != "offset" or target != "amd")
        base = VARIES if VARIES in self.base else sum(self.base)
        return {**self.constants, "BASE": 0 if route == "integers" else base, "ROUTE": route, "TARGET": target}


def plan(model: Model) -> Plan:
    """The plan for a model. Raises :class:`Declined` with the reason where there is none."""
    lowering = model.lowering
    if "chains" in lowering:
        raise Declined("several chains along K are merged on the CPU only")
    routes: tuple[str, ...] = ()
    base, flushes, operations = (0, 0), False, 1
    by_step = "add_accumulator_last" in lowering or "narrow_output" in lowering
    start = lowering.get("widen_accumulator", model.c)
    if model.family in FUSED:
        kernel, constants = "fused", _fused(model, start)
        operations = model.step // model.length
        routes, base = _routes(model, constants)
    elif model.family == "FTZ-AddMul":
        _must(model.get("P") in (1, 2, 4), f"P is {model.get('P')}: the kernel pairs 1, 2 or 4 products")
        _must(model.container.name == "f32" and model.rounding == "RNE" and model.c == model.container, f"results are {_rho(model)}")
        flush = model.flush_accumulator
        _must(flush in ("never", "positive"), f"C is flushed: {flush}")
        kernel, constants = "add_mul", {"LENGTH": model.step, "PAIRING": model.get("P"), "FLUSH": flush == "positive"}
        flushes = flush == "positive" and all(_is_normal(one, model) for one in (model.a, model.b))
    elif model.family == "FMA":
        _must(model.rounding == "RNE", f"results are {_rho(model)}: GPUs' own FMA rounds to nearest even here")
        same = model.a == model.b == model.c == model.d and model.a.name in ("f32", "f64")
        _must(same and model.flush_operands == model.flush_accumulator == "never", "its operands are not all FP32 or all FP64, unflushed")
        kernel, constants = "multiply_add", {"LENGTH": model.step}
    elif model.family == "E-FDPA":
        small = model.a.bits <= 16 and model.b.bits <= 16
        _must(small and model.length <= 4 and _rho(model) == "RNE-f32" and model.c.name == "f32", f"sums of {model.length} into {_rho(model)}")
        kernel, constants = "exact", {"LENGTH": model.length}
        operations = model.step // model.length
    else:
        raise Declined(f"{model.family} has no kernel")
    return Plan(model, kernel, constants, start, model.container, by_step, operations, routes, base, flushes)


def _is_normal(format: Format, model: Model) -> bool:
    """Whether every operand is normal in FP32 or zero, and a product has 24 bits at most: then none is rounded before it is flushed."""
    lowest = format.min_exponent - (format.fraction_bits if model.flush_operands == "never" else 0)
    return lowest >= -126 and format.max_exponent <= 127 and format.fraction_bits <= 11


def _routes(model: Model, constants: dict[str, Any]) -> tuple[tuple[str, ...], tuple[int, int]]:
    """Which routes of ``terms`` hold, and the powers of two over which they have A and B."""
    wide = model.lowering.get("widen_operands")
    a, b = (wide, wide) if wide else (model.a, model.b)
    fraction, length = constants["F"], constants["LENGTH"]
    if constants["GROUP"] or length % 2 or a.fraction_bits + b.fraction_bits + 2 > 24:
        return ("integers",), (0, 0)
    base = a.max_exponent + 1, b.max_exponent + 1
    lowest = a.min_exponent + b.min_exponent - sum(base)
    narrow = model.scale is None and lowest - a.fraction_bits - b.fraction_bits >= -126 and fraction - lowest <= 126
    if not narrow:
        # exponents of elements, or with those of scale factors, stay in FP16's integers, and above what zero has there
        reach = max(abs(one) for format in (a, b) for one in (format.min_exponent, format.max_exponent)) + (128 if model.scale else 0)
        return (("scaled", "integers") if reach <= 300 else ("integers",)), (VARIES, VARIES)
    few = length << (fraction + 2) <= 1 << 23 and constants["PARITIES"] == 1
    return (("offset", "scaled", "integers") if few else ("scaled", "integers")), base


def _fused(model: Model, start: Format) -> dict[str, Any]:
    wide = model.lowering.get("widen_operands")
    a, b = wide or model.a, wide or model.b
    rounded = model.family in ("TR-FDPA", "GTR-FDPA")
    fraction, length = model.get("F"), model.length
    group = model.get("G", 0) if model.family == "GST-FDPA" else 0
    fraction_c = model.get("F_c", fraction)
    _must(model.get("term_rounding", "RZ") == "RZ", f"terms are cut by {model.get('term_rounding')}; kernels cut toward zero")
    _must(model.rounding in ("RZ", "RNE") and model.container.name in ("f32", "f16"), f"results are {_rho(model)}")
    _must(start.name in ("f32", "f16"), f"C is {start.name}")
    _must(max(a.fraction_bits, b.fraction_bits) <= 14 and max(a.exponent_bits, b.exponent_bits) <= 8, f"A is {a.name}, B is {b.name}")
    _must(fraction >= 1, f"F is {fraction}")
    constants = {
        "F": fraction,
        "F_C": fraction_c,
        "F2": model.get("F2", fraction),
        "LENGTH": length,
        "UNROLL": math.gcd(length, UNROLL),
        "E_ZERO": NONE,
        "E_ZERO_C": NONE,
        "LIMIT": 0,
        "RENORMALIZE": 0,
        "GROUP": group,
        "PARITIES": 1,
        "C_FRACTION": start.fraction_bits,
        "C_EXPONENT": start.exponent_bits,
        "FRACTION": model.result.fraction_bits,
        "EXPONENT": model.result.exponent_bits,
        "PADDING": model.result.padding_bits,
        "NEAREST": model.rounding == "RNE",
        "NAN_CODE": model.container.nan_code,
        "ROUNDED": rounded,
        "FLUSH": model.flush_accumulator != "never",
        "OF_STEP": model.step // length,
        # terms, each below 2^(F + 2), and C in 32 bits
        "NARROW": fraction_c == fraction and (length << (fraction + 2)) + (1 << (fraction + 1)) < 1 << 31,
    }
    if group:
        _must(model.scale is not None and group % 4 == 0 and length % group == 0, f"groups of {group}")
        assert model.scale is not None
        units = sum(one.fraction_bits - one.min_exponent for one in (a, b))
        constants.update(PRODUCT=units + 2 * model.scale[0].fraction_bits, CHUNK=1)
        # a dot product, times both significands of scale factors, moved up to F bits, and as many as there are groups
        sizes = [(1 << (one.fraction_bits + 1 + one.max_exponent - one.min_exponent)) for one in (a, b)]
        dot = sizes[0] * sizes[1] * group << (2 * model.scale[0].fraction_bits + 2)
        _must(dot < 1 << 31, f"groups of {group} elements of {a.name} and {b.name}")
        bits = dot.bit_length() + max(fraction - constants["PRODUCT"], 0) + (length // group).bit_length()
    else:
        product = a.fraction_bits + b.fraction_bits
        largest = ((2 << a.fraction_bits) - 1) * ((2 << b.fraction_bits) - 1) << max(fraction - product, 0)
        _must(largest < 1 << 31, f"F is {fraction}; terms of more than 31 bits are summed on the CPU")
        constants.update(PRODUCT=product, CHUNK=max(1, ((1 << 31) - 1) // largest))
        bits = largest.bit_length() + length.bit_length()
    bits = max(bits + max(fraction, fraction_c) - fraction, fraction_c + 3)
    if rounded:
        extra = int(bool(model.get("renormalize", False)))
        above = model.get("F2") + extra - fraction
        _must(model.get("sum_rounding", "RD") == "RD", f"sums are cut by {model.get('sum_rounding')}; kernels cut downward")
        carried = max(start.fraction_bits, model.container.fraction_bits)
        _must(above >= 0 and fraction >= carried, f"F is {fraction}, F2 {model.get('F2')}")
        bits = max(bits, fraction + 2) + above
        constants.update(
            RENORMALIZE=extra,
            E_ZERO_C=model.get("e_zero_c", NONE),
            LIMIT=model.get("product_overflow", 0),
            PARITIES=2 if model.family == "GTR-FDPA" else 1,
        )
        constants["CHUNK"] = min(constants["CHUNK"], length)
        _must(model.get("product_overflow", 1) != 0, "product_overflow is 0")
    elif "e_zero" in model.numbers:
        # it is the largest exponent only where it is above that of some number that is there
        lowest = min(start.min_exponent, model.result.min_exponent, a.min_exponent + b.min_exponent - (600 if model.scale else 0))
        matters = group > 0 or model.get("e_zero") >= lowest
        constants["E_ZERO"] = model.get("e_zero") if matters else NONE
    _must(bits <= 61, f"sums of {bits} bits; kernels have 61")
    return constants


def _rho(model: Model) -> str:
    return f"{model.rounding}-{model.result.name}"


def _must(holds: bool, why: str) -> None:
    if not holds:
        raise Declined(why)
