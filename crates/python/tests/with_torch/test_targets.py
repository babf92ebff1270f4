"""Anything as the arithmetic: chips, instructions, models, configurations, plans, dtypes, functions."""

from __future__ import annotations

import pytest

import bitmma

torch = pytest.importorskip("torch")
F = torch.nn.functional
UNIT = ("h100", "wgmma.m64n256k16.f32.bf16.bf16")


def random(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


A, B = random(24, 512), random(512, 16)


def product(target, **options):
    with bitmma.torch.emulate(target, **options) as emulation:
        return torch.mm(A, B), emulation


def narrow():
    return bitmma.mma(*UNIT).toml.replace("F = 25", "F = 12")


def test_instructions_and_models(tmp_path):
    path = tmp_path / "narrow.toml"
    path.write_text(narrow())
    model = bitmma.Unit.from_toml(narrow())
    targets = {
        ("a100", "mma.m16n8k8.f32.bf16.bf16.f32"): ("a100", "mma.m16n8k8.f32.bf16.bf16.f32"),
        bitmma.mma(*UNIT): UNIT,
        narrow(): model,
        str(path): model,
        path: model,
    }
    for target, unit in targets.items():
        result, emulation = product(target)
        assert torch.equal(result, bitmma.gemm(unit, A, B).bfloat16()), target
    assert not torch.equal(product(path)[0], product("h100")[0])
    assert emulation.arithmetic.label == "model T-FDPA"
    with pytest.warns(bitmma.errors.LeftAlone, match="mm float16: hopper wgmma.m64n256k16.f32.bf16.bf16 takes bf16 and bf16"):
        with bitmma.torch.emulate(UNIT):
            torch.mm(A.half(), B.half())


def test_configurations():
    Gemm = bitmma.torch.Gemm
    unit = (UNIT[0], bitmma.catalogue.choose("h100", "bf16", "bf16").name)
    for options in ({"split_k": 4}, {"promote_every": 128}, {"split_k": 2, "promote_every": 64}):
        for target in ("h100", UNIT):
            result, emulation = product(Gemm(target, **options))
            assert torch.equal(result, bitmma.gemm(unit, A, B, **options).bfloat16())
            name, value = next(iter(options.items()))
            assert f"{name}={value}" in emulation.products[0].instruction
    assert emulation.arithmetic.label.startswith("hopper wgmma")
    fp8 = random(16, 512, dtype=torch.float8_e4m3fn)
    one = torch.ones(())
    with bitmma.torch.emulate(Gemm("h100", promote_every=256)):
        result = torch._scaled_mm(fp8, fp8.t(), one, one, out_dtype=torch.float32, use_fast_accum=True)
    assert torch.equal(result, bitmma.gemm(("h100", "wgmma.m64n256k32.f32.e4m3.e4m3"), fp8, fp8.t(), promote_every=256))
    with pytest.raises(bitmma.OptionError, match="split_k is 0; it must be 1 or more"):
        product(Gemm("h100", split_k=0))
    with pytest.raises(bitmma.OptionError, match="float64 has no split_k or promote_every"):
        product(Gemm(torch.float64, split_k=2))


def test_plans():
    plan = bitmma.calls.plan_call("h100-pcie", (64, 64, 512), "e4m3", out="bf16", fast=False, parts=2, assume=["version", "unsplit"])
    a, b = random(64, 512, dtype=torch.float8_e4m3fn), random(64, 512, dtype=torch.float8_e4m3fn).t()
    scales = torch.tensor(0.75), torch.tensor(1.25)
    with bitmma.torch.emulate(plan) as emulation:
        result = torch._scaled_mm(a, b, *scales, out_dtype=torch.bfloat16)
    expected = bitmma.calls.scaled_mm(a, b, *scales, out_dtype=torch.bfloat16, platform="plan", plan=plan.plan)
    assert torch.equal(result, expected)
    assert emulation.products[0].instruction == "hopper wgmma.m64n256k32.f32.e4m3.e4m3 by a plan"


def test_dtypes_are_chains_of_fma():
    """Products of FP16 and BF16 are exact in FP64, and so are sums of a few; with ``host="torch"`` it is PyTorch's product."""
    expected = (A.double() @ B.double()).bfloat16()
    for host, name in (("portable", "FMA in float64"), ("torch", "PyTorch in float64")):
        with bitmma.torch.emulate(torch.float64, host=host) as emulation:
            assert torch.equal(torch.mm(A, B), expected)
        assert emulation.products[0].instruction == name
    with pytest.raises(bitmma.OptionError, match="torch.float16 as arithmetic; torch.float32 or torch.float64"):
        product(torch.float16)


def test_a_function_chooses_for_each_product():
    seen = []

    def attention_on_amd(product):
        seen.append((product.layer, product.operation, product.shape, product.instruction))
        return "mi300x" if product.operation == "bmm" else None if product.layer == "" else bitmma.torch.Gemm("h100", split_k=2)

    layer, x = torch.nn.Linear(32, 32).bfloat16(), random(2, 64, 32)
    with pytest.warns(bitmma.errors.LeftAlone, match="1 products ran as they were, not on attention_on_amd:\n  1 × mm bfloat16: attention_on_amd leaves them"):
        with bitmma.torch.emulate(attention_on_amd) as emulation:
            F.scaled_dot_product_attention(layer(x), x, x)
            torch.mm(A, B)
    names = [(one.operation, one.instruction.split()[0], "split_k=2" in one.instruction) for one in emulation.products]
    assert names == [("addmm", "hopper", True), ("bmm", "cdna3", False), ("bmm", "cdna3", False)]
    assert seen[0] == ("Linear", "addmm", (1, 128, 32, 32), "")


def test_chips_with_policies_of_their_own():
    Chip = bitmma.torch.Chip
    a, b = random(16, 64, dtype=torch.float16), random(64, 16, dtype=torch.float16)
    with bitmma.torch.emulate("mi250x", compare_with={"cast": Chip("mi250x", fp16="bf16")}) as emulation:
        torch.mm(a, b)
    assert emulation.products[0].compared["cast"].rounded.differing > 100
    found = bitmma.torch.compare(torch.mm, a.float(), b.float(), chips={"TF32": Chip("a100", fp32="tf32"), "FP32": torch.float32})
    row = found.products[0]
    assert row.instructions == {"TF32": "ampere mma.m16n8k8.f32.tf32.tf32.f32", "FP32": "FMA in float32"}
    unit = ("a100", "mma.m16n8k8.f32.tf32.tf32.f32")
    assert row.differences["FP32"].differing == int((bitmma.gemm(unit, a.float(), b.float()) != bitmma.gemm(("mi300x", "v_mfma_f32_16x16x4_f32"), a.float(), b.float())).sum())


def test_what_is_not_an_arithmetic():
    with pytest.raises(bitmma.OptionError, match="3.5 is not an arithmetic; give a chip"):
        bitmma.torch.emulate(3.5)
    with pytest.raises(bitmma.UnknownArchitecture, match="h1000"):
        bitmma.torch.emulate(bitmma.torch.Gemm("h1000"))
    with pytest.raises(bitmma.ModelError, match="nowhere.toml is not a model file: .*No such file"):
        bitmma.torch.emulate("nowhere.toml")
    with pytest.raises(bitmma.OptionError, match="fp16 is 'fast'"):
        bitmma.torch.emulate(bitmma.torch.Chip("h100", fp16="fast"))
