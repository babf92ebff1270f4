"""A model of which nothing is fused: every operation of Inductor's graph is a kernel, and is rounded to the dtype of its result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Callable
from unittest import mock

from torch.utils._pytree import tree_leaves

from .backend import Backend, Options

#: Settings of Inductor under which its scheduler fuses nothing.
SETTINGS = {"max_fusion_size": 1, "epilogue_fusion": False, "prologue_fusion": False, "combo_kernels": False, "benchmark_combo_kernel": False}


class Unfused(Backend):
    """A backend that fuses nothing."""

    def __init__(self, options: Options) -> None:
        super().__init__(replace(options, settings={**options.settings, **SETTINGS}, choices={}))

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """In this block Inductor compiles for the chip."""
        from torch._inductor.graph import GraphLowering

        with super().compiling(), mock.patch.object(GraphLowering, "run_node", _realized(GraphLowering.run_node)):
            yield


def _realized(plain: Callable[..., Any]) -> Callable[..., Any]:
    """What makes an operation: its result is in memory, and not a part of what reads it."""

    def run_node(lowering: Any, node: Any) -> Any:
        from torch._inductor.ir import TensorBox

        made = plain(lowering, node)
        for one in tree_leaves(made) if node.op == "call_function" else ():
            if isinstance(one, TensorBox):
                one.realize()
        return made

    return run_node
