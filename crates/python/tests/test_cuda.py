"""CUDA C++ compiled by NVRTC for a chip: arguments of every kind, variables, names, and what is wrong."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bitmma
from bitmma.kernels import _sass, cuda, launch_ptx

from common import nvrtc_or_skip

SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>

#ifndef STEP
#define STEP 1
#endif
extern "C" __global__ void axpy(float* y, const float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + STEP * y[i];
}
template <typename T> __global__ void scale(T* x, T by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
namespace two { __global__ void twice(int* x) { x[threadIdx.x] *= 2; } }
__global__ void either(float* x) { *x = 1; }
__global__ void either(int* x) { *x = 2; }

__constant__ float factors[4];
__device__ int launches;
__device__ double start = 0.5;
__global__ void weighted(float* y, float4 v) {
  float w = v.x * factors[0] + v.y * factors[1] + v.z * factors[2] + v.w * factors[3];
  if (threadIdx.x == 0) atomicAdd(&launches, 1);
  y[threadIdx.x] = w + (float)start;
}

struct Part { float* x; short n; double by; };
struct Whole { char tag; Part part; float* y; };
__global__ void nested(Whole w, unsigned char more) {
  if (threadIdx.x < w.part.n) w.y[threadIdx.x] = w.part.x[threadIdx.x] * (float)w.part.by + w.tag + more;
}
__global__ void table(float* const* rows, float* y, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) s += rows[i][threadIdx.x];
  y[threadIdx.x] = s;
}
__global__ void halves(float* y, __half h, __nv_bfloat16 b, uint3 u, bool flag, long long wide, double d) {
  y[0] = __half2float(h); y[1] = __bfloat162float(b); y[2] = u.x + 10 * u.y + 100 * u.z; y[3] = flag; y[4] = wide; y[5] = d;
}
__global__ void reversed(int* x) {
  extern __shared__ int s[];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__noinline__ __device__ int deeper(int n) { return n < 2 ? n : n + 3 * (n / 2); }
__global__ void called(int* x) { x[threadIdx.x] = deeper(x[threadIdx.x]); }
__global__ void says(int n) { printf("%d of %s\n", n, "three"); assert(n < 3); }
__global__ void beyond(float* x) { x[threadIdx.x + 1] = 0; }
"""

pytestmark = nvrtc_or_skip


@pytest.fixture(scope="module")
def module() -> Any:
    return cuda(SOURCE, "h100", fusion="predict")


def test_arrays_and_numbers(module: Any) -> None:
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    launched = module.axpy[4, 256](y, x, 2.5, 900)
    expected = np.where(np.arange(1000) < 900, (np.float64(2.5) * x + 1).astype(np.float32), np.float32(1))
    assert (y == expected).all() and launched.instructions > 900
    assert repr(module.axpy) == "<kernel axpy of kernel.cu on h100>" and "axpy" in dir(module)
    module.reversed[1, 8, 32](z := np.arange(8, dtype=np.int32))
    assert (z == np.arange(8)[::-1]).all()
    module.called[1, 8](z)
    assert (z == [7 + 9, 6 + 9, 5 + 6, 4 + 6, 3 + 3, 2 + 3, 1, 0]).all()


def test_names(module: Any) -> None:
    x = np.arange(4, dtype=np.float64)
    module["scale<double>"][1, 4](x, 3.0, 4)
    assert (x == [0, 3, 6, 9]).all()
    module["scale<float>"][1, 4](single := x.astype(np.float32), 2.0, 4)
    assert (single == 2 * x).all() and str(module["scale<float>"].signature) == "scale<float>(float*, float, int)"
    whole = np.arange(3, dtype=np.int32)
    module["two::twice"][1, 3](whole)
    assert (whole == [0, 2, 4]).all()
    one = np.zeros(1, np.int32)
    module["(void (*)(int*))either"][1, 1](one)
    assert one[0] == 2
    # those that are named at once, and options
    other = cuda(SOURCE, "a100", names=["scale<short>"], options=["-DSTEP=3"], fusion="predict")
    other["scale<short>"][1, 4](short := np.arange(4, dtype=np.int16), 5, 4)
    other.axpy[1, 4](y := np.ones(4, np.float32), np.zeros(4, np.float32), 1.0, 4)
    assert (short == 5 * np.arange(4)).all() and (y == 3).all() and ".target sm_80" in other.text


