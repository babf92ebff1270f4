"""Operations of PyTorch on tensors of the GPU that there seems to be: computed on the CPU, by an emulation where one is on.

Each operation has a kernel for CUDA here, so that PyTorch itself decides what it decides on a GPU: where results are, what autograd and
autocast do, whether tensors are on one device. Views need none: PyTorch's own only describe memory.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, Callable

import torch
from torch.library import Library
from torch.utils._python_dispatch import _disable_current_modes

from ..._lock import LOCK
from .. import operations
from . import device_checks, generators, state, wide
from .facts import facts
from .memory import GPU, any_of, is_on_gpu, is_pinned, pin, pinned
from .own import OWN
from .sides import Sides
from .state import REFUSED

aten = torch.ops.aten

#: Operations that only describe memory, beside those that PyTorch calls views: its own kernels do.
_DESCRIBE = frozenset(
    "set_ as_strided_ squeeze_ unsqueeze_ transpose_ t_ swapaxes_ swapdims_ detach_ _reshape_alias record_stream is_set_to"
    " _has_compatible_shallow_copy_type set_data is_same_size".split()
)
#: Operations about pinned memory.
_PINNING = frozenset("_pin_memory is_pinned".split())
#: Whether a library of CUDA computes an operation: none does.
_LIBRARY_OPERATIONS = frozenset("_use_cudnn_ctc_loss _use_cudnn_rnn_flatten_weight _use_miopen_ctc_loss".split())
#: Products of FP8 with scales.
_SCALED = frozenset("_scaled_mm _scaled_mm_v2 _scaled_grouped_mm".split())
#: Results that stay on the CPU, by their places.
_STAY: dict[str, tuple[int, ...]] = {"_pack_padded_sequence": (1,)}

#: Operations for which someone else registered a kernel for CUDA, by name: how many.
FOREIGN: Counter[str] = Counter()
#: Products that ran outside of an emulation.
OUTSIDE: Counter[str] = Counter()
#: Products that GPUs have for floating-point numbers, and not for FP8.
_FLOATING = frozenset("mm addmm bmm baddbmm addbmm mv addmv dot vdot convolution convolution_overrideable _trilinear".split())


def concerns(func: Any, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether an operation of PyTorch is one on the GPU."""
    if not isinstance(func, torch._ops.OpOverload):
        return False
    device = kwargs.get("device")
    return (device is not None and torch.device(device).type == "cuda") or any_of(is_on_gpu, (*args, *kwargs.values()))


