"""A machine that seems to have a GPU: a suite for CUDA runs on it, and nothing of it is left when it ends."""

from __future__ import annotations

import re
from pathlib import Path

from common import pretended_gpu_or_skip

pretended_gpu_or_skip()
import bitmma  # noqa: E402, F401
from processes import run  # noqa: E402

SUITES = sorted(Path(__file__).parent.glob("suite_for_*cuda.py"))
PROGRAM = """
import threading, torch, bitmma
from bitmma.torch.pretend import chip, engine, operations, pretend
from bitmma.torch.pretend.emulation import OnChip

assert not torch.cuda.is_available()
torch.manual_seed(0)
# terms of many sizes, so that the bits that each chip keeps show in the sum
a, b = (torch.randn(64, 256) * torch.randint(-12, 12, (64, 256)).exp2()).bfloat16(), torch.randn(256, 32).bfloat16()
a[:, 128:] = -a[:, :128]
b[128:] = b[:128] * 1.0078125
found = {}
with pretend("h100"):
    for name in ("h100", "a100", "h200"):
        with chip(name), OnChip(name) as emulation:
            x, y = a.cuda().requires_grad_(), b.cuda()
            z = x @ y
            z.float().square().sum().backward()
            found[name] = z.detach().cpu(), x.grad.cpu()
            assert torch.cuda.get_device_name() == f"NVIDIA {name.upper()}"
            layer = torch.nn.Linear(4, 4).cuda()
        assert sum(emulation.account.products.values()) == 2 and not emulation.left, emulation.account
    assert not operations.OUTSIDE
    x @ x.T
    assert operations.OUTSIDE == {"mm": 1}, "a product outside of an emulation is counted"
for name, (z, gradient) in found.items():
    with bitmma.torch.emulate(name):
        x = a.clone().requires_grad_()
        own = x @ b
        own.float().square().sum().backward()
    assert torch.equal(z, own) and torch.equal(gradient, x.grad)
assert torch.equal(found["h100"][0], found["h200"][0]) and not torch.equal(found["h100"][0], found["a100"][0])

# it is as it was
assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
try:
    torch.ones(1, device="cuda")
except (RuntimeError, AssertionError):
    pass
else:
    raise AssertionError("there is no GPU")
x = torch.ones(3, requires_grad=True)
(x * 2).sum().backward()
assert x.grad.tolist() == [2, 2, 2] and torch.compile.__module__ == "torch"

assert engine._places("  virtual ~A() = default;\\n  virtual bool b() const {\\n virtual const C& d(int e) const = 0;") == {"~A": 0, "b": 2, "d": 3}
print("done")
"""


def test_suites_for_cuda(tmp_path):
    # beside the other tests they would have their conftest.py
    texts = [one.read_text(encoding="utf-8") for one in SUITES]
    for one, text in zip(SUITES, texts):
        (tmp_path / f"test_{one.name}").write_text(text, encoding="utf-8")
    done = run("-m", "bitmma", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), ".", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    tests = sum(len(re.findall("^def test_", text, re.MULTILINE)) for text in texts)
    assert tests > 20 and f"{tests} passed" in done.stdout
    assert "on the host and are not counted above: 0\n" in done.stdout, "no product ran on the host in silence"


def test_bits_are_those_of_the_emulation(tmp_path):
    done = run("-c", PROGRAM, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "done\n", done.stdout + done.stderr
