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


@contextlib.contextmanager
def eager() -> Iterator[None]:
    """In this block ``torch.compile`` returns what it is given."""
    with mock.patch.object(torch, "compile", _compile):
        yield
