"""Operations that PyTorch computes whole, decomposed so that their products come to the emulation."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable

import torch
from torch._ops import HigherOrderOperator
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from . import attention, settings
from .._lock import LOCK
from .pretend.state import is_the_cpus
from .pretend.memory import on_gpu
from .operations import OF_NESTED, OPENED, OWN, composite, is_traced, name, why_left
from .whole import WHOLE

if TYPE_CHECKING:
    from .emulation import emulate

aten = torch.ops.aten
_SDPA = torch.nn.functional.scaled_dot_product_attention
_Key: Any = torch._C.DispatchKey


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
    if nested is not None and packet in OF_NESTED:  # nested tensors have code of their own
        keys.insert(0, getattr(_Key, f"NestedTensor{nested.upper()}", _Key.CompositeImplicitAutograd))
    if packet in OPENED:
        keys += [_Key.CPU, _Key.CompositeExplicitAutograd, _Key.CompositeExplicitAutogradNonFunctional]
    return next((key for key in keys if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key)), None)


def opened(emulation: emulate, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an operation that is made of others, which come to the emulation; NotImplemented for any other.

    In inference mode, and inside of other operations, whole composite ones come here.
    """
    if is_traced(args):
        return NotImplemented
    key = _code_of(func, args)
    if key is not None:
        whole = WHOLE.get(func.overloadpacket)
        with emulation.again(), torch._C.DisableTorchFunction():
            if whole is None or key != _Key.CompositeImplicitAutograd:
                return func._op_dk(key, *args, **kwargs)
            return whole(emulation, composite(func), args, kwargs)
    if isinstance(func, HigherOrderOperator):
        return _higher_order(emulation, func, args, kwargs)
    if getattr(func, "namespace", "aten") not in OWN:
        return _entered(emulation, func, args, kwargs)
    return NotImplemented


def _entered(emulation: emulate, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an operator that others have defined, in Python or C++: its code runs, and what it calls comes to the
    emulation. If that only moves numbers, it is counted by its name, as it may compute by other means."""
    tensors = [one for one in pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
    device = tensors[0].device.type.upper() if tensors else "CPU"
    if is_traced(tuple(tensors)) or not hasattr(_Key, device) or not torch._C._dispatch_has_computed_kernel_for_dispatch_key(func.name(), device):
        return NotImplemented
    here = emulation._here
    before, products = here.operations, here.products
    with emulation.again(), torch._C.DisableTorchFunction():
        result = func.redispatch(torch._C.DispatchKeySet(getattr(_Key, device)), *args, **kwargs)
    if here.products == products and (reason := why_left(func, args)):
        emulation.left.count(f"{name(func, args)}: {reason}")
    elif (here.operations, here.products) == (before, products):
        emulation.account.operation(func, args)
    return result


def _higher_order(emulation: emulate, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an operator whose operands are functions, which run in the emulation."""
    if func._name in ("flex_attention", "flex_attention_backward"):
        return _flex_attention(emulation, func, args, kwargs)
    kernel = func.py_kernels.get(_Key.CompositeExplicitAutograd)
    if kernel is None:
        return NotImplemented

    def inside(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            with emulation.again():
                return function(*args, **kwargs)

        return run

    args, kwargs = pytree.tree_map(lambda one: inside(one) if callable(one) and not isinstance(one, torch.Tensor) else one, (args, kwargs))
    return kernel(*args, **kwargs)


def _flex_attention(emulation: emulate, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Scores in FP32 from operands of the query's dtype, as the fused kernel has them; then weights in that dtype."""
    here, query = emulation._here, args[0]
    backward = ", backward" if func._name.endswith("backward") else ""
    with LOCK:
        emulation.account.attention[f"flex_attention: its two products are the chip's, scores are FP32, softmax is the host's{backward}"] += 1
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
        self._thread = threading.get_ident()

    def __enter__(self) -> Calls:
        settings.look()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        # a forked child closes the frames of its parent's other threads
        if threading.get_ident() == self._thread:
            super().__exit__(*error)

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        settings.look()
        if func is _SDPA:  # here and not only where it is dispatched, as torch.func.vmap decomposes it before
            if on_gpu((*args, *kwargs.values())) or (self._emulation.of_gpu and is_the_cpus()):
                return func(*args, **kwargs)
            with self._emulation._here.attends():
                return attention.call(self._emulation, func, args, kwargs)
        return func(*args, **kwargs)
