"""Ctrl-C ends long work within a second."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from common import EVERYTHING

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGINT is sent to another process")

SETUP = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so do their children
import numpy as np
import bitmma
from bitmma import analysis

A = np.ones((6000, 6000), np.float16)
HOPPER = bitmma.mma("h100", "wgmma.m64n256k16.f32.f16.f16")
OTHER = bitmma.mma("mi300x", "v_mfma_f32_32x32x8_f16")

def function(a, b, c):
    return np.matmul(a, b) + c

def work():
    {work}

print("begins", flush=True)
start = time.perf_counter()
try:
    work()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    assert bitmma.gemm(HOPPER, A[:64, :64], A[:64, :64])[0, 0] == 64  # and the next product is right
    sys.exit(0)
print("ended by itself", time.perf_counter() - start)
"""

WORKS = {
    "gemm": "bitmma.gemm(HOPPER, A, A)",
    "promoted": "bitmma.gemm(HOPPER, A, A, promote_every=128)",
    "one thread": "bitmma.gemm(HOPPER, A, A, threads=1)",
    "progress": "bitmma.gemm(HOPPER, A, A, progress=lambda *done: None)",
    "matmul of a batch": "bitmma.matmul(np.ones((32, 2048, 2048), np.float16), np.ones((32, 2048, 2048), np.float16), like='mi300x')",
    "simulate": "bitmma.simulate(HOPPER, A[:200], A[:, :200], reference=True)",
    "mma": "[bitmma.mma('b200', 'tcgen05.mma.m128n256k16.kind::f16.f32.f16.f16')(A[:128, :16], A[:16, :256]) for _ in range(10**9)]",
    "analysis": "analysis.smallest(HOPPER, OTHER, k=16, budget=10**9)",
    "worst case": "analysis.worst_case(HOPPER, budget=10**9, enough=1.0)",
    "errors": "analysis.errors(HOPPER, A[:2000], A[:, :2000], np.zeros((2000, 2000), np.float32))",
    "verify": "bitmma.verify('sim:h100/mma.m16n8k16.f32.f16.f16.f32', tests=10**10)",
}
OF_EVERY_RUN = ["gemm", "one thread", "simulate", "worst case", "verify"]


@pytest.mark.parametrize("name", list(WORKS) if EVERYTHING else OF_EVERY_RUN)
def test_control_c_ends_it(name):
    code = SETUP.replace("{work}", WORKS[name])
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "begins\n", child.stderr.read()
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        start = time.perf_counter()
        out, err = child.communicate(timeout=60)
        took = time.perf_counter() - start
    finally:
        child.kill()
    assert (out, child.returncode) == ("interrupted\n", 0), err
    assert took < 1.5, f"{took:.2f} s"
    print(f"{name}: {took:.2f} s")
