"""Kernels for GPUs, run by Triton's interpreter: the same bits as the CPU; what happens when a device does not answer them."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import bitmma

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton", reason="no Triton: pip install 'bitmma[gpu]'")
import triton.language as tl  # noqa: E402
from common import EVERYTHING, models  # noqa: E402
from decoder import Decoder  # noqa: E402

from bitmma import gpu  # noqa: E402
from bitmma.gpu import cases, device, instructions, packing, product, table, verdicts  # noqa: E402
from bitmma.gpu.model import Declined, model_of  # noqa: E402
from bitmma.gpu.plan import plan  # noqa: E402

CPU = torch.device("cpu")
HERE = device.device_of(CPU)
HOPPER = ("h100", "wgmma.m64n256k16.f32.f16.f16")
#: What each revision computes by no kernel: PyTorch's FMA rounds to nearest even, of operands that are all FP32 or all FP64.
ON_CPU = {"FMA RZ-f64", "FMA RD-f64", "FMA RU-f64", "FMA RNE-f32", "Dot-Add RNE-f32"}


def chosen(revision):
    """Models of the catalogue: every one, or those with a pair of formats or a kind of result that no other before has."""
    seen, chosen = set(), []
    for unit in models(revision):
        if unit.d == "s32":  # there are no kernels of integers
            continue
        model = model_of(unit)
        result = (model.family, unit.c, unit.d, model.rounding, model.result, model.scale, *model.lowering)
        kinds = {(unit.toml, unit.step)} if EVERYTHING else {(model.family, unit.a, unit.b), result}
        if not kinds <= seen:
            seen |= kinds
            chosen.append(unit)
    return chosen


@pytest.mark.parametrize("revision", ["hardware", "paper"])
def test_every_model_answers_as_on_the_cpu(revision):
    """In the slice of every run each revision takes every second model, with one kind of inputs."""
    elements, wrong, families, left = 0, [], set(), set()
    for place, unit in enumerate(chosen(revision)):
        model = model_of(unit)
        if not EVERYTHING and place % 2 != (revision == "paper") and model.family == "T-FDPA":
            continue
        try:
            plan(model)
        except Declined:
            left.add(f"{model.family} {model.rounding}-{model.result.name}")
            continue
        drawn = list(cases.cases(unit, (61, 59, 2) if EVERYTHING else (64, 61, 1 if model.step > 16 else 2)))
        for name, case in drawn if EVERYTHING else [drawn[place // 2 % len(drawn)]]:
            ours, theirs = cases.answers(unit, case, HERE, CPU)
            elements += ours.numel()
            if not torch.equal(ours, theirs):
                wrong.append((repr(unit), name, int((ours != theirs).sum())))
        families.add(model.family)
    assert wrong == []
    assert elements > (10**6 if EVERYTHING else 10**5), elements
    assert families == {"T-FDPA", "ST-FDPA", "GST-FDPA", "TR-FDPA", "GTR-FDPA", "FTZ-AddMul", "FMA", "E-FDPA"}
    assert left == ON_CPU


E4M3 = ("h100", "wgmma.m64n256k32.f32.e4m3.e4m3")
#: A model, and the routes in which its products are summed.
ROUTES = [
    (HOPPER, ("scaled", "integers")),
    (E4M3, ("offset", "scaled", "integers")),
    (("h100", "wgmma.m64n256k16.f32.bf16.bf16"), ("scaled", "integers")),
    (("b200", "tcgen05.mma.m128n256k32.kind::mxf8f6f4.block32.f32.e4m3.e5m2.ue8m0"), ("scaled", "integers")),
    (("mi300x", "v_mfma_f32_32x32x8_f16"), ("scaled", "integers")),
    (("mi300x", "v_mfma_f32_32x32x16_fp8_fp8"), ("scaled", "integers")),
]


@pytest.mark.parametrize("name, routes", ROUTES)
def test_every_route_answers_as_on_the_cpu(name, routes):
    unit = bitmma.mma(*name)
    assert plan(model_of(unit)).routes == routes
    for route in routes:
        assert cases.difference(unit, dataclasses.replace(HERE, route=route), CPU, (33, 30, 1)) is None, route


def test_tiles_of_numbers_far_apart_are_summed_in_integers():
    """BF16 numbers over 2^-120 to 2^120: those of one tile are near each other, those of the others are not."""
    unit = bitmma.mma("h100", "wgmma.m64n256k16.f32.bf16.bf16")
    generator = torch.Generator().manual_seed(8)
    a, b = torch.randn(192, 32, generator=generator), torch.randn(32, 70, generator=generator)
    a[64:128] *= torch.exp2(torch.randint(-60, 60, (64, 32), generator=generator))
    a[128:] *= torch.exp2(torch.randint(-120, 120, (64, 1), generator=generator))  # one power for each row
    a, b = a.bfloat16(), b.bfloat16()
    spread = packing.pack(cases_codes(a).transpose(1, 2), model_of(unit).a, model_of(unit), None, 64, packing.VARIES).spread
    assert ((spread > 70) == torch.tensor([False, True, False])).all()
    assert torch.equal(bits(gpu.gemm(unit, a, b)), bits(bitmma.gemm(unit, a, b)))


def cases_codes(tensor):
    return (tensor.view(torch.int16).to(torch.int32) & 0xFFFF)[None]


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1)])
def test_the_largest_sums_of_fp8(signs):
    """32 products of ±448², and C beside them, in every route: the sums that the bounds of the routes are about."""
    unit = bitmma.mma(*E4M3)
    a, b = torch.full((4, 32), 448.0 * signs[0]), torch.full((32, 3), 448.0)
    a[1, ::2] *= -1
    a[2, :31] = 2.0**-9
    a[3, 1:] = 0.0
    b[:, 1] *= signs[1]
    b[::2, 2] = -(2.0**-9)
    a, b = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)
    for c in (None, torch.full((4, 3), -(2.0**127)), torch.full((4, 3), 1.0), torch.full((4, 3), -(2.0**-149))):
        for route in ("offset", "scaled", "integers"):
            one = dataclasses.replace(HERE, route=route)
            ours = product.multiply(unit, *((x.view(torch.uint8).to(torch.int32))[None] for x in (a, b)), None if c is None else c[None], one)[0]
            assert torch.equal(bits(ours), bits(bitmma.gemm(unit, a, b, c))), (route, c)


def test_instructions_of_assembly_are_computed_exactly_where_there_is_none():
    """Additions rounded toward zero, by fractions; maxima of FP16 pairs, by integers."""
    from fractions import Fraction

    generator = np.random.default_rng(6)
    x, y = (np.ldexp(generator.integers(0, 16, 512), generator.integers(-9, 9, 512)).astype(np.float32) for _ in range(2))
    z = np.ldexp(generator.integers(1 << 23, 1 << 24, 512), generator.integers(-30, 10, 512)).astype(np.float32)
    sums, added = (torch.empty(512) for _ in range(2))
    pairs = generator.integers(-1000, 400, (3, 2, 512))
    packed = [torch.from_numpy(np.ascontiguousarray(one.T.astype(np.float16))).view(torch.int32)[:, 0] for one in pairs]
    largest = torch.empty(512, dtype=torch.int32)
    instructions_of[(1,)](*map(torch.from_numpy, (x, y, z)), *packed, sums, added, largest)
    for found, products in ((sums, [Fraction(float(one)) * Fraction(float(other)) for one, other in zip(x, y)]), (added, map(Fraction, map(float, x)))):
        for answer, term, start in zip(found.tolist(), products, z.tolist()):
            exact, above = Fraction(start) + term, np.nextafter(np.float32(answer), np.float32(np.inf))
            assert Fraction(answer) <= exact < Fraction(float(above))
    assert np.array_equal(largest[:, None].view(torch.float16).numpy().T, np.maximum(pairs[0] + pairs[1], pairs[2]))


@triton.jit
def instructions_of(x, y, z, p, q, r, sums, added, largest):
    at = tl.arange(0, 512)
    tl.store(sums + at, instructions.multiply_add_rz(tl.load(x + at), tl.load(y + at), tl.load(z + at), "none"))
    tl.store(added + at, instructions.add_rz(tl.load(z + at), tl.load(x + at), "none"))
    tl.store(largest + at, instructions.larger_sums(tl.load(p + at), tl.load(q + at), tl.load(r + at), "none"))


@pytest.mark.parametrize("name", [HOPPER, ("mi300x", "v_mfma_f32_32x32x8_f16"), ("mi250x", "v_mfma_f32_32x32x8f16"), ("v100", "mma.m8n8k4.f16.f16.f16.f16")])
def test_options_answer_as_on_the_cpu(name):
    unit = bitmma.mma(*name)
    generator = torch.Generator().manual_seed(3)
    k = 3 * unit.step - 1
    a, b = torch.randn(19, k, generator=generator).half(), torch.randn(k, 21, generator=generator).half()
    c = torch.randn(19, 21, generator=generator).to(product.DTYPES[unit.c])
    options = [
        {"split_k": 3},
        {"promote_every": 2 * unit.step},
        {"split_k": 2, "promote_every": unit.step},
        {"alpha": 0.3, "beta": -1.7},
        {"alpha": 2.0},
        {"beta": 0.0},
        {"output": "f16"},
        {"alpha": -1.0, "output": "bf16", "split_k": 9},
    ]
    for place, one in enumerate(options if name == HOPPER else options[:4]):
        for given in (c, None) if place < 4 else (c,):
            assert torch.equal(bits(gpu.gemm(unit, a, b, given, **one)), bits(bitmma.gemm(unit, a, b, given, **one))), one
    empty = gpu.gemm(unit, a[:, :0], b[:0], c)
    assert torch.equal(bits(empty), bits(bitmma.gemm(unit, a[:, :0], b[:0], c)))
    assert gpu.gemm(unit, a[:0], b).shape == (0, 21)


def test_scales_of_blocks_and_batches():
    unit = bitmma.mma("h100", "wgmma.m64n256k32.f32.e4m3.e4m3")
    generator = torch.Generator().manual_seed(4)
    a, b = (torch.randn(*shape, generator=generator).to(torch.float8_e4m3fn) for shape in ((6, 40), (40, 50)))
    scale_a, scale_b = torch.rand(6, 2, generator=generator), torch.rand(2, 2, generator=generator)
    for options in ({"scale_blocks": "1x32,32x32"}, {"scale_blocks": "row"}):
        scales = (scale_a, scale_b) if options["scale_blocks"] != "row" else (scale_a[:, :1], torch.rand(1, 50, generator=generator))
        ours, theirs = (one(unit, a, b, scale_a=scales[0], scale_b=scales[1], **options) for one in (gpu.gemm, bitmma.gemm))
        assert torch.equal(bits(ours), bits(theirs))
    x, y = torch.randn(2, 3, 5, 32, generator=generator).half(), torch.randn(3, 32, 7, generator=generator).half()
    assert torch.equal(bits(gpu.gemm(HOPPER, x, y)), bits(bitmma.gemm(HOPPER, x, y)))
    assert torch.equal(bits(gpu.gemm(HOPPER, x, y[0])), bits(bitmma.gemm(HOPPER, x, y[0])))
    codes = np.random.default_rng(0).integers(0, 16, (8, 64), np.uint8)
    packed = torch.from_numpy(codes[:, ::2] | codes[:, 1::2] << 4).view(torch.float4_e2m1fn_x2)
    blackwell = bitmma.mma("b200", "tcgen05.mma.m128n256k32.kind::f8f6f4.f32.e2m1.e2m1")
    other = packed.view(torch.uint8).t().view(torch.float4_e2m1fn_x2)
    assert torch.equal(bits(gpu.gemm(blackwell, packed, other)), bits(bitmma.gemm(blackwell, packed, other)))


def test_a_scale_factor_that_is_nan_stays_in_its_batch():
    unit = bitmma.mma("b200", "tcgen05.mma.m128n256k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3")
    generator = torch.Generator().manual_seed(5)
    a, b = (torch.randint(16, shape, generator=generator, dtype=torch.uint8) for shape in ((3, 5, 70), (3, 70, 6)))
    scale_a, scale_b = (torch.randint(127, shape, generator=generator, dtype=torch.uint8) for shape in ((3, 5, 5), (3, 5, 6)))
    scale_a[1, 2, 0] = 0x7F
    ours, theirs = (one(unit, a, b, scale_a=scale_a, scale_b=scale_b) for one in (gpu.gemm, bitmma.gemm))
    assert torch.equal(ours.view(torch.int32), theirs.view(torch.int32))
    nan = ours.view(torch.float32).isnan()
    assert nan[1, 2].all() and int(nan.sum()) == 6


def bits(tensor):
    return tensor.contiguous().view({2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()])


def test_a_model_on_a_device():
    torch.manual_seed(0)
    model = Decoder(1, 16, heads=1, classes=16).bfloat16().eval()
    ids = torch.randint(16, (1, 4))
    outputs = []
    for options in ({}, {"device": "cuda"}):
        with torch.no_grad(), warnings.catch_warnings(), bitmma.torch.emulate("mi300x", **options) as emulation:
            warnings.simplefilter("error")
            outputs.append(model(ids))
        assert len(emulation.products) > 5
    assert torch.equal(bits(outputs[0]), bits(outputs[1]))


def test_comparisons_on_a_device_are_those_of_the_cpu():
    # Equation 1 of the paper, whose sum each chip cuts elsewhere
    a, b = torch.zeros(1, 16).bfloat16(), torch.zeros(1, 16).bfloat16()
    a[0, :5], b[0, :5] = torch.tensor([4096, -4096, -0.5, -0.25, -0.125]), torch.tensor([2048, 2048, 1, 1, 1])
    found = [
        bitmma.torch.compare(torch.mm, a, b.T, chips=["h100", "mi300x"], mode="both", reference=False, **given) for given in ({}, {"device": "cuda"})
    ]
    assert found[0].products[0].differences["mi300x"].differing > 0
    assert found[0].products == found[1].products and found[0].local == found[1].local


def test_calls_of_a_library_are_refused_on_a_device():
    a, b = torch.ones(64, 512).bfloat16(), torch.ones(512, 16).bfloat16()
    with pytest.raises(bitmma.OptionError, match="calls is 'h100-pcie' and device 'cuda': the calls of a library are computed on the CPU"):
        bitmma.torch.emulate("h100", calls="h100-pcie", device="cuda")
    with pytest.raises(bitmma.DeviceError, match="computed on the CPU, and a tensor is on meta; move model and inputs to the CPU"):
        bitmma.torch.planned.call(torch.ops.aten.mm, (a.to("meta"), b.to("meta")), {}, {"platform": "h100-pcie"})
    with pytest.raises(bitmma.OptionError, match="device is 'cuda': the plan of a library's call is computed on the CPU"):
        with bitmma.torch.emulate(bitmma.calls.plan_call("h100-pcie", (64, 16, 512), "bf16", parts=2, assume=["version", "unsplit"]), device="cuda"):
            torch.mm(a, b)


@dataclasses.dataclass(frozen=True)
class Fake(device.Device):
    """The interpreter under another name, which counts launches and may answer wrong bits."""

    launches: list = dataclasses.field(default_factory=list)
    wrong: bool = False
    fails: bool = False

    def launch(self, plan, grid, arguments, constants):
        self.launches.append(plan.kernel)
        if self.fails:
            raise RuntimeError("the compiler gave up\nat length")
        HERE.launch(plan, grid, arguments, constants)
        if self.wrong:
            arguments[3][:, 0, 0] ^= 1


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """Puts a device in the place of the interpreter, with an empty file of verdicts."""
    monkeypatch.setenv("BITMMA_CACHE", str(tmp_path))
    monkeypatch.setattr(cases, "SIZES", (5, 4, 1))

    def put(**given):
        monkeypatch.setattr(verdicts, "_known", {})  # as in another process
        one = Fake("fake", "cuda", given.pop("versions", ("driver 1", "torch 1", "triton 1")), (32, 32), **given)
        monkeypatch.setattr(device, "device_of", lambda where: one)
        return one

    return put


A, B = torch.ones(3, 16).half(), torch.ones(16, 2).half()


def test_a_device_is_tested_once_and_again_after_a_change_of_version(fake, tmp_path):
    first = fake()
    assert torch.equal(gpu.gemm(HOPPER, A, B), torch.full((3, 2), 16.0))
    tested = len(first.launches)
    assert tested > 1, "a test and the product"
    gpu.gemm(HOPPER, A, B)
    assert len(first.launches) == tested + 1, "no second test"
    second = fake()
    gpu.gemm(HOPPER, A, B)
    assert len(second.launches) == 1, "another process reads the verdict"
    third = fake(versions=("driver 2", "torch 1", "triton 1"))
    gpu.gemm(HOPPER, A, B)
    assert len(third.launches) == tested, "another driver is tested"
    (tmp_path / "bitmma" / "gpu.json").write_text("{")
    fourth = fake()
    gpu.gemm(HOPPER, A, B)
    assert len(fourth.launches) == tested, "a file that does not read is as none"


def test_planted_and_changed_verdicts_count_for_nothing(fake, tmp_path):
    """A kernel that fails is not trusted whatever a file says that its test did not write."""
    file = tmp_path / "bitmma" / "gpu.json"
    right = fake()
    gpu.gemm(HOPPER, A, B)
    tested = len(right.launches)
    written = file.read_text()
    held = json.loads(written)
    (name, row), = held["verdicts"].items()
    assert row["passed"] and held["kernels"] == verdicts.sources()

    def other(**changes):
        return json.dumps({**held, **changes})

    failed = {**row, "passed": False, "reason": "case 'near'"}
    plants = {
        "an earlier schema": json.dumps({name: ""}),
        "of other kernels": other(kernels="0" * 16),
        "without a schema": json.dumps({"kernels": held["kernels"], "verdicts": held["verdicts"]}),
        "without a seal": other(verdicts={name: {"passed": True, "reason": ""}}),
        "another kernel's seal": other(verdicts={name + "x": row, name: {**row, "seal": verdicts._seal(name + "x", "")}}),
        "a reason removed": other(verdicts={name: {**row, "seal": verdicts._seal(name, "case 'near'")}}),
        "failed, and said to pass": other(verdicts={name: {**failed, "passed": True, "seal": verdicts._seal(name, "case 'near'")}}),
        "numbers for texts": other(verdicts={name: {**row, "passed": 1}}),
        "a list": "[]",
        "cut": written[:-20],
        "nested": "[" * 100_000,
        "not UTF-8": None,
    }
    for what, text in plants.items():
        file.write_bytes(b"\xff\xfe{" if text is None else text.encode())
        again = fake()
        gpu.gemm(HOPPER, A, B)
        assert len(again.launches) == tested, f"{what}: tested anew"
    for place in range(0, len(written), 7):  # a character changed anywhere
        changed = written[:place] + ("x" if written[place] != "x" else "y") + written[place + 1 :]
        file.write_text(changed)
        assert verdicts._read().get(name) is None or verdicts._read() == {name: ""} and json.loads(changed)["verdicts"] == held["verdicts"]
    file.write_text(written)
    file.chmod(0o666)
    again = fake()
    gpu.gemm(HOPPER, A, B)
    assert len(again.launches) == tested, "a file that others can write"


@pytest.mark.parametrize(
    "given, reason",
    [({"wrong": True}, r"failed the self-test on fake: case 'near': 1 of \d+ elements differ, the first at \[0, 0\], 0x"), ({"fails": True}, "RuntimeError: the compiler gave up$")],
)
def test_a_kernel_that_fails_is_not_used_and_the_cpu_takes_over(fake, monkeypatch, given, reason):
    from bitmma.gpu import matrices

    monkeypatch.setattr(matrices, "_said", set())
    fake(**given)
    with pytest.warns(bitmma.errors.RanOnCpu, match=reason):
        assert torch.equal(gpu.gemm(HOPPER, A, B), torch.full((3, 2), 16.0))
    again = fake(**given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a reason is said once
        assert torch.equal(gpu.gemm(HOPPER, A, B), torch.full((3, 2), 16.0))
    assert again.launches == [], "the verdict was kept"


def test_the_self_test_prints_a_table(fake, monkeypatch, capsys):
    fake(wrong=True)
    some = [bitmma.mma(*HOPPER), bitmma.mma("a100", "mma.m8n8k4.rz.f64.f64.f64.f64")]
    monkeypatch.setattr(table, "units", lambda: iter(some))
    found = gpu.selftest()
    assert [one.passed for one in found] == [False, False]
    assert "elements differ" in found[0].reason and found[1].reason.startswith("on the CPU: results are RZ-f64")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "fake (driver 1, torch 1, triton 1)" and lines[1].startswith("T-FDPA") and len(lines) == 3


def test_what_no_kernel_computes_the_cpu_does(monkeypatch):
    from bitmma.gpu import matrices

    monkeypatch.setattr(matrices, "_said", set())
    with pytest.warns(bitmma.errors.RanOnCpu, match="results are converted to e4m3"):
        ours = gpu.gemm(HOPPER, A, B, output="e4m3")
    assert torch.equal(ours.float(), torch.full((3, 2), 16.0))
    toml = bitmma.mma(*HOPPER).toml.replace("F = 25", "F = 40")
    with pytest.warns(bitmma.errors.RanOnCpu, match="F is 40; terms of more than 31 bits"):
        gpu.gemm(bitmma.Unit.from_toml(toml, step=16), A, B)
    with pytest.raises(bitmma.ShapeError, match="B is 8×"):
        gpu.gemm(HOPPER, A, B[:8])
    with pytest.raises(bitmma.OptionError, match="promote_every is 7"):
        gpu.gemm(HOPPER, A, B, promote_every=7)
    with pytest.raises(bitmma.DeviceError, match="B is a ndarray"):
        gpu.gemm(HOPPER, A, B.numpy())
    with pytest.raises(bitmma.DtypeError, match="A is float32; f16 comes as float16"):
        gpu.gemm(HOPPER, A.float(), B)


@pytest.mark.parametrize(
    "hidden, said",
    [("triton", "bitmma.gpu needs PyTorch and its Triton, which are not installed: pip install 'bitmma[gpu]'"), ("", "PyTorch finds no CUDA or ROCm device here")],
)
def test_without_triton_or_a_device_the_cpu_is_as_it_was(hidden, said):
    code = f"""
