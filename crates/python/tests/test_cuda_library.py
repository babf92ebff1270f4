"""Kernels of CUDA C++ in the manner of public libraries, compiled by NVRTC: their bits, and no false alarm."""

from __future__ import annotations

import cuda_library_aten  # noqa: F401
import cuda_library_ggml  # noqa: F401
import cuda_library_language  # noqa: F401
import cuda_library_llm  # noqa: F401
import cuda_library_numerics  # noqa: F401
import cuda_library_samples  # noqa: F401
import cuda_library_tensor  # noqa: F401
import cuda_library_vllm  # noqa: F401
import numpy as np
import pytest
from common import nvrtc_or_skip
from cuda_library import LIBRARY, Case

from bitmma.kernels import cuda

pytestmark = nvrtc_or_skip

RUNS = [pytest.param(case, chip, id=f"{case.name}-{chip}") for case in LIBRARY for chip in case.chips]


def test_most_kernels_are_compared_bit_for_bit() -> None:
    assert len(LIBRARY) >= 40
    assert sum(case.within is None for case in LIBRARY) >= 25
    assert len({case.name for case in LIBRARY}) == len(LIBRARY)


@pytest.mark.parametrize(("case", "chip"), RUNS)
def test_kernel(case: Case, chip: str) -> None:
    """The bits of a second writing in NumPy, or within a bound that its name says."""
    fusion = None if case.asked else "predict"
    module = cuda(case.source, chip, options=case.options, names=case.names, fusion=fusion)
    got, expected = case.run(module, chip)
    got, expected = (each if isinstance(each, tuple) else (each,) for each in (got, expected))
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.shape == other.shape
        if case.within is None:
            assert one.dtype == other.dtype
            assert np.array_equal(one.view(f"u{one.itemsize}"), other.view(f"u{other.itemsize}")), np.argwhere(one != other)[:4]
        else:
            assert case.name.endswith("_within_a_bound")
            assert np.isfinite(one.astype(np.float64)).all()
            assert abs(one.astype(np.float64) - other).max() <= case.within * abs(other).max()
