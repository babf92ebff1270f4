"""One class for each kind of error, and messages that hold the numbers."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import bitmma
from bitmma import errors, formats

from common import ROOT

HOPPER = ("h100", "mma.m16n8k16.f32.f16.f16.f32")
F16 = np.zeros((16, 16), np.float16)
B = np.zeros((16, 8), np.float16)
MASKED = np.ma.array(F16, mask=np.eye(16, dtype=bool))
CLASSES = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, errors.Error)]


class OnGpu:
    """An array that says by DLPack where it is: 2 is CUDA, 10 ROCm."""

    shape, dtype = (16, 16), np.dtype(np.float16)

    def __init__(self, kind, number=0):
        self.device = (kind, number)

    def __dlpack_device__(self):
        return self.device

    def __array__(self, *_, **__):
        raise AssertionError("its data were asked for")

    __dlpack__ = __array__


class OfNumba:
    """An array that says by CUDA's own protocol where it is."""

    shape, dtype = (16, 16), np.dtype(np.float16)
    __cuda_array_interface__ = {"shape": (16, 16), "typestr": "<f2", "data": (0, False), "version": 3}


def fails(kind, message, call):
    with pytest.raises(kind) as raised:
        call()
    assert type(raised.value) is kind
    assert message in str(raised.value)


