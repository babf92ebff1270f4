"""The emulation of a test: as ``emulate``, and as PyTorch's settings for CUDA say."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ...errors import DoubtfulKernel
from ...kernels._launch import Launched, _source, launch_ptx
from ...kernels._chips import capability
from ...kernels._triton import Launcher
from ..._lock import LOCK
from ..arithmetic import Arithmetic, resolve
from ..choice import Policies
from ..emulation import emulate
from ..left import Left
from .state import REFUSED


class _Quiet(Left):
    """Products that were left as they were: the summary lists them."""

    def count(self, what: str, requested: bool = False) -> None:
        with LOCK:
            self[what.partition("; fp32='tf32'")[0]] += 1

    def say(self, label: str) -> None:
        """The summary does."""


def _tf32(operation: str) -> bool:
    """Whether PyTorch's settings let CUDA's libraries multiply FP32 as TF32: by default in convolutions, and in no product of matrices."""
    of_convolutions = "conv" in operation
    try:
        return str(torch._C._get_fp32_precision_getter("cuda", "conv" if of_convolutions else "matmul")) == "tf32"
    except (AttributeError, RuntimeError):  # an older PyTorch
        return bool(torch._C._get_cudnn_allow_tf32() if of_convolutions else torch._C._get_cublas_allow_tf32())


class _Operation(threading.local):
    name = ""


class OnChip(emulate):
    """The products, attention and Triton kernels of a chip, in FP32 as ``torch.backends.cuda.matmul.allow_tf32`` and its like say.

    Doubtful kernels run, and are listed, unless ``doubtful`` is false.
    """

    of_gpu = True

    def __init__(self, chip: str, doubtful: bool = True) -> None:
        self._operation = _Operation()
        super().__init__(chip, kernels=chip, attention="flash")
        self.chip = chip
        self.doubts: Counter[str] = Counter()
        """Doubtful additions by kernel, line and reason, and how many launches ran them."""
        self.tf32: Counter[str] = Counter()
        """Products of FP32 that ran as TF32, by operation."""
        self._runs_doubtful = doubtful
        self.left = self.account.left = _Quiet()
        self._as_tf32 = resolve(chip, Policies(fp32="tf32")) if capability(chip) >= 80 else self._plain

    # the arithmetic depends on the operation and on PyTorch's settings of the moment
    @property
    def arithmetic(self) -> Arithmetic:  # type: ignore[override]
        """What computes."""
        name = self._operation.name
        return self._as_tf32 if name and _tf32(name) else self._plain

    @arithmetic.setter
    def arithmetic(self, value: Arithmetic) -> None:
        self._plain = value

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        before, self._operation.name = self._operation.name, name
        try:
            yield
        finally:
            self._operation.name = before

    def _multiply(self, operation: str, a: torch.Tensor, b: torch.Tensor, *args: Any, **options: Any) -> Any:
        if a.dtype == torch.float16 and getattr(torch._C, "_get_cublas_allow_fp16_accumulation", bool)():
            REFUSED[operation] += 1
            raise NotImplementedError(f"{operation}: torch.backends.cuda.matmul.allow_fp16_accumulation is not emulated")
        with self._named(operation):
            found = super()._multiply(operation, a, b, *args, **options)
            if found is not NotImplemented and a.dtype == b.dtype == torch.float32 and self.arithmetic is self._as_tf32:
                with LOCK:
                    self.tf32[operation] += 1
        return found

    def launcher(self, chip: str) -> Launcher:  # type: ignore[override]
        """What runs Triton kernels."""
        launcher = Launcher(chip)
        launcher.run = self._run  # type: ignore[assignment]
        return launcher

    def _run(self, text: str, *args: Any, **options: Any) -> Launched:
        """Runs a kernel; a doubtful one if that is allowed."""
        for place, one in enumerate(args[1]):
            if isinstance(one, torch.Tensor) and not one.is_cuda and not one.is_pinned():
                raise ValueError(f"Pointer argument (at {place}) cannot be accessed from Triton (cpu tensor?)")
        with torch._C.DisableTorchFunction():  # a default device is no business of the launch
            try:
                return launch_ptx(text, *args, **options)
            except DoubtfulKernel:
                if not self._runs_doubtful:
                    raise
            launched = launch_ptx(text, *args, **{**options, "allow_doubtful": True})
        with LOCK:
            for what in {f"{_source(text, line) or f'line {line} of the PTX'}: {form}: {why}" for line, form, why in launched.doubts}:
                self.doubts[what] += 1
        return launched

    def to_dict(self) -> dict[str, Any]:
        """What was computed by whom."""
        return {"account": self.account.to_dict(), "doubts": dict(self.doubts), "tf32": dict(self.tf32)}
