"""The ways in which a product may be computed, each answering the sums before they are rounded to the result's dtype."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from .. import calls
from ..calls import CallPlan
from ..errors import OptionError
from ..explain import Explanation, explain
from ..gemm import gemm
from ..simulate import Unit, mma
from .product import Operands


@dataclass(frozen=True)
class Way:
    """How products are computed."""

    label: str
    """The chip, or whatever else computes."""

    @property
    def name(self) -> str:
        """What computes: an instruction, a model, a plan."""
        raise NotImplementedError

    @property
    def wide(self) -> torch.dtype:
        """The dtype of the sums."""
        return torch.float32

    def sums(self, product: Operands, threads: int | None, device: str | None = None) -> torch.Tensor:
        """alpha · A·B + beta · C, scaled, before it is rounded to the result's dtype; by kernels on the device, if one is named."""
        raise NotImplementedError

    def explain(self, element: Operands, end: int) -> Explanation | None:
        """Every step of one element's sum of the terms before ``end``; None where that is not one chain."""
        return None


def _scaled(sums: torch.Tensor, product: Operands) -> torch.Tensor:
    if product.scaled is None:
        return sums
    return sums * product.scaled[0].reshape(-1, 1) * product.scaled[1].reshape(1, -1)


@dataclass(frozen=True)
class Chain(Way):
    """One instruction or model along K, from +0; C is added to the sum at the end."""

    unit: Unit
    split_k: int | None = None
    promote_every: int | None = None

    @property
    def name(self) -> str:
        found = self.unit.instruction
        name = f"{found.architecture} {found.row}" if found else self.unit.name
        given = {"split_k": self.split_k, "promote_every": self.promote_every}
        return name + "".join(f" {key}={value}" for key, value in given.items() if value is not None)

    @property
    def wide(self) -> torch.dtype:
        return torch.float64 if self.unit.working_format == "f64" else torch.float32

    def sums(self, product: Operands, threads: int | None, device: str | None = None) -> torch.Tensor:
        a, b, c, alpha, beta, _, blocks = product
        promote = self.promote_every if blocks is None else None
        # the instruction itself starts from +0
        options: dict[str, Any] = {"split_k": self.split_k, "promote_every": promote, "c_last": promote is None, "threads": threads}
        if blocks is not None:
            options.update(scale_a=blocks[0], scale_b=blocks[1])
            if blocks[0].dtype == torch.float32:
                rows, columns, along = product.sharing()
                options.update(scale_blocks=f"{rows}x{along},{columns}x{along}")
        multiply = gemm
        if device is not None:
            from ..gpu import gemm as multiply  # type: ignore[assignment]

            options["device"] = device
        sums: torch.Tensor = multiply(self.unit, a, b, c, alpha=float(alpha), beta=float(beta), **options)
        return _scaled(sums if sums.dtype == self.wide else sums.to(self.wide), product)

    def explain(self, element: Operands, end: int) -> Explanation | None:
        if self.split_k is not None or self.promote_every is not None or element.blocks is not None:
            return None
        size = -(-end // self.unit.step) * self.unit.step
        row, column = element.a.new_zeros(size), element.b.new_zeros(size)
        row[:end], column[:end] = element.a[0, :end], element.b[:end, 0]
        return explain(self.unit, row, column)


@dataclass(frozen=True)
class Fma(Chain):
    """One fused multiply-add after another along K, from +0, of operands cast to FP32 or FP64; C is added to the sum at the end."""

    @property
    def name(self) -> str:
        return f"FMA in {str(self.wide).rpartition('.')[2]}"

    def sums(self, product: Operands, threads: int | None, device: str | None = None) -> torch.Tensor:
        return super().sums(self._cast(product), threads, device)

    def explain(self, element: Operands, end: int) -> Explanation | None:
        return super().explain(self._cast(element), end)

    def _cast(self, product: Operands) -> Operands:
        return product._replace(a=product.a.to(self.wide), b=product.b.to(self.wide))


@lru_cache(maxsize=64)
def fma(label: str, dtype: torch.dtype) -> Fma:
    """The chain in FP64, or else in FP32."""
    name = "f64" if dtype == torch.float64 else "f32"
    formats = "".join(f'{one} = "{name}"\n' for one in "ABCD")
    return Fma(label, Unit.from_toml(f'model = "FMA"\n{formats}rho = "RNE-{name.replace("f", "FP")}"\n'))


@dataclass(frozen=True)
class Planned(Way):
    """The plan of a library's call; C is added in FP32."""

    plan: CallPlan

    @property
    def name(self) -> str:
        return f"{self.plan.plan.get('arch', '')} {self.plan.plan.get('instruction', 'plan')} by a plan"

    @property
    def formats(self) -> tuple[str, str]:
        """Of A and B."""
        given = self.plan.plan
        if "instruction" not in given:
            raise OptionError(f"the plan for {self.plan.platform} has no instruction; a plan with one computes a model's products")
        unit = mma(given["arch"], given["instruction"])
        return unit.a, unit.b

    def sums(self, product: Operands, threads: int | None, device: str | None = None) -> torch.Tensor:
        if device is not None:
            raise OptionError(f"device is {device!r}: the plan of a library's call is computed on the CPU, so leave device out")
        a, b, c, alpha, beta, scaled, _ = product
        if a.dim() == 3:
            if not len(a):
                return torch.zeros(0, a.shape[1], b.shape[2])
            parts = zip(a, b, [None] * len(a) if c is None else c)
            return torch.stack([self.sums(product._replace(a=x, b=y, c=z), threads) for x, y, z in parts])
        options: dict[str, Any] = {"platform": "plan", "plan": self.plan.plan, "out_dtype": "f32", "threads": threads}
        if scaled is not None and all(one.numel() == 1 for one in scaled):
            sums: torch.Tensor = calls.scaled_mm(a, b, *scaled, **options)
        elif a.element_size() == 1:
            one = torch.ones(())
            sums = _scaled(calls.scaled_mm(a, b, one, one, **options), product)
        else:
            sums = _scaled(calls.matmul(a, b, **options), product)
        sums = sums if alpha == 1 else sums * alpha
        return sums if c is None else sums + beta * c


@dataclass(frozen=True)
class InDtype(Way):
    """PyTorch's own product of operands cast to a wider dtype."""

    dtype: torch.dtype

    @property
    def name(self) -> str:
        return f"PyTorch in {str(self.dtype).rpartition('.')[2]}"

    @property
    def wide(self) -> torch.dtype:
        return self.dtype

    def sums(self, product: Operands, threads: int | None, device: str | None = None) -> torch.Tensor:
        sums = product.a.to(self.dtype) @ product.b.to(self.dtype)
        sums = _scaled(sums if product.alpha == 1 else sums * product.alpha, product)
        return sums if product.c is None else sums + product.beta * product.c

