"""How many elements of two tensors differ, and by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Callable, TypeVar, cast

import torch

from .. import _bitmma
from .._lazy import numpy as np
from .apart import plain
from .choice import dtype_name, readings
from .portable.native import CODE, reduce

_F = TypeVar("_F", bound=Callable[..., Any])
#: Integers as wide as the elements of a tensor, by their bytes.
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Tally:
    """The differences of two tensors, element by element; all NaNs are one value, +0 and -0 are two."""

    elements: int
    differing: int
    """Elements whose bits differ."""
    largest: float = 0.0
    """The largest difference of two finite elements."""
    relative: float = 0.0
    """The norm of the differences over the norm of the first tensor, of elements finite in both."""
    first: tuple[int, ...] | None = None
    """The first element that differs, row by row."""
    not_finite: int = 0
    """Elements that are finite in one of the two only."""
    codes_apart: tuple[int, ...] = ()
    """How many elements are 1, 2 to 3, 4 to 7, … codes apart: units in the last place of the tensor's dtype."""
    problem: str = ""
    """Why the two cannot be compared: they differ in shape or dtype, or one is missing."""

    @property
    def share(self) -> float:
        """The share of elements that differ."""
        return self.differing / self.elements if self.elements else 0.0

    def plus(self, other: Tally) -> Tally:
        """Of two pairs of tensors together; sizes of differences are those of the larger."""
        if self.problem or other.problem:
            return self if self.problem else other
        return replace(
            self,
            elements=self.elements + other.elements,
            differing=self.differing + other.differing,
            largest=max(self.largest, other.largest),
            relative=max(self.relative, other.relative),
            not_finite=self.not_finite + other.not_finite,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**self.__dict__, "share": self.share}


def incomparable(problem: str) -> Tally:
    """Of two tensors that have no elements in common."""
    return Tally(0, 0, problem=problem)


def aside(function: _F) -> _F:
    """Runs a function beside the model: outside of the emulation and of other modes, and with one thread of PyTorch, as its many
    short operations would wait for each other's threads longer than they work."""

    @wraps(function)
    def alone(*args: Any, **kwargs: Any) -> Any:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch._C.DisableTorchFunction(), plain():
                return function(*args, **kwargs)
        finally:
            torch.set_num_threads(threads)

    return cast(_F, alone)


def tally(ours: torch.Tensor, theirs: torch.Tensor, *, sizes: bool = True) -> Tally:
    """Compares two tensors bit by bit; ``sizes=False`` counts only."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return incomparable(f"{_kind(ours)} and {_kind(theirs)}")
    ours, theirs = (torch.view_as_real(one.resolve_conj()) if one.is_complex() else one for one in (ours, theirs))
    kind = _reading(ours.dtype)
    found = _bitmma.tally(kind, _words(ours), _words(theirs), sizes=sizes)
    differing, largest, relative, first, not_finite, codes_apart = found
    return Tally(
        ours.numel(),
        differing,
        largest=largest,
        relative=relative,
        first=None if first is None else place_of(first, ours.shape),
        not_finite=not_finite,
        codes_apart=tuple(codes_apart),
    )


def _reading(dtype: torch.dtype) -> str:
    """What the native half reads the elements as."""
    name = dtype_name(dtype)
    if name.startswith(("uint", "bool")) or name.endswith("_x2"):  # the last: two codes a byte
        return "uint"
    return readings(dtype)[0] if dtype.is_floating_point else "int"


def _words(tensor: torch.Tensor) -> Any:
    """The codes of a tensor, row by row; a view where that is the layout."""
    tensor = tensor.detach().cpu().resolve_neg().contiguous().reshape(-1)
    size = tensor.element_size()
    return np.from_dlpack(tensor.view(WORDS[size])).view(f"uint{8 * size}")


def place_of(place: int, shape: torch.Size) -> tuple[int, ...]:
    """The index of the element at a place, row by row."""
    index = []
    for size in reversed(shape):
        place, at = divmod(place, size)
        index.append(at)
    return tuple(reversed(index))


def norm(tensor: torch.Tensor) -> float:
    """The norm of a tensor's finite elements."""
    wide = tensor.detach().cpu()
    wide = wide if wide.dtype in CODE else wide.double()
    found: float = reduce("norm", wide, None, to=torch.float64, parameter=2.0).item()
    if 0 < found < math.inf or not wide.numel():
        return found
    finite = wide[wide.isfinite()].double()
    largest = finite.abs().max().item() if finite.numel() else 0.0
    return reduce("norm", finite / largest, None, parameter=2.0).item() * largest if largest else 0.0


def _kind(tensor: torch.Tensor) -> str:
    return f"{'×'.join(map(str, tensor.shape)) or 'scalar'} {str(tensor.dtype).rpartition('.')[2]}"
