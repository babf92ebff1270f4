"""Triton interprets kernels in these tests; it reads the variable when it is imported."""

from __future__ import annotations

import os

os.environ.setdefault("TRITON_INTERPRET", "1")
