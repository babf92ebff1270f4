"""The plugin for pytest: chips, markers, what it prints at the end, and its errors."""

from __future__ import annotations

import re

import pytest
from common import ROOT, pretended_gpu_or_skip

pretended_gpu_or_skip()
import bitmma  # noqa: E402
import torch  # noqa: E402
from processes import run  # noqa: E402

SUITE = '''
import unittest, pytest, torch, triton, triton.language as tl

if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

@triton.jit
def scaled(x, y, scale, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    tl.store(y + place, tl.load(x + place) * scale)

@pytest.fixture
def weight():
    torch.manual_seed(0)
    return torch.randn(32, 256, device="cuda", dtype=torch.bfloat16)

def test_products(weight):
    x = torch.randn(8, 256, device="cuda", dtype=torch.bfloat16)
    out = torch.nn.functional.linear(x, weight)
    torch.save([x.cpu(), weight.cpu(), out.cpu()], f"linear-{torch.cuda.get_device_capability()[0]}.pt")

class TestLaunches:
    @pytest.mark.parametrize("scale", [2.0, 3.0])
    def test_a_launch(self, scale):
        x, y = torch.ones(32, device="cuda"), torch.empty(32, device="cuda")
        scaled[(1,)](x, y, scale, BLOCK=32)
        assert y.tolist() == [scale] * 32

@pytest.mark.chips("a100", "b200")
def test_marked(chip):
    assert torch.cuda.get_device_name() == f"NVIDIA {chip.upper()}"

class TestOld(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(torch.ones(3, device="cuda").sum(), 3)

@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two():
    pass

def test_refused():
    with pytest.raises(NotImplementedError, match="cudart is not emulated"):
        torch.cuda.cudart()
'''


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "test_gpu.py").write_text(SUITE, encoding="utf-8")

    def start(*arguments, **variables):
        return run("-m", "bitmma", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), *arguments, cwd=tmp_path, **variables)

    return start


def count(done, what):
    found = re.search(rf"(\d+) {what}", done.stdout.rstrip().rpartition("\n")[2])
    return int(found[1]) if found else 0


def test_several_chips(suite, tmp_path):
    done = suite("-v", "--chip", "a100,h100")
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("test_products[a100]", "test_products[h100]", "test_a_launch[a100-2.0]", "test_marked[a100]"):
        assert f"{name} PASSED" in done.stdout, done.stdout
    assert "[b200]" not in done.stdout, "a chip that was not asked for"
    assert (count(done, "passed"), count(done, "skipped")) == (10, 2)
    end = done.stdout.partition("bitmma: what was the chip's")[2]
    for chip in ("a100", "h100"):
        part = end.partition(f"\n{chip}:\n")[2].partition("\n  by the host")[0]
        assert "by the chip: 1 product, 2 launches of 1 Triton kernel" in part and "2 × scaled" in part
    assert "on the host and are not counted above: 0\n" in end and "2 × needs two GPUs" in end and "2 × torch.cuda.cudart" in end
    for chip, major in (("a100", 8), ("h100", 9)):
        x, weight, out = torch.load(tmp_path / f"linear-{major}.pt")
        with bitmma.torch.emulate(chip):
            assert torch.equal(torch.nn.functional.linear(x, weight), out), chip


def test_one_chip_on_workers(suite):
    """With pytest-xdist; identifiers are those that tests have on a GPU."""
    pytest.importorskip("xdist")
    done = suite("-v", "--numprocesses", "1", "--deselect", "test_gpu.py::test_marked")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_products \n" in done.stdout or "test_products\n" in done.stdout, "without the chip's name"
    assert count(done, "passed") == 5 and "by the chip: 1 product, 2 launches of 1 Triton kernel" in done.stdout


def test_chips_of_the_configuration(suite, tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nbitmma_chips = a100\n", encoding="utf-8")
    (tmp_path / "test_gpu.py").write_text("import torch\nNAME = torch.cuda.get_device_name()\ndef test_name(chip): assert NAME == 'NVIDIA A100' and chip == 'a100'\n")
    done = suite()
    assert done.returncode == 0 and count(done, "passed") == 1, done.stdout + done.stderr


def test_errors(suite, tmp_path):
    (tmp_path / "test_gpu.py").write_text("def test(): pass\n", encoding="utf-8")
    done = suite("--chip", "h1000")
    assert done.returncode == 4 and "--chip h1000: " in done.stderr
    done = suite("--chip", "mi300x")
    assert done.returncode == 4 and "kernels run for" in done.stderr
    done = suite(TRITON_INTERPRET="1")
    assert done.returncode == 4 and "TRITON_INTERPRET is set" in done.stderr
    done = run("-c", "import sys; sys.modules['pytest'] = None; sys.argv[1:] = ['pytest']; import bitmma.__main__ as m; sys.exit(m.main())", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr == "pytest is not installed: pip install pytest\n"
    done = run("-m", "bitmma", "pytest", "--help", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("Runs a suite that was written for device=\"cuda\"")


def test_the_page(suite, tmp_path):
    """What docs/ci.md shows."""
    page = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    (tmp_path / "test_gpu.py").unlink()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_silu.py").write_text(page.partition("```python\n")[2].partition("```\n")[0], encoding="utf-8")
    done = suite("-q", "tests/", "--chip", "h100")
    assert done.returncode == 0, done.stdout + done.stderr
    shown = page.partition("compares it -->\n```text\n")[2].partition("```\n")[0]
    assert "bitmma" in shown and shown in done.stdout, done.stdout


def test_a_test_of_another_chip_is_skipped(tmp_path):
    text = """
import pytest
@pytest.mark.chips("b200")
def test_of_another_chip():
    raise AssertionError("it is not run")
def test_of_any():
    pass
"""
    (tmp_path / "test_chips.py").write_text(text, encoding="utf-8")
    done = run("-m", "bitmma", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "--chip", "h100", cwd=tmp_path)
    assert done.returncode == 0 and (count(done, "passed"), count(done, "skipped")) == (1, 1), done.stdout
