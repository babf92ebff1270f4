"""Which operations of CUDA take tensors of a single number from the CPU, by PyTorch's own table of operations.

The table (``native_functions.yaml``, in torchgen, which comes with PyTorch) says of each operation whether the code that calls its kernel for CUDA checks
that all tensors are on one device. Where it does not, TensorIterator does, which lets one tensor of a single number be on the CPU.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torchgen

from .memory import TWO_DEVICES, any_of, is_on_gpu

if TYPE_CHECKING:
    from .facts import Facts
    from .sides import Sides

_TABLE = "packaged/ATen/native/native_functions.yaml"
#: Operations that make numbers of all such tensors, or take operands of several pairs.
_ANY = re.compile(r"where|_foreach_\w+|_fused_\w+|_amp_foreach\w+|linspace|logspace|linalg_pinv|randint_like")
#: Operations made of others that compute each element by itself, which TensorIterator checks; what others are made of is checked as its entry says.
_OF_ELEMENTS = frozenset("allclose fill ldexp ldexp_ huber_loss_backward smooth_l1_loss_backward soft_margin_loss soft_margin_loss_backward".split())
#: Masks, which the code of an operation checks itself.
_MASKED = frozenset("masked_fill masked_fill_ masked_scatter masked_scatter_".split())

#: Operations whose tensors may be on different devices.
MIXED = frozenset(
    "copy_ copy _to_copy _copy_from _copy_from_and_resize index _unsafe_index index_put index_put_ _index_put_impl_ _unsafe_index_put _foreach_copy_ _foreach_copy"
    " _pack_padded_sequence _assert_async".split()
)  # fmt: skip
#: Operations that read a number from either side.
_READ_NUMBERS = frozenset("fill_ masked_fill_".split())


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


def check(facts: Facts, args: Any, kwargs: dict[str, Any], sides: Sides) -> None:
    """The errors of PyTorch where tensors are on other devices than an operation of CUDA takes."""
    if not sides.gpu:
        return
    if facts.is_indexed:
        _check_indexed(*args[:3])
    if facts.on_cpu >= 0 and args[facts.on_cpu].is_cuda:
        raise RuntimeError(f"Expected scalars to be on CPU, got {args[facts.on_cpu].device} instead.")
    if facts.name in _MASKED and is_on_gpu(args[0]) != is_on_gpu(args[1]):
        raise RuntimeError(f"expected self and mask to be on the same device, but got mask on {args[1].device} and self on {args[0].device}")
    if facts.name in MIXED:
        return
    if sides.tensors or sides.numbers > facts.numbers:
        raise RuntimeError(TWO_DEVICES)
    if facts.name not in _READ_NUMBERS:
        _check_written(facts, args, kwargs)


def _check_written(facts: Facts, args: Any, kwargs: dict[str, Any]) -> None:
    """As PyTorch does, a tensor on the CPU is not written by an operation on the GPU, not even one of a single number."""
    places = [one for one in facts.written if one is not None]
    written = [kwargs.get(one) if isinstance(one, str) else args[one] for one in places if isinstance(one, str) or one < len(args)]
    if any(isinstance(one, torch.Tensor) and one.device.type == "cpu" for one in written):
        raise RuntimeError(TWO_DEVICES)


def _check_indexed(own: Any, indices: Any, values: Any = None) -> None:
    """As PyTorch does, a tensor on the CPU has no indices on the GPU, and what is put is on the tensor's device, or one number."""
    if not is_on_gpu(own) and any_of(is_on_gpu, (indices,)):
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    if isinstance(values, torch.Tensor) and is_on_gpu(values) != is_on_gpu(own) and values.dim() > 0:
        raise RuntimeError(TWO_DEVICES)
