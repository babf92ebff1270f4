"""Attention in a graph: ``scaled_dot_product_attention`` as it was asked for, where a GPU would choose among libraries.

As ``"flash"`` it is an operation of its own, which is called between Inductor's kernels and has the bits of ``emulate(attention="flash")``.
"""

from __future__ import annotations

from typing import Any, Callable
from unittest import mock

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from ...errors import Error, OptionError
from .. import attention as attentions
from . import running

#: How it may be computed.
ATTENTION = ("math", "flash")
#: The function, by all of its names.
FUNCTIONS = (F.scaled_dot_product_attention, torch.ops.aten.scaled_dot_product_attention, torch.ops.aten.scaled_dot_product_attention.default)


def check(attention: Any) -> None:
    """An error if it is none of the ways."""
    if attention is not None and attention not in ATTENTION:
        raise OptionError(f"attention is {attention!r}; one of {', '.join(map(repr, ATTENTION))}")


class Attending(TorchFunctionMode):
    """In this block, in which a graph is traced, attention is what it was asked to be also where the graph does not show it: in functions that Dynamo
    has not looked into, and where Inductor finds it in products and a softmax."""

    def __init__(self, attention: str | None) -> None:
        super().__init__()
        self._attend = ATTEND[attention]

    def __enter__(self) -> Attending:
        # what PyTorch's own Python calls, which runs outside of modes
        self._patch = mock.patch.object(F, "scaled_dot_product_attention", self._attend)
        self._patch.start()
        super().__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        self._patch.stop()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return (self._attend if func in FUNCTIONS else func)(*args, **kwargs or {})


def _refused(*args: Any, **kwargs: Any) -> torch.Tensor:
    raise OptionError(
        "the model calls scaled_dot_product_attention, or has products and a softmax that Inductor replaces by it, for which a GPU chooses a kernel "
        f"(FlashAttention, cuDNN's, or the two products): say attention={' or '.join(map(repr, ATTENTION))}"
    )


def _arguments(args: Any, kwargs: Any) -> attentions.Arguments:
    """Those of a call that is traced, as autocast makes them."""
    given = attentions.arguments(*args, **kwargs)
    return given.cast(torch.get_autocast_dtype("cuda")) if torch.is_autocast_enabled("cuda") else given


def _math(*args: Any, **kwargs: Any) -> torch.Tensor:
    given = _arguments(args, kwargs)
    about = {"dropout_p": given.dropout, "is_causal": given.causal, "scale": kwargs.get("scale"), "enable_gqa": given.gqa}
    with torch.autocast("cuda", enabled=False):
        return attentions.math(None, given.query, given.key, given.value, given.mask, **about)  # type: ignore[arg-type, no-any-return]


def _flash(*args: Any, **kwargs: Any) -> torch.Tensor:
    given = _arguments(args, kwargs)
    try:
        given.check_tiles()
        if attentions.is_transformed():
            raise attentions.Declined("inside of a transform of torch.func it has no kernel")
        if given.mask is not None:
            raise attentions.Declined("FlashAttention-2 has no such mask")
    except attentions.Declined as declined:
        raise OptionError(f"attention is 'flash', which does not compute this call of scaled_dot_product_attention: {declined}; say attention='math'") from None
    with torch.autocast("cuda", enabled=False):
        return given.run(lambda q, k, v, mask: torch.ops.bitmma.flash_attention(q, k, v, given.causal, float(given.scale))[0])


#: What computes ``scaled_dot_product_attention`` of tensors that are traced, by what was said.
ATTEND: dict[str | None, Callable[..., torch.Tensor]] = {None: _refused, "math": _math, "flash": _flash}


def _call(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float) -> attentions.Call:
    """How the chip whose graph this thread runs computes a call."""
    backend = running.backend()
    if backend is None:
        raise Error("bitmma::flash_attention is called outside of a graph that was compiled for a chip")
    emulation = backend.emulation
    given = attentions.Arguments(q, k, v, None, 0.0, causal, scale, False)
    try:
        kernel = attentions.kernel_of(attentions.Flash(), emulation.arithmetic, given, emulation)
    except attentions.Declined as declined:
        raise OptionError(f"attention is 'flash', which {backend.options.chip} does not compute: {declined}; say attention='math'") from None
    return attentions.Call(emulation, kernel, {})


@torch.library.custom_op("bitmma::flash_attention", mutates_args=())
def _forward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and the logarithms of the sums; batch × length × dimension."""
    return _call(q, k, v, causal, scale).forward(q, k, v, None)


@_forward.register_fake
def _(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    return q.new_empty(q.shape), q.new_empty(q.shape[:2], dtype=torch.float32)


@torch.library.custom_op("bitmma::flash_attention_backward", mutates_args=())
def _backward(
    gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor, causal: bool, scale: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of queries, keys and values."""
    dq, dk, dv = _call(q, k, v, causal, scale).backward(gradient, q, k, v, out, lse, None)
    return dq.contiguous(), dk.contiguous(), dv.contiguous()


@_backward.register_fake
def _(gradient: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: Any, lse: Any, causal: bool, scale: float) -> tuple[torch.Tensor, ...]:
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, torch.Tensor]) -> None:
    *tensors, ctx.causal, ctx.scale = inputs
    ctx.save_for_backward(*tensors, *output)
    ctx.mark_non_differentiable(output[1])


def _gradients(ctx: Any, gradient: torch.Tensor, _: Any) -> Any:
    return (*torch.ops.bitmma.flash_attention_backward(gradient, *ctx.saved_tensors, ctx.causal, ctx.scale), None, None)


_forward.register_autograd(_gradients, setup_context=_save)
