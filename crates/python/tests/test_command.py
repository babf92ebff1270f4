"""The command that the wheel carries: the same as the binary, with its exit codes and streams."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import bitmma

from common import ROOT

MODULE = [sys.executable, "-m", "bitmma"]
EQUATION_1 = ["-a=-8192 -0.5 -0.25 -0.125", "-b=1024 1 1 1", "-c=0x1p23"]


def ended(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_script_and_the_module_are_one() -> None:
    script = Path(sys.executable).with_name("bitmma")
    if not script.exists():
        pytest.skip("bitmma is not installed as a script beside this Python")
    by_script, by_module = ended([str(script), "compare"]), ended([*MODULE, "compare"])
    assert by_script.returncode == 0 and by_script.stderr == ""
    assert by_script.stdout == by_module.stdout
    assert "cdna3           -0.875      -0.5            -0.5     -1.0    N/A" in by_script.stdout


def test_it_computes_and_says_its_version() -> None:
    dot = ended([*MODULE, "dot", "hopper", "HMMA.16816.F32", *EQUATION_1])
    assert (dot.returncode, dot.stdout) == (0, "-0.75  0xbf400000  f32\n")  # Equation 1 of the paper, on Hopper
    assert ended([*MODULE, "--version"]).stdout == f"bitmma {bitmma.__version__}\n"


def test_exit_codes() -> None:
    usage = ended([*MODULE, "--no-such-option"])
    assert usage.returncode == 2 and "Usage: bitmma" in usage.stderr and usage.stdout == ""
    unknown = ended([*MODULE, "show", "hopper", "no-such-instruction"])
    assert unknown.returncode == 2 and "error: " in unknown.stderr and "Traceback" not in unknown.stderr
    recordings = [str(path) for path in sorted((ROOT / "recordings").glob("*/*.csv"))]
    agrees = ended([*MODULE, "replay", *recordings])
    assert recordings and agrees.returncode == 0, agrees.stderr
    differs = ended([*MODULE, "replay", "--revision", "paper", *recordings])
    assert differs.returncode == 1 and "mismatches" in differs.stdout  # the paper's models, before they were corrected


def test_golden_cases_are_arrays_of_numpy(tmp_path: Path) -> None:
    for chip, name in [
        ("h100", "mma.m16n8k16.f32.f16.f16.f32"),
        ("b200", "tcgen05.mma.m128n8k64.kind::mxf4.block32.f32.e2m1.e2m1.ue8m0"),
    ]:
        file = tmp_path / "golden.npz"
        written = ended([*MODULE, "golden", chip, name, "--cases", "101", "--format", "npz", "--out", str(file)])
        assert written.returncode == 0, written.stderr
        instruction = bitmma.mma(chip, name)
        with np.load(file) as golden:
            scaled = {"scale_a", "scale_b"} if instruction.scale else set()
            assert set(golden) == {"a", "b", "c", "d", "any_nan"} | scaled and golden["any_nan"].tolist() == [0]
            k = golden["a"].shape[1]
            assert golden["a"].shape == golden["b"].shape == (101, k) and golden["d"].shape == (101,)
            unit = bitmma.Unit.from_toml(instruction.toml, step=k)  # one element at a time
            for case in range(101):
                row = {name: golden[name][case] for name in golden if name != "any_nan"}
                scales = {"scale_a": row["scale_a"][None], "scale_b": row["scale_b"][:, None]} if scaled else {}
                d = unit(row["a"][None], row["b"][:, None], row["c"].reshape(1, 1), **scales)
                assert d.view(np.uint32)[0, 0] == row["d"], (name, case)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_it() -> None:
    slow = [*MODULE, "verify", "sim:hopper/HMMA.16816.F32", "--tests", "1e12"]
    with subprocess.Popen(slow, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == -signal.SIGINT
