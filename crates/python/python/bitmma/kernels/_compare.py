"""One Triton kernel as two chips: which outputs differ, and the first instruction whose results do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .._bitmma import Ptx as _Ptx
from .._lazy import numpy as np
from . import _sass
from ._descriptor import TensorMap
from ._launch import _dimensions
from ._memory import Memory
from ._trace import Trace, Watch
from ._triton import OnChip, Ran, _bytes, arrays, on


class Output(NamedTuple):
    """An argument whose results differ."""

    #: The parameter's name.
    name: str
    #: Elements that differ, and how many it has.
    differing: int
    of: int
    #: The first that differs, counted from the start of the array.
    first: int


class Part(NamedTuple):
    """An instruction where two chips part, on one of them."""

    chip: str
    #: The line of the PTX text, and its form.
    line: int
    form: str
    #: The line of the kernel's source, with its file's number in the text.
    source: tuple[int, int]
    #: A result that the other chip does not have on this line of the source.
    value: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]


@dataclass(frozen=True)
class Comparison:
    """A kernel on two chips."""

    chips: tuple[str, str]
    #: Arguments whose results differ.
    outputs: list[Output]
    #: The first instruction of the first chip with a result that the second does not have on the same line of the source, in
    #: the block that wrote the first element that differs. None where all is equal, or where no line tells them apart.
    first: Part | None
    #: The same of the second chip.
    second: Part | None

    def __bool__(self) -> bool:
        """Whether all results are equal."""
        return not self.outputs


class _Side(NamedTuple):
    compiled: Ran
    results: list[Any]


class Comparing:
    """``compare(kernel, "a100", "h100")[grid](x, y, n, BLOCK=1024)``."""

    def __init__(self, kernel: Any, chips: tuple[str, str], options: dict[str, Any]) -> None:
        self.kernel, self.chips, self.options = kernel, chips, options

    def __getitem__(self, grid: Any) -> Any:
        return lambda *args, **kwargs: self.run(grid, *args, **kwargs)

    def run(self, grid: Any, *args: Any, **kwargs: Any) -> Comparison:
        """Runs the kernel as both chips on the same inputs; the arrays keep their contents."""
        given = arrays((*args, *kwargs.values()))
        before = [_bytes(value).copy() for value in given]

        def restore() -> None:
            for value, content in zip(given, before, strict=True):
                _bytes(value)[...] = content

        sides = []
        try:
            for chip in self.chips:
                restore()
                one: OnChip = on(self.kernel, chip, **self.options)
                one.run(grid, *args, **kwargs)
                assert one.last is not None
                sides.append(_Side(one.last, [_bytes(value).copy() for value in given]))
            outputs, byte = self._outputs(given, sides)
            restore()
            parts: list[Part | None] = [None, None]
            if byte is not None:
                parts = self._parts(sides, *byte)
        finally:
            restore()
        return Comparison(self.chips, outputs, *parts)

    @staticmethod
    def _outputs(given: list[Any], sides: list[_Side]) -> tuple[list[Output], tuple[Any, int] | None]:
        outputs, first = [], None
        ran = sides[0].compiled
        names = {id(_array(value)): name for name, value in zip(ran.names, ran.arguments, strict=True)}
        for value, *results in zip(given, *(side.results for side in sides), strict=True):
            size = value.dtype.itemsize
            differ = (results[0] != results[1]).reshape(-1, size).any(1)
            if differ.any():
                index = int(differ.argmax())
                outputs.append(Output(names.get(id(value), "an array that pointers lead to"), int(differ.sum()), len(differ), index))
                byte = index * size + int((results[0] != results[1])[index * size : (index + 1) * size].argmax())
                first = first or (value, byte)
        return outputs, first

    def _parts(self, sides: list[_Side], value: Any, byte: int) -> list[Part | None]:
        """The first instructions that part, in the block that wrote the byte."""
        traces = [_traced(side.compiled, value, byte, self.options) for side in sides]
        found: list[Part | None] = []
        for own, other, chip in ((0, 1, self.chips[0]), (1, 0, self.chips[1])):
            found.append(_first(chip, traces[own], traces[other]))
        return found


def _array(argument: Any) -> Any:
    return argument.array if isinstance(argument, TensorMap) else argument


class _Lines(NamedTuple):
    trace: Trace
    #: The source of each line of the text, and its form.
    sources: dict[int, tuple[int, int]]
    forms: dict[int, str]


def _traced(compiled: Ran, value: Any, byte: int, options: dict[str, Any]) -> _Lines:
    """All results of floating-point instructions in the block that wrote a byte."""
    ptx = _Ptx(compiled.text)
    how = _sass.compiled(options.get("mode", "gpu"), compiled.fusion, compiled.ptxas_options, compiled.ptxas)
    kernel = ptx.compile(how)
    about = kernel.describe()
    common = {"allow_doubtful": options.get("allow_doubtful", False), "shared": compiled.shared}

    def launch(request: Any) -> dict[str, Any]:
        memory = Memory()
        reached = [*compiled.arguments, *compiled.reachable]
        given = [memory.argument(index, one) for index, one in enumerate(reached)]
        place = next(index for index, one in enumerate(reached) if _array(one) is value)
        placed, buffers, names = memory.buffers(given)
        (buffer, offset), arguments = placed[place][:2], placed[: len(compiled.arguments)]
        request = (*request, (buffer, offset + byte))
        result: dict[str, Any] = kernel.launch(_dimensions("grid", compiled.grid), arguments, buffers, memory.hosts, names, trace=request, **common)[2]
        return result

    nothing: tuple[Any, ...] = [[(0, 0, 0), (0, 0, 0)]], [1 << 31], [], False
    writer = launch(nothing)["writer"]
    block = tuple(writer[1][:3]) if writer else (0, 0, 0)
    floats = sorted(set(about["floats"]))
    request = Watch(line=floats, block=block, threads="all").request(about["block"])
    trace = Trace.of(launch(request), about["target"])
    forms = {line: form for form, lines, _, _ in ptx.survey() for line in lines}
    return _Lines(trace, {line: (file, at) for line, file, at in about["sources"]}, forms)


def _first(chip: str, own: _Lines, other: _Lines) -> Part | None:
    """The first result that the other has nowhere on the same line of the source."""

    def by_source(lines: _Lines) -> Any:
        column = lines.trace.columns["line"]
        table = {line: (source[0] << 32) | source[1] for line, source in lines.sources.items()}
        return np.array([table[int(line)] for line in column], np.uint64)

    mine, theirs = by_source(own), by_source(other)
    values, others = own.trace.columns["value"], other.trace.columns["value"]
    best = None
    for source in np.unique(mine):
        there = theirs == source
        if not there.any():
            continue
        here = np.flatnonzero(mine == source)
        missing = here[~np.isin(values[here], others[there])]
        if len(missing):
            at = int(missing[own.trace.columns["step"][missing].argmin()])
            step = int(own.trace.columns["step"][at])
            if best is None or step < best[0]:
                best = (step, at)
    if best is None:
        return None
    row = list(_rows(own.trace, best[1]))[0]
    return Part(chip, row.line, own.forms[row.line], own.sources[row.line], row.value, row.block, row.thread)


def _rows(trace: Trace, at: int) -> Any:
    columns = {name: column[at : at + 1] if name != "names" else column for name, column in trace.columns.items()}
    return iter(Trace(columns, [], False))


def compare(kernel: Any, chip: str, other: str, **options: Any) -> Comparing:
    """A Triton kernel as two chips: ``compare(kernel, "a100", "h100")[grid](x, y, n, BLOCK=1024)``.

    The kernel is compiled for each and runs on the same inputs, which stay as they are. The :class:`Comparison` says which
    outputs differ, and the first instruction whose results do. Options are those of ``on``.
    """
    return Comparing(kernel, (chip, other), options)
