"""A graph that Dynamo recorded on the CPU, as one on a GPU."""

from __future__ import annotations

import functools
import weakref
from typing import Any, Callable

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


def lifted(graph: torch.fx.GraphModule) -> tuple[torch.fx.GraphModule, list[Callable[[], Any]]]:
    """A graph whose first inputs are the tensors that it had as attributes, as Dynamo records those of an optimizer; and what has these tensors, of which those
    of an optimizer do not live on for it."""
    found = {node.target: _attribute(graph, node.target) for node in graph.graph.find_nodes(op="get_attr")}
    tensors = {name: value for name, value in found.items() if isinstance(value, torch.Tensor)}  # others are parts of the graph
    if not tensors:
        return graph, []
    # Dynamo goes on to use its own graph
    own = torch.fx.Graph()
    sources = getattr(graph, "_param_name_to_source", {})
    made = {}
    for name in tensors:
        made[name] = own.placeholder(name.replace(".", "_"))
        made[name]._dynamo_source = sources.get(name)
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    for node in graph.graph.nodes:
        if node.op == "get_attr" and node.target in made:
            copies[node] = made[node.target]
            made[node.target].meta = dict(node.meta)
            continue
        copies[node] = own.node_copy(node, copies.__getitem__)
        if node.op == "placeholder":
            copies[node]._dynamo_source = node._dynamo_source  # type: ignore[attr-defined]
    copy: Any = torch.fx.GraphModule(graph, own)
    copy.meta, copy._param_name_to_source = graph.meta, {}
    return copy, [weakref.ref(value) if name in sources else functools.partial(_same, value) for name, value in tensors.items()]


def _same(value: Any) -> Any:
    return value


def _attribute(graph: torch.fx.GraphModule, name: str) -> Any:
    value: Any = graph
    for part in name.split("."):
        value = getattr(value, part)
    return value


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
