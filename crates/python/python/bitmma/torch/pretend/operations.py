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
from typing import Any, Callable, NamedTuple

import torch
from torch.library import Library
from torch.utils._python_dispatch import _disable_current_modes

from ..._lock import LOCK
from .. import operations
from . import attention, device_checks, fused, generators, state
from .memory import CPU, GPU, TWO_DEVICES, any_of, is_on_gpu, is_pinned, pin, pinned, storage_on_gpu, to_gpu, to_host

aten = torch.ops.aten

#: Operations that only describe memory, beside those that PyTorch calls views: its own kernels do.
_DESCRIBE = frozenset(
    "set_ as_strided_ squeeze_ unsqueeze_ transpose_ t_ swapaxes_ swapdims_ detach_ _reshape_alias record_stream is_set_to"
    " _has_compatible_shallow_copy_type set_data is_same_size".split()
)
#: Operations about pinned memory.
_PINNING = frozenset("_pin_memory is_pinned".split())
#: Operations whose tensors may be on different devices.
_MIXED = frozenset(
    "copy_ copy _to_copy _copy_from _copy_from_and_resize index _unsafe_index index_put index_put_ _index_put_impl_ _unsafe_index_put _foreach_copy_ _foreach_copy"
    " _pack_padded_sequence _assert_async".split()
)  # fmt: skip
#: Operations that read a number from either side.
_READ_NUMBERS = frozenset("fill_ masked_fill_".split())
#: Operations that PyTorch has for GPUs only, or otherwise than on the CPU: how they are computed there.
_OWN: dict[str, Callable[..., Any]] = {
    "_fused_sdp_choice": attention.choose,
    "_scaled_dot_product_flash_attention": attention.flash,
    "_scaled_dot_product_flash_attention_backward": attention.flash_backward,
    "_scaled_dot_product_efficient_attention": attention.efficient,
    "_scaled_dot_product_efficient_attention_backward": attention.efficient_backward,
    "_scaled_dot_product_cudnn_attention": attention.refused,
    "_thnn_fused_lstm_cell": fused.lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": fused.lstm_cell_backward,
    "_thnn_fused_gru_cell": fused.gru_cell,
    "_thnn_fused_gru_cell_backward": fused.gru_cell_backward,
}
#: Whether a library of CUDA computes an operation: none does.
_LIBRARY_OPERATIONS = frozenset("_use_cudnn_ctc_loss _use_cudnn_rnn_flatten_weight _use_miopen_ctc_loss".split())
#: Products that GPUs have for floating-point numbers, and not for FP8.
_FLOATING = frozenset("mm addmm bmm baddbmm addbmm mv addmv dot vdot convolution convolution_overrideable _trilinear".split())
#: Results that stay on the CPU, by their places.
_STAY: dict[str, tuple[int, ...]] = {"_pack_padded_sequence": (1,)}

#: Operations for which someone else registered a kernel for CUDA, by name: how many.
FOREIGN: Counter[str] = Counter()
#: Products that ran outside of an emulation.
OUTSIDE: Counter[str] = Counter()
#: What was refused, by operation.
REFUSED: Counter[str] = Counter()


class _Facts(NamedTuple):
    """What the schema of an operation says."""

    name: str
    written: tuple[int | str | None, ...]
    """For each result the argument that it is: its place, or its name."""
    generator: int | None
    """The place of its generator among the arguments, if it takes one."""
    random: bool
    given_one: Any
    """The same operation with a generator, where only that takes one."""
    numbers: float
    """How many tensors of a single number may be on the CPU."""
    on_cpu: int
    """The place of an argument that must be there; -1 if there is none."""
    products: bool
    """Whether it multiplies matrices."""


@lru_cache(maxsize=None)
def _facts(func: Any) -> _Facts:
    schema, written = func._schema, []
    for result in schema.returns:
        found: int | str | None = None
        if result.alias_info is not None and result.alias_info.is_write:
            for place, argument in enumerate(schema.arguments):
                if argument.alias_info is not None and argument.alias_info.before_set == result.alias_info.before_set:
                    found = argument.name if argument.kwarg_only else place
        written.append(found)
    name = func.overloadpacket.__name__
    generator = next((place for place, argument in enumerate(schema.arguments) if argument.name == "generator"), None)
    random = torch.Tag.nondeterministic_seeded in func.tags and name not in _OWN
    given_one = _given_one(func) if random and generator is None else None
    on_cpu = next((place for place, argument in enumerate(schema.arguments) if argument.name == "scalars" and str(argument.type) == "Tensor"), -1)
    return _Facts(name, tuple(written), generator, random, given_one, device_checks.numbers(func.name()), on_cpu, operations.has_products(func.name()))


