"""Operands as kernels read them: each element decoded once, into a word of its significand and its exponent.

A word has the exponent in its high 16 bits, then the sign, then the significand in its low 15. Zero, infinity and NaN have exponents that no
number has, and no sum of two numbers' exponents.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from .model import Declined, Format, Model
from .plan import VARIES

#: Exponents of what is not a number other than zero; numbers and their products stay within ±2000.
ZERO, INFINITY, NAN = -8192, 8192, 16384
#: The same in FP16, where integers to 2048 are exact: of zero, infinity and NaN. No sum with it reaches that of two numbers' exponents.
NOTHING = -1000
#: The base of an operation without numbers.
NO_BASE = -60000
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}


class Parts(NamedTuple):
    """Decoded elements: value = significand · 2^(exponent - fraction bits)."""

    significand: torch.Tensor
    """Signed; for infinity its sign, 1 or -1."""
    exponent: torch.Tensor
    """Of a subnormal number the format's smallest; for the rest one of the constants above."""


def decode(codes: torch.Tensor, format: Format, flush: str = "never") -> Parts:
    """Codes (as int32 or int64, not negative) decoded."""
    fraction, exponents = format.fraction_bits, format.exponent_bits
    code = codes >> format.padding_bits
    magnitude = code & ((1 << (exponents + fraction)) - 1)
    negative = ((code >> (exponents + fraction)) & 1).bool() if format.signed else torch.zeros_like(code, dtype=torch.bool)
    if format.name == "ue8m0":  # no zero, no subnormal number
        significand, exponent = torch.ones_like(code), magnitude - format.bias
    else:
        field = magnitude >> fraction
        significand = (magnitude & ((1 << fraction) - 1)) | ((field > 0).to(code.dtype) << fraction)
        exponent = field.clamp(min=1) - format.bias
    zero = significand == 0
    if flush != "never":
        small = magnitude >> fraction == 0
        zero, significand = zero | small, significand.masked_fill(small, 0)
        if flush == "positive":
            negative = negative & ~small
    significand = torch.where(negative, -significand, significand)
    exponent = exponent.masked_fill(zero, ZERO)
    if format.infinity_code is not None:
        infinite = magnitude == format.infinity_code >> format.padding_bits
        exponent = exponent.masked_fill(infinite, INFINITY)
        significand = torch.where(infinite, torch.where(negative, -1, 1).to(significand.dtype), significand)
    if format.nan_code is not None:
        nan = magnitude > (format.max_finite_code if format.infinity_code is None else format.infinity_code) >> format.padding_bits
        if format.signed and format.nan_code == 1 << (format.bits - 1):  # FNUZ: the code of -0
            nan = code == format.nan_code
        significand, exponent = significand.masked_fill(nan, 1), exponent.masked_fill(nan, NAN)
    return Parts(significand, exponent)


def words(parts: Parts) -> torch.Tensor:
    """Exponent, sign and significand in a word of 32 bits."""
    significand = parts.significand.to(torch.int32)
    return (parts.exponent.to(torch.int32) << 16) | ((significand < 0).to(torch.int32) << 15) | significand.abs()


def widened(parts: Parts, format: Format, wide: Format) -> Parts:
    """The same numbers in a format that holds them all: a subnormal one may be normal there."""
    significand, exponent = parts.significand.to(torch.int64), parts.exponent.to(torch.int64)
    number = exponent.abs() < 4000
    significand = torch.where(number, significand << (wide.fraction_bits - format.fraction_bits), significand)
    for _ in range(format.fraction_bits):
        small = number & (significand.abs() < 1 << wide.fraction_bits) & (exponent > wide.min_exponent)
        significand = torch.where(small, significand * 2, significand)
        exponent = torch.where(small, exponent - 1, exponent)
    return Parts(significand, exponent)


