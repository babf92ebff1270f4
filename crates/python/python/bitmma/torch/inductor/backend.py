"""The backend of ``torch.compile`` for a chip."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple
from unittest import mock

import torch

from ...errors import OptionError
from ...kernels._triton import Launcher, Ran
from ..._lock import LOCK
from ..emulation import emulate
from ..pretend import inductor as described
from ..pretend import pretend
from . import attention as attending
from . import choices, folders, lines, retarget, running, shared
from . import outside as outsides

#: Settings of Inductor under which nothing is measured, and products are Triton's where it has a template.
SETTINGS = {
    "deterministic": True,
    "max_autotune_gemm": True,
    "max_autotune_gemm_backends": "TRITON,ATEN",
    "max_autotune_conv_backends": "TRITON,ATEN",
    "layout_optimization": False,  # channels stay where the model has them
    "joint_graph_constant_folding": False,  # functions of constants are computed by kernels, and not by another library while compiling
    "triton.cudagraphs": False,
    "triton.num_decompose_k_splits": 0,  # products in parts of K, which a library would compute
}
#: What compiling here needs besides.
_HERE = {
    "compile_threads": 1,
    "fx_graph_cache": False,
    "fx_graph_remote_cache": False,
    "autotune_local_cache": False,
    "autotune_remote_cache": False,
    "bundle_triton_into_fx_graph_cache": False,
    "use_static_triton_launcher": False,
}

#: The same of the separation of forward and backward passes. Random numbers that are drawn again in the backward pass become calls.
_AUTOGRAD = {"enable_autograd_cache": False, "graphsafe_rng_functionalization": False}

_COMPILING = threading.RLock()
#: For what Inductor wrote a kernel, and its compute capability.
_CAPABILITY = re.compile(r"DeviceProperties\(type='(\w+)'[^)]*?\bcc='?(\w+)")
#: What a log has before each line of code, and before the first.
_LOG = re.compile(r"^\w\d{4} [^\]\n]*\] (?:\[\w+/\w+\] )?\[__output_code\] ?(?:Output code: *\n)?", re.MULTILINE)
#: Arguments as the code says them, and what each is.
_NAMES = re.compile(r"^ +(\w+(?:, \w+)*),? = args$", re.MULTILINE)
_ARGUMENT = r"^    {} = rand_strided\((\(.*?\)), (\(.*?\)), .*dtype=torch\.(\w+)\)$"
#: Arguments that are sizes: tensors have other shapes than the code says as an example.
_SIZE = re.compile(r"s\d+")


@contextlib.contextmanager
def _environment(surroundings: dict[str, str]) -> Iterator[None]:
    """In this block environment variables have these values; others stay as other threads set them."""
    before = {name: os.environ.get(name) for name in surroundings}
    os.environ.update(surroundings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@dataclass(frozen=True)
class Options:
    """How a model is compiled for a chip."""

    chip: str
    outside: str = "refuse"
    """What becomes of calls that are no kernel of Triton: ``"refuse"`` is an error that names them, unless they only move, choose or compare; with
    ``"gemm"`` products are the chip's instruction, K in order, and the rest the host's (:class:`~bitmma.torch.emulate`); ``"host"`` leaves them to PyTorch."""
    attention: str | None = None
    """``"math"`` computes ``scaled_dot_product_attention`` by its two products, ``"flash"`` as FlashAttention-2 does on the chip (:class:`~bitmma.torch.emulate`);
    it must be said, as a GPU would choose among libraries."""
    multiprocessors: int | None = None
    """How many the chip has, where that is not known."""
    allow_doubtful: bool = False
    """Whether kernels run of which it is not known for sure what ptxas fuses."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Further settings of Inductor."""
    choices: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Configurations of kernels that a GPU would choose by measuring, as :attr:`Compiled.choices` has them; a rule decides the others."""

    def __post_init__(self) -> None:
        outsides.check(self.outside)
        attending.check(self.attention)
        choices.check(self.choices)
        if not isinstance(self.settings, dict):
            raise OptionError(f"settings is {self.settings!r}; a dictionary of settings of torch._inductor.config was expected")


class Kernel:
    """A kernel that Inductor wrote."""

    def __init__(self) -> None:
        self.launches = self.instructions = 0
        self.doubts: set[tuple[int, str, str]] = set()
        self.text = ""


class _Launcher(Launcher):
    """Runs kernels, and notes what ran."""

    def __init__(self, options: Options, backend: Backend) -> None:
        super().__init__(options.chip, multiprocessors=options.multiprocessors, allow_doubtful=options.allow_doubtful)
        self._backend = backend

    def launch(self, compiled: Any, x: int, y: int, z: int, *about: Any) -> None:
        """As Triton's launcher is called."""
        super().launch(compiled, x, y, z, *about)
        if 0 not in (x, y, z) and self.last is not None:
            self._backend.ran(compiled.metadata.name, self.last)


