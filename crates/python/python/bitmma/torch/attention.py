"""Attention in tiles, in the order of FlashAttention-2, with the products of a chip's instruction.

Derived from source: Dao-AILab/flash-attention at 0251105a2fb19d2957484b7f023cd8c115286ced, csrc/flash_attn/src:
``flash_fwd_launch_template.h`` and ``flash_bwd_launch_template.h`` (tiles), ``flash_fwd_kernel.h`` and ``flash_bwd_kernel.h`` (order),
``softmax.h`` (softmax), ``flash_bwd_preprocess_kernel.h`` (the sum of gradient times output, dQ at the end), ``mask.h``,
``kernel_traits.h`` (the instruction, m16n8k16 on every GPU from Ampere on, and which thread holds what); compiled with
``-use_fast_math``, as its ``setup.py`` says: subnormals are zero, ``exp2f``, ``__logf`` and division are approximate functions.
What the source leaves open: the order in which blocks of keys are added to dQ (atomic; here from the first to the last, as with
``deterministic=True``), which of two products of the log-sum-exp is fused (here the first), and how many parts keys are split into
(here one, ``num_splits=1``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Callable

import torch

from ..catalogue import choose
from ..errors import Error, OptionError
from ..gemm import gemm
from ..simulate import Unit, mma
from . import graph
from .apart import plain
from .choice import dtype_name, readings
from .ways import Way
from .fp32 import LN2, LOG2E, Scalar, fma, scalar
from .._lock import LOCK
from .operations import is_traced
from .product import Compared, Product
from .tally import tally

if TYPE_CHECKING:
    from .arithmetic import Arithmetic
    from .emulation import emulate

INFINITY = float("inf")
#: The head dimensions that the kernels are compiled for; others are padded with zeros to the next.
HEAD_DIMENSIONS = (32, 64, 96, 128, 192, 256)
#: Shared memory in KiB, for each block and for each multiprocessor (NVIDIA, CUDA C++ Programming Guide, compute capabilities).
SHARED = {"ampere": (163, 164), "ada": (99, 100), "hopper": (227, 228), "blackwell": (227, 228), "rtx-blackwell": (99, 100)}
#: What the attention argument may be.
KINDS = ("math", "flash")


@dataclass(frozen=True)
class Flash:
    """Attention in tiles of ``rows`` queries and ``columns`` keys; by default FlashAttention-2's for chip and head dimension.

    ``Flash(128, 64)`` is for the forward pass, ``backward=(64, 128)`` for the other.
    """

    rows: int | None = None
    columns: int | None = None
    backward: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        sizes = {"rows": self.rows, "columns": self.columns, "backward": self.backward}
        for name, size in sizes.items():
            if size is None:
                continue
            for one in size if isinstance(size, tuple) else (size,):
                if not isinstance(one, int) or one < 16 or one > 4096 or one % 16:
                    raise OptionError(f"{name} is {size!r}; tiles have 16 to 4096 rows and columns, in steps of 16")
        if (self.rows is None) != (self.columns is None):
            raise OptionError(f"rows is {self.rows} and columns {self.columns}; give both, or neither")


def parse(attention: Any) -> Flash | None:
    """The argument of emulate: None for ``"math"``."""
    if isinstance(attention, Flash):
        return attention
    if attention == "flash":
        return Flash()
    if attention == "math":
        return None
    if attention in ("cudnn", "efficient", "mem_efficient"):
        raise OptionError(f"attention is {attention!r}, whose order of operations is not published or not emulated; one of 'math', 'flash', or a bitmma.torch.Flash")
    raise OptionError(f"attention is {attention!r}; one of 'math', 'flash', or a bitmma.torch.Flash")


def tiles(architecture: str, dimension: int, causal: bool) -> tuple[tuple[int, int], tuple[int, int]]:
    """FlashAttention-2's tiles (queries, keys) without dropout, forward and backward, for a padded head dimension."""
    block, whole = SHARED.get(architecture, SHARED["ampere"])
    small = architecture == "ada"  # compute capability 8.6 and 8.9
    forward = {32: (128, 128), 64: (128, 128), 96: (128, 64), 128: (128, 64), 192: (128, 64), 256: (64, 64)}[dimension]
    if small and dimension in (96, 128):
        forward = (64, 64) if causal else (128, 64 if dimension == 96 else 32)
    if dimension == 256 and block >= 128 and whole < 192:
        forward = (128, 64)
    backward = {32: (128, 128), 64: (64, 128), 96: (64, 128), 128: (64, 64), 192: (64, 64), 256: (64, 32)}[dimension]
    if block >= 144:
        backward = {64: (128, 128), 128: (64, 128), 256: (64, 64)}.get(dimension, backward)
    return forward, backward