def _given_one(func: Any) -> Any:
    """The same operation with a generator."""
    if func.overloadpacket is aten.native_dropout:
        return fused.dropout
    names = [argument.name for argument in func._schema.arguments]
    for overload in func.overloadpacket.overloads():
        other = getattr(func.overloadpacket, overload)
        theirs = [argument.name for argument in other._schema.arguments]
        if "generator" in theirs and [one for one in theirs if one != "generator"] == names:
            return other
    return None


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


def _check_kind(tensor: torch.Tensor) -> None:
    """Only dense tensors are emulated."""
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
        kind = "nested tensors of layout torch.strided" if tensor.is_nested else "quantized tensors" if tensor.is_quantized else f"tensors of layout {tensor.layout}"
        REFUSED[kind] += 1
        raise NotImplementedError(f"{kind} on a GPU are not emulated")


#: Operations that give a tensor more memory.
_RESIZES = {"resize_", "resize_as_"}


class _Sides:
    """The arguments of one call on the CPU, and what becomes of its results."""

    def __init__(self, mixed: bool, resizes: bool, numbers: float) -> None:
        self.mixed, self.resizes, self.numbers, self.stays, self.gpu = mixed, resizes, numbers, False, False
        self.given: list[tuple[torch.Tensor, torch.Tensor, int]] = []
        """Tensors of the GPU, what they are on the CPU, and where their memory is."""

    def host(self, value: Any) -> Any:
        """A value on the CPU."""
        if isinstance(value, torch.Tensor):
            if not value.is_cuda:
                if value.device.type == "cpu":
                    self.numbers -= value.dim() == 0
                    self.stays = self.stays or value.dim() > 0
                return value
            _check_kind(value)
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

    def check(self) -> None:
        """As PyTorch does, all tensors are on one device, but for as many of a single number as the operation takes from the CPU."""
        if (self.stays or self.numbers < 0) and self.gpu and not self.mixed:
            raise RuntimeError(TWO_DEVICES)

    def result(self, value: Any) -> Any:
        """A result on the GPU."""
        if isinstance(value, torch.Tensor):
            if value.device.type != "cpu":
                return value
            _check_kind(value)
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


def _check_written(facts: _Facts, args: Any, kwargs: dict[str, Any]) -> None:
    """As PyTorch does, a tensor on the CPU is not written by an operation on the GPU, not even one of a single number."""
    places = [one for one in facts.written if one is not None]
    written = [kwargs.get(one) if isinstance(one, str) else args[one] for one in places if isinstance(one, str) or one < len(args)]
    if any(isinstance(one, torch.Tensor) and one.device.type == "cpu" for one in written):
        raise RuntimeError(TWO_DEVICES)


def _check_indexed(own: Any, indices: Any, values: Any = None) -> None:
    """As PyTorch does, a tensor on the CPU has no indices on the GPU, and what is put is on the tensor's device, or one number."""
    if not is_on_gpu(own) and any_of(is_on_gpu, (indices,)):
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    if isinstance(values, torch.Tensor) and is_on_gpu(values) != is_on_gpu(own) and values.dim() > 0:
        raise RuntimeError(TWO_DEVICES)


