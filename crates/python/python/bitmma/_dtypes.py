"""Which dtype holds which format, by the names of NumPy, ml_dtypes and PyTorch without their package."""

from __future__ import annotations

from ._bitmma import formats as _formats

#: The unsigned integer that holds one code, by the code's bytes.
WORD_OF: dict[int, str] = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}

#: The dtype a result of a format has: codes where no package has one.
DTYPE_OF: dict[str, str] = {row.name: row.dtype or WORD_OF[row.bytes] for row in _formats()}

#: The formats that a dtype's bits may be read as, its own first.
FORMATS_OF: dict[str, tuple[str, ...]] = {
    dtype: tuple(row.name for row in _formats() if row.dtype == dtype) for dtype in DTYPE_OF.values() if dtype not in WORD_OF.values()
}
FORMATS_OF["float4_e2m1fn_x2"] = FORMATS_OF["float4_e2m1fn"]  # PyTorch's: two codes a byte, the first in the low bits

#: Dtypes that NumPy itself has.
NATIVE = ("float64", "float32", "float16", "int32", "int8", "bool", *WORD_OF.values())
