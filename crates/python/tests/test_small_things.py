"""Small things that people expect: batches as in numpy.matmul, dtypes, pickles, errors with a hint in Python's words."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import bitmma
from bitmma import analysis, calls, formats

HOPPER = bitmma.mma("h100", "mma.m16n8k16.f32.f16.f16.f32")
RNG = np.random.default_rng(5)


@pytest.mark.parametrize(
    ("a", "b"),
    [((1, 4, 16), (3, 16, 8)), ((3, 4, 16), (1, 16, 8)), ((3, 4, 16), (3, 16, 8)), ((1, 4, 16), (1, 16, 8)), ((0, 4, 16), (1, 16, 8)), ((2, 1, 4, 16), (3, 16, 8))],
)
def test_batches_are_stretched_as_by_numpy(a, b):
    a, b = RNG.integers(-4, 5, a).astype(np.float16), RNG.integers(-4, 5, b).astype(np.float16)
    for d in (bitmma.gemm(HOPPER, a, b), bitmma.matmul(a, b, like="a100")):
        expected = np.matmul(a.astype(np.float32), b.astype(np.float32))
        assert d.shape == expected.shape and (d == expected).all()
    c = np.float32(RNG.integers(-4, 5, (1, a.shape[-2], 8)))
    assert (bitmma.gemm(HOPPER, a, b, c) == np.matmul(a.astype(np.float32), b.astype(np.float32)) + c).all()


def test_batches_that_do_not_fit_are_named():
    with pytest.raises(bitmma.ShapeError, match="batches of shapes 2, 3 do not go together"):
        bitmma.gemm(HOPPER, np.ones((2, 4, 16), np.float16), np.ones((3, 16, 8), np.float16))


def test_output_is_a_format_or_a_dtype():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a, b = RNG.normal(size=(4, 16)).astype(np.float16), RNG.normal(size=(16, 8)).astype(np.float16)
    for name, dtypes in {
        "f16": [np.float16, np.dtype(np.float16), "float16"],
        "f64": [np.float64, float],
        "bf16": [ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16), "bfloat16"],
        "e4m3": [ml_dtypes.float8_e4m3fn],
        "e2m1": [ml_dtypes.float4_e2m1fn],
    }.items():
        for dtype in dtypes:
            for d in (bitmma.gemm(HOPPER, a, b, output=dtype), bitmma.matmul(a, b, like="h100", output=dtype)):
                assert d.tobytes() == bitmma.gemm(HOPPER, a, b, output=name).tobytes(), dtype
    with pytest.raises(bitmma.OptionError, match="output is s32; D is converted to a floating-point format"):
        bitmma.gemm(HOPPER, a, b, output=np.int32)
    for wrong in (np.complex64, object(), 3):
        with pytest.raises(bitmma.OptionError, match="output is .*; the name of a format was expected"):
            bitmma.gemm(HOPPER, a, b, output=wrong)


def test_results_can_be_pickled():
    a, b = RNG.normal(size=(16, 16)).astype(np.float16), RNG.normal(size=(16, 8)).astype(np.float16)
    _, info = bitmma.matmul(a, b, like="h100", return_info=True)
    model = bitmma.Unit.from_toml(HOPPER.toml, step=32)
    paper = bitmma.mma("mi300x", "v_mfma_f32_32x32x8_f16", revision="paper")
    compared = analysis.compare()
    for one in (HOPPER.instruction, formats.by_name("e4m3"), info, bitmma.explain(HOPPER, a, b), compared, compared.answers):
        for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
            assert type(again) is type(one) and repr(again) == repr(one) and str(again) == str(one)
    for unit in (HOPPER, model, paper):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(unit, protocol))
            assert (again.name, again.toml, again.step, again.shape) == (unit.name, unit.toml, unit.step, unit.shape)
    assert pickle.loads(pickle.dumps(HOPPER))(a, b).tobytes() == HOPPER(a, b).tobytes()
    assert pickle.loads(pickle.dumps(paper)).toml == paper.toml


def test_hints_name_what_python_has(tmp_path):
    def text(call) -> str:
        with pytest.raises((bitmma.Error, OSError)) as raised:
            call()
        return str(raised.value)

    campaign = {"tests": 1000, "state": str(tmp_path)}
    bitmma.verify("sim:h100/mma.m16n8k16.f32.f16.f16.f32", **campaign)
    texts = [
        text(lambda: bitmma.verify("sim:h100/mma.m16n8k16.f32.f16.f16.f32", **campaign)),
        text(lambda: bitmma.mma("h100", "flash_attention")),
        text(lambda: bitmma.mma("h100", "cublasGemmEx")),
        text(lambda: bitmma.mma("ampere", "nonsense")),
        text(lambda: calls.plan_call("h100-sxm", (512, 512, 16384), "e4m3", fast=True)),
        text(lambda: calls.plan_call("rtx4060", (64, 64, 64), "f16")),
    ]
    for one in texts:
        assert "--" not in one.replace("scripts/collect-calls --run", ""), one
    assert "use resume to continue" in texts[0]
    assert any("lt_config" in one for one in texts) or any("assume=" in one for one in texts), texts


def test_counts_out_of_range_are_named():
    a, toml = np.ones((16, 16), np.float16), HOPPER.toml
    unit = "sim:h100/mma.m16n8k16.f32.f16.f16.f32"
    calls_with = {
        "threads": [lambda n: bitmma.gemm(HOPPER, a, a, threads=n), lambda n: analysis.matrix([HOPPER], threads=n)],
        "split_k": [lambda n: bitmma.gemm(HOPPER, a, a, split_k=n)],
        "promote_every": [lambda n: bitmma.matmul(a, a, like="h100", promote_every=n)],
        "step": [lambda n: bitmma.Unit.from_toml(toml, step=n)],
        "tests": [lambda n: bitmma.verify(unit, tests=n)],
        "seed": [lambda n: bitmma.verify(unit, seed=n), lambda n: analysis.assess(HOPPER, seed=n)],
        "budget": [lambda n: analysis.smallest(HOPPER, HOPPER, k=4, budget=n), lambda n: analysis.worst_case(HOPPER, budget=n)],
        "k": [lambda n: analysis.smallest(HOPPER, HOPPER, k=n)],
    }
    for name, some in calls_with.items():
        for call in some:
            for number in (-1, 2**64):
                with pytest.raises(bitmma.OptionError, match=f"{name} is {number}; it must be an integer from 0"):
                    call(number)
