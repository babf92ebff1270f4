"""What is known of an operation: from its schema, and from PyTorch's table of operations."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import torch

from .. import operations
from . import device_checks, fused
from .own import OWN

class Facts(NamedTuple):
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
    is_indexed: bool
    """Whether it reads or writes where indices say, on the device of its first tensor."""
    products: bool
    """Whether it multiplies matrices."""


@lru_cache(maxsize=None)
def facts(func: Any) -> Facts:
    """Of an operation."""
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
    random = torch.Tag.nondeterministic_seeded in func.tags and name not in OWN
    given_one = _given_one(func) if random and generator is None else None
    on_cpu = next((place for place, argument in enumerate(schema.arguments) if argument.name == "scalars" and str(argument.type) == "Tensor"), -1)
    is_indexed = "index" in name and name in device_checks.MIXED
    return Facts(name, tuple(written), generator, random, given_one, device_checks.numbers(func.name()), on_cpu, is_indexed, operations.has_products(func.name()))


def _given_one(func: Any) -> Any:
    """The same operation with a generator."""
    if func.overloadpacket is torch.ops.aten.native_dropout:
        return fused.dropout
    names = [argument.name for argument in func._schema.arguments]
    for overload in func.overloadpacket.overloads():
        other = getattr(func.overloadpacket, overload)
        theirs = [argument.name for argument in other._schema.arguments]
        if "generator" in theirs and [one for one in theirs if one != "generator"] == names:
            return other
    return None
