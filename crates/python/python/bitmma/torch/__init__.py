"""A PyTorch model on another GPU's arithmetic: ``with bitmma.torch.emulate("mi250x"): …``; on several, compared with each
other: ``bitmma.torch.compare(model, x, chips=["a100", "h100"])``."""

from __future__ import annotations

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

__all__ = [
    "Account",
    "Accuracy",
    "Chip",
    "Compared",
    "Comparison",
    "Difference",
    "Explained",
    "First",
    "Flash",
    "Flip",
    "Gemm",
    "Outcome",
    "Product",
    "Row",
    "Side",
    "Tally",
    "Variation",
    "Verdict",
    "compare",
    "emulate",
]
