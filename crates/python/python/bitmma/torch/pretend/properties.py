"""What ``torch.cuda.get_device_properties`` says of a chip. What is not known is an error that names it."""

from __future__ import annotations

from typing import Any

from ...kernels._device import Device

#: Memory in GiB and second-level cache in MiB, from NVIDIA's data sheets and white papers. The A100 and the H100 are those of 80 GB.
_MEMORY = {"a100": (80, 40), "a30": (24, 24), "h100": (80, 50), "h200": (141, 50), "l40s": (48, 96), "l40": (48, 96), "rtx4090": (24, 72)}


class Properties:
    """The properties of a GPU, as far as they are known."""

    def __init__(self, device: Device) -> None:
        self._device = device

    @property
    def total_memory(self) -> int:
        """Bytes of memory; nominal, a GPU has some less for the programs that use it."""
        return self._table("total_memory", 0) << 30

    @property
    def L2_cache_size(self) -> int:
        """Bytes of the second-level cache."""
        return self._table("L2_cache_size", 1) << 20

    is_integrated = is_multi_gpu_board = 0
    max_threads_per_block = 1024

    def _table(self, name: str, place: int) -> int:
        if self._device.short not in _MEMORY:
            raise AttributeError(f"{name} of {self._device.chip} is not known to bitmma")
        return _MEMORY[self._device.short][place]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return getattr(self._device, name)
        except AttributeError:
            raise AttributeError(f"{name} of {self._device.chip} is not known to bitmma") from None

    def __repr__(self) -> str:
        about = self._device
        return f"_CudaDeviceProperties(name='{about.name}', major={about.major}, minor={about.minor})"
