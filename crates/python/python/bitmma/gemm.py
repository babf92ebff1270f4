"""Matrix products of any shape, as a kernel on the GPU makes them of one instruction."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Literal, overload

from . import _arrays
from ._bitmma import Instruction
from ._lazy import numpy as np
from ._options import whole
from ._product import Target, _unit, choice, on_cpu, plain
from .errors import DeviceError, OptionError
from .prepared import Prepared
from .simulate import Unit

if TYPE_CHECKING:
    from ._arrays import Array

__all__ = ["Info", "Target", "gemm", "matmul"]

#: A format: its name, or a dtype of NumPy, ml_dtypes or PyTorch.
Format = Any

def gemm(
    target: Target,
    a: Array,
    b: Array | Prepared,
    c: Array | None = None,
    *,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    scale_blocks: str | None = None,
    split_k: int | None = None,
    promote_every: int | None = None,
    c_last: bool = False,
    alpha: float | None = None,
    beta: float | None = None,
    output: Format | None = None,
    output_rounding: str | None = None,
    saturate: bool = False,
    nan: int | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Array:
    """D = alpha · A·B + beta · C by one instruction, applied along K from +0 or C; A M×K, B K×N, C M×N.

    ``target`` is a :class:`~bitmma.Unit`, or an architecture and an instruction. K is padded to the
    instruction's K with +0 (and factors of one); the padding is part of the result.

    - ``scale_a``, ``scale_b``: scale factors, M × ceil(K/block) and ceil(K/block) × N.
    - ``scale_blocks``: ``scale_a`` and ``scale_b`` are FP32 scales of blocks of A and B along K, as in
      ``"1x128,128x128"``: of 1 row by 128 elements of K of A and of 128 columns by 128 of B, ceil(M/1) × ceil(K/128)
      and ceil(K/128) × ceil(N/128). After each 128 elements the accumulator's result times the product of both scales
      is added to an FP32 sum by one FMA, as DeepGEMM does; C is added last. ``"row"``: M × 1 and 1 × N, applied once.
    - ``split_k``: parts into which K is cut, 1 or more; a part is one of the instruction's steps along K or more,
      so there are as many parts as steps at most. Each starts from +0, and their results are added in FP32 (or
      FP64), then C.
    - ``promote_every``: elements along K after which the accumulator is moved to a sum in FP32 (or FP64),
      which starts from C: what DeepGEMM does every 128 on Hopper.
    - ``c_last``: A·B starts from +0 and C is added to it in FP32 (or FP64), also where a sum could start from C.
    - ``alpha``, ``beta``: rounded to FP32 (or FP64), applied there; a finite number beyond its largest is an error.
    - ``output``: the format that D is converted to at the end, its name or a dtype, by ``output_rounding`` (``"RNE"`` by default), beyond its
      largest number to infinity or (``saturate``) to that number. Without it D stays in the instruction's format.
    - ``nan``: the code that NaN becomes in ``output``; a format that has no NaN (FP6, FP4) refuses NaN without it.
    - ``threads``: 1 to 4096. The result is the same for any number.
    - ``progress``: called now and then with the products done and those there are to do; what it raises ends the product.

    ``b`` may be what :func:`bitmma.prepare` made of B. A and B may be batches of matrices of any rank; dimensions in front are stretched to each other's, as in
    ``numpy.matmul``. Other Python threads run meanwhile. Tensors on a CUDA or ROCm device are multiplied there, to the same bits
    (:mod:`bitmma.gpu`). The order of operations is stated in full in ``bitmma::gemm``.
    """
    unit = _unit(target)
    whole_b: Any = b  # mypy knows nothing of NumPy, which is imported late
    if (
        type(a) is np.ndarray
        and type(b) is np.ndarray
        and a.ndim == whole_b.ndim == 2
        and (scale_a is None and scale_b is None and scale_blocks is None and split_k is None and promote_every is None)
        and (alpha is None and beta is None and output is None and output_rounding is None and nan is None)
        and (threads is None and progress is None and not c_last and not saturate)
    ):
        return plain(unit, a, b, c)
    whole(split_k=split_k, promote_every=promote_every, threads=threads)
    options: dict[str, Any] = {
        "scale_a": scale_a,
        "scale_b": scale_b,
        "scale_blocks": scale_blocks,
        "split_k": split_k,
        "promote_every": promote_every,
        "c_last": c_last,
        "alpha": alpha,
        "beta": beta,
        "output": _arrays.format_named("output", output),
        "output_rounding": output_rounding,
        "saturate": saturate,
        "nan": nan,
    }
    if _arrays.on_gpu(a, b, c):
        if isinstance(b, Prepared):
            raise DeviceError("A is on a GPU, and B was prepared on the CPU: give gemm B itself on the GPU, or bring A to the CPU")
        try:
            from .gpu import gemm as by_kernels
        except ImportError as error:
            raise DeviceError(f"A or B is on a GPU: {error}, or bring both to the CPU: tensor.cpu()") from None
        return by_kernels(unit, a, b, c, **options)
    return on_cpu(unit, a, b, c, threads=threads, progress=progress, **options)


@dataclass(frozen=True)
class Info:
    """What ran in :func:`matmul`, and how."""

    instruction: Instruction
    """The row that was chosen."""
    step: int
    """Elements along K at a time."""
    padded_k: int
    """K after padding."""
    fast: bool
    """Whether a fast kernel ran; else the reference path did."""

    def __str__(self) -> str:
        one = self.instruction
        return (
            f"{one.architecture} {one.name}: {one.precision()}; K in steps of {self.step}, "
            f"padded to {self.padded_k}; evidence: {one.evidence_text}"
        )


@overload
def matmul(
    a: Array,
    b: Array | Prepared,
    *,
    like: str | None = ...,
    accumulate: str = ...,
    output: Format | None = ...,
    read_as: str | tuple[str, str] | None = ...,
    scale_a: Array | None = ...,
    scale_b: Array | None = ...,
    scale_block: int | None = ...,
    scale_blocks: str | None = ...,
    promote_every: int | None = ...,
    threads: int | None = ...,
    return_info: Literal[False] = ...,
) -> Array: ...
@overload
def matmul(
    a: Array,
    b: Array | Prepared,
    *,
    like: str | None = ...,
    accumulate: str = ...,
    output: Format | None = ...,
    read_as: str | tuple[str, str] | None = ...,
    scale_a: Array | None = ...,
    scale_b: Array | None = ...,
    scale_block: int | None = ...,
    scale_blocks: str | None = ...,
    promote_every: int | None = ...,
    threads: int | None = ...,
    return_info: Literal[True],
) -> tuple[Array, Info]: ...
def matmul(
    a: Array,
    b: Array | Prepared,
    *,
    like: str | None = None,
    accumulate: str | None = None,
    output: Format | None = None,
    read_as: str | tuple[str, str] | None = None,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    scale_block: int | None = None,
    scale_blocks: str | None = None,
    promote_every: int | None = None,
    threads: int | None = None,
    return_info: bool = False,
) -> Array | tuple[Array, Info]:
    """A·B as a library would compute it on a chip: ``like="mi300x"``.

    The instruction follows from the chip and the types by the rule of :func:`bitmma.catalogue.choose`; with
    ``return_info`` the second result says which it was. D is in ``accumulate`` (f32, or f64 for f64) unless
    ``output`` says to which format (a name, or a dtype) it is converted at the end, to nearest even. ``read_as`` says what A and B
    (or each) hold where the dtype leaves it open: ``tf32`` for float32, ``e4m3`` for uint8 codes.
    A and B may be batches of any rank, as in :func:`gemm`. Where a PyTorch tensor needs a gradient, the result has one: each
    gradient is such a product, in the dtype of the operand that it is multiplied with, rounded to its own operand's.
    ``scale_a`` and ``scale_b`` are block scales of ``scale_block`` elements each, by default 32 for UE8M0
    and 16 for UE4M3; with ``scale_blocks`` they are FP32 scales of such blocks. ``scale_blocks`` and
    ``promote_every`` are those of :func:`gemm`. ``b`` may be what :func:`bitmma.prepare` made of B, which has chosen the instruction:
    then ``like`` is left out.
    """
    output = _arrays.format_named("output", output)
    options: dict[str, Any] = {"scale_a": scale_a, "scale_b": scale_b, "scale_blocks": scale_blocks}
    options.update(promote_every=promote_every, output=output, threads=threads)
    found: Instruction | None
    if isinstance(b, Prepared):
        chosen = {"like": like, "accumulate": accumulate, "read_as": read_as, "scale_block": scale_block}
        for option, value in chosen.items():
            if value is not None:
                raise OptionError(f"{option} is {value!r}; the instruction was chosen when B was prepared: leave it out")
        if _needs_gradient(a):
            raise OptionError("a product with a prepared operand has no gradient; give it tensors without: tensor.detach()")
        unit, found = b.unit, b.unit.instruction
    elif like is None:
        raise OptionError("like says which chip's instruction computes: like='h100'; only what was prepared knows it already")
    elif not (type(a) is type(b) is np.ndarray) and _needs_gradient(a, b):
        from .torch.gradient import matmul as with_gradient

        if scale_a is not None or scale_b is not None:
            raise OptionError("a product with block scales has no gradient; give it tensors without: tensor.detach()")
        of_each = {"like": like, "accumulate": accumulate, "promote_every": promote_every, "threads": threads}
        return with_gradient(matmul, a, b, output, read_as, return_info, of_each)
    else:
        as_a, as_b = read_as if isinstance(read_as, tuple) else (read_as, read_as)
        scale = None
        if scale_a is not None and scale_blocks is None:
            scale = (_arrays.format_of("scale A", scale_a), scale_block)
        unit, found = choice(like, _arrays.format_of("A", a, as_a), _arrays.format_of("B", b, as_b), accumulate, scale)
    d = gemm(unit, a, b, **options)
    if not return_info:
        return d
    if found is None:
        raise OptionError("return_info tells of an instruction; B was prepared for a model")
    if isinstance(b, Prepared):
        k = b.shape[0]
    else:
        k = _arrays.elements(a) if _arrays.on_gpu(a) else _arrays.words("A", a, unit.a).shape[-1]
    return d, Info(found, unit.step, -(-k // unit.step) * unit.step, unit.has_kernel)


def _needs_gradient(*arrays: Array) -> bool:
    """Whether any of them is a tensor of PyTorch that takes part in a backward pass."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.is_grad_enabled():
        return False
    return any(isinstance(one, torch.Tensor) and one.requires_grad for one in arrays)
