"""A machine that seems to have a GPU: ``device="cuda"`` is the memory of the CPU, and what runs there is emulated."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from ...kernels import _memory
from ...kernels._device import Device
from ...kernels._chips import capability
from . import attention, compiling, cuda, engine, foreign, memory, operations, state, storages

__all__ = ["pretend"]


class _Chosen:
    """The chip that the GPU seems to be."""

    device: Device | None = None


def _device() -> Device:
    assert _Chosen.device is not None
    return _Chosen.device


@contextlib.contextmanager
def chip(name: str, multiprocessors: int | None = None) -> Iterator[None]:
    """In this block the GPU seems to be this chip."""
    before = _Chosen.device
    _Chosen.device = Device(name, capability(name), multiprocessors)
    try:
        yield
    finally:
        _Chosen.device = before


@contextlib.contextmanager
def pretend(name: str) -> Iterator[None]:
    """In this block the machine seems to have a GPU, the chip: PyTorch has tensors on "cuda", and ``torch.cuda`` describes it.

    The tensors' memory is the CPU's; an operation on them runs on the CPU, by an emulation (:func:`bitmma.torch.emulate`)
    where one is on. The backward pass runs in the thread that asks for it.
    """
    if not hasattr(torch._C, "_construct_storage_from_data_pointer"):
        raise RuntimeError("this PyTorch was built without CUDA, and code for a GPU needs one that was built with it: pip install torch (from PyPI, for Linux)")
    if state.IS_ON:
        with chip(name):
            yield
        return
    if torch.cuda.is_available():
        raise RuntimeError("this machine has a GPU; hide it to pretend that it is another: CUDA_VISIBLE_DEVICES=''")
    with contextlib.ExitStack() as stack:
        stack.enter_context(chip(name))
        stack.enter_context(engine.without_driver())
        stack.enter_context(attention.chosen())
        operations.register()
        stack.callback(operations.unregister)
        stack.enter_context(cuda.described(_device))
        stack.enter_context(storages.storages())
        stack.enter_context(compiling.eager())
        stack.enter_context(foreign.watched())
        stack.enter_context(_memory.on_gpu(memory.to_host))
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        state.IS_ON = True
        try:
            yield
        finally:
            state.IS_ON = False


