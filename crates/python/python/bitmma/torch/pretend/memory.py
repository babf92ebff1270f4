"""Tensors that PyTorch has on a GPU and whose memory is the CPU's: the same bytes, seen from either side."""

from __future__ import annotations

import threading
from typing import Any, Callable

import torch

from ..operations import is_recorded, is_traced
from . import state

#: The GPU that there seems to be.
GPU = torch.device("cuda", 0)
CPU = torch.device("cpu")
#: What PyTorch says of tensors that are not all on one device.
TWO_DEVICES = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
_PINNED = "_bitmma_pinned"


#: PyTorch gives out memory of a GPU in steps of so many bytes.
_STEP = 512


def _allocated(size: int) -> int:
    return -(-size // _STEP) * _STEP


class Usage:
    """Bytes of tensors on the GPU."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a block may end while this thread counts another
        self.now = self.most = self.requested = self.most_requested = self.blocks = 0

    def add(self, size: int) -> None:
        """Another block."""
        with self._lock:
            self.now += _allocated(size)
            self.requested += size
            self.blocks += 1
            self.most, self.most_requested = max(self.most, self.now), max(self.most_requested, self.requested)

    def remove(self, size: int) -> None:
        """The end of a block."""
        with self._lock:
            self.now -= _allocated(size)
            self.requested -= size
            self.blocks -= 1

    def reset(self) -> None:
        """From now on the most is counted anew."""
        with self._lock:
            self.most, self.most_requested = self.now, self.requested


USAGE = Usage()


class _Block:
    """The memory of a tensor on the GPU. It lives as long as PyTorch's storage does."""

    __slots__ = ("host", "size")

    def __init__(self, host: Any, size: int) -> None:
        self.host, self.size = host, size
        USAGE.add(size)

    def __del__(self) -> None:
        USAGE.remove(self.size)


def storage_on_gpu(host: Any) -> Any:
    """A storage on the GPU with the memory of one on the CPU."""
    size = host.nbytes()
    storage: Any = torch._C._construct_storage_from_data_pointer(host.data_ptr(), GPU, size)
    storage._bitmma_block = _Block(host, size)
    return storage


def host_storage(storage: Any) -> Any:
    """The storage on the CPU that has the memory of one on the GPU."""
    block = getattr(storage, "_bitmma_block", None)
    if block is not None:
        return block.host
    # made by PyTorch's C++ code, which owns the memory
    host: Any = torch._C._construct_storage_from_data_pointer(storage.data_ptr(), CPU, storage.nbytes())
    host._bitmma_owner = storage
    return host


def to_gpu(tensor: torch.Tensor, storage: Any = None) -> torch.Tensor:
    """A tensor on the CPU as one on the GPU, of the same memory; ``storage`` is its storage there, if it has one."""
    if is_traced((tensor,)):  # it has no memory
        return tensor.cuda()
    if storage is None:
        storage = storage_on_gpu(tensor.untyped_storage())
    about = {
        "size": tuple(tensor.shape), "stride": tensor.stride(), "dtype": tensor.dtype, "device": GPU,
        "storage_offset": tensor.storage_offset(), "nbytes": storage.nbytes(),
    }  # fmt: skip
    return _marked(tensor, torch._C._construct_CUDA_Tensor_From_Storage_And_Metadata(about, storage))


def to_host(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor on the GPU as one on the CPU, of the same memory."""
    if is_traced((tensor,)):
        if is_recorded():
            return tensor.cpu()
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")  # FakeTensorMode makes numbers for it
    if tensor._is_zerotensor():  # it has no memory
        return torch.zeros(tensor.shape, dtype=tensor.dtype, device=CPU)
    host = host_storage(tensor.untyped_storage())
    return _marked(tensor, torch.empty(0, dtype=tensor.dtype, device=CPU).set_(host, tensor.storage_offset(), tensor.size(), tensor.stride()))


def pin(tensor: torch.Tensor) -> None:
    """Marks the memory of a tensor on the CPU as pinned."""
    setattr(tensor.untyped_storage(), _PINNED, True)


def pinned(tensor: torch.Tensor, device: Any = None) -> torch.Tensor:
    """A copy of a tensor in pinned memory."""
    if tensor.is_cuda:
        raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
    copy = tensor.clone()
    pin(copy)
    return copy


def is_pinned(tensor: torch.Tensor, device: Any = None) -> bool:
    """Whether the memory of a tensor is on the CPU, and pinned."""
    return not tensor.is_cuda and getattr(tensor.untyped_storage(), _PINNED, False)


def _marked(like: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """A tensor whose numbers are to be read as conjugate, or negative, where those of another one are."""
    if like.is_conj():
        tensor = torch._conj(tensor)
    return torch._neg_view(tensor) if like.is_neg() else tensor


def is_on_gpu(value: Any) -> bool:
    """Whether a value is a dense tensor on the GPU."""
    return isinstance(value, torch.Tensor) and value.is_cuda and value.layout is torch.strided


def any_of(test: Callable[[Any], bool], values: Any) -> bool:
    """Whether a test holds for one of some values, or of the lists among them."""
    for one in values:
        if isinstance(one, (list, tuple)):
            if any_of(test, one):
                return True
        elif test(one):
            return True
    return False


def on_gpu(values: Any) -> bool:
    """Whether there is a tensor on the GPU that there seems to be."""
    return state.IS_ON and any_of(is_on_gpu, values)
