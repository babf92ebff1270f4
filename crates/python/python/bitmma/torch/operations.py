"""How each operation is made of products. ``multiply`` is the emulation's; the rest is moving data."""

from __future__ import annotations

from typing import Any, Callable

import torch

from . import convolution

aten = torch.ops.aten
Multiply = Callable[..., Any]


def mm(multiply: Multiply, a: torch.Tensor, b: torch.Tensor, out_dtype: torch.dtype | None = None) -> Any:
    """A·B, of matrices or of batches of them."""
    return multiply(a, b, to=out_dtype or a.dtype)


def addmm(
    multiply: Multiply,
    c: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    out_dtype: torch.dtype | None = None,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> Any:
    """beta · C + alpha · A·B; C as large as the result, or stretched to it."""
    c = c.expand(*a.shape[:-1], b.shape[-1])
    return multiply(a, b, c=c, alpha=alpha, beta=beta, to=out_dtype or a.dtype)


def scaled_mm(
    multiply: Multiply,
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> Any:
    """(A·B) · scale_a · scale_b + bias; one scale for all, or for each row of A and column of B."""
    if scale_a.dtype != torch.float32 or scale_b.dtype != torch.float32:
        return NotImplemented  # block scales, laid out for one kernel
    if not (scale_a.numel() in (1, a.shape[0]) and scale_b.numel() in (1, b.shape[1])):
        return NotImplemented
    sums = multiply(a, b, fast=use_fast_accum, to=torch.float32)
    if sums is NotImplemented:
        return sums
    sums = sums * scale_a.reshape(-1, 1) * scale_b.reshape(1, -1)
    if bias is not None:
        sums = sums + bias.float()
    if scale_result is not None:
        sums = sums * scale_result
    return sums.to(out_dtype or a.dtype)


TABLE: dict[Any, Callable[..., Any]] = {
    aten.mm: mm,
    aten.bmm: mm,
    aten.addmm: addmm,
    aten.addmm_: addmm,
    aten.baddbmm: addmm,
    aten.baddbmm_: addmm,
    aten._scaled_mm: scaled_mm,
    aten.convolution: convolution.forward,
    aten.convolution_backward: convolution.backward,
}

#: Products that are left as they are: of vectors (no library runs them on a matrix unit), and fused ones.
LEFT = {
    getattr(aten, name)
    for name in (
        "mv", "addmv", "addmv_", "dot", "vdot", "addr", "addbmm", "_addmm_activation", "_trilinear", "_int_mm",
        "_scaled_grouped_mm", "_grouped_mm", "_scaled_mm_v2", "mkldnn_rnn_layer", "_native_multi_head_attention",
        "_transformer_encoder_layer_fwd", "_scaled_dot_product_flash_attention_for_cpu", "_cdist_forward",
    )
    if hasattr(aten, name)
}  # fmt: skip
