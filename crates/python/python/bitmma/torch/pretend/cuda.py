"""``torch.cuda`` of a machine that seems to have one GPU."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Iterator
from typing import Any, Callable
from unittest import mock

import torch
from torch.nn.attention import SDPBackend

from ...kernels import _device
from ...kernels._device import Device
from . import attention, generators, raw_kernels, streams
from .memory import GPU, USAGE
from .state import REFUSED
from .properties import Properties


def _index(device: Any = None) -> int:
    """The number of a device, which must be that of the one GPU."""
    if device is None:
        return 0
    if isinstance(device, int):
        number = device
    else:
        device = torch.device(device)
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        number = device.index or 0
    if number not in (0, -1):
        raise RuntimeError(f"CUDA error: invalid device ordinal: cuda:{number}; there is one GPU, cuda:0")
    return 0


def _statistics(device: Any = None) -> dict[str, Any]:
    """Of memory: bytes of tensors, of which PyTorch reserves as many."""


    def counted(now: int, most: int) -> dict[str, int]:
        return {"current": now, "peak": most, "allocated": most, "freed": most - now}

    allocated, requested, zero = counted(USAGE.now, USAGE.most), counted(USAGE.requested, USAGE.most_requested), counted(0, 0)

    def by_pool(values: dict[str, int]) -> dict[str, dict[str, int]]:
        return {"all": dict(values), "small_pool": dict(zero), "large_pool": dict(values)}

    sizes = ("allocated_bytes", "reserved_bytes", "active_bytes")
    counts = ("allocation", "segment", "active", "inactive_split", "inactive_split_bytes")
    found: dict[str, Any] = {name: by_pool(allocated) for name in sizes} | {"requested_bytes": by_pool(requested)}
    found |= {name: by_pool(zero) for name in counts}
    found |= {name: dict(zero) for name in ("oversize_allocations", "oversize_segments")}
    return found | {name: 0 for name in ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free", "max_split_size")}


def _refuse(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        REFUSED[name] += 1
        raise NotImplementedError(f"{name} is not emulated: bitmma runs without a GPU")

    refuse.__name__ = name.rpartition(".")[2]
    return refuse


#: Functions of PyTorch's C++ code below ``torch.cuda``, and what they return here.
_BELOW: dict[str, Callable[..., Any]] = {
    "_cuda_getDeviceCount": lambda: 1,
    "_cuda_getDevice": lambda: 0,
    "_cuda_setDevice": lambda index: _index(index) and None,
    "_cuda_exchangeDevice": lambda index: _index(index),
    "_cuda_maybeExchangeDevice": lambda index: _index(index),
    "_cuda_synchronize": lambda: None,
    "_cuda_emptyCache": lambda *_: None,
    "_cuda_ipc_collect": lambda: None,
    "_cuda_init": lambda: None,
    "_cuda_isInBadFork": lambda: False,
    "_cuda_isCurrentStreamCapturing": lambda: False,
    "_cuda_getCurrentRawStream": lambda index=0: 0,
    "_cuda_hasPrimaryContext": lambda index=0: True,
    "_cuda_canDeviceAccessPeer": lambda *_: False,
    "_cuda_memoryStats": _statistics,
    "_cuda_resetPeakMemoryStats": lambda *_: USAGE.reset(),
    "_cuda_resetAccumulatedMemoryStats": lambda *_: None,
    "_cuda_sleep": lambda cycles: None,
    "_cuda_getAllocatorBackend": lambda: "native",
    "_cuda_clearCublasWorkspaces": lambda: None,
    "_cuda_set_sync_debug_mode": lambda mode: None,
    "_cuda_get_sync_debug_mode": lambda: 0,
    "_accelerator_getDeviceIndex": lambda: 0,
    "_accelerator_setDeviceIndex": lambda index: _index(index) and None,
    "_accelerator_exchangeDevice": lambda index: _index(index),
    "_accelerator_maybeExchangeDevice": lambda index: _index(index),
    "_accelerator_getStream": streams.current,
    "_accelerator_setStream": streams.choose,
    "_accelerator_synchronizeDevice": lambda index=0: None,
    "_accelerator_isAllocatorInitialized": lambda: True,
    "_accelerator_getDeviceStats": _statistics,
    "_accelerator_resetPeakStats": lambda *_: USAGE.reset(),
    "_accelerator_resetAccumulatedStats": lambda *_: None,
    "_accelerator_emptyCache": lambda: None,
    "_can_use_flash_attention": attention.allows(SDPBackend.FLASH_ATTENTION),
    "_can_use_mem_efficient_attention": attention.allows(SDPBackend.EFFICIENT_ATTENTION),
    "_can_use_cudnn_attention": attention.allows(SDPBackend.CUDNN_ATTENTION),
    "_accelerator_getDefaultGenerator": lambda index=0: generators.DEFAULT,
}
#: Functions that need a GPU and are not emulated.
_REFUSED_BELOW = (
    "_cuda_beginAllocateCurrentStreamToPool _cuda_beginAllocateCurrentThreadToPool _cuda_beginAllocateToPool _cuda_cudaCachingAllocator_raw_alloc"
    " _cuda_cudaCachingAllocator_raw_delete _cuda_cudaHostAllocator _cuda_endAllocateToPool _cuda_getCheckpointState _cuda_getCurrentBlasHandle"
    " _cuda_getCurrentSolverHandle _cuda_getCurrentStream _cuda_getDefaultStream _cuda_getStreamFromExternal _cuda_hostMemoryStats"
    " _cuda_jiterator_compile_and_launch_kernel _cuda_memorySnapshot _cuda_record_memory_history _cuda_releasePool _cuda_setCheckpointPoolState"
    " _broadcast _broadcast_coalesced _broadcast_out _gather _gather_out _scatter _scatter_out _cuda_setMemoryFraction _cuda_getMemoryFraction _cuda_setStream _cuda_getAllocator _cudart"
).split()  # fmt: skip


def _functions(chip: Callable[[], Device]) -> dict[str, Any]:
    """Functions and classes of ``torch.cuda`` itself."""

    def memory(device: Any = None) -> tuple[int, int]:
        _index(device)
        total = Properties(chip()).total_memory
        return total - USAGE.now, total

    def properties(device: Any = None) -> Properties:
        _index(device)
        return Properties(chip())

    def capability(device: Any = None) -> tuple[int, int]:
        _index(device)
        return chip().major, chip().minor

    def name(device: Any = None) -> str:
        _index(device)
        return chip().name

    return {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "_initialized": True,
        "_exchange_device": _index,
        "_maybe_exchange_device": _index,
        "_get_device": lambda: 0,
        "_is_in_bad_fork": lambda: False,
        "get_device_properties": properties,
        "get_device_capability": capability,
        "get_device_name": name,
        "get_arch_list": lambda: [f"sm_{chip().major}{chip().minor}"],
        "mem_get_info": memory,
        "current_stream": streams.current,
        "default_stream": streams.default,
        "set_stream": streams.choose,
        "Stream": streams.Stream,
        "Event": streams.Event,
        "CUDAGraph": streams.refused("torch.cuda.CUDAGraph"),
        "graph": streams.refused("torch.cuda.graph"),
        "make_graphed_callables": _refuse("torch.cuda.make_graphed_callables"),
        "MemPool": streams.refused("torch.cuda.MemPool"),
        "ExternalStream": streams.refused("torch.cuda.ExternalStream"),
        "default_generators": (generators.DEFAULT,),
        "cudart": _refuse("torch.cuda.cudart"),
        "is_bf16_supported": lambda including_emulation=True: chip().major >= 8 or including_emulation,
        "is_tf32_supported": lambda: chip().major >= 8,
        "ipc_collect": lambda: None,
        "_compile_kernel": raw_kernels.compiler(chip),
        **{name: _refuse(f"torch.cuda.{name}") for name in ("utilization", "memory_usage", "temperature", "power_draw", "clock_rate", "device_memory_used")},
    }


_NVTX = {"range_push": lambda message: 0, "range_pop": lambda: 0, "mark": lambda message: None, "range_start": lambda message: 0, "range_end": lambda number: None}


def _accelerator() -> dict[str, Any]:
    """``torch.accelerator``."""
    return {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": lambda: 0,
        "current_device_idx": lambda: 0,
        "set_device_index": _index,
        "set_device_idx": _index,
        "current_stream": streams.current,
        "set_stream": streams.choose,
        "synchronize": lambda device=None: None,
        "empty_cache": lambda: None,
    }


def _apart(functions: dict[str, Any], module: str) -> dict[str, Any]:
    """The same functions, each an object of its own, by which ``torch.compile`` tells them apart, and ``pickle`` finds them by their names."""

    def own(name: str, function: Any) -> Any:
        found = functools.wraps(function)(lambda *args, **kwargs: function(*args, **kwargs))
        found.__name__, found.__qualname__, found.__module__ = name, name, module
        return found

    return {name: own(name, value) if isinstance(value, types.FunctionType) else value for name, value in functions.items()}


@contextlib.contextmanager
def described(device: Callable[[], Device]) -> Iterator[None]:
    """In this block ``torch.cuda`` describes the chip that ``device`` returns."""
    with contextlib.ExitStack() as stack:

        def becomes(owner: Any, name: str, value: Any) -> None:
            if hasattr(owner, name):
                stack.enter_context(mock.patch.object(owner, name, value))

        for name, below in _BELOW.items():
            becomes(torch._C, name, below)
        for name in _REFUSED_BELOW:
            becomes(torch._C, name, _refuse(f"torch._C.{name}"))
        functions = _apart(_functions(device), "torch.cuda")
        for name, value in functions.items():
            becomes(torch.cuda, name, value)
        for module in (torch.cuda.streams, torch.cuda.graphs, torch.cuda.memory, torch.cuda.random):
            for name in vars(module).keys() & functions.keys():
                becomes(module, name, functions[name])
        becomes(torch.cuda.graphs, "_cuda_isCurrentStreamCapturing", lambda: False)
        becomes(torch.cuda.memory, "host_memory_stats", lambda: {})
        becomes(torch.cuda, "host_memory_stats", lambda: {})
        for name, value in _NVTX.items():
            becomes(torch.cuda.nvtx, name, value)
        accelerator = getattr(torch, "accelerator", None)
        for name, value in _apart(_accelerator(), "torch.accelerator").items():
            becomes(accelerator, name, value)
        becomes(torch, "Generator", generators.Generator)
        becomes(torch.Tensor, "record_stream", lambda tensor, stream: None)
        _device.DESCRIBED.append(True)
        stack.callback(_device.DESCRIBED.pop)
        becomes(_device._Driver, "get_active_torch_device", lambda driver: GPU)
        # CUDA's own libraries choose no operations of their own
        cudnn = torch._C._get_cudnn_enabled()
        torch._C._set_cudnn_enabled(False)
        stack.callback(torch._C._set_cudnn_enabled, cudnn)
        yield
