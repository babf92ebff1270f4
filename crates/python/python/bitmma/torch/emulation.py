"""The context in which every matrix product goes through a simulated instruction."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from itertools import count
from typing import Any, Callable

import torch
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

from ..errors import CallDeclined, OptionError
from ..kernels._triton import Launcher
from . import attention as attentions
from . import as_written, checks, compiled, graph, launches, operations, planned, rewrites, settings, tasks, threads
from .account import Account
from .apart import apart
from .arithmetic import Arithmetic, Target, arithmetics, resolve
from .chip_functions import Functions
from .choice import Policies, dtype_name
from .difference import Difference, compare_sums
from .layers import Layers
from .left import Left
from .._lock import LOCK
from .portable.host import Portable
from .portable.native import canonical, known
from .pretend import operations as pretended, state as gpu
from .product import Operands, Product, elements
from .report import table
from .ways import Chain, InDtype, Way, fma
from .weights import Weights

#: What is told of each product: what it is, how it was computed, its operands, its sums and its result; for those that
#: were left as they were the result alone.
Listener = Callable[[Product, "Way | None", "Operands | None", "torch.Tensor | None", torch.Tensor], None]


#: Computes an operation of the host, or says that it does not.
HostOperation = Callable[[Any, "tuple[Any, ...]", "dict[str, Any]"], Any]

_ENTERED = count(1)

#: What becomes of operations in threads that have entered no emulation; the first is the default.
OTHER_THREADS = ("emulate", "plain")


class _Multiply:
    """What operations are made of: products by the emulation, and operations of the host."""

    def __init__(self, emulation: emulate, operation: str) -> None:
        self._emulation, self._operation = emulation, operation
        self.reasons: list[tuple[str, bool]] = []
        """Why products have no way, and whether that was asked for."""

    def __call__(self, a: torch.Tensor, b: torch.Tensor, **options: Any) -> Any:
        return self._emulation._multiply(self._operation, a, b, self.reasons, **options)

    def host(self, func: Any, *args: Any) -> Any:
        """An operation that is no product."""
        return self._emulation._portable(func, args, {})


class _Here(threading.local):
    """Of one thread."""

    def __init__(self) -> None:
        self.entered: list[ExitStack] = []
        self.exact_in: torch.dtype | None = None
        """The dtype that FP32 operands are known to come from."""
        self.attending = False
        """Whether a call of attention runs that was seen already."""
        self.operations = 0
        """Operations of the host that are more than moving numbers."""
        self.products = 0
        """Products that were emulated, or counted as left."""
        self.records = False
        """Whether an operation that was recorded is about to run."""

    @contextmanager
    def attends(self) -> Iterator[None]:
        """While a call of attention runs."""
        before, self.attending = self.attending, True
        try:
            yield
        finally:
            self.attending = before

    @contextmanager
    def recording(self) -> Iterator[None]:
        """While an operation is recorded."""
        self.records = True
        try:
            yield
        finally:
            self.records = False


class emulate(TorchDispatchMode):
    """Runs every matrix product inside, forward and backward, on another chip's arithmetic.

    ``mm``, ``addmm``, ``bmm``, ``baddbmm``, ``mv`` and what is made of them (``linear``, ``matmul``, ``einsum``, ``LSTM``,
    ``scaled_dot_product_attention`` and ``flex_attention``, which are decomposed), ``_scaled_mm``, ``grouped_mm`` and
    convolutions (as GEMMs) are computed by ``target``; everything else is as it was. Products are computed where their tensors
    are, on the CPU or a GPU (:mod:`bitmma.gpu`); with ``device`` (``"cuda"``) those of tensors on the CPU are computed there.

    **Target.** A chip (``"mi250x"``): the instruction that :func:`bitmma.catalogue.choose` names for it and the dtypes.
    Or an instruction, ``("a100", "mma.m16n8k8.f32.bf16.bf16.f32")`` or a :class:`~bitmma.Unit`; a model, as TOML text or the
    path of a file; a :class:`~bitmma.torch.Gemm`, which adds ``split_k`` and ``promote_every`` to any of these; a plan of
    :func:`bitmma.calls.plan_call`; ``torch.float32`` or ``torch.float64``, one FMA after another in that dtype; or a
    function from :class:`~bitmma.torch.Product` to any of these or None.

    **Order.** The accumulator starts from +0 and takes the instruction's K elements at a time, in order; K
    is padded with +0. The sum (FP32; FP64 for FP64) leaves the instruction once: ``alpha``, ``beta``, bias
    and scales are applied to it in FP32, and it is rounded once to the result's dtype, to nearest even. A
    convolution's K runs over kernel positions, then channels (forward, gradient of the input), or over
    images, then pixels (gradient of the weight). ``_scaled_mm`` without ``use_fast_accum`` on Ada and
    Hopper moves the sum to FP32 every 128 elements; with FP32 scales of blocks each 128 elements are one run, whose result
    times both scales is added by one FMA, as DeepGEMM does (how cuBLASLt does it is not published). MX and NVFP4 scales go
    into the instruction, where the chip has one.

    ``fp16``: ``"native"``; ``"bf16"`` casts operands to BF16 first; ``"bf16-backward"`` does so in the
    backward pass only (what rocBLAS does on the MI200 series for PyTorch); None leaves such products alone.
    ``bf16``, ``fp64``: ``"native"`` or None. ``fp32``: ``"native"`` (NVIDIA has no instruction for it and
    leaves it alone), ``"tf32"`` or None.

    :attr:`products` lists what ran. With ``compare_with``, a target or several, each product is also computed by those,
    on the same operands: :attr:`first_difference` and the counts are of elements after rounding to the result's
    dtype, which is what the next layer sees; the counts of sums before rounding are named raw. ``measure`` holds each
    sum against FP64. :meth:`report` prints it all. For chips that each compute on their own values see
    :func:`bitmma.torch.compare`.

    **Threads.** Operations of threads that have entered no emulation (a thread pool, ``DataParallel``, a backward pass) are emulated
    and counted, too, until the ``with`` ends. If several threads have entered emulations, each has its own, and an operation that computes in a
    further thread raises :class:`~bitmma.Error`. ``other_threads="plain"`` leaves other threads alone. A forked process (a worker of a
    ``DataLoader``) goes on emulating and lists its products in its own copy of this object; one that is started with ``spawn``
    knows nothing of it. Subclasses of tensors (DTensor, torchao's, nested tensors) unwrap themselves first, and the products
    inside are emulated.

    **Backward.** The backward pass runs inside of the ``with``, too, or in another of the same emulation: outside it raises
    :class:`~bitmma.Error`, as its products would be PyTorch's own.

    Products that are left as they are are counted in :attr:`left`, and a warning (:class:`~bitmma.errors.LeftAlone`) says
    so at the end; at once where a default leaves FP32 alone.

    **Weights.** A weight that comes a second time unchanged is packed once (:func:`bitmma.prepare`), and products of up to 32 rows take
    that until it changes: :attr:`weights`. It takes as much memory as the weights; ``prepared`` limits it to another multiple of
    their bytes, and 0 turns it off.

    ``calls`` names a GPU and library (``"h100-pcie"``, see :mod:`bitmma.calls`): ``_scaled_mm``, and ``mm`` of FP16 and
    BF16, then compute what that library's calls do wherever a plan is known; ``call_options`` are those of
    :func:`bitmma.calls.plan_call` (``table``, ``assume``, …); of the H100 and the H200 recorded decisions are built in. :attr:`planned` and :attr:`declined` count the calls that
    had a plan and those that had none, which take the way described above; what the library rejects raises
    :class:`~bitmma.CallRejected`.

    **The host.** Operations between the products are computed in FP64, sums in an order that only shapes decide, and rounded once
    (:mod:`bitmma.torch.portable`), so that a run has the same bits on every machine. Products that are left alone are one FMA after
    another along K, in FP32 (FP64 in FP64). What PyTorch computes in its own way all the same (rare operations) is counted in ``account.machine``; with ``host="strict"`` it raises
    :class:`~bitmma.errors.HostDependent`. ``host="torch"`` leaves all of it to PyTorch, whose bits depend on the
    machine's instructions and threads.
    """

    supports_higher_order_operators = True
    launcher = Launcher
    """What runs Triton kernels (``kernels=``)."""
    _given: tuple[tuple[Any, ...], dict[str, Any]]
    """The arguments."""

    def __new__(cls, *args: Any, **options: Any) -> emulate:
        self = super().__new__(cls)
        self._given = args, options
        return self

    of_gpu = False
    """Whether it computes for the GPU that there seems to be alone, and not for tensors on the CPU."""

    def __init__(
        self,
        target: Target,
        *,
        fp16: str | None = "native",
        bf16: str | None = "native",
        fp32: str | None = "native",
        fp64: str | None = "native",
        compare_with: Any = None,
        measure: bool = False,
        threads: int | None = None,
        calls: str | None = None,
        call_options: dict[str, Any] | None = None,
        device: str | None = None,
        other_threads: str = "emulate",
        attention: "str | attentions.Flash" = "math",
        functions: str | None = None,
        kernels: str | None = None,
        prepared: float = 1.25,
        host: str = "portable",
    ) -> None:
        super().__init__()
        if other_threads not in OTHER_THREADS:
            raise OptionError(f"other_threads is {other_threads!r}; one of {', '.join(map(repr, OTHER_THREADS))}")
        self.other_threads = other_threads
        """What becomes of operations in threads that have entered no emulation."""
        policies = Policies(fp16, bf16, fp32, fp64)
        self.arithmetic: Arithmetic = resolve(target, policies)
        """What computes."""
        self.others = arithmetics(compare_with, policies)
        """What it is compared with."""
        self.products: list[Product] = []
        """What ran, in order."""
        self.left = Left()
        """Products that were left as they were, by operation, dtype and reason."""
        self.planned: Counter[str] = Counter()
        """Calls that had a plan, by operation and dtype."""
        self.declined: Counter[str] = Counter()
        """Calls that had none, by operation, dtype and reason."""
        self.attention = attentions.parse(attention)
        """Attention in tiles; None: decomposed."""
        self.account = Account(self.arithmetic.label, left=self.left)
        """What was the chip's, and what the host's."""
        if not isinstance(prepared, (int, float)) or not prepared >= 0:
            raise OptionError(f"prepared is {prepared!r}; 0 or more was expected: bytes of prepared weights as a multiple of the weights' own")
        self.weights = Weights(prepared, threads)
        """Weights that were packed once, and how often that was of use."""
        self._host: list[HostOperation] = [Functions(functions, self.account)] if functions is not None else []
        """What computes operations of the host otherwise."""
        self._portable = Portable(host, self.account, threads)
        self._kernels = kernels
        self._calls = calls
        self._call_options = call_options or {}
        if calls is not None and not isinstance(calls, str):
            raise OptionError(f"calls is {calls!r}; the name of a platform was expected, as 'h100-sxm'")
        if calls is not None:
            planned.check(calls)
        self._measure = measure
        self._threads = threads
        self._device = device
        if calls is not None and device is not None:
            raise OptionError(f"calls is {calls!r} and device {device!r}: the calls of a library are computed on the CPU, so leave device out")
        if device is not None:
            from .. import gpu  # noqa: F401  says what is missing
            from ..gpu.device import named

            named(device)
        if threads is not None and not (isinstance(threads, int) and 1 <= threads <= 4096):
            raise OptionError(f"threads is {threads!r}; 1 to 4096 can be used")
        self._listener: Listener | None = None
        self._layers = Layers()
        self._everywhere = settings.Shared(self._changed)
        self._chips: list[tuple[threading.Thread, AbstractContextManager[None]]] = []
        self._here = _Here()
        self.entered = 0
        """A number that grows with each entering of some emulation: of two that are on in a thread the inner one has the larger."""
        self._last: dict[int, Any] = {}
        """The last result of each thread whose nodes are found by that."""

    # -- copies ---------------------------------------------------------------------------------------------

    def __reduce__(self) -> Any:
        """How it is copied and pickled: its arguments, and what it has listed and counted. A copy is in no ``with``."""
        counts = {name: dict(getattr(self, name)) for name in ("left", "planned", "declined")}
        account = {name: value for name, value in vars(self.account).items() if value is not self.left}
        return _made, (type(self), *self._given), {**counts, "requested": self.left.requested, "products": self.products, "account": account}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.products.extend(state["products"])
        self.left.requested |= state["requested"]
        for name in ("left", "planned", "declined"):
            getattr(self, name).update(state[name])
        for name, value in state["account"].items():
            setattr(self.account, name, copy(value))

    # -- the context ------------------------------------------------------------------------------------

    def __enter__(self) -> "emulate":
        with ExitStack() as stack:
            self.entered = next(_ENTERED)
            stack.enter_context(threads.owned(self))
            stack.enter_context(self.here())
            launches.look()
            self._here.entered.append(stack.pop_all())
        tasks.entered(self)
        return self

    def __exit__(self, *raised: Any) -> None:
        if not self._here.entered:
            raise threads.left_elsewhere(self)
        modes = [one for one in _python_dispatch._get_current_dispatch_mode_stack() if isinstance(one, emulate)]
        self._here.entered.pop().close()
        self.weights.clear()
        whole = not raised or raised[0] is None
        tasks.left(self, acts=not whole or modes[-1:] == [self])
        if whole:
            self.left.say(self.arithmetic.label)

    def begins(self, thread: threading.Thread) -> None:
        """What it changes for all threads, as one enters it. No thread holds that: a forked child keeps the changes of its parent's others."""
        if self._kernels is not None:
            chip = launches.on_chip(self._kernels, self)
            chip.__enter__()
            self._chips.append((thread, chip))
        self._everywhere.__enter__()

    def ends(self, thread: threading.Thread) -> None:
        """The changes of the last time that the thread entered it end."""
        graph.ends(self)
        self._everywhere.__exit__()
        if self._kernels is not None:
            last = max(place for place, (owner, _) in enumerate(self._chips) if owner is thread)
            self._chips.pop(last)[1].__exit__(None, None, None)

    @contextmanager
    def _changed(self) -> Iterator[None]:
        with settings.EMULATING, compiled.LOOKED_AT, as_written.WATCHED, launches.WATCHED, self._layers:
            yield

    @property
    def is_on(self) -> bool:
        """Whether this thread is inside of it."""
        return bool(self._here.entered)

    @property
    def acts_here(self) -> bool:
        """Whether it computes the products of this thread, or another emulation inside of it does."""
        return threads.takes_part(self)

    def backward(self) -> None:
        """A part of a backward pass runs whose forward pass was inside of it."""
        if not self.acts_here:
            threads.look_at_operations()

    @contextmanager
    def here(self) -> Iterator[None]:
        """Turns the emulation on in this thread."""
        with self._layers.restored(), rewrites.Calls(self), graph.watched(self), self.again():
            yield

    @contextmanager
    def again(self) -> Iterator[None]:
        """Turns the emulation on for what its own handler calls."""
        depth, thread = torch._C._len_torch_dispatch_stack(), threading.get_ident()
        _python_dispatch._push_mode(self)
        try:
            yield
        finally:
            # a forked child closes the frames of its parent's other threads
            while threading.get_ident() == thread and torch._C._len_torch_dispatch_stack() > depth:
                _python_dispatch._pop_mode()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(map(operations.unwraps_itself, types)):
            return NotImplemented  # the products inside come here
        if func is torch.ops.aten.convolution.default and torch._C._get_tracing_state() is not None:
            raise NotImplementedError("torch.jit.trace of a convolution is not supported in an emulation: trace the model outside of it, or use torch.jit.script")
        if operations.is_recorded():
            with self._here.recording():  # the mode that records it comes next, and runs it
                return func(*args, **kwargs or {})
        if gpu.IS_ON and pretended.concerns(func, args, kwargs or {}):  # also where this computes for the GPU
            return func(*args, **kwargs or {}) if pretended.passes(func) else pretended.run(func, args, kwargs or {}, self.again)
        if self.of_gpu and gpu.is_the_cpus():
            return pretended.on_cpu(func, args, kwargs or {})
        since = None if graph.TELLS else graph.before(args)
        with apart():
            result = self._dispatch(func, args, kwargs or {})
        if since is not None:
            graph.computed((self,), since, result)
        return result

    def _dispatch(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        settings.look()
        launches.look()
        packet = getattr(func, "overloadpacket", None)
        if operations.is_emulated(func):
            graph.check(func, args)
        operation = operations.TABLE.get(packet)
        if operation is not None and operations.is_dense(args):
            checks.check(func, args, kwargs)
            result = self._operate(operation, func, args, kwargs)
            if result is not NotImplemented:
                return result
            result = self._left_alone(func, args, kwargs)
            if self._listener is not None and isinstance(result, torch.Tensor):
                with LOCK:
                    self._listener(self._product_left(func, result), None, None, None, result)
            return result
        opened = rewrites.opened(self, func, args, kwargs)
        if opened is not NotImplemented:
            return opened
        if reason := operations.why_left(func, args):
            if operations.is_dense(args):
                checks.check(func, args, kwargs)
            self._here.products += 1
            self.left.count(f"{operations.name(func, args)}: {reason}")
            return self._left_alone(func, args, kwargs)
        if operations.is_traced(args):
            return func(*args, **kwargs)
        for own in self._host:
            result = own(func, args, kwargs)
            if result is not NotImplemented:
                return result
        self._here.operations += self.account.operation(func, args) != "exact"
        return self._portable(func, args, kwargs)

    def _left_alone(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a product that is not emulated here: of the emulation around this one, or of the host."""
        if any(isinstance(one, emulate) for one in _python_dispatch._get_current_dispatch_mode_stack()):
            return func(*args, **kwargs)
        return self._portable.product(func, args, kwargs)

    def _operate(self, operation: Callable[..., Any], func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result by the emulation; NotImplemented, counted, where it has none."""
        tasks.check(self)
        kwargs = dict(kwargs)
        out = kwargs.pop("out", None)
        multiply = _Multiply(self, func.overloadpacket.__name__)
        result = self._planned(func, args, kwargs)
        if result is NotImplemented:
            result = operation(multiply, *args, **kwargs)
        if result is NotImplemented:
            reason, requested = multiply.reasons[-1] if multiply.reasons else ("operands of a kind that is not emulated", False)
            self._here.products += 1
            self.left.count(f"{operations.name(func, args)}: {reason}", requested)
            return result
        if out is not None:
            return out.resize_(result.shape).copy_(result)
        return args[0].copy_(result) if func.overloadpacket.__name__.endswith("_") else result

    def _planned(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of the library's call; NotImplemented where there is no plan."""
        if self._calls is None:
            return NotImplemented
        try:
            options = {"platform": self._calls, "threads": self._threads, **self._call_options}
            result = planned.call(func.overloadpacket, args, kwargs, options)
        except CallDeclined as error:
            with LOCK:
                self.declined[f"{operations.name(func, args)}: {error}"] += 1
            return NotImplemented
        if result is not NotImplemented:
            with LOCK:
                self.planned[operations.name(func, args)] += 1
                self.account.plan(self._calls, args[0], args[1])
                self._here.products += 1
        return result

    # -- one product ------------------------------------------------------------------------------------

    def _multiply(
        self,
        operation: str,
        a: torch.Tensor,
        b: torch.Tensor,
        reasons: list[tuple[str, bool]],
        *,
        to: torch.dtype,
        c: torch.Tensor | None = None,
        alpha: float = 1,
        beta: float = 1,
        fast: bool = True,
        scale: tuple[str, int] | None = None,
        blocks: tuple[torch.Tensor, torch.Tensor] | None = None,
        scaled: tuple[torch.Tensor, torch.Tensor] | None = None,
        finish: Callable[[torch.Tensor], torch.Tensor] = lambda sums: sums,
    ) -> Any:
        """alpha · A·B + beta · C, A and B of two dimensions or three, C of the result's shape, finished and rounded
        to ``to``. NotImplemented, with a reason, where the arithmetic has no way for it."""
        backward = torch._C._current_graph_task_id() != -1
        if self.arithmetic.policies.leaves(a.dtype) and a.dtype == b.dtype:
            reasons.append((f"{dtype_name(a.dtype)} is left alone on request", True))
            return NotImplemented
        exact_in = self._here.exact_in
        if exact_in is not None and a.dtype == b.dtype == torch.float32:
            a, b = a.to(exact_in), b.to(exact_in)
        c = None if beta == 0 else c
        given = Operands(a, b, c, alpha, beta, scaled, blocks)
        place = (len(self.products), self._layers.current(), operation, backward)
        way, operands, product = self._way(self.arithmetic, given, place, scale, fast)
        if way is None:
            reasons.append((self.arithmetic.why_none(product), False))
            return NotImplemented
        if isinstance(way, InDtype):
            self._portable.count(operation)
        sums = finish(way.sums(self._ready(way, operands), self._threads, self._device))
        result = sums.to(to)
        if known(result):
            canonical(result)  # which NaN a conversion makes depends on the machine
        if self._measure:
            product = product.measured(operands, sums)
        for other in self.others:
            way_of_other, theirs, _ = self._way(other, given, place, scale, fast)
            if way_of_other is not None:
                found = finish(way_of_other.sums(self._ready(way_of_other, theirs), self._threads, self._device))
                compared = compare_sums((sums, found), (result, found.to(to)), product, (way, way_of_other), operands)
                product.compared[other.label] = compared
        with LOCK:
            product = replace(product, index=len(self.products))  # another thread may have been faster
            self.products.append(product)
            self.account.product(product)
            self._here.products += 1
            if self._listener is not None:
                self._listener(product, way, operands, sums, result)
        return result

    def _ready(self, way: Way, operands: Operands) -> Operands:
        """The operands, B prepared where it is a weight that a kernel streams."""
        if type(way) is not Chain or self._device is not None or operands.blocks is not None or operands.a.dim() != 2:
            return operands
        b = self.weights.ready(way.unit, operands.b, operands.a.shape[0])
        return operands._replace(b=b)  # type: ignore[arg-type]  # gemm takes either

    def _way(
        self, arithmetic: Arithmetic, given: Operands, place: tuple[int, str, str, bool], scale: Any, fast: bool
    ) -> tuple[Way | None, Operands, Product]:
        """How an arithmetic computes a product, and the operands as it reads them."""
        a, b = arithmetic.policies.cast(given.a, given.b, place[3])
        shape = (a.shape[0] if a.dim() == 3 else 1, a.shape[-2], b.shape[-1], elements(a, -1))
        way, dtypes = None, (a.dtype, b.dtype)
        if not arithmetic.policies.leaves(a.dtype):
            way = arithmetic.choose(Product(*place, dtypes, shape, scale), fast)
        if isinstance(way, InDtype) and given.blocks is None and self._device is None and self._portable.multiplies(a, b):
            way = fma(way.label, way.dtype)
        product = Product(*place, dtypes, shape, scale, way.name if way else "")
        c = given.c if way is None or given.c is None else given.c.to(way.wide)
        return way, given._replace(a=a, b=b, c=c), product

    def _product_left(self, func: Any, result: torch.Tensor) -> Product:
        """What is told of a product that was left as it was."""
        backward = torch._C._current_graph_task_id() != -1
        operation, dtypes = func.overloadpacket.__name__, (result.dtype, result.dtype)
        return Product(len(self.products), self._layers.current(), operation, backward, dtypes, (0, 0, 0, 0), instruction="left as it was")

    def multiplies(self, dtype: torch.dtype) -> bool:
        """Whether a product of matrices of this dtype is emulated here, or computed in an order of our own."""
        return self._portable.multiplies(torch.empty(1, 1, dtype=dtype)) or self._emulates(dtype)

    def computes(self, func: Any, args: tuple[Any, ...]) -> bool:
        """Whether an operation has products that are emulated here, or may be."""
        tensors = [one for one in args if isinstance(one, torch.Tensor)]
        return operations.is_emulated(func) and operations.is_dense(args) and (self.arithmetic.varies or any(self._emulates(one.dtype) for one in tensors))

    def _emulates(self, dtype: torch.dtype) -> bool:
        a = torch.empty(1, 1, dtype=dtype)
        return self._way(self.arithmetic, Operands(a, a), (len(self.products), self._layers.current(), "mm", False), None, True)[0] is not None

    # -- results ----------------------------------------------------------------------------------------

    @property
    def first_difference(self) -> Difference | None:
        """Where the arithmetics first differ after rounding: layer, element and term; None where they agree throughout."""
        return next((one.difference for one in self.products if one.difference is not None), None)

    def report(self) -> str:
        """A line for each product: with ``measure`` how far from exact, and how many elements the others compute
        differently; at the end what was the chip's and what the host's."""
        text = table(self.arithmetic.label, [one.label for one in self.others], self.products, self.left)
        if self._calls is not None:
            shares = "{:.0%} of the products, {:.0%} of the multiplications".format(*self.account.planned_shares)
            text += f"\ncalls as on {self._calls}: {sum(self.planned.values())} had a plan, {sum(self.declined.values())} had none: {shares}"
            text += "".join(f"\n  {count} × {reason}" for reason, count in self.declined.most_common())
        if self.weights.prepared:
            text += f"\nweights: {self.weights}"
        return f"{text}\n{self.account}"


def _made(kind: type[emulate], args: tuple[Any, ...], options: dict[str, Any]) -> emulate:
    """One of these arguments."""
    return kind(*args, **options)
