"""Which instruction multiplies two tensors, under the policies of an emulation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch

from .. import _bitmma
from .._dtypes import FORMATS_OF
from ..errors import NoInstruction, OptionError
from ..simulate import Unit

#: Chips whose FP8 instructions keep 13 bits of the sum: without fast accumulation their kernels move it to
#: FP32 every 128 elements (DeepGEMM; CUTLASS, mainloop promotion every 4 instructions).
PROMOTED = {"ada": 128, "hopper": 128}

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

    fp16: str | None
    bf16: str | None
    fp32: str | None
    fp64: str | None

    def __post_init__(self) -> None:
        for name, allowed in POLICIES.items():
            if getattr(self, name) not in allowed:
                raise OptionError(f"{name} is {getattr(self, name)!r}; one of {', '.join(map(repr, allowed))}")

    def operands(
        self, a: torch.Tensor, b: torch.Tensor, backward: bool
    ) -> tuple[torch.Tensor, torch.Tensor, tuple[str, str]] | None:
        """The operands as the instruction takes them, and their formats; None to leave the product."""
        rows = [FORMATS_OF.get(str(one.dtype).rpartition(".")[2]) for one in (a, b)]
        if rows[0] is None or rows[1] is None:
            return None
        formats = (rows[0][0], rows[1][0])
        if a.dtype in POLICY_OF and b.dtype == a.dtype:
            policy = getattr(self, POLICY_OF[a.dtype])
            if policy is None:
                return None
            if policy == "tf32":
                formats = ("tf32", "tf32")
            elif policy == "bf16" or (policy == "bf16-backward" and backward):
                return a.bfloat16(), b.bfloat16(), ("bf16", "bf16")
        return a, b, formats


@lru_cache(maxsize=256)
def unit_for(architecture: str, a: str, b: str) -> Unit | None:
    """The instruction a library would take (:func:`bitmma.catalogue.choose`); None where there is none."""
    if (a, b, architecture) == ("tf32", "tf32", "cdna3"):
        a = b = "xf32"
    try:
        found = _bitmma.choose(architecture, a, b, "f64" if a == "f64" else "f32", None)
    except NoInstruction:
        return None
    return Unit(_bitmma.Unit.of_instruction(found, "hardware"), found)
