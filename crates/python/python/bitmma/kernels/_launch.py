"""PTX from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._bitmma import Ptx as _Ptx
from .._lazy import numpy as np
from ..errors import PtxError
from ._memory import Memory


class Launched(NamedTuple):
    """What a launch did."""

    #: Instructions of threads that ran.
    instructions: int
    #: Instructions whose results on a GPU are not known for sure: line, form, why.
    doubts: list[tuple[int, str, str]]
    #: Lines of products and of the additions they are fused with.
    fused: list[tuple[int, int]]
    #: Lines of operations on constants that are computed when ptxas compiles.
    folded: list[int]


def _dimensions(name: str, sizes: Any) -> tuple[int, int, int]:
    """A grid or a block: an integer, or one to three of them."""
    if isinstance(sizes, int) or (hasattr(sizes, "__index__") and not hasattr(sizes, "__len__")):
        sizes = (sizes,)
    given = tuple(int(size) for size in sizes)
    if not 1 <= len(given) <= 3 or any(not 0 < size < 1 << 32 for size in given):
        raise PtxError(f"{name} must be one to three positive integers, not {sizes!r}")
    x, y, z = given + (1,) * (3 - len(given))
    return x, y, z


def launch_ptx(
    text: str | bytes,
    grid: int | Sequence[int],
    args: Sequence[Any],
    *,
    entry: str | None = None,
    block: int | Sequence[int] | None = None,
    target: str | None = None,
    mode: str = "gpu",
    allow_doubtful: bool = False,
    shared: int | None = None,
    loop_limit: int | None = None,
    threads: int | None = None,
) -> Launched:
    """Runs an entry of a PTX text, as a GPU would, and writes to its arrays in place.

    Arrays (NumPy, PyTorch on the CPU) are buffers, Python's numbers scalars, ``None`` is a null pointer. ``block`` is that of
    ``.reqntid`` where the entry has one. ``mode="gpu"`` runs what ptxas makes of the text, ``"text"`` the text as written.
    A kernel whose results on a GPU are not known for sure is refused unless ``allow_doubtful``; with it, blocks run one
    after the other, and may touch the same addresses. ``shared`` is the size of dynamic shared memory, by default all that
    the architecture has; ``loop_limit`` the turns that the loops of a warp may make; ``threads`` those of this machine.
    """
    if isinstance(text, bytes):
        text = text.decode()
    ptx = _Ptx(text)
    sizes = _dimensions("grid", grid)
    memory = Memory()
    given = [memory.argument(index, argument) for index, argument in enumerate(args)]
    about = ptx.describe(entry, target, mode)
    missing = about["parameters"][len(given) :]
    # Triton's kernels end with two pointers to scratch memory, which its launcher fills in
    if len(missing) == 2 and all(kind == "pointer" for _, kind in missing):
        given += [None, None]
    arguments, buffers, names = memory.buffers(given)
    written, instructions = ptx.launch(
        sizes,
        arguments,
        buffers,
        names,
        entry=entry,
        block=None if block is None else _dimensions("block", block),
        target=target,
        mode=mode,
        allow_doubtful=allow_doubtful,
        shared=shared,
        loop_limit=loop_limit,
        threads=threads,
    )
    memory.write_back(buffers, written)
    return Launched(instructions, about["doubts"], about["fused"], about["folded"])