def test_vectors_and_structures(module: Any) -> None:
    y = np.zeros(40, np.float32)
    x = np.arange(40, dtype=np.float32)
    expected = np.where(np.arange(40) < 30, 2.5 * x + 65 + 7, 0).astype(np.float32)
    module.nested[1, 40]((np.int8(65), (x, np.int16(30), np.float64(2.5)), y), 7)
    assert (y == expected).all()

    # the same by ctypes and by NumPy, with addresses of arrays that are reached through them
    class Part(ctypes.Structure):
        _fields_ = [("x", ctypes.c_void_p), ("n", ctypes.c_short), ("by", ctypes.c_double)]

    class Whole(ctypes.Structure):
        _fields_ = [("tag", ctypes.c_char), ("part", Part), ("y", ctypes.c_void_p)]

    for given in (
        Whole(b"A", Part(x.ctypes.data, 30, 2.5), y.ctypes.data),
        np.array((65, (x.ctypes.data, 30, 2.5), y.ctypes.data), np.dtype([("t", "i1"), ("p", np.dtype([("x", "u8"), ("n", "i2"), ("b", "f8")], align=True)), ("y", "u8")], align=True)),
    ):
        y[:] = 0
        module.nested.launch(1, 40, given, 7, reachable=[x, y])
        assert (y == expected).all()
    rows = [np.full(4, 2.0**i, np.float32) for i in range(5)]
    module.table.launch(1, 4, np.array([row.ctypes.data for row in rows], np.uint64), y, 5, reachable=rows)
    assert (y[:4] == 31).all()
    # addresses as numbers
    module.table.launch(1, 4, np.array([row.ctypes.data for row in rows], np.uint64), y.ctypes.data, 2, reachable=[*rows, y])
    module["scale<float>"].launch(1, 2, y.ctypes.data + 4, 3.0, 2, reachable=[y])
    assert (y[:4] == [3, 9, 9, 3]).all()
    module.halves[1, 1](y, 0.1, 0.1, (1, 2, 3), True, -(1 << 40), 0.1)
    assert y[:6].tolist() == [np.float32(np.float16(0.1)), np.float32(0.10009765625), 321, 1, -(2.0**40), np.float32(0.1)]


def test_variables() -> None:
    module = cuda(SOURCE, "h100", fusion="predict")
    y = np.zeros(4, np.float32)
    with pytest.warns(bitmma.errors.Assumed, match="weighted may read __constant__ factors, which nobody has set: it is zero"):
        module.weighted[1, 4](y, (1.0, 1.0, 1.0, 1.0))
    assert (y == 0.5).all()
    module.variables["factors"] = np.array([1, 10, 100, 1000], np.float32)
    module.variables["start"] = np.array([0.25])
    module.weighted[1, 4](y, np.array([1, 2, 3, 4]))
    assert (y == 4321.25).all()
    assert set(module.variables) == {"factors", "launches", "start"} and module.variables["launches"].view(np.int32)[0] == 2
    assert module.variables["start"].view(np.float64)[0] == 0.25
    # another module has its own
    assert cuda(SOURCE, "h100", fusion="predict").variables["launches"].view(np.int32)[0] == 0


def test_lines_and_output(module: Any, capsys: pytest.CaptureFixture[str]) -> None:
    module.says[1, 1](2)
    assert capsys.readouterr().out == "2 of three\n"
    with pytest.raises(bitmma.KernelError, match=r"kernel.cu:50: void says\(int\): block: \[0,0,0\], thread: \[0,0,0\] Assertion `n < 3` failed"):
        module.says[1, 1](3)
    with pytest.raises(bitmma.KernelError, match=r"^line \d+ \(kernel.cu, line 51\): writes 4 bytes"):
        module.beyond[1, 4](np.zeros(4, np.float32))


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "other.cuh").write_text("#define BY 6\n")
    (tmp_path / "beside.cuh").write_text('#include "other.cuh"\n')
    file = tmp_path / "by.cu"
    file.write_text('#include "beside.cuh"\nextern "C" __global__ void by(int* x) { *x = *x * BY; }\n')
    for source in (file, str(file)):
        module = cuda(source, "sm_80", include=[tmp_path / "inside"])
        module.by[1, 1](x := np.array([7], np.int32))
        assert x[0] == 42 and module.name == "by.cu"
    # PTX that ends with a zero, as NVRTC gives it
    launch_ptx(module.text.encode() + b"\0", 1, [x], block=1)
    assert x[0] == 252


def test_compiled_code_is_kept() -> None:
    """Another module of the same source compiles nothing."""
    assert cuda(SOURCE, "h100").text is cuda(SOURCE, "h100", fusion="predict").text


