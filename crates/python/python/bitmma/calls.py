"""What a library's matrix product returns: ``torch._scaled_mm``, ``matmul``, ``F.linear``, bit for bit.

A library deals K to parts, moves sums to FP32 now and then, merges the parts, scales and rounds. How it does that
does not follow from the shape: it depends on the GPU, the library's version and its caller. ``platform`` names GPU and
library, as in ``"rtx4060/cublaslt-12.8.3.14"`` or ``"h100-pcie"``; the plan comes from ``plan``, ``lt_config``,
``parts``, ``table``, or decisions that are built in. What nobody has measured raises :class:`~bitmma.CallDeclined`
with the reason; what the library itself rejects raises :class:`~bitmma.CallRejected`. ``assume`` takes assumptions by
name (``"version"``, ``"empty-parts"``, ``"envelope"``, ``"unsplit"``, ``"block-scales"``); :func:`explain_call` shows those that were
needed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _arrays, _bitmma
from ._options import whole
from ._lazy import numpy as np
from .errors import CallDeclined, OptionError

if TYPE_CHECKING:
    from ._arrays import Array

__all__ = ["CallExplanation", "CallPlan", "explain_call", "linear", "matmul", "plan_call", "scaled_mm"]

#: The formats a call gives, by dtype.
OUT = {
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
}


@dataclass(frozen=True)
class CallPlan:
    """How a call is computed, where that is known from, and how well."""

    platform: str
    origin: str
    """Where the plan comes from: a configuration, a table, a file."""
    evidence: str
    """recorded (replayed here), measured (by others) or derived."""
    source: str
    """Who measured it, on what."""
    assumed: tuple[str, ...]
    """Assumptions that were needed."""
    plan: dict[str, Any]
    """The record ``bitmma-plan/1``."""
    remark: str | None = None
    """Of a GPU that is not modeled: with which instructions the call is computed all the same, and why."""

    def __str__(self) -> str:
        lines = [f"{self.platform}, from {self.origin}", f"evidence: {self.evidence} ({self.source})"]
        lines += [f"assumed: {one}" for one in self.assumed]
        lines += [f"remark: {self.remark}"] if self.remark else []
        return "\n".join(lines)


@dataclass(frozen=True)
class CallExplanation:
    """A call's plan, and one element of D through parts and merge."""

    plan: CallPlan
    lines: tuple[str, ...]
    code: int
    """The element's code in D's format."""

    def __str__(self) -> str:
        return "\n".join([str(self.plan), *self.lines])


def plan_call(
    platform: str,
    shape: tuple[int, int, int],
    a: str,
    b: str | None = None,
    out: str = "bf16",
    *,
    fast: bool = False,
    scales: tuple[tuple[int, int], tuple[int, int]] | None = None,
    lt_config: Mapping[str, Any] | str | None = None,
    plan: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    table: str | os.PathLike[str] | None = None,
    parts: int | None = None,
    merge: str = "serial",
    workspace: int | None = None,
    assume: Iterable[str] = (),
) -> CallPlan:
    """The plan of a call of shape (M, N, K) with operands of formats ``a`` and ``b`` and D in ``out``.

    - ``scales``: rows and columns of the scales of A and of B, if they are more than one each.
    - ``lt_config``: the nine fields of the cuBLASLt configuration, as ``scripts/collect-calls`` prints them, and
      ``kernel``, the kernel's name, where the fields are not enough.
    - ``plan``: a plan as a mapping, as the text of a file, or the path of one.
    - ``table``: decisions of the library: mmaemu's ``.npz``, CSV, or the collector's lines.
    - ``parts``, ``merge``: the split that a log of the library says.
    - ``workspace``: bytes that the caller gives the library; torch gives ``_scaled_mm`` 1 MiB.
    """
    given: dict[str, Any] = {"plan": None, "plan_file": None}
    if isinstance(plan, Mapping):
        given["plan"] = json.dumps(dict(plan))
    elif isinstance(plan, str) and ("\n" in plan or plan.lstrip().startswith("{")):
        given["plan"] = plan
    elif plan is not None:
        given["plan_file"] = os.fspath(plan)
    if isinstance(lt_config, Mapping):
        lt_config = json.dumps(dict(lt_config))
    found = json.loads(
        _bitmma.decide_call(
            platform,
            (int(shape[0]), int(shape[1]), int(shape[2])),
            (a, b or a, out),
            fast,
            scales=scales,
            lt_config=lt_config,
            parts=parts,
            merge=merge,
            table=None if table is None else os.fspath(table),
            workspace=workspace,
            assume=[assume] if isinstance(assume, str) else list(assume),
            **given,
        )
    )
    return CallPlan(**{**found, "assumed": tuple(found["assumed"])})


