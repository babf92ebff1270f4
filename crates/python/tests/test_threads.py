"""Python threads in parallel, threads inside, and the lock that is let go."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import bitmma

HOPPER = ("h100", "wgmma.m64n256k16.f32.f16.f16")
RNG = np.random.default_rng(2)
A = RNG.normal(size=(96, 256)).astype(np.float16)
B = RNG.normal(size=(256, 64)).astype(np.float16)


def test_the_answer_is_the_same_from_any_number_of_threads():
    expected = bitmma.gemm(HOPPER, A, B).tobytes()
    for threads in (1, 2, 3):
        assert bitmma.gemm(HOPPER, A, B, threads=threads).tobytes() == expected
    unit = bitmma.mma(*HOPPER)
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda _: bitmma.gemm(unit, A, B).tobytes(), range(64))
        assert set(answers) == {expected}


def test_other_threads_run_meanwhile():
    """The reference path, slow: another thread counts while it works."""
    count, done = 0, threading.Event()

    def counting():
        nonlocal count
        while not done.wait(0.001):
            count += 1

    other = threading.Thread(target=counting)
    other.start()
    a = RNG.normal(size=(64, 2048)).astype(np.float16)
    b = RNG.normal(size=(2048, 64)).astype(np.float16)
    bitmma.simulate(bitmma.mma(*HOPPER), a, b, reference=True)
    done.set()
    other.join()
    assert count > 5


def test_writing_to_an_operand_meanwhile_changes_nothing():
    """The native half has a copy of its own."""
    a = A.copy()
    expected = bitmma.gemm(HOPPER, a, B).tobytes()

    def overwrite(done, total):
        a[...] = 7

    assert bitmma.gemm(HOPPER, a, B, split_k=4, progress=overwrite).tobytes() == bitmma.gemm(HOPPER, A, B, split_k=4).tobytes()
    assert bitmma.gemm(HOPPER, A, B).tobytes() == expected


def test_progress_counts_products():
    seen = []
    bitmma.gemm(HOPPER, A, B, split_k=3, progress=lambda done, total: seen.append((done, total)))
    total = 96 * 64 * 256
    assert [total for _, total in seen] == [total] * len(seen)
    assert seen[-1][0] == total and seen == sorted(seen)
