"""What the bits of a number mean: every format, and codes to and from values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _arrays, _bitmma
from ._bitmma import Format
from ._dtypes import FORMATS_OF
from ._lazy import numpy as np
from .errors import DtypeError

if TYPE_CHECKING:
    from ._arrays import Array, Codes

__all__ = ["FORMATS", "Format", "by_name", "codes", "decode", "encode", "pack", "unpack", "view"]

#: Every format, widest first.
FORMATS: tuple[Format, ...] = tuple(_bitmma.formats())


def by_name(name: str) -> Format:
    """The format of that name, compared without case."""
    return _bitmma.format_named(name)


def encode(values: Array, format: str, *, rounding: str = "RNE", overflow: str = "ieee") -> Codes:
    """The codes of numbers in a format, each rounded once.

    ``values`` is anything NumPy makes numbers of. ``rounding`` is a symbol of the paper (``RNE``, ``RZ``,
    ``RA``, ``RU``, ``RD``, ``RNO``, ``RNU``, ``RND``, ``RNZ``, ``RNA``, ``RO``). ``overflow`` is ``ieee``,
    ``infinity`` or ``saturate``; a format without infinity gives NaN, or its largest number if it has none.
    """
    array = _values(values)
    words = array.view(f"uint{8 * array.dtype.itemsize}")
    codes = _bitmma.encode(np.ascontiguousarray(words).reshape(-1), format, rounding, overflow)
    return codes.reshape(array.shape)


def _values(values: Array) -> Codes:
    if _arrays.like(values).torch:
        values = values.detach().cpu().double().numpy()
    array = np.asarray(_arrays.unmasked("values", values))
    if array.dtype in (np.float64, np.float32):
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        return array
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8 or array.dtype.name in FORMATS_OF:
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