class _Watcher(NamedTuple):
    """Who is told what a thread runs."""

    thread: int
    ran: Callable[[Any], None]
    launched: Callable[[str, Ran], None]
    starts: Callable[[list[Any]], None]


class Backend:
    """A backend of ``torch.compile`` that compiles for a chip and runs here."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.launcher = _Launcher(options, self)
        #: The code that Inductor wrote, graph by graph.
        self.code: list[str] = []
        #: Kernels by name.
        self.kernels: dict[str, Kernel] = {}
        #: Computes what is called outside of kernels, and accounts for it.
        self.emulation = emulate(options.chip, other_threads="plain")
        #: Templates of Triton for each product, of which the first is taken: what is said of each, and what runs it alone.
        self.templates: list[list[tuple[str, Any]]] = []
        self.choices = choices.Choices(options.choices)
        #: Code that was loaded, which is this backend's alone, as it may have chosen otherwise.
        self._loaded: dict[str, Any] = {}
        #: The lines of the model that a kernel computes, by the number of its graph and its name.
        self.lines: dict[tuple[int, str], list[str]] = {}
        self._lock = threading.Lock()
        self._watchers: list[_Watcher] = []

    @contextlib.contextmanager
    def watched(self, ran: Callable[[Any], None], launched: Callable[[str, Ran], None], starts: Callable[[list[Any]], None] = lambda given: None) -> Iterator[None]:
        """In this block ``ran`` is told the outputs of each graph that this thread runs, ``launched`` each kernel's name, and what it ran, and ``starts`` what
        a graph is given, before it runs."""
        watcher = _Watcher(threading.get_ident(), ran, launched, starts)
        self._watchers.append(watcher)
        try:
            yield
        finally:
            self._watchers.remove(watcher)

    def ran(self, name: str, ran: Ran) -> None:
        """A kernel ran."""
        text, launched = ran.text, ran.launched
        with self._lock:
            kernel = self.kernels.setdefault(name, Kernel())
            kernel.launches += 1
            kernel.instructions += launched.instructions
            kernel.doubts.update(launched.doubts)
            kernel.text = text
            self.emulation.account.kernels[name] += 1
        for watcher in self._here():
            watcher.launched(name, ran)

    def _here(self) -> list[_Watcher]:
        return [one for one in self._watchers if one.thread == threading.get_ident()]

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """In this block Inductor compiles for the chip."""
        from torch._functorch import config as functorch
        from torch._inductor import config
        from torch._inductor.codecache import PyCodeCache
        from torch._inductor.graph import GraphLowering

        folder = folders.folder(self.launcher.device.short)
        surroundings = {"TORCHINDUCTOR_CACHE_DIR": folder, "TRITON_CACHE_DIR": os.path.join(folder, "triton")}
        with _COMPILING, _environment(surroundings), pretend(self.options.chip), self.launcher.active(), described.described(running.empty_strided, running.launch, self.templates, self.choices):
            with config.patch({**_HERE, **SETTINGS, **self.options.settings}), functorch.patch(_AUTOGRAD), mock.patch.object(GraphLowering, "save_output_code", self.code.append):
                with mock.patch.object(PyCodeCache, "load_by_key_path", running.settled(PyCodeCache.load_by_key_path)), mock.patch.object(PyCodeCache, "modules_no_attr", self._loaded):
                    yield

    def __call__(self, graph: torch.fx.GraphModule, given: list[Any], **options: Any) -> Callable[..., Any]:
        from torch._inductor.compile_fx import compile_fx

        graph, lifted = retarget.lifted(graph)
        retarget.to_gpu(graph, self.options.attention)
        # a model on the CPU says "cpu" where it would say "cuda"
        autocast: dict[str, Any] = {"dtype": torch.get_autocast_dtype("cpu"), "enabled": torch.is_autocast_enabled("cpu")}
        with self.compiling(), torch.autocast("cuda", **autocast), attending.Attending(self.options.attention):
            found: Any = compile_fx(graph, retarget.inputs(graph, [*(one() for one in lifted), *given]), inner_compile=self._inner)
        return shared.checked((lambda *args: found(*(one() for one in lifted), *args)) if lifted else found, given)

    def _inner(self, graph: torch.fx.GraphModule, given: list[Any], **options: Any) -> Any:
        """Inductor's last step, of a forward or backward graph."""
        from torch._inductor.compile_fx import compile_fx_inner

        with self.compiling():
            before = len(self.code)
            with lines.noted(lambda name, found: self.lines.setdefault((before, name), []).extend(found)):
                found: Any = compile_fx_inner(graph, given, **options)
            calls = sum(map(outsides.calls, self.code[before:]), Counter())
        call = getattr(found, "current_callable", None)
        if call is None:  # there is nothing to compute
            outsides.check_calls(calls, self.options.outside)
            return found
        found.current_callable = self._runs(call, calls, before)
        return found

    def run_code(self, code: str, args: Sequence[Any], best: choices.BestConfigs | None = None) -> Any:
        """Runs code that Inductor wrote, here or elsewhere, in the configurations that were the best there."""
        from torch._inductor.codecache import PyCodeCache
        from torch._inductor.runtime import triton_heuristics

        code = _LOG.sub("", code)
        written, own = set(_CAPABILITY.findall(code)), ("cuda", str(self.launcher.capability))
        if not written:
            raise OptionError("the code has no kernel of Triton: what Inductor writes with TORCH_LOGS=output_code was expected")
        if written != {own}:
            found = ", ".join(f"{kind} {capability}" for kind, capability in sorted(written))
            raise OptionError(f"the code was written for {found}; {self.options.chip} is cuda {own[1]}")
        _check_arguments(code, args)
        try:
            with self.compiling(), contextlib.nullcontext() if best is None else mock.patch.object(triton_heuristics, "check_autotune_cache", best.look):
                module = PyCodeCache.load(code)
        except RuntimeError as error:  # as PyTorch says of what Python cannot read
            raise OptionError(f"the code cannot be read: {error}") from error
        call = getattr(module, "call", None)
        if not callable(call):
            raise OptionError("the code has no function 'call': what Inductor writes with TORCH_LOGS=output_code was expected")
        self.code.append(code)
        return self._runs(call, outsides.calls(code), len(self.code) - 1)(list(args))

    def _runs(self, call: Callable[[Any], Any], calls: Counter[str], number: int) -> Callable[[Any], Any]:
        """What runs a graph of this number, whose code has these calls outside of kernels."""
        outsides.check_calls(calls, self.options.outside)
        around = self.emulation if calls and self.options.outside != "host" else contextlib.nullcontext()

        def run(args: Any) -> Any:
            for watcher in self._here():
                watcher.starts(list(args))
            with running.running(self, number), around:
                outputs = call(args)
            if self.options.outside == "host":
                with LOCK:
                    outsides.count(calls, self.emulation.account)
            for watcher in self._here():
                watcher.ran(outputs)
            return outputs

        return run


