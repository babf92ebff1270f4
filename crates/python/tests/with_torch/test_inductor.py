"""Models compiled by Inductor for a chip that is not here: their kernels run, with bits that nothing else decides."""

from __future__ import annotations

import contextlib
import copy
import os
import sys
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from common import pretended_gpu_or_skip

pretended_gpu_or_skip()
import torch  # noqa: E402
from processes import run  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import bitmma.torch  # noqa: E402
from bitmma.errors import OptionError  # noqa: E402
from bitmma.torch.inductor.held import digest  # noqa: E402
from bitmma.torch.inductor.outside import OutsideCall  # noqa: E402
from bitmma.torch.inductor.seeds import philox  # noqa: E402
from bitmma.torch.pretend import pretend  # noqa: E402

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def real(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def half(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).bfloat16()


def whole(*shape: int, most: int = 50) -> torch.Tensor:
    return torch.randint(1, most, shape)


#: Functions, their arguments, and whether their results are exact.
OPERATIONS: dict[str, tuple[Any, list[Any], bool]] = {
    "softmax": (lambda x: x.softmax(-1), [real(4, 5000)], False),
    "log_softmax": (lambda x: x.log_softmax(-1), [real(4, 500)], False),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (256,), w, b), [half(8, 256), half(256), half(256)], False),
    "rms_norm": (lambda x, w: x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6) * w, [half(8, 256), half(256)], False),
    "group_norm": (lambda x: F.group_norm(x, 8), [real(2, 64, 8, 8)], False),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t), [real(16, 500), whole(16)], False),
    "silu_gate": (lambda x, y: F.silu(x) * y, [half(1000), half(1000)], False),
    "gelu": (F.gelu, [real(1000)], False),
    "rotary": (lambda x, c, s: x * c + torch.cat((-x[..., 16:], x[..., :16]), -1) * s, [half(4, 8, 32), half(8, 32), half(8, 32)], False),
    "sine": (lambda x: torch.sin(x * 1e5), [real(1000)], False),
    "power": (lambda x, y: x.abs().pow(y), [real(1000), real(1000)], False),
    "welford": (lambda x: x.var(0), [real(500, 16)], False),
    "prefix_sums": (lambda x: x.cumsum(-1), [real(4, 1000)], False),
    "sum_of_all": (lambda x: x.sum(), [real(300, 1000)], False),
    "pooling": (lambda x: F.avg_pool2d(x, 2) + F.max_pool2d(x, 2), [real(1, 4, 8, 8)], False),
    "convolution": (lambda x, w: F.conv2d(x, w, padding=1), [half(1, 16, 12, 12), half(16, 16, 3, 3)], False),
    "fp8": (lambda x: x.to(torch.float8_e4m3fn).float(), [real(1000)], True),
    "integers": (lambda x, y: (x // y, x % y, (x ^ y) | (x >> 3)), [whole(1000, most=5000), whole(1000)], True),
    "narrow_integers": (lambda x: (x + x) * x - torch.minimum(x, -x), [whole(1000).to(torch.int8)], True),
    "sort": (lambda x: x.sort(-1), [real(8, 200)], True),
    "top": (lambda x: x.topk(5), [real(8, 200)], True),
    "gather": (lambda x, i: x.gather(1, i) + x[i[:, 0] - 1].amax(-1, keepdim=True), [real(100, 60), whole(100, 4)], True),
    "scatter": (lambda x, i, v: x.scatter_add(0, i, v), [torch.zeros(100, 8), whole(50, 8), torch.ones(50, 8)], True),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name: str) -> None:
    """Two runs have the same bits, near those of FP64, and nothing is computed outside of kernels but what is exact."""
    function, given, exact = OPERATIONS[name]
    compiled = bitmma.torch.compile(function, "h100")
    with torch.no_grad():
        first, again, eager = compiled(*given), compiled(*given), function(*given)
        wide = function(*(one.double() if one.is_floating_point() else one for one in given)) if not exact else eager
    for one, other, plain, double in zip(*(torch.utils._pytree.tree_leaves(part) for part in (first, again, eager, wide))):
        assert torch.equal(one, other) and one.device.type == "cpu"
        if exact:
            assert torch.equal(one, plain)
        else:
            worst, theirs = ((part.double() - double).abs().max().item() for part in (one, plain))
            assert worst <= 2 * theirs + 4 * torch.finfo(torch.float32).eps * double.abs().max().item(), name
    assert compiled.kernels or name == "top"
    assert not any(compiled.account.host.values()) or set(compiled.account.host["exact"]) == {"topk"}


def test_a_sum_of_a_product_is_rounded_once() -> None:
    x, y, z = real(200), real(200), real(200)
    found = bitmma.torch.compile(lambda x, y, z: x * y + z, "h100")(x, y, z)
    exact = [Fraction(a) * Fraction(b) + Fraction(c) for a, b, c in zip(x.tolist(), y.tolist(), z.tolist())]
    for one, value in zip(found.tolist(), exact):
        near = np.float32(one)
        assert all(abs(Fraction(float(other)) - value) >= abs(Fraction(one) - value) for other in (np.nextafter(near, np.float32(9e9)), np.nextafter(near, np.float32(-9e9))))


@pytest.mark.parametrize("chip", ["a100", "h100"])
def test_products_are_the_instruction_s(chip: str) -> None:
    """Those of a template are those of the emulation, K in order."""
    a, b, bias = (real(48, 200) * 2.0 ** torch.randint(-8, 8, (48, 200))).bfloat16(), half(200, 40), half(40)
    batch = half(3, 33, 64), half(3, 64, 17)
    compiled = bitmma.torch.compile(lambda a, b, c, d: (a @ b, torch.bmm(c, d)), chip)
    with torch.no_grad(), bitmma.torch.emulate(chip):
        expected = a @ b, torch.bmm(*batch)
    with torch.no_grad():
        found = compiled(a, b, *batch)
        assert all(map(torch.equal, found, expected))
        # the sum stays FP32 until the bias was added
        linear = bitmma.torch.compile(lambda a, b, bias: torch.addmm(bias, a, b), chip)(a, b, bias)
        wide = a.double() @ b.double() + bias.double()
        assert (linear.double() - wide).abs().max() <= 2 * ((a @ b + bias).double() - wide).abs().max()
    assert not compiled.outside


def test_chips_differ() -> None:
    """Where large terms cancel, what each instruction keeps of the small ones shows."""
    a, b = (real(32, 256) * 2.0 ** torch.randint(-12, 12, (32, 256))).bfloat16(), half(256, 32)
    a[:, 128:] = -a[:, :128]
    b[128:] = b[:128] * 1.0078125
    found = {}
    for chip in ("a100", "h100", "h200"):
        torch._dynamo.reset()
        with torch.no_grad():
            found[chip] = bitmma.torch.compile(torch.matmul, chip)(a, b)
    assert torch.equal(found["h100"], found["h200"]) and not torch.equal(found["h100"], found["a100"])


class Block(torch.nn.Module):
    """Norm, attention written as products, and a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(64)
        self.into, self.out = torch.nn.Linear(64, 192), torch.nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.into(self.norm(x)).view(2, 16, 3, 4, 16).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2) * 0.25).float().softmax(-1).to(v.dtype)
        return x + self.out((scores @ v).transpose(1, 2).reshape(2, 16, 64))


def gradients(model: Any, call: Any, x: torch.Tensor) -> list[torch.Tensor]:
    model.zero_grad()
    call(x).float().square().mean().backward()
    return [one.grad.clone() for one in model.parameters()]


def test_a_training_step() -> None:
    """Forward and backward; chips differ, whichever comes first, and eager PyTorch is no nearer to FP64."""
    model, x = Block().bfloat16(), half(2, 16, 64)
    found = {}
    for chips in (("h100", "a100"), ("a100", "h100")):
        for chip in chips:
            torch._dynamo.reset()
            compiled = bitmma.torch.compile(model, chip)
            step = gradients(model, compiled, x)
            assert all(map(torch.equal, step, gradients(model, compiled, x)))
            assert all(map(torch.equal, step, found.setdefault(chip, step))), "it does not depend on what was compiled before"
            assert len(compiled.code) == 2 and not compiled.outside and not any(compiled.account.host.values())
            assert sum(kernel.launches for kernel in compiled.kernels.values()) == sum(compiled.account.kernels.values()) > 20
    exact = copy.deepcopy(model).double()
    wide, eager = gradients(exact, exact, x.double()), gradients(model, model, x)
    for one, plain, double in zip(found["h100"], eager, wide):
        assert (one.double() - double).norm() <= 2 * (plain.double() - double).norm() + 1e-6 * double.norm()


def test_shapes_mutation_and_control() -> None:
    compiled = bitmma.torch.compile(lambda x: (x * 2).sum(-1), "a100", dynamic=True)
    for rows in (5, 9, 70):
        x = whole(rows, 33).float()
        assert torch.equal(compiled(x), (x * 2).sum(-1))
    assert len(compiled.code) == 1

    def changes(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        y[1:3] = 7
        return x.sum()

    x, y = torch.zeros(10), torch.zeros(6)
    total = bitmma.torch.compile(changes, "h100")(x, y)
    assert total == 10 and x.tolist() == [1.0] * 10 and y.tolist() == [0, 7, 7, 0, 0, 0]
    chosen = bitmma.torch.compile(lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)), "h100")
    assert chosen(torch.ones(4)).tolist() == [2.0] * 4 and chosen(-torch.ones(4)).tolist() == [-2.0] * 4
    made = bitmma.torch.compile(lambda x: x + torch.arange(4, device="cpu") + torch.full((4,), 0.5), "h100")
    assert made(torch.zeros(4)).tolist() == [0.5, 1.5, 2.5, 3.5]


def writes(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return (y * 2).sum() + x.sum()


def test_inputs_that_share_memory() -> None:
    """As in PyTorch where a model is compiled for them; an error where it was compiled for others."""
    compiled = bitmma.torch.compile(writes, "h100")
    for start in (8, 0, 4):
        torch._dynamo.reset()
        one, other = torch.arange(16.0), torch.arange(16.0)
        expected = writes(one[:8], one[start : start + 8])
        assert compiled(other[:8], other[start : start + 8]) == expected and torch.equal(one, other), start
    x = torch.arange(16.0)
    for y in (x[2:10], torch.ones(8)):
        with pytest.raises(bitmma.Error, match=r"the model writes to its inputs, .*; it was compiled with inputs of which 0 \(from element 0 on\) and 1 \(from element 4 on\) share memory"):
            compiled(x[:8], y)
    reads = bitmma.torch.compile(lambda x, y: (x * y).sum(), "h100")
    assert reads(x[:8], x[4:12]) == (x[:8] * x[4:12]).sum() and reads(x[:8], x[:8]) == (x[:8] ** 2).sum()
    for own, view in ((slice(None), slice(2, None)), (slice(2, None), slice(None))):
        y = torch.arange(8.0)
        found = bitmma.torch.compile(lambda a, b: (a.add_(1), b * 2)[1], "h100")(y if own == slice(None) else y[own], y if view == slice(None) else y[view])
        assert torch.equal(found, y[view] * 2) and y[3] == 4
    before = bitmma.torch.compile(lambda x: torch.as_strided(x, (4,), (1,), 0) + 0.5, "h100")
    assert before(x[5:9]).tolist() == [0.5, 1.5, 2.5, 3.5]


def test_random_numbers() -> None:
    """The same after the same seed, whatever the CPU's generator has drawn; Philox as its authors' own test has it."""
    zeros, ones = (0, 0, 0), ((1 << 64) - 1, (1 << 64) - 1, 4 * ((1 << 64) - 1))
    assert [f"{one:08x}" for one in philox(*zeros)] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]
    assert [f"{one:08x}" for one in philox(*ones)] == ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"]
    compiled = bitmma.torch.compile(lambda x: (F.dropout(x, 0.5), torch.rand_like(x), torch.randn(300)), "h100")
    x = torch.ones(1000)
    torch.manual_seed(5)
    first, second = compiled(x), compiled(x)
    torch.manual_seed(5)
    torch.rand(3)
    assert all(map(torch.equal, first, compiled(x))) and not any(map(torch.equal, first, second))
    dropped, uniform, normal = first
    assert set(dropped.unique().tolist()) == {0.0, 2.0} and abs(dropped.mean() - 1) < 0.2
    assert uniform.min() >= 0 and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.05 and abs(normal.std() - 1) < 0.2
    assert not compiled.outside


def test_what_is_outside() -> None:
    x = torch.randn(8, 8)
    function = lambda x: torch.linalg.svdvals(x) * 2  # noqa: E731
    with pytest.raises(Exception, match=r"calls _linalg_svd.default, which no kernel of Triton computes: outside='gemm'"):
        bitmma.torch.compile(function, "h100")(x)
    torch._dynamo.reset()
    compiled = bitmma.torch.compile(function, "h100", outside="gemm")
    assert torch.allclose(compiled(x), function(x)) and compiled.outside == {"_linalg_svd.default": 1}
    assert sum(compiled.account.left.values()) == 1 and "_linalg_svd" in next(iter(compiled.account.left))
    torch._dynamo.reset()
    x, weight = half(1, 8, 9, 9), half(8, 8, 3, 3)
    transposed = bitmma.torch.compile(lambda x, w: F.conv_transpose2d(x, w).relu(), "h100", outside="gemm")
    with bitmma.torch.emulate("h100"):
        expected = F.conv_transpose2d(x, weight).relu()
    assert torch.equal(transposed(x, weight), expected) and transposed.outside == {"convolution": 1}
    torch._dynamo.reset()
    product = bitmma.torch.compile(torch.matmul, "h100", outside="gemm")
    a, b = real(9, 33).double(), real(33, 5).double()
    with bitmma.torch.emulate("h100"):
        expected = a @ b
    assert torch.equal(product(a, b), expected) and sum(product.account.products.values()) == 1


def test_what_would_run_on_the_host_is_an_error() -> None:
    compiled = bitmma.torch.compile(torch.matmul, "h100")
    with bitmma.torch.emulate("a100"), pytest.raises(bitmma.Error, match="compiled for h100 is called inside of an emulation of a100"):
        compiled(torch.ones(4, 4), torch.ones(4, 4))

    def prints(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        print("a graph ends here")
        return y * 2

    with pytest.raises(torch._dynamo.exc.Unsupported):
        bitmma.torch.compile(prints, "h100")(torch.ones(3))
    torch._dynamo.reset()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert bitmma.torch.compile(torch.matmul, "h100")(torch.ones(16, 16), torch.ones(16, 16)).dtype == torch.bfloat16
    assert bitmma.torch.compile(lambda x: (x + 1).to("cpu") + x.cpu(), "h100")(torch.ones(3)).tolist() == [3.0] * 3


def test_functions_of_constants_are_kernels() -> None:
    compiled = bitmma.torch.compile(lambda x: x + torch.full((4,), 0.7).sin(), "h100")
    compiled(torch.zeros(4))
    assert "libdevice.sin" in compiled.code[0] or "tl_math.sin" in compiled.code[0], "not computed by the host while compiling"


def test_seeds_are_those_of_the_gpu() -> None:
    compiled, zeros = bitmma.torch.compile(lambda x: torch.rand(4) + x, "h100"), torch.zeros(4)
    torch.manual_seed(7)
    first, second = compiled(zeros), compiled(zeros)
    assert not torch.equal(first, second)
    for seed in (torch.cuda.manual_seed_all, torch.cuda.manual_seed, torch.manual_seed):
        torch.manual_seed(8)
        seed(7)
        assert torch.equal(compiled(zeros), first) and torch.equal(compiled(zeros), second), seed
    with pretend("h100"):
        torch.manual_seed(7)
        state = torch.cuda.get_rng_state()
        assert torch.equal(compiled(zeros), first)
        torch.cuda.set_rng_state(state)
        with torch.random.fork_rng():
            compiled(zeros)
        assert torch.equal(compiled(zeros), first)


def test_it_never_runs_as_this_machine_would() -> None:
    compiled = bitmma.torch.compile(torch.nn.Linear(8, 8), "h100")
    with torch.compiler.set_stance("force_eager"), pytest.raises(bitmma.Error, match=r"under torch.compiler.set_stance\('force_eager'\)"):
        compiled(torch.ones(2, 8))
    with torch.compiler.set_stance("default", force_backend="eager"), pytest.raises(bitmma.Error, match="under torch.compiler.set_stance"):
        compiled(torch.ones(2, 8))
    torch._dynamo.reset()
    partly = bitmma.torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()), "h100", fullgraph=False)
    with mock.patch.dict(os.environ, {"TORCHDYNAMO_DISABLE": "1"}), torch._dynamo.config.patch(disable=True), pytest.raises(OutsideCall, match="runs addmm outside of what was"):
        partly(torch.ones(2, 8))
    torch._dynamo.reset()
    around = torch.compile(lambda x: compiled(x) * 2, backend="eager")
    assert torch.equal(around(torch.ones(2, 8)), compiled(torch.ones(2, 8)) * 2) and sum(one.launches for one in compiled.kernels.values()) == 2
    dropped = bitmma.torch.compile(lambda x: checkpoint(lambda x: F.dropout(x).sin(), x, use_reentrant=False), "h100")
    with pytest.raises(Exception, match="run_and_save_rng_state"):  # not other numbers in the backward pass
        dropped(torch.ones(64, requires_grad=True))


@torch._dynamo.disable
def unrecorded(x: torch.Tensor) -> torch.Tensor:
    return (x @ x).exp()


def test_what_is_not_recorded_is_named() -> None:
    """A model compiled in parts: an operation between two parts is an error, or is in the account."""
    x = half(16, 16)
    function = lambda x: unrecorded(x * 2) + 1  # noqa: E731
    with pytest.raises(OutsideCall, match="the model runs mm outside of what was compiled, or its gradient would: PyTorch cannot record it, or .*outside='host'"):
        bitmma.torch.compile(function, "h100", fullgraph=False)(x)
    for choice in ("gemm", "host"):
        compiled = bitmma.torch.compile(function, "h100", fullgraph=False, outside=choice)
        found, account = compiled(x), compiled.account
        products = account.products if choice == "gemm" else account.left
        assert len(compiled.code) == 2 and sum(products.values()) == 1 and account.host["functions"] == {"exp": 1}, account
        with bitmma.torch.emulate("h100") if choice == "gemm" else contextlib.nullcontext():
            assert torch.equal(found, function(x))
    with pytest.raises(OutsideCall, match="runs mm outside of what was compiled, whose gradient would be the host's"):
        bitmma.torch.compile(function, "h100", fullgraph=False, outside="gemm")(x.requires_grad_())

    def moves(x: torch.Tensor) -> torch.Tensor:
        y = (x + 1).reshape(2, -1)
        torch._dynamo.graph_break()
        return y.t().clone() * (2 if int(y.shape[0]) == 2 and float(y.detach()[0, 0]) > 0 else 3)

    compiled = bitmma.torch.compile(moves, "h100", fullgraph=False)
    compiled(torch.ones(4, requires_grad=True)).sum().backward()
    assert bitmma.torch.compile(torch.nn.Identity(), "h100")(x) is x
    gathered = bitmma.torch.compile(lambda x: torch._dynamo.disable(lambda x: x.expand(3, 4))(x * 2), "h100", fullgraph=False)
    assert gathered(torch.ones(4)).shape == (3, 4)
    with pytest.raises(OutsideCall, match="runs expand"):  # its gradient is a sum
        gathered(torch.ones(4, requires_grad=True))


def test_what_rounds_is_told_from_what_moves() -> None:
    """Outside of graphs, and of calls in their code."""
    x, i = real(8, 8), torch.arange(1, 9)
    zeros, pairs = torch.zeros(8, dtype=torch.int64), torch.view_as_complex(real(4, 2))
    rounds: list[Any] = [
        lambda: i / (i + 2), lambda: i.sin(), lambda: i * 0.1, lambda: i.sum(dtype=torch.float32), lambda: torch.add(i, 0.3, out=torch.empty(8)),
        lambda: torch.linspace(0, 1, 7), lambda: torch.arange(0, 1, 0.1), lambda: torch.hann_window(9), lambda: pairs.abs(), lambda: x.round(decimals=2),
        lambda: x.scatter(0, zeros[None], x, reduce="add"), lambda: torch.bincount(zeros, weights=x[0]), lambda: F.leaky_relu(x, 0.3), lambda: torch.rand(3),
    ]  # fmt: skip
    moves: list[Any] = [
        lambda: i // 2 + i * 3, lambda: torch.arange(5), lambda: x.abs().round(), lambda: torch.bincount(i), lambda: i.float(), lambda: x.sort()[0],
        lambda: torch.ones_like(x), lambda: x.scatter(0, zeros[None], x), lambda: i & 1, lambda: x > 0,
    ]  # fmt: skip
    with torch.no_grad():
        for run in rounds:
            with pytest.raises(OutsideCall):
                bitmma.torch.compile(lambda run=torch._dynamo.disable(run): run(), "h100", fullgraph=False)()
        for run in moves:
            bitmma.torch.compile(lambda run=torch._dynamo.disable(run): run(), "h100", fullgraph=False)()
    torch._dynamo.reset()
    for inside in (lambda: pairs.abs(), lambda: torch.bincount(zeros, weights=x[0], minlength=4)):
        with pytest.raises(Exception, match="which no kernel of Triton computes"):
            bitmma.torch.compile(inside, "h100")()
    assert bitmma.torch.compile(lambda: torch.bincount(i, minlength=4), "h100", fullgraph=False)().sum() == 8
    torch._dynamo.reset()

    def asks(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        return y * 2 if y.max().item() > 1e9 else y.cos()

    x.requires_grad_()
    bitmma.torch.compile(asks, "h100", fullgraph=False)(x).sum().backward()
    found = bitmma.torch.compile(lambda x: (x.diagonal(), x.unfold(0, 2, 2), x.sin()), "h100")(x)
    assert found[0].shape == (8,)
    with pytest.raises(OutsideCall, match="runs expand"):
        bitmma.torch.compile(lambda x: (x[:1].expand(4, 8), x.sin()), "h100")(x)


@pytest.mark.parametrize("dynamic", [False, True])
def test_batch_norm_is_trained(dynamic: bool) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.BatchNorm1d(6))
    same = copy.deepcopy(model)
    compiled = bitmma.torch.compile(model, "h100", dynamic=dynamic)
    for rows in (5, 7):
        x = real(rows, 8)
        found, expected = compiled(x), same(x)
        found.square().sum().backward()
        expected.square().sum().backward()
        assert torch.allclose(found, expected, atol=1e-4)
    assert all(torch.allclose(one.grad, other.grad, atol=1e-3) for one, other in zip(model.parameters(), same.parameters()))
    assert torch.allclose(model[1].running_var, same[1].running_var, atol=1e-5) and model[1].num_batches_tracked == 2


def test_what_the_host_computed_is_in_the_account() -> None:
    compiled = bitmma.torch.compile(lambda x: torch.linalg.det(x) + torch.cumprod(x, 0).sum(), "h100", outside="host")
    compiled(real(4, 4))
    account = compiled.account
    assert account.left or account.free, account


def test_any_size_with_numbers() -> None:
    compiled = bitmma.torch.compile(torch.nn.LayerNorm(8), "h100", dynamic=True)
    for rows in (3, 5):
        x = real(rows, 8)
        assert torch.allclose(compiled(x), F.layer_norm(x, (8,)), atol=1e-5)


def test_what_depends_on_tuning() -> None:
    """Sums along a dimension depend on the configuration that a GPU would measure as the fastest; a product does not."""
    compiled = bitmma.torch.compile(lambda x: x.exp().sum(-1), "h100", settings={"max_autotune": True})
    x = real(4, 3000)
    (tuned,) = compiled.tuning(x)
    assert sum(kernel.launches for kernel in compiled.kernels.values()) == 1, "what is tried is not counted"
    assert "exp_sum" in tuned.name and len(tuned.same) + len(tuned.differ) + len(tuned.unknown) > 3, tuned
    assert tuned.differ and tuned.chosen.startswith("XBLOCK") and f"{next(iter(tuned.differ))}: " in str(tuned)
    torch._dynamo.reset()
    product = bitmma.torch.compile(torch.matmul, "h100", settings={"max_autotune_gemm_search_space": "DEFAULT"})
    (tuned,) = product.tuning(half(16, 16), half(16, 16))
    assert tuned.same and not tuned.differ and not tuned.unknown and "BLOCK_K" in tuned.chosen, tuned
    torch._dynamo.reset()
    (tuned,) = bitmma.torch.compile(torch.exp, "h100").tuning(x)
    assert tuned.same and not tuned.differ and not tuned.unknown, tuned
    shared = bitmma.torch.compile(lambda a: torch.as_strided(a, (200,), (1,), 0).exp(), "h100")
    (tuned,) = shared.tuning(real(400)[:10])  # a kernel reads beyond the view
    assert tuned.same and not tuned.differ and not tuned.unknown, tuned
    other = bitmma.torch.compile(torch.sin, "h100")
    together = lambda compiled, x: (compiled(x), other(x))  # noqa: E731
    assert len(shared.tuning(real(400)[:10], step=together)) == 1, "kernels of another model"


def test_code_that_inductor_wrote(tmp_path: Path) -> None:
    layer, x = torch.nn.Linear(64, 32).bfloat16(), half(8, 64)
    compiled = bitmma.torch.compile(lambda x, w, b: F.linear(x, w, b).softmax(-1), "h100")
    weight, bias = (one.detach() for one in layer.parameters())
    expected = compiled(x, weight, bias)
    (tmp_path / "code.py").write_text(compiled.code[0])
    (found,) = bitmma.torch.run_output_code(tmp_path / "code.py", [x, weight, bias], "h100")
    assert torch.equal(found, expected)
    with pytest.raises(OptionError, match="the code was written for cuda 90; a100 is cuda 80"):
        bitmma.torch.run_output_code(tmp_path / "code.py", [x, weight, bias], "a100")
    code = compiled.code[0]
    logged = "\n".join(f"V1128 00:14:48.702000 21386 torch/_inductor/graph.py:2104] [0/0] [__output_code] {line}" for line in ("Output code: ", *code.splitlines()))
    for text, args, message in (
        ("x = 1", [], "the code has no kernel of Triton"),
        ("def call(args):\n    return args[0] @ args[1]", [x, weight], "the code has no kernel of Triton"),
        (code.replace("call = runner.call", "call = 3"), [x, weight, bias], "the code has no function 'call'"),
        (code.replace("import torch\n", "import torch (\n", 1), [x, weight, bias], "the code cannot be read"),
        (code.replace("type='cuda'", "type='hip'").replace("cc=90", "cc='gfx942'"), [x, weight, bias], "written for hip gfx942; h100 is cuda 90"),
        (code, [x.double(), weight, bias], r"argument arg0_1 is float64; bfloat16 of shape \(8, 64\) was expected"),
        (code, [x, weight], "args is a list of 2; a list of 3 was expected: arg0_1, arg1_1, arg2_1"),
        (code, x, "args is a Tensor; a list of 3 was expected"),
        (logged, [x, weight, bias], ""),
    ):
        (tmp_path / "other.py").write_text(text)
        if not message:
            assert torch.equal(bitmma.torch.run_output_code(tmp_path / "other.py", args, "h100")[0], expected)
            continue
        with pytest.raises(bitmma.Error, match=message):
            bitmma.torch.run_output_code(tmp_path / "other.py", args, "h100")
    torch._dynamo.reset()
    long = bitmma.torch.compile(torch.matmul, "h100")
    assert long(half(4, 4096), half(4096, 8)).shape == (4, 8) and not long.outside  # K is not in parts, which a library would compute


def test_wrong_options() -> None:
    with pytest.raises(OptionError, match="outside is 'cublas'; one of 'refuse', 'gemm', 'host'"):
        bitmma.torch.compile(torch.exp, "h100", outside="cublas")
    with pytest.raises(Exception, match="h1000"):
        bitmma.torch.compile(torch.exp, "h1000")
    with pytest.raises(OptionError, match="attention is 'cudnn'; one of 'math', 'flash'"):
        bitmma.torch.compile(torch.exp, "h100", attention="cudnn")
    assert bitmma.torch.inductor_options("h100")["deterministic"] is True


def test_it_leaves_nothing_behind() -> None:
    before = dict(os.environ)
    bitmma.torch.compile(torch.exp, "h100")(torch.ones(3))
    assert not torch.cuda.is_available() and dict(os.environ) == before
    with pytest.raises((RuntimeError, AssertionError)):
        torch.ones(1, device="cuda")
    plain = torch.compile(lambda x: x + 1, backend="eager")
    assert plain(torch.ones(2)).tolist() == [2.0, 2.0]


PROGRAM = """
import torch
x = torch.arange(8.0)
compiled = torch.compile(lambda x: (x * 3).sum(), backend="bitmma", options={"chip": "h100"})
assert compiled(x) == 84
try:
    torch.compile(lambda x: x * 3, backend="bitmma")(x)
except Exception as error:
    assert "needs options={'chip': ...}" in str(error), error
else:
    raise AssertionError("no chip")
print("done")
"""


def test_the_backend_has_a_name(tmp_path: Path) -> None:
    done = run("-c", PROGRAM, cwd=tmp_path)
    assert done.stdout == "done\n", done.stdout + done.stderr


def training(compiled: Any, x: torch.Tensor) -> None:
    compiled.zero_grad()
    compiled(x).float().square().mean().backward()


def test_certificates(tmp_path: Path) -> None:
    """Equal for equal runs, in this process and another; not after a bit of a weight, of an input, or another chip; a changed file is refused."""
    model, x = Block().bfloat16(), half(2, 16, 64)
    torch.save((model.state_dict(), x), tmp_path / "model.pt")
    compiled = bitmma.torch.compile(model, "h100")
    certificate = compiled.certify(x, step=training)
    assert compiled.certify(x, step=training) == certificate and len(certificate.graphs) == 2 and len(certificate.kernels) == len(compiled.kernels)
    path = tmp_path / "run.json"
    certificate.save(path)
    assert bitmma.torch.Certificate.load(path) == certificate
    program = (
        "import sys, torch, bitmma.torch\nsys.path.insert(0, sys.argv[1])\nfrom test_inductor import Block, training\n"
        "state, x = torch.load('model.pt')\nmodel = Block().bfloat16()\nmodel.load_state_dict(state)\n"
        "print(bitmma.torch.verify('run.json', model, x, step=training))\n"
        "model.out.bias.data.view(torch.int16)[3] ^= 1\nprint(bitmma.torch.verify('run.json', model, x, step=training))\n"
    )
    done = run("-c", program, str(Path(__file__).parent), cwd=tmp_path, TRITON_INTERPRET="0", PYTHONPATH=os.pathsep.join(sys.path), ATEN_CPU_CAPABILITY="default")
    same, other = done.stdout.splitlines()
    assert same == "[]", done.stdout + done.stderr
    assert other.startswith("['model.out.bias differs before the run', 'graph 0 of 2 is the first with other results: input "), other
    changed = x.clone()
    changed.view(torch.int16)[0, 0, 0] ^= 1
    assert bitmma.torch.verify(certificate, model, changed, step=training)[0] == "input 0 differs"
    torch._dynamo.reset()
    on_a100 = bitmma.torch.compile(model, "a100").certify(x, step=training)
    assert bitmma.torch.compile(model, "h100", multiprocessors=132).certify(x, step=training).seal == certificate.seal
    with pytest.raises(bitmma.torch.inductor.CertificateError, match="input 1 is a value of type object"):
        compiled.certify(x, object(), step=lambda compiled, x, _: training(compiled, x))
    assert certificate.differences(on_a100)[0] == "chip is 'h100', and 'a100'"
    nobody = lambda compiled, x: threading.Thread(target=compiled, args=(x,)).start()  # noqa: E731
    for empty, step in ((bitmma.torch.compile(torch.nn.Identity(), "h100"), None), (compiled, nobody)):
        with pytest.raises(bitmma.torch.inductor.CertificateError, match="no graph of the compiled model ran in this thread"):
            empty.certify(x, step=step)
    doubled = bitmma.torch.compile(lambda x: x.mul_(2), "h100")
    before = real(4)
    assert doubled.certify(before.clone()).inputs == doubled.certify(before.clone()).inputs
    conjugated = torch.tensor([1 + 2j, 3j])
    assert digest(conjugated.conj()) == digest(conjugated.conj().resolve_conj()) != digest(conjugated)
    torch._dynamo.reset()
    settings = {"max_autotune_gemm": False, "triton.multi_kernel": 0}
    assert certificate.differences(bitmma.torch.compile(model, "h100", outside="gemm", settings=settings).certify(x, step=training))
    for content, message in [
        (path.read_text().replace(certificate.held["model.out.bias"], certificate.seal), "was changed: its seal is"),
        (path.read_text().replace('"version": 3', '"version": 2'), "has version 2; 3 was expected"),
        ("{}", "is no certificate: 'seal'"),
        ("[", "is no certificate"),
    ]:
        (tmp_path / "wrong.json").write_text(content)
        with pytest.raises(bitmma.Error, match=message):
            bitmma.torch.verify(tmp_path / "wrong.json", model, x)
