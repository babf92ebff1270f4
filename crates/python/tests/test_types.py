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
