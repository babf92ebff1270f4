"""Which lines of a model a kernel computes, by the traces that PyTorch keeps of each operation."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable
from unittest import mock

import torch

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)\n\s*(?P<code>[^\n]*)')
_PYTORCH = str(Path(torch.__file__).parent)


def _line(trace: str) -> str:
    """The innermost line of a trace that is not PyTorch's own."""
    frames = list(_FRAME.finditer(trace))
    own = [one for one in frames if not one["file"].startswith(_PYTORCH)] or frames
    return f"{Path(own[-1]['file']).name}:{own[-1]['line']} in {own[-1]['function']}: {own[-1]['code'].strip()}" if own else ""


def _of(nodes: Any) -> list[str]:
    """Those of what the scheduler of Inductor has made one kernel of, or of a call outside."""
    found: dict[str, None] = {}
    for node in nodes if isinstance(nodes, (list, tuple)) else [nodes]:
        made = getattr(node, "node", node)
        for origin in sorted(getattr(made, "origins", None) or (), key=lambda one: one.name):
            if line := _line(getattr(origin, "stack_trace", None) or ""):
                found[line] = None
    return list(found)


@contextlib.contextmanager
def noted(tell: Callable[[str, list[str]], None]) -> Iterator[None]:
    """In this block ``tell`` is told of each kernel that Inductor writes, and of each call outside, its name and its lines."""
    from torch._inductor import debug
    from torch._inductor.codegen import triton

    plain: Callable[..., Any] = debug.set_kernel_post_grad_provenance_tracing

    def note(nodes: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        tell(name, _of(nodes))
        return plain(nodes, name, *args, **kwargs)

    with mock.patch.object(debug, plain.__name__, note), mock.patch.object(triton, plain.__name__, note):
        yield
