"""Forms one by one on awkward operands, against a plain second writing in Python's integers and fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bitmma.kernels import launch_ptx

#: Fraction bits, exponent bits.
FORMATS = {"f16": (10, 5), "bf16": (7, 8), "f32": (23, 8), "f64": (52, 11)}
NAN = "nan"


def bits(kind: str) -> int:
    return {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}.get(kind) or int(kind.lstrip("bsuf"))


def value(kind: str, code: int, flush: bool = False) -> Any:
    """A code as (negative, Fraction), or (negative, "inf"), or NAN."""
    fraction, exponent = FORMATS[kind]
    negative, field, rest = code >> (fraction + exponent) & 1, code >> fraction & ((1 << exponent) - 1), code & ((1 << fraction) - 1)
    if field == (1 << exponent) - 1:
        return NAN if rest else (negative, "inf")
    if field == 0 and flush:
        rest = 0
    bias = (1 << (exponent - 1)) - 1
    return negative, Fraction(rest + ((field > 0) << fraction)) * Fraction(2) ** (max(field, 1) - bias - fraction)


def rounded(kind: str, negative: int, size: Any, mode: str = "rn", flush: bool = False) -> int:
    """A magnitude (a Fraction or "inf") with its sign as a code."""
    fraction, exponent = FORMATS[kind]
    bias, sign = (1 << (exponent - 1)) - 1, negative << (fraction + exponent)
    infinity = ((1 << exponent) - 1) << fraction
    if size == "inf":
        return sign | infinity
    if size == 0:
        return sign
    lowest = 1 - bias - fraction
    power = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** power > size:
        power -= 1
    unit = Fraction(2) ** max(power - fraction, lowest)
    whole, rest = divmod(size, unit)
    up = {"rn": rest * 2 > unit or (rest * 2 == unit and whole % 2), "rz": False, "rm": rest > 0 and negative, "rp": rest > 0 and not negative}[mode]
    size = (int(whole) + bool(up)) * unit
    if size >= Fraction(2) ** (bias + 1):
        kept = mode == "rn" or (mode == "rm" and negative) or (mode == "rp" and not negative)
        return sign | (infinity if kept else infinity - 1)
    if flush and size < Fraction(2) ** (1 - bias):
        return sign
    power = 1 - bias
    while Fraction(2) ** (power + 1) <= size:
        power += 1
    field = int(size / Fraction(2) ** (power - fraction))
    return sign | (field if field < 1 << fraction else ((power + bias) << fraction) | (field & ((1 << fraction) - 1)))


def total(kind: str, x: Any, y: Any, mode: str, flush: bool) -> Any:
    """x + y."""
    if NAN in (x, y) or (x[1] == y[1] == "inf" and x[0] != y[0]):
        return NAN
    if "inf" in (x[1], y[1]):
        return rounded(kind, x[0] if x[1] == "inf" else y[0], "inf")
    sum = (-x[1] if x[0] else x[1]) + (-y[1] if y[0] else y[1])
    if sum == 0:
        negative = x[0] if x[0] == y[0] else int(mode == "rm")
        return rounded(kind, negative, Fraction(0))
    return rounded(kind, int(sum < 0), abs(sum), mode, flush)


def times(x: Any, y: Any) -> Any:
    """x · y, exact."""
    if NAN in (x, y) or ("inf" in (x[1], y[1]) and 0 in (x[1], y[1])):
        return NAN
    return x[0] ^ y[0], "inf" if "inf" in (x[1], y[1]) else x[1] * y[1]


def add(kind: str, mode: str = "rn", flush: bool = False, turned: int = 0) -> Callable[..., Any]:
    def of(a: int, b: int, c: int) -> Any:
        x, y = value(kind, a, flush), value(kind, b, flush)
        return total(kind, x, y if y == NAN else (y[0] ^ turned, y[1]), mode, flush)

    return of


def multiply(kind: str, mode: str = "rn", flush: bool = False) -> Callable[..., Any]:
    def of(a: int, b: int, c: int) -> Any:
        product = times(value(kind, a, flush), value(kind, b, flush))
        return NAN if product == NAN else rounded(kind, *product, mode, flush)

    return of


def fused(kind: str, mode: str = "rn", flush: bool = False) -> Callable[..., Any]:
    def of(a: int, b: int, c: int) -> Any:
        product, addend = times(value(kind, a, flush), value(kind, b, flush)), value(kind, c, flush)
        return NAN if NAN in (product, addend) else total(kind, product, addend, mode, flush)

    return of


def divide(kind: str) -> Callable[..., Any]:
    def of(a: int, b: int, c: int) -> Any:
        x, y = value(kind, a), value(kind, b)
        if NAN in (x, y) or (x[1] == y[1] and x[1] in ("inf", 0)):
            return NAN
        if x[1] == "inf" or y[1] == 0:
            return rounded(kind, x[0] ^ y[0], "inf")
        return rounded(kind, x[0] ^ y[0], Fraction(0) if y[1] == "inf" else x[1] / y[1])

    return of


def choice(kind: str, larger: bool) -> Callable[..., Any]:
    """min and max: of a number and NaN the number; -0 is below +0."""

    def key(x: Any) -> Any:
        size = Fraction(2) ** 2000 if x[1] == "inf" else x[1]
        return (-size if x[0] else size, -x[0])

    def of(a: int, b: int, c: int) -> Any:
        x, y = value(kind, a), value(kind, b)
        if x == NAN or y == NAN:
            return NAN if x == y else b if x == NAN else a
        return a if (key(x) >= key(y)) == larger else b

    return of


def less(kind: str, unordered: bool) -> Callable[..., Any]:
    def of(a: int, b: int, c: int) -> int:
        x, y = value(kind, a), value(kind, b)
        if NAN in (x, y):
            return int(unordered)
        number = [Fraction(2) ** 2000 if one[1] == "inf" else one[1] for one in (x, y)]
        return int((-number[0] if x[0] else number[0]) < (-number[1] if y[0] else number[1]))

    return of


def signed(code: int, width: int) -> int:
    code &= (1 << width) - 1
    return code - (1 << width) if code >> (width - 1) else code


def narrowed(kind: str, to: str, mode: str = "rn") -> Callable[..., Any]:
    def of(a: int, b: int, c: int) -> Any:
        x = value(kind, a)
        return NAN if x == NAN else rounded(to, *x, mode)

    return of


def integer(kind: str, to: str) -> Callable[..., Any]:
    """Toward zero, saturated. NaN is 0, and the upper bit alone where one of the types has 64 bits (PTX ISA, ``cvt``)."""

    def of(a: int, b: int, c: int) -> Any:
        x, width = value(kind, a), bits(to)
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if to[0] == "s" else (0, (1 << width) - 1)
        if x == NAN:
            return 0 if width < 64 and kind != "f64" else 1 << (width - 1)
        number = (high + 1 if x[1] == "inf" else int(x[1])) * (-1 if x[0] else 1)
        return min(max(number, low), high) & ((1 << width) - 1)

    return of


def from_integer(kind: str, to: str, mode: str = "rn") -> Callable[..., Any]:
    def of(a: int, b: int, c: int) -> int:
        number = signed(a, bits(kind)) if kind[0] == "s" else a
        return rounded(to, int(number < 0), Fraction(abs(number)), mode)

    return of


S, M = signed, lambda code, width: code & ((1 << width) - 1)


def extract(a: int, b: int, c: int, is_signed: bool) -> int:
    place, length = b & 255, c & 255
    all = a
    if is_signed:
        all = signed(a, 32)
        if length == 0:
            return 0
        part = (all >> min(place, 400)) & ((1 << length) - 1)
        top = min(place + length - 1, 31)
        return M(part - (1 << length) if a >> top & 1 and part >> (length - 1) & 1 else part if length < 32 or not a >> top & 1 else part, 32)
    return (all >> place) & ((1 << length) - 1) & 0xFFFFFFFF


def permuted(a: int, b: int, c: int) -> int:
    bytes = [(b << 32 | a) >> (8 * index) & 255 for index in range(8)]
    result = 0
    for index in range(4):
        pick = c >> (4 * index) & 15
        byte = bytes[pick & 7]
        result |= (255 if byte & 128 else 0) << (8 * index) if pick & 8 else byte << (8 * index)
    return result


def dot(a: int, b: int, c: int) -> int:
    return M(sum(S(a >> 8 * index, 8) * S(b >> 8 * index, 8) for index in range(4)) + c, 32)


def c_quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


#: Form, types of a, b, c and of the result; what it is. `$d`, `$a`, … are its operands.
ROWS: list[tuple[str, str, str, Callable[..., Any]]] = [
    *[(f"{name}.{mode}f32 $d, $a, $b;", "f32", "f32", add("f32", mode[:2] or "rn", turned=int(name == "sub"))) for name in ("add", "sub") for mode in ("rn.", "rz.", "rm.", "rp.")],
    ("add.rn.ftz.f32 $d, $a, $b;", "f32", "f32", add("f32", flush=True)),
    *[(f"mul.{mode}.f32 $d, $a, $b;", "f32", "f32", multiply("f32", mode)) for mode in ("rn", "rz", "rm", "rp")],
    ("mul.rn.ftz.f32 $d, $a, $b;", "f32", "f32", multiply("f32", flush=True)),
    *[(f"fma.{mode}.{kind} $d, $a, $b, $c;", kind, kind, fused(kind, mode)) for kind in ("f32", "f64") for mode in ("rn", "rz", "rm", "rp")],
    ("fma.rn.ftz.f32 $d, $a, $b, $c;", "f32", "f32", fused("f32", flush=True)),
    *[(f"fma.rn.{kind} $d, $a, $b, $c;", kind, kind, fused(kind)) for kind in ("f16", "bf16")],
    *[(f"{name}.rn.f64 $d, $a, $b;", "f64", "f64", of) for name, of in (("add", add("f64")), ("sub", add("f64", turned=1)), ("mul", multiply("f64")), ("div", divide("f64")))],
    ("div.rn.f32 $d, $a, $b;", "f32", "f32", divide("f32")),
    *[(f"add.rn.{kind} $d, $a, $b;", kind, kind, add(kind)) for kind in ("f16",)],
    *[(f"{name}.{kind} $d, $a, $b;", kind, kind, choice(kind, name == "max")) for name in ("min", "max") for kind in FORMATS],
    *[(f"setp.{name}.{kind} %p1, $a, $b;\nselp.b32 $d, 1, 0, %p1;", kind, "b32", less(kind, name == "ltu")) for name in ("lt", "ltu") for kind in FORMATS],
    *[(f"cvt.{mode}.{to}.f32 $d, $a;", "f32", to, narrowed("f32", to, mode)) for to in ("f16", "bf16") for mode in ("rn", "rz")],
    ("cvt.rn.f32.f64 $d, $a;", "f64", "f32", narrowed("f64", "f32")),
    ("cvt.f64.f32 $d, $a;", "f32", "f64", narrowed("f32", "f64")),
    ("cvt.f32.f16 $d, $a;", "f16", "f32", narrowed("f16", "f32")),
    *[(f"cvt.rzi.{to}.{kind} $d, $a;", kind, to, integer(kind, to)) for kind in ("f32", "f64") for to in ("s32", "u32", "s64", "u64")],
    *[(f"cvt.{mode}.{to}.{kind} $d, $a;", kind, to, from_integer(kind, to, mode)) for kind in ("s32", "u32", "s64", "u64") for to in ("f32", "f64") for mode in ("rn", "rz")],
    *[
        row
        for width in (16, 32, 64)
        for row in (
            (f"add.s{width} $d, $a, $b;", f"s{width}", f"s{width}", lambda a, b, c, w=width: M(a + b, w)),
            (f"sub.s{width} $d, $a, $b;", f"s{width}", f"s{width}", lambda a, b, c, w=width: M(a - b, w)),
            (f"mul.lo.s{width} $d, $a, $b;", f"s{width}", f"s{width}", lambda a, b, c, w=width: M(a * b, w)),
            (f"mul.hi.s{width} $d, $a, $b;", f"s{width}", f"s{width}", lambda a, b, c, w=width: M(S(a, w) * S(b, w) >> w, w)),
            (f"mul.hi.u{width} $d, $a, $b;", f"u{width}", f"u{width}", lambda a, b, c, w=width: M(a * b >> w, w)),
            (f"mad.lo.s{width} $d, $a, $b, $c;", f"s{width}", f"s{width}", lambda a, b, c, w=width: M(a * b + c, w)),
            (f"min.s{width} $d, $a, $b;", f"s{width}", f"s{width}", lambda a, b, c, w=width: M(min(S(a, w), S(b, w)), w)),
            (f"max.u{width} $d, $a, $b;", f"u{width}", f"u{width}", lambda a, b, c, w=width: max(a, b)),
            (f"abs.s{width} $d, $a;", f"s{width}", f"s{width}", lambda a, b, c, w=width: M(abs(S(a, w)), w)),
            (f"neg.s{width} $d, $a;", f"s{width}", f"s{width}", lambda a, b, c, w=width: M(-a, w)),
            (f"div.s{width} $d, $a, $b;", f"s{width}", f"s{width}", lambda a, b, c, w=width: M(c_quotient(S(a, w), S(b, w)), w) if b else None),
            (f"rem.u{width} $d, $a, $b;", f"u{width}", f"u{width}", lambda a, b, c, w=width: a % b if b else None),
            (f"xor.b{width} $d, $a, $b;", f"b{width}", f"b{width}", lambda a, b, c, w=width: a ^ b),
            (f"setp.lt.s{width} %p1, $a, $b;\nselp.b32 $d, 1, 0, %p1;", f"s{width}", "b32", lambda a, b, c, w=width: int(S(a, w) < S(b, w))),
        )
    ],
    ("mul.wide.s32 $d, $a, $b;", "s32", "s64", lambda a, b, c: M(S(a, 32) * S(b, 32), 64)),
    ("mul.wide.u32 $d, $a, $b;", "u32", "u64", lambda a, b, c: a * b),
    ("shl.b32 $d, $a, $b;", "b32", "b32", lambda a, b, c: M(a << b, 32) if b < 32 else 0),
    ("shr.u32 $d, $a, $b;", "u32", "u32", lambda a, b, c: a >> b if b < 32 else 0),
    ("shr.s32 $d, $a, $b;", "s32", "s32", lambda a, b, c: M(S(a, 32) >> min(b, 31), 32)),
    ("shf.l.wrap.b32 $d, $a, $b, $c;", "b32", "b32", lambda a, b, c: M((b << 32 | a) << (c & 31) >> 32, 32)),
    ("bfe.u32 $d, $a, $b, $c;", "u32", "u32", lambda a, b, c: extract(a, b, c, False)),
    ("prmt.b32 $d, $a, $b, $c;", "b32", "b32", permuted),
    ("lop3.b32 $d, $a, $b, $c, 0xe8;", "b32", "b32", lambda a, b, c: (a & b) | (a & c) | (b & c)),
    ("dp4a.s32.s32 $d, $a, $b, $c;", "b32", "s32", dot),
    ("cvt.s64.s32 $d, $a;", "s32", "s64", lambda a, b, c: M(S(a, 32), 64)),
    ("cvt.u32.u64 $d, $a;", "u64", "u32", lambda a, b, c: M(a, 32)),
]


def awkward(kind: str) -> list[int]:
    """Codes at which something ends."""
    width = bits(kind)
    if kind in FORMATS:
        fraction, exponent = FORMATS[kind]
        one, infinity = ((1 << (exponent - 1)) - 1) << fraction, ((1 << exponent) - 1) << fraction
        sizes = [0, 1, (1 << fraction) - 1, 1 << fraction, (1 << fraction) + 1, one - 1, one, one + 1, one + (1 << fraction), one + (3 << (fraction - 1))]
        sizes += [infinity - 1, infinity, infinity | 1 << (fraction - 1), one + (fraction << fraction), one - (fraction + 1 << fraction), infinity - (1 << fraction)]
        sizes += [one + (31 << fraction) + 5] if exponent > 5 else []
        return [code for size in sizes for code in (size, size | 1 << (width - 1))]
    high = 1 << (width - 1)
    return [0, 1, 2, 3, 7, 8, 31, 32, 33, 255, high - 1, high, high + 1, 2 * high - 1, 2 * high - 2, 0x5A5A5A5A5A5A5A5A % (2 * high), 0x123456789ABCDEF0 % (2 * high)]


def text(line: str, source: str, result: str) -> str:
    letter = {16: "h", 32: "r", 64: "d"}
    a, d = letter[bits(source)], letter[bits(result)]
    for name, register in (("$d", f"%{d}9"), ("$a", f"%{a}5"), ("$b", f"%{'r' if line.startswith('sh') and bits(source) != 32 else a}6"), ("$c", f"%{a}7")):
        line = line.replace(name, register)
    return f"""
