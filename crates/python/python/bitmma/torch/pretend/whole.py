"""Operations that an emulation computes whole (attention, an LSTM) for tensors of the GPU that there seems to be."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Callable

import torch
from torch.autograd.function import once_differentiable
from torch.utils import _pytree as pytree

from . import state
from .memory import is_on_gpu, to_gpu, to_host


class _Whole(torch.autograd.Function):
    """A function of tensors on the GPU that runs on the CPU, and so does its backward pass."""

    @staticmethod
    def forward(ctx: Any, call: Callable[[list[torch.Tensor]], Any], *tensors: torch.Tensor) -> Any:
        hosts = [to_host(one.detach()).requires_grad_(one.requires_grad) for one in tensors]
        with torch.enable_grad(), torch._C.DisableTorchFunction(), state.working():
            found, ctx.spec = pytree.tree_flatten(call(hosts))
        ctx.hosts, ctx.found = hosts, found
        ctx.save_for_backward(*tensors)  # so that PyTorch says if one was changed in place
        results = [to_gpu(one.detach()) if isinstance(one, torch.Tensor) else one for one in found]
        ctx.mark_non_differentiable(*(one for one, own in zip(results, found) if isinstance(one, torch.Tensor) and not own.requires_grad))
        return (ctx.spec, *results)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: Any, *gradients: Any) -> Any:
        ctx.saved_tensors  # noqa: B018
        pairs = [(own, to_host(one.contiguous())) for own, one in zip(ctx.found, gradients) if isinstance(own, torch.Tensor) and own.requires_grad and one is not None]
        wanted = [one for one in ctx.hosts if one.requires_grad]
        with torch._C.DisableTorchFunction(), state.working():
            found = iter(torch.autograd.grad([own for own, _ in pairs], wanted, [one for _, one in pairs], retain_graph=True, allow_unused=True))
        back = [next(found) if one.requires_grad else None for one in ctx.hosts]
        return None, *(None if one is None else to_gpu(one) for one in back)


def on_gpu(values: Any) -> bool:
    """Whether there is a tensor on the GPU that there seems to be."""
    if not state.IS_ON:
        return False
    return any(is_on_gpu(one) or (isinstance(one, (list, tuple)) and on_gpu(one)) for one in values)


def on_host(func: Any, args: Any, kwargs: dict[str, Any], mode: AbstractContextManager[Any] | None = None) -> Any:
    """The result of an operation on the GPU, computed on the CPU, and its gradient."""
    flat, spec = pytree.tree_flatten((list(args), kwargs))
    places = [place for place, one in enumerate(flat) if is_on_gpu(one)]

    def call(hosts: list[torch.Tensor]) -> Any:
        given = list(flat)
        for place, host in zip(places, hosts):
            given[place] = host
        own, named = pytree.tree_unflatten(given, spec)
        with mode or nullcontext():
            return func(*own, **named)

    found, *results = _Whole.apply(call, *(flat[place] for place in places))
    return pytree.tree_unflatten(results, found)
