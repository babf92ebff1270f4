"""Triton kernels inside of a model: they run with the bits of a chip, and are counted (``kernels="h100"``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import OptionError
from .account import Account
from .lock import LOCK


@contextmanager
def counted(chip: str, account: Account) -> Iterator[None]:
    """Every launch of a Triton kernel on CPU tensors as on the chip (:func:`bitmma.kernels.emulate`)."""
    try:
        from triton.runtime import jit

        from ..kernels._triton import emulate
    except ImportError as error:
        raise OptionError(f"kernels is {chip!r}: {error}; install Triton, or leave kernels out") from None
    with emulate(chip):
        before: Any = jit.JITFunction.run

        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            with LOCK:
                account.kernels[f"{getattr(self, '__name__', 'kernel')}: PTX for {chip}"] += 1
            return before(self, *args, **kwargs)

        jit.JITFunction.run = run
        try:
            yield
        finally:
            jit.JITFunction.run = before
