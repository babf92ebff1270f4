"""Whole products on a device: the order of operations of :func:`bitmma.gemm`, with kernels along K."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import OptionError, ScaleError, ShapeError
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
                rounding, _, name = lowering["add_accumulator_last"].partition("-")
                to = DTYPES[name.lower().replace("fp", "f")]
                if rounding != "RNE" or (to == torch.float16 and (model.container.name, model.c.name) != ("f16", "f16")):
                    raise Declined(f"C is added last by {lowering['add_accumulator_last']}")
                sums = self._launch(step, step + 1, None)
                # 24 bits are enough for the sum of two numbers of 11 to be rounded twice
                d = (sums.float() + (torch.zeros_like(sums, dtype=torch.float32) if d is None else d.float())).to(to)
            else:
                wide = d if d is None else d.to(DTYPES[self.plan.start.name])
                d = self._launch(step, step + 1, wide)
            if "narrow_output" in lowering:
                if lowering["narrow_output"] != "RNE-FP16":
                    raise Declined(f"results are narrowed by {lowering['narrow_output']}")
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


def runs_of(step: int, k: int, split_k: int | None, promote_every: int | None) -> list[list[tuple[int, int]]]:
    """The parts of K, each a list of runs, in steps; as ``bitmma::gemm`` cuts them."""
    steps = -(-k // step)
    if split_k is not None and split_k < 1:
        raise OptionError(f"split_k is {split_k}: K is cut into one part or more")
    if promote_every is not None and (promote_every < 1 or promote_every % step):
        raise OptionError(f"promote_every is {promote_every}; the instruction takes {step} elements along K, so it must be a multiple of that")
    if steps == 0:
        return []
    count = min(split_k or 1, steps)
    each, more = divmod(steps, count)
    first = [part * each + min(part, more) for part in range(count + 1)]
    run = promote_every // step if promote_every else steps
    return [[(start, min(start + run, first[part + 1])) for start in range(first[part], first[part + 1], run)] for part in range(count)]


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


def scales_of(text: str) -> tuple[int, int, int]:
    """Rows of A, columns of B and elements of K that share an FP32 scale; ``row``: one for each row and column, K 0."""
    if text == "row":
        return 1, 1, 0
    try:
        of_a, of_b = (tuple(map(int, part.replace("×", "x").split("x"))) for part in text.split(","))
        rows, columns, k = of_a[0], of_b[0], of_a[1]
    except (ValueError, IndexError):
        raise OptionError(f"scale_blocks is {text!r}; write 'row', or the blocks of A and of B, as in 1x128,128x128") from None
    if k != of_b[1] or min(rows, columns, k) < 1:
        raise OptionError(f"scale_blocks is {text!r}; both blocks have the same K, and all sizes are 1 or more")
    return rows, columns, k


def multiply(
    unit: Unit,
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor | None,
    device: Device,
    *,
    scales: tuple[torch.Tensor, torch.Tensor] | None = None,
    scale_blocks: str | None = None,
    split_k: int | None = None,
    promote_every: int | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    output: str | None = None,
) -> torch.Tensor:
    """alpha · A·B + beta · C of batches of codes; C a float tensor. The points are those of ``bitmma::gemm``."""
    model = model_of(unit)
    (batch, m, k), n = a.shape, b.shape[2]
    if b.shape[:2] != (batch, k):
        raise ShapeError(f"A is {_sizes(a)}, so B must be {batch}×{k}×N; it is {_sizes(b)}")
    if c is not None and c.shape != (batch, m, n):
        raise ShapeError(f"A is {_sizes(a)} and B {_sizes(b)}, so C must be {batch}×{m}×{n}; it is {_sizes(c)}")
    working = torch.float64 if unit.working_format == "f64" else torch.float32
    of_ab, of_c = (torch.tensor(one, dtype=working) for one in unit._native.factors(alpha, beta))
    c = None if c is None or not of_c else c
    plain = bool(of_ab == 1) and (c is None or bool(of_c == 1))
    if output is not None and output not in DTYPES:
        raise Declined(f"results are converted to {output}")
    blocks = None if scale_blocks is None else scales_of(scale_blocks)
    if blocks is not None and blocks[2]:
        if (split_k or 1) > 1:
            raise OptionError(f"split_k is {split_k}: scale_blocks along K take the whole of K in one part")
        if promote_every is not None:
            raise OptionError(f"promote_every is {promote_every}: scale_blocks already move the accumulator every {blocks[2]} elements")
    _check_scales(model, blocks, scales, (batch, m, n, k))
    parts = runs_of(model.step, k, split_k, blocks[2] if blocks and blocks[2] else promote_every)
    job = Job(unit, a, b, scales if blocks is None else None, device)
    shape = (batch, m, n)
    zero = torch.zeros(shape, dtype=working, device=a.device)
    if plain and promote_every is None and blocks is None and len(parts) <= 1:
        if parts:
            d = job.run(*parts[0][0], c)
        else:
            d = torch.zeros(shape, dtype=DTYPES[model.d.name], device=a.device) if c is None else c.to(DTYPES[model.d.name])
        return finished(d, model, output)
    from_c = promote_every is not None and plain and len(parts) <= 1 and blocks is None
    lifted = None if c is None else c.to(working)
    total = None
    for runs in parts:
        sum = lifted if from_c and lifted is not None else zero
        for place, (first, end) in enumerate(runs):
            d = job.run(first, end, None).to(working)
            if blocks is not None and blocks[2]:
                assert scales is not None
                x, y = _spread(scales, blocks, place, (m, n))
                sum = fma32(d, x * y, sum)
            else:
                sum = sum + d if promote_every is not None else d
        total = sum if total is None else total + sum
    if total is None:
        total = lifted if from_c and lifted is not None else zero
    if blocks is not None and not blocks[2] and parts:
        assert scales is not None
        x, y = _spread(scales, blocks, 0, (m, n))
        total = fma32(total * x, y, zero)
    if not from_c and not (blocks is not None and plain and c is None):
        if plain:
            total = total + (zero if lifted is None else lifted)
        else:
            total = of_ab.to(a.device) * total
            total = total + (zero if lifted is None else of_c.to(a.device) * lifted)
    if output is None:
        return canonical(total.to(DTYPES[model.d.name]), model)
    return finished(total, model, output)


def finished(d: torch.Tensor, model: Model, output: str | None) -> torch.Tensor:
    """D, converted to the format of the output, whose own NaN it then has."""
    if output is None:
        return canonical(d, model)
    to, format = DTYPES[output], format_of(output)
    if d.dtype == torch.float64 and to in (torch.float16, torch.bfloat16):
        raise Declined(f"results in FP64 are converted to {output}")
    d = d.to(to)
    word = _WORDS[d.element_size()]
    assert format.nan is not None
    return torch.where(d.isnan(), torch.full((), format.nan, dtype=word, device=d.device), d.view(word)).view(to)


def _spread(scales: tuple[torch.Tensor, torch.Tensor], blocks: tuple[int, int, int], place: int, shape: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The scales of a block along K for each row and each column."""
    x = scales[0][:, :, place : place + 1].repeat_interleave(blocks[0], 1)[:, : shape[0]]
    y = scales[1][:, place : place + 1, :].repeat_interleave(blocks[1], 2)[:, :, : shape[1]]
    return x, y


def _check_scales(model: Model, blocks: Any, scales: Any, shape: tuple[int, int, int, int]) -> None:
    batch, m, n, k = shape
    if blocks is not None:
        if model.scale is not None:
            raise OptionError(f"the instruction takes {model.scale[0].name} factors of its own, not scale_blocks")
        rows, columns, along = -(-m // blocks[0]), -(-n // blocks[1]), -(-k // blocks[2]) if blocks[2] else 1
    elif model.scale is not None:
        rows, columns, along = m, n, -(-k // model.scale[1])
    elif scales is not None:
        raise ScaleError("the instruction takes no scale factors")
    else:
        return
    if scales is None:
        raise ScaleError("both scale_a and scale_b are needed")
    wanted = (batch, rows, along), (batch, along, columns)
    for name, one, size in zip(("scale_a", "scale_b"), scales, wanted):
        if tuple(one.shape) != size:
            raise ScaleError(f"{name} is {_sizes(one)}; it must be {'×'.join(map(str, size))}")


def _sizes(tensor: torch.Tensor) -> str:
    return "×".join(map(str, tensor.shape))
