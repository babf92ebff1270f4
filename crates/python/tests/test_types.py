"""The package is typed, and the stubs of its native half say what it has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import bitmma

from common import ROOT


def run(*arguments: str, cwd: Path) -> None:
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_says_that_it_is_typed():
    assert (Path(bitmma.__file__).parent / "py.typed").is_file()


def test_types_are_strict(tmp_path):
    pytest.importorskip("mypy")
    run("mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path), cwd=tmp_path)


def test_stubs_are_those_of_the_module(tmp_path):
    pytest.importorskip("mypy")
    run("mypy.stubtest", "bitmma._bitmma", "--ignore-missing-stub", cwd=tmp_path)


def test_every_public_name_is_documented():
    for name in bitmma.__all__:
        if name != "__version__":
            assert getattr(bitmma, name).__doc__, name


def test_neither_ml_dtypes_nor_pytorch_nor_numpy_is_imported_with_it():
    code = "import sys, bitmma; print(sorted({'numpy', 'ml_dtypes', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_without_pytorch_its_part_says_what_is_missing():
    code = "import sys; sys.modules['torch'] = None\nimport bitmma\nbitmma.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ImportError: bitmma.torch needs PyTorch, which is not installed: pip install torch" in done.stderr


def test_without_ml_dtypes_codes_do():
    code = """
import sys; sys.modules['ml_dtypes'] = None
import bitmma, numpy as np
a = np.ones((4, 16), np.float16)
unit = ('h100', 'mma.m16n8k16.f32.f16.f16.f32')
words = bitmma.gemm(unit, a.view(np.uint16), a.T.view(np.uint16), output='bf16')
assert (words == 0x4180).all() and words.dtype == np.uint16
try:
    bitmma.gemm(unit, a, a.T, output='bf16')
except bitmma.DtypeError as error:
    assert 'install ml_dtypes, or give codes to get codes' in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
