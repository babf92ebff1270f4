"""What notebooks show, and bars for long work."""

from __future__ import annotations

import copy
import pickle
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import bitmma
from bitmma import _progress, analysis

INSTRUCTION = ("h100", "wgmma.m64n8k16.f32.f16.f16")


def shown(result):
    """What a notebook shows, as a tree: well-formed, with the style of the pages."""
    text = result._repr_html_()
    tree = ElementTree.fromstring(text)
    assert tree.get("class") == "bitmma note" and tree[0].tag == "style" and "<script" not in text
    return tree, " ".join("".join(tree.itertext()).split())


def test_an_explanation_is_the_picture_of_the_command():
    a = np.array([-8192.0, -0.5, -0.25, -0.125], np.float16)
    b = np.array([1024.0, 1.0, 1.0, 1.0], np.float16)
    c = np.array(2.0**23, np.float32)
    found = bitmma.explain(bitmma.mma(*INSTRUCTION), a, b, c)
    tree, text = shown(found)
    assert "aligned" not in text and "e_max = 23; cut (RZ) to 25 bits below it" in text
    lost = ["".join(one.itertext()) for one in tree.iter("span") if one.get("class") == "lost"]
    assert "-0.125" in lost, lost
    assert shown(pickle.loads(pickle.dumps(found)))[1] == text and copy.copy(found) == found


def test_instructions_and_models_are_what_show_prints():
    unit = bitmma.mma(*INSTRUCTION)
    for one in (unit, unit.instruction):
        assert "wgmma.m64n{8..256}k16.f32.f16.f16" in shown(one)[1]
    model = bitmma.Unit.from_toml(unit.toml, step=16)
    assert "T-FDPA" in shown(model)[1] and "25" in shown(model)[1]


def test_comparisons_and_differences():
    tree, text = shown(analysis.compare(architectures=["ampere", "hopper"]))
    rows = {"".join(row[0].itertext()): ["".join(cell.itertext()) for cell in row[1:]] for row in tree.iter("tr")}
    assert rows["ampere"][:4] == ["-0.875", "-0.5", "-0.5", "N/A"] and rows["hopper"][:4] == ["-0.875", "-0.75", "-0.75", "0.0"]
    assert text.index("4 different results; ") < text.index("ampere") < text.index("Paper, Equation 1") < text.index("left out")
    name = "mma.m16n8k16.f32.f16.f16.f32"
    found = analysis.smallest(("a100", name), ("h100", name), budget=20_000)
    tree, text = shown(found)
    assert f"ampere {name} and hopper {name} differ on {found.input.text}; there may be a smaller input" in text
    assert f"{found.answers[0]:#x}" in text and str(found).splitlines()[0] in text
    same = analysis.smallest(("a100", name), ("ada", name), budget=10)
    assert "never" in shown(same)[1]
    found = analysis.matrix([("a100", name), ("h100", name)], each=10)
    share = f"{100 * found.adversarial[0, 1]:.3g}"
    assert [one.text for one in shown(found)[0].iter("td")] == [None, "0", share, share, "0"]


def test_who_computed_a_product_and_where_two_part():
    tree, text = shown(bitmma.diff(("a100", "mma.m16n8k16.f32.bf16.bf16.f32"), ("h100", "wgmma.m64n8k16.f32.bf16.bf16")))
    names = ["".join(row[0].itertext()) for row in next(tree.iter("table")).iter("tr")]
    assert "they differ at K = 16" in text and "adversarial ones" in text and names == ["parameter", "L", "F", "ezero"]
    assert text.count("T-FDPA with L=") == 2, "the pictures of both"
    tree, text = shown(bitmma.diff(INSTRUCTION, ("b200", "tcgen05 f16 f32")))
    assert "same model: the same bits for every input" in text and "T-FDPA with L=" not in text
    random = np.random.default_rng(44)
    a, b = random.standard_normal((16, 96)).astype(np.float16), random.standard_normal((96, 16)).astype(np.float16)
    d = bitmma.gemm(INSTRUCTION, a, b)
    tree, text = shown(bitmma.which(a, b, d))
    assert "D was computed by: hopper mma" in text and "256 of 256" in text and "H100" in text
    ones = np.ones((4, 64), np.float16)
    assert "These inputs do (every other element is zero" in shown(bitmma.which(ones, ones.T, np.full((4, 4), 64, np.float32)))[1]
    d[3, 5] = np.nextafter(d[3, 5], np.float32(np.inf))
    assert "none of them computes D" in shown(bitmma.which(a, b, d))[1]
    assert "its first that differs is D[3, 5]" in shown(bitmma.which(a, b, d))[1]
    tree, text = shown(bitmma.explain_element(INSTRUCTION, a, b, element=(3, 5), d=d))
    assert "K = 96 in 6 steps of 16" in text and "d differs" in text and len(list(tree.iter("tr"))) > 1
    assert "e_max = " in "".join(tree.find("details").itertext()), "all steps are there to be unfolded"


def test_sections_tables_and_figures():
    section = analysis.section("bias", quick=True)
    tree, text = shown(section)
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}svg"))) == 2 and section.finding["headline"].startswith("CDNA3")
    assert "figures/" not in section._repr_html_(), "a notebook has no files beside it"
    assert "RD: the instruction as it is" in shown(section.tables[0])[1]


class Bars:
    """What tqdm was told."""

    def __init__(self, **options):
        self.options, self.n, self.total, self.heard = options, 0, None, []
        Bars.last = self

    def set_description(self, what, refresh):
        self.heard.append(what)

    def reset(self, total):
        self.n, self.total = 0, total

    def update(self, more):
        self.n += more

    def close(self):
        self.closed = True


def test_bars_where_tqdm_is_installed(monkeypatch):
    auto = type(sys)("tqdm.auto")
    auto.tqdm = Bars
    monkeypatch.setitem(sys.modules, "tqdm", type(sys)("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    assert bitmma.verify("sim:hopper/mma.m16n8k16.f32.f16.f16.f32", tests=2_000, progress=True).agrees
    assert Bars.last.closed and Bars.last.n == Bars.last.total > 2_000
    analysis.section("risks", quick=True, progress=True)
    assert Bars.last.heard and Bars.last.closed
    # nobody watches a test
    Bars.last = None
    for progress in (None, False):
        analysis.section("risks", quick=True, progress=progress)
        assert Bars.last is None
    heard = []
    bitmma.verify("sim:hopper/mma.m16n8k16.f32.f16.f16.f32", tests=100, progress=lambda *told: heard.append(told))
    assert heard and Bars.last is None and len(heard[0]) == 2
    monkeypatch.setattr(_progress, "_watched", lambda: True)
    analysis.section("risks", quick=True)
    assert Bars.last.closed


def test_silence_where_tqdm_is_missing(monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    analysis.section("risks", quick=True, progress=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_a_listener_raises_ends_the_work_and_the_bar(error):
    def listener(*_):
        raise error("enough")

    with pytest.raises(error, match="enough"):
        analysis.section("risks", quick=True, progress=listener)
