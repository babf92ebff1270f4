"""Products that an emulation leaves alone: one fused multiply-add after another along K."""

from __future__ import annotations

from typing import Any, Callable

import torch

from .. import operations
from ..product import Operands
from ..ways import fma
from .native import canonical, known

aten = torch.ops.aten


def _dot(multiply: operations.Multiply, x: torch.Tensor, y: torch.Tensor) -> Any:
    found = multiply(x[None], y[:, None], to=x.dtype)
    return found if found is NotImplemented else found[0, 0]


def _addr(multiply: operations.Multiply, c: torch.Tensor, x: torch.Tensor, y: torch.Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
    return operations.addmm(multiply, c, x[:, None], y[None], beta=beta, alpha=alpha)


#: How operations are made of products: those that are emulated, and products of two vectors.
TABLE: dict[Any, Callable[..., Any]] = {**operations.TABLE, aten.dot: _dot, aten.vdot: _dot, aten.addr: _addr, aten.addr_: _addr}


class Own:
    """Computes products of plain tensors of one dtype, in FP64 or else in FP32, rounded once to the dtype of the result."""

    def __init__(self, host: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any], threads: int | None) -> None:
        self._host, self._threads = host, threads

    def host(self, func: Any, *args: Any) -> Any:
        """An operation that is no product."""
        return self._host(func, args, {})

    def __call__(
        self,
        a: torch.Tensor,
        b: torch.Tensor,
        *,
        to: torch.dtype,
        c: torch.Tensor | None = None,
        alpha: float = 1,
        beta: float = 1,
        finish: Callable[[torch.Tensor], torch.Tensor] = lambda sums: sums,
        **others: Any,
    ) -> Any:
        """alpha · A·B + beta · C; NotImplemented for other operands, and with scales."""
        if not known(a) or not known(b) or a.dtype != b.dtype or any(others.get(name) is not None for name in ("scale", "blocks", "scaled")):
            return NotImplemented
        way = fma("", a.dtype)
        c = None if c is None or beta == 0 else c.to(way.wide)
        return canonical(finish(way.sums(Operands(a, b, c, alpha, beta), self._threads)).to(to))
