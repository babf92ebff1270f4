"""Operations that PyTorch has on GPUs for narrow types, and on CPUs not: computed in FP32 and rounded once, as its kernels for CUDA are."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch.utils import _pytree as pytree

#: A type that a GPU has, and the one in which the CPU computes it.
_WIDE = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
#: What PyTorch says of a type for which the CPU has no kernel.
_HAS_NONE = re.compile(r"not implemented for '(Half|BFloat16|ComplexHalf)'|(Unsupported dtype|tensors? of type:?) (Half|BFloat16|ComplexHalf|torch.float16)")


def call(func: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The result of an operation."""
    try:
        return func(*args, **kwargs)
    except RuntimeError as error:
        if not _HAS_NONE.search(str(error)) or any(argument.is_write for argument in _written(func)):
            raise
        try:
            found = func(*pytree.tree_map_only(torch.Tensor, _widened, args), **pytree.tree_map_only(torch.Tensor, _widened, kwargs))
        except RuntimeError:
            raise error from None
    kind = next(one.dtype for one in pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor) and one.dtype in _WIDE)
    return pytree.tree_map_only(torch.Tensor, lambda one: _narrowed(one, kind), found)


def _written(func: Any) -> list[Any]:
    return [argument.alias_info for argument in func._schema.arguments if argument.alias_info is not None]


def _widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(_WIDE[tensor.dtype]) if tensor.dtype in _WIDE else tensor


def _narrowed(tensor: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    """A result in the type of the arguments; one of complex numbers is of as many bits."""
    if tensor.dtype == torch.complex64:
        return tensor.to(torch.complex32)
    return tensor.to(torch.float16 if kind == torch.complex32 else kind) if tensor.dtype == torch.float32 else tensor
