"""Operations that an emulation computes whole (attention, an LSTM) for tensors of the GPU that there seems to be."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from . import state
from .memory import is_on_gpu, to_gpu, to_host


class _OnHost(torch.autograd.Function):
    """A tensor of the GPU on the CPU; its gradient goes back."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        return to_host(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return to_gpu(gradient.contiguous())


class _OnGpu(torch.autograd.Function):
    """A tensor of the CPU on the GPU; its gradient comes back."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        return to_gpu(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return to_host(gradient.contiguous())


def on_gpu(values: Any) -> bool:
    """Whether there is a tensor on the GPU that there seems to be."""
    if not state.IS_ON:
        return False
    return any(is_on_gpu(one) or (isinstance(one, (list, tuple)) and on_gpu(one)) for one in values)


def _moved(value: Any, move: Any, test: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(one, move, test) for one in value)
    return move.apply(value) if isinstance(value, torch.Tensor) and test(value) else value


def on_host(func: Any, args: Any, kwargs: dict[str, Any], mode: AbstractContextManager[Any] | None = None) -> Any:
    """The result of an operation on the GPU, computed on the CPU, gradients too."""
    hosts = [_moved(one, _OnHost, is_on_gpu) for one in args]
    given = {name: _moved(one, _OnHost, is_on_gpu) for name, one in kwargs.items()}
    with mode or nullcontext():
        found = func(*hosts, **given)
    return _moved(found, _OnGpu, lambda tensor: tensor.device.type == "cpu")
