"""A whole model on another chip: bit for bit a slow loop over tiles of one instruction."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bitmma

torch = pytest.importorskip("torch")
F = torch.nn.functional


def tiles(unit, a, b, c=None):
    """A·B in FP32 by one instruction after the other; then C added; then FP16."""
    _, m, n, k = unit.shape
    padded = [np.pad(x, [(0, -size % tile) for size, tile in zip(x.shape, sizes)]) for x, sizes in ((a, (m, k)), (b, (k, n)))]
    d = np.zeros((padded[0].shape[0], padded[1].shape[1]), np.float32)
    for i in range(0, d.shape[0], m):
        for j in range(0, d.shape[1], n):
            for p in range(0, padded[0].shape[1], k):
                tile = d[i : i + m, j : j + n]
                d[i : i + m, j : j + n] = unit(padded[0][i : i + m, p : p + k], padded[1][p : p + k, j : j + n], tile)
    d = d[: a.shape[0], : b.shape[1]]
    with np.errstate(over="ignore"):
        return (d if c is None else d + c.astype(np.float32)).astype(np.float16)


def network(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(40, 24), torch.nn.ReLU(), torch.nn.Linear(24, 12)).half()


# the instruction that runs, and one with the same arithmetic and a tile that a slow loop can take
UNITS = {
    "h100": "mma.m16n8k16.f32.f16.f16.f32",
    "mi250x": "v_mfma_f32_16x16x16f16",
    "mi300x": "v_mfma_f32_16x16x16_f16",
    "v100": "mma.m8n8k4.f32.f16.f16.f32",
    "t4": "mma.m16n8k8.f32.f16.f16.f32",
}


@pytest.mark.parametrize("chip", ["h100", "mi250x", "mi300x", "t4"])
def test_forward_and_backward_are_a_loop_over_mma(chip):
    unit = bitmma.mma(chip, UNITS[chip])
    model = network()
    x = (torch.randn(10, 40) * 2.0 ** torch.randint(-12, 3, (10, 1))).half().requires_grad_()
    with bitmma.torch.emulate(chip):
        y = model(x)
        y.sum().backward()
    w1, b1, w2, b2 = (parameter.detach().numpy() for parameter in model.parameters())
    x0 = x.detach().numpy()
    hidden = tiles(unit, x0, w1.T, b1)
    active = np.maximum(hidden, 0)
    expected = tiles(unit, active, w2.T, b2)
    assert y.detach().numpy().tobytes() == expected.tobytes()
    g2 = np.ones_like(expected)
    to_active = tiles(unit, g2, w2) * (hidden > 0)
    wanted = [tiles(unit, to_active.T, x0), None, tiles(unit, g2.T, active), None]
    for parameter, gradient in zip(model.parameters(), wanted):
        if gradient is not None:
            assert np.array_equal(parameter.grad.numpy(), gradient)
    assert np.array_equal(x.grad.numpy(), tiles(unit, to_active, w1))


def close(a, b, tolerance=1e-11):
    assert a.shape == b.shape and a.dtype == b.dtype
    assert torch.allclose(a, b, rtol=tolerance, atol=tolerance)


def both(function, *tensors, chip="mi300x"):
    """Values and gradients with and without emulation, in FP64, where FMA chains are all but exact."""
    found = []
    for emulated in (False, True):
        leaves = [tensor.clone().requires_grad_() for tensor in tensors]
        if emulated:
            with bitmma.torch.emulate(chip) as emulation:
                y = function(*leaves)
                (y * torch.arange(y.numel(), dtype=y.dtype).reshape(y.shape).cos()).sum().backward()
            assert emulation.products and not emulation.left, emulation.left
        else:
            y = function(*leaves)
            (y * torch.arange(y.numel(), dtype=y.dtype).reshape(y.shape).cos()).sum().backward()
        found.append([y.detach(), *(leaf.grad for leaf in leaves)])
    for plain, other in zip(*found):
        close(other, plain)


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize(
    "function",
    [
        torch.mm,
        torch.matmul,
        lambda a, b: a @ b,
        lambda a, b: torch.einsum("ij,jk->ik", a, b),
        lambda a, b: torch.addmm(a @ b, a, b, beta=0.3, alpha=-2.0),
        lambda a, b: F.linear(a, b.t()),
        lambda a, b: F.linear(a.reshape(3, 2, 20), b.t(), b[0]),
        lambda a, b: torch.bmm(torch.stack([a, a * 2]), torch.stack([b, b * 3])),
        lambda a, b: torch.baddbmm(b[:6], torch.stack([a, a * 2]), torch.stack([b, b * 3]), alpha=0.5),
    ],
)
def test_products(function):
    both(function, random(6, 20), random(20, 7))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_decomposed(causal):
    both(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal), *(random(2, 3, 8, 16) for _ in "qkv"))


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": 3}, {"stride": 3, "groups": 2}, {"padding": 4}]
)
def test_convolutions(dimensions, transposed, options):
    function = getattr(F, f"conv{'_transpose' if transposed else ''}{dimensions}d")
    groups = options.get("groups", 1)
    weight = random(4, 6 // groups if transposed else 4 // groups, *([3, 2, 3][:dimensions]))
    x, bias = random(2, 4, *([7, 8, 9][:dimensions])), random(weight.shape[1] * groups if transposed else 4)
    extra = {"output_padding": 1} if transposed and options.get("stride", 1) > 1 else {}
    both(lambda x, w, b: function(x, w, b, **options, **extra), x, weight, bias)
    both(lambda x, w: function(x, w, **options, **extra), x, weight)


def test_fp16_attention_multiplies_in_fp16():
    q = torch.randn(1, 2, 8, 16).half()
    with bitmma.torch.emulate("h100") as emulation:
        F.scaled_dot_product_attention(q, q, q)
    assert [product.operation for product in emulation.products] == ["bmm", "bmm"]


def test_inference_mode_sees_the_same_products():
    model, x = network(), torch.randn(5, 40).half()
    with bitmma.torch.emulate("mi250x"):
        expected = model(x)
    with torch.inference_mode(), bitmma.torch.emulate("mi250x") as emulation:
        actual = model(x)
    assert len(emulation.products) == 2 and torch.equal(actual, expected)


def test_policies():
    a = torch.full((16, 16), 2.0**-20).half()  # subnormal
    large = torch.full((16, 16), 1024.0).half().requires_grad_()
    with bitmma.torch.emulate("mi250x"):
        assert (a @ large == 0).all(), "input flushing"
    with bitmma.torch.emulate("mi250x", fp16="bf16") as emulation:
        assert (a @ large == 2.0**-6).all()
    assert "bf16" in emulation.products[0].instruction
    with bitmma.torch.emulate("mi250x", fp16="bf16-backward") as emulation:
        (a @ large).sum().backward()
    assert [("bf16" in one.instruction, one.backward) for one in emulation.products] == [(False, False), (True, True)]
    with bitmma.torch.emulate("mi250x", fp16=None) as emulation:
        a @ large
    assert not emulation.products and emulation.left == {"mm float16: float16 is left alone on request": 1}
    with bitmma.torch.emulate("h100", fp32="tf32") as emulation:
        assert torch.equal(torch.full((4, 8), 1 + 2.0**-11) @ torch.ones(8, 4), torch.full((4, 4), 8.0))
    assert "tf32" in emulation.products[0].instruction
    with pytest.raises(bitmma.OptionError, match="fp16 is 'fast'; one of 'native', 'bf16', 'bf16-backward', None"):
        bitmma.torch.emulate("h100", fp16="fast")
    with pytest.raises(bitmma.UnknownArchitecture):
        bitmma.torch.emulate("h1000")


def test_scaled_mm():
    a = torch.randn(16, 256).to(torch.float8_e4m3fn)
    b = torch.randn(32, 256).to(torch.float8_e4m3fn).t()
    scale_a, scale_b = torch.tensor(0.5), torch.tensor(4.0)
    with bitmma.torch.emulate("h100"):
        slow = torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.float32)
        fast = torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.float32, use_fast_accum=True)
    assert torch.equal(fast, 2 * bitmma.matmul(a, b, like="h100"))
    unit = ("h100", "wgmma.m64n8k32.f32.e4m3.e4m3")
    assert torch.equal(slow, 2 * bitmma.gemm(unit, a, b, promote_every=128))
    exact = 2 * (a.double() @ b.double())
    assert (slow - exact).norm() < (fast - exact).norm()


def flushing():
    """A network and an input whose eighth element, subnormal, decides the last bit of a result; CDNA2 reads zero."""
    model = network()
    x = torch.zeros(3, 40).half()
    x[1, 5], x[1, 7] = 2.0**-10, 2.0**-20
    with torch.no_grad():
        model[0].weight.fill_(0.5)
        model[0].bias.zero_()
    return model, x


def test_where_two_chips_first_differ():
    model, x = flushing()
    with bitmma.torch.emulate("mi250x", compare_with="h100") as emulation:
        model(x)
    first = emulation.first_difference
    assert (first.layer, first.operation, first.backward) == ("Sequential.0", "addmm", False)
    assert first.element == (1, 0) and first.term == 7 and first.steps == (1, 0), "steps of 4 and of 16 elements"
    assert first.theirs - first.ours == 2.0**-21 and first.chips == ("mi250x", "h100")
    ours, theirs = first.explain()
    assert theirs.parting.value - ours.parting.value == 2.0**-21
    assert (ours.element, theirs.element) == (2.0**-11, 2.0**-11 + 2.0**-21)
    text = str(first.explain())
    assert text.splitlines()[0].endswith("0.00048828125 on mi250x, 0.0004887580871582031 on h100")
    assert "mi250x: cdna2 v_mfma" in text and "h100: hopper wgmma" in text
    assert text.endswith("the element, rounded to float16: 0.0004887580871582031")
    compared = emulation.products[0].compared["h100"]
    assert compared.rounded.differing == compared.raw.differing == 24
    report = emulation.report()
    assert "first difference from h100 after rounding: Sequential.0, forward, addmm, element [1, 0], term 7" in report
    assert "24 of 72" in report


def test_what_rounding_hides_is_not_a_difference():
    model, x = flushing()
    x[1, 5] = 1  # 0.5 + 2^-21 is 0.5 in FP16
    with bitmma.torch.emulate("mi250x", compare_with="h100") as emulation:
        model[0](x)
    compared = emulation.products[0].compared["h100"]
    assert (compared.rounded.differing, compared.raw.differing) == (0, 24)
    assert emulation.first_difference is None


def test_a_chip_agrees_with_itself_and_errors_are_small():
    with bitmma.torch.emulate("h100", compare_with=["h200", "mi300x"], measure=True) as emulation:
        network()(torch.randn(4, 40).half()).sum().backward()
    assert len(emulation.products) == 5
    assert all(one.compared["h200"].raw.differing == 0 and one.relative_error < 1e-6 for one in emulation.products)
    assert sum(one.compared["mi300x"].raw.differing for one in emulation.products) > 0
    assert "first difference from h200 after rounding: none" in emulation.report()


def test_nothing_is_measured_unless_asked_for():
    with bitmma.torch.emulate("h100") as emulation:
        network()(torch.randn(4, 40).half())
    first = emulation.products[0]
    assert (first.layer, first.operation, first.shape) == ("Sequential.0", "addmm", (1, 4, 24, 40))
    assert first.instruction == "hopper wgmma.m64n{8..256}k16.f32.f16.f16"
    assert first.max_error is first.relative_error is first.not_finite is None and not first.compared


def test_everything_else_is_untouched_and_settings_come_back():
    before = torch.backends.mha.get_fastpath_enabled()
    with bitmma.torch.emulate("h100", fp32=None):
        assert not torch.backends.mha.get_fastpath_enabled()
        x = torch.randn(64)
        assert torch.equal(x.exp().cumsum(0), x.exp().cumsum(0)) and math.isclose(x.sum().item(), sum(x.tolist()), abs_tol=1e-4)
    assert torch.backends.mha.get_fastpath_enabled() == before
    with pytest.raises(ValueError):
        with bitmma.torch.emulate("h100"):
            raise ValueError
    a = torch.randn(8, 8)
    assert torch.equal(a @ a, a @ a)


def test_calls_take_plans_and_the_others_are_counted():
    a = torch.randn(16, 256).to(torch.float8_e4m3fn)
    b = torch.randn(32, 256).to(torch.float8_e4m3fn).t()
    scale_a, scale_b = torch.tensor(0.5), torch.tensor(4.0)
    given = {"out_dtype": torch.bfloat16, "use_fast_accum": True}
    options = {"assume": ["unsplit"]}
    with bitmma.torch.emulate("ada", calls="rtx4060", call_options=options) as emulation:
        d = torch._scaled_mm(a, b, scale_a, scale_b, **given)
        torch.nn.functional.linear(torch.ones(16, 32).half(), torch.ones(16, 32).half(), torch.ones(16).half())
    assert torch.equal(d, bitmma.calls.scaled_mm(a, b, scale_a, scale_b, platform="rtx4060", **given, **options))
    assert list(emulation.planned.values()) == [1]
    assert sum(emulation.declined.values()) == 1 and "rule 26" in str(emulation.declined)
    assert "1 had a plan, 1 had none" in emulation.report()
    with bitmma.torch.emulate("ada", calls="rtx4060") as emulation, pytest.raises(bitmma.CallRejected):
        torch._scaled_mm(a, b.contiguous(), scale_a, scale_b, **given)  # mat2 must be column-major
    with pytest.raises(bitmma.CallDeclined):
        bitmma.torch.emulate("ada", calls="rtx5090")
