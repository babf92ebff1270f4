"""What a launch records of chosen threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .._lazy import numpy as np
from ..errors import OptionError

if TYPE_CHECKING:
    from ..explain import Explanation

Place = tuple[int, int, int]


def three(name: str, given: Any) -> Place:
    """A block or a thread: x alone, or up to three numbers."""
    sizes = (given,) if hasattr(given, "__index__") else tuple(given)
    if not 1 <= len(sizes) <= 3 or any(not 0 <= int(size) < 1 << 32 for size in sizes):
        raise OptionError(f"{name} must be one to three integers from 0 on, not {given!r}")
    x, y, z = (*map(int, sizes), 0, 0)[:3]
    return x, y, z


@dataclass(frozen=True)
class Watch:
    """What ``trace=`` asks for: registers, lines, or both, of threads of one block."""

    #: A line of the PTX text, or several; by default all.
    line: int | Sequence[int] | None = None
    #: The name of a register, as in ``%r12``, or several; by default all that a line writes.
    register: str | Sequence[str] | None = None
    #: The block: x, or x, y and z.
    block: int | Sequence[int] = 0
    #: Threads of the block, each x, or x, y and z; by default thread 0. ``"all"`` stands for every thread.
    threads: Any = (0,)
    #: Whether the operands of matrix instructions are kept, too, so that ``explain`` can follow them.
    products: bool = False

    def request(self, size: Place) -> tuple[list[list[Place]], list[int], list[str], bool]:
        """What the runner takes; ``size`` is that of a block."""
        block = three("block", self.block)
        if isinstance(self.threads, str):
            if self.threads != "all":
                raise OptionError(f"threads must be numbers or 'all', not {self.threads!r}")
            x, y, z = size
            chosen = [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]
        else:
            given = (self.threads,) if hasattr(self.threads, "__index__") else self.threads
            chosen = [three("a thread", thread) for thread in given]
        lines = [] if self.line is None else [self.line] if isinstance(self.line, int) else list(self.line)
        registers = [] if self.register is None else [self.register] if isinstance(self.register, str) else list(self.register)
        return [[block, thread] for thread in chosen], lines, registers, self.products


class Row(NamedTuple):
    """A register of a thread after an instruction."""

    line: int
    #: Instructions that the thread's warp had run before.
    step: int
    block: Place
    thread: Place
    register: str
    bits: int
    value: int

    @property
    def float(self) -> float:
        """The register's bits as FP32 or FP64; of 16 bits as FP16."""
        kind = {16: np.float16, 32: np.float32, 64: np.float64}.get(self.bits)
        if kind is None:
            raise OptionError(f"register {self.register} has {self.bits} bits, which no float has")
        return float(np.array(self.value, f"uint{self.bits}").view(kind))


class Product(NamedTuple):
    """A matrix instruction of a warp: operands and result as codes."""

    line: int
    step: int
    block: Place
    #: The warp's first thread.
    thread: Place
    #: As the text has it.
    form: str
    #: The target of the text, as in ``sm_90a``.
    target: str
    a: Any
    b: Any
    c: Any
    d: Any

    def explain(self, row: int, column: int) -> Explanation:
        """Every step of one element of the result, as :func:`bitmma.explain` has them."""
        from .._dtypes import WORD_OF
        from ..explain import explain
        from ..formats import by_name
        from .._product import _unit

        unit = _unit((self.target, self.form))
        rows, columns = self.d.shape
        if not (0 <= row < rows and 0 <= column < columns):
            raise OptionError(f"the result has {rows} rows and {columns} columns; there is no element ({row}, {column})")
        a, b, c = self.a[row : row + 1], self.b[:, column : column + 1], self.c[row : row + 1, column : column + 1]
        words = [WORD_OF[by_name(format).bytes] for format in (unit.a, unit.b, unit.c)]
        return explain(unit, *(codes.astype(word) for codes, word in zip((a, b, c), words, strict=True)))


@dataclass(frozen=True)
class Trace:
    """What was recorded, in the order in which the block ran."""

    #: Columns: line, step, bits, value, place (block and thread), register (an index of names).
    columns: dict[str, Any] = field(repr=False)
    products: list[Product]
    #: Whether there was more than is kept: 4,194,304 registers and 16,384 products.
    is_cut: bool

    @classmethod
    def of(cls, given: dict[str, Any], target: str) -> Trace:
        """From what the runner returns."""
        columns = {name: given[name] for name in ("line", "step", "bits", "value", "register", "names")}
        columns["place"] = given["place"].reshape(-1, 6)
        products = []
        for line, step, place, form, (m, n, k), codes in given["products"]:
            shapes = ((m, k), (k, n), (m, n), (m, n))
            a, b, c, d = (code.reshape(shape) for code, shape in zip(codes, shapes, strict=True))
            products.append(Product(line, step, tuple(place[:3]), tuple(place[3:]), form, target, a, b, c, d))
        return cls(columns, products, given["is_cut"])

    def __len__(self) -> int:
        return len(self.columns["line"])

    def __iter__(self) -> Iterator[Row]:
        all, names = self.columns, self.columns["names"]
        for line, step, place, register, bits, value in zip(
            all["line"], all["step"], all["place"], all["register"], all["bits"], all["value"], strict=True
        ):
            block, thread = tuple(map(int, place[:3])), tuple(map(int, place[3:]))
            yield Row(int(line), int(step), block, thread, names[register], int(bits), int(value))  # type: ignore[arg-type]