def _check_arguments(code: str, args: Sequence[Any]) -> None:
    """An error if these are not what the code expects, as far as it says that."""
    names = _NAMES.search(code)
    if names is None:
        return
    expected = names[1].split(", ")
    if not isinstance(args, (list, tuple)) or len(args) != len(expected):
        raise OptionError(f"args is a {type(args).__name__}{f' of {len(args)}' if isinstance(args, (list, tuple)) else ''}; a list of {len(expected)} was expected: {', '.join(expected)}")
    for name, one in zip(expected, args):
        about = re.search(_ARGUMENT.format(name), code, re.MULTILINE)
        if about is None:
            continue
        found = f"{one.dtype}".removeprefix("torch.") if isinstance(one, torch.Tensor) else type(one).__name__
        if found != about[3]:
            raise OptionError(f"argument {name} is {found}; {about[3]} of shape {about[1]} was expected")
        if any(map(_SIZE.fullmatch, expected)):
            continue
        given = (tuple(one.shape), one.stride())
        wanted = (ast.literal_eval(about[1]), ast.literal_eval(about[2]))  # Inductor may write (32, ) for (32,)
        if given != wanted:
            raise OptionError(f"argument {name} has shape {given[0]} and strides {given[1]}; {wanted[0]} and strides {wanted[1]} were expected")
