"""What wrappers of kernels ask of the GPU that they run on: its name, its capability, its multiprocessors."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

from ..errors import OptionError

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


class _Utilities:
    def __init__(self, device: Device) -> None:
        self._device = device

    def get_device_properties(self, index: int = 0) -> dict[str, int]:
        """As Triton's driver names them."""
        device = self._device
        return {
            "multiprocessor_count": device.multi_processor_count,
            "max_shared_mem": device.shared_memory_per_block_optin,
            "max_num_regs": device.regs_per_multiprocessor,
            "warpSize": device.warp_size,
        }


class _Driver:
    """Triton's driver of the chip."""

    def __init__(self, device: Device) -> None:
        self._device, self.utils = device, _Utilities(device)

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 10 * self._device.major + self._device.minor, self._device.warp_size)

    def get_device_capability(self, index: int = 0) -> tuple[int, int]:
        return self._device.major, self._device.minor

    def get_current_device(self) -> int:
        # by it Triton remembers what it compiled
        return 10 * self._device.major + self._device.minor

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
def present(device: Device, cuda: bool) -> Iterator[None]:
    """In this block Triton and ``torch.cuda`` describe the chip.

    With ``cuda``, tensors say that they are on a GPU, too, and ``torch.cuda`` that there is one.
    """
    from triton.runtime import driver

    before = dict(vars(driver))
    torch = sys.modules.get("torch")
    with contextlib.ExitStack() as stack:
        stack.callback(vars(driver).update, before)
        driver.set_active(_Driver(device))
        if torch is not None:
            answers: dict[str, Any] = {
                "get_device_properties": lambda *_: device,
                "get_device_capability": lambda *_: (device.major, device.minor),
                "get_device_name": lambda *_: device.name,
                "current_device": lambda: 0,
                "device": lambda _: contextlib.nullcontext(),
            }
            if cuda:
                answers |= {"is_available": lambda: True, "device_count": lambda: 1}
                stack.enter_context(mock.patch.object(torch.Tensor, "is_cuda", property(lambda _: True)))
            for name, answer in answers.items():
                stack.enter_context(mock.patch.object(torch.cuda, name, answer))
        yield
