"""Inputs of a graph that share memory: what is on the GPU shares it in the same way, and a graph that writes to its inputs runs with no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Callable

import torch
from torch._guards import TracingContext

from ...errors import Error

#: Which inputs share memory, and from where on each uses it.
Shared = tuple[tuple[tuple[int, int], ...], ...]


class Copies:
    """Fake tensors on a GPU for those of the CPU: they share memory, and are views of each other, as those do."""

    def __init__(self, tensors: list[torch.Tensor], device: torch.device) -> None:
        self._device = device
        whole = [*tensors, *(one._base for one in tensors if one._base is not None)]
        self._users = Counter(_memory(one) for one in whole)
        self._storages: dict[int, torch.UntypedStorage] = {}
        self._bases: dict[int, torch.Tensor] = {}
        self._have_views = {id(one._base) for one in tensors if one._base is not None}

    def of(self, one: torch.Tensor) -> torch.Tensor:
        """That of a tensor."""
        base = one._base
        if base is None and id(one) in self._have_views:
            return self._as_base(one)
        if base is None or self._users[_memory(one)] <= 2:  # itself and its base
            return self._alone(one)
        self._as_base(base)
        with torch.enable_grad():
            view = self._bases[id(base)].as_strided(one.shape, one.stride(), one.storage_offset())
        return view.requires_grad_() if one.requires_grad else view

    def _as_base(self, one: torch.Tensor) -> torch.Tensor:
        if id(one) not in self._bases:
            self._bases[id(one)] = self._alone(one)
        return self._bases[id(one)]

    def _alone(self, one: torch.Tensor) -> torch.Tensor:
        key = _memory(one)
        if self._users[key] <= 1 + (one._base is not None):
            found = torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device=self._device)
            if one.storage_offset() != 0 and one.numel() != 0:  # what is before it can be reached by as_strided
                whole = torch.empty(one.storage_offset() + _reach(one), dtype=one.dtype, device=self._device)
                found = whole.as_strided(one.shape, one.stride(), one.storage_offset()).detach()
            return found.requires_grad_(one.requires_grad)
        if key not in self._storages:
            self._storages[key] = torch.empty(one.untyped_storage().nbytes(), dtype=torch.uint8, device=self._device).untyped_storage()
        found = torch.empty(0, dtype=one.dtype, device=self._device)
        with torch.no_grad():
            found.set_(self._storages[key], one.storage_offset(), one.shape, one.stride())
        return found.requires_grad_(one.requires_grad)


def _memory(one: torch.Tensor) -> int:
    return one.untyped_storage()._cdata


def _shared(args: Sequence[Any]) -> Shared:
    """Of tensors that share memory the places in ``args``, and where they are in it."""
    found: dict[int, list[tuple[int, int]]] = {}
    for place, one in enumerate(args):
        if isinstance(one, torch.Tensor) and one.layout == torch.strided and one.numel():
            found.setdefault(_memory(one), []).append((place, int(one.storage_offset())))
    groups = [group for group in found.values() if len(group) > 1 and _overlap([args[place] for place, _ in group])]
    return tuple(map(tuple, groups))


def _overlap(tensors: list[torch.Tensor]) -> bool:
    """Whether two of these, which have one memory, may have a byte in common."""
    spans = sorted((one.storage_offset() * one.element_size(), (one.storage_offset() + _reach(one)) * one.element_size()) for one in tensors)
    return any(left[1] > right[0] for left, right in zip(spans, spans[1:]))


def _reach(one: torch.Tensor) -> int:
    """Elements from its first to behind its last."""
    return 1 + sum((size - 1) * stride for size, stride in zip(one.shape, one.stride()))


def checked(call: Callable[..., Any], given: Sequence[Any]) -> Callable[..., Any]:
    """A graph that was just compiled for these inputs: where it writes to some, an error for inputs that share memory otherwise, of which PyTorch's guards
    know nothing."""
    context = TracingContext.try_get()
    about = getattr(context, "fw_metadata", None)
    if about is None or not any(one.mutates_data or one.mutates_metadata for one in about.input_info):
        return call
    expected = _shared(given)

    def run(*args: Any) -> Any:
        found = _shared(args)
        if found != expected:
            raise Error(
                f"the model writes to its inputs, {_words(found)}; it was compiled with inputs {_words(expected)}: "
                "give each a memory of its own (clone()), or call torch._dynamo.reset() first, so that it is compiled anew"
            )
        return call(*args)

    return run


def _words(shared: Shared) -> str:
    groups = [" and ".join(f"{place} (from element {offset} on)" for place, offset in group) for group in shared]
    return f"of which {'; '.join(groups)} share memory" if groups else "of which none share memory"