.version 8.4
.target sm_90a
.address_size 64
.visible .entry one(.param .u64 x, .param .u64 y, .param .u32 n)
.reqntid 128
{{
.reg .pred %p<9>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .b64 %d<20>;
ld.param.b64 %d1, [x]; ld.param.b64 %d2, [y]; ld.param.b32 %r1, [n];
mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.s32 %r2, %r3, 128, %r2;
setp.ge.u32 %p3, %r2, %r1; @%p3 ret;
mul.wide.u32 %d3, %r2, 24; add.s64 %d3, %d1, %d3; mul.wide.u32 %d4, %r2, 8; add.s64 %d4, %d2, %d4;
ld.global.b{bits(source)} %{a}5, [%d3]; ld.global.b{bits(source)} %{a}6, [%d3+8]; ld.global.b{bits(source)} %{a}7, [%d3+16];
{line}
st.global.b{bits(result)} [%d4], %{d}9;
ret;
}}
"""


@pytest.mark.parametrize(("line", "source", "result", "of"), ROWS, ids=[row[0].split()[0] for row in ROWS])
def test_a_form(line: str, source: str, result: str, of: Callable[..., Any]) -> None:
    codes = awkward(source)
    pairs = [(a, b) for a in codes for b in (codes if "$b" in line else [1])]
    # every pair, with third operands that walk through the codes
    given = [(a, b, codes[(7 * index + 3) % len(codes)]) for index, (a, b) in enumerate(pairs)]
    x = np.array(given, np.uint64)
    y = np.zeros(len(given), np.uint64)
    launch_ptx(text(line, source, result), -(-len(given) // 128), [x, y, len(given)], mode="text")
    for operands, code in zip(given, y.tolist(), strict=True):
        expected = of(*operands)
        if expected is None:
            continue
        shown = f"{line} of {', '.join(f'{one:#x}' for one in operands)} is {code:#x}, should be {expected if expected == NAN else hex(expected)}"
        if expected == NAN:
            assert value(result, code) == NAN, shown
            assert result != "f32" or source != "f32" or code == 0x7FFFFFFF or line.startswith(("min", "max")), shown
        else:
            assert code == expected, shown
