"""Random numbers on the GPU. The state is a seed and an offset, as CUDA's is; the numbers are those of the CPU's generator, not of Philox."""

from __future__ import annotations

import secrets
import weakref
from typing import Any

import torch

from .memory import CPU, GPU

_Plain: Any = torch._C.Generator
#: By how much an operation moves the offset.
_STEP = 4
_MASK = (1 << 64) - 1
#: What spreads offsets over the seeds of the CPU's generator: 2^64 divided by the golden ratio.
_SPREAD = 0x9E3779B97F4A7C15

#: Generators by where PyTorch has them: on the way through its C++ code they lose their class.
_MADE: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


class _Kind(type(_Plain)):  # type: ignore[misc]
    """PyTorch's own generators are generators, too."""

    def __instancecheck__(cls, one: Any) -> bool:
        return isinstance(one, _Plain)


class Generator(_Plain, metaclass=_Kind):
    """``torch.Generator``: one for the GPU says that it is the GPU's, and has a seed and an offset."""

    def __new__(cls, device: Any = "cpu") -> Any:
        wanted = torch.device(device)
        if wanted.type == "cuda" and wanted.index:
            raise RuntimeError(f"CUDA error: invalid device ordinal: {wanted}; there is one GPU, cuda:0")
        made = _Plain.__new__(cls, "cpu" if wanted.type == "cuda" else wanted)
        made.on_gpu, made.offset = wanted.type == "cuda", 0
        made.start = _Plain.initial_seed(made)
        _MADE[made._cdata] = made
        return made

    @property
    def device(self) -> torch.device:
        """Where it draws."""
        return GPU if self.on_gpu else _Plain.device.__get__(self)

    def __reduce__(self) -> Any:
        """How it is copied and pickled: its device and its state."""
        return _restored, (str(self.device), self.get_state())

    def manual_seed(self, seed: int) -> Any:
        """Starts from a seed."""
        _Plain.manual_seed(self, seed)
        self.start, self.offset = seed & _MASK, 0
        return self

    def seed(self) -> int:
        """Starts from a seed that nobody knows, and returns it."""
        self.manual_seed(secrets.randbits(63))
        return int(self.start)

    def initial_seed(self) -> int:
        """The seed that it started from."""
        return int(self.start) if self.on_gpu else int(_Plain.initial_seed(self))

    def get_state(self) -> Any:
        """Of a generator of the GPU the seed and the offset, eight bytes each."""
        if not self.on_gpu:
            return _Plain.get_state(self)
        content = int(self.start).to_bytes(8, "little") + int(self.offset).to_bytes(8, "little")
        return torch.tensor(list(content), dtype=torch.uint8, device=CPU)

    def set_state(self, state: torch.Tensor) -> Any:
        """As ``get_state`` returns it."""
        if not self.on_gpu:
            return _Plain.set_state(self, state)
        content = bytes(state.cpu().tolist())
        if len(content) != 16:
            raise RuntimeError("RNG state is wrong size")
        self.start, self.offset = int.from_bytes(content[:8], "little"), int.from_bytes(content[8:], "little")
        return self

    def get_offset(self) -> int:
        """How far it has drawn."""
        self._must_be_on_gpu()
        return int(self.offset)

    def set_offset(self, offset: int) -> Any:
        """Draws from there on."""
        self._must_be_on_gpu()
        if offset % _STEP or offset < 0:
            raise RuntimeError(f"offset must be a multiple of {_STEP}")
        self.offset = offset
        return self

    def _must_be_on_gpu(self) -> None:
        if not self.on_gpu:
            raise RuntimeError("CPU Generator does not use offset")

    def clone_state(self) -> Any:
        """Another one of this state."""
        return Generator(self.device).set_state(self.get_state())

    graphsafe_get_state, graphsafe_set_state = clone_state, lambda self, other: self.set_state(other.get_state())

    def draws(self) -> None:
        """An operation of the GPU is about to draw from it."""
        _Plain.manual_seed(self, (self.start + self.offset // _STEP * _SPREAD) & _MASK)
        self.offset += _STEP


def _restored(device: str, state: torch.Tensor) -> Generator:
    made: Generator = Generator(device)
    made.set_state(state)
    return made


#: The one that operations on the GPU draw from.
DEFAULT: Any = Generator("cuda")


def _checked(given: Any, on_gpu: bool) -> Any:
    """The generator that an operation draws from, which must be of its device."""
    own = DEFAULT if given is None else _MADE.get(given._cdata, given)
    if getattr(own, "on_gpu", False) != on_gpu:
        wanted, found = ("cuda", "cpu") if on_gpu else ("cpu", "cuda")
        raise RuntimeError(f"Expected a '{wanted}' device type for generator but found '{found}'")
    return own


def check_on_cpu(values: Any) -> None:
    """An error if an operation on the CPU is given a generator of the GPU."""
    for one in values:
        if isinstance(one, _Plain):
            _checked(one, False)


class Drawn:
    """How many operations on the GPU drew random numbers."""

    count = 0


def draws(kwargs: dict[str, Any]) -> None:
    """An operation is about to draw from the GPU's generator, unless it is given another of the GPU."""
    Drawn.count += 1
    own = kwargs["generator"] = _checked(kwargs.get("generator"), True)
    own.draws()
