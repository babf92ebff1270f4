"""``torch.compile`` for a GPU that is not there: functions run as they are, and are counted."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch

#: Functions that were to be compiled, by name.
EAGER: Counter[str] = Counter()


def _compile(model: Any = None, **options: Any) -> Any:
    if model is None:
        return lambda function: _compile(function, **options)
    EAGER[getattr(model, "__qualname__", type(model).__name__)] += 1
    return model


def _export(model: Any, args: Any = (), *more: Any, **options: Any) -> Any:
    parameters = model.parameters() if isinstance(model, torch.nn.Module) else ()
    given = [*parameters, *torch.utils._pytree.tree_leaves((args, options.get("kwargs")))]
    if any(isinstance(one, torch.Tensor) and one.is_cuda for one in given):
        raise RuntimeError("torch.export of tensors on a GPU is not supported without one: export the model on the CPU")
    return _PLAIN_EXPORT(model, args, *more, **options)


_PLAIN_EXPORT = torch.export.export


@contextlib.contextmanager
def eager() -> Iterator[None]:
    """In this block ``torch.compile`` returns what it is given, and TorchScript makes no code for a GPU."""
    fuses = torch._C._jit_texpr_fuser_enabled()
    torch._C._jit_set_texpr_fuser_enabled(False)
    try:
        with mock.patch.object(torch, "compile", _compile), mock.patch.object(torch.export, "export", _export):
            yield
    finally:
        torch._C._jit_set_texpr_fuser_enabled(fuses)
