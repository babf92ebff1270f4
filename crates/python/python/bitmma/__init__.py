"""What a GPU's matrix multiply-accumulate instruction answers, bit for bit.

``mma`` is one instruction, ``matmul`` what a library would run on a chip, ``gemm`` a product of any shape
with every choice in your hands, ``explain`` every step of one element. ``formats``, ``catalogue`` and
``recording`` are modules.
"""

from __future__ import annotations

from . import catalogue, formats, recording
from ._bitmma import __version__
from .errors import (
    AmbiguousInstruction,
    CodeError,
    CountError,
    DeviceError,
    DtypeError,
    Error,
    ExtentError,
    FormatError,
    ModelError,
    NoInstruction,
    NoModel,
    OptionError,
    RecordingError,
    ScaleError,
    ShapeError,
    TooLarge,
    UnitError,
    UnknownArchitecture,
    UnknownFormat,
    UnknownInstruction,
    UnknownModel,
    UnknownRevision,
)
from .explain import explain
from .gemm import gemm, matmul
from .simulate import Unit, mma, simulate

__all__ = [
    "AmbiguousInstruction",
    "CodeError",
    "CountError",
    "DeviceError",
    "DtypeError",
    "Error",
    "ExtentError",
    "FormatError",
    "ModelError",
    "NoInstruction",
    "NoModel",
    "OptionError",
    "RecordingError",
    "ScaleError",
    "ShapeError",
    "TooLarge",
    "Unit",
    "UnitError",
    "UnknownArchitecture",
    "UnknownFormat",
    "UnknownInstruction",
    "UnknownModel",
    "UnknownRevision",
    "__version__",
    "catalogue",
    "explain",
    "formats",
    "gemm",
    "matmul",
    "mma",
    "recording",
    "simulate",
]
