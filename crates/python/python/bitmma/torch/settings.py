"""Settings of the whole process that an emulation needs. They are changed while at least one thread needs them, then restored."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Callable

import torch
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

from .._lock import LOCK
from .pretend import state as gpu

_FLEX = "torch.nn.attention.flex_attention"
_EAGER = "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"


class Shared:
    """A change of settings that several threads may want at overlapping times."""

    def __init__(self, change: Callable[[], AbstractContextManager[Any]]) -> None:
        self._change = change
        self._users = 0
        self._stack = ExitStack()

    def __enter__(self) -> Shared:
        with LOCK:
            if not self._users:
                self._stack.enter_context(self._change())
            self._users += 1
        return self

    def __exit__(self, *raised: Any) -> None:
        with LOCK:
            self._users -= 1
            if not self._users:
                self._stack.close()

    @property
    def is_needed(self) -> bool:
        """Whether some thread needs it."""
        return self._users > 0

    def also(self, change: Callable[[], AbstractContextManager[Any]]) -> None:
        """One more change, until the last user leaves."""
        with LOCK:
            if self._users:
                self._stack.enter_context(change())


@contextmanager
def _attention() -> Iterator[None]:
    """Attention as its products, in the dtype of its operands, as on the chip."""
    cuda, mha = torch.backends.cuda, torch.backends.mha
    # where there seems to be a GPU, the user's choice of kernels decides
    changes: list[tuple[Callable[[bool], Any], bool, bool]] = [] if gpu.IS_ON else [
        (getattr(cuda, f"enable_{kernel}_sdp"), getattr(cuda, f"{kernel}_sdp_enabled")(), kernel == "math")
        for kernel in ("flash", "mem_efficient", "cudnn", "math")
        if hasattr(cuda, f"enable_{kernel}_sdp")
    ]
    changes.append((cuda.allow_fp16_bf16_reduction_math_sdp, cuda.fp16_bf16_reduction_math_sdp_allowed(), True))
    changes.append((mha.set_fastpath_enabled, mha.get_fastpath_enabled(), False))  # type: ignore[no-untyped-call]
    for change, _, value in changes:
        change(value)
    try:
        yield
    finally:
        for change, before, _ in changes:
            change(before)


class _Flags(TorchDispatchMode):
    """PyTorch keeps in global variables whether any thread is inside of a mode; they say so without a mode of this class."""

    def __enter__(self) -> _Flags:
        super().__enter__()
        _python_dispatch._pop_mode()
        return self

    def __exit__(self, *raised: Any) -> None:
        _python_dispatch._push_mode(self)
        super().__exit__(*raised)


@contextmanager
def _emulating() -> Iterator[None]:
    with _attention(), _Flags():
        yield


@contextmanager
def _without_onednn() -> Iterator[None]:
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)  # torch.backends.mkldnn.flags would change more than that
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(before)


@contextmanager
def _eager(module: Any) -> Iterator[None]:
    before = getattr(module, _EAGER)
    setattr(module, _EAGER, True)
    try:
        yield
    finally:
        setattr(module, _EAGER, before)


#: What an emulation needs.
EMULATING = Shared(_emulating)
#: An LSTM by its products and not by oneDNN.
WITHOUT_ONEDNN = Shared(_without_onednn)


def look() -> None:
    """``flex_attention`` as it is and not compiled, which PyTorch refuses inside of a mode. Its module takes seconds to import: it
    is set once someone has."""
    module = sys.modules.get(_FLEX)
    if module is not None and getattr(module, _EAGER, True) is False:
        EMULATING.also(lambda: _eager(module))