def scaled_mm(
    a: Array,
    b: Array,
    scale_a: Any,
    scale_b: Any,
    bias: Array | None = None,
    scale_result: Any = None,
    out_dtype: Any = None,
    use_fast_accum: bool = False,
    *,
    platform: str,
    read_as: tuple[str, str] | None = None,
    threads: int | None = None,
    **sources: Any,
) -> Array:
    """``torch._scaled_mm(a, b, …)`` on ``platform``: A M×K, B K×N, both FP8.

    Arrays are NumPy's (with ml_dtypes, or codes and ``read_as``) or PyTorch's. What torch or cuBLASLt reject is
    rejected, of PyTorch's tensors by their strides and addresses, too. The shapes of ``scale_a`` and ``scale_b`` say what
    they are, as in torch: numbers or arrays of one element; M × 1 and 1 × N (row-wise); M × ceil(K/128) or
    ceil(M/128) × ceil(K/128) of A with ceil(K/128) × N or ceil(K/128) × ceil(N/128) of B (blocks, not 128×128 of both).
    With a plan that has ``[blocks]`` they are as it says. Row-wise scales follow torch's own kernel on sm_90 before
    cuBLASLt 12.9, and cuBLASLt 13.1.0.3, which was recorded, with block scales too; ``assume="block-scales"`` takes other
    versions from 12.9 on to do the same. With block scales the library splits K of some calls: ``lt_config``, ``parts`` or
    ``assume="unsplit"`` says how. All else, and a bias, was never recorded and is declined. ``sources`` are those of
    :func:`plan_call`.
    """
    prepared = _scaled(a, b, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum, platform, read_as, sources)
    return prepared.run(threads)


def matmul(
    a: Array,
    b: Array,
    *,
    platform: str,
    out_dtype: Any = None,
    threads: int | None = None,
    **sources: Any,
) -> Array:
    """``torch.mm(a, b)`` as ``cublasLtMatmul`` with alpha = 1 and beta = 0 computes it; FP16 or BF16.

    Whether torch takes this way depends on its settings (``docs/call-rules.md``, rule 38).
    """
    return _plain(a, b, platform, out_dtype, sources).run(threads)


def linear(
    x: Array,
    weight: Array,
    *,
    platform: str,
    out_dtype: Any = None,
    threads: int | None = None,
    **sources: Any,
) -> Array:
    """``F.linear(x, weight)`` without a bias: x M×K, weight N×K; see :func:`matmul`."""
    return _plain(x, weight.T, platform, out_dtype, sources).run(threads)


def explain_call(
    a: Array,
    b: Array,
    scale_a: Any = 1.0,
    scale_b: Any = 1.0,
    scale_result: Any = None,
    *,
    platform: str,
    element: tuple[int, int] = (0, 0),
    out_dtype: Any = None,
    use_fast_accum: bool = False,
    read_as: tuple[str, str] | None = None,
    **sources: Any,
) -> CallExplanation:
    """Which plan a call has, from where, how well proven, and how one element of D comes about.

    FP8 operands are a call of :func:`scaled_mm`, others one of :func:`matmul`.
    """
    formats = read_as or (_arrays.format_of("A", a), _arrays.format_of("B", b))
    if formats[0] in ("e4m3", "e5m2"):
        prepared = _scaled(
            a, b, scale_a, scale_b, None, scale_result, out_dtype, use_fast_accum, platform, read_as, sources
        )
    else:
        prepared = _plain(a, b, platform, out_dtype, sources)
    lines, code = _bitmma.follow_call(
        prepared.plan_text, prepared.operands, prepared.formats, prepared.scales, *element, blocks=prepared.blocks
    )
    return CallExplanation(prepared.plan, tuple(lines), code)


@dataclass(frozen=True)
class _Prepared:
    """A call with its plan."""

    plan: CallPlan
    operands: tuple[Any, Any]
    formats: tuple[str, str, str]
    scales: tuple[int, int, int | None]
    blocks: tuple[Any, Any] | None
    like: _arrays.Like

    @property
    def plan_text(self) -> str:
        return json.dumps(self.plan.plan)

    def run(self, threads: int | None) -> Array:
        whole(threads=threads)
        words = _bitmma.run_call(
            self.plan_text, self.operands, self.formats, self.scales, blocks=self.blocks, threads=threads
        )
        return _arrays.result(words, self.formats[2], self.like)


def _dtype(dtype: Any, default: str) -> str:
    """The name of a dtype of NumPy or PyTorch, or of a format."""
    if dtype is None:
        return default
    name = dtype if isinstance(dtype, str) else str(getattr(dtype, "__name__", dtype))
    name = name.rpartition(".")[2]
    return OUT.get(name, name)


