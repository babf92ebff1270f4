"""A PyTorch model on another GPU's arithmetic: ``with bitmma.torch.emulate("mi250x"): …``."""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("bitmma.torch needs PyTorch, which is not installed: pip install torch") from error

from .arithmetic import Chip, Gemm
from .difference import Difference, Explained, Side
from .emulation import emulate
from .product import Compared, Product
from .tally import Tally

__all__ = [
    "Chip",
    "Compared",
    "Difference",
    "Explained",
    "Gemm",
    "Product",
    "Side",
    "Tally",
    "emulate",
]
