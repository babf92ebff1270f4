"""CUDA C++ kernels whose threads meet in memory, as NVRTC compiles them: correct ones run, and each fault is reported."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from common import nvrtc_or_skip
from cuda_kernels import KERNELS, Kernel, X, source

from bitmma import KernelError
from bitmma.kernels import cuda

pytestmark = nvrtc_or_skip


@lru_cache(maxsize=None)
def module(target: str) -> Any:
    """All of them."""
    return cuda(source(), target, fusion="predict")


def run(kernel: Kernel, fault: int, target: str) -> np.ndarray:
    """What a kernel with a fault leaves."""
    y, u = np.zeros(4096, np.float32), np.zeros(512, np.uint32)
    module(target)[f"{kernel.name}_{fault}"][kernel.blocks, kernel.threads](X.copy(), y, u)
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
    with pytest.raises(KernelError, match=r"^line \d+ \(kernel.cu, line \d+\): .*the other access is line \d+, block \(\d, 0, 0\), thread .*block \(\d"):
        run(kernel, fault, target)
