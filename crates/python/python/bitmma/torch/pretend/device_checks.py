"""Which operations of CUDA take tensors of a single number from the CPU, by PyTorch's own table of operations.

The table (``native_functions.yaml``, in torchgen, which comes with PyTorch) says of each operation whether the code that calls its kernel for CUDA checks
that all tensors are on one device. Where it does not, TensorIterator does, which lets one tensor of a single number be on the CPU.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import torchgen

_TABLE = "packaged/ATen/native/native_functions.yaml"
#: Operations that make numbers of all such tensors, or take operands of several pairs.
_ANY = re.compile(r"where|_foreach_\w+|_fused_\w+|_amp_foreach\w+|linspace|logspace|linalg_pinv|randint_like")
#: Operations made of others that compute each element by itself, which TensorIterator checks; what others are made of is checked as its entry says.
_OF_ELEMENTS = frozenset("allclose fill ldexp ldexp_ huber_loss_backward smooth_l1_loss_backward soft_margin_loss soft_margin_loss_backward".split())
#: Masks, which the code of an operation checks itself.
MASKED = frozenset("masked_fill masked_fill_ masked_scatter masked_scatter_".split())


@lru_cache(maxsize=1)
def _checked() -> frozenset[str]:
    """Operations of which all tensors must be on one device."""
    try:
        text = (Path(torchgen.__file__).parent / _TABLE).read_text(encoding="utf-8")
    except OSError as error:
        raise RuntimeError(f"PyTorch's table of operations cannot be read: {error}") from None
    found = set()
    for entry in re.split(r"^- func: ", text, flags=re.MULTILINE)[1:]:
        name = entry.partition("(")[0]
        computes = re.search(r"^ +(?:\w+, )*(CUDA\b|CompositeExplicitAutograd\b).*: |^ +structured_delegate:", entry, re.MULTILINE)
        if computes and name.partition(".")[0] not in _OF_ELEMENTS and not re.search(r"^ +device_check: NoCheck", entry, re.MULTILINE):
            found.add(f"aten::{name}")
    return frozenset(found)


@lru_cache(maxsize=None)
def numbers(name: str) -> float:
    """How many tensors of a single number an operation takes from the CPU."""
    packet = name.partition("::")[2].partition(".")[0]
    if _ANY.fullmatch(packet):
        return float("inf")
    return 0 if name in _checked() else 1
