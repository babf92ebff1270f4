"""Which module runs, in each thread, forward and backward."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable
from weakref import WeakKeyDictionary

import torch
from torch.autograd.graph import register_multi_grad_hook
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils import _pytree as pytree
from torch.utils.weak import WeakTensorKeyDictionary


class _Here(threading.local):
    def __init__(self) -> None:
        self.forward: list[str] = []
        """The modules whose forward runs, the innermost last."""


class Layers:
    """Names of modules: the class of the outermost, then the path in it."""

    def __init__(self) -> None:
        self._names: WeakKeyDictionary[torch.nn.Module, str] = WeakKeyDictionary()
        self._here = _Here()
        self._backward: dict[int, set[str]] = {}
        """The modules of which some gradient has come in and not all has gone out, by run of the backward pass."""
        self._hooks: list[Any] = []
        """Those of modules. Hooks of gradients belong to the graph and end with it."""
        self._leaves: Any = WeakTensorKeyDictionary()
        """Hooks of gradients of leaves, by module."""
        self._on = False

    def current(self) -> str:
        """The innermost module; empty outside of any."""
        if self._here.forward:
            return self._here.forward[-1]
        inside = self._backward.get(torch._C._current_graph_task_id(), ())
        return max(inside, key=lambda one: (one.count("."), one), default="")

    def __enter__(self) -> Layers:
        self._here = _Here()
        self._on = True
        self._hooks.append(register_module_forward_pre_hook(self._enter))
        self._hooks.append(register_module_forward_hook(self._leave, always_call=True))
        return self

    def __exit__(self, *raised: Any) -> None:
        for hook in self._hooks:
            hook.remove()
        for known in self._leaves.values():
            for hook in known.values():
                hook.remove()
        self._hooks.clear()
        self._leaves.clear()
        self._backward.clear()
        self._on = False

    @contextmanager
    def restored(self) -> Iterator[None]:
        """At the end this thread is in the modules in which it was; PyTorch calls no hooks after a KeyboardInterrupt."""
        forward = self._here.forward
        depth = len(forward)
        try:
            yield
        finally:
            del forward[depth:]

    def _enter(self, module: torch.nn.Module, args: Any) -> None:
        name = self._name(module)
        self._here.forward.append(name)
        self._on_gradients(args, f"into {name}", lambda inside: inside.discard(name))

    def _leave(self, module: torch.nn.Module, args: Any, result: Any) -> None:
        name = self._name(module)
        if self._here.forward:
            self._here.forward.pop()
        self._on_gradients(result, f"out of {name}", lambda inside: inside.add(name))

    def _on_gradients(self, value: Any, name: str, then: Callable[[set[str]], object]) -> None:
        """Once the gradients of all tensors are known; where all are leaves, that of one of them."""
        if not torch.is_grad_enabled():
            return
        tensors = [one for one in pytree.tree_leaves(value) if isinstance(one, torch.Tensor) and one.requires_grad]
        inner = [one for one in tensors if one.grad_fn is not None]
        if inner:
            register_multi_grad_hook(inner, lambda gradients: self._told(then))
        for leaf in () if inner else tensors:
            known = self._leaves.setdefault(leaf, {})
            if name not in known:  # a leaf outlives its graph, and each step would leave one more hook with it
                known[name] = leaf.register_hook(lambda gradient: self._told(then))

    def _told(self, then: Callable[[set[str]], object]) -> None:
        if not self._on:
            return
        task = torch._C._current_graph_task_id()
        if task not in self._backward:
            self._backward[task] = set()
            torch.autograd.Variable._execution_engine.queue_callback(lambda: self._ended(task))
        then(self._backward[task])

    def _ended(self, task: int) -> None:
        """A run of a backward pass is over."""
        self._backward.pop(task, None)

    def _name(self, module: torch.nn.Module) -> str:
        if module not in self._names:
            root = type(module).__name__
            for path, one in module.named_modules():
                self._names.setdefault(one, f"{root}.{path}" if path else root)
        return self._names[module]
