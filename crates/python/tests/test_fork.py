"""Processes that `fork` starts: their threads are not there, and a product in them must not wait for those."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

#: What a child computes: by the kernels, by the reference path, by the analysis.
CODE = """
import os, multiprocessing
import numpy as np
import bitmma
from bitmma import analysis

UNIT = bitmma.mma("h100", "wgmma.m64n256k16.f32.f16.f16")
MODEL = bitmma.mma("mi300x", "v_mfma_f32_32x32x8_f16")
A, B = np.random.default_rng(0).normal(size=(2, 256, 256)).astype(np.float16)

def work(seed=1):
    return [
        bitmma.gemm(UNIT, A, B).tobytes(),
        bitmma.simulate(MODEL, A[:32, :8], B[:8, :32]).tobytes(),
        bitmma.matmul(np.stack([A] * 8), np.stack([B] * 8), like="a100").tobytes(),
        str(analysis.smallest(UNIT, MODEL, k=4, budget=2000)),
    ]

EXPECTED = work()  # on all threads
"""


def ran(code: str) -> str:
    """What a script prints, which must end in two minutes."""
    code = CODE + textwrap.dedent(code)
    environment = os.environ | {"RAYON_NUM_THREADS": "3"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_forked_child_computes():
    text = ran("""
        children = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                os._exit(0 if work() == EXPECTED else 1)
            children.append(child)
        print([os.waitpid(child, 0)[1] for child in children], work() == EXPECTED)
    """)
    assert text == "[0, 0, 0] True\n"


def test_a_pool_of_forked_processes_computes():
    text = ran("""
        def nested(seed):
            with multiprocessing.get_context("fork").Pool(1) as pool:
                return pool.map(work, [seed])[0]
        if __name__ == "__main__":
            from concurrent.futures import ProcessPoolExecutor
            with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
                print([found == EXPECTED for found in pool.map(nested, range(4))])
    """)
    assert text == "[True, True, True, True]\n"


def test_a_child_forked_while_other_threads_compute():
    text = ran("""
        import threading
        done = threading.Event()
        def busy():
            while not done.is_set():
                bitmma.gemm(UNIT, A, B)
        others = [threading.Thread(target=busy) for _ in range(2)]
        [other.start() for other in others]
        states = []
        for _ in range(6):
            child = os.fork()
            if child == 0:
                os._exit(0 if bitmma.gemm(UNIT, A, B).tobytes() == EXPECTED[0] else 1)
            states.append(os.waitpid(child, 0)[1])
        done.set()
        [other.join() for other in others]
        print(states)
    """)
    assert text == "[0, 0, 0, 0, 0, 0]\n"
