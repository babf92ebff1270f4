"""A Python function is found out, or it is said why not."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import bitmma

from common import random_codes

HOPPER = bitmma.mma("hopper", "mma.m16n8k16.f32.f16.f16.f32")
SIGNATURE = {"name": "mine", "m": 16, "n": 8, "k": 16, "a": "f16", "b": "f16", "c": "f32", "d": "f32"}
#: Its model, less what no input shows.
MODEL = HOPPER.toml.replace("e_zero = -133\n", "")
TESTS = 20_000


def same_bits(outcome, unit):
    """Whether the model that was found answers random codes as the instruction does, NaN or not."""
    blocks, m, n, k = unit.shape
    rng = np.random.default_rng(0)
    shapes = {"a": (64, m, k), "b": (64, k, n), "c": (64, m, n)}
    operands = [random_codes(rng, getattr(unit, name), shape) for name, shape in shapes.items()]
    scales = {}
    if unit.scale:
        format, size = unit.scale
        scales["scale_a"] = random_codes(rng, format, (64, m, k // size))
        scales["scale_b"] = random_codes(rng, format, (64, k // size, n))
    ours, theirs = (bitmma.simulate(one, *operands, **scales, reference=True) for one in (outcome.unit, unit))
    return np.array_equal(ours, theirs)


def test_an_instruction_is_found_with_the_model_of_its_row():
    shapes, stages = set(), set()

    def fn(a, b, c):
        shapes.add((a.shape, b.shape, c.shape, a.dtype.name, c.dtype.name))
        return HOPPER(a, b, c)

    outcome = bitmma.probe(fn, SIGNATURE, tests=TESTS, progress=lambda stage, done, total: stages.add(stage))
    assert shapes == {((16, 16), (16, 8), (16, 8), "float16", "float32")}
    assert stages >= {"independence", "validation"}
    assert outcome.verdict == "found" and outcome.model == MODEL and same_bits(outcome, HOPPER)
    assert f"hopper/{HOPPER.name}" in outcome.known_as
    assert outcome.tests >= TESTS and outcome.questions > 0 and outcome.nearest is None
    assert "mine" in outcome.text and outcome.html.startswith("<!") and str(outcome) == outcome.summary
    # the model runs like any other
    a = np.random.default_rng(0).normal(size=(16, 64)).astype(np.float16)
    assert np.array_equal(bitmma.gemm(outcome.unit, a, a.T), bitmma.gemm(HOPPER, a, a.T))


def test_a_stack_of_codes_in_one_call_gives_the_same():
    sizes = []

    def fn(a, b, c):
        assert (a.dtype.name, c.dtype.name, a.shape[1:], len(a)) == ("uint16", "uint32", (16, 16), len(c))
        sizes.append(len(a))
        return np.stack([HOPPER(*one) for one in zip(a, b, c)])

    outcome = bitmma.probe(fn, bitmma.Signature(**SIGNATURE), tests=TESTS, batched=True, codes=True)
    assert outcome.model == MODEL
    assert len(sizes) < sum(sizes) / 10
    assert outcome == bitmma.probe(HOPPER, SIGNATURE, tests=TESTS)


@pytest.mark.parametrize(
    ("architecture", "instruction"),
    [
        ("rtx-blackwell", "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e2m1.f32.ue8m0"),  # scale factors
        ("cdna1", "v_mfma_f32_4x4x2bf16"),  # blocks
    ],
)
@pytest.mark.parametrize("codes", [False, True])
def test_scale_factors_and_blocks(architecture, instruction, codes):
    if not codes:
        pytest.importorskip("ml_dtypes")
    unit = bitmma.mma(architecture, instruction)
    outcome = bitmma.probe(unit, unit, tests=2_000, codes=codes)
    assert outcome.signature == bitmma.Signature.of(unit)
    assert outcome.verdict == "found" and same_bits(outcome, unit)
    assert f"{architecture}/{instruction}" in outcome.known_as


def test_noise_is_a_fault():
    rng = np.random.default_rng(0)
    outcome = bitmma.probe(lambda a, b, c: HOPPER(a, b, c) + rng.normal(size=c.shape).astype("f4"), SIGNATURE)
    assert (outcome.verdict, outcome.model, outcome.unit, outcome.known_as) == ("faulty", None, None, [])
    (fault,) = outcome.faults
    assert (fault["fault"], fault["explanation"]) == ("not deterministic", None)
    assert fault["answer"] != fault["expected"] and len(fault["case"]["a"]) == SIGNATURE["k"]
    assert f"row {fault['place'][1]}, column {fault['place'][2]}" in outcome.summary


def test_a_fault_comes_with_the_mistake_that_explains_it():
    outcome = bitmma.probe(lambda a, b, c: HOPPER(a[np.arange(len(a)) ^ 1], b, c), SIGNATURE)
    assert outcome.verdict == "faulty"
    assert outcome.faults[0]["explanation"] == "rows swapped: rows of A in pairs, 0 with 1, 2 with 3"


def test_what_is_no_sum_of_products_is_not_explained():
    def fn(a, b, c):
        with np.errstate(all="ignore"):
            return np.abs(a.astype(np.float32) * b.astype(np.float32) + c)

    outcome = bitmma.probe(fn, {**SIGNATURE, "k": 1}, tests=2_000)
    assert (outcome.verdict, outcome.model, outcome.known_as) == ("not explained", None, [])
    assert "NOT EXPLAINED" in outcome.summary.upper()


def test_without_ml_dtypes_other_formats_come_as_codes(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)

    def fn(a, b, c):
        raise Stopped(a.dtype.name, b.dtype.name, c.dtype.name)

    with pytest.raises(Stopped) as raised:
        bitmma.probe(fn, {**SIGNATURE, "a": "bf16", "b": "e4m3"})
    assert raised.value.args == ("uint16", "uint8", "float32")


class Stopped(Exception):
    pass


def test_what_it_raises_is_raised_and_the_log_is_gone_on_with(tmp_path):
    log = tmp_path / "questions.csv"
    calls = 0

    def fn(a, b, c, last=300):
        nonlocal calls
        calls += 1
        if calls > last:
            raise Stopped("cable")
        return HOPPER(a, b, c)

    with pytest.raises(Stopped, match="^cable$"):
        bitmma.probe(fn, SIGNATURE, tests=2_000, log=log)
    assert calls == 301, "not asked again"
    written = log.read_text()
    assert written.count("\n") > 512
    calls = 0
    outcome = bitmma.probe(lambda a, b, c: fn(a, b, c, 10**9), SIGNATURE, tests=2_000, log=log, resume=True)
    resumed, calls = calls, 0
    assert log.read_text().startswith(written)
    assert outcome == bitmma.probe(lambda a, b, c: fn(a, b, c, 10**9), SIGNATURE, tests=2_000)
    assert outcome.model == MODEL and calls > resumed + 200

    with pytest.raises(bitmma.RecordingError, match="line 1: this is the log of another probe"):
        bitmma.probe(HOPPER, SIGNATURE, tests=2_000, seed=2, log=log, resume=True)
    with pytest.raises(bitmma.OptionError, match="resume needs log, the file with the answers so far"):
        bitmma.probe(HOPPER, SIGNATURE, tests=2_000, resume=True)
    with pytest.raises(OSError):
        bitmma.probe(HOPPER, SIGNATURE, log=tmp_path / "none" / "questions.csv")


def test_what_progress_raises_is_raised():
    def progress(stage, done, total):
        if stage == "order":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bitmma.probe(HOPPER, SIGNATURE, progress=progress)


@pytest.mark.parametrize(
    ("kind", "message", "fn", "options"),
    [
        (bitmma.ShapeError, "D is 8×16, mine gives 16×8", lambda a, b, c: c.T, {}),
        (bitmma.ShapeError, "D is a single number, mine gives 16×8", lambda a, b, c: c[0, 0], {}),
        (bitmma.ShapeError, "×8 (instructions first: it is batched)", lambda a, b, c: c[0], {"batched": True}),
        (bitmma.DtypeError, "D is float64; f32 comes as float32", lambda a, b, c: c.astype(float), {}),
        (bitmma.DtypeError, "D is object", lambda a, b, c: None, {}),
        (TypeError, "takes 2 positional arguments", lambda a, b: a, {}),
    ],
)  # fmt: skip
def test_an_answer_that_is_none(kind, message, fn, options):
    with pytest.raises(kind) as raised:
        bitmma.probe(fn, SIGNATURE, **options)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "message", "changed"),
    [
        (bitmma.ShapeError, "K is 0; 1 to 65536 can be probed", {"k": 0}),
        (bitmma.TooLarge, "16777216 can be probed", {"m": 65536, "k": 65536}),
        (bitmma.UnknownFormat, "unknown format 'fp17'", {"a": "fp17"}),
        (bitmma.OptionError, "a scale factor for 0 elements; K is 16", {"scale": ("ue8m0", 0)}),
        (bitmma.OptionError, "a scale factor for 3 elements; K is 16", {"scale": ("ue8m0", 3)}),
        (TypeError, "'rows'", {"rows": 4}),
    ],
)
def test_a_signature_that_cannot_be(kind, message, changed):
    with pytest.raises(kind, match=message):
        bitmma.probe(HOPPER, {**SIGNATURE, **changed})
    with pytest.raises(bitmma.ShapeError, match="which takes any shape"):
        bitmma.probe(HOPPER, bitmma.Unit.from_toml(HOPPER.toml))


def test_a_code_that_is_none():
    signature = {**SIGNATURE, "d": "e2m3"}
    with pytest.raises(bitmma.CodeError, match="e2m3 codes have 6 bits"):
        bitmma.probe(lambda a, b, c: np.full((16, 8), 64, np.uint8), signature, codes=True)
