"""Views: an array of any framework as the codes it holds, and codes as an array of that framework.

Nothing is converted. Where alignment and byte order allow, nothing is copied either: a view of the same memory
goes to the native half, which reads A and B of a product where they are (without the interpreter's lock) and
copies what else there is.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ._bitmma import format_named as _format_named
from ._bitmma import formats as _formats
from ._bitmma import unpack as _unpack
from ._dtypes import DTYPE_OF, FORMATS_OF, NATIVE, WORD_OF
from ._lazy import numpy as np
from .errors import DeviceError, DtypeError, FormatError, OptionError

if TYPE_CHECKING:
    import numpy
    from typing import TypeAlias

    #: What operands may be: anything NumPy or PyTorch holds, or that DLPack or ``__array__`` hands over.
    Array: TypeAlias = Any
    Codes: TypeAlias = numpy.ndarray[Any, numpy.dtype[Any]]
else:
    Array = Codes = Any

#: Bytes of one code, by format.
BYTES = {row.name: row.bytes for row in _formats()}


#: Devices by their numbers in DLPack (DLDeviceType), as PyTorch writes them where it does.
DEVICES = {2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 13: "managed cuda", 14: "oneapi"}


class Like(NamedTuple):
    """What a result is to be: whose array, and whether of codes."""

    torch: bool
    codes: bool


def like(*arrays: Array) -> Like:
    """PyTorch if any of the operands is; codes if all of them are."""
    torch, codes = False, True
    for array in arrays:
        if array is not None:
            torch, codes = torch or _is_torch(array), codes and is_codes(array)
    return Like(torch, codes)


def is_codes(array: Array) -> bool:
    """Whether it holds codes, whose format the dtype does not tell."""
    return _dtype_name(array) in WORD_OF.values()


@lru_cache(maxsize=256)
def like_dtypes(*dtypes: Any) -> Like:
    """The same of arrays of NumPy with these dtypes."""
    return Like(False, all(_name_of(dtype) in WORD_OF.values() for dtype in dtypes))


def _is_torch(array: Array) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, getattr(torch, "Tensor", ()))


def _dtype_name(array: Array) -> str:
    """The dtype's name without its package; of a plain Python sequence that of the array it makes."""
    dtype = getattr(array, "dtype", None)
    return _name_of(np.asarray(array).dtype if dtype is None else dtype)


@lru_cache(maxsize=256)
def _name_of(dtype: Any) -> str:
    # NumPy makes the name anew each time, which takes as long as a small product
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def format_of(name: str, array: Array, read_as: str | None = None) -> str:
    """The format an array's numbers have; ``read_as`` where the dtype leaves it open."""
    dtype = _dtype_name(array)
    if read_as is None and dtype in FORMATS_OF:
        return FORMATS_OF[dtype][0]
    read_as = None if read_as is None else _format_named(read_as).name  # a name that another project gives it
    readings = FORMATS_OF.get(dtype)
    if readings is None:
        if read_as is not None and dtype == WORD_OF.get(BYTES.get(read_as, 0)):
            return read_as
        raise DtypeError(f"{name} is {dtype}; {_what_holds(read_as)}")
    if read_as not in readings:
        raise DtypeError(f"{name} is {dtype}, which holds {readings[0]}; {_what_holds(read_as)}")
    return read_as


def format_named(name: str, given: Any) -> str | None:
    """The format that an option names: by its name, or by a dtype of NumPy, ml_dtypes or PyTorch that holds it."""
    if given is None or isinstance(given, str):
        return given
    try:
        dtype = str(given) if type(given).__module__.partition(".")[0] == "torch" else np.dtype(given).name
    except TypeError:
        dtype = ""
    readings = FORMATS_OF.get(dtype.rpartition(".")[2])
    if readings is None:
        raise OptionError(f"{name} is {given!r}; the name of a format was expected, as 'f16', or a dtype that holds one")
    return readings[0]


def _what_holds(format: str | None) -> str:
    if format is None:
        return "its format is not known from that: say what the codes are with read_as"
    word = WORD_OF[BYTES[format]]
    return f"{format} comes as {DTYPE_OF[format]}, or as {word} codes (bitmma.formats.encode makes them)"


def codes(name: str, array: Array, format: str) -> Codes:
    """The codes of an array of ``format`` as unsigned integers, row by row; a view where that is the layout."""
    return np.require(words(name, array, format), requirements=("C", "A"))


def words(name: str, array: Array, format: str, along: int = -1) -> Codes:
    """The codes of an array of ``format`` as unsigned integers in any layout; a view unless it is unaligned, of
    the other byte order, or packed.

    ``along`` is the axis along which two FP4 codes share a byte where strides do not tell.
    """
    if type(array) is np.ndarray:
        word = _word_of(array.dtype, format)
        if word is not None and array.flags.aligned:
            view: Codes = array.view(word)
            return view
    dtype = reading(name, array, format)
    held = _torch_words(name, array, dtype) if _is_torch(array) else _numpy_words(name, array)
    if dtype == "float4_e2m1fn_x2":
        held = _unpacked(held, along)
    return held if held.flags.aligned else np.require(held, requirements="A")


@lru_cache(maxsize=256)
def _word_of(dtype: Any, format: str) -> Any:
    """The dtype as which an array of NumPy's shows its codes of ``format``; None where they have to be made."""
    name = _name_of(dtype)
    if not dtype.isnative or format not in FORMATS_OF.get(name, ()) and name != WORD_OF[BYTES[format]]:
        return None
    return np.dtype(WORD_OF[dtype.itemsize])


