"""What a GPU's matrix multiply-accumulate instruction answers, bit for bit.

``mma`` is one instruction, ``matmul`` what a library would run on a chip, ``gemm`` a product of any shape
with every choice in your hands, ``explain`` every step of one element,
``probe`` how a function of yours computes, ``verify`` whether a unit computes as its model says.
``formats``, ``catalogue`` and ``recording`` are modules. Imported when first used: ``bitmma.analysis``, what
the arithmetic means; ``bitmma.calls``, what a library's call answers; ``bitmma.functions``, the approximate functions of NVIDIA GPUs; ``bitmma.kernels``, compiled kernels; ``bitmma.torch``, whole models; ``bitmma.gpu``, products on a GPU; ``bitmma.fleet``, campaigns on a Ray cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import catalogue, formats, recording
from ._bitmma import __version__
from .errors import (
    AmbiguousInstruction,
    CallDeclined,
    CallRejected,
    CodeError,
    CountError,
    DeviceError,
    DoubtfulKernel,
    DtypeError,
    Error,
    ExtentError,
    FormatError,
    KernelError,
    ModelError,
    NoInstruction,
    NoModel,
    OptionError,
    PlanError,
    PtxError,
    RecordingError,
    ReportError,
    ScaleError,
    ShapeError,
    TooLarge,
    UnitError,
    UnknownArchitecture,
    UnknownFormat,
    UnknownInstruction,
    UnknownModel,
    UnknownRevision,
    UnsupportedPtx,
)
from .explain import explain
from .gemm import gemm, matmul
from .probe import ProbeOutcome, Signature, probe
from .simulate import Unit, mma, simulate
from .verify import VerifyReport, verify

if TYPE_CHECKING:
    from . import analysis, calls, functions, gpu, kernels, torch

__all__ = [
    "AmbiguousInstruction",
    "CallDeclined",
    "CallRejected",
    "CodeError",
    "CountError",
    "DeviceError",
    "DoubtfulKernel",
    "DtypeError",
    "Error",
    "ExtentError",
    "FormatError",
    "KernelError",
    "ModelError",
    "NoInstruction",
    "NoModel",
    "OptionError",
    "PlanError",
    "ProbeOutcome",
    "PtxError",
    "RecordingError",
    "ReportError",
    "ScaleError",
    "ShapeError",
    "Signature",
    "TooLarge",
    "Unit",
    "UnitError",
    "UnknownArchitecture",
    "UnknownFormat",
    "UnknownInstruction",
    "UnknownModel",
    "UnknownRevision",
    "UnsupportedPtx",
    "VerifyReport",
    "__version__",
    "analysis",
    "calls",
    "catalogue",
    "explain",
    "formats",
    "functions",
    "gemm",
    "kernels",
    "matmul",
    "mma",
    "probe",
    "recording",
    "simulate",
    "verify",
]


def __getattr__(name: str) -> Any:
    """What is imported when it is asked for: it takes time, or needs PyTorch."""
    if name in ("analysis", "calls", "functions", "gpu", "kernels", "torch"):
        import importlib

        return importlib.import_module(f"bitmma.{name}")
    raise AttributeError(f"module 'bitmma' has no attribute {name!r}")
