"""Operations that an emulation computes whole (attention, an LSTM) for tensors of the GPU that there seems to be."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Callable

import torch
from torch.utils import _pytree as pytree

from . import generators, state
from .memory import TWO_DEVICES, is_on_gpu, to_gpu, to_host


class _Once(torch.autograd.Function):
    """A gradient that depends on the tensors of an operation, and is not differentiated again."""

    @staticmethod
    def forward(ctx: Any, gradient: torch.Tensor, *tensors: torch.Tensor) -> torch.Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError("the gradient of an operation that is computed whole for a GPU is not differentiated again")


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
    def backward(ctx: Any, _: Any, *gradients: Any) -> Any:
        with torch.no_grad():
            found = _Whole._backward(ctx, gradients)
        if torch.is_grad_enabled():  # who differentiates it once more is told, also where what comes in is constant
            tensors = ctx.saved_tensors
            found = [None if one is None else _Once.apply(one, *tensors) for one in found]
        return None, *found

    @staticmethod
    def _backward(ctx: Any, gradients: Any) -> list[Any]:
        ctx.saved_tensors  # noqa: B018
        pairs = [(own, to_host(one.contiguous())) for own, one in zip(ctx.found, gradients) if isinstance(own, torch.Tensor) and own.requires_grad and one is not None]
        wanted = [one for one in ctx.hosts if one.requires_grad]
        with torch.enable_grad(), torch._C.DisableTorchFunction(), state.working():
            found = iter(torch.autograd.grad([own for own, _ in pairs], wanted, [one for _, one in pairs], retain_graph=True, allow_unused=True))
        back = [next(found) if one.requires_grad else None for one in ctx.hosts]
        return [None if one is None else to_gpu(one.detach()) for one in back]


def on_gpu(values: Any) -> bool:
    """Whether there is a tensor on the GPU that there seems to be."""
    if not state.IS_ON:
        return False
    return any(is_on_gpu(one) or (isinstance(one, (list, tuple)) and on_gpu(one)) for one in values)


def _check(func: Any, flat: list[Any]) -> None:
    """As PyTorch does, all tensors are on one device, but for the sizes of a packed sequence."""
    packed = 1 if getattr(func, "_overloadname", "") == "data" else None
    if any(isinstance(one, torch.Tensor) and one.dim() > 0 and one.device.type == "cpu" and place != packed for place, one in enumerate(flat)):
        raise RuntimeError(TWO_DEVICES)


def _cast(flat: list[Any]) -> list[Any]:
    """Tensors in the type that autocast of a GPU gives to attention and recurrent layers."""
    if not torch.is_autocast_enabled("cuda"):
        return flat
    dtype = torch.get_autocast_dtype("cuda")
    casts = lambda one: is_on_gpu(one) and one.is_floating_point() and one.dtype != torch.float64  # noqa: E731
    return [one.to(dtype) if casts(one) else one for one in flat]


def on_host(func: Any, args: Any, kwargs: dict[str, Any], mode: AbstractContextManager[Any] | None = None, is_mixed: bool = False) -> Any:
    """The result of an operation on the GPU, computed on the CPU, and its gradient. ``is_mixed``: its tensors may be on either, and autocast leaves them."""
    flat, spec = pytree.tree_flatten((list(args), kwargs))
    if not is_mixed:
        _check(func, flat)
        flat = _cast(flat)
    places = [place for place, one in enumerate(flat) if is_on_gpu(one)]

    def call(hosts: list[torch.Tensor]) -> Any:
        given = list(flat)
        for place, host in zip(places, hosts):
            given[place] = host
        own, named = pytree.tree_unflatten(given, spec)
        with mode or nullcontext():
            return func(*own, **named)

    # numbers between 0 and 1 may be the probability of a dropout
    draws = any(isinstance(one, float) and 0 < one <= 1 for one in flat)
    with generators.lent() if draws else nullcontext():
        found, *results = _Whole.apply(call, *(flat[place] for place in places))
    return pytree.tree_unflatten(results, found)
