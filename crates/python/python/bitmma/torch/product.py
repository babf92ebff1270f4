"""One matrix product of a model: where it is, what it multiplies, and what was found out about it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import torch

from .. import _bitmma
from ..errors import ShapeError
from .tally import Tally

if TYPE_CHECKING:
    from .difference import Difference


class Operands(NamedTuple):
    """alpha · A·B + beta · C, A and B of two dimensions or of three."""

    a: torch.Tensor
    b: torch.Tensor
    c: torch.Tensor | None = None
    """As large as the result, in FP32 or FP64."""
    alpha: float = 1
    beta: float = 1
    scaled: tuple[torch.Tensor, torch.Tensor] | None = None
    """FP32 scales of ``_scaled_mm``: one for all, or one for each row of A and each column of B."""
    blocks: tuple[torch.Tensor, torch.Tensor] | None = None
    """Scales of blocks along K: M × ceil(K/block) and ceil(K/block) × N, of A and of B; in FP32 also of 128 rows or columns."""

    def sharing(self) -> tuple[int, int, int]:
        """Rows of A and columns of B that share FP32 scales of blocks, and elements along K."""
        assert self.blocks is not None
        shape = self.a.shape[-2], self.b.shape[-1], elements(self.a, self.a.dim() - 1)
        found = scale_blocks(shape, *self.blocks)
        if found is None:
            raise ShapeError(f"scales of {tuple(self.blocks[0].shape)} and {tuple(self.blocks[1].shape)} are not of blocks of {shape}")
        return found

    def of_element(self, element: tuple[int, ...]) -> Operands:
        """What one element of the result is made of: a row of A, a column of B."""
        row, column = element[-2], element[-1]
        a, b = (one[element[0]] if one.dim() == 3 else one for one in (self.a, self.b))
        scaled = blocks = None
        if self.scaled:
            x, y = (one.reshape(-1) for one in self.scaled)
            scaled = x[row if len(x) > 1 else 0].clone(), y[column if len(y) > 1 else 0].clone()
        if self.blocks:
            x, y = self.blocks
            rows, columns, _ = self.sharing() if x.dtype == torch.float32 else (1, 1, 0)
            line, other = row // rows, column // columns
            blocks = x[line : line + 1].clone(), y[:, other : other + 1].clone()
        c = None if self.c is None else self.c[element].reshape(1, 1).clone()
        one_a, one_b = a[row : row + 1].clone(), b[:, column : column + 1].clone()
        return Operands(one_a, one_b, c, self.alpha, self.beta, scaled, blocks)

    def prefixes(self, ends: torch.Tensor) -> Operands:
        """Of one element: its sums up to each of these terms, further ones zero, without C and factors."""
        word = _word(self.a.dtype)  # FP8 tensors cannot be masked, their codes can
        a = self.a.view(word).repeat(len(ends), 1)
        packed = elements(self.a, 1) // max(a.shape[1], 1)  # two FP4 codes share a byte, the first in its low bits
        places = packed * torch.arange(a.shape[1])
        a[places > ends[:, None]] = 0
        if packed == 2:
            a[places == ends[:, None]] &= 15
        blocks = self.blocks and (self.blocks[0].repeat(len(ends), 1), self.blocks[1])
        return Operands(a.view(self.a.dtype), self.b, blocks=blocks)

    def exact(self) -> torch.Tensor | None:
        """The product in FP64; None with block scales."""
        if self.blocks:
            return None
        result = self.alpha * (self.a.double() @ self.b.double())
        if self.scaled:
            result = result * self.scaled[0].double().reshape(-1, 1) * self.scaled[1].double().reshape(1, -1)
        return result if self.c is None else result + self.beta * self.c.double()


def elements(tensor: torch.Tensor, axis: int) -> int:
    """Elements along the axis that is K; two FP4 codes share a byte."""
    packed = tensor.dtype == getattr(torch, "float4_e2m1fn_x2", None)
    return tensor.shape[axis] * (2 if packed else 1)


def scale_blocks(shape: tuple[int, int, int], of_a: torch.Tensor, of_b: torch.Tensor) -> tuple[int, int, int] | None:
    """Rows of A and columns of B that share FP32 scales of blocks, and elements along K; None where their shapes say no such thing."""
    if of_a.dim() != 2 or of_b.dim() != 2:
        return None
    return _bitmma.scale_blocks(shape, (of_a.shape[0], of_a.shape[1]), (of_b.shape[0], of_b.shape[1]))


def _word(dtype: torch.dtype) -> torch.dtype:
    return {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]


@dataclass(frozen=True)
class Compared:
    """One product, or one tensor, on two chips."""

    rounded: Tally
    """After rounding: what the next layer sees."""
    raw: Tally | None
    """The sums before they are rounded to the result's dtype; None where one of the two chips left the product as it is."""
    difference: Difference | None = None
    """The first element that differs after rounding."""


@dataclass(frozen=True)
class Product:
    """One matrix product."""

    index: int
    """Its place in the order of execution."""
    layer: str
    """The module, by its path; empty outside of any."""
    operation: str
    backward: bool
    dtypes: tuple[torch.dtype, torch.dtype]
    """Of A and of B."""
    shape: tuple[int, int, int, int]
    """Batch, M, N, K."""
    scale: tuple[str, int] | None = None
    """Format of block scales, and how many elements share one."""
    instruction: str = ""
    """What computed it; empty while that is being chosen."""
    max_error: float | None = None
    """With ``measure``: the largest distance of a sum from the product in FP64; of those finite in both."""
    relative_error: float | None = None
    """With ``measure``: the norm of all distances over the norm of the product in FP64."""
    not_finite: int | None = None
    """With ``measure``: sums that are infinite or NaN here and not in FP64."""
    compared: dict[str, Compared] = field(default_factory=dict)
    """On the same operands by the other chips of ``compare_with``."""

    @property
    def difference(self) -> Difference | None:
        """The first element that differs on one of the other chips after rounding."""
        return next((one.difference for one in self.compared.values() if one.difference), None)

    def measured(self, operands: Operands, sums: torch.Tensor) -> Product:
        """The same, compared with FP64."""
        exact = operands.exact()
        if exact is None:
            return self
        finite = sums.isfinite() & exact.isfinite()
        distance = (sums.double() - exact)[finite]
        norm = exact[finite].norm().item()
        return replace(
            self,
            max_error=distance.abs().max().item() if distance.numel() else 0.0,
            relative_error=distance.norm().item() / norm if norm else 0.0,
            not_finite=int((~sums.isfinite() & exact.isfinite()).sum()),
        )
