"""A graph that Dynamo recorded on the CPU, as one on a GPU."""

from __future__ import annotations

from typing import Any

import torch
from torch._guards import TracingContext, detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.node import map_aggregate
from torch.utils._device import _device_constructors

from .attention import ATTEND, FUNCTIONS
from .shared import Copies

GPU = torch.device("cuda", 0)

#: Functions that take the name of a device, and where.
_BY_NAME = {torch.amp.autocast_mode._enter_autocast: 0}

def _moved(value: Any) -> Any:
    return GPU if isinstance(value, torch.device) and value.type == "cpu" else value


def to_gpu(graph: torch.fx.GraphModule, attention: str | None) -> None:
    """What the graph makes on the CPU is made on the GPU."""
    factories = _device_constructors()
    for module in graph.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in module.graph.nodes:
            args = list(map_aggregate(node.args, _moved))
            kwargs = dict(map_aggregate(node.kwargs, _moved))
            if kwargs.get("device") == "cpu" or (node.target in factories and kwargs.get("device") is None):
                kwargs["device"] = GPU
            if node.op == "call_method" and node.target == "cpu":
                node.target = "cuda"
            if node.op == "call_method" and node.target == "to":
                args = ["cuda" if isinstance(one, str) and one == "cpu" else one for one in args]
            place = _BY_NAME.get(node.target) if callable(node.target) else None
            if place is not None and args[place] == "cpu":
                args[place] = "cuda"
            if node.target in FUNCTIONS:
                node.target = ATTEND[attention]
            node.args, node.kwargs = tuple(args), kwargs
        module.recompile()


def inputs(graph: torch.fx.GraphModule, given: list[Any]) -> list[Any]:
    """The inputs of a graph as fake ones on the GPU. Numbers that Dynamo passes as tensors stay on the CPU, where code for a GPU reads them."""
    arguments = (node.meta.get("grapharg") for node in graph.graph.nodes if node.op == "placeholder")
    context = TracingContext.try_get()
    mode: Any = detect_fake_mode(given) or (context.fake_mode if context is not None else None)
    own = [isinstance(one, torch.Tensor) and not getattr(argument, "pass_arg_as_tensor", False) for one, argument in zip(given, arguments)]
    given = [mode.from_tensor(one) if is_own and not isinstance(one, FakeTensor) else one for one, is_own in zip(given, own)]
    copies = Copies([one for one, is_own in zip(given, own) if is_own], GPU)
    found = []
    for one, is_own in zip(given, own):
        if is_own:
            with mode:
                fake = copies.of(one)
            one = torch.nn.Parameter(fake, requires_grad=one.requires_grad) if isinstance(one, torch.nn.Parameter) else fake
        found.append(one)
    return found
