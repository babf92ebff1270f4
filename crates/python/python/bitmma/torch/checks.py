"""PyTorch's own checks of the arguments of a product, which an emulation that computes the product itself would skip.

PyTorch checks inside of its kernels, and its kernels for meta tensors check less, in other words. So the kernel itself runs once for each
signature, on small tensors without content for which the checks come out the same. If it raises, it runs on such tensors of the real sizes,
whose error has the right numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import torch

from .apart import plain

aten = torch.ops.aten

#: Operations that are checked; the number of images among their first tensors, None for products of matrices. Scaled and grouped products are not
#: here: PyTorch's checks of those depend on the GPU that is installed.
CHECKED: dict[Any, int | None] = {
    getattr(aten, name): images
    for images, names in (
        (None, ("mm", "bmm", "addmm", "addmm_", "baddbmm", "baddbmm_", "_addmm_activation", "mv", "addmv", "addmv_", "dot", "vdot", "addr", "addr_")),
        (1, ("convolution", "_convolution")),
        (2, ("convolution_backward",)),
    )
    for name in names
    if hasattr(aten, name)
}

#: Where a convolution has its number of groups, by its number of tensors of images.
_GROUPS = {1: 8, 2: 10}


class _Like(NamedTuple):
    """What is checked of a tensor."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """Elements that are one in memory stay so, and take no more memory; None: row by row."""
    dtype: torch.dtype
    device: torch.device


def check(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises what PyTorch raises if it rejects the arguments of an operation of dense tensors."""
    if func.overloadpacket in CHECKED:
        _check(func, *map(_like, args), **{name: _like(one) for name, one in kwargs.items()})


def _like(one: Any) -> Any:
    """What is checked of an argument."""
    if isinstance(one, torch.Tensor):
        return _Like(one.shape, one.stride(), one.dtype, one.device)
    return tuple(one) if isinstance(one, list) else one


@lru_cache(maxsize=8192)
def _check(func: Any, *args: Any, **kwargs: Any) -> None:
    """Exceptions are not kept, so that a wrong call raises each time."""
    try:
        # tensors among these are results, which PyTorch resizes: it says so if they hold anything
        outs = {name: one._replace(shape=(0,), strides=None) if isinstance(one, _Like) else one for name, one in kwargs.items()}
        _check_small(func, *_small(func, args), **outs)
    except Exception:
        _run(func, args, kwargs)


@lru_cache(maxsize=8192)
def _check_small(func: Any, *args: Any, **kwargs: Any) -> None:
    _run(func, args, kwargs)


def _small(func: Any, args: tuple[Any, ...]) -> list[Any]:
    """The arguments with small sizes: those that were equal stay equal, and 0 and 1 stay, as they are. Of convolutions one image stays, and the
    channels where there is one group; the sizes of space count."""
    small = {0: 0, 1: 1}

    def rename(sizes: Any) -> tuple[int, ...]:
        return tuple(small.setdefault(size, len(small)) for size in sizes)

    images = CHECKED[func.overloadpacket]
    if images is None:
        return [one._replace(shape=rename(one.shape), strides=None) if isinstance(one, _Like) else one for one in args]
    channels = rename if args[_GROUPS[images]] == 1 else tuple
    found = list(args)
    batches = [size for one in args[:images] for size in one.shape[:1]]
    for place, one in enumerate(args[:3]):
        if isinstance(one, _Like):
            first = (min(1, *batches),) * bool(one.shape) if place < images else channels(one.shape[:1])
            found[place] = one._replace(shape=first + channels(one.shape[1:2]) + one.shape[2:], strides=None)
    if images == 2 and args[3] is not None:
        found[3] = channels(args[3])  # of the bias
    return found


def _run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], device: str | None = None) -> None:
    """Runs an operation on tensors without content; on meta tensors where PyTorch has it for other devices or dtypes only."""

    def made(one: Any) -> Any:
        if not isinstance(one, _Like):
            return one
        kind: dict[str, Any] = {"dtype": one.dtype, "device": device or one.device}
        return torch.empty(one.shape, **kind) if one.strides is None else torch.empty_strided(one.shape, one.strides, **kind)

    try:
        with plain():
            func(*map(made, args), **{name: made(one) for name, one in kwargs.items()})
    except NotImplementedError:
        if device is None:
            _run(func, args, kwargs, "meta")
