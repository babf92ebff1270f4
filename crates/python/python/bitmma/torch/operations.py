"""How each operation is made of products. ``multiply`` is the emulation's, as is ``multiply.host``, which computes what is no product;
the rest is moving data."""

from __future__ import annotations

import re
import sys
from functools import lru_cache, partial
from typing import Any, Callable

import torch

from . import convolution, grouped, scaled
from .choice import dtype_name

aten = torch.ops.aten
Multiply = Any

#: Namespaces of PyTorch itself; operators of all others are code that someone wrote with PyTorch's.
OWN = ("aten", "prim", "prims", "c10d", "_c10d_functional", "symm_mem", "profiler")


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
    return multiply.host(aten.gelu.default, result) if use_gelu else result.relu()


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
    "_convolution": convolution.of_traces,
    "convolution_backward": convolution.backward,
}
TABLE = {getattr(aten, name): function for name, function in _BY_NAME.items() if hasattr(aten, name)}

#: Operations whose own CPU code is made of products: it runs, and its products are emulated.
OPENED = {
    getattr(aten, name)
    for name in ("addbmm", "addbmm_", "_trilinear", "conv_tbc", "_euclidean_dist", "linalg_matrix_exp")
    if hasattr(aten, name)
}
#: The same of nested tensors, whose products are those of their parts.
OF_NESTED = {getattr(aten, name) for name in ("bmm", "matmul", "matmul_backward", "linear", "linear_backward") if hasattr(aten, name)}

#: Operations with products that are left as they are, by name, and why; the first row that matches counts.
LEFT = (
    (r"dot|vdot|addr|ger", "libraries run products of two vectors outside of the matrix unit"),
    (r"_int_mm", "products of integers are not emulated"),
    (
        r"_?linalg_(cholesky|det|eig|householder|inv|ldl|lstsq|lu|matrix|pinv|polar|qr|slogdet|solve|svd)\w*"
        r"|_?cholesky_(solve|inverse)\w*|geqrf|ormqr|triangular_solve|_spsolve|svd",
        "the products of factorizations and solvers are not emulated",
    ),
    (r"_?fft_[cr]2[cr]", "the products of Fourier transforms are not emulated"),
    (
        r"(\w*_)?(\w*mm|gemv|matmul|q?linear|q?conv\w*|dot|rnn|lstm|gru|attention|attn|flash|encoder_layer|cdist)(_\w*)?",
        "not an operation that is emulated",
    ),
)
#: Of these, operations without products: they convert, pack and describe.
_NO_PRODUCTS = re.compile(
    r"upsample|interpolat|im2col|col2im|nonlinear|_nested_|convert|grid_sample|overrideable_meta|reorder|prepack(?!ed)|unpack(?!ed)|flatten_weight"
    r"|_thnn_fused|linear_combination|(conv\d?d?|transpose\dd)_(stride|padding|output_padding|dilation|groups|transpose)$"
)


def name(func: Any, args: tuple[Any, ...]) -> str:
    """The operation and the dtypes of its tensors."""
    tensors = (one for one in args if isinstance(one, torch.Tensor))
    return " ".join([_base(func), *{dtype_name(one.dtype): 0 for one in tensors}])


def why_left(func: Any, args: tuple[Any, ...]) -> str:
    """Why an operation with products is left as it is; empty for one without products, and for one that is traced and not run."""
    if is_traced(args):
        return ""
    if getattr(func, "overloadpacket", None) in TABLE:
        return "sparse and quantized operands run on other units"
    return _why_left(_base(func).rpartition("::")[2].rstrip("_"))


@lru_cache(maxsize=4096)
def _why_left(base: str) -> str:
    if _NO_PRODUCTS.search(base):
        return ""
    return next((why for names, why in LEFT if re.fullmatch(names, base)), "")


def has_products(full: str) -> bool:
    """Whether an operation has products, by its full name."""
    space, _, rest = full.partition("::")
    base = rest.partition(".")[0]
    return (space == "aten" and base in _BY_NAME) or _why_left(base.rstrip("_")) != ""


@lru_cache(maxsize=4096)
def is_emulated(func: Any) -> bool:
    """Whether an emulation computes the products of an operation, or of what it makes of it."""
    packet = getattr(func, "overloadpacket", None)
    return packet in TABLE or packet in OPENED or (packet is not None and _why_left(_base(func).rpartition("::")[2].rstrip("_")) == LEFT[-1][1])


def is_leaf(full: str) -> bool:
    """Whether the code of an operation, given its full name, is other than a sequence of operations."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return not has(full, "CompositeImplicitAutograd") and not has(full, "BackendSelect")


def composite(func: Any) -> Callable[..., Any]:
    """PyTorch's own code of an operation that is made of others. ``OpOverload.decompose`` may be another one, in Python, once some module of
    PyTorch is imported: that of an LSTM has no dropout."""
    return partial(func._op_dk, torch._C.DispatchKey.CompositeImplicitAutograd)


def unwraps_itself(kind: type) -> bool:
    """Whether tensors of a class say themselves how operations run on them: they go on to operations on what they hold."""
    own = getattr(kind, "__torch_dispatch__", torch._C._disabled_torch_dispatch_impl)
    return own is not torch._C._disabled_torch_dispatch_impl and not issubclass(kind, _stand_ins())


def is_dense(args: tuple[Any, ...]) -> bool:
    """Whether all tensors hold numbers, row by row, in this process."""
    tensors = [one for one in args if isinstance(one, torch.Tensor)]
    return all(one.layout == torch.strided and not one.is_quantized and not one.is_nested for one in tensors) and not is_traced(args)


def is_traced(args: tuple[Any, ...]) -> bool:
    """Whether tensors stand for others, as in ``torch.export``."""
    tensors = [one for one in args if isinstance(one, torch.Tensor)]
    # a plain tensor is known without asking, which every operation of a model does
    return any(one.is_meta or (type(one) is not torch.Tensor and isinstance(one, _stand_ins())) for one in tensors)


def is_recorded() -> bool:
    """Whether ``make_fx`` (``torch.func.linearize``) records operations, or FakeTensorMode their shapes: in a mode that they come to after those of users."""
    return any(torch._C._get_dispatch_mode(key) is not None for key in (torch._C._TorchDispatchModeKey.PROXY, torch._C._TorchDispatchModeKey.FAKE))


def _stand_ins() -> tuple[type, ...]:
    return tuple(
        getattr(sys.modules[module], kind)
        for module, kind in (
            ("torch._subclasses.fake_tensor", "FakeTensor"),
            ("torch._subclasses.functional_tensor", "FunctionalTensor"),
        )
        if module in sys.modules  # where they are not imported there are none, and to import them takes seconds
    )


def _base(func: Any) -> str:
    packet = getattr(func, "overloadpacket", None)
    if packet is None:  # a higher-order operator
        return str(getattr(func, "__name__", func))
    namespace = func.namespace
    return packet.__name__ if namespace == "aten" else f"{namespace}::{packet.__name__}"