class Packed(NamedTuple):
    """One operand, K first: what a kernel reads. What a family has no use for is one word."""

    elements: torch.Tensor
    """Batch × K × lines: words, those of a tile and an operation together; for families that add as processors do FP32 or FP64 numbers; for GST-FDPA four small numbers a word."""
    special: torch.Tensor
    """Batch × operations × tiles: whether an element is infinite or NaN."""
    zero: torch.Tensor
    """Batch × operations × lines: whether an element is zero."""
    highest: torch.Tensor
    """Batch × operations × tiles: the largest exponent of a number."""
    groups: torch.Tensor
    """GST-FDPA, batch × groups × lines: scale factors as words."""
    used: torch.Tensor
    """GST-FDPA, batch × groups × lines: a bit for each element that is not zero."""
    values: torch.Tensor
    """Batch × K × lines, ordered as the words: finite numbers in FP32 over a power of two, below 1; what is not finite as 0."""
    pairs: torch.Tensor
    """Batch × K/2 × lines: exponents of two elements, as the FP16 halves of a word."""
    base: torch.Tensor
    """Batch × operations × lines: the exponent of that power of two, where it varies."""
    spread: torch.Tensor
    """Batch × operations × tiles: by how much it is above the smallest exponent of a number in its operation, at most."""


def pack(codes: torch.Tensor, format: Format, model: Model, scales: torch.Tensor | None, tile: int, base: int | None = None) -> Packed:
    """An operand's codes, batch × K × lines, K in whole steps; ``scales``, batch × blocks × lines, of blocks along K. With ``base`` numbers
    in FP32 too, over 2^base; over a power of two for each operation of a line, if it is VARIES."""
    batch, k, lines = codes.shape
    order = model.order
    if order is not None:
        index = torch.tensor([start + at for start in range(0, k, model.step) for at in order], device=codes.device)
        codes = codes.index_select(1, index)
    if model.family == "FMA":
        return _elements(codes.contiguous().view(DTYPES[format.name]), model, tile)
    parts = decode(codes, format, model.flush_operands)
    if model.family in ("FTZ-AddMul", "E-FDPA"):
        return _elements(values(parts, format, model), model, tile)
    if "widen_operands" in model.lowering:
        wide = model.lowering["widen_operands"]
        parts, format = widened(parts, format, wide), wide
    if model.family == "GST-FDPA":
        return _groups(parts, format, model, scales, tile)
    if scales is not None:
        assert model.scale is not None
        of_block = decode(scales, model.scale[0]).exponent.repeat_interleave(model.scale[1], 1)[:, :k]
        exponent = torch.where(parts.exponent.abs() < 4000, parts.exponent + of_block, parts.exponent)
        parts = Parts(parts.significand, exponent.masked_fill(of_block == NAN, NAN))
    packed = _packed(_lines_of_tiles(words(parts), tile, ZERO << 16), model.length, tile)
    return packed if base is None else _numbers(packed, parts, format, model.length, tile, base)


def power_of_two(exponent: torch.Tensor) -> torch.Tensor:
    """2^exponent in FP64, of -1022 to 1023."""
    return ((exponent.to(torch.int64) + 1023) << 52).view(torch.float64)


def values(parts: Parts, format: Format, model: Model) -> torch.Tensor:
    """Numbers as the GPU's own: FP64 where sums must be exact, else FP32."""
    dtype = torch.float32 if model.family == "FTZ-AddMul" else torch.float64
    number = parts.significand.to(torch.float64) * power_of_two((parts.exponent - format.fraction_bits).clamp(-1022, 1023))
    number = torch.where(parts.exponent == INFINITY, parts.significand * float("inf"), number)
    number = torch.where(parts.exponent == ZERO, torch.zeros_like(number), number)
    return number.masked_fill(parts.exponent == NAN, float("nan")).to(dtype)


def _elements(numbers: torch.Tensor, model: Model, tile: int) -> Packed:
    """Numbers alone."""
    length = model.length if model.family == "E-FDPA" else model.step
    return Packed(_by_tiles(_lines_of_tiles(numbers, tile, 0.0), length, tile), *[_none(numbers)] * 9)


def _none(like: torch.Tensor) -> torch.Tensor:
    return torch.zeros(1, dtype=torch.int32, device=like.device)


def _lines_of_tiles(elements: torch.Tensor, tile: int, filling: Any) -> torch.Tensor:
    """Lines up to whole tiles."""
    missing = -elements.shape[2] % tile
    return torch.nn.functional.pad(elements, (0, missing), value=filling).contiguous() if missing else elements.contiguous()


