"""The step ``kernels`` of ``scripts/gpu-session``, rehearsed without a GPU: what it records, and a difference that is planted there."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from common import ROOT

import bitmma

pytest.importorskip("torch")
pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")

COMMAND = Path(sysconfig.get_path("scripts"), "bitmma")
#: A Python that runs the script with a GPU one of whose results has another bit, and which refuses another kernel.
PLANTED = '''
import importlib.util, pathlib, sys
from importlib.machinery import SourceFileLoader

sys.argv = sys.argv[1:]
loader = SourceFileLoader("gpu_kernels", sys.argv[0])
script = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_kernels", loader))
loader.exec_module(script)
right = script.bytes_of_gpu

def wrong(case, device):
    if case.name == "rope":
        raise RuntimeError("out of resources")
    bytes = right(case, device)
    if case.name == "matmul_bf16_transposed":
        bytes[2].reshape(-1)[2 * 77] ^= 1
    return bytes

script.bytes_of_gpu = wrong
sys.exit(script.main())
'''


def session(folder: Path, python: Path, kernels: str) -> tuple[int, str, list[list[str]]]:
    """A rehearsal's exit code, what it printed, and differences.csv."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(bitmma.__file__).parents[1]), environment.get("PYTHONPATH", "")])
    environment |= {"STEPS": "kernels", "KERNELS": kernels, "OUT": str(folder), "PYTHON": str(python), "BITMMA": str(COMMAND)}
    ended = subprocess.run([ROOT / "scripts/gpu-session", "sim:hopper"], capture_output=True, text=True, env=environment)
    file = folder / "kernels/differences.csv"
    return ended.returncode, ended.stdout + ended.stderr, list(csv.reader(file.open())) if file.exists() else []


@pytest.mark.skipif(not COMMAND.exists() or shutil.which("flock") is None, reason="needs the command of the wheel, and flock")
def test_a_rehearsal_records_what_kernels_return_and_finds_a_planted_difference(tmp_path: Path) -> None:
    names = "softmax matmul_bf16_transposed quantise_e4m3 rope"
    code, said, lines = session(tmp_path / "right", Path(sys.executable), names)
    header = ["kernel", "argument", "differing", "of", "first", "gpu", "bitmma"]
    assert code == 0 and lines == [header], said
    assert "4 kernels on sim:hopper (sm_90), 0 outputs differ, 0 kernels refused" in (tmp_path / "right/kernels.txt").read_text()
    assert {file.name for file in tmp_path.glob("right/kernels/*.npz")} == {f"{name}.npz" for name in names.split()}
    recorded = np.load(tmp_path / "right/kernels/matmul_bf16_transposed.npz")["argument2"].reshape(-1).view(np.uint16)
    assert recorded.size == 64 * 128 and recorded.any()

    (tmp_path / "planted.py").write_text(PLANTED)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path / "planted.py"}" "$@"\n')
    python.chmod(0o755)
    code, said, lines = session(tmp_path / "wrong", python, names)
    was = int(recorded[77])
    planted = ["matmul_bf16_transposed", "2", "1", str(64 * 128), "77", f"{was ^ 1:04x}", f"{was:04x}"]
    assert code == 1 and lines == [header, ["rope", "", "", "", "", "out of resources", ""], planted], said
    assert "3 kernels on sim:hopper (sm_90), 1 outputs differ, 1 kernels refused" in (tmp_path / "wrong/kernels.txt").read_text()
    assert "1\tkernels" in (tmp_path / "wrong/summary.tsv").read_text()

    code, said, _ = session(tmp_path / "unknown", Path(sys.executable), "softmaxx")
    assert code == 2 and "unknown kernels: softmaxx" in said
