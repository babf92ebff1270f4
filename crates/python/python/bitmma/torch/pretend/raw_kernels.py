"""Kernels in CUDA C++ of ``torch.cuda._compile_kernel``: they run on the chip that the GPU seems to be."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Callable

import torch

from ..._lazy import numpy as np
from ...errors import CudaError, PtxError, UnsupportedPtx
from ...kernels._cuda import cuda
from ...kernels._device import SHARED_BY_DEFAULT, Device
from .memory import is_on_gpu


class Kernel:
    """A kernel that is called as PyTorch's: ``kernel(grid, block, [x, y, 1000])``. An ``int`` is C's int, and a ``float`` its double."""

    def __init__(self, kernel: Any, device: Device) -> None:
        self._kernel, self._device = kernel, device
        self._shared = 0

    def __call__(self, grid: Any = (1, 1, 1), block: Any = (1, 1, 1), args: Sequence[Any] | None = None, shared_mem: int = 0, stream: Any = None) -> None:
        if shared_mem >= SHARED_BY_DEFAULT and shared_mem > self._shared:
            raise RuntimeError(
                f"Kernel requires {shared_mem} bytes of shared memory (>= 48KB), but {self._shared} are configured."
                " Call kernel.set_shared_memory_config(shared_mem) after compilation and before launching the kernel."
            )
        kinds = [kind for _, kind, _ in self._kernel.parameters]
        # as the driver, which takes three numbers of each, and reads no more arguments than there are parameters
        grid, block = tuple(grid[place] for place in range(3)), tuple(block[place] for place in range(3))
        given = [_taken(place, one, kind) for place, (one, kind) in enumerate(zip(args or (), kinds))]
        try:
            self._kernel.launch(grid, block, *given, shared=shared_mem)
        except (PtxError, UnsupportedPtx) as error:
            raise RuntimeError(f"CUDA error: {error}") from error

    def set_shared_memory_config(self, shared_mem_bytes: int) -> None:
        """Asks for dynamic shared memory."""
        most = self._device.shared_memory_per_block_optin
        if shared_mem_bytes > most:
            raise RuntimeError(f"Requested shared memory ({shared_mem_bytes} bytes) exceeds device limit ({most} bytes).")
        self._shared = shared_mem_bytes


def _taken(place: int, value: Any, kind: str) -> Any:
    """An argument of a parameter of some kind, as PyTorch passes it: the driver takes as many of its bytes as the parameter has."""
    if isinstance(value, torch.Tensor):
        if not is_on_gpu(value) and not value.is_pinned():
            raise ValueError("All tensor arguments must be CUDA tensors or pinned CPU tensors")
        return value
    if isinstance(value, int):
        number = ctypes.c_int(value).value
        if kind[1:] in ("8", "16") and not kind.startswith("f"):
            return number & ((1 << int(kind[1:])) - 1)
        if kind in ("f32", "f64", "u64", "s64", "b64"):
            raise TypeError(f"argument {place} is an int, which PyTorch passes as C's int of 4 bytes, and the parameter is of type {kind}")
        return number
    if isinstance(value, float):
        if kind == "f32":
            raise TypeError(f"argument {place} is a float, which PyTorch passes as C's double, and the parameter is of type f32: declare it as double")
        return np.float64(value)
    raise TypeError(f"Unsupported argument type: {type(value)}")


def compiler(device: Callable[[], Device]) -> Callable[..., Kernel]:
    """``torch.cuda._compile_kernel`` of the chip that ``device`` returns."""

    def compile(
        kernel_source: str,
        kernel_name: str,
        compute_capability: str | None = None,
        cuda_include_dirs: Sequence[str] | None = None,
        nvcc_options: Sequence[str] | None = None,
    ) -> Kernel:
        own = device()
        if compute_capability is not None and str(compute_capability).rstrip("af") != f"{own.major}{own.minor}":
            raise RuntimeError(f"CUDA error: a kernel for sm_{compute_capability} does not run on {own.name}, which is sm_{own.major}{own.minor}")
        options = [*torch.cuda._utils._get_gpu_rtc_compatible_flags(), *(nvcc_options or ())]
        try:
            module = cuda(kernel_source, own.chip, options=options, include=cuda_include_dirs or (), names=[kernel_name])
        except CudaError as error:
            raise RuntimeError(f"Kernel compilation failed:\n{error}") from None
        return Kernel(module[kernel_name], own)

    return compile
