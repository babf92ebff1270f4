"""Compiled kernels: the given cases through ``launch_ptx``, and what is wrong with a launch."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import bitmma
from bitmma.kernels import _sass, launch_ptx

DATA = Path(__file__).parents[2] / "ptx" / "tests" / "data"
CASES = sorted(path.stem for path in (DATA / "cases").glob("*.npz"))

COPY = """
.version 8.4
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 .ptr .global .align 1 x, .param .u64 .ptr .global .align 1 y, .param .f32 f)
.reqntid 32
{
.reg .b32 %r<9>; .reg .b64 %d<9>;
ld.param.b64 %d1, [x]; ld.param.b64 %d2, [y]; ld.param.b32 %r1, [f];
mov.u32 %r2, %tid.x; mul.wide.u32 %d3, %r2, 4; add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;
ld.global.b32 %r3, [%d1]; mul.rn.f32 %r3, %r3, %r1; st.global.b32 [%d2], %r3;
ret;
}
"""


def arguments(case, floats):
    """The arguments of a case; ``floats``: numbers that are FP32 codes in the file."""
    index, values = 0, []
    while f"argument{index}" in case:
        array = case[f"argument{index}"]
        if array.ndim:
            values.append(array.copy())
        elif array.dtype == np.uint32 and floats:
            values.append(float(array[()].view(np.float32)))
        else:
            values.append(int(array))
        index += 1
    return values


@pytest.mark.parametrize("mode", ["text", "gpu"])
@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize("name", CASES)
def test_the_given_kernels_give_the_given_bytes(name, capability, mode):
    path = DATA / "ptx" / f"{name}_{capability}.ptx"
    if not path.exists():
        pytest.skip("the case has one target")
    case = np.load(DATA / "cases" / f"{name}.npz")
    values = arguments(case, floats=True)
    if name != "edges":
        values += [0, None]  # Triton's scratch memory
    grid = tuple(int(size) for size in case["grid"])
    if (name, mode) == ("decayed_f32", "gpu"):
        with pytest.raises(bitmma.DoubtfulKernel, match=r"line 48: 'mul.f32'"):
            launch_ptx(path.read_text(), grid, values, mode=mode, fusion="predict")
        return
    launched = launch_ptx(path.read_text(), grid, values, mode=mode)
    assert launched.instructions > 0
    for output in case["outputs"]:
        own = f"{mode}_{capability}_{output}"
        expected = case[own if own in case else f"text_{int(case['first'])}_{output}"]
        assert np.array_equal(values[output].view(np.uint8), expected.view(np.uint8))


def test_arrays_are_written_in_place_whatever_their_layout():
    x = np.arange(64, dtype=np.float32)
    y = np.zeros(32, np.float32)
    launch_ptx(COPY, 1, [x[16:], y, 2])
    assert (y == 2 * x[16:48]).all()
    # one array twice, and two views of one array
    launch_ptx(COPY, (1,), [x, x, np.float32(0.5)])
    assert (x[:32] == np.arange(32) / 2).all() and (x[32:] == np.arange(32, 64)).all()
    launch_ptx(COPY, (1, 1, 1), [x[:32], x[32:], 1.0])
    assert (x[32:] == x[:32]).all()


def test_what_is_wrong_with_a_launch_is_said():
    x = np.zeros(32, np.float32)
    read_only = np.zeros(32, np.float32)
    read_only.flags.writeable = False
    cases = [
        ((1, [x, x]), bitmma.PtxError, "takes 3 arguments, not 2"),
        ((1, [x, x, x]), bitmma.PtxError, "argument 2 is an array, but parameter 'f' is of type f32"),
        ((1, [x, 3, 1.0]), bitmma.PtxError, "argument 1 is the number 3, but parameter 'y' is a pointer"),
        ((1, [x, "y", 1.0]), bitmma.PtxError, "argument 1 is a str"),
        (((0,), [x, x, 1.0]), bitmma.PtxError, "grid must be one to three positive integers"),
        ((1, [x[:31].copy(), x, 1.0]), bitmma.KernelError, "byte 124 of argument 0, which has 124 bytes"),
        ((1, [np.ones(32, np.float32), read_only, 1.0]), bitmma.PtxError, "argument 1 is read-only"),
        ((1, [x[::-1], x, 1.0]), bitmma.PtxError, "runs backward"),
    ]
    for (grid, values), error, message in cases:
        with pytest.raises(error, match=message.replace("(", r"\(")):
            launch_ptx(COPY, grid, values)
    with pytest.raises(bitmma.UnsupportedPtx, match=r"line 11: 'tanh.approx.f32' is not supported"):
        launch_ptx(COPY.replace("mul.rn.f32 %r3, %r3, %r1", "tanh.approx.f32 %r3, %r1"), 1, [x, x, 1.0])
    with pytest.raises(bitmma.OptionError, match="unknown mode 'fast'"):
        launch_ptx(COPY, 1, [x, x, 1.0], mode="fast")
    with pytest.raises(bitmma.PtxError, match="there is no entry 'other'; the file has 'copy'"):
        launch_ptx(COPY, 1, [x, x, 1.0], entry="other")
    with pytest.raises(bitmma.PtxError, match="unknown target 'h999'"):
        launch_ptx(COPY, 1, [x, x, 1.0], target="h999")


@pytest.mark.skipif(os.name == "nt", reason="the tools are scripts")
def test_tools_that_fail_are_an_error_where_they_are_insisted_on(tmp_path, monkeypatch):
    for name in ("ptxas", "nvdisasm"):
        (tmp_path / name).write_text("#!/bin/sh\nkill -SEGV $$\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(_sass, "folders", lambda: [str(tmp_path)])
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("BITMMA_CACHE", "off")
    x, y = np.ones(32, np.float32), np.zeros(32, np.float32)

    def launch(fusion=None):
        return launch_ptx(COPY, 1, [x, y, 2.0], fusion=fusion)

    # the same text is asked for again once the folder exists
    for folder, why in [("/nowhere/at/all", "no temporary folder in '/nowhere/at/all'"), (str(tmp_path), "SIGSEGV")]:
        monkeypatch.setenv("TMPDIR", folder)
        launched = launch()
        assert launched.fusion == "predicted" and why in launched.compiler, launched.compiler
        with pytest.raises(bitmma.PtxError, match=f"ptxas was asked what it fuses, and gave nothing: .*{why}"):
            launch("ask")
    (tmp_path / "nvdisasm").unlink()
    assert launch().compiler.startswith("nvdisasm is not in ")
    with pytest.raises(bitmma.OptionError, match="fusion 'ask': nvdisasm is not in "):
        launch("ask")

PRINTS = """
.version 8.4
.target sm_80
.address_size 64
.extern .func (.param .b32 d) vprintf (.param .b64 f, .param .b64 a);
.extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s) .noreturn;
.global .align 1 .b8 format[15] = {98, 108, 111, 99, 107, 32, 37, 100, 58, 32, 37, 103, 10, 0};
.global .align 1 .b8 name[4] = {111, 110, 101, 0};
.visible .entry prints(.param .u32 least)
.reqntid 1
{
.reg .pred %p<9>; .reg .b32 %r<9>; .reg .f64 %d<9>; .reg .b64 %a<9>; .local .align 8 .b8 own[16];
ld.param.b32 %r1, [least]; mov.u32 %r2, %ctaid.x; setp.ge.s32 %p1, %r2, %r1;
mov.u64 %a1, own; cvta.local.u64 %a2, %a1; mov.u64 %a3, format; cvta.global.u64 %a4, %a3; mov.u64 %a5, name; cvta.global.u64 %a6, %a5;
cvt.rn.f64.s32 %d1, %r2; mul.f64 %d1, %d1, 0d3FE0000000000000; st.local.u32 [own], %r2; st.local.f64 [own+8], %d1;
{ .param .b64 f; .param .b64 a; .param .b32 d; st.param.b64 [f], %a4; st.param.b64 [a], %a2; call.uni (d), vprintf, (f, a); }
@%p1 bra FINE;
{ .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s;
st.param.b64 [m], %a6; st.param.b64 [f], %a6; st.param.b32 [l], 7; st.param.b64 [n], %a6; st.param.b64 [s], 1; call.uni __assertfail, (m, f, l, n, s); }
FINE:
ret;
}
"""


def test_what_a_kernel_prints_goes_to_standard_output(capsys):
    launch_ptx(PRINTS, 3, [0])
    assert capsys.readouterr().out == "block 0: 0\nblock 1: 0.5\nblock 2: 1\n"
    with pytest.raises(bitmma.KernelError, match=r"one:7: one: block: \[1,0,0\], thread: \[0,0,0\] Assertion `one` failed"):
        launch_ptx(PRINTS.replace("setp.ge", "setp.lt"), 3, [1])


def test_structures_and_variables():
    text = """.version 8.4
