"""What one run of a model hands from layer to layer: kept for the first chip, compared with the first for the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from .difference import Difference, compare_sums
from .product import Compared, Operands, Product
from .tally import Tally, aside, incomparable, norm, place_of, tally
from .ways import Way


class Key(NamedTuple):
    """A tensor of a run, the same in every run."""

    kind: str
    """module, product, output, gradient or parameter."""
    name: str
    call: int
    """Which time it is that the module, or the operation in the module, runs."""


@dataclass
class Kept:
    """A tensor of the first chip's run."""

    tensor: torch.Tensor
    alias: Key | None
    """The product whose result it is."""
    leaf: bool = True
    """Of a module: whether it has none inside."""
    product: Product | None = None
    way: Way | None = None
    sums: torch.Tensor | None = None


class Reference:
    """A tensor of the run in FP64."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensors = {torch.float64: tensor.detach().clone()}
        self._norms: dict[torch.dtype, float] = {}

    def distance(self, tensor: torch.Tensor) -> float | None:
        """The norm of a tensor's distance over the norm of the reference; None where they cannot be compared."""
        exact = self._tensors[torch.float64]
        if tensor.shape != exact.shape or not tensor.is_floating_point():
            return None
        # the distance of 16 bits is far above what FP32 rounds
        wide = torch.float64 if tensor.element_size() >= 4 else torch.float32
        if wide not in self._tensors:
            self._tensors[wide] = exact.to(wide)
        if wide not in self._norms:
            self._norms[wide] = norm(self._tensors[wide])
        difference = norm(self._tensors[wide] - tensor.detach())  # which widens it
        return difference / self._norms[wide] if self._norms[wide] else 0.0


@dataclass
class Recorder:
    """One run. Without ``first`` it keeps its tensors; with it, it holds each against the first's when it is made."""

    label: str
    root: str
    """The name of the model's class, which paths leave out."""
    references: dict[Key, Reference] = field(default_factory=dict)
    first: Recorder | None = None
    kept: dict[Key, Kept] = field(default_factory=dict)
    compared: dict[Key, Compared] = field(default_factory=dict)
    instructions: dict[Key, str] = field(default_factory=dict)
    errors: dict[Key, float] = field(default_factory=dict)
    difference: Difference | None = None
    """The first product that differs from the first chip's."""
    module: tuple[Key, Tally] | None = None
    """The first module whose result differs."""
    @property
    def changed(self) -> bool:
        """Whether anything that was compared differs from the first chip's."""
        return any(one.rounded.differing or one.rounded.problem for one in self.compared.values())

    _calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    _last: tuple[Key, torch.Tensor, int] | None = None

    # -- what happens -----------------------------------------------------------------------------------

    @aside
    def product(
        self, product: Product, way: Way | None, operands: Operands | None, sums: torch.Tensor | None, result: torch.Tensor
    ) -> None:
        """A product was computed; told by the emulation."""
        layer = product.layer.removeprefix(self.root).lstrip(".") if self.root else product.layer
        product = replace(product, layer=layer)
        key = self._key("product", f"{layer}:{product.operation}{':backward' if product.backward else ''}")
        self.instructions[key] = product.instruction
        if self.first is None:
            kept = Kept(result.detach().clone(), None, product=product, way=way, sums=sums)
            self.kept[key] = kept
        else:
            self.compared[key] = self._compare_product(key, product, way, operands, sums, result)
        self._last = None if result.is_inference() else (key, result, result._version)

    @aside
    def tensors(self, kind: str, name: str, value: Any, leaf: bool = True) -> None:
        """A module, or the model, handed these over."""
        found = [one for one in pytree.tree_leaves(value) if isinstance(one, torch.Tensor)]
        for place, tensor in enumerate(found):
            self.tensor(self._key(kind, name if place == 0 else f"{name}[{place}]"), tensor, leaf)

    def tensor(self, key: Key, tensor: torch.Tensor, leaf: bool = True) -> None:
        """One tensor."""
        if tensor.layout != torch.strided:
            return
        alias = self._alias(tensor)
        if self.first is None:
            whole = tensor.detach().clone() if alias is None else self.kept[alias].tensor.reshape(tensor.shape)
            self.kept[key] = Kept(whole, alias, leaf)
        else:
            self.compared[key] = Compared(self._compare_tensor(key, tensor, alias), None)
        if (reference := self.references.get(key)) is not None:
            distance = reference.distance(tensor)
            if distance is not None:
                self.errors[key] = distance

    # -- against the first ------------------------------------------------------------------------------

    def _compare_product(
        self,
        key: Key,
        product: Product,
        way: Way | None,
        operands: Operands | None,
        sums: torch.Tensor | None,
        result: torch.Tensor,
    ) -> Compared:
        assert self.first is not None
        kept = self.first.kept.get(key)
        if kept is None:
            return Compared(incomparable(f"not on {self.first.label}"), None)
        ways = kept.way, way
        if ways[0] is None or ways[1] is None or operands is None or kept.sums is None or sums is None:
            return Compared(tally(kept.tensor, result), None)
        if kept.sums.shape != sums.shape:
            return Compared(incomparable("of another shape"), None)
        # the operands of the first product that differs are the same on both chips
        wanted = operands if self.difference is None else None
        found = compare_sums((kept.sums, sums), (kept.tensor, result), product, (ways[0], ways[1]), wanted)
        if self.difference is None:
            self.difference = found.difference
        return found

    def _compare_tensor(self, key: Key, tensor: torch.Tensor, alias: Key | None) -> Tally:
        assert self.first is not None
        kept = self.first.kept.get(key)
        if kept is None:
            return incomparable(f"not on {self.first.label}")
        if alias is not None and alias == kept.alias and not self.compared[alias].rounded.problem:
            found = self.compared[alias].rounded
            if found.first is not None:
                place = 0
                for index, size in zip(found.first, self.first.kept[alias].tensor.shape):
                    place = place * size + index
                found = replace(found, first=place_of(place, tensor.shape))
        else:
            found = tally(kept.tensor, tensor)
        if key.kind == "module" and self.module is None and (found.differing or found.problem):
            self.module = key, found
        return found

    # -- names ------------------------------------------------------------------------------------------

    def _key(self, kind: str, name: str) -> Key:
        call = self._calls[kind, name]
        self._calls[kind, name] += 1
        return Key(kind, name, call)

    def _alias(self, tensor: torch.Tensor) -> Key | None:
        """The last product, if this is its result, unchanged."""
        if self._last is None or tensor.is_inference():
            return None
        key, result, version = self._last
        same = tensor.data_ptr() == result.data_ptr() and tensor.numel() == result.numel() and tensor.dtype == result.dtype
        unchanged = result._version == version == tensor._version
        return key if same and unchanged and tensor.is_contiguous() and result.is_contiguous() else None
