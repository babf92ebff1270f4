"""Computes each operation that an emulation leaves to the host, by the tables of this package, or by PyTorch."""

from __future__ import annotations

import inspect
from typing import Any, Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ...errors import HostDependent, OptionError
from ..account import Account, _floating, base_name, kind_of
from ..._lock import LOCK
from ..operations import composite, is_dense
from . import norms, optimizers, other, pooling, products, random, sums  # noqa: F401  they fill the table
from .alike import is_move, is_single
from .elementwise import TABLE
from .native import CODE, canonical

__all__ = ["HOSTS", "Portable"]

#: What the option ``host`` may be; the first is the default.
HOSTS = ("portable", "strict", "torch")

Plan = Callable[[Any, "tuple[Any, ...]", "dict[str, Any]"], Any]


def is_as_it_is(func: Any) -> bool:
    """Whether an operation only moves, compares or describes: PyTorch computes it, alike on every machine."""
    if not isinstance(func, torch._ops.OpOverload):
        return True
    if func.namespace != "aten":
        return kind_of(func) == "exact" or func.namespace in ("profiler", "prim")
    packet, name = func.overloadpacket.__name__, base_name(func)
    described = packet in TABLE or name in TABLE or name.startswith("_foreach_") or name in other.DECOMPOSED
    return not described and is_move(func, name) and not is_single(name, (), {}) and kind_of(func) != "random"


