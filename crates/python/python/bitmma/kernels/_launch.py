"""PTX from anywhere."""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._bitmma import Ptx as _Ptx
from .._lazy import numpy as np
from ..errors import DoubtfulKernel, KernelError, PtxError, UnsupportedPtx
from . import _sass
from ._memory import Memory
from ._trace import Trace, Watch


@dataclass(frozen=True)
class Launched:
    """What a launch did."""

    #: Instructions of threads that ran.
    instructions: int
    #: Instructions whose results on a GPU are not known for sure: line, form, why.
    doubts: list[tuple[int, str, str]]
    #: Lines of products and of the additions they are fused with.
    fused: list[tuple[int, int]]
    #: Lines of operations on constants that are computed when ptxas compiles.
    folded: list[int]
    #: What ``trace=`` asked for; None where nothing was.
    trace: Trace | None = None
    #: Of an autotuned kernel each configuration that ran, and whether its results are the bits of the first.
    configurations: list[tuple[Any, bool]] = field(default_factory=list)
    #: How it is known what is fused: "asked" (ptxas compiled this text), "predicted" (by a rule), "off" (compiled without fusion),
    #: "text" (nothing is: the text as written).
    fusion: str = "text"
    #: The ptxas that was asked, as in "ptxas 12.9.86"; of "predicted" why none was, unless ``fusion="predict"``.
    compiler: str = ""
    #: What variables of the text hold that the kernel wrote to: their bytes.
    variables: dict[str, bytes] = field(default_factory=dict)


def _dimensions(name: str, sizes: Any) -> tuple[int, int, int]:
    """A grid or a block: an integer, or one to three of them."""
    if type(sizes) is int and 0 < sizes < 1 << 32:
        return sizes, 1, 1
    try:
        given = tuple(map(operator.index, sizes if isinstance(sizes, Iterable) else (sizes,)))
    except TypeError:
        given = ()
    if not 1 <= len(given) <= 3 or any(not 0 < size < 1 << 32 for size in given):
        raise PtxError(f"{name} must be one to three positive integers, not {sizes!r}")
    x, y, z = given + (1,) * (3 - len(given))
    return x, y, z


def _source(text: str, line: int) -> str:
    """The line of the kernel's source that a line of the text was compiled from, where the text has it: ``kernels.py, line 12``."""
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"(?:.*/)?([^"]+)"', text, re.MULTILINE))
    for before in reversed(text.split("\n")[:line]):
        found = re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", before)
        if found and found[2] != "0":
            # what was inlined is where it was called from
            file, at = (re.findall(r"inlined_at\s+(\d+)\s+(\d+)", before) or [found.groups()])[-1]
            return f"{files[file]}, line {at}" if file in files else ""
    return ""


@contextlib.contextmanager
def _located(text: str) -> Iterator[None]:
    """Adds the line of the source to a message that begins with a line of the text."""
    try:
        yield
    except (DoubtfulKernel, KernelError, UnsupportedPtx) as error:
        found = re.match(r"line (\d+)", str(error))
        source = _source(text, int(found[1])) if found else ""
        if not found or not source:
            raise
        raise type(error)(f"{found[0]} ({source}){str(error)[found.end() :]}") from None


def as_bytes(value: Any) -> bytes:
    """What a variable is to hold."""
    return value if isinstance(value, bytes) else np.ascontiguousarray(value).tobytes()


class Compiled(NamedTuple):
    """An entry of a text, compiled, with what is known of it."""

    text: str
    kernel: Any
    about: dict[str, Any]


#: What was compiled lately, the oldest first, and how much is kept.
_kept: dict[Any, Compiled] = {}
MOST_KEPT = 64

#: Variables that say where ptxas and nvdisasm are, and what becomes of their listings.
SURROUNDINGS = ("BITMMA_CUDA_TOOLS", "PATH", "CUDA_HOME", "CUDA_PATH", "BITMMA_CACHE", "XDG_CACHE_HOME", "HOME", "TMPDIR")


@functools.lru_cache(maxsize=8)
def parsed(text: str) -> Any:
    """A text, read."""
    return _Ptx(text)


def compiled(text: str, how: _sass.How, entry: str | None, target: str | None) -> Compiled:
    """An entry of a text. What was compiled lately is kept, unless ptxas should have been asked and was not: it may be another time."""
    key = (text, how, entry, target, *map(os.environ.get, SURROUNDINGS))
    found = _kept.pop(key, None)
    if found is None:
        with _located(text):
            kernel = parsed(text).compile(how, entry, target)
        found = Compiled(text, kernel, kernel.describe())
        if how[:2] == ("gpu", None) and found.about["fusion"][0] != "asked":
            return found
    _kept[key] = found  # as the last one
    while len(_kept) > MOST_KEPT:
        _kept.pop(next(iter(_kept)), None)
    return found


