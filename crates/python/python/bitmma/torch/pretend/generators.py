"""Random numbers on the GPU: of a generator of their own, which is the CPU's kind and not the GPU's Philox."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..._lock import LOCK
from .memory import GPU

_Plain: Any = torch._C.Generator


class Generator(_Plain):
    """``torch.Generator``: one for the GPU draws what one for the CPU draws, and says that it is the GPU's."""

    def __new__(cls, device: Any = "cpu") -> Any:
        wanted = torch.device(device)
        made = _Plain.__new__(cls, "cpu" if wanted.type == "cuda" else wanted)
        made._on_gpu = wanted.type == "cuda"
        return made

    @property
    def device(self) -> torch.device:
        """Where it draws."""
        return GPU if self._on_gpu else _Plain.device.__get__(self)


#: The one that operations on the GPU draw from.
DEFAULT: Any = Generator("cuda")


class Drawn:
    """How many operations on the GPU drew random numbers."""

    count = 0


@contextmanager
def drawing(takes: bool, random: bool, kwargs: dict[str, Any]) -> Iterator[None]:
    """An operation draws from the GPU's generator, unless it is given one."""
    if not (takes or random):
        yield
        return
    if takes and kwargs.get("generator") is not None:
        Drawn.count += 1
        yield
        return
    Drawn.count += 1
    if takes:
        kwargs["generator"] = DEFAULT
        yield
        return
    with LOCK:  # it draws from the CPU's: its state changes places with the GPU's
        plain = torch.default_generator
        before = plain.get_state()
        plain.set_state(DEFAULT.get_state())
        try:
            yield
        finally:
            DEFAULT.set_state(plain.get_state())
            plain.set_state(before)
