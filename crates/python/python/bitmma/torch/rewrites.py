"""Operations that PyTorch computes whole, decomposed so that their products come to the emulation."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from . import attention, settings
from .operations import is_traced

if TYPE_CHECKING:
    from .emulation import emulate

aten = torch.ops.aten
_SDPA = torch.nn.functional.scaled_dot_product_attention
_Key: Any = torch._C.DispatchKey

#: Operations whose own CPU code is made of products: it runs, and its products are emulated.
_MADE_OF_PRODUCTS = ("addbmm", "addbmm_", "_trilinear", "conv_tbc", "_euclidean_dist", "linalg_matrix_exp")
OPENED = {getattr(aten, name) for name in _MADE_OF_PRODUCTS if hasattr(aten, name)}
#: The same of nested tensors, whose products are those of their parts.
_OF_NESTED = {getattr(aten, name) for name in ("bmm", "matmul", "matmul_backward", "linear", "linear_backward") if hasattr(aten, name)}


def _code_of(func: Any, args: tuple[Any, ...]) -> Any:
    """The key under which an operation's code is made of other operations; None for others."""
    nested = next((one for one in args if isinstance(one, torch.Tensor) and one.is_nested), None)
    return _key(func, None if nested is None else nested.device.type)


@lru_cache(maxsize=4096)
def _key(func: Any, nested: str | None) -> Any:
    packet = getattr(func, "overloadpacket", None)
    if packet is None or not torch._C._dispatch_has_kernel(func.name()):  # prim::device, of which tracing asks
        return None
    keys = [_Key.CompositeImplicitAutograd]
    if nested is not None and packet in _OF_NESTED:  # nested tensors have code of their own
        keys.insert(0, getattr(_Key, f"NestedTensor{nested.upper()}", _Key.CompositeImplicitAutograd))
    if packet in OPENED:
        keys += [_Key.CPU, _Key.CompositeExplicitAutograd, _Key.CompositeExplicitAutogradNonFunctional]
    return next((key for key in keys if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key)), None)


def opened(emulation: emulate, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an operation that is made of others, which come to the emulation; NotImplemented for any other.

    In inference mode, and inside of other operations, whole composite ones come here.
    """
    key = _code_of(func, args)
    if key is not None:
        if is_traced(args):
            return NotImplemented
        if func.overloadpacket is aten.scaled_dot_product_attention and not emulation._here.attending:
            return attention.call(emulation, lambda *args, **kwargs: _decomposed(emulation, func, key, args, kwargs), args, kwargs)
        return _decomposed(emulation, func, key, args, kwargs)
    if getattr(func, "_name", "") == "flex_attention" and not is_traced(args):
        return _flex_attention(emulation, func, args, kwargs)
    return NotImplemented


def _decomposed(emulation: emulate, func: Any, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with emulation.again(), torch._C.DisableTorchFunction():
        return func.decompose(*args, **kwargs) if key == _Key.CompositeImplicitAutograd else func._op_dk(key, *args, **kwargs)


def _flex_attention(emulation: emulate, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Scores in FP32 from operands of the query's dtype, as the fused kernel has them; then weights in that dtype."""
    here, query = emulation._here, args[0]
    emulation.account.attention["flex_attention: its two products are the chip's, scores are FP32, softmax is the host's"] += 1
    before = here.exact_in
    here.exact_in = query.dtype if query.dtype in (torch.float16, torch.bfloat16) else None
    try:
        with emulation.again():
            return func.py_kernels[_Key.CompositeExplicitAutograd](*args, **kwargs)
    finally:
        here.exact_in = before


class Calls(TorchFunctionMode):
    """Calls that PyTorch would compile or compute whole (:mod:`~bitmma.torch.settings`)."""

    def __init__(self, emulation: emulate) -> None:
        super().__init__()
        self._emulation = emulation

    def __enter__(self) -> Calls:
        settings.look()
        super().__enter__()
        return self

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        settings.look()
        if func is _SDPA:
            with self._emulation._here.attends():  # in inference mode it comes to `opened`, too
                return attention.call(self._emulation, func, args, kwargs)
        if func is torch.lstm and self._emulation.takes(args[0].dtype):
            with settings.WITHOUT_ONEDNN:
                return func(*args, **kwargs)
        return func(*args, **kwargs)
