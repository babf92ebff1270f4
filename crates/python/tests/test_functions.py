"""``bitmma.functions``: the approximate functions of NVIDIA GPUs."""

import csv
import pathlib
import warnings

import bitmma
import numpy as np
import pytest

VALUES = pathlib.Path(__file__).parent / "../../functions/tests/data/values.csv"


def values(function):
    rows = [row for row in csv.DictReader(VALUES.open()) if row["function"] == function]
    return [np.array([int(row[key], 16) for row in rows], dtype=np.uint32) for key in ("x", "y")]


@pytest.mark.parametrize("function", ["rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos"])
def test_given_values(function):
    x, y = values(function)
    call = getattr(bitmma.functions, function)
    assert np.array_equal(call(x, chip="turing"), y)
    result = call(x.view(np.float32), chip="t4")
    assert result.dtype == np.float32 and np.array_equal(result.view(np.uint32), y)


def test_shapes_are_kept():
    x = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
    y = bitmma.functions.rcp(x.transpose(2, 0, 1)[:, :, ::-1], chip="h100")
    assert y.shape == (4, 2, 3)
    assert np.array_equal(y, bitmma.functions.rcp(x, chip="h100").transpose(2, 0, 1)[:, :, ::-1])
    assert bitmma.functions.rcp(np.float32(4), chip="h100") == 0.25
    assert bitmma.functions.rcp(np.empty((0, 3), np.float32), chip="h100").shape == (0, 3)


def test_ftz():
    x = np.array([1], np.uint32)
    assert bitmma.functions.rsqrt(x, chip="h100")[0] == 0x64B504F2
    assert bitmma.functions.rsqrt(x, chip="h100", ftz=True)[0] == 0x7F800000


def test_what_is_not_known():
    x = np.ones(1, np.float32)
    with pytest.raises(bitmma.NoModel, match="ex2 on hopper: unknown.*assume=True"):
        bitmma.functions.ex2(x, chip="h100")
    with pytest.warns(bitmma.errors.Assumed, match="hopper computes ex2 as Volta and Turing do"):
        assert bitmma.functions.ex2(x, chip="h100", assume=True)[0] == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bitmma.functions.rcp(x, chip="h100", assume=True)
    with pytest.raises(bitmma.NoModel, match="no model"):
        bitmma.functions.ex2(x, chip="mi300x", assume=True)
    with pytest.raises(bitmma.UnknownArchitecture):
        bitmma.functions.ex2(x, chip="h1000")
    with pytest.raises(bitmma.DtypeError, match="x is float64"):
        bitmma.functions.ex2(np.ones(1), chip="turing")
