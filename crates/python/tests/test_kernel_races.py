"""Triton kernels whose threads meet in memory: correct ones run, races are errors."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)
pytest.importorskip("triton")

import race_kernels as kernels  # noqa: E402

from bitmma import KernelError  # noqa: E402
from bitmma.kernels import on  # noqa: E402

pytestmark = pytest.mark.parametrize("chip", ["a100", "h100"])


def run(chip: str, kernel: Any, grid: tuple[int, ...], *arguments: Any, **options: Any) -> None:
    """Launches a kernel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        on(kernel, chip, allow_doubtful=options.pop("allow_doubtful", False))[grid](*arguments, **options)


def zeros(count: int, dtype: Any = np.float32) -> Any:
    """An array of zeros."""
    return np.zeros(count, dtype)


def test_a_step_counter_that_all_warps_load_and_one_stores(chip: str) -> None:
    """Without a barrier it is a race; a GPU's warps load before the store."""
    step, seen = zeros(1, np.int32), zeros(128, np.int32)
    with pytest.raises(KernelError, match=r"of argument 'step', which warp \d of the same block reads.* the other access is line \d+"):
        run(chip, kernels.step_counter, (1,), step, seen)
    run(chip, kernels.step_counter, (1,), step, seen, allow_doubtful=True)
    assert step[0] == 1 and not seen.any()
    seen = zeros(128, np.int32)
    run(chip, kernels.step_counter_with_barriers, (1,), step, seen)
    assert step[0] == 2 and (seen == 2).all()


def test_a_row_in_place_that_is_used_again(chip: str) -> None:
    """Another warp may not have stored yet."""
    x = np.arange(256).astype(np.float32)
    with pytest.raises(KernelError, match=r"reads bytes \d+ to \d+ of argument 'x', which warp \d of the same block writes"):
        run(chip, kernels.row_used_again, (1,), x, zeros(256), BLOCK=256)


@pytest.mark.parametrize(("dtype", "length"), [(np.float16, 1001), (np.int8, 13), (np.int8, 1001), (np.float32, 77)])
def test_rows_of_odd_length_in_place(chip: str, dtype: Any, length: int) -> None:
    """Two blocks share a word, not a byte."""
    x = (np.arange(4 * length) % 3).astype(dtype).reshape(4, length)
    before = x.copy()
    run(chip, kernels.rows_in_place, (4,), x, length, BLOCK=1024)
    assert (x == before + 1).all()


@pytest.mark.parametrize("count", [16, 32, 64, 128, 256])
def test_arrays_that_several_warps_have(chip: str, count: int) -> None:
    """Warps load the same, and one of them stores."""
    x = np.arange(count).astype(np.float32)
    run(chip, kernels.add_one, (1,), x, BLOCK=count)
    assert (x == np.arange(count) + 1).all()


def test_sums_under_a_lock(chip: str) -> None:
    """As the backward pass of Triton's layer norm has them."""
    sums, lock, count = zeros(256), zeros(1, np.int32), zeros(1, np.int32)
    parts = np.arange(8 * 256).astype(np.float32).reshape(8, 256)
    run(chip, kernels.sums_under_a_lock, (8,), sums, lock, count, parts, BLOCK=256)
    assert (sums == parts.sum(0)).all() and lock[0] == 0


def test_a_lock_that_is_given_back_without_a_barrier(chip: str) -> None:
    """The other warps may not have stored yet."""
    sums, lock, count = zeros(256), zeros(1, np.int32), np.ones(1, np.int32)
    parts = np.ones((8, 256), np.float32)
    with pytest.raises(KernelError, match="of argument 'sums'"):
        run(chip, kernels.sums_under_a_relaxed_lock, (8,), sums, lock, count, parts, BLOCK=256)


def test_blocks_in_turns_by_a_semaphore(chip: str) -> None:
    """As split-K adds to a tile in a fixed order."""
    tile, turn = zeros(256), zeros(1, np.int32)
    run(chip, kernels.in_turns, (8,), tile, turn, BLOCK=256)
    assert (tile == 247).all() and turn[0] == 8


def test_decoupled_look_back(chip: str) -> None:
    """A scan whose blocks wait for the sums of earlier ones, in either order of start."""
    for kernel in (kernels.scan, kernels.scan_backward):
        x = np.ones(1024, np.float32)
        y, sums, flags = zeros(1024), zeros(8), zeros(8, np.int32)
        run(chip, kernel, (8,), x, y, sums, flags, BLOCK=128)
        assert sorted(y) == list(range(1, 1025))


def test_histograms(chip: str) -> None:
    """Atomic additions race with nothing but plain accesses."""
    x, counts = (np.arange(1000) % 7).astype(np.int32), zeros(7, np.int32)
    run(chip, kernels.histogram, (4,), x, counts, 1000, BLOCK=256)
    assert (counts == np.bincount(x)).all()
    with pytest.raises(KernelError, match="of argument 'counts', which block number"):
        run(chip, kernels.histogram_cleared_by_all, (4,), x, counts, 1000, BLOCK=256)
