"""What wrappers of kernels ask of the GPU that they run on: its name, its capability, its multiprocessors."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any, Callable
from unittest import mock

from .._lock import LOCK
from ..errors import Error, OptionError

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


class Device:
    """A chip as ``torch.cuda.get_device_properties`` describes it."""

    warp_size = 32
    regs_per_multiprocessor = 65536

    def __init__(self, chip: str, capability: int, multiprocessors: int | None) -> None:
        self.chip, self.name = chip, f"NVIDIA {chip.upper()}"
        self.major, self.minor = divmod(capability, 10)
        short = "".join(character for character in chip.lower() if character.isalnum())
        self._multiprocessors = multiprocessors or MULTIPROCESSORS.get(short)
        shared, self.max_threads_per_multi_processor = LIMITS.get(capability, LIMITS[90])
        self.shared_memory_per_block_optin = shared << 10

    @property
    def multi_processor_count(self) -> int:
        if self._multiprocessors is None:
            raise OptionError(
                f"the code asks how many multiprocessors {self.chip} has, which is not known here: "
                f"emulate({self.chip!r}, multiprocessors=...) says it"
            )
        return self._multiprocessors


class Present:
    """A chip that is entered, with what launches and tunes kernels on it."""

    def __init__(self, device: Device, launch: Callable[..., Any], tune: Callable[..., Any], cuda: bool) -> None:
        self.device, self.launch, self.tune, self.cuda = device, launch, tune, cuda
        self.thread = threading.get_ident()


_present: list[Present] = []
_changes = contextlib.ExitStack()


def current() -> Present:
    """The chip that this thread has entered last; in a thread that has entered none, the last of all."""
    own = [one for one in _present if one.thread == threading.get_ident()]
    if not _present:
        raise Error("Triton asks for the chip of an emulation that has ended")
    return (own or _present)[-1]


class _Utilities:
    def get_device_properties(self, index: int = 0) -> dict[str, int]:
        """As Triton's driver names them."""
        device = current().device
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

        return GPUTarget("cuda", self.get_current_device(), current().device.warp_size)

    def get_device_capability(self, index: int = 0) -> tuple[int, int]:
        return current().device.major, current().device.minor

    def get_current_device(self) -> int:
        # by it Triton remembers what it compiled
        return 10 * current().device.major + current().device.minor

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


def acting() -> bool:
    """Whether Triton's driver is that of a chip which is not here."""
    driver = sys.modules.get("triton.runtime.driver")
    return driver is not None and isinstance(vars(driver.driver).get("_active"), _Driver)


@contextlib.contextmanager
def present(entry: Present) -> Iterator[None]:
    """In this block Triton and ``torch.cuda`` describe the chip, and kernels are launched on it. Blocks may end in any order.

    With ``cuda``, tensors say that they are on a GPU, too, and ``torch.cuda`` that there is one.
    """
    with LOCK:
        if not _present:
            _changes.enter_context(_changed())
        _present.append(entry)
    try:
        yield
    finally:
        with LOCK:
            _present.remove(entry)
            if not _present:
                _changes.close()


@contextlib.contextmanager
def _changed() -> Iterator[None]:
    """Triton and ``torch.cuda`` ask for the current chip."""
    from triton.compiler import CompiledKernel
    from triton.runtime import autotuner, driver

    before = dict(vars(driver))
    torch = sys.modules.get("torch")
    with contextlib.ExitStack() as stack:
        stack.callback(vars(driver).update, before)
        driver.set_active(_Driver())
        launch = property(lambda compiled: lambda *args: current().launch(compiled, *args))
        stack.enter_context(mock.patch.object(CompiledKernel, "run", launch))
        # there is nothing to load
        stack.enter_context(mock.patch.object(CompiledKernel, "_init_handles", lambda _: None))
        # the configuration of a tuned kernel is chosen here; some packages have tuners of their own
        tune = lambda self, *args, **kwargs: current().tune(self, *args, **kwargs)  # noqa: E731
        for kind in [autotuner.Autotuner, *(kind for kind in autotuner.Autotuner.__subclasses__() if "run" in vars(kind))]:
            stack.enter_context(mock.patch.object(kind, "run", tune))
        if torch is not None:
            is_cuda, is_available, device_count = torch.Tensor.is_cuda.__get__, torch.cuda.is_available, torch.cuda.device_count
            answers: dict[str, Any] = {
                "get_device_properties": lambda *_: current().device,
                "get_device_capability": lambda *_: (current().device.major, current().device.minor),
                "get_device_name": lambda *_: current().device.name,
                "current_device": lambda: 0,
                "device": lambda _: contextlib.nullcontext(),
                "is_available": lambda: current().cuda or is_available(),
                "device_count": lambda: 1 if current().cuda else device_count(),
            }
            stack.enter_context(mock.patch.object(torch.Tensor, "is_cuda", property(lambda tensor: current().cuda or is_cuda(tensor))))
            for name, answer in answers.items():
                stack.enter_context(mock.patch.object(torch.cuda, name, answer))
        yield
