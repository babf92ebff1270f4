"""What wrappers of kernels ask of the GPU that they run on: its name, its capability, its multiprocessors."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Callable
from unittest import mock

from .._lock import LOCK
from ..errors import Error, OptionError, PtxError

#: Multiprocessors of chips, from NVIDIA's data sheets; of a B200 as public reports have it. An H100 is the SXM module unless it is called otherwise.
MULTIPROCESSORS = {
    "a100": 108,
    "a30": 56,
    "h100": 132,
    "h100sxm": 132,
    "h100nvl": 132,
    "h100pcie": 114,
    "h200": 132,
    "h20": 78,
    "gh200": 132,
    "l40": 142,
    "l40s": 142,
    "rtx4060": 24,
    "rtx4090": 128,
    "b200": 148,
}

#: Shared memory that a block may use, in KiB, and threads of a multiprocessor, by compute capability (CUDA C++ Programming Guide).
LIMITS = {75: (64, 1024), 80: (163, 2048), 86: (99, 1536), 89: (99, 1536), 90: (227, 2048), 120: (99, 1536)}
#: Shared memory that a block may use without asking for more.
SHARED_BY_DEFAULT = 48 << 10


class Device:
    """A chip as ``torch.cuda.get_device_properties`` describes it."""

    warp_size = 32
    regs_per_multiprocessor = 65536

    def __init__(self, chip: str, capability: int, multiprocessors: int | None) -> None:
        self.chip, self.name = chip, f"NVIDIA {chip.upper()}"
        self.major, self.minor = divmod(capability, 10)
        #: The name by which tables have it.
        self.short = "".join(character for character in chip.lower() if character.isalnum())
        if multiprocessors is not None and not (isinstance(multiprocessors, int) and multiprocessors > 0):
            raise OptionError(f"multiprocessors is {multiprocessors!r}; a positive integer was expected")
        self._multiprocessors = multiprocessors or MULTIPROCESSORS.get(self.short)
        shared, self.max_threads_per_multi_processor = LIMITS.get(capability, LIMITS[90])
        self.shared_memory_per_block, self.shared_memory_per_block_optin = SHARED_BY_DEFAULT, shared << 10
        # from 8.0 on a block leaves 1 KiB of it to the system
        self.shared_memory_per_multiprocessor = (shared + (capability >= 80)) << 10

    @property
    def multi_processor_count(self) -> int:
        if self._multiprocessors is None:
            raise OptionError(
                f"the code asks how many multiprocessors {self.chip} has, which is not known here: "
                "the option multiprocessors=... says it"
            )
        return self._multiprocessors


class Present:
    """A chip that is entered, with what launches and tunes kernels on it.

    ``shared`` says whether the thread that asks takes part, if it has entered none itself.
    """

    def __init__(self, device: Device, launch: Callable[..., Any], tune: Callable[..., Any], cuda: bool, shared: Callable[[], bool]) -> None:
        self.device, self.launch, self.tune, self.cuda, self.shared = device, launch, tune, cuda, shared
        self.thread, self.around = threading.current_thread(), _entered.get()

    def is_around(self, other: Present) -> bool:
        """Whether the same thread has entered the other one inside of it."""
        return self in other.around and self.thread is other.thread


#: Set where ``torch.cuda`` describes a chip already (:mod:`bitmma.torch.pretend`).
DESCRIBED: list[bool] = []

_present: list[Present] = []
_changes = contextlib.ExitStack()
#: What a thread or a task has entered; a task starts with what it was started in.
_entered: ContextVar[tuple[Present, ...]] = ContextVar("_entered", default=())


def _own() -> Present | None:
    """The chip that this thread or task has entered last."""
    return next((one for one in reversed(_entered.get()) if one in _present), None)


def current() -> Present | None:
    """The chip on which this thread or task runs kernels: its own, or that in which it takes part, which must not be one of several."""
    own = _own()
    if own is not None:
        return own
    shared = [one for one in list(_present) if one.shared()]
    shared = [one for one in shared if not any(map(one.is_around, shared))]
    chips = sorted({one.device.chip for one in shared})
    if len(chips) > 1:
        name = threading.current_thread().name
        raise Error(f"thread {name!r} has entered no chip, and other threads have entered {' and '.join(chips)}: enter the one you mean in this thread too")
    return shared[-1] if shared else None


def _chip() -> Present:
    found = current()
    if found is None:
        raise Error("Triton asks for the chip of this thread, which has entered none, or of an emulation that has ended")
    return found


def _says_cuda() -> bool:
    """Whether tensors say that they are on a GPU."""
    own = _own()
    return own.cuda if own is not None else any(one.cuda and one.shared() for one in list(_present))


class _Utilities:
    def get_device_properties(self, index: int = 0) -> dict[str, int]:
        """As Triton's driver names them."""
        device = _chip().device
        return {
            "multiprocessor_count": device.multi_processor_count,
            "max_shared_mem": device.shared_memory_per_block_optin,
            "max_num_regs": device.regs_per_multiprocessor,
            "warpSize": device.warp_size,
        }


