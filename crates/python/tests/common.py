"""What several tests need."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import bitmma
from bitmma import _bitmma, formats
from bitmma.kernels import _sass

#: The repository.
ROOT = Path(__file__).parents[3]

#: Whether the exhaustive tests were asked for.
EVERYTHING = os.environ.get("BITMMA_TESTS") == "all"


def pretended_gpu_or_skip() -> None:
    """Skips a file where no GPU can be pretended: there is one, or PyTorch and Triton are not for one."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU", allow_module_level=True)
    if not hasattr(torch._C, "_construct_storage_from_data_pointer"):
        pytest.skip("PyTorch was built without CUDA", allow_module_level=True)


def random_codes(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Random codes of a format, every bit random."""
    format = formats.by_name(name)
    words = rng.integers(0, np.iinfo(np.uint64).max, shape, np.uint64, endpoint=True)
    return (words >> np.uint64(64 - format.bits)).astype(f"uint{8 * format.bytes}")


def models(*revisions: str) -> list[bitmma.Unit]:
    """An instruction for each model of the catalogue in these revisions."""
    found: dict[tuple[str, int], bitmma.Unit] = {}
    for revision in revisions:
        for row in _bitmma.instructions():
            try:
                unit = bitmma.Unit(_bitmma.Unit.of_instruction(row, revision), row)
            except bitmma.Error:  # instructions without a model
                continue
            found.setdefault((unit.toml, unit.step), unit)
    return list(found.values())


def _nvrtc_is_missing() -> str:
    """Why CUDA C++ cannot be compiled here; empty if it can."""
    try:
        _bitmma.compile_cuda(_sass.folders(), "\n", "nothing.cu", "sm_80", [], [])
    except bitmma.CudaError as error:
        return str(error)
    return ""


#: A mark for tests that compile CUDA C++.
nvrtc_or_skip = pytest.mark.skipif(bool(_nvrtc_is_missing()), reason=_nvrtc_is_missing())