class Portable:
    """Computes the operations of the host."""

    def __init__(self, host: str, account: Account, threads: int | None = None) -> None:
        if host not in HOSTS:
            raise OptionError(f"host is {host!r}; one of {', '.join(map(repr, HOSTS))}")
        self._host, self._account = host, account
        self._plans: dict[Any, Plan] = {}
        self._multiply = products.Own(self, threads)

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of an operation."""
        plan = self._plans.get(func)
        if plan is None:
            plan = self._plan(func)
            plan = self._plans[func] = _one_at_a_time(plan) if kind_of(func) == "random" else plan
        return plan(func, args, kwargs)

    def _plan(self, func: Any) -> Plan:
        """How an operation is computed, as far as its name tells."""
        if self._host == "torch" or is_as_it_is(func):
            return _as_it_is
        name = base_name(func)
        if func.namespace != "aten":
            return self._left
        packet = func.overloadpacket.__name__
        if packet in TABLE or name in TABLE:
            return _Own(self, func, packet if packet in TABLE else name)
        if name.startswith("_foreach_"):
            return self._each
        if name in other.DECOMPOSED:
            return self._decomposed
        if name in ("copy", "_to_copy", "to"):
            return self._converted
        if is_move(func, name) and not is_single(name, (), {}):
            return _as_it_is
        return self._single if is_single(name, (), {}) else self._left

    def _single(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One operation of IEEE 754 for each element."""
        found = func(*args, **kwargs)
        if type(found) is torch.Tensor:
            return self._clean(func, found)
        if isinstance(found, (tuple, list)):
            for one in found:
                if isinstance(one, torch.Tensor):
                    self._clean(func, one)
            return found
        return self._clean(func, found) if isinstance(found, torch.Tensor) else found

    def _converted(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A conversion; one to the dtype that it comes from is a move."""
        found = func(*args, **kwargs)
        tensors = [one for one in args if isinstance(one, torch.Tensor)]  # a number is converted, too
        return found if tensors and tensors[-1].dtype == found.dtype else self._clean(func, found)

    def _clean(self, func: Any, found: torch.Tensor) -> torch.Tensor:
        if found.dtype in CODE and found.device.type == "cpu" and found.layout is torch.strided and not found.is_nested:
            return canonical(found)
        if found.is_complex() or (found.dtype in CODE and found.device.type != "meta"):
            self.count(func)
        return found

    def _left(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results_only: bool = False) -> Any:
        """What nobody has described: PyTorch's own. Of integers it is exact; so is what is made integers first."""
        found = func(*args, **kwargs)
        results = found if isinstance(found, (tuple, list)) else (found,)
        if all(isinstance(one, torch.Tensor) and not one.numel() for one in results):
            return found  # nothing was computed
        if kind_of(func) == "random" or _floating(results) or (not results_only and _floating(args)):
            self.count(func)
        return found

    def product(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A product that the emulation leaves alone."""
        operation = products.TABLE.get(getattr(func, "overloadpacket", None))
        if operation is not None and self.multiplies(*args):
            given, outs = _without_outs(func, kwargs)
            found = operation(self._multiply, *args, **given)
            if found is not NotImplemented:
                return _put(func, args, outs, found)
        self.own_product(func, args)
        return func(*args, **kwargs)

    def multiplies(self, *operands: Any) -> bool:
        """Whether products of such operands that are left alone are computed here."""
        tensors = [one for one in operands if isinstance(one, torch.Tensor)]
        return self._host != "torch" and is_dense(operands) and all(one.dtype in CODE and one.device.type == "cpu" for one in tensors)

    def own_product(self, func: Any, args: tuple[Any, ...]) -> None:
        """Counts a product that PyTorch computes; of integers it is exact."""
        if _floating(args) and not any(isinstance(one, torch.Tensor) and one.device.type == "meta" for one in args):
            self.count(func)

    def count(self, func: Any) -> None:
        """An operation whose bits may depend on the machine."""
        if self._host == "torch":
            return
        name = base_name(func)
        if self._host == "strict":
            raise HostDependent(f"{name} may give other bits on another machine; host='portable' leaves it to PyTorch and counts it")
        with LOCK:
            self._account.machine[name] += 1

    def inside(self) -> TorchDispatchMode:
        """What is done inside is computed here."""
        return _Inside(self)

    def _decomposed(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given, outs = _without_outs(func, kwargs)
        with self.inside():
            found = other.decomposed(func, args, given)
        return self._left(func, args, kwargs) if found is NotImplemented else _put(func, args, outs, found)

    def _each(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with self.inside():
            return other.each(func.overloadpacket.__name__, args, kwargs)


class _Own:
    """An operation of the table."""

    def __init__(self, portable: Portable, func: Any, name: str) -> None:
        self._portable, self._name, self._function = portable, name, TABLE[name]
        self._in_place = func.overloadpacket.__name__.endswith("_") or func.overloadpacket.__name__.startswith("__i")
        taken = inspect.signature(self._function).parameters
        self._outs = tuple(one.name for one in func._schema.arguments if one.is_out and one.name not in taken)

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if is_single(self._name, args, kwargs):
            return self._portable._single(func, args, kwargs)
        given = {name: one for name, one in kwargs.items() if name not in self._outs} if self._outs else kwargs
        found = self._function(*args, **given)
        if found is NotImplemented:
            # of integers, and with other arguments, some are exact
            return func(*args, **kwargs) if is_move(func, self._name) else self._portable._left(func, args, kwargs, results_only=True)
        if self._in_place and found is not None:
            return _into(args[0], found)
        return _put(func, args, [kwargs[name] for name in self._outs], found) if self._outs else found


def _without_outs(func: Any, kwargs: dict[str, Any]) -> tuple[dict[str, Any], list[torch.Tensor]]:
    names = [one.name for one in func._schema.arguments if one.is_out]
    return {name: one for name, one in kwargs.items() if name not in names}, [kwargs[name] for name in names]


def _put(func: Any, args: tuple[Any, ...], outs: list[torch.Tensor], found: Any) -> Any:
    """The result where it is wanted."""
    if func.overloadpacket.__name__.endswith("_"):
        return _into(args[0], found)
    if not outs:
        return found
    results = found if isinstance(found, tuple) else (found,)
    for out, one in zip(outs, results):
        if out.shape != one.shape:
            out.resize_(one.shape)
        _into(out, one)
    return outs[0] if len(outs) == 1 else tuple(outs)


def _into(place: torch.Tensor, found: torch.Tensor) -> torch.Tensor:
    """A result where it is wanted, if PyTorch converts it to the dtype of that."""
    if not torch.can_cast(found.dtype, place.dtype):
        name = str(found.dtype)[6:].capitalize(), {torch.int64: "Long", torch.int32: "Int"}.get(place.dtype, str(place.dtype)[6:].capitalize())
        raise RuntimeError(f"result type {name[0]} can't be cast to the desired output type {name[1]}")
    return place.copy_(found)


def _one_at_a_time(plan: Plan) -> Plan:
    """In one thread at a time: some draws set the state of the generator, which would take back those of another thread."""

    def alone(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with LOCK:
            return plan(func, args, kwargs)

    return alone


def _as_it_is(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return func(*args, **kwargs)


class _Inside(TorchDispatchMode):
    """While an operation is computed by others, those are computed here, too."""

    def __init__(self, portable: Portable) -> None:
        super().__init__()
        self._portable = portable

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
            with self:
                return composite(func)(*args, **kwargs)
        return self._portable(func, args, kwargs)
