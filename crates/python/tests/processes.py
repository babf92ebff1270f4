"""Processes of Python for tests that need one of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A process in which Triton compiles kernels and does not interpret them."""
    ours = ("TRITON_INTERPRET", "PYTEST_ADDOPTS")
    plain = {name: value for name, value in os.environ.items() if name not in ours and not name.startswith("PYTEST_XDIST")}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, env=plain | variables, timeout=600)
