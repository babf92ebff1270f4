"""Operations that CUDA computes in one kernel each: the cells of LSTM and GRU, and dropout. They are computed wide and rounded once.

Derived from source: PyTorch, ``aten/src/ATen/native/cuda/RNN.cu`` (what a cell keeps for its gradient, and in which order) and ``Dropout.cu``.
"""

from __future__ import annotations

from typing import Any

import torch


def _wide(*tensors: torch.Tensor | None) -> list[torch.Tensor]:
    """In FP64; those that are not given are zeros."""
    return [torch.zeros((), dtype=torch.float64) if one is None else one.double() for one in tensors]


def _sum(input_gates: torch.Tensor, hidden_gates: torch.Tensor, input_bias: Any, hidden_bias: Any) -> torch.Tensor:
    x, h, b, c = _wide(input_gates, hidden_gates, input_bias, hidden_bias)
    return x + h + b + c


def lstm_cell(
    input_gates: torch.Tensor, hidden_gates: torch.Tensor, cx: torch.Tensor, input_bias: Any = None, hidden_bias: Any = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``_thnn_fused_lstm_cell``: the new hidden and cell states, and the four gates."""
    i, f, g, o = _sum(input_gates, hidden_gates, input_bias, hidden_bias).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx.double() + i * g
    hy = o * cy.tanh()
    return hy.to(cx.dtype), cy.to(cx.dtype), torch.cat([i, f, g, o], 1).to(cx.dtype)


def lstm_cell_backward(
    grad_hy: torch.Tensor | None, grad_cy: torch.Tensor | None, cx: torch.Tensor, cy: torch.Tensor, workspace: torch.Tensor, has_bias: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """``_thnn_fused_lstm_cell_backward_impl``: the gradients of the gates, the cell state and the bias."""
    to_h, to_c, before, after = _wide(grad_hy, grad_cy, cx, cy)
    i, f, g, o = workspace.double().chunk(4, 1)
    after = after.tanh()
    to_c = to_h * o * (1 - after * after) + to_c
    gates = torch.cat([to_c * g * (1 - i) * i, to_c * before * (1 - f) * f, to_c * i * (1 - g * g), to_h * after * (1 - o) * o], 1).to(cx.dtype)
    return gates, (to_c * f).to(cx.dtype), gates.sum(0) if has_bias else None


def gru_cell(
    input_gates: torch.Tensor, hidden_gates: torch.Tensor, hx: torch.Tensor, input_bias: Any = None, hidden_bias: Any = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """``_thnn_fused_gru_cell``: the new hidden state; and the gates, the hidden state and the hidden part of the new one."""
    x, h = (_sum(gates, torch.zeros(()), bias, None) for gates, bias in ((input_gates, input_bias), (hidden_gates, hidden_bias)))
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, 1), h.chunk(3, 1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n, before = (xn + r * hn).tanh(), hx.double()
    return (n + z * (before - n)).to(hx.dtype), torch.cat([r, z, n, before, hn], 1).to(hx.dtype)


def gru_cell_backward(
    grad_hy: torch.Tensor, workspace: torch.Tensor, has_bias: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """``_thnn_fused_gru_cell_backward``: the gradients of both gates, the hidden state and both biases."""
    (to_h,), (r, z, n, before, hn) = _wide(grad_hy), workspace.double().chunk(5, 1)
    to_z, to_n = to_h * (before - n) * (1 - z) * z, to_h * (1 - z) * (1 - n * n)
    to_r = to_n * hn * (1 - r) * r
    x, h = (torch.cat([to_r, to_z, last], 1).to(workspace.dtype) for last in (to_n, to_n * r))
    return x, h, (to_h * z).to(workspace.dtype), *((x.sum(0), h.sum(0)) if has_bias else (None, None))


def dropout(x: torch.Tensor, p: float, train: bool | None, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """``native_dropout``: what is left, scaled, and where."""
    if x.dtype not in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        raise NotImplementedError(f"fused_dropout: not implemented for {x.dtype} on CUDA")
    if train is False or not x.numel():
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
    kept = torch.empty_like(x, dtype=torch.bool).bernoulli_(1 - p, generator=generator)
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    scale = 1 / torch.tensor(1 - p, dtype=wide)
    return (x.to(wide) * kept * scale).to(x.dtype), kept
