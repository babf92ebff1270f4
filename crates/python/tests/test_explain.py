"""Every step of one element."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

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


def test_what_was_rounded_off():
    # A100 keeps 24 bits: -2^23 - 0.5 is whole in the sum, and RZ-FP32 cuts it to -2^23
    ampere = bitmma.mma("a100", "HMMA.16816.F32")
    explained = bitmma.explain(ampere, A[2], B[:, 3])
    assert [(one.term, one.exact, one.kept) for one in explained.rounded] == [("the sum, RZ-FP32", Fraction(-(2**24) - 1, 2), -(2**23))]
    assert str(explained.rounded[0]) == "the sum, RZ-FP32: -8388608.5 cut to -8388608, losing -0.5"
    # CDNA2 rounds each product and each sum: (1 + 2^-10) · 1 + 2^-23 / 2 is a tie, and goes to the even neighbour
    cdna2 = bitmma.mma("mi250x", "v_mfma_f32_32x32x8f16")
    a, b = np.zeros((2, 8), np.float16)
    a[:2], b[:2] = [1 + 2**-10, 2.0**-12], [1, 2.0**-12]
    lost = bitmma.explain(cdna2, a, b).rounded
    assert [(one.term, one.exact - one.kept) for one in lost] == [("FTZ-Add", Fraction(1, 2**24))]
    assert str(lost[0]) == "FTZ-Add: 0x1.004001p+0 cut to 1.0009765625, losing 0x1p-24"


def test_flushed_operands_are_lost():
    # CDNA2 reads subnormal operands as zero: the product is lost, and nothing is cut or rounded
    unit = bitmma.mma("mi250x", "v_mfma_f32_32x32x8f16")
    a, b = np.zeros((2, 8), np.float16)
    a[0], b[0] = 2.0**-24, 1024
    explained = bitmma.explain(unit, a, b)
    assert explained.value == 0
    lost = [(one.term, one.exact, one.kept, one.how) for one in explained.lost]
    assert lost == [("a0*b0", Fraction(1, 2**14), 0, "flushed")]
    step = explained.steps[0]
    assert step["step"] == "flushed"
    assert [(one["name"], one["used"]["value"]) for one in step["operands"]] == [("a0", "0"), ("b0", "1024")]
    assert str(explained) == "a0*b0: 6.103515625e-05 flushed to 0, losing 6.103515625e-05\nd = 0"


def test_promotion_in_a_name_is_not_dropped():
    with pytest.raises(bitmma.Error, match="max_num_imprecise_acc is promotion every 128 elements of K"):
        bitmma.mma("h100", "tl.dot(fp8e4nv, fp8e4nv, max_num_imprecise_acc=128)")


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
        d = bitmma.simulate(unit, a, b, **scales, reference=True)
        assert explained.code == (d.view(np.uint32) if d.dtype == np.int32 else d)[0, 0], row
        families.add(row.name)
    assert len(families) > 250