def _number(name: str, value: Any) -> int:
    """The FP32 code of one number."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    array = np.asarray(_arrays.unmasked(name, value), dtype=np.float32).reshape(-1)
    if array.size != 1:
        raise OptionError(f"{name} has {array.size} elements; one was expected")
    return int(array.view(np.uint32)[0])


def _is_f32(scale: Any) -> bool:
    """Whether a scale is FP32; a Python number is."""
    return isinstance(scale, (int, float)) or str(getattr(scale, "dtype", "float32")).rpartition(".")[2] == "float32"


def _shape(scale: Any) -> tuple[int, ...]:
    """The shape of a scale: (1, 1) for one number, whatever its dimensions."""
    shape = tuple(map(int, getattr(scale, "shape", ())))
    return (1, 1) if int(np.prod(shape)) == 1 else shape


def _scale_shapes(scale_a: Any, scale_b: Any) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Rows and columns of both scales; None for what torch takes for no scaling at all."""
    shapes = [_shape(scale_a), _shape(scale_b)]
    if not (_is_f32(scale_a) and _is_f32(scale_b)) or any(len(shape) != 2 for shape in shapes):
        return None
    if all(_is_tensor(scale) and shape != (1, 1) for scale, shape in zip((scale_a, scale_b), shapes)):
        m, along = shapes[0]
        of_a, of_b = [tuple(scale.stride()) for scale in (scale_a, scale_b.t())]
        n, along_b = shapes[1][::-1]
        row = along == along_b == 1 and scale_a.is_contiguous() and scale_b.is_contiguous()

        def lies(strides: tuple[int, ...], lines: int, blocks: int) -> bool:
            """Along the lines, as scales of single lines do, or along K, as those of 128 lines do."""
            fits = [(lines <= 1 or strides[0] == x) and (blocks <= 1 or strides[1] == y) for x, y in ((1, lines), (blocks, 1))]
            return any(fits)

        if not row and not (lies(of_a, m, along) and lies(of_b, n, along_b)):
            return None
    return shapes[0], shapes[1]  # type: ignore[return-value]


def _is_tensor(array: Array) -> bool:
    return type(array).__module__.partition(".")[0] == "torch"


def _scaled(
    a: Array,
    b: Array,
    scale_a: Any,
    scale_b: Any,
    bias: Array | None,
    scale_result: Any,
    out_dtype: Any,
    fast: bool,
    platform: str,
    read_as: tuple[str, str] | None,
    sources: dict[str, Any],
) -> _Prepared:
    formats = read_as or (_arrays.format_of("A", a), _arrays.format_of("B", b))
    out = _dtype(out_dtype, formats[0])
    m, k, inner, n = *_sizes(a), *_sizes(b)
    blocks = not all(_shape(scale) == (1, 1) for scale in (scale_a, scale_b))
    shapes = _scale_shapes(scale_a, scale_b)
    layout: dict[str, bool] = {}
    if _is_tensor(a) and _is_tensor(b) and a.ndim == b.ndim == 2:
        addresses = [one.data_ptr() % 16 == 0 for one in (a, b)]
        leading = [a.stride(0) % 16 == 0 or m <= 1, b.stride(1) % 16 == 0 or n <= 1]
        layout = {
            "row_major_a": a.stride(1) == 1 or k <= 1,
            "column_major_b": b.stride(0) == 1 or inner <= 1,
            "aligned": all(addresses) and all(leading),
        }
    if not blocks or sources.get("plan") is None:
        _bitmma.check_scaled_mm(
            platform,
            (m, n, k),
            inner,
            (formats[0], formats[1], out),
            dimensions=(_dimensions(a), _dimensions(b)),
            scales=shapes,
            scale_result_fits=scale_result is None or (_shape(scale_result) == (1, 1) and _is_f32(scale_result)),
            bias=None if bias is None else (_arrays._dtype_name(bias), int(np.prod(bias.shape))),
            **layout,
        )
        if bias is not None:
            raise CallDeclined("declined: a bias was never recorded (rule 26). Record calls with scripts/collect-calls --run")
    one = 0x3F800000
    scales = (one, one) if blocks else (_number("scale_a", scale_a), _number("scale_b", scale_b))
    decided = plan_call(platform, (m, n, k), formats[0], formats[1], out, fast=fast, scales=shapes if blocks else None, **sources)
    return _Prepared(
        decided,
        (_arrays.words("A", a, formats[0]), _arrays.words("B", b, formats[1], along=-2)),
        (formats[0], formats[1], out),
        (*scales, None if scale_result is None else _number("scale_result", scale_result)),
        (_arrays.words("scale_a", scale_a, "f32"), _arrays.words("scale_b", scale_b, "f32")) if blocks else None,
        _arrays.like(a, b),
    )


def _plain(a: Array, b: Array, platform: str, out_dtype: Any, sources: dict[str, Any]) -> _Prepared:
    formats = (_arrays.format_of("A", a), _arrays.format_of("B", b))
    out = _dtype(out_dtype, formats[0])
    m, k, _, n = *_sizes(a), *_sizes(b)
    one = 0x3F800000
    return _Prepared(
        plan_call(platform, (m, n, k), formats[0], formats[1], out, **sources),
        (_arrays.words("A", a, formats[0]), _arrays.words("B", b, formats[1], along=-2)),
        (formats[0], formats[1], out),
        (one, one, None),
        None,
        _arrays.like(a, b),
    )


def _dimensions(array: Array) -> int:
    return len(array.shape) if hasattr(array, "shape") else 2


def _sizes(array: Array) -> tuple[int, int]:
    """Rows and columns; of another number of dimensions the last two, for the message."""
    sizes = [1, 1, *map(int, array.shape)]
    return sizes[-2], sizes[-1]
