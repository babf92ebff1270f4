"""Operations that PyTorch computes whole, taken apart so that their products come to the emulation."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from .operations import is_traced

if TYPE_CHECKING:
    from .emulation import emulate

aten = torch.ops.aten
_Key: Any = torch._C.DispatchKey

#: Operations whose own CPU code is made of products: it runs, and its products are emulated.
_MADE_OF_PRODUCTS = ("addbmm", "addbmm_", "_trilinear", "conv_tbc", "_euclidean_dist")
OPENED = {getattr(aten, name) for name in _MADE_OF_PRODUCTS if hasattr(aten, name)}


@lru_cache(maxsize=4096)
def _code_of(func: Any) -> Any:
    """The key under which an operation's code is made of other operations; None for others."""
    packet = getattr(func, "overloadpacket", None)
    if packet is None or not torch._C._dispatch_has_kernel(func.name()):  # prim::device, of which tracing asks
        return None
    keys = [_Key.CompositeImplicitAutograd]
    if packet in OPENED:
        keys += [_Key.CPU, _Key.CompositeExplicitAutograd, _Key.CompositeExplicitAutogradNonFunctional]
    return next((key for key in keys if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key)), None)


def opened(emulation: emulate, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an operation that is made of others, which come to the emulation; NotImplemented for any other.

    In inference mode, and inside of other operations, whole composite ones come here.
    """
    key = _code_of(func)
    if key is not None:
        if is_traced(args):
            return NotImplemented
        with emulation.again(), torch._C.DisableTorchFunction():
            return func.decompose(*args, **kwargs) if key == _Key.CompositeImplicitAutograd else func._op_dk(key, *args, **kwargs)
    if getattr(func, "_name", "") == "flex_attention" and not is_traced(args):
        return _flex_attention(emulation, func, args, kwargs)
    return NotImplemented


def _flex_attention(emulation: emulate, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Scores in FP32 from operands of the query's dtype, as the fused kernel has them; then weights in that dtype."""
    before, query = emulation._exact_in, args[0]
    emulation._exact_in = query.dtype if query.dtype in (torch.float16, torch.bfloat16) else None
    try:
        with emulation.again():
            return func.py_kernels[_Key.CompositeExplicitAutograd](*args, **kwargs)
    finally:
        emulation._exact_in = before


_FLEX = "torch.nn.attention.flex_attention"
_EAGER = "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"


class Calls(TorchFunctionMode):
    """Calls that PyTorch would compile or compute whole: LSTM by its products and not by oneDNN, and ``flex_attention`` as it
    is and not compiled, which PyTorch refuses inside of a mode."""

    def __init__(self, emulation: emulate) -> None:
        super().__init__()
        self._emulation = emulation
        self._before: list[tuple[Any, Any]] = []

    def __enter__(self) -> Calls:
        self._look()
        super().__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        for module, before in self._before:
            setattr(module, _EAGER, before)
        self._before.clear()

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        self._look()
        if func is torch.lstm and self._emulation.takes(args[0].dtype):
            with torch.backends.mkldnn.flags(enabled=False):
                return func(*args, **kwargs)
        return func(*args, **kwargs)

    def _look(self) -> None:
        """The module of ``flex_attention`` takes seconds to import: it is set once someone has."""
        module = None if self._before else sys.modules.get(_FLEX)
        if module is not None and hasattr(module, _EAGER):
            self._before.append((module, getattr(module, _EAGER)))
            setattr(module, _EAGER, True)
