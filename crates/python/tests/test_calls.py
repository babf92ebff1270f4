"""``bitmma.calls``: a library's calls from Python, against the recordings."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bitmma
from bitmma import calls

from common import ROOT

RECORDINGS = ROOT / "recordings" / "calls"
PLATFORM = "rtx4060/cublaslt-12.8.3.14"


def recorded():
    index = json.loads((RECORDINGS / "index.json").read_text())
    arrays = np.load(RECORDINGS / "calls.npz")
    for case in index["cases"]:
        if case["expect"] in ("rejected", "ran") or case["a"] is None or case["b"] is None:
            continue
        yield case, arrays


def run(case, arrays, function=calls.scaled_mm, **more):
    call, plan = case["call"], case["plan"]
    m, n, k = call["M"], call["N"], call["K"]
    n_called = -n % 16  # rows and columns of a larger call
    a = arrays[case["a"]].reshape(m, k)
    b = np.vstack([arrays[case["b"]].reshape(n, k), np.zeros((n_called, k), np.uint8)]).T
    scale = lambda code: None if code is None else np.array(code, np.uint32).view(np.float32)  # noqa: E731
    return function(
        a,
        b,
        scale(call["scale_a"]),
        scale(call["scale_b"]),
        scale_result=scale(call["scale_result"]),
        out_dtype=call["out"],
        use_fast_accum=call["fast"],
        platform=PLATFORM,
        read_as=(call["a"], call["b"]),
        parts=plan["parts"],
        merge=plan["order"] if plan["order"] != "none" else "serial",
        **more,
    )


def test_recorded_calls_agree():
    seen = 0
    for case, arrays in list(recorded())[::7]:
        d = run(case, arrays)[:, : case["call"]["N"]]
        expected = arrays[case["expect"]]
        if case["call"].get("select"):
            d = np.diagonal(d)
        np.testing.assert_array_equal(d.reshape(-1), expected.reshape(-1), case["id"])
        seen += 1
    assert seen > 150


def test_an_element_is_explained():
    case, arrays = next((case, arrays) for case, arrays in recorded() if case["plan"]["parts"] == 3)
    found = run(case, arrays, calls.explain_call, element=(0, 0))
    assert found.plan.evidence == "recorded"
    assert found.plan.plan["deal"]["parts"] == 3
    assert found.code == int(arrays[case["expect"]].reshape(-1)[0])
    assert "merged" in str(found)


def test_what_the_library_rejects_is_rejected_and_what_nobody_measured_declined():
    a, b = np.zeros((16, 32), np.uint8), np.zeros((32, 16), np.uint8)
    given = {"platform": PLATFORM, "read_as": ("e4m3", "e4m3")}
    with pytest.raises(bitmma.CallRejected, match=r"rule 27"):
        calls.scaled_mm(a[:, :24], b[:24], 1.0, 1.0, **given)
    with pytest.raises(bitmma.CallRejected, match=r"E5M2 is not supported \(rule 28\)"):
        calls.scaled_mm(a, b, 1.0, 1.0, out_dtype="e5m2", **given)
    with pytest.raises(bitmma.CallRejected, match="scales are FP32"):
        calls.scaled_mm(a, b, np.float64(1.0) * np.ones(1), 1.0, out_dtype="bf16", **given)
    with pytest.raises(bitmma.CallDeclined, match="does not follow from the shape"):
        calls.scaled_mm(a, b, 1.0, 1.0, out_dtype="bf16", **given)
    with pytest.raises(bitmma.CallDeclined, match="bias"):
        calls.scaled_mm(a, b, 1.0, 1.0, np.zeros(16, np.float16), out_dtype="f16", **given)
    with pytest.raises(bitmma.CallDeclined, match="rtx5090"):
        calls.scaled_mm(a, b, 1.0, 1.0, out_dtype="bf16", **{**given, "platform": "rtx5090"})
    with pytest.raises(bitmma.PlanError, match="unknown field"):
        calls.plan_call("h100-pcie", (16, 16, 32), "e4m3", lt_config={"ALGO": 66})
    with pytest.raises(bitmma.PlanError, match="splits"):
        calls.plan_call(PLATFORM, (16, 16, 32), "e4m3", plan='{"splits": 2}')
    with pytest.raises(bitmma.OptionError, match="luck"):
        calls.plan_call(PLATFORM, (16, 16, 32), "e4m3", assume="luck")
    assert calls.scaled_mm(a, b, 1.0, 1.0, out_dtype="f16", assume="unsplit", **given).shape == (16, 16)


def test_linear_is_matmul_of_the_transpose():
    x, w = np.random.default_rng(3).normal(size=(2, 24, 192)).astype(np.float16)
    config = {"id": 66, "splitk": 3, "reduction": 2, "custom": 0, "stages": 35}
    given = {"platform": "h100-sxm", "lt_config": config}
    d = calls.linear(x, w, **given)
    np.testing.assert_array_equal(d, calls.matmul(x, np.ascontiguousarray(w.T), **given))
    # three parts of 64 by wgmma, added in FP32, rounded once
    unit = ("hopper", "wgmma.m64n256k16.f32.f16.f16")
    parts = [bitmma.gemm(unit, x[:, at : at + 64], w[:, at : at + 64].T) for at in (0, 64, 128)]
    np.testing.assert_array_equal(d, ((parts[0] + parts[1]) + parts[2]).astype(np.float16))


def test_block_scales_are_applied_after_each_128_of_k():
    random = np.random.default_rng(4)
    a, b = (random.integers(0x28, 0x48, size=(16, 256)).astype(np.uint8) for _ in range(2))
    scale_a = random.uniform(0.5, 2, size=(16, 2)).astype(np.float32)
    scale_b = random.uniform(0.5, 2, size=(2, 1)).astype(np.float32)
    plan = (ROOT / "examples" / "plans" / "deepgemm-hopper.toml").read_text()
    given = {"platform": "h100-sxm", "read_as": ("e4m3", "e4m3"), "out_dtype": "f32"}
    d = calls.scaled_mm(a, b.T, scale_a, scale_b, plan=plan, **given).view(np.float32)
    unit = ("hopper", "wgmma.m64n256k32.f32.e4m3.e4m3")
    total = np.zeros((16, 16), np.float32)
    for block in range(2):
        at = slice(128 * block, 128 * block + 128)
        chain = bitmma.gemm(unit, a[:, at], b[:, at].T).view(np.float32).astype(np.float64)
        scale = (scale_a[:, block : block + 1] * scale_b[block]).astype(np.float64)
        total = (chain * scale + total).astype(np.float32)  # exact in FP64 here but for one rounding
    np.testing.assert_array_equal(d, total)


def test_the_shapes_of_scales_decide_as_in_torch():
    random = np.random.default_rng(5)
    a, b = (random.integers(0x28, 0x48, size=(144, 512)).astype(np.uint8) for _ in range(2))
    one = lambda *shape: random.uniform(0.5, 2, size=shape).astype(np.float32)  # noqa: E731
    given = {"read_as": ("e4m3", "e4m3"), "out_dtype": "bf16"}
    new = {**given, "platform": "h100-sxm", "lt_config": {"id": 66, "splitk": 1, "reduction": 0, "stages": 36}, "use_fast_accum": False}
    unit = ("hopper", "wgmma.m64n256k32.f32.e4m3.e4m3")
    for shape_a, shape_b, blocks in [
        ((144, 4), (4, 2), "1x128,128x128"),
        ((2, 4), (4, 144), "128x128,1x128"),
    ]:
        scale_a, scale_b = one(*shape_a), one(*shape_b)
        d = calls.scaled_mm(a, b.T, scale_a, scale_b, **new)
        expected = bitmma.gemm(unit, a, b.T, scale_a=scale_a, scale_b=scale_b, scale_blocks=blocks, output="bf16")
        np.testing.assert_array_equal(d, expected)
        found = calls.explain_call(a, b.T, scale_a, scale_b, element=(3, 130), **new)
        assert found.code == d[3, 130] and found.plan.evidence == "recorded" and not found.plan.assumed
        with pytest.raises(bitmma.CallDeclined, match=r"assume=\['unsplit'\]"):
            calls.scaled_mm(a, b.T, scale_a, scale_b, **{**new, "lt_config": None})
        with pytest.raises(bitmma.CallDeclined, match=r"assume=\['block-scales'\]"):
            calls.scaled_mm(a, b.T, scale_a, scale_b, **{**new, "platform": "h100-sxm/cublaslt-13.1.1"})
        with pytest.raises(bitmma.CallRejected, match="use_fast_accum=False"):
            calls.scaled_mm(a, b.T, scale_a, scale_b, **{**new, "use_fast_accum": True})
        with pytest.raises(bitmma.CallRejected, match=r"rule 27"):  # cuBLASLt 12.8
            calls.scaled_mm(a, b.T, scale_a, scale_b, platform="h100-pcie", **given)
        with pytest.raises(bitmma.CallRejected, match=r"sm_90 alone \(rule 28\)"):
            calls.scaled_mm(a, b.T, scale_a, scale_b, **{**new, "platform": "gb200"})
    # scales of single rows and columns: the second product and the sum are one FMA
    scale_a, scale_b = one(144, 4), one(4, 144)
    d = calls.scaled_mm(a, b.T, scale_a, scale_b, **{**new, "out_dtype": "f32"}).view(np.float32)
    total = np.zeros((144, 144), np.float32)
    for block in range(4):
        at = slice(128 * block, 128 * block + 128)
        chain = bitmma.gemm(unit, a[:, at], b[:, at].T).view(np.float32) * scale_a[:, block : block + 1]
        total = (chain.astype(np.float64) * scale_b[block] + total).astype(np.float32)  # exact in FP64 here but for one rounding
    np.testing.assert_array_equal(d, total)
    for shape_a, shape_b in [((2, 4), (4, 2)), ((144,), (144,)), ((144, 4), (144, 4)), ((1, 1), (1, 144))]:
        with pytest.raises(bitmma.CallRejected, match=r"rule 27"):
            calls.scaled_mm(a, b.T, one(*shape_a), one(*shape_b), **new)


def test_row_wise_scales_are_those_of_torchs_kernel():
    random = np.random.default_rng(6)
    a, b = (random.integers(0x28, 0x48, size=(size, 320)).astype(np.uint8) for size in (32, 48))
    scale_a, scale_b = (random.uniform(0.5, 2, size=size).astype(np.float32) for size in ((32, 1), (1, 48)))
    given = {"read_as": ("e4m3", "e4m3"), "out_dtype": "bf16", "platform": "h100-pcie"}
    unit = ("hopper", "wgmma.m64n256k32.f32.e4m3.e4m3")
    scales = {"scale_a": scale_a, "scale_b": scale_b, "scale_blocks": "row", "output": "bf16"}
    for fast in (True, False):
        d = calls.scaled_mm(a, b.T, scale_a, scale_b, use_fast_accum=fast, **given)
        expected = bitmma.gemm(unit, a, b.T, promote_every=None if fast else 128, **scales)
        np.testing.assert_array_equal(d, expected)
    assert calls.plan_call("h100-pcie", (32, 48, 320), "e4m3", scales=((32, 1), (1, 48))).plan["blocks"]["k"] == 0
    with pytest.raises(bitmma.CallRejected, match="row-wise scales need a BF16 D"):
        calls.scaled_mm(a, b.T, scale_a, scale_b, **{**given, "out_dtype": "f32"})
    # by cuBLASLt: B's scale first, and any D
    chain = bitmma.gemm(unit, a, b.T, promote_every=128).view(np.float32)
    d = calls.scaled_mm(a, b.T, scale_a, scale_b, **{**given, "platform": "h100-sxm", "out_dtype": "f32"}).view(np.float32)
    np.testing.assert_array_equal(d, chain * scale_b * scale_a)
    for platform, reason in (("rtx4060", "stream-K"), ("gb200", "nothing is published about row-wise")):
        with pytest.raises(bitmma.CallDeclined, match=reason):
            calls.scaled_mm(a, b.T, scale_a, scale_b, **{**given, "platform": platform})
