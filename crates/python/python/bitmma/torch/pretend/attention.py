"""Attention on the GPU that there seems to be: which kernel PyTorch takes, and the one in tiles, forward and backward.

PyTorch's C++ code has a pointer to the function of its CUDA library that chooses a kernel for ``scaled_dot_product_attention``. That asks a driver; here the
pointer is to :func:`_choice`. All else (checks, padding, masks, autocast, gradients, modes) is PyTorch's own.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import torch
from torch.nn.attention import SDPBackend

from .. import attention
from ..attention import Arguments

#: The pointer, of type DispatchStub in ``ATen/native/DispatchStub.h``, and the function of PyTorch's that it is to.
_POINTER = "_ZN2at6native22_fused_sdp_choice_stubE"
_PLAIN = "_ZN2at6native22_fused_sdp_choice_cudaERKNS_6TensorES3_S3_RKSt8optionalIS1_EdbS4_IdEb"
#: Makes an object of Python of a tensor.
_WRAP = "_Z16THPVariable_WrapRKN2at10TensorBaseE"
#: What the kernels that are not emulated are called, and what to do.
_NONE_OTHER = "of the kernels that sdpa_kernel() may choose, FLASH_ATTENTION and MATH are emulated, and EFFICIENT_ATTENTION with a mask"


class _Raised(threading.local):
    """What the choice raised: it is called from C++, and the kernel that is called next raises it."""

    error: BaseException | None = None


_raised = _Raised()


def _emulation() -> Any:
    """The emulation that computes for this thread; in inference mode it has passed the operation on."""
    from .. import threads

    return threads.acting() or threads.passed()


def _why_not(given: Arguments) -> str:
    """Why PyTorch takes no kernel in tiles of CUDA's, if it does not."""
    q, k, v = tensors = given.query, given.key, given.value
    if any(one.dim() != 4 for one in tensors):
        return "queries, keys and values have other than four dimensions"
    if any(one.stride(-1) != 1 and one.shape[-1] != 1 for one in tensors):
        return "the last dimension of queries, keys or values has strides"
    if q.shape[0] != k.shape[0] or q.shape[0] != v.shape[0]:
        return "batches are stretched"
    if given.gqa and given.mask is None and q.shape[1] % max(k.shape[1], 1) == 0 and k.shape[1] == v.shape[1]:
        return ""
    return "" if q.shape[1] == k.shape[1] == v.shape[1] else "heads are stretched"


def _choose(given: Arguments) -> SDPBackend:
    """The kernel that computes a call."""
    emulation, cuda = _emulation(), torch.backends.cuda
    in_tiles = SDPBackend.FLASH_ATTENTION if given.mask is None else SDPBackend.EFFICIENT_ATTENTION
    allowed = cuda.flash_sdp_enabled() if given.mask is None else cuda.mem_efficient_sdp_enabled()
    if not cuda.math_sdp_enabled():  # kernels that cannot are errors; cuDNN's always is
        return in_tiles if allowed else SDPBackend.CUDNN_ATTENTION
    if emulation is not None and attention.chosen(emulation, given, _why_not(given), allowed) is not None:
        return in_tiles
    return SDPBackend.MATH


def _choice(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, dropout: float, causal: bool, scale: Any, gqa: bool) -> int:
    """As PyTorch's function of that name: the number of a kernel."""
    _raised.error = None
    try:
        return int(_choose(attention.arguments(query, key, value, mask, dropout, causal, scale, gqa)).value)
    except BaseException as error:
        _raised.error = error
        return int(SDPBackend.CUDNN_ATTENTION.value)


class _OptionalDouble(ctypes.Structure):
    _fields_ = [("value", ctypes.c_double), ("is_given", ctypes.c_bool)]


_Function = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_bool, _OptionalDouble, ctypes.c_bool
)


@contextlib.contextmanager
def chosen() -> Iterator[None]:
    """In this block kernels of attention are chosen here."""
    folder = Path(torch.__file__).parent / "lib"
    try:
        stub = ctypes.c_size_t.in_dll(ctypes.CDLL(str(folder / "libtorch_cpu.so")), _POINTER)
        plain = ctypes.cast(getattr(ctypes.CDLL(str(folder / "libtorch_cuda.so")), _PLAIN), ctypes.c_void_p).value
        wrap = getattr(ctypes.PyDLL(str(folder / "libtorch_python.so")), _WRAP)
    except (OSError, AttributeError, ValueError) as error:
        raise RuntimeError(f"PyTorch {torch.__version__} cannot pretend that there is a GPU: {error}") from None
    words = (ctypes.c_size_t * 2).from_address(ctypes.addressof(stub))  # of the CPU, and of CUDA
    if words[1] != plain:
        raise RuntimeError(f"PyTorch {torch.__version__} cannot pretend that there is a GPU: {_POINTER} is not as expected")
    wrap.argtypes, wrap.restype = [ctypes.c_void_p], ctypes.py_object

    def call(query: int, key: int, value: int, mask: int, dropout: float, causal: bool, scale: _OptionalDouble, gqa: bool) -> int:
        has_mask = ctypes.c_bool.from_address(mask + ctypes.sizeof(ctypes.c_void_p)).value
        return _choice(wrap(query), wrap(key), wrap(value), wrap(mask) if has_mask else None, dropout, causal, scale.value if scale.is_given else None, gqa)

    function = _Function(call)
    words[1] = ctypes.cast(function, ctypes.c_void_p).value or 0
    try:
        yield
    finally:
        words[1] = plain