WRONG: tuple[tuple[str, Any, str], ...] = (
    ("no such kernel", lambda m, x: m.nothing, "kernel.cu has no kernel 'nothing'; it has "),
    ("no such name", lambda m, x: m["nothing"], "kernel.cu has no kernel 'nothing'; it has "),
    ("an overload", lambda m, x: m.either, r"several kernels of kernel.cu are called either: 'either\(int\*\)', 'either\(float\*\)'|'either\(float\*\)', 'either\(int\*\)'"),
    ("no such type", lambda m, x: m["scale<nothing>"], 'identifier "nothing" is undefined'),
    ("no sizes", lambda m, x: m.axpy(x, x, 1.0, 4), r"say how many blocks and threads run: axpy\[grid, block\]"),
    ("no block", lambda m, x: m.axpy[4](x, x, 1.0, 4), r"kernel\[grid, block\]"),
    ("four sizes", lambda m, x: m.axpy[1, 2, 3, 4](x, x, 1.0, 4), r"kernel\[grid, block\]"),
    ("a grid of zero", lambda m, x: m.axpy[0, 4](x, x, 1.0, 4), "grid must be one to three positive integers, not 0"),
    ("a block of zero", lambda m, x: m.axpy[1, (4, 0)](x, x, 1.0, 4), r"block must be one to three positive integers, not \(4, 0\)"),
    ("a large block", lambda m, x: m.axpy[1, 2048](x, x, 1.0, 4), "must have 1 to 1024"),
    ("a large grid", lambda m, x: m.axpy[(1, 70000), 1](x, x, 1.0, 4), "y and z 1 to 65535"),
    ("much shared memory", lambda m, x: m.reversed[1, 4, 1 << 20](x.view(np.int32)), "shared memory"),
    ("too little shared memory", lambda m, x: m.reversed[1, 4](x.view(np.int32)), "which has 0 bytes"),
    ("too few arguments", lambda m, x: m.axpy[1, 4](x, x, 1.0), r"axpy takes 4 arguments \(u64, u64, f32, u32\), not 3"),
    ("too many", lambda m, x: m["scale<float>"][1, 4](x, 1.0, 4, 5), r"takes 3 arguments \(float\*, float, int\), not 4"),
    ("another dtype", lambda m, x: m["scale<float>"][1, 4](x.astype(np.float64), 1.0, 4), r"argument 0 is an array of float64, but the kernel takes float\*"),
    ("integers for floats", lambda m, x: m["scale<float>"][1, 4](x.view(np.int32), 1.0, 4), r"argument 0 is an array of int32, but the kernel takes float\*"),
    ("an array for a number", lambda m, x: m["scale<float>"][1, 4](x, x, 4), "argument 1 is an array, but the kernel takes float: pass a number"),
    ("a number for an array", lambda m, x: m["scale<float>"][1, 4](5, 1.0, 4), "argument 0 is 0x5, which is no address of an array of this launch"),
    ("a fraction for an integer", lambda m, x: m["scale<float>"][1, 4](x, 1.0, 4.5), "argument 2 is the number 4.5"),
    ("a text", lambda m, x: m["scale<float>"][1, 4]("x", 1.0, 4), "argument 0 is a str"),
    ("a large number", lambda m, x: m["scale<float>"][1, 4](x, 1.0, 1 << 40), "argument 2 is 1099511627776"),
    ("a short vector", lambda m, x: m.weighted[1, 4](x, (1.0, 2.0)), "argument 1 has 2 numbers, but the kernel takes float4, which has 4"),
    ("a small structure", lambda m, x: m.nested[1, 4]((x, 4), 1), "argument 0 is a structure of 16 bytes, but parameter '.*' has 40"),
    ("a member of no type", lambda m, x: m.nested[1, 4]((x, "4"), 1), "a structure has a member of str"),
    ("a large member", lambda m, x: m.nested[1, 4]((1 << 40,), 1), "has more than 32 bits: say its type"),
    ("no such variable", lambda m, x: m.variables["nothing"], "kernel.cu has no variable 'nothing' that is used: factors, launches, start"),
    ("a large variable", lambda m, x: m.variables.__setitem__("factors", np.zeros(4)), r"32 bytes \(float64\) are given for variable 'factors', which has 16"),
    ("an error of the source", lambda m, x: cuda("__global__ void k( {", "h100"), r"kernel.cu\(1\): error"),
    ("a missing header", lambda m, x: cuda('#include "nothing.h"\n', "h100"), 'cannot open source file "nothing.h"'),
    ("an option", lambda m, x: cuda("\n", "h100", options=["--nothing"]), "unrecognized option --nothing"),
    ("no such file", lambda m, x: cuda("nothing.cu", "h100"), "nothing.cu: No such file or directory"),
    ("no such folder", lambda m, x: cuda("\n", "h100", include=["nothing"]), "the include folder nothing does not exist"),
    ("no such chip", lambda m, x: cuda("\n", "h1000"), "h1000"),
    ("a chip of AMD", lambda m, x: cuda("\n", "mi300x"), "kernels run for volta, .*, not for cdna3"),
    ("a chip that NVRTC has not", lambda m, x: cuda("\n", "sm_30"), "sm_30|compute_30"),
    ("a compiler", lambda m, x: cuda("\n", "h100", compiler="gcc"), "unknown compiler 'gcc'; one of nvrtc, nvcc"),
    ("no kernels", lambda m, x: cuda("template <typename T> __global__ void f(T*) {}\n", "h100").f, "it has none: kernels are"),
)  # fmt: skip


