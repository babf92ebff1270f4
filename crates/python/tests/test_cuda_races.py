"""CUDA C++ kernels whose threads meet in memory, as NVRTC compiles them: correct ones run, and each fault is reported."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from cuda_kernels import KERNELS, Kernel, X, source

from bitmma import KernelError
from bitmma.kernels import launch_ptx


@lru_cache(maxsize=None)
def nvrtc() -> ctypes.CDLL:
    """NVIDIA's compiler, of a wheel or of the system."""
    package = importlib.util.find_spec("nvidia")
    folders = list(package.submodule_search_locations or []) if package else []
    files = [str(file) for folder in folders for file in sorted(Path(folder).glob("*/lib/libnvrtc.so.*"))]
    for name in [*files, ctypes.util.find_library("nvrtc")]:
        if name:
            return ctypes.CDLL(name)
    pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")


@lru_cache(maxsize=None)
def entries(target: str) -> dict[str, str]:
    """Each entry as a text of its own."""
    library, program, size = nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()
    options = (ctypes.c_char_p * 2)(b"--std=c++17", f"--gpu-architecture={target.replace('sm', 'compute')}".encode())
    assert library.nvrtcCreateProgram(ctypes.byref(program), source().encode(), b"kernels.cu", 0, None, None) == 0
    failed = library.nvrtcCompileProgram(program, 2, options)
    get_size, get = (
        (library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog) if failed else (library.nvrtcGetPTXSize, library.nvrtcGetPTX)
    )
    get_size(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    get(program, text)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    assert not failed, text.value.decode()
    head, *rest = re.split(r"^(?=\.visible \.entry )", text.value.decode(), flags=re.MULTILINE)
    return {re.split(r"\W+", entry)[3]: head + entry for entry in rest}


def run(kernel: Kernel, fault: int, target: str) -> np.ndarray:
    """What a kernel with a fault leaves."""
    y, u = np.zeros(4096, np.float32), np.zeros(512, np.uint32)
    text = entries(target)[f"{kernel.name}_{fault}"]
    launch_ptx(text, kernel.blocks, [X.copy(), y, u], block=kernel.threads, fusion="predict", names=["x", "y", "u"])
    return y


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_correct_kernels_run(kernel: Kernel, target: str) -> None:
    """With the results that they are written for."""
    y = run(kernel, 0, target)
    if kernel.expected is not None:
        got = y.view(kernel.dtype)[kernel.at :][: len(kernel.expected)]
        assert np.array_equal(got, kernel.expected)


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("kernel", "fault"), [(kernel, fault) for kernel in KERNELS for fault in range(1, kernel.faults + 1)], ids=lambda one: getattr(one, "name", one)
)
def test_faults_are_reported(kernel: Kernel, fault: int, target: str) -> None:
    """With the lines and threads of both accesses."""
    with pytest.raises(KernelError, match=r"^line \d+: .*the other access is line \d+, block \(\d, 0, 0\), thread .*block \(\d"):
        run(kernel, fault, target)
