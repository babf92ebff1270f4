"""Who computed a product, what two units differ in, and one element of a whole product."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import bitmma
from bitmma.errors import FormatError, OptionError, ShapeError

RANDOM = np.random.default_rng(44)
A = RANDOM.standard_normal((16, 96)).astype(np.float16)
B = RANDOM.standard_normal((96, 16)).astype(np.float16)
HOPPER = ("h100", "wgmma.m64n64k16.f32.f16.f16")


def command(*words):
    """What the command prints as JSON."""
    ended = subprocess.run([sys.executable, "-m", "bitmma", *words, "--json"], capture_output=True, text=True)
    assert ended.returncode in (0, 1), ended.stderr
    return json.loads(ended.stdout)


def test_the_truth_is_found():
    found = bitmma.which(A, B, bitmma.gemm(HOPPER, A, B, split_k=3))
    assert found and found.verdict in ("one", "several")
    (first, *_) = found.matching
    assert "hopper" in first.architectures and "H100" in first.chips
    assert first.agreeing == first.compared == found.elements == 256
    assert any(order.split_k == 3 for order in first.matching)
    assert "K in 3 parts" in str(found) and repr(found).startswith("<bitmma.Which: D was computed by")


def test_with_c_and_torch_like_dtypes():
    c = RANDOM.standard_normal((16, 16)).astype(np.float32)
    found = bitmma.which(A, B, bitmma.gemm(HOPPER, A, B, c), c)
    assert any(order.c_last is False for row in found.matching for order in row.matching)
    codes = RANDOM.integers(0x28, 0x48, (16, 96), dtype=np.uint8)
    d = bitmma.gemm(("h100", "wgmma.m64n64k32.f32.e4m3.e4m3"), codes, np.ascontiguousarray(codes.T), promote_every=32)
    found = bitmma.which(codes, codes.T, d, read_as="e4m3", d_as="f32")
    assert any(order.promote_every == 32 for row in found.matching for order in row.matching)


def test_none_has_a_nearest():
    d = bitmma.gemm(HOPPER, A, B).copy()
    d[3, 5] = np.nextafter(d[3, 5], np.float32(np.inf))
    found = bitmma.which(A, B, d)
    assert not found and found.verdict == "none" and not found.matching
    nearest = found.rows[0]
    assert (nearest.agreeing, nearest.first.element) == (255, (0, 3, 5))
    assert str(found).startswith("none of ")


def test_inputs_that_tell_apart():
    ones = np.ones((4, 64), np.float16)
    found = bitmma.which(ones, ones.T, np.full((4, 4), 64, np.float32))
    assert found.verdict == "several" and found.tests
    test = found.tests[0]
    assert len(test.results) > 1 and all({"k", "a", "b"} == set(pair) for pair in test.inputs)
    row, order = test.results[0].of[0]
    assert order in found.rows[row].matching


def test_what_which_refuses():
    with pytest.raises(ShapeError, match="D is 16×15"):
        bitmma.which(A, B, np.zeros((16, 15), np.float32))
    with pytest.raises(OptionError, match="scale_a and scale_b go together"):
        bitmma.which(A, B, np.zeros((16, 16), np.float32), scale_a=np.zeros((16, 6), np.uint8))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (("h100", "wgmma f16 f32"), ("b200", "tcgen05 f16 f32")),
        (("a100", "m16n8k16 f16 f32"), ("h100", "m16n8k16 f16 f32")),
    ],
)
def test_diff_is_that_of_the_command(left, right):
    found = bitmma.diff(left, right)
    printed = command("diff", *left, *right)
    assert (found.verdict, found.k, found.reason) == (printed["verdict"], printed["k"], printed["reason"])
    assert [vars(one) for one in found.differences] == printed["differences"]
    assert (found.inputs, found.results, found.differing) == (printed["inputs"], printed["results"], printed["differing"])
    assert repr(found).startswith("<bitmma.Diff: " + {"same": "same model", "differs": "they differ"}[found.verdict])


def test_diff_of_chips_files_and_plans(tmp_path):
    assert bitmma.diff("a100", "h100", type="bf16").verdict == "differs"
    model = tmp_path / "mine.toml"
    model.write_text(bitmma.mma(*HOPPER).toml)
    assert bitmma.diff(HOPPER, model).verdict == "same"
    plan = 'format = "bitmma-plan/1"\narch = "hopper"\ninstruction = "wgmma.m64n256k16.f32.f16.f16"\nevidence = "derived"\nsource = ""\n'
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text(plan)
    other.write_text(plan + "[promote]\nevery = 64\n")
    assert bitmma.diff(one, one).verdict == "same"
    found = bitmma.diff(one, other)
    assert found.verdict == "differs" and [one.parameter for one in found.differences] == ["promote.every"]
    assert found.results["of_left"] != found.results["of_right"]
    printed = command("diff", str(one), str(other))
    assert (found.inputs, found.results) == (printed["inputs"], printed["results"])


def test_what_diff_refuses(tmp_path):
    with pytest.raises(OptionError, match="h100 has no instruction"):
        bitmma.diff("h100", "a100")
    with pytest.raises(FormatError, match="cannot be compared"):
        bitmma.diff(("h100", "wgmma f16 f32"), ("h100", "wgmma bf16 f32"))


def test_an_element_of_a_whole_product():
    d = bitmma.gemm(HOPPER, A, B, split_k=2)
    explained = bitmma.explain_element(HOPPER, A, B, element=(3, 5), d=d, split_k=2)
    assert explained.d["value"] == d[3, 5] and explained.departure.agrees
    assert len(explained.steps) == 6 and len(explained.events) == 7
    assert 0 < len(explained.lossy) <= 6
    other = bitmma.gemm(HOPPER, A, B).copy()
    other[3, 5] = np.nextafter(other[3, 5], np.float32(np.inf))
    departs = bitmma.explain_element(HOPPER, A, B, element=(3, 5), d=other)
    assert not departs.departure.agrees
    assert "  d differs\n" in str(departs) and "K = 96 in 6 steps of 16" in str(departs)
    assert repr(departs).startswith("<bitmma.ElementExplanation: D[3,5] ") and "--steps" in str(departs)
    ampere = bitmma.gemm(("a100", "mma.m16n8k16.f32.f16.f16.f32"), A, B)
    row, column = (int(place[0]) for place in np.nonzero(ampere != bitmma.gemm(HOPPER, A, B)))
    departs = bitmma.explain_element(HOPPER, A, B, element=(row, column), d=ampere)
    assert "A100" in departs.computed_by["chips"] and "They part at step" in str(departs)
    with pytest.raises(OptionError, match="D is 16×15; A·B is 16×16"):
        bitmma.explain_element(HOPPER, A, B, element=(0, 0), d=other[:, :15].copy())
    with pytest.raises(OptionError, match="element"):
        bitmma.explain_element(HOPPER, A, B, element=(16, 0))


@pytest.mark.skipif(sys.platform != "linux", reason="devices and named pipes")
@pytest.mark.parametrize("kind", ["a device", "a named pipe", "a folder"])
def test_files_without_an_end_are_not_read(kind, tmp_path):
    path = tmp_path / "it.toml"
    {"a device": lambda: path.symlink_to("/dev/zero"), "a named pipe": lambda: os.mkfifo(path), "a folder": path.mkdir}[kind]()
    with pytest.raises(OSError, match=f"it.toml: it is {kind}; a plan was expected"):
        bitmma.diff(path, HOPPER)
    if kind == "a device":
        arithmetic = pytest.importorskip("bitmma.torch.arithmetic")
        with pytest.raises(bitmma.errors.ModelError, match="it is a device; a model file"):
            arithmetic._unit(path)
