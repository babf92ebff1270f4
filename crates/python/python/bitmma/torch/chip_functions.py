"""Elementwise functions whose CUDA implementation is one approximate instruction of a chip (``functions="h100"``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from .. import functions
from ..errors import NoModel, OptionError
from .account import Account, base_name
from .._lock import LOCK


@dataclass(frozen=True)
class Row:
    """One operation of PyTorch and the instruction that is all of it in FP32."""

    instruction: str
    evidence: str


#: By the name of the operation.
TABLE = {
    "rsqrt": Row("rsqrt", "PyTorch's kernel calls CUDA's rsqrtf (aten/src/ATen/native/cuda/UnaryOpsKernel.cu), which is rsqrt.approx.f32"),
    "exp2": Row("ex2", "PyTorch's kernel calls CUDA's exp2f (aten/src/ATen/native/cuda/UnarySpecialOpsKernel.cu), which is ex2.approx.f32"),
}


class Functions:
    """Computes the operations of :data:`TABLE` as a chip does, where it is known how."""

    def __init__(self, chip: str, account: Account) -> None:
        self._chip, self._account = chip, account
        self._known: dict[str, Any] = {}
        reasons = []
        for name, row in TABLE.items():
            function = getattr(functions, row.instruction)
            try:
                function(torch.ones(1), chip=chip)
            except NoModel as error:
                reasons.append(f"{name} is the host's: {error}")
            else:
                self._known[name] = function
        if not self._known:
            raise OptionError(f"functions is {chip!r}, of which no function is known: {'; '.join(reasons)}")
        account.notes += reasons

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result; NotImplemented for other operations and dtypes."""
        name = base_name(func)
        function = self._known.get(name)
        if function is None or not isinstance(args[0], torch.Tensor) or args[0].device.type != "cpu":
            return NotImplemented
        x = args[0]
        if x.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            return NotImplemented
        # 16-bit tensors are computed in FP32 and rounded once, as PyTorch's kernels do
        found = function(x.float().contiguous(), chip=self._chip).reshape(x.shape).to(x.dtype)
        with LOCK:
            self._account.functions[f"{name}: {TABLE[name].instruction}.approx.f32 of {self._chip}"] += 1
        if (out := kwargs.get("out")) is not None:
            return out.resize_(found.shape).copy_(found)
        return x.copy_(found) if func.overloadpacket.__name__.endswith("_") else found
