"""A PyTorch model on another GPU's arithmetic: ``with bitmma.torch.emulate("mi250x"): …``."""

from __future__ import annotations

from .emulation import emulate
from .report import Difference, Product

__all__ = ["Difference", "Product", "emulate"]
