"""A model with a Triton kernel of its own: it runs with the chip's bits, and is accounted for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")
import bitmma  # noqa: E402

PROGRAM = '''
import bitmma, torch, triton, triton.language as tl

@triton.jit
def rms_norm(x, weight, y, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * n + column, mask=column < n, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / n + 1e-5)
    tl.store(y + row * n + column, (value * scale * tl.load(weight + column, mask=column < n)).to(tl.bfloat16), mask=column < n)

class Norm(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(n))

    def forward(self, x):
        y = torch.empty_like(x)
        rms_norm[(len(x),)](x, self.weight.detach(), y, x.shape[1], BLOCK=128)
        return y

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(96, 96), Norm(96), torch.nn.Linear(96, 8)).to(torch.bfloat16)
model[1].weight.data = model[1].weight.data.float()
x = torch.randn(5, 96).bfloat16()
with torch.no_grad(), bitmma.torch.emulate("h100", kernels="h100") as emulation:
    found = model(x)
assert emulation.account.kernels == {"rms_norm: PTX for h100": 1}, emulation.account
assert sum(emulation.account.products.values()) == 2 and "1 Triton kernels" in str(emulation.account)
with torch.no_grad(), bitmma.torch.emulate("h100"):
    middle, norm = model[0](x), torch.empty_like(x)
bitmma.kernels.on(rms_norm, "h100")[(5,)](middle, model[1].weight.detach(), norm, 96, BLOCK=128)
with torch.no_grad(), bitmma.torch.emulate("h100"):
    assert torch.equal(model[2](norm), found)

@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    tl.store(x + column, column.to(tl.float32), mask=column < n)

# however it comes to run on a chip; one that cannot run is not counted
y = torch.zeros(64)
with bitmma.torch.emulate("h100", kernels="h100") as emulation:
    tuned[(1,)](y, 64)
assert emulation.account.kernels == {"tuned: PTX for h100": 1}, emulation.account
with bitmma.kernels.emulate("a100"), bitmma.torch.emulate("h100") as emulation:
    tuned[(1,)](y, 64)
    bitmma.kernels.on(rms_norm, "h100")[(5,)](middle, model[1].weight.detach(), norm, 96, BLOCK=128)
assert emulation.account.kernels == {"tuned: PTX for a100": 1, "rms_norm: PTX for h100": 1}, emulation.account
assert not emulation.account.host["other"] and not emulation.left
print("done")
'''

#: Kernels that Triton runs itself, here by its interpreter.
HOST = '''
import warnings
import bitmma, torch

warnings.simplefilter("ignore")
x, y = torch.ones(64), torch.ones(16, 16).half()
with bitmma.torch.emulate("h100") as emulation:
    import triton, triton.language as tl

    @triton.jit
    def twice(x, BLOCK: tl.constexpr):
        column = tl.arange(0, BLOCK)
        tl.store(x + column, tl.load(x + column) * 2)

    @triton.jit
    def product(x, BLOCK: tl.constexpr):
        column = tl.arange(0, BLOCK)
        places = x + column[:, None] * BLOCK + column[None, :]
        tl.store(places, tl.dot(tl.load(places), tl.load(places)).to(tl.float16))

    x + 1
    twice[(1,)](x, BLOCK=64)
    product[(1,)](y, BLOCK=16)
assert x[0] == 2 and y[0, 0] == 16
assert emulation.account.host["other"] == emulation.account.machine == {"Triton kernel twice": 1}, emulation.account
(left,) = emulation.left
assert left.startswith("Triton kernel product: "), left
twice[(1,)](x, BLOCK=64)
assert sum(emulation.account.machine.values()) == 1, "it is over"
print("done")
'''


@pytest.mark.parametrize("interpret", [False, True])
def test_a_kernel_inside_of_a_model(tmp_path, interpret):
    program = tmp_path / "program.py"
    program.write_text(HOST if interpret else PROGRAM)
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    package = Path(bitmma.__file__).parents[1]
    environment["PYTHONPATH"] = os.pathsep.join([str(package), environment.get("PYTHONPATH", "")])
    if interpret:
        environment["TRITON_INTERPRET"] = "1"
    environment["TRITON_CACHE_DIR"] = str(tmp_path / "cache")
    outcome = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment)
    assert outcome.returncode == 0 and outcome.stdout.strip() == "done", outcome.stderr


def test_an_unknown_chip_is_an_error():
    with pytest.raises(bitmma.Error), bitmma.torch.emulate("h100", kernels="mi300x"):
        pass
