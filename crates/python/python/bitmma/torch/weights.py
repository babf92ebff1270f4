"""Weights that are packed once and multiplied many times.

A B that comes a second time, unchanged, is prepared (:func:`bitmma.prepare`), and later products of few rows take that. Parameters
and buffers come again; what a layer computes has memory of its own and does not.

Nothing that changed is ever taken for what it was. A prepared weight belongs to a storage, and to the shape, strides and version
counter with which it was read. The emulation sees every operation of its thread, and drops what belongs to a storage before
an operation writes to it: in place, through ``.data``, a view, ``set_`` or a fused optimizer. Where writes may come from elsewhere (memory
that is shared with NumPy or a file, other threads of Python), a fingerprint of all bytes is compared at every use. All is
dropped when the ``with`` ends.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .. import _arrays, _bitmma
from ..prepared import Prepared, prepare
from .lock import LOCK

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


@dataclass
class _Weight:
    """A B that was seen."""

    storage: StorageWeakRef
    version: int
    bytes: int
    started: int
    """Threads that had been started when no other was there."""
    again: bool = False
    """Whether it came a second time."""
    prepared: Prepared | None = None
    fingerprint: int | None = None
    """Of all bytes, where writes may not be seen."""


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
        self._writes: dict[Any, tuple[tuple[int, str], ...] | None] = {}

    def ready(self, unit: Unit, b: torch.Tensor, rows: int) -> Prepared | torch.Tensor:
        """B prepared for a unit, if it is a weight and the rows are few; else B."""
        if not self.most or rows > MOST_ROWS or b.dim() != 2 or b.numel() < LEAST or b.device.type != "cpu":
            return b
        with LOCK:
            return self._ready(unit, b)

    def _ready(self, unit: Unit, b: torch.Tensor) -> Prepared | torch.Tensor:
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
            self._all[key] = _Weight(StorageWeakRef(storage), version, b.numel() * b.element_size(), _threads.started)
            return b
        seen.again = True
        alone = threading.active_count() == 1
        is_seen = alone and storage.resizable() and seen.started == _threads.started
        if alone:
            seen.started = _threads.started
        print_now = None if is_seen else _bitmma.fingerprint(_arrays.words("B", b, unit.b, along=-2))
        if seen.prepared is None or print_now is not None and seen.fingerprint != print_now:
            seen.prepared = None
            if not self._has_room(seen.bytes):
                return b
            seen.prepared, seen.fingerprint = prepare(b, target=unit, threads=self._threads), print_now
            self.prepared += 1
        elif print_now is None:
            seen.fingerprint = None
        self.hits += 1
        return seen.prepared

    def _forget_dead(self) -> None:
        for key in [key for key, weight in self._all.items() if weight.storage.expired()]:
            del self._all[key]

    def _has_room(self, bytes: int) -> bool:
        """Whether one more may be prepared: what has been stays, or weights that come in turn would drive each other out."""
        own = {key[:4]: weight.bytes for key, weight in self._all.items() if weight.again}
        return self.nbytes + EXTRA * bytes <= self.most * sum(own.values())

    def before(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Drops the weights that an operation is about to write to."""
        if not self._all:
            return
        places = self._writes.get(func, ())
        if func not in self._writes:
            schema = getattr(func, "_schema", None)
            places = self._writes[func] = None if schema is None else tuple(
                (index, one.name) for index, one in enumerate(schema.arguments) if one.alias_info is not None and one.alias_info.is_write
            )
        if places is None:  # whatever it writes to
            self.clear()
            return
        for index, name in places:
            self._drop(args[index] if index < len(args) else kwargs.get(name))

    def _drop(self, written: Any) -> None:
        if isinstance(written, (list, tuple)):
            for one in written:
                self._drop(one)
        elif isinstance(written, torch.Tensor):
            try:
                storage = written.untyped_storage()._cdata
            except (NotImplementedError, RuntimeError):  # it has none of its own
                self.clear()
                return
            with LOCK:
                for key in [key for key in self._all if key[0] == storage]:
                    del self._all[key]

    def clear(self) -> None:
        """Drops all."""
        with LOCK:
            self._all.clear()
            self._units.clear()

    @property
    def nbytes(self) -> int:
        """The bytes that prepared weights take now."""
        return sum(weight.prepared.nbytes for weight in self._all.values() if weight.prepared is not None)

    def __str__(self) -> str:
        return f"{self.prepared} prepared, {self.hits} products with them, {self.nbytes} bytes"


class _Threads:
    """Counts the threads of Python that are started while an emulation is on."""

    def __init__(self) -> None:
        self.started = 0
        self._watching = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While an emulation is on."""
        with LOCK:
            self._watching += 1
            self.started += 1  # whatever ran before
            if self._watching == 1:
                threading.Thread.start = _start  # type: ignore[method-assign]
        try:
            yield
        finally:
            with LOCK:
                self._watching -= 1
                if not self._watching and threading.Thread.start is _start:
                    threading.Thread.start = _PLAIN_START  # type: ignore[method-assign]


_PLAIN_START: Any = threading.Thread.start
_threads = _Threads()
watched = _threads.watched


def _start(self: threading.Thread) -> None:
    _threads.started += 1
    _PLAIN_START(self)