def on_cpu(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """An operation of the CPU's own, where there seems to be a GPU."""
    generators.check_on_cpu((*args, *kwargs.values()))
    found = func(*args, **kwargs)
    if kwargs.get("pin_memory") and isinstance(found, torch.Tensor):
        pin(found)
    return found


def passes(func: Any) -> bool:
    """Whether the kernel that PyTorch finds for CUDA is to run, and not this module's."""
    if _is_compiled(func):
        REFUSED[func.name()] += 1
        raise NotImplementedError(f"{func.name()} is not emulated: its kernel for GPUs is compiled code")
    if func.namespace == "aten" and func.name() not in _HAS and not _describes(func):
        REFUSED[func.name()] += 1
        raise NotImplementedError(f"Could not run '{func.name()}' with arguments from the 'CUDA' backend: PyTorch has it for CPUs only")
    return _describes(func) or func.name() in FOREIGN


def _is_compiled(func: Any) -> bool:
    """Whether an operation of another library has a kernel for CUDA that Python has not registered."""
    if func.namespace in operations.OWN or not torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CUDA"):
        return False
    space, _, rest = func.name().partition("::")
    return func.name() not in FOREIGN and f"{space}/{rest}/CUDA" not in getattr(torch.library, "_impls", ())


@lru_cache(maxsize=None)
def _describes(func: Any) -> bool:
    """Whether an operation needs no kernel here: it only describes memory, is made of others (which come one by one), or is not PyTorch's."""
    if func.is_view or func.overloadpacket.__name__ in _DESCRIBE | _PINNING or func.namespace not in operations.OWN:
        return True
    return _is_composite(func.name())


def _is_composite(name: str) -> bool:
    """Whether an operation is made of others on every device."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return name.startswith("prim::") or has(name, "CompositeImplicitAutograd") and not has(name, "CUDA")


def run(func: Any, args: Any, kwargs: dict[str, Any], emulated: Callable[[], AbstractContextManager[Any]] = nullcontext) -> Any:
    """An operation on tensors of the GPU: on the CPU, inside of ``emulated``."""
    about = facts(func)
    if about.name in _LIBRARY_OPERATIONS:
        return False
    sides = Sides(about.name)
    with _without_modes():
        hosts = [one if place == about.on_cpu else sides.host(one) for place, one in enumerate(args)]
        given = {name: sides.host(one) for name, one in kwargs.items()}
    device_checks.check(about, args, kwargs, sides)
    _check_dtype(about.name, sides)
    device = kwargs.get("device")
    on_gpu = (is_on_gpu(args[0]) if about.is_indexed else sides.gpu) if device is None else torch.device(device).type == "cuda"
    if on_gpu and given.pop("pin_memory", None):
        raise RuntimeError("Only dense CPU tensors can be pinned")
    func, hosts = _with_generator(func, hosts, given, on_gpu)
    with state.working(), torch._C.DisableTorchFunction(), emulated():
        try:
            found = OWN[about.name](*hosts, **given) if about.name in OWN else wide.call(func, hosts, given)
        except NotImplementedError as error:
            if "'CPU' backend" not in str(error):
                raise
            raise _for_gpus_only(func) from None
        except RuntimeError as error:
            if "can't allocate memory" not in str(error):
                raise
            raise torch.OutOfMemoryError(f"CUDA out of memory, where the memory is this machine's: {error}") from None
    if about.products and emulated is nullcontext:
        with LOCK:
            OUTSIDE[about.name] += 1
    with _without_modes():
        sides.follow()
        if any(one is not None for one in about.written):
            own = [kwargs[one] if isinstance(one, str) else args[one] if one is not None else None for one in about.written]
            values = found if isinstance(found, (list, tuple)) else (found,)
            results = [one if one is not None else sides.result(value) for one, value in zip(own, values)]
            return results[0] if len(about.written) == 1 else tuple(results)
        if not on_gpu:
            if kwargs.get("pin_memory") or (kwargs.get("non_blocking") and about.name == "_to_copy" and sides.gpu):  # as PyTorch's copies are
                pin(found)
            return found
        stay = _STAY.get(about.name)
        if stay is not None:
            return tuple(one if place in stay else sides.result(one) for place, one in enumerate(found))
        return sides.result(found)


def _for_gpus_only(func: Any) -> NotImplementedError:
    REFUSED[func.name()] += 1
    return NotImplementedError(f"{func.name()} is not emulated: PyTorch has it for GPUs only")


def _without_modes() -> AbstractContextManager[Any]:
    return _disable_current_modes() if torch._C._len_torch_dispatch_stack() else nullcontext()


def _check_dtype(name: str, sides: Sides) -> None:
    """As on a GPU, products of integers and of FP8 are errors."""
    if name in _FLOATING and sides.given and all(own.numel() for own, _, _ in sides.given):
        dtype = sides.given[0][0].dtype
        if dtype.itemsize == 1 or not (dtype.is_floating_point or dtype.is_complex):
            raise NotImplementedError(f"{name}: not implemented for {dtype} on CUDA")
    if name in _SCALED and len(sides.given) > 1:
        dtypes = [own.dtype for own, _, _ in sides.given[:2]]
        if dtypes == [torch.float8_e5m2] * 2:
            raise RuntimeError("Multiplication of two Float8_e5m2 matrices is not supported")
        if any(str(one).endswith("fnuz") for one in dtypes):
            raise RuntimeError(f"{name} of {dtypes[0]} and {dtypes[1]}: CUDA has the formats float8_e4m3fn and float8_e5m2")


def _with_generator(func: Any, hosts: list[Any], given: dict[str, Any], on_gpu: bool) -> tuple[Any, list[Any]]:
    """An operation and its arguments, where it draws random numbers with the GPU's generator."""
    about = facts(func)
    place = about.generator
    if place is not None:  # by name, with all that come after it
        given.update(zip((argument.name for argument in func._schema.arguments[place:]), hosts[place:]))
        hosts = hosts[:place]
    if not on_gpu:
        if place is not None:
            generators.check_on_cpu(given.values())
        return func, hosts
    if about.random and place is None and about.given_one is None:
        if not torch._C._dispatch_has_computed_kernel_for_dispatch_key(func.name(), "CPU"):
            raise _for_gpus_only(func)
        raise NotImplementedError(f"{func.name()} draws random numbers, and takes no generator: it is not emulated on a GPU")
    if about.random or place is not None:
        generators.draws(given)
    return about.given_one or func, hosts


def _kernel(func: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        from .. import threads

        emulation = threads.passed()
        return run(func, args, kwargs, nullcontext if emulation is None else emulation.again)

    return kernel


def _ctc_loss(scores: torch.Tensor, targets: torch.Tensor, input_lengths: torch.Tensor, target_lengths: torch.Tensor, *args: Any) -> Any:
    """``ctc_loss`` reads its lengths, from either device. PyTorch's own code does so only where no mode is on."""
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if lengths.is_floating_point() or lengths.is_complex():
            raise RuntimeError(f"{name} must be integral")
    return aten.ctc_loss.IntList(scores, targets, input_lengths.reshape(-1).tolist(), target_lengths.reshape(-1).tolist(), *args)


_LIBRARIES: dict[str, Library] = {}
#: Operations of which PyTorch has a kernel for CUDA.
_HAS: set[str] = set()
_ours = threading.local()


def register() -> None:
    """Gives every operation that computes, makes or moves tensors its kernel for CUDA."""
    torch._C._ensureCUDADeviceGuardSet()
    if _LIBRARIES:
        return
    computed = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    _HAS.update(name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::") and computed(name, "CUDA"))
    library = _LIBRARIES["aten"] = Library("aten", "IMPL")
    _ours.registers = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in _HAS:
                rest = name.partition("::")[2]
                if _is_composite(name):
                    continue
                packet, _, overload = rest.partition(".")
                try:
                    func = getattr(getattr(aten, packet), overload or "default")
                except (AttributeError, RuntimeError):  # one that Python cannot call
                    continue
                if func.is_view or packet in _DESCRIBE or packet in _PINNING:
                    continue
                library.impl(rest, _kernel(func), "CUDA")
                if packet in _LIBRARY_OPERATIONS:
                    library.impl(rest, lambda *args, **kwargs: False, "Meta")
            for key in ("AutogradCUDA", "CUDA"):
                library.impl("ctc_loss.Tensor", _ctc_loss, key)
            for key in ("CPU", "CUDA"):
                library.impl("_pin_memory", pinned, key)
                library.impl("is_pinned", is_pinned, key)
    finally:
        _ours.registers = False


def unregister() -> None:
    """PyTorch's own kernels again."""
    for library in _LIBRARIES.values():
        library._destroy()
    _LIBRARIES.clear()


def is_ours() -> bool:
    """Whether this thread registers kernels of this module."""
    return getattr(_ours, "registers", False)


__all__ = ["FOREIGN", "GPU", "OUTSIDE", "REFUSED", "concerns", "is_ours", "on_cpu", "passes", "register", "run", "unregister"]
