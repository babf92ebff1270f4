"""How many elements of two tensors differ, and by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Callable, TypeVar, cast

import torch

_F = TypeVar("_F", bound=Callable[..., Any])
#: Where the counts of :attr:`Tally.codes_apart` begin, but the first.
_POWERS = torch.tensor([2**power for power in range(1, 63)])
_WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


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


def one_thread(function: _F) -> _F:
    """Runs a function with one thread of PyTorch: its many short operations would wait for each other's threads longer than
    they work."""

    @wraps(function)
    def alone(*args: Any, **kwargs: Any) -> Any:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return function(*args, **kwargs)
        finally:
            torch.set_num_threads(threads)

    return cast(_F, alone)


@one_thread
def tally(ours: torch.Tensor, theirs: torch.Tensor, *, sizes: bool = True) -> Tally:
    """Compares two tensors bit by bit; ``sizes=False`` counts only."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return incomparable(f"{_kind(ours)} and {_kind(theirs)}")
    ours, theirs = ours.detach().resolve_neg(), theirs.detach().resolve_neg()
    if ours.is_complex():
        ours, theirs = torch.view_as_real(ours), torch.view_as_real(theirs)
    elements = ours.numel()
    codes = [one.view(_WORDS[one.element_size()]) if one.dtype != torch.bool else one.to(torch.int8) for one in (ours, theirs)]
    differs = codes[0] != codes[1]
    differing = int(torch.count_nonzero(differs))
    if not differing:
        return Tally(elements, 0)
    if not sizes:
        if not (ours.sum() + theirs.sum()).isfinite():  # NaN may be among them
            differing -= int(torch.count_nonzero(ours.isnan() & theirs.isnan() & differs))
        return Tally(elements, differing)
    places = differs.reshape(-1).nonzero().squeeze(1)
    x, y = (one.reshape(-1)[places] for one in codes)
    small = ours.is_floating_point() and ours.element_size() < 4  # whose differences FP32 holds, all but exactly
    a, b = (one.double() if ours.dtype == torch.bool else one.view(ours.dtype).to(torch.float32 if small else torch.float64) for one in (x, y))
    apart = (a - b).abs_()
    not_finite = 0
    largest = apart.max().item()
    if small and largest < math.inf:
        place = int(apart.argmax())
        largest = abs(a[place].double() - b[place].double()).item()
    if not largest < math.inf:
        both_nan = a.isnan() & b.isnan()
        places, x, y, a, b, apart = (one[~both_nan] for one in (places, x, y, a, b, apart))
        if not len(places):
            return Tally(elements, 0)
        not_finite = int((a.isfinite() != b.isfinite()).sum())
        apart = apart[apart.isfinite()]
        largest = apart.max().item() if len(apart) else 0.0
    whole = norm(ours)
    return Tally(
        elements,
        len(places),
        largest=largest,
        relative=apart.norm().item() / whole if whole else 0.0,
        first=tuple(int(one) for one in torch.unravel_index(places[0], ours.shape)),
        not_finite=not_finite,
        codes_apart=_codes_apart(x, y) if ours.is_floating_point() else (),
    )


def norm(tensor: torch.Tensor) -> float:
    """The norm of a tensor's finite elements; in FP32 for those of 16 bits and fewer."""
    wide = tensor if tensor.is_floating_point() and tensor.element_size() >= 4 else tensor.float() if tensor.is_floating_point() else tensor.double()
    found: float = torch.linalg.vector_norm(wide).item()
    return found if found < math.inf else torch.linalg.vector_norm(wide[wide.isfinite()]).item()


def _codes_apart(ours: torch.Tensor, theirs: torch.Tensor) -> tuple[int, ...]:
    """Codes in the order of their values, and how far they are apart, by powers of two."""
    x, y = (_ordered(one) for one in (ours, theirs))
    if x.dtype == torch.int32:  # of FP32's own exponent the power of two can be read
        powers = ((x - y).abs_().float().view(torch.int32) >> 23).sub_(127)
    else:
        powers = torch.bucketize((x - y).abs_(), _POWERS, right=True)
    return tuple(torch.bincount(powers, minlength=1).tolist())


def _ordered(codes: torch.Tensor) -> torch.Tensor:
    """Sign and magnitude as one ascending integer; of 64 bits the lowest is dropped, so that differences fit."""
    bits = 8 * codes.element_size()
    wide = codes.long() if bits > 16 else codes.int()
    ordered = torch.where(wide < 0, -(wide & ((1 << (bits - 1)) - 1)), wide)
    return ordered >> 1 if bits == 64 else ordered


def _kind(tensor: torch.Tensor) -> str:
    return f"{'×'.join(map(str, tensor.shape)) or 'scalar'} {str(tensor.dtype).rpartition('.')[2]}"
