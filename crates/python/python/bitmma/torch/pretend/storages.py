"""Storages, pinned memory and other memory that Python's part of PyTorch asks for on a GPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch

from .memory import CPU, is_pinned, pin, storage_on_gpu


def _is_gpu(device: Any) -> bool:
    return device is not None and not isinstance(device, int) and torch.device(device).type == "cuda"


@contextlib.contextmanager
def storages() -> Iterator[None]:
    """In this block storages can be made on the GPU, and memory be pinned."""
    Storage: Any = torch.UntypedStorage
    plain_new = Storage.__new__

    def new(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if not _is_gpu(device):
            return plain_new(cls, *args, **kwargs) if device is None else plain_new(cls, *args, device=device, **kwargs)
        return storage_on_gpu(plain_new(Storage, *args, device=CPU))

    def pin_memory(tensor: torch.Tensor, device: Any = None) -> torch.Tensor:
        if tensor.is_cuda:
            raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
        if is_pinned(tensor):
            return tensor
        copy = tensor.clone()
        pin(copy)
        return copy

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(Storage, "__new__", new))
        stack.enter_context(mock.patch.object(torch.Tensor, "pin_memory", pin_memory))
        stack.enter_context(mock.patch.object(torch.Tensor, "is_pinned", is_pinned))
        yield
