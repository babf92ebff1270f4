"""What a run of a function may change, and how it was: parameters, buffers, gradients, tensors and optimizers that it reaches."""

from __future__ import annotations

import copy
from typing import Any

import torch

from .held import Held


class Kept:
    """What some functions reach, as it is now."""

    def __init__(self, *functions: Any) -> None:
        held = Held({str(place): one for place, one in enumerate(functions)}).objects
        self.tensors = [one for one in held if isinstance(one, torch.Tensor)]
        self._before = [(one, one.detach().clone(), one.grad if one.is_leaf else None, one.requires_grad) for one in self.tensors]
        self._generators = [(one, one.get_state()) for one in held if isinstance(one, torch.Generator)]
        self._modules = [(part, part.training) for one in held if isinstance(one, torch.nn.Module) for part in one.modules()]
        # tensors of an optimizer's state are among those above, and stay the same objects
        optimizers = [one for one in held if isinstance(one, torch.optim.Optimizer)]
        self._groups = [(one, list(one.param_groups), [dict(group) for group in one.param_groups]) for one in optimizers]
        self._states = [(one, [(parameter, state, copy.copy(state)) for parameter, state in one.state.items()]) for one in optimizers]

    def restore(self, gradients: bool = False) -> None:
        """Everything as it was, in the same objects; gradients are none, or as they were."""
        with torch.no_grad():
            for one, before, gradient, wanted in self._before:
                if not torch.equal(_bytes(one), _bytes(before)):
                    one.copy_(before)
                if one.is_leaf:
                    one.requires_grad_(wanted)
                    one.grad = gradient if gradients else None
        for generator, state in self._generators:
            generator.set_state(state)
        for module, training in self._modules:
            module.training = training
        for optimizer, groups, contents in self._groups:
            optimizer.param_groups[:] = groups
            for group, content in zip(groups, contents):
                group.clear()
                group.update(content)
        for optimizer, states in self._states:
            optimizer.state.clear()
            for parameter, state, content in states:
                if isinstance(state, dict):
                    state.clear()
                    state.update(content)
                optimizer.state[parameter] = state


def _bytes(one: torch.Tensor) -> torch.Tensor:
    return one.detach().resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8)


def copies(values: Any) -> Any:
    """Values whose tensors have memory of their own, shared as before."""
    memory: dict[int, Any] = {}

    def copied(one: Any) -> Any:
        if not isinstance(one, torch.Tensor):
            return one
        if type(one) not in (torch.Tensor, torch.nn.Parameter) or one.layout != torch.strided:
            return one.detach().clone().requires_grad_(one.requires_grad)
        own = one.untyped_storage()
        if own._cdata not in memory:
            memory[own._cdata] = own.clone()
        made = torch.empty(0, dtype=one.dtype).set_(memory[own._cdata], one.storage_offset(), one.size(), one.stride())
        return made.requires_grad_(one.requires_grad)

    known: dict[int, Any] = {}
    return torch.utils._pytree.tree_map(lambda one: known.setdefault(id(one), copied(one)), values)
