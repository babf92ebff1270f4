"""A model that was compiled for a chip."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any, Callable

import torch
from torch._compile import _disable_dynamo

from ...errors import Error
from .. import threads
from ..account import Account
from . import optimizers, outside
from .backend import Backend, Kernel
from .certificate import Certificate, certified
from .held import Wrapper
from .tuning import Tuned, tuning


class Compiled(Wrapper):
    """A compiled model: it is called as the model, and has the model's attributes besides its own."""

    def __init__(self, model: Any, call: Any, backend: Backend, how: dict[str, Any]) -> None:
        self._model, self._call, self._backend, self._how = model, call, backend, how
        self._told = False
        """Whether it was said that choices have no kernel."""

    @_disable_dynamo  # another torch.compile around it would compile the model for this machine
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        stance = torch._dynamo.eval_frame._stance
        if stance.stance not in ("default", "fail_on_recompile") or stance.backend is not None:
            raise Error(f"a model that is compiled for {self.chip} is called under torch.compiler.set_stance({stance.stance!r}), with which PyTorch would run it as it is")
        emulation = threads.acting()
        if emulation is not None:  # PyTorch would run the model as it is
            raise Error(f"a model that is compiled for {self.chip} is called inside of an emulation of {emulation.arithmetic.label}: call it outside")
        with optimizers.as_on_a_gpu(), outside.Unrecorded(self._backend.options.outside, self._backend.emulation):
            found = self._call(*args, **kwargs)
        if self._backend.choices.unused and not self._told:
            self._told = True
            warnings.warn(f"choices has kernels that no graph of the model has so far: {', '.join(self._backend.choices.unused)}; it has {', '.join(self.choices) or 'none'}", stacklevel=2)
        return found

    def __getattr__(self, name: str) -> Any:
        if name in ("_model", "_call", "_backend", "_how"):
            raise AttributeError(name)
        return getattr(self._call, name)

    def __repr__(self) -> str:
        launches = sum(kernel.launches for kernel in self.kernels.values())
        return f"<compiled for {self.chip}: {len(self.code)} graphs, {len(self.kernels)} kernels, {launches} launches>"

    @property
    def chip(self) -> str:
        """The chip."""
        return self._backend.options.chip

    @property
    def code(self) -> list[str]:
        """The code that Inductor wrote, graph by graph: forward and backward passes, and one for each shape that was compiled."""
        return self._backend.code

    @property
    def kernels(self) -> dict[str, Kernel]:
        """Kernels that ran, by name: launches, instructions, PTX, doubts."""
        return self._backend.kernels

    @property
    def choices(self) -> dict[str, dict[str, Any]]:
        """Of each kernel that a GPU would measure in several configurations the one that runs, by its name and a digest of its text: as :func:`compile` takes them."""
        return {name: dict(about) for name, about in self._backend.choices.made.items()}

    @property
    def account(self) -> Account:
        """Who computed what: launches of kernels, products by the chip's instruction, operations of the host."""
        return self._backend.emulation.account

    def certify(self, *inputs: Any, step: Callable[..., Any] | None = None, **named: Any) -> Certificate:
        """Compiles anew, runs ``step(compiled, *inputs, **named)``, by default the model on the inputs, and certifies it: digests of what the model, the step and the inputs
        hold before and after (parameters, buffers, gradients, optimizers, what functions enclose), of each kernel, and of what each graph was given, returned
        and left. Equal runs have equal certificates on every machine (:func:`bitmma.torch.verify`)."""
        torch._dynamo.reset()  # what was called before would decide which sizes and numbers are compiled in
        run = lambda: self(*inputs, **named) if step is None else step(self, *inputs, **named)  # noqa: E731
        return certified(self._backend, self._how, self._model, step, run, inputs, named)

    def tuning(self, *inputs: Any, step: Callable[..., Any] | None = None) -> list[Tuned]:
        """Whether bits depend on what a GPU would choose by measuring. Runs as :meth:`certify` does, then every kernel once in each configuration that
        Inductor would measure under these settings, on what it was given at its first call, and each template of the products compiled so far on random numbers."""
        return tuning(self._backend, lambda: self(*inputs) if step is None else step(self, *inputs))

    @property
    def outside(self) -> Counter[str]:
        """Calls in the code that are no kernel, by name."""
        return sum(map(outside.calls, self.code), Counter())
