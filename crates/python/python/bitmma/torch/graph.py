"""Backward passes that run after the emulation of their forward pass has ended: a product in one is an error, as it would be PyTorch's own.

Each node of autograd's graph that an emulation's forward pass makes is marked. What computes products looks at the node that runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from ..errors import Error

if TYPE_CHECKING:
    from .emulation import emulate

#: Whether autograd tells of each node that it makes, as newer versions of PyTorch do. In others the graphs of what functions of PyTorch
#: return are walked.
TELLS = hasattr(torch._C._autograd, "_push_node_creation_hook")

#: Where a node's metadata has the emulations in which it was made.
_MADE_IN = "bitmma.emulations"


@contextmanager
def watched(emulation: emulate) -> Iterator[None]:
    """Nodes that autograd makes in this thread are marked."""
    here, before = emulation._here, emulation._here.first_node
    if not TELLS:
        here.first_node = min(before, _next_node())
        try:
            yield
        finally:
            here.first_node = before
        return
    thread = threading.get_ident()
    torch._C._autograd._push_node_creation_hook(lambda node: _mark(emulation, node))
    try:
        yield
    finally:
        # a forked child closes the frames of its parent's other threads
        if threading.get_ident() == thread:
            torch._C._autograd._pop_node_creation_hook()


def returned(emulation: emulate, value: Any) -> None:
    """Marks the nodes of what a function of PyTorch returns, where autograd does not tell of them."""
    if not TELLS:
        _walk(emulation, value, emulation._here.first_node)


def in_thread(emulation: emulate, result: torch.Tensor) -> None:
    """An operation was computed in a thread that has not entered the emulation. Autograd knows its result after this: its node is marked with
    the next operation of the thread, or as the emulation ends."""
    thread = threading.get_ident()
    _last_of(emulation, thread)
    emulation._last[thread] = emulation._here, result


def ends(emulation: emulate) -> None:
    """Marks the nodes of the last operations of other threads."""
    for thread in list(emulation._last):
        _last_of(emulation, thread)


def _last_of(emulation: emulate, thread: int) -> None:
    last = emulation._last.pop(thread, None)
    if last is not None:
        here, result = last
        numbers = [one.grad_fn._sequence_nr() for one in (result, result._base) if one is not None and one.grad_fn is not None]
        here.first_node = min([here.first_node, *numbers])
        _walk(emulation, result, here.first_node)


def _walk(emulation: emulate, value: Any, first: float) -> None:
    """Marks the nodes of a graph from that with a number on."""
    nodes = [getattr(one, "grad_fn", None) for one in (value if isinstance(value, (tuple, list)) else (value,))]
    while nodes:
        node = nodes.pop()
        # numbers of nodes grow in each thread; those of leaves are the largest there is
        if node is not None and node._sequence_nr() >= first and emulation not in node.metadata.get(_MADE_IN, ()):
            _mark(emulation, node)
            nodes += [one for one, _ in node.next_functions]


def check(func: Any, args: tuple[Any, ...]) -> None:
    """Refuses a product of a node that was made in an emulation that has ended and would have computed it."""
    node: Any = torch._C._current_autograd_node()
    for emulation in () if node is None else node.metadata.get(_MADE_IN, ()):
        if not emulation.is_on_somewhere and emulation.computes(func, args):
            raise ended(emulation)


def ended(emulation: emulate) -> Error:
    """The error for a backward pass that comes too late."""
    return Error(
        f"the backward pass of what the emulation of {emulation.arithmetic.label} computed runs after it has ended, where its products "
        "would be PyTorch's own: call backward() inside of the with, or enter the same emulation for it (with emulation: loss.backward())"
    )


def _mark(emulation: emulate, node: Any) -> None:
    node.metadata.setdefault(_MADE_IN, []).append(emulation)
    node.register_prehook(lambda gradients: emulation.backward())


def _next_node() -> float:
    """The number of the next node of this thread; the largest, where autograd makes none."""
    with torch.enable_grad():
        node = torch.zeros(0, requires_grad=True).view(0).grad_fn
    return float("inf") if node is None else node._sequence_nr() + 1
