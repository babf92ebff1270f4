"""Triton kernels on chips that are not there: their results against plain PyTorch, in a process in which Triton compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
import bitmma  # noqa: E402, F401

PROGRAM = '''
import bitmma, torch, triton, triton.language as tl
from bitmma.kernels import emulate, on

@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * n + column, mask=column < n, other=-float("inf"))
    power = tl.exp(value - tl.max(value, 0))
    tl.store(y + row * n + column, power / tl.sum(power, 0), mask=column < n)

@triton.jit
def matmul(a, b, c, N, K, M_: tl.constexpr, N_: tl.constexpr, K_: tl.constexpr):
    row, column, k = tl.arange(0, M_), tl.arange(0, N_), tl.arange(0, K_)
    sum = tl.zeros((M_, N_), tl.float32)
    for start in range(0, K, K_):
        left = tl.load(a + row[:, None] * K + (start + k)[None, :])
        sum = tl.dot(left, tl.load(b + (start + k)[:, None] * N + column[None, :]), sum)
    tl.store(c + row[:, None] * N + column[None, :], sum)

@triton.autotune([triton.Config({"BLOCK": 512}, num_warps=2), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    tl.store(x + column, column.to(tl.float32), mask=column < n)

torch.manual_seed(1)
names = {"a100": "mma.m16n8k16.f32.f16.f16.f32", "h100": "wgmma.m64n64k16.f32.f16.f16"}
for chip in ("a100", "h100"):
    x = torch.randn(4, 300)
    y = torch.zeros_like(x)
    on(softmax, chip)[(4,)](x, y, 300, BLOCK=512)
    assert torch.allclose(y, x.softmax(1), atol=1e-6)
    z = torch.zeros_like(x)
    with emulate(chip):
        softmax[(4,)](x, z, 300, BLOCK=512)
    assert torch.equal(y, z)
    a, b, c = torch.randn(64, 64).half(), torch.randn(64, 64).half(), torch.zeros(64, 64)
    on(matmul, chip)[(1,)](a, b, c, 64, 64, M_=64, N_=64, K_=32, num_warps=4)
    assert torch.allclose(c, a.float() @ b.float(), atol=1e-3)
    # one instruction after the other along K is the engine's product
    assert torch.equal(c, bitmma.gemm((chip, names[chip]), a, b))
    t = torch.zeros(100)
    on(tuned, chip)[(1,)](t, 100)
    assert torch.equal(t, torch.arange(100.0))
print("done")
'''


def test_triton_kernels_run_without_a_gpu(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    package = Path(sys.modules["bitmma"].__file__).parents[1] if "bitmma" in sys.modules else None
    if package is not None:
        environment["PYTHONPATH"] = os.pathsep.join([str(package), environment.get("PYTHONPATH", "")])
    environment["TRITON_CACHE_DIR"] = str(tmp_path / "cache")
    outcome = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment)
    assert outcome.returncode == 0 and outcome.stdout.strip() == "done", outcome.stderr