import importlib.util, sys, warnings
find = importlib.util.find_spec
if {hidden!r}:
    importlib.util.find_spec = lambda name, *rest: None if name == {hidden!r} else find(name, *rest)
import torch, bitmma
a = torch.ones(2, 16).half()
print(bitmma.gemm({HOPPER!r}, a, a.t())[0, 0].item())
try:
    import bitmma.gpu
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        print(bitmma.gpu.gemm({HOPPER!r}, a, a.t())[0, 0].item())
    print(caught[0].message)
except ImportError as error:
    print(error)
"""
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    if not hidden and torch.cuda.is_available():
        pytest.skip("there is a device here")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[0] == "16.0" and said in lines[-1] and set(lines[:-1]) == {"16.0"}


def test_kernels_compile_for_other_targets():
    """One in every run, all for six targets on demand; compiled in a process that does not interpret."""
    code = """
from bitmma import mma
from bitmma.gpu import cost
from bitmma.gpu.model import model_of
from bitmma.gpu.plan import plan
kernels, targets = (cost.KERNELS, cost.TARGETS) if EVERYTHING else (cost.KERNELS[6:7], ("sm_90", "gfx942"))
for target in targets:
    for name, architecture, instruction in kernels:
        text = cost.assembly(plan(model_of(mma(architecture, instruction))), target)
        fused = "FFMA" in text or "v_fma" in text or "v_pk_fma" in text
        print(name, target, cost.instructions(text), "FMUL.FTZ" in text or ".amdhsa_float_denorm_mode_32 0" in text, fused)