@pytest.mark.parametrize(("wrong", "message"), [one[1:] for one in WRONG], ids=[one[0] for one in WRONG])
def test_wrong_uses(module: Any, wrong: Any, message: str) -> None:
    with pytest.raises((bitmma.Error, AttributeError, KeyError), match=message):
        wrong(module, np.ones(4, np.float32))


def test_nvrtc_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sass, "folders", list)
    monkeypatch.setenv("BITMMA_LIBNVRTC", "libnothing.so")
    with pytest.raises(bitmma.CudaError, match=r"NVRTC, which compiles CUDA C\+\+, was not found .*libnothing.so.*: pip install nvidia-cuda-nvrtc"):
        cuda("/* not compiled before */\n", "h100")


def test_the_command(tmp_path: Path) -> None:
    """``bitmma kernel run FILE.cu``, and ``show``."""
    (tmp_path / "kernels.cu").write_text(SOURCE)
    np.save(tmp_path / "x.npy", x := np.arange(8, dtype=np.float32))
    np.save(tmp_path / "factors.npy", np.array([1, 10, 100, 1000], np.float32))

    def run(*arguments: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "bitmma", "kernel", *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert ended.returncode == code, ended.stderr
        return ended.stderr if code else ended.stdout

    sizes = ["--fusion", "predict", "--grid", "1", "--block", "8"]
    of = ["run", "kernels.cu", "--chip", "h100", *sizes]
    run(*of, "--entry", "scale<float>", "--arg", "out:x.npy", "--arg", "f32:0.5", "--arg", "i32:6")
    assert (np.load(tmp_path / "x.npy") == np.where(x < 6, x / 2, x)).all()
    run(*of, "--entry", "weighted", "--arg", "out:y.npy:f32:8", "--arg", "f32:1,f32:2,f32:3,f32:4", "--set", "factors=factors.npy", "--set", "start=f64:0.25")
    assert (np.load(tmp_path / "y.npy") == 4321.25).all()
    assert "_ZN3two5twiceEPi" in run("show", "kernels.cu", "--chip", "a100", "--entry", "two::twice")
    text = run("run", "kernels.cu", "--target", "sm_80", "--option=-DSTEP=5", *sizes, "--entry", "says", "--arg", "i32:2")
    assert text.startswith("2 of three\n2 of three\n")
    for wrong, message in (
        ([*of, "--entry", "nothing"], 'identifier "nothing" is undefined'),
        (["show", "kernels.cu"], "say for which chip it is compiled: --chip h100, or --target sm_90a"),
        (["show", "kernels.cu", "--chip", "mi300x"], "CUDA C++ runs on chips of NVIDIA, not on"),
        (["show", "kernels.cu", "--chip", "h100", "--target", "sm_90"], "give one of them"),
        (["show", "kernels.cu", "--chip", "h100", "-I", "nothing"], "the folder of headers nothing does not exist"),
        (["show", "kernels.cu", "--chip", "h100", "--option=--nothing"], "unrecognized option"),
        (["show", "x.npy", "--chip", "h100"], "--chip, --include and --option are for CUDA C++"),
        ([*of, "--entry", "weighted", "--arg", "out:y.npy:f32:8", "--arg", "f32:1,f32:2"], "is a structure of 8 bytes, but parameter"),
        ([*of, "--entry", "says", "--arg", "i32:1", "--set", "factors"], "expected NAME=VALUE"),
        ([*of, "--entry", "says", "--arg", "i32:1", "--set", "nothing=i32:1"], "names no variable 'nothing'"),
    ):
        assert message in run(*wrong, code=2)


CODE = "template <typename T> __global__ void k(T* x) { x[threadIdx.x] *= STEP; }\n"


def test_modules_of_cupy_and_cuda_core() -> None:
    """By classes of their names, and by the packages where they are installed."""

    class RawModule:
        __module__ = "cupy._core.raw"
        code, file_path, options, name_expressions = CODE, None, ("-DSTEP=3",), ["k<float>"]

    class RawKernel:
        __module__ = "cupy._core.raw"
        code, file_path, options, name = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] += 1; }', None, (), "k"

    class ObjectCode:
        __module__ = "cuda.core._module"
        code_type, name = "ptx", "mine"

    x = np.arange(4, dtype=np.float32)
    module = cuda(RawModule(), "h100", fusion="predict")
    module["k<float>"][1, 4](x)
    cuda(RawKernel(), "h100", fusion="predict")[1, 4](x)
    ObjectCode.code, ObjectCode.symbol_mapping = module.text.encode(), {"k<float>": module["k<float>"].entry}  # type: ignore[attr-defined]
    compiled = cuda(ObjectCode(), "h100", fusion="predict")
    compiled["k<float>"][1, 4](x)
    assert (x == 3 * (3 * np.arange(4) + 1)).all()
    with pytest.raises(bitmma.CudaError, match="k<int> is not compiled: give it to program.compile"):
        compiled["k<int>"]
    ObjectCode.code_type = "cubin"
    with pytest.raises(bitmma.CudaError, match="the ObjectCode holds cubin; PTX is needed"):
        cuda(ObjectCode(), "h100")


