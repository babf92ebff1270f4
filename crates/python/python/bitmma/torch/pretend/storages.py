"""Storages that Python's part of PyTorch asks for on a GPU."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch.utils._device import _device_constructors

from .memory import CPU, pin, storage_on_gpu


def _is_gpu(device: Any) -> bool:
    return device is not None and not isinstance(device, int) and torch.device(device).type == "cuda"


@contextlib.contextmanager
def storages() -> Iterator[None]:
    """In this block storages can be made on the GPU."""
    Storage: Any = torch.UntypedStorage
    plain_new = Storage.__new__

    def new(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if not _is_gpu(device):
            return plain_new(cls, *args, **kwargs) if device is None else plain_new(cls, *args, device=device, **kwargs)
        return storage_on_gpu(plain_new(Storage, *args, device=CPU))

    plain_tensor = torch.tensor
    _device_constructors()  # which PyTorch keeps, with its own function

    @functools.wraps(plain_tensor)
    def tensor(*args: Any, **kwargs: Any) -> torch.Tensor:
        found = plain_tensor(*args, **kwargs)
        if kwargs.get("pin_memory"):  # its C++ code makes it without a mode or a kernel
            pin(found)
        return found

    with mock.patch.object(Storage, "__new__", new), mock.patch.object(torch, "tensor", tensor):
        yield
