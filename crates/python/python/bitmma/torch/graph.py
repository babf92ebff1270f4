"""Backward passes that run after the emulation of their forward pass has ended: a product in one is an error, as it would be PyTorch's own.

Each node of autograd's graph that an emulation's forward pass makes is marked. What computes products looks at the node that runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from ..errors import Error

if TYPE_CHECKING:
    from .emulation import emulate

#: Whether autograd tells of each node that it makes, as newer versions of PyTorch do. In others those of operations and functions are found
#: by their results.
TELLS = hasattr(torch._C._autograd, "_push_node_creation_hook")

#: Where a node's metadata has the emulations in which it was made, the innermost last.
_MADE_IN = "bitmma.emulations"


@contextmanager
def watched(emulation: emulate) -> Iterator[None]:
    """Nodes that autograd makes in this thread are marked."""
    if not TELLS:
        yield
        return
    thread = threading.get_ident()
    torch._C._autograd._push_node_creation_hook(lambda node: _mark(emulation, node))
    try:
        yield
    finally:
        # a forked child closes the frames of its parent's other threads
        if threading.get_ident() == thread:
            torch._C._autograd._pop_node_creation_hook()


class Before(NamedTuple):
    """What a graph was before an operation: the number of the next node of this thread, and the nodes of its operands."""

    number: int
    nodes: frozenset[Any]


def before(args: Any) -> Before:
    """The graph as it is now, before an operation with these operands."""
    if not torch.is_grad_enabled():
        return Before(0, frozenset())
    return Before(torch._C._autograd._get_sequence_nr(), frozenset(_nodes(args)))


def _nodes(value: Any) -> Iterator[Any]:
    """Those of tensors, and of what they are views of, which is changed in place."""
    for leaf in pytree.tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            found = (getattr(tensor, "grad_fn", None) for tensor in (leaf, leaf._base))
            yield from (node for node in found if node is not None)


def computed(emulations: tuple[emulate, ...], since: Before, result: Any) -> None:
    """An operation was computed below autograd, which gives its node, the last one before it, to the result after this: it is marked with the
    next operation of the thread, or as the emulation ends."""
    if torch.is_grad_enabled():
        thread = threading.get_ident()
        for one in emulations:
            returned((one,), *one._last.pop(thread, (since, None)))
            one._last[thread] = since._replace(number=since.number - 1), result


def returned(emulations: tuple[emulate, ...], since: Before, value: Any) -> None:
    """Marks the nodes that an operation or a function has made for what it has returned; also below those of operations that have worked in
    place on that since."""
    nodes, seen = list(_nodes(value)), set(since.nodes)
    while nodes:
        node = nodes.pop()
        if node is None or node in seen or node._sequence_nr() < since.number:
            continue
        seen.add(node)
        nodes += [earlier for earlier, _ in node.next_functions]
        for emulation in emulations:
            if emulation not in node.metadata.get(_MADE_IN, ()):
                _mark(emulation, node)


def ends(emulation: emulate) -> None:
    """Marks the nodes of the last operations of threads."""
    for thread in list(emulation._last):
        returned((emulation,), *emulation._last.pop(thread, (Before(0, frozenset()), None)))


def check(func: Any, args: tuple[Any, ...]) -> None:
    """Refuses a product of a node that was made in an emulation that has ended and would have computed it."""
    node: Any = torch._C._current_autograd_node()
    for emulation in () if node is None else reversed(node.metadata.get(_MADE_IN, ())):
        if emulation.computes(func, args):  # the innermost that does
            if not emulation.acts_here:
                raise ended(emulation)
            return


def ended(emulation: emulate) -> Error:
    """The error for a backward pass that comes too late."""
    return Error(
        f"the backward pass of what the emulation of {emulation.arithmetic.label} computed runs after it has ended, where its products "
        "would be PyTorch's own: call backward() inside of the with, or enter the same emulation for it (with emulation: loss.backward())"
    )


def _mark(emulation: emulate, node: Any) -> None:
    # that of a leaf has no products of its own, and goes on to other graphs
    if node.name() != "torch::autograd::AccumulateGrad":
        made_in = node.metadata.setdefault(_MADE_IN, [])
        made_in.append(emulation)
        made_in.sort(key=lambda one: one.entered)
        node.register_prehook(lambda gradients: emulation.backward())