def _by_tiles(elements: torch.Tensor, length: int, tile: int) -> torch.Tensor:
    """The lines of a tile beside each other, operation by operation: one step along K is a constant distance."""
    batch, k, lines = elements.shape
    return elements.view(batch, k // length, length, lines // tile, tile).transpose(2, 3).reshape(batch, k, lines)


def _packed(elements: torch.Tensor, length: int, tile: int) -> Packed:
    """Words, and what is known of each operation's."""
    batch, k, lines = elements.shape
    exponent = (elements >> 16).view(batch, k // length, length, lines)
    special = (exponent > 4000).any(2).view(batch, k // length, lines // tile, tile).any(3)
    highest = exponent.masked_fill(exponent > 4000, ZERO).amax(2).view(batch, k // length, lines // tile, tile).amax(3)
    zero = (exponent < -4000).any(2)
    elements = _by_tiles(elements, length, tile)
    return Packed(elements, special.to(torch.int32), zero.to(torch.int32), highest.to(torch.int32).contiguous(), *[_none(elements)] * 6)


def _numbers(packed: Packed, parts: Parts, format: Format, length: int, tile: int, base: int) -> Packed:
    """What routes in FP32 read, in addition."""
    exponent = _lines_of_tiles(parts.exponent.to(torch.int64), tile, ZERO)
    significand = _lines_of_tiles(parts.significand.to(torch.int64), tile, 0)
    batch, k, lines = exponent.shape
    number = exponent.abs() < 4000
    halves = exponent.masked_fill(~number, NOTHING).to(torch.float16).view(torch.int16).to(torch.int32).view(batch, k // 2, 2, lines)
    pairs = (halves[:, :, 0] & 0xFFFF) | (halves[:, :, 1] << 16)
    bases = spread = _none(exponent)
    over: Any = base
    if base == VARIES:
        by_operation = batch, k // length, length, lines
        bases = exponent.masked_fill(~number, NO_BASE).view(by_operation).amax(2) + 1
        lowest = exponent.masked_fill(~number, 1 << 20).view(by_operation).amin(2)
        spread = (bases - lowest).clamp(min=0).view(batch, k // length, lines // tile, tile).amax(3)
        over = bases.repeat_interleave(length, 1)
    shift = (exponent - format.fraction_bits - over).clamp(-1022, 1023)
    numbers = (significand * number) * power_of_two(shift)
    values = _by_tiles(numbers.to(torch.float32), length, tile)
    pairs = _by_tiles(pairs, length // 2, tile)
    return packed._replace(values=values, pairs=pairs, base=bases.to(torch.int32), spread=spread.to(torch.int32).contiguous())


def _groups(parts: Parts, format: Format, model: Model, scales: torch.Tensor | None, tile: int) -> Packed:
    """GST-FDPA: elements as whole numbers in units of the smallest subnormal one, four a word."""
    assert scales is not None and model.scale is not None
    size, (scale, block) = model.get("G"), model.scale
    span = format.max_exponent - format.min_exponent
    if format.infinity_code is not None or format.nan_code is not None or format.fraction_bits + 1 + span > 7 or size % 4 or size > 32:
        raise Declined(f"groups of {size} elements of {format.name}: kernels take groups of 4 to 32 of formats as small as e2m1")
    significand, exponent = parts
    number = torch.where(significand == 0, 0, significand << (exponent - format.min_exponent).clamp(0, span)).to(torch.int32)
    number = _lines_of_tiles(number, tile, 0)
    batch, k, lines = number.shape
    bits = torch.arange(size, device=number.device, dtype=torch.int32)[:, None]
    used = ((number.view(batch, k // size, size, lines) != 0).to(torch.int32) << bits).sum(2, dtype=torch.int32)
    four = number.view(batch, k // 4, 4, lines) & 0xFF
    packed = four[:, :, 0] | (four[:, :, 1] << 8) | (four[:, :, 2] << 16) | (four[:, :, 3] << 24)
    factors = decode(scales, scale)
    of_group = words(factors).repeat_interleave(block // size, 1)[:, : k // size]
    of_group = _lines_of_tiles(of_group, tile, 1)
    used = used.masked_fill(of_group >> 16 == ZERO, 0)
    special = (of_group >> 16 == NAN).view(batch, k // model.length, model.length // size, lines).any(2)
    special = special.view(batch, k // model.length, lines // tile, tile).any(3).to(torch.int32)
    one = _none(number)
    elements = _by_tiles(packed, model.length // 4, tile)
    return Packed(elements, special.contiguous(), one, one, of_group.contiguous(), used.contiguous(), *[one] * 4)
