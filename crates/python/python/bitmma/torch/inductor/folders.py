"""Where what is compiled is kept: a folder for each chip, and each release of PyTorch and Triton."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path

import torch
import triton

from ... import _bitmma


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """One that lasts as long as the process."""
    return tempfile.TemporaryDirectory(prefix="bitmma-inductor-")


def folder(chip: str) -> str:
    """That of a chip by its short name, in ``BITMMA_CACHE``, or ``bitmma`` in the user's cache folder; with ``BITMMA_CACHE=off`` nothing stays."""
    given = os.environ.get("BITMMA_CACHE")
    if given == "off":
        root = Path(_temporary().name)
    elif given:
        root = Path(given)
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bitmma"
    return str(root / "inductor" / f"{_bitmma.__version__}-torch{torch.__version__}-triton{triton.__version__}" / chip)
