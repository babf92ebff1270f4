"""Which dtype holds which format: one table for NumPy, ml_dtypes and PyTorch.

A row is a dtype's name (without its package) and the formats its bits may be read as, its own first.
"""

from __future__ import annotations

FORMATS_OF: dict[str, tuple[str, ...]] = {
    "float64": ("f64",),
    "float32": ("f32", "tf32", "xf32", "e8m13"),  # the last three ignore low bits of an FP32 word
    "float16": ("f16",),
    "bfloat16": ("bf16",),
    "float8_e5m2": ("e5m2",),
    "float8_e4m3fn": ("e4m3", "ue4m3"),  # UE4M3 is E4M3 with its sign bit ignored
    "float8_e5m2fnuz": ("e5m2fnuz",),
    "float8_e4m3fnuz": ("e4m3fnuz",),
    "float6_e3m2fn": ("e3m2",),
    "float6_e2m3fn": ("e2m3",),
    "float4_e2m1fn": ("e2m1",),
    "float4_e2m1fn_x2": ("e2m1",),  # PyTorch's: two codes a byte, the first in the low bits
    "float8_e8m0fnu": ("ue8m0",),
}

#: The dtype a result of a format has.
DTYPE_OF: dict[str, str] = {
    "f64": "float64",
    "f32": "float32",
    "tf32": "float32",
    "xf32": "float32",
    "e8m13": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "e5m2": "float8_e5m2",
    "e4m3": "float8_e4m3fn",
    "ue4m3": "float8_e4m3fn",
    "e5m2fnuz": "float8_e5m2fnuz",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e3m2": "float6_e3m2fn",
    "e2m3": "float6_e2m3fn",
    "e2m1": "float4_e2m1fn",
    "ue8m0": "float8_e8m0fnu",
}

#: Formats that NumPy itself has a dtype for.
NATIVE = ("float64", "float32", "float16")

#: The unsigned integer that holds one code, by the code's bytes.
WORD_OF: dict[int, str] = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
