"""Code that was compiled before, whose products are no operations of PyTorch: AOTInductor's packages and groups of TorchScript.

No emulation can compute these products. They are counted as left, by the name of what runs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable

import torch
from torch.nn.modules.module import register_module_forward_hook

from . import threads
from .._lock import LOCK
from .settings import Shared

if TYPE_CHECKING:
    from .emulation import emulate

#: Nodes of TorchScript that are compiled code, or call a library beside PyTorch's dispatcher.
GROUPS = ("prim::mkldnn_convolution", "prim::oneDNNFusionGroup", "prim::TensorExprGroup", "prim::CudaFusionGroup")
#: Classes of AOTInductor, and the methods that run a package.
RUNNERS = ("AOTIModelPackageLoader", "AOTIModelContainerRunnerCpu", "AOTIModelContainerRunnerCuda")
METHODS = ("run", "boxed_run")


def _left(what: str) -> None:
    emulation: emulate | None = threads.acting()
    if emulation is not None:
        with LOCK:
            emulation.left.count(f"{what}: compiled code computes its products by itself; run the model that it was made from")


def _wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        _left("a package of AOTInductor")
        return method(*args, **kwargs)

    return run


def _of_script(module: torch.nn.Module, args: Any, result: Any) -> None:
    if isinstance(module, torch.jit.ScriptModule):
        for kind in _groups(torch._C._last_executed_optimized_graph()):
            _left(f"{kind} of TorchScript")


def _groups(graph: Any) -> Iterator[str]:
    for node in graph.nodes():
        if node.kind() in GROUPS:
            yield node.kind()
        for block in node.blocks():
            yield from _groups(block)


@contextmanager
def _looked_at() -> Iterator[None]:
    runners = torch._C._aoti if hasattr(torch._C, "_aoti") else None
    plain = [(kind, name, getattr(kind, name)) for kind in (getattr(runners, one, None) for one in RUNNERS) for name in METHODS if hasattr(kind, name)]
    for kind, name, method in plain:
        setattr(kind, name, _wrapped(method))
    hook = register_module_forward_hook(_of_script)
    try:
        yield
    finally:
        hook.remove()
        for kind, name, method in plain:
            setattr(kind, name, method)


#: While some emulation is on.
LOOKED_AT = Shared(_looked_at)
