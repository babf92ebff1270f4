"""Which instruction multiplies two tensors, under the policies of an emulation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch

from .. import _bitmma
from .._dtypes import FORMATS_OF
from ..errors import NoInstruction, OptionError
from ..simulate import Unit

#: What each policy may be; the first is the default.
POLICIES = {
    "fp16": ("native", "bf16", "bf16-backward", None),
    "bf16": ("native", None),
    "fp32": ("native", "tf32", None),
    "fp64": ("native", None),
}
POLICY_OF = {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32", torch.float64: "fp64"}


@dataclass(frozen=True)
class Policies:
    """What is done with products of each dtype; None: left as they are."""

    fp16: str | None = "native"
    bf16: str | None = "native"
    fp32: str | None = "native"
    fp64: str | None = "native"

    def __post_init__(self) -> None:
        for name, allowed in POLICIES.items():
            if getattr(self, name) not in allowed:
                raise OptionError(f"{name} is {getattr(self, name)!r}; one of {', '.join(map(repr, allowed))}")

    def leaves(self, dtype: torch.dtype) -> bool:
        """Whether products of this dtype are left alone on request."""
        return dtype in POLICY_OF and getattr(self, POLICY_OF[dtype]) is None

    def cast(self, a: torch.Tensor, b: torch.Tensor, backward: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """The operands as they are multiplied: FP16 as BF16 where the policy says so."""
        if a.dtype == b.dtype == torch.float16 and (self.fp16 == "bf16" or (self.fp16 == "bf16-backward" and backward)):
            return a.bfloat16(), b.bfloat16()
        return a, b

    def formats(self, a: torch.dtype, b: torch.dtype) -> tuple[str, str] | None:
        """The formats as which a chip reads operands of these dtypes; None where a dtype holds none."""
        rows = [readings(one) for one in (a, b)]
        if not rows[0] or not rows[1]:
            return None
        if a == b == torch.float32 and self.fp32 == "tf32":
            return "tf32", "tf32"
        return rows[0][0], rows[1][0]


def readings(dtype: torch.dtype) -> tuple[str, ...]:
    """The formats that a dtype's bits may be read as, its own first."""
    return FORMATS_OF.get(dtype_name(dtype), ())


def dtype_name(dtype: torch.dtype) -> str:
    """The name without its package: ``bfloat16``."""
    return str(dtype).rpartition(".")[2]


@lru_cache(maxsize=256)
def unit_for(architecture: str, a: str, b: str, scale: tuple[str, int] | None = None) -> Unit | None:
    """The instruction a library would take (:func:`bitmma.catalogue.choose`); None where there is none."""
    try:
        found = _bitmma.choose(architecture, a, b, None, scale)
    except NoInstruction:
        return None
    return Unit(_bitmma.Unit.of_instruction(found, "hardware"), found)