"""
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, "-c", code.replace("EVERYTHING", str(EVERYTHING))], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == (54 if EVERYTHING else 2) and all(int(line.split()[-3]) > 50 for line in lines)
    add_mul = [line for line in lines if line.startswith("FTZ-AddMul")]
    assert all(line.endswith("True False") for line in add_mul), "products and sums are flushed and rounded one by one, never fused"


def test_instructions_are_counted_by_hand():
    from bitmma.gpu import cost

    nvidia = ".L_x_1:\n        /*0000*/       LDC R1, c[0x0][0x28] ;\n        /*0010*/  @!P1 BRA `(.L_x_1) ;\n        /*0020*/     NOP ;\n.text.fused:\n"
    assert cost.instructions(nvidia) == 2
    assert cost.instructions("foo:\n.LBB0_1:\n\tv_add_u32 v0, v1 ; c\n\ts_endpgm\n\t.p2align 8\n; %bb.0:\n") == 2
    found = [cost.Cost("T-FDPA", target, 8.0, 10.0) for target in ("sm_90", "gfx942")]
    assert cost.table(found).splitlines()[-1] == "| T-FDPA | 8.0 (10.0) | 8.0 (10.0) |"
    assert cost.rates(found).splitlines()[0] == "H100 SXM, T-FDPA: 1.55 T products/s"  # 132 × 64 × 1.83 GHz / 10