@dataclass(frozen=True)
class Kernel:
    """One call of attention on one chip: instruction, scalar arithmetic, tiles."""

    unit: Unit
    scalar: Scalar
    dimension: int
    """The padded head dimension."""
    forward_tile: tuple[int, int]
    backward_tile: tuple[int, int]
    causal: bool
    scale: float
    label: str
    """How it is computed, for people."""
    threads: int | None = None

    @property
    def name(self) -> str:
        """The instruction."""
        found = self.unit.instruction
        return f"{found.architecture} {found.row}" if found else self.unit.name

    def multiply(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor | None = None) -> torch.Tensor:
        """A·B, the accumulator starting from C, or from +0."""
        found: torch.Tensor = gemm(self.unit, a, b, c, threads=self.threads)
        return found

    @property
    def log_scale(self) -> float:
        """The factor of the scores times log2(e), in FP32."""
        return _single(_single(self.scale) * 1.4426950408889634)

    # -- forward ----------------------------------------------------------------------------------------

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The output, in the dtype of the inputs, and the logarithms of the sums. Inputs are batch × length × dimension; of a mask
        that is not Boolean the numbers are added to the scaled scores."""
        batch, m, width = q.shape
        n = k.shape[1]
        rows, columns = self.forward_tile
        out, lse = q.new_zeros(batch, m, width), q.new_full((batch, m), INFINITY, dtype=torch.float32)
        q, k, v = (_padded(one, self.dimension, length) for one, length in ((q, m), (k, _up(n, columns)), (v, _up(n, columns))))
        even = m % rows == 0 and n % columns == 0
        for first in range(0, m, rows):
            last = min(first + rows, m)
            blocks = -(-n // columns)
            if self.causal:
                blocks = min(blocks, max(-(-(first + rows + n - m) // columns), 0))
            masking = -(-rows // columns) + (0 if even else 1) if self.causal else 1
            state = _Softmax(self)
            for step, block in enumerate(reversed(range(blocks))):
                keys = slice(block * columns, (block + 1) * columns)
                scores = self.multiply(q[:, first:last], k[:, keys].mT)
                scores = self._masked(scores, mask, (first, last), keys, (m, n))
                p = state.add(scores, (self.causal and step < masking) or mask is not None)
                state.output = self.multiply(p.to(q.dtype), v[:, keys], state.output)
            if blocks > 0:
                output, lse[:, first:last] = state.end()
                out[:, first:last] = output[..., :width].to(q.dtype)
        return out, lse

    def _masked(
        self, scores: torch.Tensor, mask: torch.Tensor | None, rows: tuple[int, int], keys: slice, sizes: tuple[int, int]
    ) -> torch.Tensor:
        """Scores with -inf where a query does not see a key."""
        m, n = sizes
        column = torch.arange(keys.start, keys.stop, device=scores.device)
        row = torch.arange(*rows, device=scores.device)[:, None]
        hidden = (column >= n).expand(len(row), -1)
        if self.causal:
            hidden = hidden | (column > row + (n - m))
        scores = self.scalar.clean(scores)
        if mask is not None:
            part = mask[:, rows[0] : rows[1], keys.start : min(keys.stop, n)]
            if part.dtype == torch.bool:
                scores = scores.masked_fill(~torch.nn.functional.pad(part, (0, keys.stop - keys.start - part.shape[-1]), value=True), -INFINITY)
            else:  # as ALiBi is: divided by the scale, then added to the scores
                bias = torch.nn.functional.pad(part.float(), (0, keys.stop - keys.start - part.shape[-1]))
                scores = self.scalar.clean(scores + self.scalar.clean(bias / _single(self.scale)))
        return scores.masked_fill(hidden, -INFINITY)

    # -- backward ---------------------------------------------------------------------------------------

    def backward(
        self,
        gradient: torch.Tensor,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        out: torch.Tensor,
        lse: torch.Tensor,
        mask: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The gradients of queries, keys and values."""
        clean, dtype = self.scalar.clean, q.dtype
        batch, m, width = q.shape
        n = k.shape[1]
        rows, columns = self.backward_tile
        tall, wide = _up(m, rows), _up(n, columns)
        dots = _padded_rows(self._dots(gradient, out), tall)
        lse = _padded_rows(lse, tall)
        q, gradient = (_padded(one, self.dimension, tall) for one in (q, gradient))
        k, v = (_padded(one, self.dimension, wide) for one in (k, v))
        dq = torch.zeros_like(q, dtype=torch.float32)
        dk, dv = torch.zeros_like(k, dtype=torch.float32), torch.zeros_like(v, dtype=torch.float32)
        present = torch.arange(tall, device=q.device) < m
        for block in range(wide // columns):
            keys = slice(block * columns, (block + 1) * columns)
            lowest = max(0, (keys.start + m - n) // rows) if self.causal else 0
            to_k = to_v = None
            for place in reversed(range(lowest, tall // rows)):
                some = slice(place * rows, (place + 1) * rows)
                end = min(some.stop, m)
                scores = self.multiply(q[:, some], k[:, keys].mT)
                scores = _padded_rows(self._masked(scores[:, : end - some.start], mask, (some.start, end), keys, (m, n)), rows)
                sums = lse[:, some]
                sums = torch.where(sums == -INFINITY, torch.zeros_like(sums), clean(sums * LOG2E))
                p = self.scalar.ex2(clean(fma(scores, self.log_scale, -sums[..., None])))
                p = torch.where(present[some, None], p, torch.zeros_like(p))
                dp = clean(self.multiply(gradient[:, some], v[:, keys].mT))
                ds = clean(p * clean(dp - dots[:, some, None])).to(dtype)
                to_v = self.multiply(p.to(dtype).mT, gradient[:, some], to_v)
                to_q = self.multiply(ds, k[:, keys])
                dq[:, some] = clean(dq[:, some] + clean(to_q))
                to_k = self.multiply(ds.mT, q[:, some], to_k)
            if to_k is not None and to_v is not None:
                dk[:, keys], dv[:, keys] = clean(clean(to_k) * _single(self.scale)), clean(to_v)
        dq = clean(dq * _single(self.scale))
        return dq[:, :m, :width].to(dtype), dk[:, :n, :width].to(dtype), dv[:, :n, :width].to(dtype)

    def _dots(self, gradient: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """The sum of gradient times output of each row: a thread adds eight neighbors of each page by FMAs, then threads exchange."""
        lanes = 8 if self.dimension % 64 == 0 else 4
        x, y = (_padded(one, self.dimension, one.shape[1]).float() for one in (gradient, out))
        x, y = (one.reshape(*one.shape[:2], -1, lanes, 8).transpose(2, 3).flatten(-2) for one in (x, y))  # lanes × (pages, 8)
        total = self.scalar.clean(x[..., 0] * y[..., 0])
        for place in range(1, x.shape[-1]):
            total = self.scalar.clean(fma(x[..., place], y[..., place], total))
        return _exchanged(total, self.scalar)


class _Softmax:
    """The online softmax of some queries: the largest score so far, the sums of four threads, the output."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.largest: torch.Tensor | None = None
        self.sums = torch.zeros(())
        self.output: torch.Tensor | None = None

    def add(self, scores: torch.Tensor, check: bool) -> torch.Tensor:
        """The powers of one tile of scores; what was summed before is scaled to the new largest score."""
        scalar, scale = self.kernel.scalar, self.kernel.log_scale
        clean = scalar.clean
        largest = torch.where(scores.isnan(), -INFINITY, scores).amax(-1)  # the largest number: NaN does not count
        before, self.largest = self.largest, largest if self.largest is None else torch.fmax(self.largest, largest)
        if before is not None and self.output is not None:
            current = torch.where(self.largest == -INFINITY, 0.0, self.largest) if check else self.largest
            factor = scalar.ex2(clean(clean(before - current) * scale))
            self.sums = clean(self.sums * factor[..., None])
            self.output = clean(clean(self.output) * factor[..., None])
        scaled = torch.where(self.largest == -INFINITY, 0.0, clean(self.largest * scale))
        p = scalar.ex2(clean(fma(scores, scale, -scaled[..., None])))
        # thread i of four holds columns 2i and 2i + 1 of every eight, and adds them in order
        held = p.reshape(*p.shape[:2], -1, 4, 2).transpose(2, 3).flatten(-2)
        self.sums = held[..., 0] if before is None else self.sums + held[..., 0]
        for place in range(1, held.shape[-1]):
            self.sums = self.sums + held[..., place]
        return p

    def end(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The output in FP32, and the logarithms of the sums."""
        assert self.largest is not None and self.output is not None
        scalar = self.kernel.scalar
        total = _exchanged(self.sums, scalar)
        empty = (total == 0) | total.isnan()
        inverse = torch.where(empty, 1.0, scalar.rcp(total))
        logarithm = fma(self.largest, _single(self.kernel.scale), scalar.clean(scalar.lg2(total) * LN2))
        lse = torch.where(empty, INFINITY, logarithm)
        return scalar.clean(scalar.clean(self.output) * inverse[..., None]), lse


def _exchanged(sums: torch.Tensor, scalar: Scalar) -> torch.Tensor:
    """The sum of the last dimension by a butterfly: each thread adds what the one half of them away holds, then a quarter, …"""
    while sums.shape[-1] > 1:
        half = sums.shape[-1] // 2
        sums = scalar.clean(sums[..., :half] + sums[..., half:])
    return sums[..., 0]


def _single(value: float) -> float:
    """Rounded to FP32."""
    return torch.tensor(value, dtype=torch.float64).float().item()


def _up(length: int, step: int) -> int:
    return -(-length // step) * step


def _padded(x: torch.Tensor, dimension: int, length: int) -> torch.Tensor:
    """With zeros to a head dimension and a length."""
    if x.shape[-1] == dimension and x.shape[1] == length:
        return x
    return torch.nn.functional.pad(x, (0, dimension - x.shape[-1], 0, length - x.shape[1]))


def _padded_rows(x: torch.Tensor, rows: int) -> torch.Tensor:
    """With zeros to a number of rows, of two dimensions or three."""
    return torch.nn.functional.pad(x, (0, 0, 0, rows - x.shape[1]) if x.dim() == 3 else (0, rows - x.shape[1]))


# -- calls of PyTorch ---------------------------------------------------------------------------------------


class _Attention(torch.autograd.Function):
    """Attention with its gradients; every tensor is batch × length × dimension."""

    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None, call: "Call") -> torch.Tensor:
        out, lse = call.forward(q, k, v, mask)
        ctx.save_for_backward(q, k, v, out, lse, mask)
        ctx.call = call
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        if not ctx.call.emulation.acts_here:
            raise graph.ended(ctx.call.emulation)
        q, k, v, out, lse, mask = ctx.saved_tensors
        return (*ctx.call.backward(gradient, q, k, v, out, lse, mask), None, None)


@dataclass(frozen=True)
class Call:
    """One call in an emulation: how each chip computes it."""

    emulation: emulate
    kernel: Kernel
    others: dict[str, Kernel]
    """The chips that the emulation compares with."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
        """The output and the logarithms of the sums."""
        with torch.no_grad(), plain():
            out, lse = self.kernel.forward(q, k, v, mask)
            theirs = {label: kernel.forward(q, k, v, mask)[0] for label, kernel in self.others.items()}
        self._tell(False, (len(q), q.shape[1], k.shape[1], self.kernel.dimension), q.dtype, 2, out, theirs)
        return out, lse

    def backward(self, gradient: torch.Tensor, q: Any, k: Any, v: Any, out: Any, lse: Any, mask: Any) -> tuple[torch.Tensor, ...]:
        """The gradients of queries, keys and values."""
        with torch.no_grad(), plain():
            found = self.kernel.backward(gradient, q, k, v, out, lse, mask)
            theirs = {label: kernel.backward(gradient, q, k, v, out, lse, mask) for label, kernel in self.others.items()}
            whole = torch.cat(found, 1)
            joined = {label: torch.cat(one, 1) for label, one in theirs.items()}
        self._tell(True, (len(q), q.shape[1], k.shape[1], self.kernel.dimension), q.dtype, 5, whole, joined)
        return found

    def _tell(self, backward: bool, shape: tuple[int, int, int, int], dtype: torch.dtype, products: int, result: torch.Tensor, theirs: dict[str, torch.Tensor]) -> None:
        """What the emulation lists: one line for the call."""
        emulation = self.emulation
        product = Product(0, emulation._layers.current(), "flash_attention", backward, (dtype, dtype), shape, instruction=self.kernel.name)
        for label, other in theirs.items():
            product.compared[label] = Compared(tally(result, other), None)
        with LOCK:
            product = replace(product, index=len(emulation.products))
            emulation.products.append(product)
            emulation.account.product(product, products)
            emulation.account.attention[self.kernel.label + (", backward" if backward else "")] += 1
            emulation._here.products += 1
            if emulation._listener is not None:
                emulation._listener(product, None, None, None, result)


def call(emulation: emulate, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``scaled_dot_product_attention`` of tensors on the CPU in an emulation."""
    given = arguments(*args, **kwargs)
    if is_traced((given.query, given.key, given.value)):
        return func(*args, **kwargs)
    if torch.is_autocast_enabled("cpu") and given.query.device.type == "cpu":  # which casts before PyTorch's own code, and not before this
        given = given.cast(torch.get_autocast_dtype("cpu"))
    given.check()
    found = chosen(emulation, given, _why_not_here(given))
    return func(*args, **kwargs) if found is None else given.run(lambda *tensors: _Attention.apply(*tensors, found))  # type: ignore[no-untyped-call]


def chosen(emulation: emulate, given: Arguments, why_not: str = "", allowed: bool = True) -> Call | None:
    """How an emulation computes a call in tiles; None, and counted, where it is its two products. ``why_not`` is a reason for that."""
    if emulation.attention is None or not allowed:
        reason = "math: its two products are the chip's, scores are rounded to the inputs' dtype, softmax is the host's"
    else:
        try:
            if why_not:
                raise Declined(why_not)
            return in_tiles(emulation, given)
        except Declined as declined:
            reason = f"flash declined, math instead: {declined}"
    with LOCK:
        emulation.account.attention[reason] += 1
    return None


def in_tiles(emulation: emulate, given: Arguments) -> Call:
    """How an emulation computes a call in tiles. Raises where it does not."""
    given.check_tiles()
    flash = emulation.attention or Flash()
    others = {one.label: kernel_of(flash, one, given, emulation) for one in emulation.others}
    return Call(emulation, kernel_of(flash, emulation.arithmetic, given, emulation), others)


def math(composite: Callable[..., Any], query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None = None, *args: Any, **kwargs: Any) -> Any:
    """Attention as its two products, whatever kernels the user allows (``sdpa_kernel``); a mask is made as PyTorch's own code
    makes it. Of nested tensors that code itself runs."""
    if any(one.is_nested for one in (query, key, value)):
        return composite(query, key, value, attn_mask, *args, **kwargs)
    names = ("dropout_p", "is_causal")
    given = {"dropout_p": 0.0, "is_causal": False, **dict(zip(names, args)), **kwargs}
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(attn_mask.logical_not(), -INFINITY)
    scale = {} if given.get("scale") is None else {"scale": given["scale"]}
    shared = {"enable_gqa": True} if given.get("enable_gqa") else {}
    return torch.ops.aten._scaled_dot_product_attention_math(query, key, value, attn_mask, given["dropout_p"], given["is_causal"], None, **scale, **shared)[0]


class Declined(Exception):
    """Why attention in tiles is not what computes a call."""


@dataclass(frozen=True)
class Arguments:
    """The arguments of ``scaled_dot_product_attention``."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask: torch.Tensor | None
    dropout: float
    causal: bool
    scale: float
    gqa: bool

    def check(self) -> None:
        """Scores are not stretched to the mask. PyTorch adds it in place, but not where a mode is on."""
        if self.mask is None or self.mask.is_nested or self.query.is_nested:
            return
        try:
            lead = torch.broadcast_shapes(self.query.shape[:-2], self.query.shape[:-2] if self.gqa else self.key.shape[:-2])
            scores = torch.Size([*lead, self.query.shape[-2], self.key.shape[-2]])
            wide = torch.broadcast_shapes(scores, self.mask.shape)
        except (RuntimeError, IndexError):
            return  # PyTorch refuses it
        if wide != scores:
            raise RuntimeError(f"output with shape {list(scores)} doesn't match the broadcast shape {list(wide)}")

    def cast(self, dtype: torch.dtype) -> Arguments:
        """In a dtype, as autocast makes it of all floating-point tensors but FP64."""

        def cast(one: torch.Tensor) -> torch.Tensor:
            return one.to(dtype) if one.is_floating_point() and one.dtype != torch.float64 else one

        mask = None if self.mask is None else cast(self.mask)
        return replace(self, query=cast(self.query), key=cast(self.key), value=cast(self.value), mask=mask)

    def check_tiles(self) -> None:
        """Raises where FlashAttention-2 does not compute the call."""
        q, k, v = self.query, self.key, self.value
        if min(one.dim() for one in (q, k, v)) < 3:
            raise Declined("queries, keys and values have two dimensions")
        if not q.dtype == k.dtype == v.dtype or q.dtype not in (torch.float16, torch.bfloat16):
            raise Declined(f"it computes in float16 and bfloat16, not in {dtype_name(q.dtype)}")
        if q.shape[-1] != v.shape[-1] or q.shape[-1] > HEAD_DIMENSIONS[-1] or not q.shape[-1]:
            raise Declined(f"heads of dimension {q.shape[-1]} and {v.shape[-1]}; one dimension, 1 to {HEAD_DIMENSIONS[-1]}, has kernels")
        if k.shape[-2] != v.shape[-2]:
            raise Declined(f"{k.shape[-2]} keys and {v.shape[-2]} values")
        if self.dropout:
            raise Declined(f"dropout {self.dropout}: its random numbers are the GPU's")
        if self.causal and (q.shape[-2] != k.shape[-2] or self.mask is not None):
            raise Declined(f"is_causal with {q.shape[-2]} queries and {k.shape[-2]} keys, or with a mask: PyTorch aligns it otherwise")
        if self.mask is not None and self.mask.requires_grad and torch.is_grad_enabled():
            raise Declined("the mask needs a gradient")
        if not q.numel() or not k.numel():
            raise Declined("no queries or no keys")

    def flat(self) -> tuple[torch.Size, list[Any]]:
        """Batches and heads of the result; then queries, keys, values and mask as batch × length × dimension, stretched by operations that
        have gradients."""
        q, k, v = self.query, self.key, self.value
        if self.gqa and k.dim() > 2 and k.shape[-3] != q.shape[-3]:
            k, v = (one.repeat_interleave(q.shape[-3] // one.shape[-3], -3) for one in (k, v))
        lead = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
        m, n = q.shape[-2], k.shape[-2]
        flat: list[Any] = [one.expand(*lead, *one.shape[-2:]).reshape(-1, *one.shape[-2:]).contiguous() for one in (q, k, v)]
        mask = None
        if self.mask is not None:
            mask = self.mask.detach().expand(*lead, m, n).reshape(-1, m, n)
        return lead, [*flat, mask]

    def run(self, attend: Callable[..., torch.Tensor]) -> torch.Tensor:
        """The result of ``attend`` on what :meth:`flat` returns."""
        lead, flat = self.flat()
        found = attend(*flat)
        return found.reshape(*lead, *found.shape[-2:])


def arguments(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Arguments:
    """The arguments of a call."""
    width = query.shape[-1] if query.dim() else 1
    factor = scale if scale is not None else max(width, 1) ** -0.5
    return Arguments(query, key, value, attn_mask, dropout_p, is_causal, factor, enable_gqa)


def is_transformed() -> bool:
    """Whether this thread is inside of a transform of ``torch.func``."""
    return torch._C._functorch.maybe_current_level() is not None


def _why_not_here(given: Arguments) -> str:
    """Why attention in tiles does not compute a call of these tensors, if it does not."""
    tensors = given.query, given.key, given.value
    if is_transformed():
        return "inside of a transform of torch.func only math is emulated"
    if any(type(one) not in (torch.Tensor, torch.nn.Parameter) or one.layout != torch.strided or one.is_nested for one in tensors):
        return "of nested and other tensors only math is emulated"
    if any(one.device.type != "cpu" for one in tensors):
        return f"tensors on {given.query.device}: attention in tiles is computed on the CPU"
    return ""


def kernel_of(flash: Flash, arithmetic: Arithmetic, given: Arguments, emulation: emulate) -> Kernel:
    """How a chip computes a call that FlashAttention-2 takes."""
    q, k = given.query, given.key
    unit = _unit(arithmetic, q, k)
    architecture = unit.instruction.architecture if unit.instruction else ""
    dimension = next(size for size in HEAD_DIMENSIONS if size >= q.shape[-1])
    forward, backward = tiles(architecture, dimension, given.causal)
    if flash.rows is not None and flash.columns is not None:
        forward = flash.rows, flash.columns
    backward = flash.backward or backward
    arithmetic_of = scalar(architecture) if architecture else scalar("cdna3")  # a model: functions are correctly rounded
    label = f"flash, tiles of {forward[0]} queries and {forward[1]} keys, by {architecture or 'model'} {unit.name}"
    doubts = [f"{', '.join(arithmetic_of.assumed)} by the table of Volta and Turing (assumed)"] if arithmetic_of.assumed else []
    doubts += [f"{', '.join(arithmetic_of.host)} correctly rounded"] if arithmetic_of.host else []
    doubts += ["tiles as on the A100, as the source has none for it"] if architecture not in SHARED and flash.rows is None else []
    doubts += ["masked as FlashAttention-2 masks, which has no such mask"] if given.mask is not None else []
    label += f" ({'; '.join(doubts)})" if doubts else ""
    return Kernel(unit, arithmetic_of, dimension, forward, backward, given.causal, given.scale, label, emulation._threads)


def _unit(arithmetic: Arithmetic, q: torch.Tensor, k: torch.Tensor) -> Unit:
    """The instruction of the products: the one that the source names where a chip chooses, else the one that was asked for."""
    policies = arithmetic.policies
    if policies.leaves(q.dtype) or (q.dtype == torch.float16 and policies.fp16 != "native"):
        raise Declined(f"the policy for {dtype_name(q.dtype)} says otherwise")
    shape = (q.shape[:-2].numel(), q.shape[-2], k.shape[-2], q.shape[-1])
    way: Way | None = arithmetic.choose(Product(0, "", "flash_attention", False, (q.dtype, k.dtype), shape), True)
    unit: Unit | None = getattr(way, "unit", None)
    if unit is None or unit.working_format == "f64":
        raise Declined(f"{arithmetic.label} has no single instruction for them")
    found = unit.instruction
    if found is None:
        return unit
    format = readings(q.dtype)[0]
    if found.name != choose(found.architecture, format, format).name:
        return unit
    wanted = f"mma.m16n8k16.f32.{format}.{format}.f32"
    try:
        return mma(found.architecture, wanted)
    except Error:
        pass
    if found.architecture in ("volta", "turing"):
        raise Declined(f"FlashAttention-2 runs on GPUs from Ampere on, not on {found.architecture}")
    return unit