def run(
    compiled: Compiled,
    grid: int | Sequence[int],
    args: Sequence[Any],
    *,
    block: int | Sequence[int] | None = None,
    cluster: int | Sequence[int] | None = None,
    allow_doubtful: bool = False,
    shared: int | None = None,
    loop_limit: int | None = None,
    threads: int | None = None,
    trace: Watch | None = None,
    names: Sequence[str] = (),
    reachable: Sequence[Any] = (),
    variables: Mapping[str, bytes] | None = None,
) -> Launched:
    """Runs an entry as ``launch_ptx`` does."""
    text, kernel, about = compiled
    sizes = _dimensions("grid", grid)
    memory = Memory(names, len(args))
    given = [memory.argument(index, argument) for index, argument in enumerate([*args, *reachable])][: len(args)]
    missing = about["parameters"][len(given) :]
    # Triton's kernels end with two pointers to scratch memory, which its launcher fills in
    if len(missing) == 2 and all(kind == "pointer" for _, kind, _ in missing):
        given += [None, None]
    arguments, buffers, called = memory.buffers(given, [kind == "pointer" for _, kind, _ in about["parameters"]])
    request: Any = None
    if trace is not None:
        size = about["block"] or _dimensions("block", 1 if block is None else block)
        request = (*trace.request(size), None)
    with _located(text):
        after, instructions, traced = kernel.launch(
            sizes,
            arguments,
            buffers,
            memory.hosts,
            called,
            block=None if block is None else _dimensions("block", block),
            cluster=None if cluster is None else _dimensions("cluster", cluster),
            allow_doubtful=allow_doubtful,
            shared=shared,
            loop_limit=loop_limit,
            threads=threads,
            trace=request,
            variables=variables,
        )
    memory.write_back(buffers, after)
    # as a GPU's driver does
    if traced["printed"]:
        print(traced["printed"], end="")
    return Launched(
        instructions,
        about["doubts"],
        about["fused"],
        about["folded"],
        None if trace is None else Trace.of(traced, about["target"]),
        fusion=about["fusion"][0],
        compiler=about["fusion"][1],
        variables=traced["variables"],
    )


def launch_ptx(
    text: str | bytes,
    grid: int | Sequence[int],
    args: Sequence[Any],
    *,
    entry: str | None = None,
    block: int | Sequence[int] | None = None,
    cluster: int | Sequence[int] | None = None,
    target: str | None = None,
    mode: str = "gpu",
    fusion: str | None = None,
    ptxas_options: Sequence[str] = (),
    ptxas: str | None = None,
    allow_doubtful: bool = False,
    shared: int | None = None,
    loop_limit: int | None = None,
    threads: int | None = None,
    trace: Watch | None = None,
    names: Sequence[str] = (),
    reachable: Sequence[Any] = (),
    variables: Mapping[str, Any] | None = None,
) -> Launched:
    """Runs an entry of a PTX text, as a GPU would, and writes to its arrays in place.

    Arrays (NumPy, PyTorch on the CPU) are buffers, Python's numbers scalars, ``None`` is a null pointer. ``block`` is that of
    ``.reqntid`` where the entry has one; ``cluster``, how many blocks a cluster has, that of ``.reqnctapercluster``. ``mode="gpu"`` runs what ptxas makes of the text, ``"text"`` the text as written.
    ``fusion`` says how it is found out which products ptxas fuses with additions: ``"ask"`` compiles the text and reads the
    code, ``"predict"`` goes by a rule, ``"off"`` is for kernels that are compiled without; None asks, and predicts where ptxas and
    nvdisasm are missing or fail, which with ``"ask"`` is an error. ``ptxas_options`` are further options of ptxas; ``ptxas`` is
    the file of the one that is asked first.
    A kernel whose results on a GPU are not known for sure is refused unless ``allow_doubtful``; with it, blocks run one
    after the other, and may touch the same addresses. ``shared`` is the size of dynamic shared memory, by default all that
    the architecture has; ``loop_limit`` the turns that the loops of a warp may make; ``threads`` those of this machine.
    ``trace`` records registers or lines of chosen threads, and matrix instructions, whose ``explain`` shows every step.
    ``names`` are what messages call the arguments. ``reachable`` are arrays that are no arguments, to which pointers lead that the
    kernel reads from memory. ``variables`` are what the text's ``.global`` and ``.const`` variables hold before, as arrays or bytes; what
    the launch wrote to them is in ``Launched.variables``. Structures and vectors by value are tuples of their members, or of ``ctypes`` or NumPy.
    """
    if isinstance(text, bytes):
        text = text.rstrip(b"\0").decode()
    return run(
        compiled(text, _sass.compiled(mode, fusion, ptxas_options, ptxas), entry, target),
        grid,
        args,
        block=block,
        cluster=cluster,
        allow_doubtful=allow_doubtful,
        shared=shared,
        loop_limit=loop_limit,
        threads=threads,
        trace=trace,
        names=names,
        reachable=reachable,
        variables={name: as_bytes(value) for name, value in (variables or {}).items()},
    )
