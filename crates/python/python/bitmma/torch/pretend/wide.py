"""Operations that PyTorch has on GPUs for narrow types, and on CPUs not: computed in FP32 and rounded once, as its kernels for CUDA are."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch.utils import _pytree as pytree

_BCOMPLEX32 = getattr(torch, "bcomplex32", torch.complex32)  # from PyTorch 2.15 on; before, no operation here has complex results of BF16
#: A type that a GPU has, and the one in which the CPU computes it.
_WIDE = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64, _BCOMPLEX32: torch.complex64}
#: What results in FP32 and complex64 become, by the type of the arguments.
_FP16 = {torch.float32: torch.float16, torch.complex64: torch.complex32}
_BF16 = {torch.float32: torch.bfloat16, torch.complex64: _BCOMPLEX32}
_NARROW = {_BCOMPLEX32: _BF16, torch.bfloat16: _BF16, torch.float16: _FP16, torch.complex32: _FP16}
#: What PyTorch says of a type for which the CPU has no kernel.
_HAS_NONE = re.compile(r"not implemented for '(Half|BFloat16|ComplexHalf)'|(Unsupported dtype|tensors? of type:?) (Half|BFloat16|ComplexHalf|ComplexBFloat16|BComplex32|torch.float16)")

#: Factorizations and solvers: cuSOLVER and cuBLAS have none for narrow types either.
_SOLVES = re.compile(r"linalg_|cholesky|geqrf|ormqr|triangular_solve|lu_")


def call(func: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The result of an operation."""
    try:
        return func(*args, **kwargs)
    except RuntimeError as error:
        if not _HAS_NONE.search(str(error)) or func._schema.is_mutable or _SOLVES.search(func.name()):
            raise
        try:
            found = func(*pytree.tree_map_only(torch.Tensor, _widened, args), **pytree.tree_map_only(torch.Tensor, _widened, kwargs))
        except RuntimeError:
            raise error from None
    kind = next(one.dtype for one in pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor) and one.dtype in _WIDE)
    return pytree.tree_map_only(torch.Tensor, lambda one: _narrowed(one, kind), found)


def _widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(_WIDE[tensor.dtype]) if tensor.dtype in _WIDE else tensor


def _narrowed(tensor: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    """A result in the type of the arguments; one of complex numbers is of as many bits."""
    return tensor.to(_NARROW[kind].get(tensor.dtype, tensor.dtype))
