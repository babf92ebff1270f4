"""Whole products on a device: the order of operations of :func:`bitmma.gemm`, with kernels along K."""

from __future__ import annotations

from typing import Any

import torch

from .._bitmma import schedule
from ..simulate import Unit
from .device import Device
from .model import Declined, Model, format_of, model_of
from .packing import DTYPES, pack
from .plan import Plan, plan

_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Job:
    """One product: operands packed, kernels launched over runs of K."""

    def __init__(self, unit: Unit, a: torch.Tensor, b: torch.Tensor, scales: tuple[torch.Tensor, torch.Tensor] | None, device: Device) -> None:
        """``a`` batch × M × K and ``b`` batch × K × N as codes of their formats; scale factors as codes likewise."""
        self.model: Model = model_of(unit)
        self.plan: Plan = plan(self.model)
        self.device = device
        self.shape = (a.shape[0], a.shape[1], b.shape[2])
        self.k = a.shape[2]
        self.steps = -(-self.k // self.model.step)
        padded = self.steps * self.model.step
        of_a = None if scales is None else _padded(scales[0].transpose(1, 2), self._blocks(padded), _one(self.model))
        of_b = None if scales is None else _padded(scales[1], self._blocks(padded), _one(self.model))
        self.constants = self.plan.compiled(device.target, device.route)
        bases: tuple[int | None, int | None] = self.plan.base if self.constants.get("ROUTE", "integers") != "integers" else (None, None)
        self.tile = device.tile(self.plan)
        self.a = pack(_padded(a.transpose(1, 2), padded, 0), self.model.a, self.model, of_a, self.tile[0], bases[0])
        self.b = pack(_padded(b, padded, 0), self.model.b, self.model, of_b, self.tile[1], bases[1])

    def _blocks(self, padded: int) -> int:
        assert self.model.scale is not None
        return -(-padded // self.model.scale[1])

    def run(self, first: int, end: int, c: torch.Tensor | None) -> torch.Tensor:
        """The steps ``first`` to ``end`` from C, a float tensor of C's format, or from +0; a float tensor of D's."""
        lowering, model = self.model.lowering, self.model
        if not self.plan.by_step:
            c = c if c is None or "widen_accumulator" not in lowering else c.to(DTYPES[self.plan.start.name])
            return self._launch(first, end, c)
        d = c
        for step in range(first, end):
            if "add_accumulator_last" in lowering:
                rounding, name = lowering["add_accumulator_last"]
                to = DTYPES[name]
                if rounding != "RNE" or (to == torch.float16 and (model.container.name, model.c.name) != ("f16", "f16")):
                    raise Declined(f"C is added last by {rounding}-{name}")
                sums = self._launch(step, step + 1, None)
                # 24 bits are enough for the sum of two numbers of 11 to be rounded twice
                d = (sums.float() + (torch.zeros_like(sums, dtype=torch.float32) if d is None else d.float())).to(to)
            else:
                wide = d if d is None else d.to(DTYPES[self.plan.start.name])
                d = self._launch(step, step + 1, wide)
            if "narrow_output" in lowering:
                if lowering["narrow_output"] != ("RNE", "f16"):
                    raise Declined(f"results are narrowed by {'-'.join(lowering['narrow_output'])}")
                d = d.to(torch.float16)
        assert d is not None
        return canonical(d, model)

    def _launch(self, first: int, end: int, c: torch.Tensor | None) -> torch.Tensor:
        batch, m, n = self.shape
        plan, where = self.plan, self.a.elements.device
        dtype = DTYPES[plan.end.name]
        if batch * m * n == 0:
            return torch.empty(self.shape, dtype=dtype, device=where)
        lines, operations = (self.a.elements.shape[2], self.b.elements.shape[2]), plan.operations
        numbers = (*lines, m, (end - first) * operations, first * operations, self.steps * operations)
        constants = {**self.constants, "HAS_C": c is not None, "TILE_M": self.tile[0], "TILE_N": self.tile[1]}
        fused = plan.kernel == "fused"
        # rows of C and D are as long as those of B, whole tiles
        d = torch.empty((batch, m, lines[1]), dtype=torch.int32 if fused else dtype, device=where)
        start = d if c is None else torch.nn.functional.pad(_as_words(c) if fused else c, (0, lines[1] - n)).contiguous()
        operands = [self.a.elements, self.b.elements, start, d]
        if fused:
            operands += [one for pair in zip(self.a[1:], self.b[1:]) for one in pair]
        grid = (lines[0] // self.tile[0], lines[1] // self.tile[1], batch)
        self.device.launch(plan, grid, (*operands, *numbers), constants)
        d = d[:, :, :n]
        if not fused:
            return canonical(d, self.model)
        return d.contiguous().view(torch.float32) if dtype == torch.float32 else d.to(torch.int16).view(torch.float16)


def canonical(d: torch.Tensor, model: Model) -> torch.Tensor:
    """Every NaN with the code that NaN results of the model have."""
    word = _WORDS[d.element_size()]
    assert model.nan is not None  # models of integers have no kernel
    code = model.nan - (1 << (8 * d.element_size())) if model.nan >> (8 * d.element_size() - 1) else model.nan
    return torch.where(d.isnan(), torch.full((), code, dtype=word, device=d.device), d.view(word)).view(d.dtype)


def _as_words(tensor: torch.Tensor) -> torch.Tensor:
    word = tensor.contiguous().view(_WORDS[tensor.element_size()])
    return word if word.dtype == torch.int32 else word.to(torch.int32) & 0xFFFF


def _one(model: Model) -> int:
    assert model.scale is not None
    scale = model.scale[0]
    return scale.bias << scale.fraction_bits


def _padded(codes: torch.Tensor, lines: int, filling: int) -> torch.Tensor:
    """More lines along K, which is dimension 1."""
    missing = lines - codes.shape[1]
    return torch.nn.functional.pad(codes, (0, 0, 0, missing), value=filling) if missing > 0 else codes


def fma32(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """x · y + z of FP32 numbers, rounded once: the product is exact in FP64, the sum is rounded to odd there."""
    product, z = x.double() * y.double(), z.double()
    total = product + z
    of_z = total - product
    lost = (product - (total - of_z)) + (z - of_z)
    bits = total.view(torch.int64)
    odd = torch.where((lost > 0) == (total > 0), bits + 1, bits - 1).view(torch.float64)
    inexact = (lost != 0) & lost.isfinite() & (bits & 1 == 0)
    return torch.where(inexact, odd, total).float()


def multiply(
    unit: Unit,
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor | None,
    device: Device,
    *,
    scales: tuple[torch.Tensor, torch.Tensor] | None = None,
    **options: Any,
) -> torch.Tensor:
    """alpha · A·B + beta · C of batches of codes; C a float tensor. The order is that of the native half's schedule."""
    model, shape = model_of(unit), (a.shape[0], a.shape[1], b.shape[2])
    of_a, of_b, *sizes = (None if one is None else tuple(one.shape) for one in (a, b, c, *(scales or (None, None))))
    order = schedule(unit, of_a, of_b, *sizes, **options)  # type: ignore[arg-type] # shapes of three
    if order.converts is not None:
        raise Declined(order.converts)
    if order.output is not None and order.output not in DTYPES:
        raise Declined(f"results are converted to {order.output}")
    c = c if order.c != "never" and (order.factors is None or order.factors[1]) else None
    job = Job(unit, a, b, scales if order.scale_blocks is None else None, device)
    if order.c == "first":
        if order.parts:
            return finished(job.run(*order.parts[0][0], c), model, order.output)
        d = torch.zeros(shape, device=a.device) if c is None else c
        return finished(d.to(DTYPES[model.d.name]), model, order.output)
    working = DTYPES[order.working]
    zero = torch.zeros(shape, dtype=working, device=a.device)
    lifted = zero if c is None else c.to(working)
    start = lifted if order.c == "sum" else zero
    total = None if order.parts else start
    for runs in order.parts:
        sum = start
        for place, (first, end) in enumerate(runs):
            d = job.run(first, end, None).to(working)
            if order.scale_blocks is not None and order.scale_blocks[2]:
                x, y = _spread(scales, order.scale_blocks, place, shape)
                sum = fma32(d, x * y, sum)
            else:
                sum = sum + d if order.promoted else d
        total = sum if total is None else total + sum
    assert total is not None
    if order.scale_blocks is not None and not order.scale_blocks[2] and order.parts:
        x, y = _spread(scales, order.scale_blocks, 0, shape)
        total = fma32(total * x, y, zero)
    if order.factors is not None:
        of_ab, of_c = (torch.tensor(one, dtype=working, device=a.device) for one in order.factors)
        total = of_ab * total + (zero if c is None else of_c * lifted)
    elif order.c == "last":
        total = total + lifted
    if order.output is None:
        return canonical(total.to(DTYPES[model.d.name]), model)
    return finished(total, model, order.output)


def finished(d: torch.Tensor, model: Model, output: str | None) -> torch.Tensor:
    """D, converted to the format of the output, whose own NaN it then has."""
    if output is None:
        return canonical(d, model)
    to, nan = DTYPES[output], format_of(output).nan_code
    if nan is None:
        raise Declined(f"{output} has no NaN")
    if d.dtype == torch.float64 and to in (torch.float16, torch.bfloat16):
        raise Declined(f"results in FP64 are converted to {output}")
    d = d.to(to)
    word = _WORDS[d.element_size()]
    return torch.where(d.isnan(), torch.full((), nan, dtype=word, device=d.device), d.view(word)).view(to)


def _spread(scales: Any, blocks: tuple[int, int, int], place: int, shape: tuple[int, int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The scales of a block along K for each row and each column."""
    x = scales[0][:, :, place : place + 1].repeat_interleave(blocks[0], 1)[:, : shape[1]]
    y = scales[1][:, place : place + 1, :].repeat_interleave(blocks[1], 2)[:, :, : shape[2]]
    return x, y
