"""Calls in the code of a graph that are no kernel of its own: of libraries, and of PyTorch's operations."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import torch

from ...errors import Error, OptionError
from ..account import Account, kind_of
from ..operations import has_products

#: What becomes of them.
OUTSIDE = ("refuse", "gemm", "host")
#: Names of what only makes or describes memory, and of what draws seeds (:mod:`.seeds`).
_DESCRIBES = re.compile(r"randint\.low_out|empty_strided\w*|reinterpret_tensor|assert_\w+|_alloc_from_pool|set_|copy_|item")


class OutsideCall(Error):
    """A model needs what no kernel of Triton computes."""


def check(outside: str) -> None:
    """An error if it is none of the choices."""
    if outside not in OUTSIDE:
        raise OptionError(f"outside is {outside!r}; one of {', '.join(map(repr, OUTSIDE))}")


def calls(code: str) -> Counter[str]:
    """Those in the code of a graph, by name."""
    # kernels stand in quotes, before what calls them
    body = re.sub(r"'''.*?'''", "", code, flags=re.DOTALL)
    found = re.findall(r"\b(?:extern_kernels|torch\.ops|aten|inductor_ops|quantized_decomposed)\.([\w.]+)\(", body)
    found += re.findall(r"\b(cpp_fused\w*)\(", body)  # kernels of the host
    return Counter(name.removeprefix("aten.") for name in found if not any(map(_DESCRIBES.fullmatch, (name.removeprefix("aten."), name.split(".")[-1]))))


def _function(name: str) -> Any:
    """PyTorch's operation of a name, if it has one."""
    func: Any = torch.ops.aten
    for part in name.split(".")[:2]:
        func = getattr(func, part, None)
    return func


def is_exact(name: str) -> bool:
    """Whether a call gives the same bits everywhere: it moves, chooses or compares."""
    func = _function(name)
    return func is not None and kind_of(func) == "exact"


def count(found: Counter[str], account: Account) -> None:
    """Calls that the host has computed, in the account; its caller holds the lock."""
    for name, times in found.items():
        func = _function(name)
        if has_products(f"aten::{name}"):
            account.left[f"{name}: outside='host'"] += times
        else:
            account.host["other" if func is None else kind_of(func)][name] += times


def refuse(found: Counter[str]) -> None:
    """An error that names what is not exact."""
    wrong = [name for name in sorted(found) if not is_exact(name)]
    if wrong:
        raise OutsideCall(
            f"the compiled model calls {', '.join(wrong)}, which no kernel of Triton computes: outside='gemm' computes products by the chip's "
            "instruction, K in order, and the rest on the host; outside='host' leaves all of it to PyTorch; the account lists every call"
        )
