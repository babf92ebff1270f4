"""Inputs for a self-test: what kernels may get wrong, drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from .._product import on_cpu
from ..simulate import Unit
from .device import Device
from .model import Format, model_of
from .packing import DTYPES
from .product import multiply

#: How operands are drawn.
STYLES = ("near", "any", "small", "cancelling")
#: M and N of a case, and steps along K: not multiples of a tile.
SIZES = (67, 41, 3)


def codes(format: Format, shape: tuple[int, ...], style: str, generator: torch.Generator) -> torch.Tensor:
    """Codes of a format as int64. ``near``: exponents close together, so that sums carry and cut; ``any``: every code, NaN and
    infinity among them; ``small``: zeros of both signs, subnormal numbers, the largest; ``cancelling``: few numbers, both signs."""
    top, low = format.exponent_bits + format.fraction_bits + format.padding_bits, format.fraction_bits + format.padding_bits
    words = [torch.randint(1 << 16, shape, generator=generator) << (16 * place) for place in range(-(-format.bits // 16))]
    drawn = sum(words[1:], words[0])
    if format.bits < 64:
        drawn = drawn & ((1 << format.bits) - 1)
    magnitude = (1 << top) - 1
    sign = drawn & ~magnitude

    def pick(*sizes: int) -> torch.Tensor:
        return torch.randint(sizes[0], sizes[1], shape, generator=generator)

    if style == "near":
        highest = (format.max_finite_code >> low) - 1
        field = (format.bias + pick(-3, 4)).clamp(min(1, highest), highest)
        return sign | (field << low) | (drawn & ((1 << low) - 1))
    if style == "small":
        kind = pick(0, 6)
        subnormal, largest = drawn & ((1 << (low + 1)) - 1), torch.full(shape, format.max_finite_code)
        finite = torch.where((drawn & magnitude) > format.max_finite_code, subnormal, drawn & magnitude)
        return sign | torch.where(kind < 2, 0, torch.where(kind < 4, subnormal, torch.where(kind == 4, finite, largest)))
    if style == "cancelling":
        one = format.bias << low
        return sign | torch.where(pick(0, 2) == 0, one, one + (1 << low) * pick(0, 2) + (1 << format.padding_bits))
    return drawn


def operands(unit: Unit, style: str, seed: int, sizes: tuple[int, int, int] | None = None) -> tuple[Any, ...]:
    """A, B, C and scale factors (or None) as codes; K three short of whole steps."""
    model, generator = model_of(unit), torch.Generator().manual_seed(seed)
    m, n, steps = sizes or SIZES
    k = max(steps * model.step - 3, 1)
    scales: list[Any] = [None, None]
    if model.scale is not None:
        blocks = -(-k // model.scale[1])
        kind = "any" if style == "any" else "near"
        scales = [codes(model.scale[0], shape, kind, generator) for shape in ((m, blocks), (blocks, n))]
        if style == "any":  # few of them NaN, or every element of D is
            scales = [torch.where(torch.rand(one.shape, generator=generator) < 0.02, one, one & 0x7E) for one in scales]
    a, b = codes(model.a, (m, k), style, generator), codes(model.b, (k, n), style, generator)
    if style == "any":  # rows without NaN and infinity, too
        calm = codes(model.a, (m, k), "small", generator), codes(model.b, (k, n), "near", generator)
        a, b = torch.where(torch.arange(m)[:, None] % 4 == 0, a, calm[0]), torch.where(torch.arange(n) % 4 == 0, b, calm[1])
    return a, b, codes(model.c, (m, n), style, generator), *scales


def cases(unit: Unit, sizes: tuple[int, int, int] | None = None) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Every style, with C and without."""
    for seed, style in enumerate(STYLES):
        drawn = operands(unit, style, seed, sizes)
        yield style, drawn
        if style == "small":
            yield f"{style} without C", (*drawn[:2], None, *drawn[3:])


def difference(unit: Unit, device: Device, where: torch.device, sizes: tuple[int, int, int] | None = None) -> str | None:
    """Where kernels first return other bits than the CPU; None where they agree on every case."""
    for name, drawn in cases(unit, sizes):
        ours, theirs = answers(unit, drawn, device, where)
        differs = (ours != theirs).nonzero()
        if len(differs):
            place = tuple(differs[0].tolist())
            mask = (1 << (8 * ours.element_size())) - 1
            found = f"{int(ours[place]) & mask:#x} instead of {int(theirs[place]) & mask:#x}"
            return f"case {name!r}: {len(differs)} of {ours.numel()} elements differ, the first at {list(place)}, {found}"
    return None


def answers(unit: Unit, drawn: tuple[Any, ...], device: Device, where: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """The codes that the device and the CPU return."""
    model = model_of(unit)
    a, b, c, *scales = drawn
    widths = [model.a, model.b, model.c, *[model.scale[0] if model.scale else model.a] * 2]
    as_codes = [None if one is None else _narrow(one, format) for one, format in zip(drawn, widths)]
    x, y, z, scale_a, scale_b = [one if one is None else one.numpy() for one in as_codes]
    theirs = torch.from_numpy(on_cpu(unit, x, y, z, scale_a=scale_a, scale_b=scale_b))
    small = [None if one is None else _words(one, format)[None].to(where) for one, format in zip(drawn, widths)]
    dtype = DTYPES[model.c.name]
    start = None if c is None else _narrow_signed(c, dtype)[None].to(where)
    pair = None if scales[0] is None else (small[3], small[4])
    ours = multiply(unit, small[0], small[1], start, device, scales=pair)[0].cpu()  # type: ignore[arg-type]
    word = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[ours.element_size()]
    return ours.view(word), theirs.view(word)


def _narrow(words: torch.Tensor, format: Format) -> torch.Tensor:
    """Codes as unsigned integers of their own width."""
    size = next(size for size in (1, 2, 4, 8) if 8 * size >= format.bits)
    signed = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
    unsigned = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32, 8: torch.uint64}[size]
    return words.to(signed).view(unsigned)


def _words(words: torch.Tensor, format: Format) -> torch.Tensor:
    return words if format.bits > 32 else words.to(torch.int32)


def _narrow_signed(words: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return words.to({2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]).view(dtype)