CASES = [
    (bitmma.UnknownArchitecture, "unknown architecture 'h1000'; did you mean h100?", lambda: bitmma.mma("h1000", "x")),
    (bitmma.UnknownInstruction, "hopper has no instruction 'wgmma.m64n256k8.f32.f16.f16'", lambda: bitmma.mma("h100", "wgmma.m64n256k8.f32.f16.f16")),
    (bitmma.AmbiguousInstruction, "may mean", lambda: bitmma.mma("b200", "UTCHMMA")),
    (bitmma.ExtentError, "N is 12; wgmma.m64n{8..256}k16.f32.f16.f16 takes 8 to 256 in steps of 8", lambda: bitmma.mma("h100", "wgmma.m64n12k16.f32.f16.f16")),
    (bitmma.NoModel, "has no model", lambda: bitmma.mma("a100", "mma.m8n8k4.f32.f16.f16.f32")),
    (bitmma.UnknownRevision, "unknown revision 'draft'; one of hardware, paper", lambda: bitmma.mma(*HOPPER, revision="draft")),
    (bitmma.UnknownModel, "unknown model 'IEEE'", lambda: bitmma.catalogue.instructions(model="IEEE")),
    (bitmma.UnknownFormat, "unknown format 'fp7'; one of f64", lambda: bitmma.catalogue.instructions(format="fp7")),
    (bitmma.UnknownFormat, "'fp8' is the name of several formats: e4m3 or e5m2", lambda: bitmma.catalogue.instructions(format="fp8")),
    (bitmma.NoInstruction, "into f32 it multiplies f16, bf16, tf32", lambda: bitmma.matmul(F16.astype(np.float32), F16.astype(np.float32), like="h100")),
    (bitmma.ShapeError, "B is 16×16, mma.m16n8k16.f32.f16.f16.f32 takes 16×8", lambda: bitmma.mma(*HOPPER)(F16, F16)),
    (bitmma.ShapeError, "B is 16×8, mma.m16n8k16.f32.f16.f16.f32 in this product takes 15×8", lambda: bitmma.gemm(HOPPER, F16[:, :15], B)),
    (bitmma.ShapeError, "A is 1-dimensional (16); a matrix has 2, several products of one shape 3", lambda: bitmma.gemm(HOPPER, F16[0], B)),
    (bitmma.ShapeError, "element is block 0, row 9, column 9", lambda: bitmma.explain(bitmma.mma(*HOPPER), F16, B, element=(9, 9))),
    (bitmma.ShapeError, "B has 2 dimensions; A has 1, and so must B", lambda: bitmma.explain(bitmma.mma(*HOPPER), F16[0], B)),
    (bitmma.ShapeError, "C has 0 elements; a row times a column takes 1", lambda: bitmma.explain(bitmma.mma(*HOPPER), F16[0], B[:, 0], np.zeros(0, np.float32))),
    (bitmma.ShapeError, "the element is (1,); row and column were expected", lambda: bitmma.explain(bitmma.mma(*HOPPER), F16, B, element=(1,))),
    (bitmma.DtypeError, "A is float32; f16 comes as float16, or as uint16 codes", lambda: bitmma.mma(*HOPPER)(F16.astype(np.float32), B)),
    (bitmma.DtypeError, "A is int16; f16 comes as", lambda: bitmma.gemm(HOPPER, F16.view(np.int16), B)),
    (bitmma.DtypeError, "B is complex64", lambda: bitmma.gemm(HOPPER, F16, B.astype(np.complex64))),
    (bitmma.DtypeError, "C is float64; f32 comes as float32, or as uint32 codes", lambda: bitmma.gemm(HOPPER, F16, B, np.zeros((16, 8)))),
    (bitmma.DtypeError, "A is object", lambda: bitmma.gemm(HOPPER, np.array([[None]]), B)),
    (bitmma.DtypeError, "A is uint8; its format is not known from that: say what the codes are with read_as", lambda: bitmma.matmul(F16.view(np.uint8), B, like="h100")),
    (bitmma.DtypeError, "A is float16, which holds f16; e4m3 comes as float8_e4m3fn", lambda: bitmma.matmul(F16, B, like="h100", read_as="e4m3")),
    (bitmma.FormatError, "A: 16 of 256 elements are masked; give them numbers first: array.filled(0)", lambda: bitmma.gemm(HOPPER, MASKED, B)),
    (bitmma.FormatError, "B: 128 of 128 elements are masked", lambda: bitmma.gemm(HOPPER, F16[None, None], np.ma.masked_equal(B, 0))),
    (bitmma.FormatError, "values: 1 of 2 elements are masked", lambda: formats.encode(np.ma.array([1.0, 2.0], mask=[0, 1]), "f16")),
    (bitmma.DtypeError, "values are complex128", lambda: formats.encode(1j, "f16")),
    (bitmma.DeviceError, "A is on cuda:0; bring it to the CPU first", lambda: bitmma.gemm(HOPPER, OnGpu(2), B)),
    (bitmma.DeviceError, "B is on cuda:3; bring it to the CPU first", lambda: bitmma.matmul(F16, OnGpu(2, 3), like="h100")),
    (bitmma.DeviceError, "the array is on rocm:1; bring it to the CPU first", lambda: formats.decode(OnGpu(10, 1))),
    (bitmma.DeviceError, "B is on a device of DLPack kind 99:0", lambda: bitmma.explain(bitmma.mma(*HOPPER), F16, OnGpu(99))),
    (bitmma.DeviceError, "A is on a CUDA device; bring it to the CPU first", lambda: bitmma.gemm(HOPPER, OfNumba(), B)),
    (bitmma.CodeError, "code 5 is 0x10; e2m1 codes have 4 bits", lambda: formats.decode(np.array([0, 1, 2, 3, 4, 16], np.uint8), "e2m1")),
    (bitmma.ScaleError, "takes no scale factors", lambda: bitmma.gemm(HOPPER, F16, B, scale_a=np.ones((16, 1), np.uint8))),
    (bitmma.ScaleError, "mma.m16n8k16.f32.f16.f16.f32 takes no scale factors", lambda: bitmma.mma(*HOPPER)(F16, B, scale_b=np.ones((1, 8), np.float32))),
    (bitmma.ScaleError, "takes 16×1 ue8m0 factors for scale A", lambda: bitmma.gemm(("b200", "tcgen05.mma.m128n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.ue8m0"), F16.view(np.uint8), F16.view(np.uint8).T.copy())),
    (bitmma.OptionError, "promote_every is 24; mma.m16n8k16.f32.f16.f16.f32 takes 16 elements along K", lambda: bitmma.gemm(HOPPER, F16, B, promote_every=24)),
    (bitmma.OptionError, "target is 'h100'; give a Unit or (architecture, instruction)", lambda: bitmma.gemm("h100", F16, B)),
    (bitmma.OptionError, "target is ('h100',); give", lambda: bitmma.gemm(("h100",), F16, B)),
    (bitmma.OptionError, "alpha is 1e39; it is rounded to f32, whose largest number is 3.4028234663852886e38", lambda: bitmma.gemm(HOPPER, F16, B, alpha=1e39)),
    (bitmma.OptionError, "beta is -1e300; it is rounded to f32", lambda: bitmma.gemm(HOPPER, F16, B, beta=-1e300)),
    (bitmma.OptionError, "overflow is saturate; it needs output", lambda: bitmma.gemm(HOPPER, F16, B, saturate=True)),
    (bitmma.OptionError, "output_rounding is RNE; it needs output", lambda: bitmma.gemm(HOPPER, F16, B, output_rounding="RNE")),
    (bitmma.OptionError, "unknown rounding 'up'", lambda: bitmma.gemm(HOPPER, F16, B, output_rounding="up")),
    (bitmma.OptionError, "output is ue8m0; it has no sign, as results do; one of f64, f32", lambda: bitmma.gemm(HOPPER, F16, B, output="ue8m0")),
    (bitmma.OptionError, "output is ue4m3; it has no sign", lambda: bitmma.matmul(F16, B, like="h100", output="ue4m3")),
    (bitmma.OptionError, "split_k is 0", lambda: bitmma.gemm(HOPPER, F16, B, split_k=0)),
    (bitmma.OptionError, "threads is 0", lambda: bitmma.gemm(HOPPER, F16, B, threads=0)),
    (bitmma.OptionError, "threads is 4097; at most 4096", lambda: bitmma.gemm(HOPPER, F16, B, threads=4097)),
    (bitmma.OptionError, "unknown rounding 'up'", lambda: formats.encode(1.0, "f16", rounding="up")),
    (bitmma.OptionError, "unknown overflow 'wrap'; one of ieee, infinity, saturate", lambda: formats.encode(1.0, "f16", overflow="wrap")),
    (bitmma.ModelError, "model file", lambda: bitmma.Unit.from_toml("F = 13")),
    (bitmma.OptionError, "step is 0; T-FDPA takes multiples of 1, at least 1", lambda: bitmma.Unit.from_toml(bitmma.mma(*HOPPER).toml, step=0)),
    (bitmma.OptionError, "step is 1000000000000; it is at most 1048576", lambda: bitmma.Unit.from_toml(bitmma.mma(*HOPPER).toml, step=10**12)),
    (bitmma.TooLarge, "cannot be held in memory", lambda: bitmma.gemm(HOPPER, np.zeros((1 << 40, 0), np.float16), np.zeros((0, 1 << 40), np.float16))),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "message", "call"), CASES, ids=lambda value: getattr(value, "__name__", None))
def test_the_class_says_the_kind_and_the_message_the_numbers(kind, message, call):
    fails(kind, message, call)


def test_every_class_is_public_documented_and_an_error():
    for one in CLASSES:
        assert getattr(bitmma, one.__name__) is one
        assert one.__doc__


def test_rust_maps_to_classes_that_exist():
    text = (ROOT / "crates/python/src/error.rs").read_text()
    imported = set(re.findall(r"import_exception!\(bitmma\.errors, (\w+)\)", text))
    assert imported <= {one.__name__ for one in CLASSES}
    assert not re.search(r"^\s*_ =>", text, re.M), "errors are mapped without a wildcard"


def test_an_option_of_another_type_is_pythons_own_error():
    with pytest.raises(TypeError):
        bitmma.gemm(HOPPER, F16, B, alpha="two")


def test_an_exception_in_progress_is_raised():
    calls = []

    def progress(done, total):
        calls.append((done, total))
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        bitmma.gemm(HOPPER, F16, B, promote_every=16, split_k=1, progress=progress)
    assert len(calls) == 1
