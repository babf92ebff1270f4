"""Every step of one element."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import bitmma

from common import random_codes

UNIT = bitmma.mma("hopper", "HMMA.16816.F32")
A = np.zeros((16, 16), np.float16)
B = np.zeros((16, 8), np.float16)
C = np.zeros((16, 8), np.float32)
A[2, :4], B[:4, 3], C[2, 3] = [-8192, -0.5, -0.25, -0.125], [1024, 1, 1, 1], 2.0**23


def test_which_bits_fell_off():
    explained = bitmma.explain(UNIT, A, B, C, element=(2, 3))
    assert explained.value == UNIT(A, B, C)[2, 3] == -0.75
    assert [(lost.term, lost.exact, lost.kept) for lost in explained.lost] == [("a3*b3", Fraction(-1, 8), 0)]
    assert explained.steps[0]["step"] == "begin" and explained.steps[0]["operation"] == "T-FDPA"
    assert str(explained) == "a3*b3: -0.125 cut to 0, losing -0.125\nd = -0.75"


def test_a_row_and_a_column_will_do():
    explained = bitmma.explain(UNIT, A[2], B[:, 3], C[2, 3:4])
    assert explained.code == bitmma.explain(UNIT, A, B, C, element=(2, 3)).code


def test_every_family_explains_itself_as_it_computes():
    rng = np.random.default_rng(4)
    families = set()
    for row in bitmma.catalogue.instructions():
        if row.unknown or row.name in families:
            continue
        unit = bitmma.mma(row.architecture, row.name)
        a, b = random_codes(rng, row.a, (1, row.k)), random_codes(rng, row.b, (row.k, 1))
        scales = {}
        if row.scale:
            blocks = row.k // row.scale[1]
            scales = {"scale_a": np.full((1, blocks), 127 if row.scale[0] == "ue8m0" else 0x38, np.uint8)}
            scales["scale_b"] = scales["scale_a"].T.copy()
        explained = bitmma.explain(unit, a, b, **scales)
        assert explained.code == bitmma.simulate(unit, a, b, **scales)[0, 0], row
        families.add(row.name)
    assert len(families) > 250
