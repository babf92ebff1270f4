"""The gradient of :func:`bitmma.matmul`."""

from __future__ import annotations

from typing import Any, Callable

import torch

from .._arrays import format_of
from ..errors import OptionError

#: Dtypes whose products have gradients; training in FP8 and below scales its own gradients.
DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def matmul(
    multiply: Callable[..., Any],
    a: torch.Tensor,
    b: torch.Tensor,
    output: str | None,
    read_as: str | tuple[str, str] | None,
    return_info: bool,
    options: dict[str, Any],
) -> Any:
    """The product by ``multiply``, which is :func:`bitmma.matmul`, with a gradient for either operand."""
    for name, one in (("A", a), ("B", b)):
        if not isinstance(one, torch.Tensor) or one.dtype not in DTYPES:
            raise OptionError(
                f"{name} is {getattr(one, 'dtype', type(one).__name__)}: of it no gradient is defined; "
                "give it operands without: tensor.detach()"
            )
    readings = read_as if isinstance(read_as, tuple) else (read_as, read_as)
    d = _Matmul.apply(multiply, a, b, output, readings, options)  # type: ignore[no-untyped-call]
    if not return_info:
        return d
    with torch.no_grad():
        _, info = multiply(a[..., :1, :], b[..., :1], read_as=read_as, return_info=True, **options)
    return d, info


class _Matmul(torch.autograd.Function):
    """D = A·B; dA = dD·Bᵀ and dB = Aᵀ·dD, each as the library computes it."""

    @staticmethod
    def forward(
        ctx: Any, multiply: Any, a: torch.Tensor, b: torch.Tensor, output: str | None, readings: Any, options: Any
    ) -> torch.Tensor:
        ctx.save_for_backward(a, b)
        ctx.multiply, ctx.readings, ctx.options = multiply, readings, options
        result: torch.Tensor = multiply(a.detach(), b.detach(), output=output, read_as=readings, **options)
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        a, b = ctx.saved_tensors
        as_a, as_b = ctx.readings
        to_a = to_b = None
        if ctx.needs_input_grad[1]:
            to_a = _product(ctx.multiply, gradient.to(b.dtype), b.mT, (as_b, as_b), a, ctx.options)
        if ctx.needs_input_grad[2]:
            x, g = a, gradient.to(a.dtype)
            if b.dim() == 2 and a.dim() > 2:  # all rows are one sum along K
                x, g = x.reshape(-1, x.shape[-1]), g.reshape(-1, g.shape[-1])
            to_b = _product(ctx.multiply, x.mT, g, (as_a, as_a), b, ctx.options)
        return None, to_a, to_b, None, None, None


def _product(
    multiply: Any, a: torch.Tensor, b: torch.Tensor, read_as: Any, like: torch.Tensor, options: dict[str, Any]
) -> torch.Tensor:
    """A product in the dtype and shape of the operand whose gradient it is."""
    result: torch.Tensor = multiply(a.detach(), b.detach(), output=format_of("gradient", like), read_as=read_as, **options)
    return result.sum_to_size(like.shape)
