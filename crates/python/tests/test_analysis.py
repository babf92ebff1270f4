"""The analysis from Python: what the command prints, what the paper prints, and what simulate answers."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import subprocess
from fractions import Fraction

import numpy as np
import pytest

import bitmma
from bitmma import analysis, formats

from common import EVERYTHING

HOPPER = ("h100", "wgmma.m64n8k32.f32.e4m3.e4m3")
AMPERE = ("a100", "mma.m16n8k16.f32.f16.f16.f32")
CDNA3 = ("mi300x", "v_mfma_f32_16x16x16_f16")
RNG = np.random.default_rng(5)
A, B = formats.encode(RNG.normal(size=(5, 200)), "e4m3"), formats.encode(RNG.normal(size=(200, 3)), "e4m3")


def exact(unit, a, b):
    """A·B in fractions, by Python."""
    rows, columns = formats.decode(a, unit.a), formats.decode(b, unit.b)
    return [[sum(Fraction(x) * Fraction(y) for x, y in zip(row, column)) for column in columns.T] for row in rows]


def printed(*arguments):
    """What the command of this tree prints; ``./test`` says where it is."""
    command = os.environ.get("BITMMA_COMMAND")
    if command is None:
        pytest.skip("BITMMA_COMMAND does not name the command")
    done = subprocess.run([command, *map(str, arguments), "--json"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found.pop("schema") == 1
    return found


def as_json(section):
    """A section as the command prints it."""
    figures = [{key: value for key, value in vars(one).items() if key != "_drawn"} for one in section.figures]
    for figure in figures:
        figure["series"] = [{**vars(one), "points": [list(point) for point in one.points]} for one in figure["series"]]
    tables = [dict(vars(table)) for table in section.tables]
    fields = {name: value for name, value in vars(section).items() if name != "_drawn"}
    return {**fields, "tables": tables, "figures": figures}


@pytest.mark.parametrize("part", analysis.PARTS)
@pytest.mark.parametrize("target", [HOPPER, bitmma.mma(*HOPPER)], ids=["named", "unit"])
def test_a_part_takes_a_unit_or_refuses_it(part, target):
    if part in ("bias", "published"):
        with pytest.raises(bitmma.OptionError, match=f"part is {part}; it does not take an instruction or a model"):
            analysis.section(part, target, quick=True)
        return
    section = analysis.section(part, target, quick=True, k=64)
    assert "wgmma.m64n" in json.dumps(as_json(section))
    if part in ("models", "discrepancy", "risks"):
        assert "wgmma.m64n" in section.text[0]
    if part == "risks":
        assert section.tables[0].name == "own-risks"
    if part == "design-space":
        assert section.figures[0].series[-1].name.startswith("hopper wgmma.m64n")


#: All against all takes half a minute.
QUICK = [part for part in analysis.PARTS if EVERYTHING or part != "discrepancy"]


@pytest.mark.parametrize("part", QUICK)
def test_a_section_is_what_the_command_prints(part):
    heard = []
    section = analysis.section(part, quick=True, seed=3, progress=lambda *step: heard.append(step))
    assert as_json(section) == printed("analyze", part, "--quick", "--seed", 3)
    assert heard and all(done <= total for _, done, total in heard)
    for figure in section.figures:
        assert figure.svg.startswith("<svg") and figure.png.startswith(b"\x89PNG")


@pytest.mark.parametrize("part", ["workarounds", "design-space"])
def test_a_section_on_own_data_is_what_the_command_prints(part, tmp_path):
    unit = bitmma.mma("mi250x", "v_mfma_f32_32x32x8f16")
    a, b = (RNG.normal(size=(2, 32, 32)) * 2.0**-13).astype(np.float16)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    given = printed("analyze", part, "cdna2", unit.name, "--quick", "--a", tmp_path / "a.npy", "--b", tmp_path / "b.npy")
    text = json.dumps(given).replace(f"A from {tmp_path / 'a.npy'}, B from {tmp_path / 'b.npy'}", "A and B from Python")
    assert as_json(analysis.section(part, unit, a, b, quick=True)) == json.loads(text)
    random = printed("analyze", part, "cdna2", unit.name, "--quick", "--k", 64, "--distribution", "outliers", "--scale", 2)
    section = analysis.section(part, unit, quick=True, k=64, distribution="outliers", scale=2)
    assert as_json(section) == random


def test_compare_is_what_the_command_prints():
    for arguments, comparison in [
        ((), analysis.compare()),
        (
            ("a100", "mi300x", "-a", "1 0x1p-12 0x1p-12", "-b", "1 0x1p-12 -0x1p-13", "-c", "0.1", "--round"),
            analysis.compare([1, 2**-12, 2**-12], [1.0, "0x1p-12", -(2**-13)], "0.1", architectures=["a100", "mi300x"], round=True),
        ),
    ]:  # fmt: skip
        expected = printed("compare", *arguments)
        ours = [(one.target, one.architecture, one.instruction, one.format, float(one.text)) for one in comparison.answers]
        keys = ("target", "architecture", "instruction", "format", "value")
        assert ours == [tuple(one[key] for key in keys) for one in expected["answers"]]
        assert [vars(one) for one in comparison.left_out] == expected["left_out"]
        told = subprocess.run([os.environ["BITMMA_COMMAND"], "compare", *arguments], capture_output=True, text=True, check=True)
        assert str(comparison) == told.stdout.rstrip("\n")


def test_compare_says_what_each_lost():
    answers = analysis.compare(architectures=["ampere", "hopper"]).answers
    one = next(answer for answer in answers if answer.instruction == AMPERE[1])
    assert one.value == -0.5 and [loss.term for loss in one.losses] == ["a2*b2", "a3*b3"]
    assert (one.losses[0].exact, one.losses[0].kept, one.losses[0].source) == (Fraction(-1, 4), 0, "fused summation")
    exactly = Fraction(-7, 8)
    for answer in answers:
        assert Fraction(answer.value) == exactly + sum(loss.error for loss in answer.losses), answer
    assert list(analysis.compare(["nan"], [1.0], architectures=["ampere"]).by_value)[-1] != 0
    groups = analysis.compare().by_value
    assert list(groups) == sorted(groups) and -0.875 in groups


def test_the_smallest_input_that_tells_two_apart():
    ampere, hopper = bitmma.mma(*AMPERE), bitmma.mma("h100", AMPERE[1])
    found = analysis.smallest(ampere, hopper)
    assert found.verdict == "found" and found.smallest and found.input is not None
    ones = found.input
    codes = tuple(int(bitmma.simulate(unit, ones.a, ones.b, ones.c)[0, 0]) for unit in (ampere, hopper))
    assert codes == found.answers and codes[0] != codes[1]
    assert str(ones) == ones.text and "a0 = " in ones.text
    # where they part: the one loses what the other keeps, or more of it
    assert found.first[0] != found.first[1]
    same = analysis.smallest(AMPERE, AMPERE)
    assert (same.verdict, same.input, same.tried) == ("never", None, 0)
    assert found.tried == analysis.smallest(ampere, hopper, threads=1).tried


def test_all_against_all():
    targets = [(chip, AMPERE[1]) for chip in ("a100", "rtx4090", "h100", "b200")]
    found = analysis.matrix(targets, each=50)
    names = [[unit.instruction.architecture for unit in units] for units in found.units]
    assert names == [["ampere", "ada"], ["hopper", "blackwell"]] or sum(names, []) == ["ampere", "ada", "hopper", "blackwell"]
    assert found.adversarial.shape == found.normal.shape == (len(names), len(names))
    assert (np.diag(found.adversarial) == 0).all() and found.adversarial[0, 1] > 0
    assert np.array_equal(found.adversarial, found.adversarial.T) and found.cases == (450, 50) and found.k == 16
    with pytest.raises(bitmma.FormatError, match="cannot be compared: the one takes A e4m3"):
        analysis.matrix([HOPPER, AMPERE])


def test_an_account_adds_up():
    unit = bitmma.mma(*HOPPER)
    a, b = A[:, :32], B[:32]
    for row in range(5):
        found = analysis.account(unit, a, b, element=(row, 1))
        assert found.exact == exact(unit, a, b)[row][1]
        assert found.value == Fraction(float(formats.decode(bitmma.simulate(unit, a, b), "f32")[row, 1]))
        assert found.error == found.value - found.exact == sum(loss.error for loss in found.losses)
        assert abs(found.error) <= found.bound <= found.paper_bound
        assert sum(entry.error for entry in found.sources) == found.error
        assert all(abs(entry.error) <= entry.bound for entry in found.sources)
    assert set(analysis.error_sources(unit)) == {"fused summation", "output rounding"}
    assert analysis.error_sources(unit)["fused summation"] == "33 · 2^(e_max-13)"
    infinite = analysis.account(AMPERE, np.full((1, 16), np.inf, np.float16), np.ones((16, 1), np.float16))
    assert infinite.error is None and infinite.bound is None
    with pytest.raises(bitmma.ShapeError, match="element is"):
        analysis.account(unit, a, b, element=(9, 0))


@pytest.mark.parametrize("promote_every", [None, 64])
def test_bounds_hold_element_by_element(promote_every):
    unit = bitmma.mma(*HOPPER)
    found = analysis.bounds(unit, A, B, promote_every=promote_every)
    d = bitmma.gemm(unit, A, B, promote_every=promote_every)
    expected = [[float(Fraction(float(x)) - y) for x, y in zip(*rows)] for rows in zip(formats.decode(d, "f32"), exact(unit, A, B))]
    assert np.array_equal(found.error, expected) and found.error.any()
    assert np.array_equal(analysis.errors(unit, A, B, d), expected)
    assert (abs(found.error) <= found.bound).all()
    if promote_every is None:
        assert found.bound.max() <= found.a_priori == pytest.approx(sum(found.a_priori_by_source.values()))
    else:
        assert found.a_priori is None and not found.a_priori_by_source
    assert np.array_equal(found.bound, analysis.bounds(unit, A, B, promote_every=promote_every, threads=1).bound)


def test_bounds_with_scale_factors_and_c():
    unit = bitmma.mma("b200", "tcgen05.mma.m128n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.ue8m0")
    a, b = A[:, :192], B[:192]
    scales = {"scale_a": RNG.integers(120, 134, (5, 6), np.uint8), "scale_b": RNG.integers(120, 134, (6, 3), np.uint8)}
    c = RNG.normal(size=(5, 3)).astype(np.float32)
    found = analysis.bounds(unit, a, b, c.view(np.uint32), **scales)
    assert (abs(found.error) <= found.bound).all() and found.bound.max() <= found.a_priori
    d = formats.decode(bitmma.gemm(unit, a, b, c.view(np.uint32), **scales), "f32")
    wide = formats.decode(a, "e4m3") * np.repeat(2.0 ** (scales["scale_a"] - 127.0), 32, axis=1)
    tall = formats.decode(b, "e4m3") * np.repeat(2.0 ** (scales["scale_b"] - 127.0), 32, axis=0)
    assert np.allclose(found.error, d - (wide @ tall + c), atol=1e-9)


def test_errors_take_any_dtype_of_d():
    a, b = RNG.normal(size=(2, 8, 8)).astype(np.float16)
    d = (a.astype(float) @ b.astype(float)).astype(np.float32)
    found = analysis.errors(AMPERE, a, b, d)
    assert np.array_equal(found, d.astype(float) - a.astype(float) @ b.astype(float))
    half = analysis.errors(AMPERE, a, b, d.astype(np.float16), np.ones((8, 8), np.float32))
    assert np.allclose(half, -1, atol=1e-2) and (half != -1).any()
    d[0, 0] = np.nan
    assert np.isnan(analysis.errors(AMPERE, a, b, d)).sum() == 1


def test_results_are_dataclasses():
    account = analysis.account(HOPPER, A[:1, :32], B[:32, :1])
    bounds = analysis.bounds(HOPPER, A[:1, :32], B[:32, :1])
    growth = analysis.bias_growth([64], products=1)[0]
    verdict = analysis.assess(HOPPER)[1]
    comparison = analysis.compare(architectures=["ampere"])
    for one in (account, account.sources[0], growth, growth.bias, comparison.answers[0], comparison):
        again = pickle.loads(pickle.dumps(one))
        assert again == one and dataclasses.asdict(again).keys() == {field.name for field in dataclasses.fields(one)}
    assert dataclasses.replace(growth, k=1) != growth and dataclasses.asdict(growth)["bias"]["mean"] == growth.bias.mean
    for one in (bounds, verdict, verdict.witness, verdict.witness.input):
        assert one != pickle.loads(pickle.dumps(one)) and one == one, "arrays have no one truth"
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.text = ""
    # what is not finite is a number here too
    huge = [np.full((1, 2), 1e200), np.full((2, 1), 1e100)]
    lost = analysis.workarounds(("a100", "mma.m8n8k4.f64.f64.f64.f64"), *huge, np.full((1, 1), 1e300))[0].errors
    assert isinstance(lost.mean_square, float) and lost.count == 1


def test_the_worst_case_uses_up_its_bound():
    worst = analysis.worst_case(HOPPER, budget=4_000, enough=0.6)
    assert worst is not None and 0.5 < worst.ratio <= 1
    again = analysis.account(HOPPER, worst.input.a, worst.input.b, worst.input.c)
    assert again.error == worst.error and float(abs(again.error) / again.bound) == pytest.approx(worst.ratio)
    assert analysis.worst_case(HOPPER, "output FTZ", budget=500) is None
    with pytest.raises(bitmma.OptionError, match="objective is 'most'; one of total, paper, input FTZ"):
        analysis.worst_case(HOPPER, "most")


def test_risks_of_the_catalogue_and_of_a_model_of_ones_own():
    verdicts = {verdict.risk: verdict for verdict in analysis.assess(HOPPER)}
    assert {name for name, one in verdicts.items() if one.present} == {"small F", "narrow rho"}
    for one in verdicts.values():
        assert one.present == (one.why is not None)
        if one.witness:
            shown = one.witness.input
            assert int(bitmma.simulate(bitmma.mma(*HOPPER), shown.a, shown.b, shown.c)[0, 0]) == one.witness.code
    wide = bitmma.Unit.from_toml(bitmma.mma(*HOPPER).toml.replace("F = 13", "F = 25").replace("RZ-E8M13", "RZ-FP32"), step=32)
    assert not any(verdict.present for verdict in analysis.assess(wide))
    skewed = {one.risk: one for one in analysis.assess(CDNA3)}["asymmetry"]
    minus = formats.decode(np.array([skewed.witness.mirrored], np.uint32), "f32")
    assert minus != -formats.decode(np.array([skewed.witness.code], np.uint32), "f32")


def test_every_model_of_the_catalogue_is_assessed():
    found = analysis.assess_all()
    flushed = {name for one in found for name, _ in one.instructions if one.verdicts[0].present}
    assert flushed == {"cdna2"} and len(found) > 50
    assert all(bitmma.Unit.from_toml(one.model).name in one.model for one in found[:5])


def test_the_bias_of_cdna3():
    found = analysis.bias_distributions(instructions=40)
    assert found.round_down.count == 40 * 1024 and sum(found.round_down_bins.counts) == 40 * 1024
    assert found.round_down.mean < -10 * found.round_down.mean_error
    assert abs(found.toward_zero.mean) < 4 * found.toward_zero.mean_error
    rows = printed("analyze", "bias", "--quick")["tables"][0]["rows"]
    assert rows[0][1:4:2] == [found.round_down.mean, found.round_down.mean / found.round_down.mean_error]
    growth = analysis.bias_growth([64, 256], products=2)
    assert [row.k for row in growth] == [64, 256] and growth[1].bias.mean < growth[0].bias.mean < 0

    def stop(what, done, total):
        if done == 3:
            raise KeyError(what)

    with pytest.raises(KeyError, match="distributions"):
        analysis.bias_distributions(instructions=1000, progress=stop)


def test_designs_and_workarounds_on_own_data():
    toml = bitmma.mma(*HOPPER).toml
    designs = [bitmma.Unit.from_toml(toml.replace("F = 13", f"F = {bits}").replace("RZ-E8M13", "RZ-FP32"), step=32) for bits in (10, 13, 25)]
    measured = analysis.measure_designs(designs, A, B)
    assert [one.unit for one in measured] == designs
    assert measured[0].relative > measured[1].relative > 30 * measured[2].relative
    assert measured[0].adder_bits == 32 * (3 + 10 + 6) < measured[2].adder_bits
    ours = analysis.errors(designs[1], A, B, bitmma.gemm(designs[1], A, B))
    assert measured[1].errors.largest == abs(ours).max() and measured[1].errors.count == ours.size

    tried = analysis.workarounds(HOPPER, A, B)
    assert tried[0].name == "as it is" and tried[0].instruction == bitmma.catalogue.find(*HOPPER).row
    promoted = {one.name.split(":")[0]: one for one in tried}["promotion"]
    expected = analysis.errors(HOPPER, A, B, bitmma.gemm(HOPPER, A, B, promote_every=128))
    assert promoted.errors.largest == abs(expected).max()
    assert promoted.errors.root_mean_square < tried[0].errors.root_mean_square
    scaled = "b200", "tcgen05.mma.m128n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.ue8m0"
    with pytest.raises(bitmma.ScaleError, match="scale A"):
        analysis.workarounds(scaled, A, B)
    # with factors of two and four times C the errors are four times those with factors of one
    blocks = -(-A.shape[1] // 32)
    ones = [np.full((A.shape[0], blocks), 127, np.uint8), np.full((blocks, B.shape[1]), 127, np.uint8)]
    c = np.full((A.shape[0], B.shape[1]), 1e7 / 3, np.float32)
    plain = analysis.workarounds(scaled, A, B, c, scale_a=ones[0], scale_b=ones[1])[0]
    twos = analysis.workarounds(scaled, A, B, 4 * c, scale_a=ones[0] + 1, scale_b=ones[1] + 1)[0]
    assert plain.errors.largest > 0 and twos.errors.largest == 4 * plain.errors.largest
    d = bitmma.gemm(scaled, A, B, c, scale_a=ones[0], scale_b=ones[1])
    ours = analysis.errors(scaled, A, B, d, c, scale_a=ones[0], scale_b=ones[1])
    assert abs(ours).max() == plain.errors.largest


def test_a_report_is_a_folder_that_is_taken_up_again(tmp_path):
    out = tmp_path / "report"
    sections = analysis.report(out, only=["risks", "bias"], quick=True)
    assert [section.name for section in sections] == ["risks", "bias"]
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "<section id=\"risks\">" in page and (out / "figures" / "bias-growth.png").read_bytes().startswith(b"\x89PNG")
    kept = json.loads((out / "report.json").read_text(encoding="utf-8"))["sections"]
    assert kept == [as_json(section) for section in sections]
    heard = []
    again = analysis.report(out, only=["risks", "bias"], quick=True, progress=lambda *step: heard.append(step))
    assert again == sections and not heard, "finished sections are taken as they are"
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(bitmma.ReportError, match="it exists and is not a report"):
        analysis.report(tmp_path, only=["risks"], quick=True)


@pytest.mark.parametrize(
    ("kind", "message", "call"),
    [
        (bitmma.OptionError, "part is 'riscs'; one of discrepancy, bounds, risks", lambda: analysis.section("riscs")),
        (bitmma.OptionError, "distribution is cauchy; one of normal", lambda: analysis.section("workarounds", AMPERE, distribution="cauchy")),
        (bitmma.OptionError, "threads is 0; at least one thread", lambda: analysis.assess_all(threads=0)),
        (bitmma.OptionError, "threads is 4097; at most 4096", lambda: analysis.assess_all(threads=4097)),
        (bitmma.OptionError, "scale is NaN; a number above 0, at most 1e300", lambda: analysis.section("risks", scale=float("nan"))),
        (bitmma.OptionError, "scale is inf; a number above 0", lambda: analysis.section("risks", AMPERE, scale=float("inf"))),
        (bitmma.OptionError, "scale is 0; a number above 0", lambda: analysis.report("never", scale=0.0)),
        (bitmma.OptionError, "scale is -1; a number above 0", lambda: analysis.bias_growth([64], scale=-1.0)),
        (bitmma.OptionError, "k is 0; it may be 1 to 1048576", lambda: analysis.section("risks", k=0)),
        (bitmma.OptionError, "k is 1048577; it may be 1 to 1048576", lambda: analysis.bias_growth([64, 2**20 + 1])),
        (bitmma.OptionError, "k is 0; it may be", lambda: analysis.smallest(AMPERE, AMPERE, k=0)),
        (bitmma.OptionError, "k is 1099511627776; it may be", lambda: analysis.worst_case(AMPERE, k=2**40)),
        (bitmma.OptionError, "k is 1099511627776; it may be", lambda: analysis.assess(AMPERE, k=2**40)),
        (bitmma.OptionError, "k is 0; it may be", lambda: analysis.error_sources(AMPERE, k=0)),
        (bitmma.ModelError, "K is 17; T-FDPA takes multiples of 8", lambda: analysis.error_sources(AMPERE, k=17)),
        (bitmma.OptionError, "budget is 0; at least 1 is needed", lambda: analysis.smallest(AMPERE, AMPERE, budget=0)),
        (bitmma.OptionError, "budget is 79; at least 80 is needed", lambda: analysis.worst_case(AMPERE, budget=79)),
        (bitmma.OptionError, "enough is NaN; a ratio of error and bound is 0 to 1", lambda: analysis.worst_case(AMPERE, enough=float("nan"))),
        (bitmma.OptionError, "each is 0; it may be 1 to 1000000", lambda: analysis.matrix([AMPERE], each=0)),
        (bitmma.OptionError, "instructions is 0; it may be 1 to 1000000", lambda: analysis.bias_distributions(instructions=0)),
        (bitmma.OptionError, "products is 0; it may be 1 to 1000000", lambda: analysis.bias_growth([64], products=0)),
        (bitmma.OptionError, "data need a target, and both A and B", lambda: analysis.section("risks", AMPERE, A)),
        (bitmma.FormatError, "cannot be compared", lambda: analysis.smallest(AMPERE, HOPPER)),
        (bitmma.UnknownArchitecture, "unknown architecture 'h1'", lambda: analysis.compare(architectures=["h1"])),
        (bitmma.DtypeError, "A is float64", lambda: analysis.bounds(AMPERE, A.astype(float), B)),
        (bitmma.ShapeError, "B is 200×3, ", lambda: analysis.bounds(HOPPER, A[:, :32], B)),
        (bitmma.OptionError, "A 5×200, B 200×3, D 3×5; one product", lambda: analysis.errors(HOPPER, A, B, np.zeros((3, 5), np.uint32))),
        (bitmma.OptionError, "blocks is 2; errors are bounded for one product", lambda: analysis.bounds(HOPPER, np.stack([A, A]), np.stack([B, B]))),
    ],
)  # fmt: skip
def test_a_call_that_is_wrong_says_so(kind, message, call):
    with pytest.raises(kind) as raised:
        call()
    assert message in str(raised.value)