def test_objects_of_installed_packages() -> None:
    cupy = pytest.importorskip("cupy")
    core = pytest.importorskip("cuda.core")
    x = np.arange(4, dtype=np.float32)
    module = cuda(cupy.RawModule(code=CODE, options=("-DSTEP=3",), name_expressions=["k<float>"]), "h100", fusion="predict")
    module["k<float>"][1, 4](x)
    names = {"k<float>": module["k<float>"].entry}
    cuda(core.ObjectCode.from_ptx(module.text.encode(), name="mine", symbol_mapping=names), "h100", fusion="predict")["k<float>"][1, 4](x)
    assert (x == 9 * np.arange(4)).all()


def test_kernels_of_numba() -> None:
    numba = pytest.importorskip("numba.cuda")

    @numba.jit
    def turned(a: Any, b: Any, by: Any) -> None:
        tile = numba.shared.array((8, 8), dtype=np.float32)
        i, j = numba.grid(2)
        tile[numba.threadIdx.x, numba.threadIdx.y] = a[i, j]
        numba.syncthreads()
        if i < b.shape[0]:
            b[i, j] += tile[numba.threadIdx.y, numba.threadIdx.x] * by

    a, b = np.arange(64, dtype=np.float32).reshape(8, 8), np.ones((8, 8), np.float32)
    kernel = cuda(turned, "h100", fusion="predict")
    kernel[1, (8, 8)](a, b, 2.0)
    assert (b == 2 * a.T + 1).all()
    with pytest.raises(bitmma.CudaError, match=r"a launch is turned\[blocks, threads\]"):
        kernel[1](a, b, 2.0)


def test_a_header_that_changes_is_read_again(tmp_path: Path) -> None:
    header = tmp_path / "by.cuh"
    x = np.array([7], np.int32)
    for by in (2, 3):
        header.write_text(f"#define BY {by}\n")
        cuda('#include "by.cuh"\nextern "C" __global__ void k(int* x) { *x *= BY; }\n', "sm_80", include=[tmp_path], fusion="predict").k[1, 1](x)
    assert x[0] == 42


def test_threads_that_launch_at_once_lose_no_update() -> None:
    module = cuda("__device__ int total;\n__global__ void k() { atomicAdd(&total, 1); }\n", "h100", fusion="predict")
    threads = [threading.Thread(target=lambda: [module.k[8, 64]() for _ in range(5)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert module.variables["total"].view(np.int32)[0] == 4 * 5 * 8 * 64


@pytest.mark.parametrize(
    ("array", "kind"),
    [(np.ones(2, np.float16), "__nv_bfloat16"), (np.ones(2, np.float32), "__nv_fp8_e4m3"), (np.ones(2, np.complex64), "long long")],
)
def test_types_of_the_same_size_are_told_apart(array: Any, kind: str) -> None:
    headers = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"
    module = cuda(f"{headers}__global__ void k({kind}* x) {{}}\n", "h100", fusion="predict")
    with pytest.raises(bitmma.PtxError, match=f"argument 0 is an array of {array.dtype}, but the kernel takes"):
        module.k[1, 1](array)
    codes = array.view(np.uint16) if "bf" in kind else np.ones(2, np.uint8 if "fp8" in kind else np.int64)
    module.k[1, 1](codes)
