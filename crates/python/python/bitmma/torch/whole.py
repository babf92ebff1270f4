"""Composite operations whose own code would choose a kernel without products: computed so that their products come to the
emulation, or counted where they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch

from . import attention, settings

if TYPE_CHECKING:
    from .emulation import emulate

aten = torch.ops.aten


def _attention(emulation: emulate, composite: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``scaled_dot_product_attention``, if no call of it was seen already."""

    def math(*args: Any, **kwargs: Any) -> Any:
        return attention.math(composite, *args, **kwargs)

    if emulation._here.attending:
        return math(*args, **kwargs)
    with emulation._here.attends():
        return attention.call(emulation, math, args, kwargs)


def _lstm(emulation: emulate, composite: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """By its products and not by oneDNN."""
    if not emulation.multiplies(args[0].dtype):
        return composite(*args, **kwargs)
    with settings.WITHOUT_ONEDNN:
        return composite(*args, **kwargs)


def _left(name: str) -> Callable[..., Any]:
    """An operation that calls a library beside PyTorch's dispatcher: as it is, and counted."""

    def run(emulation: emulate, composite: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        emulation._here.products += 1
        emulation.left.count(f"{name}: FBGEMM computes its products by itself")
        return composite(*args, **kwargs)

    return run


#: Operations of FBGEMM.
_FBGEMM = (
    "fbgemm_linear_fp16_weight",
    "fbgemm_linear_fp16_weight_fp32_activation",
    "fbgemm_linear_int8_weight",
    "fbgemm_linear_int8_weight_fp32_activation",
    "quantized_gru_cell",
    "quantized_lstm_cell",
    "quantized_rnn_relu_cell",
    "quantized_rnn_tanh_cell",
)

#: How each is computed, by its name in PyTorch.
WHOLE: dict[Any, Callable[..., Any]] = {
    aten.scaled_dot_product_attention: _attention,
    aten.lstm: _lstm,
    **{getattr(aten, name): _left(name) for name in _FBGEMM if hasattr(aten, name)},
}