class _Driver:
    """Triton's driver of the chip."""

    utils = _Utilities()

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.get_current_device(), _chip().device.warp_size)

    def get_device_capability(self, index: int = 0) -> tuple[int, int]:
        return _chip().device.major, _chip().device.minor

    def get_current_device(self) -> int:
        # by it Triton remembers what it compiled
        return 10 * _chip().device.major + _chip().device.minor

    def set_current_device(self, index: int) -> None:
        """There is one."""

    def get_current_stream(self, index: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Any:
        from triton.testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        """There is no cache to clear before a measurement."""
        return None

    def clear_cache(self, cache: Any) -> None:
        """There is none."""


@contextlib.contextmanager
def present(entry: Present) -> Iterator[None]:
    """In this block Triton and ``torch.cuda`` describe the chip, and kernels are launched on it. Blocks may end in any order.

    With ``cuda``, tensors say that they are on a GPU, too, and ``torch.cuda`` that there is one.
    """
    with LOCK:
        if not _present:
            _changes.enter_context(_changed())
        _present.append(entry)
    _entered.set((*(one for one in _entered.get() if one in _present), entry))
    try:
        yield
    finally:
        _entered.set(tuple(one for one in _entered.get() if one is not entry))
        with LOCK:
            _present.remove(entry)
            if not _present:
                _changes.close()


def _asks(plain: Callable[..., Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    """A function that the current chip answers; where there is none, it is as it was."""

    @functools.wraps(plain)
    def asks(*args: Any, **kwargs: Any) -> Any:
        chip = current()
        return plain(*args, **kwargs) if chip is None else answer(chip, *args, **kwargs)

    return asks


def _chosen(plain: Any) -> Any:
    """``torch.cuda.device``, by which code chooses a GPU: there is one."""

    class Chosen(plain):  # type: ignore[misc]
        def __new__(cls, device: Any) -> Any:
            return plain(device) if current() is None else object.__new__(cls)

        def __init__(self, device: Any) -> None:
            pass

        def __enter__(self) -> None:
            pass

        def __exit__(self, *raised: Any) -> None:
            pass

    return Chosen


def interpreted(*_: Any, **__: Any) -> Any:
    """An interpreted kernel has no chip's bits."""
    raise PtxError("Triton interprets this kernel, which the variable TRITON_INTERPRET asks for: unset it")


def _kinds(kind: Any) -> Iterator[Any]:
    yield kind
    for one in kind.__subclasses__():
        yield from _kinds(one)


@contextlib.contextmanager
def _changed() -> Iterator[None]:
    """Triton and ``torch.cuda`` ask for the current chip."""
    from triton.compiler import CompiledKernel
    from triton.runtime import autotuner, driver, interpreter

    torch = sys.modules.get("torch")
    with contextlib.ExitStack() as stack:

        def becomes(owner: Any, name: str, value: Any) -> None:
            stack.enter_context(mock.patch.object(owner, name, value))

        def asks(owner: Any, name: str, answer: Callable[..., Any]) -> None:
            becomes(owner, name, _asks(getattr(owner, name), answer))

        own = _Driver()
        active = type(driver).active.fget
        becomes(type(driver), "active", property(lambda config: active(config) if current() is None else own))
        becomes(CompiledKernel, "run", property(_asks(CompiledKernel.run.fget, lambda chip, kernel: functools.partial(chip.launch, kernel))))
        asks(CompiledKernel, "_init_handles", lambda chip, kernel: None)  # there is nothing to load
        asks(interpreter.GridExecutor, "__call__", interpreted)
        # the configuration of a tuned kernel is chosen here; some packages have tuners of their own
        for kind in _kinds(autotuner.Autotuner):
            if "run" in vars(kind):
                asks(kind, "run", lambda chip, tuner, *args, **kwargs: chip.tune(tuner, *args, **kwargs))
        if torch is not None and not DESCRIBED:
            is_cuda, is_available, device_count = torch.Tensor.is_cuda.__get__, torch.cuda.is_available, torch.cuda.device_count
            becomes(torch.Tensor, "is_cuda", property(lambda tensor: _says_cuda() or is_cuda(tensor)))
            becomes(torch.cuda, "is_available", functools.wraps(is_available)(lambda: _says_cuda() or is_available()))
            becomes(torch.cuda, "device_count", functools.wraps(device_count)(lambda: 1 if _says_cuda() else device_count()))
            becomes(torch.cuda, "device", _chosen(torch.cuda.device))
            asks(torch.cuda, "get_device_properties", lambda chip, device=None: chip.device)
            asks(torch.cuda, "get_device_capability", lambda chip, device=None: (chip.device.major, chip.device.minor))
            asks(torch.cuda, "get_device_name", lambda chip, device=None: chip.device.name)
            asks(torch.cuda, "current_device", lambda chip: 0)
        yield
