"""How each operation is made of products. ``multiply`` is the emulation's; the rest is moving data."""

from __future__ import annotations

import re
import sys
from typing import Any, Callable

import torch

from . import convolution, grouped, scaled
from .choice import dtype_name

aten = torch.ops.aten
Multiply = Callable[..., Any]


def mm(multiply: Multiply, a: torch.Tensor, b: torch.Tensor, out_dtype: torch.dtype | None = None) -> Any:
    """A·B, of matrices or of batches of them."""
    return multiply(a, b, to=out_dtype or a.dtype)


def addmm(
    multiply: Multiply,
    c: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    out_dtype: torch.dtype | None = None,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> Any:
    """beta · C + alpha · A·B; C as large as the result, or stretched to it."""
    c = c.expand(*a.shape[:-1], b.shape[-1])
    return multiply(a, b, c=c, alpha=alpha, beta=beta, to=out_dtype or a.dtype)


def addmm_activation(
    multiply: Multiply,
    c: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    use_gelu: bool = False,
) -> Any:
    """``addmm``, then ReLU or GELU."""
    result = addmm(multiply, c, a, b, beta=beta, alpha=alpha)
    if result is NotImplemented:
        return result
    return torch.nn.functional.gelu(result) if use_gelu else result.relu()


def mv(multiply: Multiply, a: torch.Tensor, x: torch.Tensor) -> Any:
    """A matrix times a vector, as a matrix of one column."""
    result = multiply(a, x[:, None], to=a.dtype)
    return result if result is NotImplemented else result[:, 0]


def addmv(multiply: Multiply, c: torch.Tensor, a: torch.Tensor, x: torch.Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta · C + alpha · A·x."""
    result = addmm(multiply, c.expand(len(a))[:, None], a, x[:, None], beta=beta, alpha=alpha)
    return result if result is NotImplemented else result[:, 0]


_BY_NAME: dict[str, Callable[..., Any]] = {
    "mm": mm,
    "bmm": mm,
    "addmm": addmm,
    "addmm_": addmm,
    "baddbmm": addmm,
    "baddbmm_": addmm,
    "_addmm_activation": addmm_activation,
    "mv": mv,
    "addmv": addmv,
    "addmv_": addmv,
    "_scaled_mm": scaled.scaled_mm,
    "_scaled_mm_v2": scaled.scaled_mm_v2,
    "_grouped_mm": grouped.grouped_mm,
    "_scaled_grouped_mm": grouped.scaled_grouped_mm,
    "convolution": convolution.forward,
    "convolution_backward": convolution.backward,
}
TABLE = {getattr(aten, name): function for name, function in _BY_NAME.items() if hasattr(aten, name)}

#: Operations with products of their own that are left as they are, and why.
LEFT = {
    "dot": "libraries run products of two vectors outside of the matrix unit",
    "vdot": "libraries run products of two vectors outside of the matrix unit",
    "addr": "libraries run products of two vectors outside of the matrix unit",
    "ger": "libraries run products of two vectors outside of the matrix unit",
}
#: What the name of an operation with products looks like.
_PRODUCT = re.compile(r"(^|_)(\w*mm|matmul|linear|conv\w*|dot|rnn|lstm|gru|attention|encoder_layer|cdist)(_|$)")
_OTHER = re.compile(r"upsample|interpolat|im2col|col2im|nonlinear|_nested_|convert|sample|convolution_overrideable_meta")


def name(func: Any, args: tuple[Any, ...]) -> str:
    """The operation and the dtypes of its tensors."""
    tensors = (one for one in args if isinstance(one, torch.Tensor))
    return " ".join([_base(func), *{dtype_name(one.dtype): 0 for one in tensors}])


def why_left(func: Any, args: tuple[Any, ...]) -> str:
    """Why an operation with products is left as it is; empty for one without products."""
    base = _base(func).rpartition("::")[2].rstrip("_")
    if getattr(func, "overloadpacket", None) in TABLE:
        return "traced, not run" if is_traced(args) else "sparse and quantised operands run on other units"
    if base in LEFT:
        return LEFT[base]
    if _PRODUCT.search(base) and not _OTHER.search(base):
        return "not an operation that is emulated"
    return ""


def is_dense(args: tuple[Any, ...]) -> bool:
    """Whether all tensors hold numbers, row by row, in this process."""
    tensors = [one for one in args if isinstance(one, torch.Tensor)]
    return all(one.layout == torch.strided and not one.is_quantized for one in tensors) and not is_traced(args)


def is_traced(args: tuple[Any, ...]) -> bool:
    """Whether tensors stand for others, as in ``torch.export``."""
    kinds = tuple(
        getattr(sys.modules[module], kind)
        for module, kind in (
            ("torch._subclasses.fake_tensor", "FakeTensor"),
            ("torch._subclasses.functional_tensor", "FunctionalTensor"),
        )
        if module in sys.modules  # where they are not imported there are none, and to import them takes seconds
    )
    return any(isinstance(one, kinds) or (isinstance(one, torch.Tensor) and one.is_meta) for one in args)


def _base(func: Any) -> str:
    packet = getattr(func, "overloadpacket", None)
    if packet is None:  # a higher-order operator
        return str(getattr(func, "__name__", func))
    namespace = func.namespace
    return packet.__name__ if namespace == "aten" else f"{namespace}::{packet.__name__}"
