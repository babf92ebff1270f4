"""Backward passes that run after the emulation of their forward pass has ended: an error, as their products would be PyTorch's own."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch

from ..errors import Error
from . import operations, threads

if TYPE_CHECKING:
    from .emulation import emulate

#: Whether autograd tells of each node that it makes, as newer versions of PyTorch do; in others functions of PyTorch that are called
#: from Python are looked at.
TELLS = hasattr(torch._C._autograd, "_push_node_creation_hook")


@contextmanager
def watched(emulation: emulate) -> Iterator[None]:
    """Nodes that autograd makes in this thread for emulated products run inside of the emulation only."""
    if not TELLS:
        yield
        return
    thread = threading.get_ident()
    torch._C._autograd._push_node_creation_hook(lambda node: made(emulation, node))
    try:
        yield
    finally:
        # a forked child closes the frames of its parent's other threads
        if threading.get_ident() == thread:
            torch._C._autograd._pop_node_creation_hook()


def made(emulation: emulate, node: Any) -> None:
    """A node was made. Under ``torch.func`` each level makes one for the same product, one after the other."""
    here, name = emulation._here, node.name()
    of_product = here.emulated and (isinstance(node, torch.autograd.function.BackwardCFunction) or _has_products(name))
    if of_product or name == here.node:
        here.emulated, here.node = False, name
        node.register_prehook(lambda gradients: _check(emulation))
    else:  # the product before it, if any, has no gradient
        here.emulated, here.node = False, ""


def results(emulation: emulate, value: Any) -> None:
    """The same for the results of a function of PyTorch, where autograd does not tell."""
    here = emulation._here
    if here.emulated and not TELLS:
        for one in value if isinstance(value, (tuple, list)) else (value,):
            node = getattr(one, "grad_fn", None)
            if node is not None:
                here.emulated = False
                node.register_prehook(lambda gradients: _check(emulation))


def _check(emulation: emulate) -> None:
    if not threads.is_on(emulation):
        raise Error(
            f"the backward pass of what the emulation of {emulation.arithmetic.label} computed runs after it has ended, where its products "
            "would be PyTorch's own: call backward() inside of the with, or enter the same emulation for it (with emulation: loss.backward())"
        )


@lru_cache(maxsize=4096)
def _has_products(node: str) -> bool:
    """Whether a node of autograd (``AddmmBackward0``) is that of an operation with products."""
    return re.sub(r"backward\d*$", "", node.lower()) in _names()


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    packets = (*operations.TABLE, *operations.OPENED, *operations.OF_NESTED)
    return frozenset(packet.__name__.replace("_", "").lower() for packet in packets)
