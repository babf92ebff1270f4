"""An operand B that is packed once, for any number of products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _arrays, _batches, _bitmma
from ._options import whole
from .errors import DeviceError, OptionError
from .simulate import Unit

if TYPE_CHECKING:
    from ._arrays import Array
    from ._product import Target

__all__ = ["Prepared", "prepare"]


class Prepared:
    """An operand B, K×N, prepared for a unit: what :func:`bitmma.prepare` gives, and :func:`bitmma.gemm` and :func:`bitmma.matmul`
    take instead of B. It is a copy: what is written to the array afterwards does not change it."""

    def __init__(self, unit: Unit, native: _bitmma.Prepared, like: _arrays.Like) -> None:
        self.unit = unit
        """What it was prepared for."""
        self._native = native
        self._like = like

    @property
    def shape(self) -> tuple[int, int]:
        """K and N."""
        return self._native.shape

    @property
    def nbytes(self) -> int:
        """The bytes it takes."""
        return self._native.nbytes

    @property
    def is_streamed(self) -> bool:
        """Whether a kernel streams it; without one its codes are kept, and every product packs them."""
        return self._native.is_streamed

    def __repr__(self) -> str:
        k, n = self.shape
        return f"<bitmma.Prepared: {k}×{n} {self.unit.b} for {self.unit.name}, {self.nbytes} bytes>"


def prepare(
    b: Array,
    *,
    like: str | None = None,
    target: Target | None = None,
    accumulate: str | None = None,
    read_as: str | tuple[str, str] | None = None,
    a: Any = None,
    scale_b: Array | None = None,
    scale_block: int | None = None,
    threads: int | None = None,
) -> Prepared:
    """B, K×N, packed once for any number of products: weights, which do not change from one product to the next.

    ``like`` names a chip, and the instruction follows as in :func:`bitmma.matmul`; ``a`` is the format of A (a name or a dtype)
    where it is not that of B, and ``accumulate``, ``read_as`` and ``scale_block`` are those of ``matmul``. Or ``target`` is what
    :func:`bitmma.gemm` takes. ``scale_b`` are the scale factors of B. Products have the same bits as with B itself; with few rows
    they are several times faster. It takes about the bytes of the codes.

        >>> w = bitmma.prepare(weight.T, like="h100")
        >>> y = bitmma.matmul(x, w)
    """
    from ._product import _unit, choice  # which knows prepared operands

    whole(threads=threads)
    if (like is None) == (target is None):
        raise OptionError("like or target, one of them, says what B is prepared for: like='h100'")
    if _arrays.on_gpu(b):
        raise DeviceError("B is on a GPU, where nothing is packed: give it to gemm or matmul, or bring it to the CPU: tensor.cpu()")
    if target is not None:
        if accumulate is not None or read_as is not None or a is not None or scale_block is not None:
            raise OptionError("accumulate, read_as, a and scale_block choose an instruction; target is one")
        unit = _unit(target)
    else:
        as_a, as_b = read_as if isinstance(read_as, tuple) else (read_as, read_as)
        format_b = _arrays.format_of("B", b, as_b)
        format_a = _arrays.format_named("a", a) or as_a or format_b
        scale = None if scale_b is None else (_arrays.format_of("scale B", scale_b), scale_block)
        unit, _ = choice(str(like), format_a, format_b, accumulate, scale)
    factors = None if scale_b is None else _arrays.words("scale B", scale_b, unit._factors(None, scale_b, None))
    native = _bitmma.prepare(unit, _arrays.words("B", b, unit.b, along=-2), factors, threads)
    return Prepared(unit, native, _arrays.like(b))


def multiply(
    unit: Unit,
    a: Array,
    b: Prepared,
    c: Array | None,
    *,
    scale_a: Array | None,
    scale_b: Array | None,
    scale_blocks: str | None,
    output: str | None,
    **options: Any,
) -> Array:
    """The product of a prepared B; many A times one B are rows of one A."""
    shape = None
    if _batches.rank(a) > 2:
        if c is not None or scale_a is not None:
            raise OptionError("a batch of A with C or scale factors takes B itself, or one matrix of rows: a.reshape(-1, k)")
        shape = (*a.shape[:-1], b.shape[1])
        rows = int(a.shape[0]) if a.shape[-1] == 0 else -1
        a = a.reshape(rows, a.shape[-1])
    factors = unit._factors(scale_a, scale_b, scale_blocks)

    def words(name: str, array: Array | None, format: str) -> Any:
        return None if array is None else _arrays.words(name, array, format)

    of_scales = words("scale A", scale_a, factors), words("scale B", scale_b, factors)
    operands = (_arrays.words("A", a, unit.a, along=-1), b._native, words("C", c, unit.c), *of_scales)
    d, format = _bitmma.gemm(unit, operands, scale_blocks=scale_blocks, output=output, **options)
    given = _arrays.like(a)
    like = _arrays.Like(given.torch or b._like.torch, given.codes and b._like.codes)
    return _arrays.result(d if shape is None else d.reshape(shape), format, like, unit.d)
