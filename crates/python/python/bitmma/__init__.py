"""What the matrix multiply-accumulate instructions of GPUs return, bit for bit.

``mma`` is one instruction, ``matmul`` what a library would run on a chip, ``gemm`` a product of any shape
with every choice in your hands, ``prepare`` packs an operand once for many of them, ``explain`` every step of one element, ``explore`` a page in the browser for all of that,
``diff`` whether two compute the same, ``which`` who computed a tensor, ``probe`` how a function of yours computes, ``verify`` whether
a unit computes as its model says.
``formats``, ``catalogue`` and ``recording`` are modules. Imported when first used: ``bitmma.analysis``, what
the arithmetic means; ``bitmma.calls``, what a library's call returns; ``bitmma.functions``, the approximate functions of NVIDIA GPUs; ``bitmma.kernels``, compiled kernels; ``bitmma.torch``, whole models; ``bitmma.gpu``, products on a GPU; ``bitmma.fleet``, campaigns on a Ray cluster.
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
    CudaError,
    DeviceError,
    DoubtfulKernel,
    DtypeError,
    Error,
    ExtentError,
    FormatError,
    HostDependent,
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
from .diff import Diff, diff
from .element import ElementExplanation, explain_element
from .explain import explain
from .explore import Explorer, explore
from .gemm import gemm, matmul
from .prepared import Prepared, prepare
from .probe import ProbeOutcome, Signature, probe
from .simulate import Unit, mma, simulate
from .verify import VerifyReport, verify
from .which import Which, which

if TYPE_CHECKING:
    from . import analysis, calls, functions, gpu, kernels, torch

__all__ = [
    "AmbiguousInstruction",
    "CallDeclined",
    "CallRejected",
    "CodeError",
    "CountError",
    "CudaError",
    "DeviceError",
    "Diff",
    "DoubtfulKernel",
    "DtypeError",
    "ElementExplanation",
    "Error",
    "Explorer",
    "ExtentError",
    "FormatError",
    "HostDependent",
    "KernelError",
    "ModelError",
    "NoInstruction",
    "NoModel",
    "OptionError",
    "PlanError",
    "Prepared",
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
    "Which",
    "__version__",
    "analysis",
    "calls",
    "catalogue",
    "diff",
    "explain",
    "explain_element",
    "explore",
    "formats",
    "functions",
    "gemm",
    "kernels",
    "matmul",
    "mma",
    "prepare",
    "probe",
    "recording",
    "simulate",
    "verify",
    "which",
]


def __getattr__(name: str) -> Any:
    """What is imported when it is asked for: it takes time, or needs PyTorch."""
    if name in ("analysis", "calls", "functions", "gpu", "kernels", "torch"):
        import importlib

        return importlib.import_module(f"bitmma.{name}")
    raise AttributeError(f"module 'bitmma' has no attribute {name!r}")
