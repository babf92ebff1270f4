"""Emulations that are on, and the products of threads that have entered none.

PyTorch's modes belong to one thread. While an emulation is on, calls of modules and operations with products look whether their thread
is inside of an emulation; if not, they enter it for as long as they run. Operations do so by a kernel under a dispatch key
that they pass in every thread: BackendSelect, below autograd, modes and subclasses of tensors, above the kernels of devices.
Composite operations that an emulation computes whole have theirs above autograd.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Callable

import torch
from torch.library import Library, fallthrough_kernel
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from ..errors import Error
from . import operations
from .apart import apart, is_apart
from .lock import LOCK
from .whole import WHOLE

if TYPE_CHECKING:
    from .emulation import emulate

_owners: dict[int, tuple[emulate, ...]] = {}
"""Threads that entered emulations, the innermost last."""


@contextmanager
def owned(emulation: emulate) -> Iterator[None]:
    """This thread has entered an emulation; other threads take part in it."""
    thread = threading.get_ident()
    with LOCK:
        if not _owners:
            _KERNELS.on()
            _Module.__call__ = _call  # type: ignore[method-assign]
        _owners[thread] = (*_owners.get(thread, ()), emulation)
    try:
        yield
    finally:
        with LOCK:
            _owners[thread] = _owners[thread][:-1]
            if not _owners[thread]:
                del _owners[thread]
            if not _owners:
                _KERNELS.off()
                if _Module.__call__ is _call:
                    _Module.__call__ = _PLAIN_CALL  # type: ignore[method-assign]


def is_on(emulation: emulate) -> bool:
    """Whether some thread is inside of an emulation."""
    return any(emulation in emulations for emulations in list(_owners.values()))


def _own() -> emulate | None:
    """The emulation that this thread has entered, the innermost."""
    entered = _owners.get(threading.get_ident())
    return entered[-1] if entered else None


def _others() -> tuple[emulate, ...]:
    """The emulations in which this thread takes part, if it has entered none."""
    if is_apart() or threading.get_ident() in _owners:
        return ()
    found = [tuple(one for one in emulations if one.other_threads == "emulate") for emulations in list(_owners.values())]
    found = [emulations for emulations in found if emulations]
    if len(found) > 1:
        labels = ", ".join(one.arithmetic.label for emulations in found for one in emulations)
        raise Error(
            f"thread {threading.current_thread().name!r} has entered no emulation, and several are on in other threads ({labels}): "
            "enter the one you mean in this thread too (with emulation: …), or give the others other_threads='plain'"
        )
    return found[0] if found else ()


def _inside() -> emulate | None:
    """The emulation in which this thread is, the innermost."""
    modes: list[Any] = _get_current_dispatch_mode_stack()
    return next((mode for mode in reversed(modes) if hasattr(mode, "other_threads")), None)


def acting() -> emulate | None:
    """The emulation that computes the products of this thread; None where they are plain."""
    others = _others()
    return _inside() or (others[-1] if others else None)


@contextmanager
def _taking_part(emulations: tuple[emulate, ...]) -> Iterator[None]:
    with ExitStack() as stack:
        for one in emulations:
            stack.enter_context(one.here())
        yield


# -- calls of modules -------------------------------------------------------------------------------------------

_Module = torch.nn.Module
_PLAIN_CALL: Any = _Module.__call__


def _call(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    if _inside() is None:
        emulations = _others()
        if emulations:
            with _taking_part(emulations):
                return _PLAIN_CALL(self, *args, **kwargs)
    return _PLAIN_CALL(self, *args, **kwargs)


# -- operations -------------------------------------------------------------------------------------------------

_KEY: Any = torch._C.DispatchKey.BackendSelect
_BELOW = torch._C._dispatch_keyset_full_after(_KEY)
#: The keys of autograd, at which composite operations are still whole; in inference mode they come to the mode itself.
AUTOGRAD = ("AutogradCPU", "AutogradCUDA")


def _kernel(operator: Any) -> Callable[..., Any]:
    """An operation with products: in a thread outside of any emulation it enters that of the others; what comes here past an
    emulation is counted."""

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_apart() and not operations.is_traced(args):
            inside = _inside()
            emulations = _others() if inside is None else ()
            if emulations:
                with _taking_part(emulations):
                    return operator(*args, **kwargs)
            passed = inside or _own()
            if passed is not None:  # or the product would have come to it first
                passed.left.count(f"{operations.name(operator, args)}: called where PyTorch's dispatch modes are turned off")
                with apart():  # what it is made of is not counted again
                    return operator.redispatch(keys & _BELOW, *args, **kwargs)
        return operator.redispatch(keys & _BELOW, *args, **kwargs)

    return kernel


def _whole(operator: Any) -> Callable[..., Any]:
    """A composite operation that an emulation computes whole (:data:`~bitmma.torch.whole.WHOLE`), wherever it is called: in
    modules, in a backward pass, from C++."""
    computed = WHOLE[operator.overloadpacket]

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if operations.is_traced(args):
            return operator.decompose(*args, **kwargs)
        inside = _inside()
        if inside is not None:
            return computed(inside, operator.decompose, args, kwargs)
        emulations = _others()
        if not emulations:
            return operator.decompose(*args, **kwargs)
        with _taking_part(emulations):
            return operator(*args, **kwargs)

    return kernel


class _Kernels:
    """The kernels of all operations with products. They are never removed, as another thread may be about to run one, but
    covered while no emulation is on."""

    def __init__(self) -> None:
        self._libraries: dict[str, Library] = {}
        self._names: set[str] = set()
        self._under: list[tuple[str, str, str]] = []
        """Namespace, name and dispatch key of each kernel."""
        self._covers: list[Library] = []

    def on(self) -> None:
        for cover in self._covers:
            cover._destroy()
        self._covers.clear()
        for name in operations.watched() - self._names:
            self._names.add(name)
            space, _, rest = name.partition("::")
            packet, _, overload = rest.partition(".")
            try:
                operator = getattr(getattr(getattr(torch.ops, space), packet), overload or "default")
            except (AttributeError, RuntimeError):  # one that Python cannot call
                continue
            self._add(space, rest, "BackendSelect", _kernel(operator))
        for packet in WHOLE:
            for operator in (getattr(packet, overload) for overload in packet.overloads()):
                if operator.name() not in self._names:
                    self._names.add(operator.name())
                    for key in AUTOGRAD:
                        self._add(operator.namespace, operator.name().rpartition("::")[2], key, _whole(operator))

    def _add(self, space: str, rest: str, key: str, kernel: Callable[..., Any]) -> None:
        if space not in self._libraries:
            self._libraries[space] = Library(space, "IMPL")
        self._libraries[space].impl(rest, kernel, key, with_keyset=True)
        self._under.append((space, rest, key))

    def off(self) -> None:
        for space in self._libraries:
            cover: Any = Library(space, "IMPL")
            for of, rest, key in self._under:
                if of == space:
                    cover.m.impl(rest, key, fallthrough_kernel, False)
            self._covers.append(cover)


_KERNELS = _Kernels()
