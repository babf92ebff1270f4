"""Products whose sums run along K in another order: as right as the first, and what libraries differ in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import torch

from .arithmetic import Arithmetic
from .product import Operands, Product
from .tally import WORDS
from .ways import Way


@dataclass(frozen=True)
class Reordered(Way):
    """Another way, which gets the terms of each sum in an order that a seed draws. Terms that share a scale stay together."""

    inner: Way
    seed: int

    @property
    def name(self) -> str:
        return f"{self.inner.name}, terms in order {self.seed}"

    @property
    def wide(self) -> torch.dtype:
        return self.inner.wide

    def sums(self, product: Operands, threads: int | None, device: str | None = None) -> torch.Tensor:
        along = product.a.shape[-1]  # two FP4 codes of a byte stay together
        parts = product.blocks[0].shape[-1] if product.blocks else 1
        order = _order(along, parts, self.seed)
        a, b = _taken(product.a, -1, order), _taken(product.b, -2, order)
        return self.inner.sums(product._replace(a=a, b=b), threads, device)


def reordered(arithmetic: Arithmetic, seed: int) -> Arithmetic:
    """An arithmetic with the terms of every sum in another order."""

    def choose(product: Product, fast: bool) -> Way | None:
        way = arithmetic.choose(product, fast)
        return None if way is None else Reordered(way.label, way, seed)

    return replace(arithmetic, choose=choose)


@lru_cache(maxsize=64)
def _order(along: int, parts: int, seed: int) -> torch.Tensor:
    """A permutation of what lies along K; within each of the parts that share a scale."""
    random = torch.Generator().manual_seed(seed)
    size = -(-along // max(parts, 1)) if along else 1
    starts = range(0, along, size)
    found = [start + torch.randperm(min(size, along - start), generator=random) for start in starts]
    return torch.cat(found) if found else torch.empty(0, dtype=torch.long)


def _taken(tensor: torch.Tensor, axis: int, order: torch.Tensor) -> torch.Tensor:
    """Rows or columns in an order; codes are moved, as not every dtype can be indexed."""
    words = tensor.contiguous().view(WORDS[tensor.element_size()])
    return words.index_select(axis, order.to(words.device)).view(tensor.dtype)
