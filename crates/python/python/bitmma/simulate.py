"""An instruction as a function of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _arrays, _bitmma
from ._bitmma import Instruction
from ._options import whole
from .errors import ScaleError

if TYPE_CHECKING:
    from typing import Optional, Tuple

    from ._arrays import Array, Codes

    #: A, B, C, scale factors of A and of B as codes, the way the native half takes them.
    Operands = Tuple[Codes, Codes, Optional[Codes], Optional[Codes], Optional[Codes]]

__all__ = ["Unit", "mma", "simulate"]


class Unit(_bitmma.Unit):
    """Whatever computes D = A·B + C: an instruction of an architecture, or a model.

    Call it with A (M×K), B (K×N) and, if you like, C (M×N, else +0); with a further dimension in front
    where an instruction multiplies several blocks. D comes in the dtype and the framework of the operands;
    codes in, codes out.
    """

    def __reduce__(self) -> tuple[object, ...]:
        """How it is pickled: an instruction by its names, a model as data."""
        if self.instruction is None:
            return _of_model, (self.toml, self.step)
        return _of_instruction, (self.instruction, self._revision)

    @classmethod
    def from_toml(cls, toml: str, *, step: int | None = None) -> Unit:
        """A model as data (``Unit.toml`` writes one), ``step`` elements along K at a time."""
        whole(step=step)
        return cls(_bitmma.Unit.of_model(toml, step))

    def __call__(
        self,
        a: Array,
        b: Array,
        c: Array | None = None,
        *,
        scale_a: Array | None = None,
        scale_b: Array | None = None,
    ) -> Array:
        d = _bitmma.multiply(self, self._operands(a, b, c, scale_a, scale_b))
        return _arrays.result(d, self.d, _arrays.like(a, b), self.d)

    def _operands(
        self,
        a: Array,
        b: Array,
        c: Array | None,
        scale_a: Array | None,
        scale_b: Array | None,
        scale_blocks: str | None = None,
    ) -> Operands:
        """Everything as codes."""
        factors = self._factors(scale_a, scale_b, scale_blocks)
        return (
            _arrays.words("A", a, self.a, along=-1),
            _arrays.words("B", b, self.b, along=-2),
            None if c is None else _arrays.words("C", c, self.c),
            None if scale_a is None else _arrays.words("scale A", scale_a, factors),
            None if scale_b is None else _arrays.words("scale B", scale_b, factors),
        )

    def _factors(self, scale_a: Array | None, scale_b: Array | None, scale_blocks: str | None) -> str:
        """The format of scale factors: its own, or that of scales of blocks. Where it takes none there must be none."""
        if self.scale is None and not scale_blocks and (scale_a is not None or scale_b is not None):
            raise ScaleError(f"{self.name} takes no scale factors")
        return "f32" if scale_blocks or self.scale is None else self.scale[0]

    def __repr__(self) -> str:
        if self.instruction is None:
            return f"<bitmma.Unit: {self.name}, {self.step} elements along K>"
        return f"bitmma.mma({self.instruction.architecture!r}, {self.name!r})"


def mma(architecture: str, instruction: str, *, revision: str = "hardware") -> Unit:
    """The instruction of an architecture, ready to be called.

    ``architecture`` is a name (``hopper``), a compiler target (``sm_90a``) or a chip (``h100``).
    ``instruction`` is a name of the catalogue or an alias (full PTX, SASS, HIP builtin). ``revision`` is
    ``hardware``, or ``paper`` for the algorithms exactly as printed.
    """
    return _of_instruction(_bitmma.find(architecture, instruction), revision)


def _of_instruction(found: Instruction, revision: str) -> Unit:
    return Unit(_bitmma.Unit.of_instruction(found, revision), found, revision)


def _of_model(toml: str, step: int) -> Unit:
    return Unit.from_toml(toml, step=step)


def simulate(
    unit: Unit,
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    scale_a: Array | None = None,
    scale_b: Array | None = None,
    reference: bool = False,
) -> Array:
    """D = A·B + C by the unit's model, for any M and N and any K that the model takes, by a fast kernel where there is one. With
    ``reference`` by the plain definition, which is slow and has the same bits."""
    d = _bitmma.simulate(unit, unit._operands(a, b, c, scale_a, scale_b), reference)
    return _arrays.result(d, unit.d, _arrays.like(a, b), unit.d)
