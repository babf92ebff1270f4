"""Python's answers are those of real units and of the exact vectors: every line of every recording."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

import bitmma
from bitmma import formats

from common import ROOT

FILES = sorted((ROOT / "recordings").glob("*/*.csv"))
LINES = 74_473  # 53,881 of hardware, 20,592 vectors


def arrays(unit, records):
    """The dot products of one instruction as that many products of a row and a column."""
    count = len(records)

    def codes(format, column, shape):
        word = f"uint{8 * formats.by_name(format).bytes}"
        return np.array([getattr(record, column) for record in records], dtype=word).reshape(count, *shape)

    scales = {}
    if unit.scale:
        scales["scale_a"] = codes(unit.scale[0], "scale_a", (1, -1))
        scales["scale_b"] = codes(unit.scale[0], "scale_b", (-1, 1))
    a, b = codes(unit.a, "a", (1, -1)), codes(unit.b, "b", (-1, 1))
    return (a, b, codes(unit.c, "c", (1, 1))), scales


def agree(format, expected, actual):
    """Equal bits, or two NaNs."""
    nan = np.isnan(formats.decode(actual, format))
    wants_nan = np.array([code is None for code in expected])
    word = np.array([code or 0 for code in expected], dtype=actual.dtype)
    wants_nan |= np.isnan(formats.decode(word, format))
    return np.where(wants_nan, nan, word == actual)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_simulate_and_gemm_answer_as_recorded(path):
    records = bitmma.recording.read(path)
    assert records
    for (arch, name), group in groupby(records, key=lambda record: (record.arch, record.instruction)):
        if arch == "cpu":
            continue  # an instruction of a processor: only `replay` has it
        group = list(group)
        unit = bitmma.mma(arch, name)
        operands, scales = arrays(unit, group)
        expected = [record.d for record in group]
        for function in (bitmma.simulate, bitmma.gemm):
            d = function(unit, *operands, **scales).reshape(-1)
            wrong = np.flatnonzero(~agree(unit.d, expected, d))
            assert not len(wrong), (function.__name__, group[wrong[0]], hex(d[wrong[0]]))


def test_replay_sees_every_line():
    outcomes = bitmma.recording.replay(FILES)
    assert sum(outcome.total for outcome in outcomes) == LINES
    assert sum(outcome.mismatches for outcome in outcomes) == 0


def test_replay_names_the_recording_of_the_first_that_differs(tmp_path):
    header = "arch,instruction,a,b,c,scale_a,scale_b,d\n"
    line = "volta,mma.m8n8k4.f32.f16.f16.f32,3c00 0000 0000 0000,4000 0000 0000 0000,3f800000,,,"
    right, wrong = tmp_path / "right.csv", tmp_path / "wrong.csv"
    right.write_text(header + line + "40400000\n")
    wrong.write_text(header + line + "40400000\n" + line + "40400001\n")
    (outcome,) = bitmma.recording.replay([right, wrong, right])
    assert (outcome.total, outcome.mismatches, outcome.first, outcome.file) == (4, 1, 3, str(wrong))


def test_the_paper_revision_parts_from_hardware_where_the_changelog_says():
    vectors = ROOT / "recordings" / "hardware" / "h100.csv"
    assert all(outcome.total == 200 for outcome in bitmma.recording.replay(vectors, revision="paper"))


def test_one_call_of_an_instruction_answers_a_recorded_element():
    record = bitmma.recording.read(ROOT / "recordings" / "hardware" / "h100.csv")[0]
    unit = bitmma.mma(record.arch, record.instruction)
    _, m, n, k = unit.shape
    a = np.zeros((m, k), dtype=np.uint16)
    b = np.zeros((k, n), dtype=np.uint16)
    c = np.zeros((m, n), dtype=np.uint32)
    a[3], b[:, 5], c[3, 5] = record.a, record.b, record.c
    assert unit(a, b, c)[3, 5] == record.d


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense\n", "line 1: the header is 'nonsense'"),
        ("arch,instruction,a,b,c,scale_a,scale_b,d\nh100,mma.m1,0,0,0,,,0\n", "line 2: hopper has no instruction"),
    ],
)
def test_a_recording_that_does_not_read_names_file_and_line(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    for call in (bitmma.recording.read, lambda path: bitmma.recording.replay([FILES[0], path])):
        with pytest.raises(bitmma.RecordingError, match=f"bad.csv: {message}"):
            call(path)
        with pytest.raises(FileNotFoundError, match="none.csv: No such file"):
            call(tmp_path / "none.csv")
