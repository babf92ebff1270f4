"""The same bits on a GPU, by Triton kernels made from the model: tensors are multiplied where they are.

:func:`bitmma.gemm`, :func:`bitmma.matmul` and :class:`bitmma.torch.emulate` come here with tensors on a CUDA or ROCm device.
:func:`selftest` holds the kernels of this device against the CPU.
"""

from __future__ import annotations

import importlib.util as _util

from .device import MISSING as _MISSING

if _util.find_spec("torch") is None or _util.find_spec("triton") is None:
    raise ImportError(_MISSING)

from .matrices import gemm
from .table import Verdict, selftest

__all__ = ["Verdict", "gemm", "selftest"]
