"""Emulations that are on, and the operations of threads that have entered none.

PyTorch's modes belong to one thread. While an emulation is on, calls of modules, backward passes and all operations that compute look
whether their thread is inside of an emulation; if not, they enter it for as long as they run. Operations do so by a kernel under a dispatch key
that they pass in every thread: BackendSelect, below autograd, modes and subclasses of tensors, above the kernels of devices.
Composite operations that an emulation computes whole have theirs above autograd, too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from inspect import isfunction
from typing import TYPE_CHECKING, Any, Callable

import torch
from torch.library import Library, fallthrough_kernel
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from ..errors import Error
from . import graph, operations, tasks
from .apart import apart, is_apart
from .._lock import LOCK
from .portable.host import is_as_it_is
from .pretend.memory import on_gpu
from .pretend.state import is_the_cpus
from .whole import WHOLE

if TYPE_CHECKING:
    from .emulation import emulate

_owners: dict[threading.Thread, tuple[emulate, ...]] = {}
"""Emulations by the thread that entered them, the innermost last. A forked child keeps the entries of its parent's threads: so keys are
thread objects, not identifiers, which the child may give to new threads."""


@contextmanager
def owned(emulation: emulate) -> Iterator[None]:
    """This thread has entered an emulation; other threads take part in it."""
    thread = threading.current_thread()
    with LOCK:
        emulation.begins(thread)
        if not _owners:
            _KERNELS.on()
            for calls in _CALLS:
                calls.on()
        _owners[thread] = (*_owners.get(thread, ()), emulation)
    try:
        yield
    finally:
        # a forked child closes the frames of its parent's other threads, but still takes part in their emulations
        if threading.get_ident() == thread.ident:
            _left(emulation, thread)


def _left(emulation: emulate, thread: threading.Thread) -> None:
    """Removes the entry of a thread, if there is one."""
    with LOCK:
        if emulation not in _owners.get(thread, ()):
            return
        _owners[thread] = tasks.without(_owners[thread], emulation)
        if not _owners[thread]:
            del _owners[thread]
        if not _owners:
            _KERNELS.off()
            for calls in _CALLS:
                calls.off()
        emulation.ends(thread)


def left_elsewhere(emulation: emulate) -> Error:
    """The error for an emulation that this thread leaves but has not entered. It ends for all threads but the one that entered it, whose modes
    PyTorch removes only there."""
    thread = next((thread for thread, emulations in list(_owners.items()) if emulation in emulations), None)
    entered, stays = "not entered in any thread that still runs", ""
    if thread is not None:
        _left(emulation, thread)
        entered = f"entered in thread {thread.name!r}"
        stays = f". Products of thread {thread.name!r} stay emulated until it ends; those of other threads no longer are"
    return Error(
        f"the emulation of {emulation.arithmetic.label} was {entered} and left in thread {threading.current_thread().name!r}: "
        f"leave it in the thread that entered it{stays}"
    )


def _own() -> emulate | None:
    """The emulation that this thread has entered, the innermost."""
    entered = _owners.get(threading.current_thread())
    return entered[-1] if entered else None


def _others() -> tuple[emulate, ...]:
    """The emulations in which this thread takes part, if it has entered none."""
    if is_apart() or threading.current_thread() in _owners:
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


def takes_part(emulation: emulate) -> bool:
    """Whether this thread has entered the emulation, or takes part in it as one that has entered none."""
    entered = _owners.get(threading.current_thread())
    if entered:
        return emulation in entered
    return emulation.other_threads == "emulate" and any(emulation in others for others in list(_owners.values()))


def _inside() -> emulate | None:
    """The emulation in which this thread is, the innermost."""
    modes: list[Any] = _get_current_dispatch_mode_stack()
    return next((mode for mode in reversed(modes) if hasattr(mode, "other_threads")), None)


def passed() -> emulate | None:
    """The emulation whose handler has passed on an operation of this thread."""
    return None if is_apart() or _inside() is not None else _own()


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


# -- calls of modules, and backward passes ----------------------------------------------------------------------


class _Calls:
    """A function of PyTorch that is called from Python: a thread outside of any emulation enters that of the others for it."""

    def __init__(self, owner: Any, name: str) -> None:
        self._owner, self._name = owner, name
        plain: Any = vars(owner)[name]
        self._plain, of_class = plain, not isfunction(plain)

        def run(*args: Any, **kwargs: Any) -> Any:
            # a method of a class is given that first
            return plain.__get__(None, args[0])(*args[1:], **kwargs) if of_class else plain(*args, **kwargs)

        @wraps(getattr(owner, name))
        def call(*args: Any, **kwargs: Any) -> Any:
            emulations = _others() if _inside() is None else ()
            since = None if graph.TELLS else graph.before((args, kwargs))
            with _taking_part(emulations):
                result = run(*args, **kwargs)
            if since is not None:
                graph.returned(emulations or _owners.get(threading.current_thread(), ()), since, result)
            return result

        self._call = classmethod(call) if of_class else call

    def on(self) -> None:
        setattr(self._owner, self._name, self._call)

    def off(self) -> None:
        if vars(self._owner)[self._name] is self._call:
            setattr(self._owner, self._name, self._plain)


#: PyTorch's code of a backward pass takes other operations where a mode is on, so that its operations must not enter it one by one.
_CALLS = (
    _Calls(torch.nn.Module, "__call__"),
    _Calls(torch.autograd.Function, "apply"),
    _Calls(torch.autograd, "_engine_run_backward"),
    _Calls(torch.autograd.graph, "_engine_run_backward"),
)


# -- operations -------------------------------------------------------------------------------------------------

_KEY: Any = torch._C.DispatchKey.BackendSelect
_BELOW = torch._C._dispatch_keyset_full_after(_KEY)
#: The keys at which composite operations are still whole: those of autograd, and in inference mode, which passes these by, the one above.
WHOLE_AT = ("AutogradCPU", "AutogradCUDA", "BackendSelect")


class _Here(threading.local):
    keys: Any = None
    """Those of an operation that is on its way to its own kernel for the second time."""


_here = _Here()
_NUMBERS = (int, float, complex, bool)


def _kernel(operator: Any) -> Callable[..., Any]:
    """An operation that computes: in a thread outside of any emulation it enters that of the others; a product that comes here past
    an emulation is counted. Otherwise the kernel of the device runs.

    A number that PyTorch has made a tensor, as in ``x + 1``, comes here as a number again. Operations to which PyTorch lets one give a number
    instead of a tensor are called once more for it: the kernel to which this comes runs while PyTorch takes numbers.
    """
    has_products, is_emulated = operations.has_products(operator.name()), operations.is_emulated(operator)
    takes_numbers = torch._C._should_allow_numbers_as_tensors(operator.overloadpacket.__name__)
    places = [place for place, one in enumerate(operator._schema.arguments) if str(one.type) == "Tensor" and not one.kwarg_only]
    device = operator._handle.redispatch_boxed
    if operator.overloadpacket is torch.ops.aten.addr_:
        device = _checked(device)

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if _here.keys is not None:
            keys, _here.keys = _here.keys, None
            return device(keys & _BELOW, *args, **kwargs)
        numbers = False
        for place in places:
            if type(args[place]) in _NUMBERS:
                numbers = True
        if numbers and not takes_numbers:
            numbers, args = False, _with_tensors(args, places)
        if is_emulated and not is_apart():
            graph.check(operator, args)
        if _owners and not is_apart() and not operations.is_traced(args) and not (is_the_cpus() and not on_gpu((*args, *kwargs.values()))):
            inside = _inside()
            emulations = _others() if inside is None else ()
            if emulations:
                since = graph.before(args)
                with _taking_part(emulations):
                    result = operator(*args, **kwargs)
                graph.computed(emulations, since, result)
                return result
            by = inside or _own()
            if by is not None and by._here.records:
                by._here.records = False
                with by.again():
                    return operator(*args, **kwargs)
            if by is not None and has_products and not on_gpu(args):  # or it would have come to the emulation first
                by.left.count(f"{operations.name(operator, args)}: called where PyTorch's dispatch modes are turned off")
                with apart():  # what it is made of is not counted again
                    return kernel(keys, *args, **kwargs)
        if not numbers:
            if not _owners:
                _KERNELS.idle()
            return device(keys & _BELOW, *args, **kwargs)
        _here.keys = keys
        try:
            result = operator._op_dk(_KEY, *args, **kwargs)
        finally:
            _here.keys = None
        if not _owners:
            _KERNELS.idle()
        return result

    return kernel


def _checked(device: Callable[..., Any]) -> Callable[..., Any]:
    """``addr_``, with what PyTorch checks of it only where no kernel of Python comes between its own."""

    def addr_(keys: Any, c: torch.Tensor, x: torch.Tensor, y: torch.Tensor, **kwargs: Any) -> Any:
        if x.dim() == y.dim() == 1 and c.dim() != 2:
            raise RuntimeError(f"2D tensor expected, got {c.dim()}D tensor for input")
        if x.dim() == y.dim() == 1 and c.shape != (*x.shape, *y.shape):
            raise RuntimeError(f"size mismatch, input: {list(c.shape)}, v1: {list(x.shape)}, v2: {list(y.shape)}")
        return device(keys, c, x, y, **kwargs)

    return addr_


def _with_tensors(args: tuple[Any, ...], places: list[int]) -> tuple[Any, ...]:
    """The arguments with tensors for numbers, of the dtype in which PyTorch computes."""
    with apart():
        dtype = torch.result_type(args[places[0]], args[places[-1]])
        return tuple(torch.tensor(one, dtype=dtype) if place in places and type(one) in _NUMBERS else one for place, one in enumerate(args))


def _whole(operator: Any) -> Callable[..., Any]:
    """A composite operation that an emulation computes whole (:data:`~bitmma.torch.whole.WHOLE`), wherever it is called: in
    modules, in a backward pass, from C++."""
    computed, composite = WHOLE[operator.overloadpacket], operations.composite(operator)

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if operations.is_traced(args):
            return operator.decompose(*args, **kwargs)
        if on_gpu(args) or is_the_cpus():
            return composite(*args, **kwargs)
        inside = _inside()
        if inside is not None:
            return computed(inside, composite, args, kwargs)
        emulations = _others()
        if not emulations:
            return composite(*args, **kwargs)
        with _taking_part(emulations):
            return operator(*args, **kwargs)

    return kernel


def _computes(operator: Any) -> bool:
    """Whether an emulation does something about an operation without products."""
    return not is_as_it_is(operator) and (operator.namespace == "aten" or operator.namespace not in operations.OWN)


#: Operations after which kernels are covered that no emulation needs: as many as take about as long as that.
IDLE = 1000


class _Kernels:
    """The kernels of all operations that compute. They are never removed, as another thread may be about to run one, but covered some time
    after the last emulation: if no other thread runs then, as PyTorch changes the table of an operation without regard to threads that read it."""

    def __init__(self) -> None:
        self._libraries: dict[str, Library] = {}
        self._names: set[str] = set()
        self._under: list[tuple[str, str, str]] = []
        """Namespace, name and dispatch key of each kernel."""
        self._covers: list[Library] = []
        self._idle = 0
        """Operations that came here since the last emulation."""

    def on(self) -> None:
        self.look()
        for name in set(torch._C._dispatch_get_all_op_names()) - self._names:
            self._names.add(name)
            space, _, rest = name.partition("::")
            packet, _, overload = rest.partition(".")
            try:
                operator = getattr(getattr(getattr(torch.ops, space), packet), overload or "default")
            except (AttributeError, RuntimeError):  # one that Python cannot call
                continue
            if operator.overloadpacket in WHOLE:
                for key in WHOLE_AT:
                    self._add(space, rest, key, _whole(operator))
            elif operations.is_leaf(name) and (operations.has_products(name) or _computes(operator)):
                self._add(space, rest, "BackendSelect", _kernel(operator))

    def _add(self, space: str, rest: str, key: str, kernel: Callable[..., Any]) -> None:
        if space not in self._libraries:
            self._libraries[space] = Library(space, "IMPL")
        self._libraries[space].impl(rest, kernel, key, with_keyset=True)
        self._under.append((space, rest, key))

    def off(self) -> None:
        self._idle = 0

    def look(self) -> None:
        """From now on operations come here again."""
        self._idle = 0
        for cover in self._covers:
            cover._destroy()
        self._covers.clear()

    def idle(self) -> None:
        """An operation came here while no emulation is on."""
        self._idle += 1
        if self._idle >= IDLE and threading.active_count() == 1:
            self._cover()

    def _cover(self) -> None:
        for space in self._libraries:
            cover: Any = Library(space, "IMPL")
            for of, rest, key in self._under:
                # at the keys of autograd PyTorch would no longer decompose composite operations
                if of == space and key == "BackendSelect":
                    cover.m.impl(rest, key, fallthrough_kernel, False)
            self._covers.append(cover)


_KERNELS = _Kernels()


def look_at_operations() -> None:
    """Products of a backward pass after its emulation come to the kernels of operations, too."""
    with LOCK:
        _KERNELS.look()
