"""Random calls: whatever comes in, an answer or an exception of ours or Python's, never a crash.

A few hundred each run, 10,000 with BITMMA_TESTS=all.
"""

from __future__ import annotations

import warnings

import ml_dtypes
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import bitmma
from bitmma import formats
from bitmma._dtypes import FORMATS_OF

from common import EVERYTHING, random_codes

ROWS = [row for row in bitmma.catalogue.instructions() if not row.unknown]
DTYPES = [np.dtype(getattr(ml_dtypes, name, None) or name) for name in FORMATS_OF if not name.endswith("x2")]
DTYPES += [np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64", "int32", "bool", "complex64", "object", "U3", "M8[s]", ">f2", ">f4", "longdouble")]  # fmt: skip
SIZES = some.one_of(some.integers(0, 40), some.sampled_from([1, 8, 16, 32, 64, 128]))
RUNS = settings(
    max_examples=10_000 if EVERYTHING else 300,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=not EVERYTHING,
    print_blob=True,
)


def array(draw, rng, dtype, shape):
    """An array of any dtype, any bits, some layout."""
    if dtype.kind in "OUM":
        values = np.empty(shape, dtype)
    else:
        values = np.frombuffer(rng.bytes(int(np.prod(shape)) * dtype.itemsize), np.uint8).view(dtype).reshape(shape)
        if dtype.itemsize == 1 and dtype.name.startswith(("float6", "float4")):
            values = formats.view(random_codes(rng, FORMATS_OF[dtype.name][0], shape), FORMATS_OF[dtype.name][0])
    layout = draw(some.integers(0, 3))
    if layout == 1:
        return np.asfortranarray(values)
    if layout == 2 and values.ndim:
        return values[..., ::-1]
    return values


def operand(draw, rng, format, shape):
    """Mostly what fits; now and then anything."""
    if draw(some.integers(0, 9)) == 0:
        shape = tuple(draw(some.lists(SIZES, min_size=0, max_size=4)))
        while np.prod(shape) > 1 << 16:
            shape = shape[:-1]
    if draw(some.integers(0, 9)) == 0:
        return array(draw, rng, draw(some.sampled_from(DTYPES)), shape)
    codes = random_codes(rng, format, shape)
    return codes if draw(some.booleans()) else formats.view(codes, format)


@some.composite
def calls(draw):
    rng = np.random.default_rng(draw(some.integers(0, 2**32)))
    row = draw(some.sampled_from(ROWS))
    m, n = draw(SIZES), draw(SIZES)
    k = draw(some.one_of(SIZES, some.just(row.k), some.just(2 * row.k)))
    front = (row.blocks,) if row.blocks > 1 and draw(some.booleans()) else ()
    kind = draw(some.sampled_from(["gemm", "gemm", "matmul", "mma", "simulate", "explain", "encode", "account", "bounds", "errors"]))
    if kind == "mma" and draw(some.booleans()):
        m, n, k, front = row.m, row.n, row.k, (row.blocks,) if row.blocks > 1 else ()
    operands = [
        operand(draw, rng, row.a, (*front, m, k)),
        operand(draw, rng, row.b, (*front, k, n)),
        draw(some.one_of(some.none(), some.builds(lambda: operand(draw, rng, row.c, (*front, m, n))))),
    ]
    scales = {}
    if row.scale and draw(some.integers(0, 9)) or not draw(some.integers(0, 19)):
        format, size = row.scale or ("ue8m0", 32)
        along = -(-k // size)
        scales = {"scale_a": operand(draw, rng, format, (*front, m, along)), "scale_b": operand(draw, rng, format, (*front, along, n))}
    maybe = lambda strategy: draw(some.one_of(some.none(), strategy))  # noqa: E731
    output = maybe(some.sampled_from([format.name for format in formats.FORMATS] + ["fp8"]))
    converted = output is not None or not draw(some.integers(0, 9))
    factor = some.one_of(some.floats(width=32), some.floats(width=64))
    options = {
        "split_k": maybe(some.integers(-1, 5)),
        "promote_every": maybe(some.sampled_from([0, 1, 16, 32, 64, 128, 1 << 62])),
        "alpha": maybe(factor),
        "beta": maybe(factor),
        "output": output,
        "output_rounding": maybe(some.sampled_from(["RNE", "RZ", "RU", "??"])) if converted else None,
        "saturate": converted and draw(some.booleans()),
        "threads": maybe(some.integers(-1, 3)),
    }
    return kind, row, operands, scales, options


def corner(array, rows, columns):
    """The first rows and columns, where there are such."""
    return array if array is None or array.ndim < 2 else array[..., :rows, :columns]


def run(kind, row, operands, scales, options):
    unit = bitmma.mma(row.architecture, row.name)
    if kind == "gemm":
        return bitmma.gemm(unit, *operands, **scales, **options)
    if kind == "matmul":
        return bitmma.matmul(*operands[:2], like=row.architecture, read_as=(row.a, row.b), **scales)
    if kind == "mma":
        return unit(*operands, **scales)
    if kind == "simulate":
        return bitmma.simulate(unit, *operands, **scales)
    if kind == "explain":
        return bitmma.explain(unit, *operands, **scales)
    if kind == "account":
        return bitmma.analysis.account(unit, *operands, **scales)
    if kind == "bounds":
        a, b, c = operands
        few = [corner(a, 3, None), corner(b, None, 2), corner(c, 3, 2)]
        scales = {name: corner(array, *((3, None) if name == "scale_a" else (None, 2))) for name, array in scales.items()}
        return bitmma.analysis.bounds(unit, *few, **scales, promote_every=options["promote_every"], threads=options["threads"])
    if kind == "errors":
        return bitmma.analysis.errors(unit, *operands[:2], bitmma.gemm(unit, *operands, **scales), operands[2])
    return formats.decode(formats.encode(operands[0], row.a, rounding=options["output_rounding"] or "RNE"), row.a)


@RUNS
@given(calls())
def test_no_call_crashes(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = run(*call)
        except (bitmma.Error, OverflowError) as error:
            assert str(error)
        else:
            assert answer is not None
