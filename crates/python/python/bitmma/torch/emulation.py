"""The context in which every matrix product goes through a simulated instruction."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import Any, Callable

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.module_tracker import ModuleTracker

from .. import _bitmma
from ..errors import CallDeclined
from ..gemm import gemm
from ..simulate import Unit
from . import operations, planned
from .choice import PROMOTED, Policies, unit_for
from .report import Difference, Product, measure, table


class emulate(TorchDispatchMode):
    """Runs every matrix product inside, forward and backward, on another chip's arithmetic.

    ``mm``, ``addmm``, ``bmm``, ``baddbmm`` and what is made of them (``linear``, ``matmul``, ``einsum``,
    ``scaled_dot_product_attention``, which is decomposed), ``_scaled_mm`` and convolutions (as GEMMs) go
    through the instruction that :func:`bitmma.catalogue.choose` names for the chip and the dtypes;
    everything else is as it was. Tensors stay on the CPU.

    **Order.** The accumulator starts from +0 and takes the instruction's K elements at a time, in order; K
    is padded with +0. The sum (FP32; FP64 for FP64) leaves the instruction once: ``alpha``, ``beta``, bias
    and scales are applied to it in FP32, and it is rounded once to the result's dtype, to nearest even. A
    convolution's K runs over kernel positions, then channels (forward, gradient of the input), or over
    images, then pixels (gradient of the weight). ``_scaled_mm`` without ``use_fast_accum`` on Ada and
    Hopper moves the sum to FP32 every 128 elements.

    ``fp16``: ``"native"``; ``"bf16"`` casts operands to BF16 first; ``"bf16-backward"`` does so in the
    backward pass only (what rocBLAS does on the MI200 series for PyTorch); None leaves such products alone.
    ``bf16``, ``fp64``: ``"native"`` or None. ``fp32``: ``"native"`` (NVIDIA has no instruction for it and
    leaves it alone), ``"tf32"`` or None.

    ``calls`` names a GPU and library (``"h100-pcie"``, see :mod:`bitmma.calls`): ``_scaled_mm``, and ``mm`` of FP16 and
    BF16, then answer as that library's calls do wherever a plan is known; ``call_options`` are those of
    :func:`bitmma.calls.plan_call` (``table``, ``assume``, …). :attr:`planned` and :attr:`declined` count the calls that
    had a plan and those that had none, which take the way described above; what the library rejects raises
    :class:`~bitmma.CallRejected`.

    With ``measure`` each product is held against FP64 and, where ``compare_with`` names a second chip,
    against that chip's instruction on the same operands: see :attr:`products`, :attr:`first_difference`
    and :meth:`report`.
    """

    def __init__(
        self,
        architecture: str,
        *,
        fp16: str | None = "native",
        bf16: str | None = "native",
        fp32: str | None = "native",
        fp64: str | None = "native",
        compare_with: str | None = None,
        measure: bool = True,
        threads: int | None = None,
        calls: str | None = None,
        call_options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.architecture = _bitmma.architecture(architecture)
        self.compare_with = None if compare_with is None else _bitmma.architecture(compare_with)
        self.policies = Policies(fp16, bf16, fp32, fp64)
        self.products: list[Product] = []
        """What ran, in order."""
        self.left: Counter[str] = Counter()
        """Products that were left as they were, by operation and dtype."""
        self.planned: Counter[str] = Counter()
        """Calls that had a plan, by operation and dtype."""
        self.declined: Counter[str] = Counter()
        """Calls that had none, by operation, dtype and reason."""
        self._calls = calls
        self._call_options = call_options or {}
        if calls is not None:
            planned.check(calls)
        self._measure = measure
        self._threads = threads
        self._tracker = ModuleTracker()
        self._stack: ExitStack | None = None

    # -- the context ------------------------------------------------------------------------------------

    def __enter__(self) -> "emulate":
        stack = ExitStack()
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        # attention in FP16 and BF16 multiplies in FP16 and BF16, as it does on the chip
        setting = torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
        stack.callback(torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp, setting)
        torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
        fast = torch.backends.mha.get_fastpath_enabled()  # type: ignore[no-untyped-call]
        stack.callback(torch.backends.mha.set_fastpath_enabled, fast)
        torch.backends.mha.set_fastpath_enabled(False)  # type: ignore[no-untyped-call]
        stack.enter_context(self._tracker)  # type: ignore[arg-type]
        self._stack = stack
        super().__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        if self._stack is not None:
            self._stack.close()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        operation = operations.TABLE.get(func.overloadpacket)
        if operation is not None:
            result = self._operate(operation, func, args, dict(kwargs))
            if result is not NotImplemented:
                return result
            self.left[_name(func, args)] += 1
        elif func.overloadpacket in operations.LEFT:
            self.left[_name(func, args)] += 1
        elif torch.is_inference_mode_enabled():  # composite operations come here whole
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return func(*args, **kwargs)

    def _operate(self, operation: Callable[..., Any], func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = kwargs.pop("out", None)

        def multiply(a: torch.Tensor, b: torch.Tensor, **options: Any) -> Any:
            return self._multiply(func.overloadpacket.__name__, a, b, **options)

        result = self._planned(func, args, kwargs)
        if result is NotImplemented:
            result = operation(multiply, *args, **kwargs)
        if result is NotImplemented:
            return result
        if out is not None:
            return out.resize_(result.shape).copy_(result)
        return args[0].copy_(result) if func.overloadpacket.__name__.endswith("_") else result

    def _planned(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The answer of the library's call; NotImplemented where there is no plan."""
        if self._calls is None:
            return NotImplemented
        try:
            options = {"platform": self._calls, "threads": self._threads, **self._call_options}
            result = planned.call(func.overloadpacket, args, kwargs, options)
        except CallDeclined as error:
            self.declined[f"{_name(func, args)}: {error}"] += 1
            return NotImplemented
        if result is not NotImplemented:
            self.planned[_name(func, args)] += 1
        return result

    # -- one product ------------------------------------------------------------------------------------

    def _multiply(
        self,
        name: str,
        a: torch.Tensor,
        b: torch.Tensor,
        *,
        c: torch.Tensor | None = None,
        alpha: float = 1,
        beta: float = 1,
        fast: bool = True,
        to: torch.dtype,
    ) -> Any:
        """alpha · A·B + beta · C, A and B of two dimensions or three, C of D's shape; ``to``: the result's
        dtype. NotImplemented where the chip has no instruction for it."""
        backward = torch._C._current_graph_task_id() != -1
        operands = self.policies.operands(a, b, backward)
        unit = operands and unit_for(self.architecture, *operands[2])
        if operands is None or unit is None:
            return NotImplemented
        a, b, formats = operands
        wide = torch.float64 if unit.working_format == "f64" else torch.float32
        c = None if c is None or beta == 0 else c.to(wide)
        sums = self._sums(unit, a, b, c, alpha, beta, fast)
        result = sums.to(to)
        if self._measure:
            self._record(name, backward, unit, formats, (a, b, c, alpha, beta, fast), sums)
        return result

    def _sums(
        self, unit: Unit, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor | None, alpha: float, beta: float, fast: bool
    ) -> torch.Tensor:
        """D before it is rounded to the result's dtype."""
        promote = None if fast or unit.instruction is None else PROMOTED.get(unit.instruction.architecture)
        if promote is None and c is not None:
            # one run over the whole of K, added to C in FP32: the instruction itself starts from +0
            promote = max(-(-a.shape[-1] // unit.step), 1) * unit.step
        options = {"alpha": float(alpha), "beta": float(beta), "promote_every": promote, "threads": self._threads}
        result: torch.Tensor = gemm(unit, a, b, c, **options)  # type: ignore[arg-type]
        return result

    def _record(
        self,
        name: str,
        backward: bool,
        unit: Unit,
        formats: tuple[str, str],
        product: tuple[Any, ...],
        sums: torch.Tensor,
    ) -> None:
        a, b, c, alpha, beta, fast = product
        other = self.compare_with and unit_for(self.compare_with, *formats)
        theirs = self._sums(other, *product) if other else None
        layers = self._tracker.parents - {"Global"}
        layer = max(layers, key=lambda one: (one.count("."), one), default="")
        self.products.append(
            measure(len(self.products), layer, backward, name, (unit, other or None), (a, b, c, alpha, beta), sums, theirs)
        )

    # -- what came of it --------------------------------------------------------------------------------

    @property
    def first_difference(self) -> Difference | None:
        """Where the two chips first differ: layer, element and term; None where they agree throughout."""
        return next((one.difference for one in self.products if one.difference is not None), None)

    def report(self) -> str:
        """A line for each product: how far from exact, and from the second chip."""
        text = table(self.architecture, self.compare_with, self.products, self.left)
        if self._calls is not None:
            text += f"\ncalls as on {self._calls}: {sum(self.planned.values())} had a plan, {sum(self.declined.values())} had none"
            text += "".join(f"\n  {count} × {reason}" for reason, count in self.declined.most_common())
        return text


def _name(func: Any, args: tuple[Any, ...]) -> str:
    tensors = (one for one in args if isinstance(one, torch.Tensor))
    return " ".join([func.overloadpacket.__name__, *{str(one.dtype).rpartition(".")[2]: 0 for one in tensors}])
