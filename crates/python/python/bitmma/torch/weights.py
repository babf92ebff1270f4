"""Weights that are packed once and multiplied many times.

A B that comes a second time is prepared (:func:`bitmma.prepare`), and later products of few rows take that. Parameters
and buffers come again; what a layer computes has memory of its own and does not.

Nothing that changed is ever taken for what it was: at every use a fingerprint of all bytes of the weight is compared with that of the
bytes that were prepared. No operation has to be watched, as the writes that matter most cannot be: those of NumPy and of other libraries
(DLPack, ctypes), of other processes in shared memory, of a collective that completes later, of operators whose schema
does not tell. All is dropped when the ``with`` ends.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .. import _arrays, _bitmma
from ..prepared import Prepared, prepare
from .._lock import LOCK

if TYPE_CHECKING:
    from ..simulate import Unit

#: Rows of A, at most: of more, packing is a small part of the work.
MOST_ROWS = 32
#: What a prepared weight takes, by its own bytes.
EXTRA = 1.05
#: Units that weights are prepared for at a time: a target may make a new one for each product.
MOST_UNITS = 64
#: Elements, at least: a smaller B is packed in no time.
LEAST = 1 << 12


class _Kept(NamedTuple):
    """A weight that was packed."""

    prepared: Prepared
    fingerprint: int
    """Of the bytes that were packed."""


@dataclass
class _Weight:
    """A B that was seen."""

    storage: StorageWeakRef
    version: int
    """PyTorch's count of writes. One that changed says that the weight is new; one that did not says nothing."""
    bytes: int
    whole: int
    """The bytes of its storage."""
    again: bool = False
    """Whether it came a second time."""
    kept: _Kept | None = None


#: What a weight is known by: its storage, place, shape, strides and dtype there, and the unit that multiplies.
_Key = tuple[int, int, tuple[int, ...], tuple[int, ...], torch.dtype, int]


class Weights:
    """The weights that an emulation has prepared."""

    def __init__(self, most: float, threads: int | None = None) -> None:
        self.most = most
        """Bytes that prepared weights may take, as a multiple of the weights' own."""
        self.hits = 0
        """Products that took a prepared weight."""
        self.prepared = 0
        """Weights that were prepared, again where they had changed."""
        self._threads = threads
        self._units: list[Unit] = []  # kept, so that an id is never another's
        self._all: dict[_Key, _Weight] = {}

    def ready(self, unit: Unit, b: torch.Tensor, rows: int) -> Prepared | torch.Tensor:
        """B prepared for a unit, if it is a weight and the rows are few; else B."""
        if not self.most or rows > MOST_ROWS or b.dim() != 2 or b.numel() < LEAST or b.device.type != "cpu" or b.is_neg():
            return b
        with LOCK:
            seen = self._seen(unit, b)
        if seen is None:
            return b
        words = _arrays.words("B", b, unit.b, along=-2)
        now = _bitmma.fingerprint(words)
        kept = seen.kept
        if kept is None or kept.fingerprint != now:
            with LOCK:
                prepared = self._prepare(seen, unit, b)
            if prepared is None or _bitmma.fingerprint(words) != now:  # no room, or someone writes to it at this moment
                return b
            kept = seen.kept = _Kept(prepared, now)
        self.hits += 1
        return kept.prepared

    def _seen(self, unit: Unit, b: torch.Tensor) -> _Weight | None:
        """A weight that came before; None for one that is new."""
        storage = b.untyped_storage()
        if not any(one is unit for one in self._units):
            if len(self._units) == MOST_UNITS:
                self._all.clear()
                self._units.clear()
            self._units.append(unit)
        key = (storage._cdata, int(b.storage_offset()), tuple(b.shape), b.stride(), b.dtype, id(unit))
        version = 0 if b.is_inference() else b._version
        seen = self._all.get(key)
        if seen is None or seen.version != version or seen.storage.expired():
            self._forget_dead()
            self._all[key] = _Weight(StorageWeakRef(storage), version, b.numel() * b.element_size(), storage.nbytes())
            return None
        seen.again = True
        return seen

    def _prepare(self, seen: _Weight, unit: Unit, b: torch.Tensor) -> Prepared | None:
        """A weight packed now; None where there is no room for it."""
        seen.kept = None
        if not self._has_room(seen.bytes):
            return None
        self.prepared += 1
        return prepare(b, target=unit, threads=self._threads)

    def _forget_dead(self) -> None:
        for key in [key for key, weight in self._all.items() if weight.storage.expired()]:
            del self._all[key]

    def _has_room(self, bytes: int) -> bool:
        """Whether one more may be prepared: what has been stays, or weights that come in turn would drive each other out. Views of
        one storage that overlap, as those of a cache that fills, count as that storage at most."""
        views = {key[:4]: weight for key, weight in self._all.items() if weight.again}
        own: Counter[int] = Counter()
        for key, weight in views.items():
            own[key[0]] = min(own[key[0]] + weight.bytes, weight.whole)
        return self.nbytes + EXTRA * bytes <= self.most * sum(own.values())

    def clear(self) -> None:
        """Drops all."""
        with LOCK:
            self._all.clear()
            self._units.clear()

    @property
    def nbytes(self) -> int:
        """The bytes that prepared weights take now."""
        return sum(weight.kept.prepared.nbytes for weight in list(self._all.values()) if weight.kept is not None)

    def __str__(self) -> str:
        return f"{self.prepared} prepared, {self.hits} products with them, {self.nbytes} bytes"
