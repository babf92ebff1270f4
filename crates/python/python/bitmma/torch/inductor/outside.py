"""What no kernel of a graph computes: calls in its code, of libraries and of PyTorch's operations, and what a model runs outside of its graphs."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ..._lock import LOCK
from ...errors import Error, OptionError
from ..account import Account, base_name, kind_of
from ..emulation import emulate
from ..operations import has_products
from . import running

#: What becomes of them.
OUTSIDE = ("refuse", "gemm", "host")
#: Names of what only makes or describes memory, of what draws seeds (:mod:`.seeds`), and of our own operations.
_DESCRIBES = re.compile(r"bitmma\.\w+(\.default)?|randint\.low_out|empty_strided\w*|reinterpret_tensor|assert_\w+|_alloc_from_pool|set_|copy_|item")
#: Operations that are exact, and whose gradients are, or that have none.
_MOVES = re.compile(
    r"view\w*|_unsafe_view|_reshape_alias|as_strided|expand|unfold|alias|detach|clone|_to_copy|copy|t|transpose|permute|slice|select|split\w*|unbind|diagonal|(un)?squeeze"
    r"|_local_scalar_dense|(empty|zeros|ones|full)_like|new_\w+|is_\w+|eq|ne|lt|le|gt|ge|equal"
)
#: Operations that round, though others of their names only move or choose.
_ROUNDS = re.compile(r"(leaky_relu|linspace|(?!(select|slice|diagonal)_)\w+_backward)\..*|scatter\.\w*reduce\w*|round\.decimals")
#: Layers that PyTorch computes whole where no gradient is wanted.
_FAST_PATH = re.compile(r"(_transformer_encoder_layer_fwd|_native_multi_head_attention)(\.default)?")


class OutsideCall(Error):
    """A model needs what no kernel of Triton computes."""


def check(outside: str) -> None:
    """An error if it is none of the choices."""
    if outside not in OUTSIDE:
        raise OptionError(f"outside is {outside!r}; one of {', '.join(map(repr, OUTSIDE))}")


def calls(code: str) -> Counter[str]:
    """Those in the code of a graph, by name."""
    # kernels stand in quotes, before what calls them
    body = re.sub(r"'''.*?'''", "", code, flags=re.DOTALL)
    body = re.sub(r"\bbincount\.default(?=\(\w+, (?!None)[a-z])", "bincount.weights", body)
    found = re.findall(r"\b(?:extern_kernels|torch\.ops|aten|inductor_ops|quantized_decomposed)\.([\w.]+)\(", body)
    found += re.findall(r"\b(cpp_fused\w*)\(", body)  # kernels of the host
    return Counter(name.removeprefix("aten.") for name in found if not any(map(_DESCRIBES.fullmatch, (name.removeprefix("aten."), name.split(".")[-1]))))


def _function(name: str) -> Any:
    """PyTorch's operation of a name, if it has one."""
    func: Any = torch.ops.aten
    for part in name.split(".")[:2]:
        func = getattr(func, part, None)
    return getattr(func, "default", func)  # of one without overload


def is_exact(name: str) -> bool:
    """Whether a call gives the same bits everywhere: it moves, chooses or compares."""
    func = _function(name)
    of_complex = name.split(".")[0] in ("abs", "sgn")  # others are kernels
    return func is not None and kind_of(func) == "exact" and not of_complex and not _ROUNDS.fullmatch(name if "." in name else f"{name}.")


def count(found: Counter[str], account: Account) -> None:
    """Calls that the host has computed, in the account; its caller holds the lock."""
    for name, times in found.items():
        if has_products(f"aten::{name}"):
            account.left[f"{name}: outside='host'"] += times
        else:
            func = _function(name)
            account.host["other" if func is None else kind_of(func)][name] += times


def check_calls(found: Counter[str], outside: str) -> None:
    """An error that names what is not exact, if it is refused."""
    if outside != "refuse":
        return
    wrong = [name for name in sorted(found) if not is_exact(name)]
    if fast := [name for name in wrong if _FAST_PATH.fullmatch(name)]:
        raise OutsideCall(f"the compiled model calls {fast[0]}, PyTorch's fast path of a transformer's layer, which no kernel of Triton computes: turn it off, torch.backends.mha.set_fastpath_enabled(False)")
    if wrong:
        raise OutsideCall(
            f"the compiled model calls {', '.join(wrong)}, which no kernel of Triton computes: outside='gemm' computes products by the chip's "
            "instruction, K in order, and the rest on the host; outside='host' leaves all of it to PyTorch; the account lists every call"
        )


def _is_real(value: Any) -> bool:
    """Whether an argument is a number, a tensor or a type that is not of integers."""
    dtype = value.dtype if isinstance(value, torch.Tensor) else value
    return dtype.is_floating_point or dtype.is_complex if isinstance(dtype, torch.dtype) else isinstance(value, (float, complex))


def _rounds(func: Any, name: str, values: list[Any]) -> bool:
    """Whether an operation on these rounds. One that is given integers alone may all the same, and then gives numbers that are none."""
    if kind_of(func) != "exact":
        return kind_of(func) == "random" or any(map(_is_real, values))
    if name in ("abs", "sgn"):
        return any(isinstance(one, torch.Tensor) and one.is_complex() for one in values)
    if name == "bincount":
        return any(map(_is_real, values))
    if name == "arange":
        return any(isinstance(one, float) for one in values)
    return bool(_ROUNDS.fullmatch(f"{name}.{func._overloadname}"))


class Unrecorded(TorchDispatchMode):
    """In this block what a model runs outside of its graphs is what ``outside`` says."""

    def __init__(self, outside: str, emulation: emulate) -> None:
        super().__init__()
        self._outside, self._emulation = outside, emulation

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Dynamo records all the same."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if running.is_inside():
            return func(*args, **kwargs)
        name, values = base_name(func), tree_leaves((args, kwargs))
        tensors = [one for one in values if isinstance(one, torch.Tensor)]
        is_differentiated = torch.is_grad_enabled() and any(one.requires_grad for one in tensors)
        if not _rounds(func, name, values) and (not is_differentiated or _MOVES.fullmatch(name)):
            found = func(*args, **kwargs)
            if kind_of(func) != "exact":  # of integers
                is_exact = not any(map(_is_real, tree_leaves(found)))
            else:  # the gradient of a view that has an element twice is a sum
                is_exact = not (is_differentiated and name in ("as_strided", "expand", "unfold")) or torch._debug_has_internal_overlap(found) == 0
            if is_exact:
                return found
        if self._outside == "refuse":
            raise OutsideCall(
                f"the model runs {name} outside of what was compiled, or its gradient would: PyTorch cannot record it, or torch.compile is off (TORCHDYNAMO_DISABLE, "
                "set_stance, suppress_errors, recompile_limit); outside='host' leaves it to PyTorch; the account lists every call"
            )
        if self._outside == "gemm":
            if name.startswith("_scaled_dot_product"):
                raise OutsideCall(f"the model runs {name} outside of what was compiled, where no attention is emulated: let PyTorch record it, or say outside='host'")
            if is_differentiated and has_products(func.name()):
                raise OutsideCall(f"the model runs {name} outside of what was compiled, whose gradient would be the host's: call it under torch.no_grad()")
            with self._emulation:
                return func(*args, **kwargs)
        with LOCK:
            count(Counter({name: 1}), self._emulation.account)
        return func(*args, **kwargs)
