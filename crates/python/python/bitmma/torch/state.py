"""What a run of a model changes, and how it was before."""

from __future__ import annotations

from typing import Any

import torch

from .tally import aside


class State:
    """Parameters, buffers, gradients and the random state of a model; at the end they are as they were."""

    def __init__(self, model: Any) -> None:
        self._model = model if isinstance(model, torch.nn.Module) else None
        self._tensors: list[tuple[torch.Tensor, torch.Tensor, int]] = []
        """A tensor, its numbers, and its version with these."""
        self._gradients: list[tuple[torch.nn.Parameter, torch.Tensor | None]] = []

    @aside
    def __enter__(self) -> State:
        if self._model is not None:
            held = [*self._model.parameters(), *self._model.buffers()]
            self._tensors = [(one, one.detach().clone(), one._version) for one in held]
            self._gradients = [(one, one.grad) for one in self._model.parameters()]
        self._random = torch.random.get_rng_state()
        return self

    @aside
    def restore(self) -> None:
        """Before each run: everything as it was, and no gradients."""
        with torch.no_grad():
            for place, (tensor, before, version) in enumerate(self._tensors):
                if tensor._version != version:
                    tensor.copy_(before)
                    self._tensors[place] = tensor, before, tensor._version
        for parameter, _ in self._gradients:
            parameter.grad = None
        torch.random.set_rng_state(self._random)

    def __exit__(self, *raised: Any) -> None:
        self.restore()
        for parameter, gradient in self._gradients:
            parameter.grad = gradient