def allows(backend: SDPBackend) -> Callable[..., bool]:
    """``torch.backends.cuda.can_use_flash_attention`` and the like."""

    def can_use(about: Any, debug: bool = False) -> bool:
        mask = about.attn_mask
        given = attention.arguments(about.query, about.key, about.value, mask, about.dropout, about.is_causal, None, about.enable_gqa)
        emulation = _emulation()
        of_these = (mask is None) == (backend is SDPBackend.FLASH_ATTENTION) and backend is not SDPBackend.CUDNN_ATTENTION
        if not of_these or emulation is None or _why_not(given):
            return False
        try:
            return attention.in_tiles(emulation, given) is not None
        except attention.Declined:
            return False

    return can_use


def choose(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *, scale: Any = None, enable_gqa: bool = False) -> int:
    """``_fused_sdp_choice``."""
    return _choice(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


# -- the kernel in tiles, on tensors of the CPU ----------------------------------------------------------------------


def _call(given: Arguments) -> attention.Call:
    emulation = _emulation()
    if emulation is None:
        raise NotImplementedError("scaled_dot_product_attention in tiles is computed by an emulation, and none is on: use bitmma.torch.emulate, or SDPBackend.MATH")
    why = _why_not(given)
    try:
        if why:
            raise attention.Declined(why)
        return attention.in_tiles(emulation, given)
    except attention.Declined as declined:
        raise NotImplementedError(f"this kernel of scaled_dot_product_attention is not emulated for these tensors: {declined}") from None


Strided = Callable[[torch.Tensor], torch.Tensor]


def _by_rows(like: torch.Tensor) -> torch.Tensor:
    """Memory for a result in the order batch, length, head, dimension."""
    return torch.empty_like(like.transpose(1, 2), memory_format=torch.contiguous_format).transpose(1, 2)


def _forward(given: Arguments, strided: Strided = torch.empty_like) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and the logarithms of the sums."""
    call = _call(given)
    lead, flat = given.flat()
    out, lse = call.forward(*flat)
    return strided(given.query).copy_(out.reshape(given.query.shape)), lse.reshape(*lead, -1)


def _backward(given: Arguments, gradient: torch.Tensor, out: torch.Tensor, lse: torch.Tensor, strided: Strided = torch.empty_like) -> list[torch.Tensor]:
    """The gradients of queries, keys and values; those of heads that share keys are added."""
    call = _call(given)
    lead, (q, k, v, mask) = given.flat()
    rows = given.query.shape[-2]
    found = call.backward(gradient.reshape(q.shape), q, k, v, out.reshape(q.shape), lse[..., :rows].reshape(-1, rows), mask)
    results = []
    for one, like in zip(found, (given.query, given.key, given.value)):
        one = one.reshape(*lead, *one.shape[-2:])
        if like.shape[1] != lead[1]:
            one = one.unflatten(1, (like.shape[1], -1)).sum(2)
        results.append(strided(like).copy_(one))
    return results


def _number() -> torch.Tensor:
    return torch.zeros((), dtype=torch.uint64)


def flash(query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, return_debug_mask: bool = False, *, scale: Any = None) -> Any:
    """``_scaled_dot_product_flash_attention``."""
    given = attention.arguments(query, key, value, None, dropout_p, is_causal, scale, True)
    out, lse = _forward(given)
    nothing = torch.empty(0, dtype=query.dtype)
    return out, lse, None, None, query.shape[2], key.shape[2], torch.zeros(2, dtype=torch.uint64), _number(), nothing


def flash_backward(
    gradient: Any, query: Any, key: Any, value: Any, out: Any, lse: Any, sequences_q: Any, sequences_k: Any, max_q: int, max_k: int,
    dropout_p: float, is_causal: bool, seed: Any, offset: Any, *, scale: Any = None,
) -> Any:  # fmt: skip
    """``_scaled_dot_product_flash_attention_backward``."""
    return tuple(_backward(attention.arguments(query, key, value, None, dropout_p, is_causal, scale, True), gradient, out, lse))


#: The logarithms of the sums of the other kernel are padded to this many rows.
_ALIGNED = 32


def efficient(query: Any, key: Any, value: Any, attn_bias: Any, compute_log_sumexp: bool, dropout_p: float = 0.0, is_causal: bool = False, *, scale: Any = None) -> Any:
    """``_scaled_dot_product_efficient_attention``, of which calls with a mask are computed as FlashAttention-2 would."""
    if attn_bias is None:
        raise NotImplementedError(f"_scaled_dot_product_efficient_attention without a mask is not emulated; {_NONE_OTHER}")
    out, lse = _forward(attention.arguments(query, key, value, attn_bias, dropout_p, is_causal, scale), _by_rows)
    rows = -lse.shape[-1] % _ALIGNED
    lse = torch.nn.functional.pad(lse, (0, rows), value=attention.INFINITY) if compute_log_sumexp else lse[..., :0].clone()
    return out, lse, _number(), _number()


def efficient_backward(
    gradient: Any, query: Any, key: Any, value: Any, attn_bias: Any, out: Any, lse: Any, seed: Any, offset: Any,
    dropout_p: float, grad_input_mask: Any, is_causal: bool = False, *, scale: Any = None,
) -> Any:  # fmt: skip
    """``_scaled_dot_product_efficient_attention_backward``."""
    found = _backward(attention.arguments(query, key, value, attn_bias, dropout_p, is_causal, scale), gradient, out, lse, _by_rows)
    return *(one if wanted else None for one, wanted in zip(found, grad_input_mask)), None


def refused(*args: Any, **kwargs: Any) -> Any:
    """cuDNN's kernel; or what the choice raised."""
    error, _raised.error = _raised.error, None
    raise error or NotImplementedError(f"scaled_dot_product_attention: {_NONE_OTHER}: none of these is allowed")
