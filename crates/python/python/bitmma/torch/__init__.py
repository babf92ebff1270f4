"""A PyTorch model on another GPU's arithmetic: ``with bitmma.torch.emulate("mi250x"): …``; on several, compared with each
other: ``bitmma.torch.compare(model, x, chips=["a100", "h100"])``; compiled for one as a whole: ``bitmma.torch.compile(model, "h100")``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("bitmma.torch needs PyTorch, which is not installed: pip install torch") from error

from .account import Account
from .accuracy import Accuracy
from .arithmetic import Chip, Gemm
from .attention import Flash
from .compare import compare
from .comparison import Comparison, First, Row
from .difference import Difference, Explained, Side
from .emulation import emulate
from .noise import Variation
from .outcome import Flip, Outcome
from .product import Compared, Product
from .tally import Tally
from .verdict import Verdict

if TYPE_CHECKING:
    from .exhaustion import Exhausted, Undecided, exhausted
    from .inductor import Certificate, Compiled, CompiledComparison, Parted, compare_compiled, compile, inductor_options, run_output_code, verify

#: What is imported when it is asked for, and from where: PyTorch's compiler and mpmath take long.
_COMPILED = ("Certificate", "Compiled", "CompiledComparison", "Parted", "compare_compiled", "compile", "inductor_options", "run_output_code", "verify")
_LATER = {**dict.fromkeys(_COMPILED, ".inductor"), **dict.fromkeys(("Exhausted", "Undecided", "exhausted"), ".exhaustion")}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Account",
    "Accuracy",
    "Certificate",
    "Chip",
    "Compared",
    "Compiled",
    "CompiledComparison",
    "Comparison",
    "Difference",
    "Exhausted",
    "Explained",
    "First",
    "Flash",
    "Flip",
    "Gemm",
    "Outcome",
    "Parted",
    "Product",
    "Row",
    "Side",
    "Tally",
    "Undecided",
    "Variation",
    "Verdict",
    "compare",
    "compare_compiled",
    "compile",
    "emulate",
    "exhausted",
    "inductor_options",
    "run_output_code",
    "verify",
]