def reading(name: str, array: Array, format: str) -> str:
    """The dtype of an array that may be read as codes of ``format``."""
    dtype = _dtype_name(array)
    if format not in FORMATS_OF.get(dtype, ()) and dtype != WORD_OF[BYTES[format]]:
        raise DtypeError(f"{name} is {dtype}; {_what_holds(format)}")
    return dtype


def on_gpu(*arrays: Array) -> bool:
    """Whether any of them is a tensor of PyTorch on a CUDA or ROCm device."""
    if "torch" not in sys.modules:
        return False
    return any(_is_torch(one) and one.device.type == "cuda" for one in arrays)


def elements(array: Array) -> int:
    """Elements in a row: two FP4 codes of PyTorch's share a byte."""
    return int(array.shape[-1]) * (2 if _dtype_name(array) == "float4_e2m1fn_x2" else 1)


def unmasked(name: str, array: Array) -> Array:
    """The array. Elements that NumPy masks have no codes: they are refused."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        masked = int(np.ma.count_masked(array))
        raise FormatError(f"{name}: {masked} of {array.size} elements are masked; give them numbers first: array.filled(0)")
    return array


def _numpy_words(name: str, array: Array) -> Codes:
    if not isinstance(array, np.ndarray):
        device = _device(array)
        if device is not None:
            raise DeviceError(f"{name} is on {device}; bring it to the CPU first")
    lends = hasattr(array, "__dlpack__") and not hasattr(array, "__array__")
    array = np.from_dlpack(array) if lends else np.asarray(unmasked(name, array))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array.view(WORD_OF[array.dtype.itemsize])


def _device(array: Array) -> str | None:
    """Where an array's data are, unless they are in the processor's memory."""
    asked = getattr(array, "__dlpack_device__", None)
    if asked is None:
        return "a CUDA device" if hasattr(array, "__cuda_array_interface__") else None
    kind, number = map(int, asked())
    if kind in (1, 3, 11):  # kDLCPU, kDLCUDAHost, kDLROCMHost
        return None
    return f"{DEVICES.get(kind, f'a device of DLPack kind {kind}')}:{number}"


def _torch_words(name: str, tensor: Array, dtype: str) -> Codes:
    torch = sys.modules["torch"]
    if tensor.device.type != "cpu":
        raise DeviceError(f"{name} is on {tensor.device}; bring it to the CPU first: tensor.cpu()")
    if tensor.layout != torch.strided:
        raise DtypeError(f"{name} is a {tensor.layout} tensor; make it dense first: tensor.to_dense()")
    tensor = tensor.detach().resolve_neg()
    # through signed words: every PyTorch has them, and NumPy takes them by DLPack
    size = tensor.element_size()
    signed = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
    words = tensor if tensor.dtype == signed else tensor.view(signed)
    # not words.numpy(): after it PyTorch never again resizes the tensor's storage, which FSDP does to parameters
    return np.from_dlpack(words).view(WORD_OF[size])


def _unpacked(words: Codes, along: int) -> Codes:
    """Two FP4 codes from each byte, along the axis that is contiguous in memory."""
    contiguous = [axis for axis in (-1, -2) if axis >= -words.ndim and words.strides[axis] == 1]
    axis = contiguous[0] if len(contiguous) == 1 else along
    lines = np.ascontiguousarray(np.moveaxis(words, axis, -1))
    codes = _unpack(4, lines.reshape(-1), 2 * lines.size)
    return np.moveaxis(codes.reshape(*lines.shape[:-1], 2 * lines.shape[-1]), -1, axis)


def result(words: Codes, format: str, like: Like, own: str = "") -> Array:
    """Codes of ``format`` as an array like the operands; a view. ``own`` is the format of the instruction's D."""
    codes = like.codes and own != "s32"  # arrays of u8 are codes and numbers at once: their product is of numbers
    if like.torch:
        return _torch_result(words, format, codes)
    return words if codes else numpy_view(words, format)


def numpy_view(words: Codes, format: str) -> Codes:
    """Codes as a NumPy array of the format's dtype, which is ml_dtypes' where NumPy has none."""
    name = DTYPE_OF[format]
    if name in NATIVE:
        return words.view(name)
    try:
        import ml_dtypes
    except ImportError:
        raise DtypeError(
            f"the result is {format}, for which NumPy has no dtype: install ml_dtypes, or give codes to get codes"
        ) from None
    dtype = getattr(ml_dtypes, name, None)
    if dtype is None:
        raise DtypeError(f"this ml_dtypes ({ml_dtypes.__version__}) has no {name}; give codes to get codes")
    return words.view(dtype)


def _torch_result(words: Codes, format: str, codes: bool) -> Array:
    torch = sys.modules["torch"]
    size = words.dtype.itemsize
    signed = words if size == 1 else words.view(f"int{8 * size}")
    tensor = torch.from_numpy(signed)
    name = WORD_OF[size] if codes else DTYPE_OF[format]
    dtype = getattr(torch, name, None)
    if dtype is None:
        raise DtypeError(f"the result is {format}, for which this PyTorch has no dtype; give codes to get codes")
    return tensor if tensor.dtype == dtype else tensor.view(dtype)
