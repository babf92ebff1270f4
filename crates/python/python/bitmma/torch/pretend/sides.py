"""The arguments and results of an operation on the GPU, on the CPU."""

from __future__ import annotations

from typing import Any

import torch

from .memory import CPU, storage_on_gpu, to_gpu, to_host
from .state import REFUSED

def check_kind(tensor: torch.Tensor) -> None:
    """Only dense tensors are emulated."""
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
        kind = "nested tensors of layout torch.strided" if tensor.is_nested else "quantized tensors" if tensor.is_quantized else f"tensors of layout {tensor.layout}"
        REFUSED[kind] += 1
        raise NotImplementedError(f"{kind} on a GPU are not emulated")


#: Operations that give a tensor more memory.
_RESIZES = {"resize_", "resize_as_"}


class Sides:
    """The arguments of one call on the CPU, and what becomes of its results."""

    def __init__(self, name: str) -> None:
        self.resizes, self.gpu = name in _RESIZES, False
        self.numbers = self.tensors = 0
        """How many tensors on the CPU there are of a single number, and of other shapes."""
        self.given: list[tuple[torch.Tensor, torch.Tensor, int]] = []
        """Tensors of the GPU, what they are on the CPU, and where their memory is."""

    def host(self, value: Any) -> Any:
        """A value on the CPU."""
        if isinstance(value, torch.Tensor):
            if not value.is_cuda:
                if value.device.type == "cpu":
                    self.numbers += value.dim() == 0
                    self.tensors += value.dim() > 0
                return value
            check_kind(value)
            self.gpu = True
            host = to_host(value)
            if self.resizes:  # other tensors may see the memory, which a larger size would free
                host = host.new_empty(0).set_(host.untyped_storage().clone(), host.storage_offset(), host.shape, host.stride())
            self.given.append((value, host, host.untyped_storage().data_ptr()))
            return host
        if isinstance(value, (list, tuple)):
            return [self.host(one) for one in value]
        if isinstance(value, torch.device) and value.type == "cuda":
            if value.index not in (None, 0):
                raise RuntimeError(f"CUDA error: invalid device ordinal: {value}; there is one GPU, cuda:0")
            return CPU
        return value

    def result(self, value: Any) -> Any:
        """A result on the GPU."""
        if isinstance(value, torch.Tensor):
            if value.device.type != "cpu":
                return value
            check_kind(value)
            for own, host, _ in self.given:
                if host is value:
                    return own
            if value._is_zerotensor():  # it has no memory
                value = torch.zeros(value.shape, dtype=value.dtype, device=CPU)
            memory = value.untyped_storage()
            for own, host, _ in self.given:
                if host.untyped_storage()._cdata == memory._cdata:
                    return to_gpu(value, own.untyped_storage())
            return to_gpu(value)
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.result, value)) if type(value) in (list, tuple) else value
        return value

    def follow(self) -> None:
        """Tensors of which the call changed the size or the memory."""
        for own, host, address in self.given:
            if own.shape == host.shape and own.stride() == host.stride() and host.untyped_storage().data_ptr() == address:
                continue
            storage = storage_on_gpu(host.untyped_storage())
            own.set_(storage, host.storage_offset(), host.shape, host.stride())