def run(func: Any, args: Any, kwargs: dict[str, Any], emulated: Callable[[], AbstractContextManager[Any]] = nullcontext) -> Any:
    """An operation on tensors of the GPU: on the CPU, inside of ``emulated``."""
    facts = _facts(func)
    if facts.name in _LIBRARY_OPERATIONS:
        return False
    sides = _Sides(facts.name in _MIXED, facts.name in _RESIZES, facts.numbers)
    with _disable_current_modes() if torch._C._len_torch_dispatch_stack() else nullcontext():
        hosts = [one if place == facts.on_cpu else sides.host(one) for place, one in enumerate(args)]
        given = {name: sides.host(one) for name, one in kwargs.items()}
    sides.check()
    if facts.on_cpu >= 0 and args[facts.on_cpu].is_cuda:
        raise RuntimeError(f"Expected scalars to be on CPU, got {args[facts.on_cpu].device} instead.")
    if facts.name in device_checks.MASKED and is_on_gpu(args[0]) != is_on_gpu(args[1]):
        raise RuntimeError(f"expected self and mask to be on the same device, but got mask on {args[1].device} and self on {args[0].device}")
    if sides.gpu and not sides.mixed and facts.name not in _READ_NUMBERS:
        _check_written(facts, args, kwargs)
    is_indexed = "index" in facts.name and facts.name in _MIXED
    if is_indexed:
        _check_indexed(*args[:3])
    if facts.name in _FLOATING and sides.given and all(own.numel() for own, _, _ in sides.given):
        dtype = sides.given[0][0].dtype
        if dtype.itemsize == 1 or not (dtype.is_floating_point or dtype.is_complex):
            raise NotImplementedError(f"{facts.name}: not implemented for {dtype} on CUDA")
    device = kwargs.get("device")
    on_gpu = (is_on_gpu(args[0]) if is_indexed else sides.gpu) if device is None else torch.device(device).type == "cuda"
    if on_gpu and given.pop("pin_memory", None):
        raise RuntimeError("Only dense CPU tensors can be pinned")
    if facts.generator is not None:  # by name, with all that come after it
        by_name = zip((argument.name for argument in func._schema.arguments[facts.generator :]), hosts[facts.generator :])
        given, hosts = {**given, **dict(by_name)}, hosts[: facts.generator]
    if on_gpu and facts.given_one is not None:
        func, facts = facts.given_one, facts._replace(generator=len(hosts))
    if on_gpu and (facts.generator is not None or facts.random):
        if facts.generator is None:
            raise NotImplementedError(f"{func.name()} draws random numbers, and takes no generator: it is not emulated on a GPU")
        generators.draws(given)
    elif facts.generator is not None:
        generators.check_on_cpu(given.values())
    with state.working(), torch._C.DisableTorchFunction(), emulated():
        try:
            found = _OWN.get(facts.name, func)(*hosts, **given)
        except NotImplementedError as error:
            if "'CPU' backend" not in str(error):
                raise
            REFUSED[func.name()] += 1
            raise NotImplementedError(f"{func.name()} is not emulated: PyTorch has it for GPUs only") from None
        except RuntimeError as error:
            if "can't allocate memory" not in str(error):
                raise
            raise torch.OutOfMemoryError(f"CUDA out of memory, where the memory is this machine's: {error}") from None
    if facts.products and emulated is nullcontext:
        with LOCK:
            OUTSIDE[facts.name] += 1
    with _disable_current_modes() if torch._C._len_torch_dispatch_stack() else nullcontext():
        if any(one is not None for one in facts.written):
            sides.follow()
            results = [kwargs[one] if isinstance(one, str) else args[one] if one is not None else None for one in facts.written]
            values = found if isinstance(found, (list, tuple)) else (found,)
            whole = [own if own is not None else sides.result(value) for own, value in zip(results, values)]
            return whole[0] if len(facts.written) == 1 else tuple(whole)
        sides.follow()
        if not on_gpu:
            if kwargs.get("pin_memory") or (kwargs.get("non_blocking") and facts.name == "_to_copy" and sides.gpu):  # as PyTorch's copies are
                pin(found)
            return found
        stay = _STAY.get(facts.name)
        if stay is not None:
            return tuple(one if place in stay else sides.result(one) for place, one in enumerate(found))
        return sides.result(found)


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
_ours = threading.local()


def register() -> None:
    """Gives every operation that computes, makes or moves tensors its kernel for CUDA."""
    torch._C._ensureCUDADeviceGuardSet()
    if _LIBRARIES:
        return
    has, computed = torch._C._dispatch_has_kernel_for_dispatch_key, torch._C._dispatch_has_computed_kernel_for_dispatch_key
    library = _LIBRARIES["aten"] = Library("aten", "IMPL")
    _ours.registers = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in torch._C._dispatch_get_all_op_names():
                space, _, rest = name.partition("::")
                if space != "aten" or _is_composite(name) or not (computed(name, "CUDA") or has(name, "CPU")):
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
