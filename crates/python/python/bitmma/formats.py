"""What the bits of a number mean: every format, and codes to and from values."""

from __future__ import annotations

import copyreg
from typing import TYPE_CHECKING, Callable

from . import _arrays, _bitmma
from ._bitmma import Format
from ._dtypes import FORMATS_OF
from ._lazy import numpy as np
from .errors import DtypeError, FormatError

if TYPE_CHECKING:
    from ._arrays import Array, Codes

__all__ = ["FORMATS", "Format", "by_name", "codes", "decode", "encode", "pack", "unpack", "view"]

#: Every format: those of floating point widest first, then integers.
FORMATS: tuple[Format, ...] = tuple(_bitmma.formats())


def by_name(name: str) -> Format:
    """The format of that name, compared without case."""
    return _bitmma.format_named(name)


def encode(
    values: Array, format: str, *, rounding: str = "RNE", overflow: str = "ieee", nan: int | None = None
) -> Codes:
    """The codes of numbers in a format, each rounded once.

    ``values`` is anything NumPy makes numbers of. ``rounding`` is a symbol of the paper (``RNE``, ``RZ``,
    ``RA``, ``RU``, ``RD``, ``RNO``, ``RNU``, ``RND``, ``RNZ``, ``RNA``, ``RO``). ``overflow`` is ``ieee``,
    ``infinity`` or ``saturate``; a format without infinity gives NaN, or its largest number if it has none.
    NaN becomes the code ``nan``: by default the format's NaN; a format that has none (FP6, FP4) refuses NaN without it.
    Integers of any size are taken as they are, Python's too.
    """
    array = _values(values)
    if array.dtype == object:
        codes = [_one(value, format, rounding, overflow, nan, index) for index, value in np.ndenumerate(array)]
        return np.array(codes, f"uint{8 * by_name(format).bytes}").reshape(array.shape)
    words = np.ascontiguousarray(array.view(f"uint{8 * array.dtype.itemsize}"))
    if array.dtype.kind in "iu":
        codes = _bitmma.encode_words(words, array.dtype.kind == "i", format, rounding, overflow)
    else:
        codes = _bitmma.encode(words, format, rounding, overflow, nan)
    return codes.reshape(array.shape)


def _one(value: object, format: str, rounding: str, overflow: str, nan: int | None, index: tuple[int, ...]) -> int:
    """The code of one number among Python's objects."""
    if isinstance(value, (int, np.integer)):
        return _bitmma.encode_integer(int(value), format, rounding, overflow)
    if not isinstance(value, (float, np.floating)) or isinstance(value, np.longdouble):
        raise DtypeError(f"values[{', '.join(map(str, index))}] is a {type(value).__name__}; an integer or a float of up to 64 bits was expected")
    if value != value and nan is None and by_name(format).nan_code is None:
        place = f"values[{', '.join(map(str, index))}]"
        raise FormatError(f"{place} is NaN, and {by_name(format).name} has no NaN; nan is the code that NaN becomes")
    return int(encode(np.float64(value), format, rounding=rounding, overflow=overflow, nan=nan))


def _values(values: Array) -> Codes:
    if _arrays.like(values).torch:
        values = values.detach().cpu()
        values = (values.double() if values.is_floating_point() or values.is_complex() else values).numpy()
    array = np.asarray(_arrays.unmasked("values", values))
    if array.dtype.kind == "f" and not hasattr(values, "dtype"):
        exact = np.asarray(values, dtype=object)  # NumPy makes floats of integers beside floats, and rounds them
        if any(isinstance(value, int) and abs(value) > 2**53 for value in exact.flat):
            array = exact
    if array.dtype in (np.float64, np.float32):
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        return array
    if array.dtype == object:
        return array
    if array.dtype.kind in "iu":
        return array.astype(np.int64 if array.dtype.kind == "i" else np.uint64)
    if array.dtype.kind in "bf" and array.dtype.itemsize <= 8 or array.dtype.name in FORMATS_OF:
        return array.astype(np.float64)
    raise DtypeError(f"values are {array.dtype}; whole numbers or floats of up to 64 bits were expected")


def decode(array: Array, format: str | None = None) -> Codes:
    """The values of an array as float64, exact: of codes, or of any dtype that holds a known format."""
    format = _arrays.format_of("the array", array, format)
    words = _arrays.codes("the array", array, format)
    return _bitmma.decode(words.reshape(-1), format).reshape(words.shape).view(np.float64)


def codes(array: Array, format: str | None = None) -> Codes:
    """The codes an array holds, as unsigned integers; a view where the layout allows."""
    return _arrays.codes("the array", array, _arrays.format_of("the array", array, format))


def view(codes: Codes, format: str) -> Array:
    """Codes as an array of the format's dtype (NumPy's, else ml_dtypes'); a view."""
    words = _arrays.codes("codes", codes, by_name(format).name)
    return _arrays.numpy_view(words, by_name(format).name)


def pack(codes: Codes, format: str) -> Codes:
    """Codes of 4 or 6 bits packed into bytes without gaps, the first in the lowest bits; one dimension."""
    return _bitmma.pack(by_name(format).bits, np.ascontiguousarray(codes, dtype=np.uint8).reshape(-1))


def unpack(packed: Codes, format: str, count: int) -> Codes:
    """``count`` codes of 4 or 6 bits out of bytes, one a byte; undoes :func:`pack`."""
    return _bitmma.unpack(by_name(format).bits, np.ascontiguousarray(packed, dtype=np.uint8).reshape(-1), count)


def _reduced(one: Format) -> tuple[Callable[..., Format], tuple[str]]:
    """How a format is pickled: by its name."""
    return by_name, (one.name,)


copyreg.pickle(Format, _reduced)