.target sm_80
.address_size 64
.const .f32 factors[2] = {1.5, 0.25};
.global .u32 count;
.visible .entry one(.param .align 8 .b8 p[16], .param .u64 y)
.reqntid 1
{
.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<4>;
ld.param.u64 %d1, [y]; ld.param.u64 %d2, [p]; ld.param.u32 %r1, [p+8]; ld.global.f32 %f1, [%d2]; ld.const.f32 %f2, [factors+4];
mul.f32 %f1, %f1, %f2; st.global.f32 [%d1], %f1; ld.global.u32 %r2, [count]; add.u32 %r2, %r2, %r1; st.global.u32 [count], %r2;
ret;
}
"""
    x, y = np.array([8], np.float32), np.zeros(1, np.float32)
    structured = np.array((x.ctypes.data, 5), np.dtype([("x", "u8"), ("n", "u4")], align=True))
    for given, reachable in (((x, 5), []), (structured, [x]), (structured[()], [x]), (structured.tobytes(), [x])):
        launched = launch_ptx(text, 1, [given, y], reachable=reachable, variables={"count": np.uint32(7)})
        assert y[0] == 2 and launched.variables == {"count": (12).to_bytes(4, "little")}
    launch_ptx(text, 1, [(x, 5), y], variables={"factors": np.array([0, 3], np.float32)})
    assert y[0] == 24
    for wrong, message in (
        (np.complex64(1), "argument 0 is of complex64"),
        (np.array((0, 8), object), "array of references"),
        (np.array(None, object), "argument 0 is of object"),
    ):
        with pytest.raises((bitmma.PtxError, TypeError), match=message):
            launch_ptx(text, 1, [wrong, y])
    with pytest.raises(bitmma.PtxError, match="names no variable 'counts'"):
        launch_ptx(text, 1, [(x, 5), y], variables={"counts": b"1234"})
