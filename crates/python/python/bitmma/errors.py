"""One class for each kind of thing that can be wrong with a call; the message holds the numbers."""

from __future__ import annotations

import builtins


class Error(Exception):
    """Anything that is wrong with a call."""


class ShapeError(Error, ValueError):
    """An operand has the wrong shape."""


class CountError(ShapeError):
    """A matrix has the wrong number of codes for its shape."""


class ExtentError(ShapeError):
    """M or N is none of the sizes the instruction has."""


class TooLarge(Error, MemoryError):
    """A result that cannot be held in memory."""


class FormatError(Error, TypeError):
    """An operand has the wrong format."""


class DtypeError(FormatError):
    """An array's dtype holds no numbers of the format that is wanted."""


class DeviceError(Error, ValueError):
    """An array whose data are not in the processor's memory."""


class CodeError(Error, ValueError):
    """A code with bits above its format's width."""


class ScaleError(Error, ValueError):
    """Scale factors are missing, or given to something that takes none."""


class OptionError(Error, ValueError):
    """An option is out of its range."""


class ModelError(Error, ValueError):
    """A model that makes no sense, or operands it does not take."""


class NoModel(Error, NotImplementedError):
    """The instruction is known, how it computes is not."""


class UnknownArchitecture(Error, builtins.LookupError):
    """No architecture is called that."""


class UnknownInstruction(Error, builtins.LookupError):
    """The architecture has no instruction of that name."""


class AmbiguousInstruction(Error, builtins.LookupError):
    """The spelling leaves open which of several instructions is meant."""


class NoInstruction(Error, builtins.LookupError):
    """No instruction multiplies these formats as a library would."""


class UnknownFormat(Error, builtins.LookupError):
    """No format is called that."""


class UnknownModel(Error, builtins.LookupError):
    """No model family is called that."""


class UnknownRevision(Error, builtins.LookupError):
    """No revision is called that."""


class RecordingError(Error, ValueError):
    """A recording that does not read; the message names the line."""


class ReportError(Error, RuntimeError):
    """A report or a picture that cannot be made."""


class UnitError(Error, RuntimeError):
    """A unit that is not simulated returned nothing, or something malformed."""


class CallDeclined(Error, NotImplementedError):
    """Nobody has measured how the library computes this call; the message says what would settle it."""


class CallRejected(Error, ValueError):
    """The library itself rejects the call."""


class PlanError(Error, ValueError):
    """A plan, a configuration or a table that does not read or contradicts itself."""


class LeftAlone(UserWarning):
    """Products of a PyTorch model that ran as they were, not on the arithmetic that was asked for."""


class NotCompiled(UserWarning):
    """A function of ``torch.compile`` that runs as it is written, inside of an emulation."""


class HostDependent(Error, NotImplementedError):
    """An operation of a PyTorch model whose bits may depend on the machine, where that was to be an error."""


class RanOnCpu(UserWarning):
    """A product of tensors on a GPU that the CPU computed; the message says why."""


class PtxError(Error, ValueError):
    """A text that is not PTX, or a launch that does not fit its kernel."""


class CudaError(Error, ValueError):
    """CUDA C++ that does not compile; the message is the compiler's, or says how to get one."""


class UnsupportedPtx(Error, NotImplementedError):
    """A kernel holds an instruction that is not supported."""


class DoubtfulKernel(Error, RuntimeError):
    """A kernel holds instructions whose results on a GPU are not known for sure."""


class KernelError(Error, RuntimeError):
    """A kernel did something wrong while it ran; the message names line, block and thread."""


class Assumed(UserWarning):
    """A result that rests on an assumption; the message says which."""
