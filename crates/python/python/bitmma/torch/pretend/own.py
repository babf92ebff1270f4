"""Operations that PyTorch has for GPUs only, or otherwise than on the CPU."""

from __future__ import annotations

from typing import Any, Callable

from . import attention, fused, histogram

#: How they are computed, on tensors of the CPU.
OWN: dict[str, Callable[..., Any]] = {
    "_fused_sdp_choice": attention.choose,
    "_scaled_dot_product_flash_attention": attention.flash,
    "_scaled_dot_product_flash_attention_backward": attention.flash_backward,
    "_scaled_dot_product_efficient_attention": attention.efficient,
    "_scaled_dot_product_efficient_attention_backward": attention.efficient_backward,
    "_scaled_dot_product_cudnn_attention": attention.refused,
    "histc": histogram.histc,
    "_thnn_fused_lstm_cell": fused.lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": fused.lstm_cell_backward,
    "_thnn_fused_gru_cell": fused.gru_cell,
    "_thnn_fused_gru_cell_backward": fused.gru_cell_backward,
}
