"""Tensor maps: tensors whose boxes a kernel copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import PtxError

#: Types of elements by their number for ``tensormap.replace``.
KINDS = {
    "uint8": 0, "int8": 0, "bool": 0, "float8_e4m3fn": 0, "float8_e5m2": 0, "float8_e8m0fnu": 0, "uint16": 1, "int16": 1, "uint32": 2,
    "int32": 3, "uint64": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 9, "bfloat16": 10,
}  # fmt: skip

#: Bytes of an element by these numbers.
SIZES = {0: 1, 1: 2, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 9: 8, 10: 2}

#: The same of padded elements of 4 bits.
PADDED = 14

#: What boxes are, by its number.
MODES = ("tile", "im2col", "im2col::w", "im2col::w::128")

#: Patterns of the swizzle by their bytes.
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}


#: What boxes are, and their corners along W, H, D.
Corners = tuple[int, list[int], list[int]]


@dataclass(frozen=True)
class TensorMap:
    """A tensor and the boxes of it that a kernel copies, as ``cuTensorMapEncodeTiled`` and ``cuTensorMapEncodeIm2col`` are given them: an
    argument of ``launch_ptx``.

    ``array`` is a NumPy array or a tensor on the CPU whose last dimension lies together; ``box`` has the elements of a box along
    each dimension. ``swizzle`` is the pattern in bytes (0, 32, 64, 128) by which chunks of 16 bytes are exchanged in shared memory;
    ``fill`` is "zero" or "nan", for elements outside of the tensor; ``steps`` says of how many elements each is copied.

    With ``mode="im2col"`` the array is NWC, NHWC or NDHWC, and ``box`` has pixels and channels. ``lower`` and ``upper`` are the corners of
    the box of an image in which pixels are, along (D, H,) W, the upper one counted from the end of the image. Those of "im2col::w" and
    "im2col::w::128" are along W alone.
    """

    array: Any
    box: Sequence[int]
    swizzle: int = 0
    fill: str = "zero"
    steps: Sequence[int] | None = None
    #: Elements and their distances in elements, where they are not the array's own.
    shape: Sequence[int] | None = None
    strides: Sequence[int] | None = None
    mode: str = "tile"
    lower: Sequence[int] = ()
    upper: Sequence[int] = ()
    #: The name of the type of elements, where that is not the array's own.
    dtype: str | None = None
    #: Whether the bytes of the array are two elements of 4 bits each, of which 16 fill 8 of 16 bytes of shared memory.
    padded: bool = False

    def fields(self) -> tuple[tuple[int, int, bool, Corners], list[int], list[int], list[int], list[int]]:
        """Kind, swizzle, filling and corners; sizes, strides in bytes, boxes and steps, the dimension that lies together first."""
        dtype = self.dtype or str(self.array.dtype).rpartition(".")[2]
        if dtype not in KINDS:
            raise PtxError(f"a tensor map of {dtype}: it has elements of {', '.join(KINDS)}")
        if SIZES[KINDS[dtype]] != self.array.dtype.itemsize:
            raise PtxError(f"a tensor map of {dtype} cannot have the elements of an array of {self.array.dtype}: their sizes differ")
        if self.swizzle not in SWIZZLES:
            raise PtxError(f"swizzle is {self.swizzle!r}; one of {', '.join(map(str, SWIZZLES))}")
        if self.fill not in ("zero", "nan"):
            raise PtxError(f"fill is {self.fill!r}; one of zero, nan")
        size = self.array.dtype.itemsize
        shape = list(self.array.shape if self.shape is None else self.shape)
        if self.strides is not None:
            strides = [stride * size for stride in self.strides]
        elif hasattr(self.array, "data_ptr"):
            strides = [stride * size for stride in self.array.stride()]
        else:
            strides = list(self.array.strides)
        steps = [1] * len(shape) if self.steps is None else list(self.steps)
        if self.mode not in MODES:
            raise PtxError(f"mode is {self.mode!r}; one of {', '.join(MODES)}")
        sides = len(shape) if self.mode == "tile" else 2
        if not 1 <= len(shape) <= 5 or not len(shape) == len(strides) == len(steps) or len(self.box) != sides:
            what = "as many" if self.mode == "tile" else "pixels and channels"
            raise PtxError(f"a tensor map of 1 to 5 dimensions, {len(shape)} given, with a box of {what}, not {len(self.box)}")
        if self.padded:
            if size != 1:
                raise PtxError(f"a padded tensor map is of bytes, two elements each, not of {dtype}")
            shape[-1] *= 2
        corners = {"tile": 0, "im2col": len(shape) - 2}.get(self.mode, 1)
        for name, corner in (("lower", self.lower), ("upper", self.upper)):
            if len(corner) != corners or any(not -(1 << 31) <= at < 1 << 31 for at in corner):
                raise PtxError(f"{name} is {list(corner)}; a tensor map of {self.mode} with {len(shape)} dimensions takes {corners} numbers")
        if strides[-1] != size:
            raise PtxError(f"the last dimension of a tensor map lies together: its elements are {strides[-1]} bytes apart, not {size}")
        if any(not 0 < length < 1 << 32 for length in (*shape, *self.box, *steps)) or any(stride < 0 for stride in strides):
            raise PtxError("the sizes of a tensor map are positive, and below 2**32")
        lower, upper = ([*reversed(corner), 0, 0, 0][:3] for corner in (self.lower, self.upper))
        kind = (PADDED if self.padded else KINDS[dtype], SWIZZLES[self.swizzle], self.fill == "nan", (MODES.index(self.mode), lower, upper))
        return kind, shape[::-1], strides[-2::-1], list(self.box)[::-1], steps[::-1]
