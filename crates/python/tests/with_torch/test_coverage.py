"""Every kind of product is emulated, or is left as it was and said; nothing is silent."""

from __future__ import annotations

import re
import warnings

import pytest

import bitmma
from bitmma.errors import LeftAlone

torch = pytest.importorskip("torch")
from torch.utils import _pytree as pytree  # noqa: E402

from bitmma.torch import operations, rewrites  # noqa: E402

F = torch.nn.functional


def random(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def chain(chip, a, b, c=None):
    """A·B in FP32 by the chip's instruction, C added, rounded to the operands' dtype."""
    unit = (chip, bitmma.catalogue.choose(chip, *[{torch.bfloat16: "bf16", torch.float16: "f16"}[a.dtype]] * 2).name)
    sums = bitmma.gemm(unit, a, b)
    return (sums if c is None else sums + c.float()).to(a.dtype)


def run(function, chip="h100", **options):
    """The result, what ran, what was left, and what was said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with bitmma.torch.emulate(chip, **options) as emulation:
            result = function()
    said = [str(one.message) for one in caught if issubclass(one.category, LeftAlone)]
    return result, emulation, said


# -- emulated -----------------------------------------------------------------------------------------------


def test_mv_and_addmv():
    a, x, c = random(24, 80), random(80), random(24)
    y, emulation, said = run(lambda: (a @ x, torch.addmv(c, a, x)))
    assert torch.equal(y[0], chain("h100", a, x[:, None])[:, 0])
    assert torch.equal(y[1], chain("h100", a, x[:, None], c[:, None])[:, 0])
    assert [one.operation for one in emulation.products] == ["mv", "addmv"] and not emulation.left and not said


def test_addbmm_adds_one_product_after_the_other():
    a, b, c = random(3, 8, 40), random(3, 40, 6), random(8, 6)
    result, emulation, _ = run(lambda: torch.addbmm(c, a, b))
    expected = c
    for x, y in zip(a, b):
        expected = chain("h100", x, y, expected)
    assert torch.equal(result, expected) and len(emulation.products) == 3


def test_bilinear():
    layer = torch.nn.Bilinear(32, 40, 5).bfloat16()
    x, y = random(6, 32), random(6, 40)
    result, emulation, _ = run(lambda: layer(x, y).detach())
    assert not emulation.left and emulation.products
    columns = []
    for weight in layer.weight.detach():  # each output by itself, as PyTorch does it
        part = chain("h100", x, weight)
        columns.append(torch.cat([chain("h100", row[None], column[:, None]) for row, column in zip(part, y)])[:, 0])
    assert torch.equal(result, torch.stack(columns, 1) + layer.bias.detach())


@pytest.mark.parametrize("training", [False, True])
def test_lstm(training):
    lstm, x = torch.nn.LSTM(16, 12, 2).bfloat16(), random(5, 3, 16)

    def forward():
        with torch.set_grad_enabled(training):
            y, _ = lstm(x)
            if training:
                y.sum().backward()
        return y.detach()

    result, emulation, said = run(forward, "h100")
    assert not emulation.left and not said and any(one.backward for one in emulation.products) == training
    assert {one.layer for one in emulation.products} <= {"LSTM", ""} and len(emulation.products) >= 2 * (1 + 5)
    # the first step of the first layer by hand
    w_in, w_state, b_in, b_state = (parameter.detach() for parameter in lstm._flat_weights[:4])
    gates = chain("h100", x[0], w_in.t(), b_in) + chain("h100", torch.zeros(3, 12).bfloat16(), w_state.t(), b_state)
    i, f, g, o = gates.chunk(4, 1)
    first = o.sigmoid() * (i.sigmoid() * g.tanh()).tanh()
    one_layer = torch.nn.LSTM(16, 12).bfloat16()
    with torch.no_grad():
        for parameter, value in zip(one_layer.parameters(), (w_in, w_state, b_in, b_state)):
            parameter.copy_(value)
    y, _, _ = run(lambda: one_layer(x)[0].detach(), "h100")
    assert torch.equal(y[0], first)


def test_grouped_mm():
    a, b, offs = random(24, 32), random(3, 32, 16), torch.tensor([8, 8, 24], dtype=torch.int32)
    rows, emulation, _ = run(lambda: torch._grouped_mm(a, b, offs=offs))
    assert torch.equal(rows, torch.cat([chain("h100", a[:8], b[0]), chain("h100", a[8:], b[2])])) and not emulation.left
    x, y = random(3, 8, 32), random(32, 24)
    columns, _, _ = run(lambda: torch._grouped_mm(x, y, offs=offs))
    assert torch.equal(columns[:, 8:], chain("h100", x[2], y[:, 8:])) and torch.equal(columns[:, :8], chain("h100", x[0], y[:, :8]))
    # drawn here: an emulation draws normal numbers of its own
    left, right = random(8, 24), random(24, 16)
    parts, _, _ = run(lambda: torch._grouped_mm(left, right, offs=offs))
    assert torch.equal(parts[2], chain("h100", left[:, 8:], right[8:])) and (parts[1] == 0).all()
    batch, _, _ = run(lambda: torch._grouped_mm(x, b))
    assert torch.equal(batch[1], chain("h100", x[1], b[1]))


def test_products_inside_of_other_operations():
    x, w = random(9, 2, 16), random(3, 16, 4)
    result, emulation, _ = run(lambda: torch.conv_tbc(x, w, torch.zeros(4).bfloat16()))
    assert not emulation.left and len(emulation.products) == 3 and result.shape == (7, 2, 4)
    points = torch.randn(30, 5, dtype=torch.float64)
    distance, emulation, _ = run(lambda: torch.cdist(points, points), "a100")
    assert len(emulation.products) == 1 and torch.allclose(distance, (points[:, None] - points).norm(dim=-1), atol=1e-6)
    a, b, c = random(8, 32), random(32, 8), random(8)
    result, emulation, _ = run(lambda: torch._addmm_activation(c, a, b))
    assert torch.equal(result, chain("h100", a, b, c.expand(8, 8)).relu())


def test_batches_of_any_rank():
    a, b = random(2, 3, 4, 8, 32), random(3, 1, 32, 16)
    result, emulation, _ = run(lambda: a @ b)
    plain = bitmma.matmul(a, b, like="h100", output="bf16")
    assert torch.equal(result, plain) and emulation.products[0].shape == (24, 8, 16, 32)
    for place in ((0, 1, 2), (1, 2, 3)):
        assert torch.equal(plain[place], chain("h100", a[place], b[place[1], 0]))
    assert torch.equal(bitmma.matmul(a, b[0, 0], like="h100", output="bf16")[1, 2, 3], chain("h100", a[1, 2, 3], b[0, 0]))
    numpy = bitmma.matmul(a.float().half().numpy(), b.float().half().numpy(), like="h100")
    assert numpy.shape == (2, 3, 4, 8, 16)
    with pytest.raises(bitmma.ShapeError, match="batches of shapes 2×3×4, 5 do not go together"):
        bitmma.matmul(a, random(5, 32, 16), like="h100")


def test_flex_attention():
    attention = pytest.importorskip("torch.nn.attention.flex_attention")
    q, k, v = (random(2, 4, 128, 16) + place for place in range(3))

    def biased(score, batch, head, i, j):
        return score + 0.1 * (i - j)

    result, emulation, said = run(lambda: attention.flex_attention(q, k, v, score_mod=biased))
    assert not emulation.left and not said and [one.operation for one in emulation.products] == ["bmm", "bmm"]
    unit = ("h100", bitmma.catalogue.choose("h100", "bf16", "bf16").name)
    scores = bitmma.gemm(unit, q, k.mT) / 4
    places = torch.arange(128)
    weights = (scores + 0.1 * (places[:, None] - places)).softmax(-1).bfloat16()
    assert torch.equal(result, bitmma.gemm(unit, weights, v).bfloat16())
    assert not attention._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG
    # its backward pass PyTorch itself refuses on a CPU, and says so
    with pytest.raises((NotImplementedError, RuntimeError), match="(?i)flex.*backward"), bitmma.torch.emulate("h100"):
        attention.flex_attention(q.requires_grad_(), k, v).sum().backward()
    # several chips are compared on it
    found = bitmma.torch.compare(lambda x: attention.flex_attention(x, k, v), q.detach(), chips=["a100", "h100"])
    assert [row.operation for row in found.products] == ["bmm", "bmm"]


# -- FP8 and FP4 with scales of blocks, on a PyTorch that runs on the CPU ----------------------------------------


def fp8(*shape):
    return random(*shape, dtype=torch.float32).to(torch.float8_e4m3fn)


def fma_chain(unit, a, b, scale_a, scale_b):
    """128 elements of K at a time, each result times the product of both scales added by one FMA in FP32."""
    sums = torch.zeros(a.shape[0], b.shape[1], dtype=torch.float32)
    for block in range(scale_a.shape[1]):
        span = slice(128 * block, 128 * block + 128)
        part = bitmma.gemm(unit, a[:, span], b[span])
        scale = scale_a[:, block, None] * scale_b[None, block]
        # exact in FP64 but for the sum, which is rounded once more: compared where that cannot matter
        sums = (part.double() * scale.double() + sums.double()).float()
    return sums


@pytest.mark.parametrize("of_b", [128, 1])
@pytest.mark.parametrize("second", [False, True])
def test_fp8_with_block_scales(of_b, second):
    a, b = fp8(48, 384), fp8(256, 384).t()
    scale_a = 2.0 ** torch.randint(-4, 4, (48, 3))
    scale_b = 2.0 ** torch.randint(-4, 4, (3, 256 // of_b))
    if second:
        kinds = F.ScalingType
        recipe = kinds.BlockWise128x128 if of_b == 128 else kinds.BlockWise1x128
        call = lambda: F.scaled_mm(a, b, scale_a, kinds.BlockWise1x128, scale_b, recipe, output_dtype=torch.float32)  # noqa: E731
    else:
        call = lambda: torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.float32)  # noqa: E731
    result, emulation, said = run(call)
    assert not said and not emulation.left and emulation.products[0].scale == ("f32", 128)
    unit = ("h100", "wgmma.m64n256k32.f32.e4m3.e4m3")
    assert torch.equal(result, fma_chain(unit, a, b, scale_a, scale_b.repeat_interleave(of_b, 1)))


def swizzled(scale):
    """Rows × blocks as cuBLASLt takes them: tiles of 128 × 4, each as 32 × 4 × 4."""
    rows, blocks = scale.shape
    padded = torch.zeros(-(-rows // 128) * 128, -(-blocks // 4) * 4, dtype=torch.uint8)
    padded[:rows, :blocks] = scale.view(torch.uint8)
    flat = torch.zeros(padded.numel(), dtype=torch.uint8)
    wide = padded.shape[1] // 4
    for row in range(padded.shape[0]):
        for block in range(padded.shape[1]):
            tile = row // 128 * wide + block // 4
            flat[tile * 512 + row % 32 * 16 + row % 128 // 32 * 4 + block % 4] = padded[row, block]
    return flat.view(scale.dtype)


@pytest.mark.parametrize("second", [False, True])
def test_mxfp8_and_nvfp4(second):
    a, b = fp8(40, 256), fp8(24, 256).t()
    scale_a, scale_b = (torch.randint(120, 134, (rows, 8), dtype=torch.uint8).view(torch.float8_e8m0fnu) for rows in (40, 24))
    if second:
        kinds, swizzle = F.ScalingType, F.SwizzleType.SWIZZLE_32_4_4
        options = {"swizzle_a": swizzle, "swizzle_b": swizzle, "output_dtype": torch.float32}
        one = kinds.BlockWise1x32
        call = lambda: F.scaled_mm(a, b, swizzled(scale_a), one, swizzled(scale_b), one, **options)  # noqa: E731
    else:
        call = lambda: torch._scaled_mm(a, b, swizzled(scale_a), swizzled(scale_b), out_dtype=torch.float32)  # noqa: E731
    result, emulation, _ = run(call, "b200")
    expected = bitmma.matmul(a, b, like="b200", scale_a=scale_a, scale_b=scale_b.t())
    assert torch.equal(result, expected) and "mxf8" in emulation.products[0].instruction
    if second:
        return
    x = torch.randint(0, 256, (40, 64), dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    y = torch.randint(0, 256, (24, 64), dtype=torch.uint8).view(torch.float4_e2m1fn_x2).t()
    scales = [random(rows, 8, dtype=torch.float32).abs().add(0.5).to(torch.float8_e4m3fn) for rows in (40, 24)]
    call = lambda: torch._scaled_mm(x, y, *map(swizzled, scales), out_dtype=torch.bfloat16)  # noqa: E731
    result, emulation, _ = run(call, "b200")
    expected = bitmma.matmul(x, y, like="b200", scale_a=scales[0], scale_b=scales[1].t())
    assert torch.equal(result, expected.bfloat16()) and emulation.products[0].shape == (1, 40, 24, 128)


def test_a_difference_of_products_with_block_scales_is_explained():
    a, b = fp8(48, 384), fp8(256, 384).t()
    scale_a, scale_b = torch.rand(48, 3), torch.rand(3, 2)
    _, emulation, _ = run(lambda: torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.bfloat16), "h100", compare_with="b200")
    found = emulation.first_difference
    assert found.term is not None and found.steps == (None, None)
    row, column = found.element
    for side, chip in zip(found.explain().sides, ("h100", "b200")):
        unit = (chip, bitmma.catalogue.choose(chip, "e4m3", "e4m3").name)
        sums = bitmma.gemm(unit, a, b, scale_a=scale_a, scale_b=scale_b, scale_blocks="1x128,128x128")
        assert side.total == sums[row, column].item() and side.element == sums[row, column].bfloat16().item()


# -- left as they were, and said ------------------------------------------------------------------------------


def test_fp32_on_nvidia_is_said_at_once():
    a = torch.randn(8, 8)
    with pytest.warns(LeftAlone) as caught, bitmma.torch.emulate("a100"):
        a @ a
        assert "FP32 products run as they are: mm float32: a100 has no FP32 matrix instruction; fp32='tf32' takes TF32" in str(caught[0].message)
        a @ a
    assert len(caught) == 2 and str(caught[1].message).startswith("2 products ran as they were, not on a100:\n  2 × mm float32")
    for options in ({"fp32": "tf32"}, {"fp32": None}):
        _, emulation, said = run(lambda: a @ a, "a100", **options)
        assert not said and bool(emulation.left) == (options["fp32"] is None)


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_sparse_products_run_as_they_are():
    dense, b = random(8, 16, dtype=torch.float32) * (random(8, 16, dtype=torch.float32) > 0), random(16, 8, dtype=torch.float32)
    for sparse in (dense.to_sparse(), dense.to_sparse_csr()):
        for function in (lambda: sparse @ b, lambda: sparse @ b[:, 0], lambda: torch.addmm(torch.ones(8, 8), sparse, b)):
            result, emulation, said = run(function, "h100", fp32="tf32")
            assert torch.equal(result, function()), "untouched"
            assert sum(emulation.left.values()) == 1 and "sparse" in next(iter(emulation.left)) and len(said) == 1
    result, emulation, said = run(lambda: torch.sparse.mm(dense.to_sparse(), b), "h100", fp32="tf32")
    assert torch.equal(result, torch.sparse.mm(dense.to_sparse(), b)) and sum(emulation.left.values()) == 1 and len(said) == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*quantiz.*:UserWarning", "ignore::FutureWarning")
def test_a_dynamically_quantised_linear_runs_as_it_is():
    quantization = pytest.importorskip("torch.ao.quantization")
    if "x86" not in torch.backends.quantized.supported_engines and "fbgemm" not in torch.backends.quantized.supported_engines:
        pytest.skip("this PyTorch has no engine for it")
    model = quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(16, 8)), {torch.nn.Linear})
    x = torch.randn(4, 16)
    result, emulation, said = run(lambda: model(x))
    assert torch.equal(result, model(x)) and len(said) == 1
    assert emulation.left == {"quantized::linear_dynamic float32: not an operation that is emulated": 1}


def test_products_of_two_vectors_and_of_integers_run_as_they_are():
    x, ints = random(16), torch.ones(32, 16, dtype=torch.int8)
    _, emulation, said = run(lambda: (x @ x, torch.addr(torch.zeros(16, 16).bfloat16(), x, x), torch._int_mm(ints, ints.t().contiguous())))
    assert [name.split(":")[0] for name in emulation.left] == ["dot bfloat16", "addr bfloat16", "_int_mm int8"]
    assert len(said) == 1 and said[0].startswith("3 products ran as they were, not on h100:")


#: Words in the names of operators that multiply matrices, and operators that have one and do not.
WORDS = (
    "mm mv matmul linalg fft conv dot linear rnn lstm gru attention bilinear trilinear cholesky lu qr svd eig inverse solve einsum "
    "tensordot outer ger addr cdist euclidean semi_structured spsolve triangular lstsq householder"
).split()
WITHOUT_PRODUCTS = re.compile(
    r"_?upsample\w*|fft_r?fftfreq|_convert_\w+|convolution_overrideable_meta|_cudnn_rnn_flatten_weight|mkldnn_reorder\w*|_thnn_fused_\w+"
    r"|lu_unpack|linalg_(cross|vector_norm|_powsum)|_linalg_check_errors|_compute_linear_combination|to_\w*|_to_sparse_semi_structured"
    r"|_sparse_semi_structured_(apply|apply_dense|tile)|_pdist\w*|\w*_philox\w*|_nested_\w*|\w*grid_sampler\w*|_foreach_lerp\w*|relu\w*|\w*relu"
    r"|(log_)?normal\w*|im2col|col2im|slice_inverse"
)


def test_every_operator_with_products_is_emulated_opened_or_counted():
    """All that PyTorch registers by a name that tells of products; those whose code is made of others come as these."""
    has, unknown = torch._C._dispatch_has_kernel_for_dispatch_key, set()
    names = [one for one in torch._C._dispatch_get_all_op_names() if one.startswith("aten::")]
    checked = 0
    for full in names:
        base = full.removeprefix("aten::").partition(".")[0]
        words = base.strip("_").split("_")
        named = any(word in WORDS or word.endswith("mm") or re.fullmatch(r"conv\w*|linalg|fft", word) for word in words)
        if not named or has(full, "CompositeImplicitAutograd") or WITHOUT_PRODUCTS.fullmatch(base):
            continue
        packet = getattr(torch.ops.aten, base)
        checked += 1
        if packet not in operations.TABLE and packet not in operations.OPENED and not operations.why_left(getattr(packet, packet.overloads()[0]), ()):
            unknown.add(base)
    assert not unknown and checked > 200


A, SQUARE = torch.randn(6, 4), torch.randn(4, 4) @ torch.randn(4, 4) + 8 * torch.eye(4)
SYMMETRIC, INTS = SQUARE @ SQUARE.t(), torch.ones(32, 16, dtype=torch.int8)
LEFT = {
    "_int_mm": lambda: torch._int_mm(INTS, INTS.t().contiguous()),
    "linalg_cholesky_ex": lambda: torch.linalg.cholesky(SYMMETRIC),
    "_linalg_det": lambda: torch.linalg.det(SQUARE),
    "_linalg_slogdet": lambda: torch.linalg.slogdet(SQUARE),
    "linalg_eig": lambda: torch.linalg.eig(SQUARE),
    "_linalg_eigh": lambda: torch.linalg.eigh(SYMMETRIC),
    "linalg_inv_ex": lambda: torch.linalg.inv(SQUARE),
    "linalg_ldl_factor_ex": lambda: torch.linalg.ldl_factor(SYMMETRIC),
    "linalg_lstsq": lambda: torch.linalg.lstsq(A, A),
    "linalg_lu": lambda: torch.linalg.lu(SQUARE),
    "linalg_lu_factor_ex": lambda: torch.linalg.lu_factor(SQUARE),
    "linalg_lu_solve": lambda: torch.linalg.lu_solve(SQUARE, torch.arange(1, 5, dtype=torch.int32), SQUARE),
    "linalg_qr": lambda: torch.linalg.qr(A),
    "linalg_householder_product": lambda: torch.linalg.householder_product(A, A[0]),
    "geqrf": lambda: torch.geqrf(A),
    "ormqr": lambda: torch.ormqr(A, A[0], A),
    "_linalg_solve_ex": lambda: torch.linalg.solve(SQUARE, SQUARE),
    "linalg_solve_triangular": lambda: torch.linalg.solve_triangular(SQUARE, SQUARE, upper=True),
    "triangular_solve": lambda: torch.triangular_solve(SQUARE, SQUARE),
    "_linalg_svd": lambda: torch.linalg.svd(A),
    "cholesky_inverse": lambda: torch.cholesky_inverse(SYMMETRIC),
    "cholesky_solve": lambda: torch.cholesky_solve(SQUARE, SYMMETRIC),
    "_fft_c2c": lambda: torch.fft.fft(A.cfloat()),
    "_fft_r2c": lambda: torch.fft.rfft2(A),
    "_fft_c2r": lambda: torch.fft.irfft(A.cfloat()),
}


@pytest.mark.parametrize("name", LEFT)
def test_products_that_are_not_emulated_are_counted(name):
    result, emulation, said = run(LEFT[name], "mi300x")
    assert len(said) == 1 and not emulation.products
    assert [what.partition(" ")[0] for what in emulation.left] == [name]
    for found, expected in zip(pytree.tree_leaves(result), pytree.tree_leaves(LEFT[name]())):
        assert torch.equal(found, expected), "untouched"


def test_a_matrix_exponential_is_made_of_products():
    a = random(3, 8, 8, dtype=torch.float64)
    result, emulation, said = run(lambda: torch.linalg.matrix_exp(a), "mi300x")
    assert not emulation.left and not said and {one.operation for one in emulation.products} == {"bmm"}
    assert torch.allclose(result, torch.linalg.matrix_exp(a), rtol=1e-12)


def test_export_passes_through():
    model, x = torch.nn.Sequential(torch.nn.Linear(16, 8)).half(), random(4, 16, dtype=torch.float16)
    program, emulation, _ = run(lambda: torch.export.export(model, (x,)))
    assert torch.equal(program.module()(x), model(x)) and not emulation.products
    assert not emulation.left, "what is traced does not run"
    result, emulation, said = run(lambda: program.module()(x))
    assert torch.equal(result, chain("h100", x, model[0].weight.t(), model[0].bias)) and not said


def test_what_is_not_a_product_is_not_counted():
    x = random(2, 3, 8, 8)

    def function():
        y = F.interpolate(x, scale_factor=2, mode="bilinear").float().cumsum(-1).sort(-1).values
        z = F.dropout(F.layer_norm(y, y.shape[-1:]).softmax(-1), 0.5).norm() + torch.lerp(y, y + 1, 0.5).std()
        return torch.nn.functional.unfold(x, 3).amax() + z + x.view(-1)[:4].outer(x.view(-1)[:4]).sum()

    _, emulation, said = run(function)
    assert not emulation.left and not emulation.products and not said


# -- gradients ------------------------------------------------------------------------------------------------


def test_matmul_has_a_gradient():
    a, b = random(3, 8, 32).requires_grad_(), random(32, 16).requires_grad_()
    d = bitmma.matmul(a, b, like="mi300x", output="bf16")
    weight = random(3, 8, 16)
    (d * weight).sum().backward()
    assert torch.equal(a.grad, bitmma.matmul(weight, b.detach().t(), like="mi300x", output="bf16"))
    expected = bitmma.matmul(a.detach().reshape(24, 32).t(), weight.reshape(24, 16), like="mi300x", output="bf16")
    assert torch.equal(b.grad, expected)
    exact = torch.randn(4, 6, dtype=torch.float64, requires_grad=True), torch.randn(2, 6, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: bitmma.matmul(a, b, like="mi300x"), exact)
    d, info = bitmma.matmul(*exact, like="mi300x", return_info=True)
    assert d.requires_grad and info.instruction.name.startswith("v_mfma_f64")
    with torch.no_grad():
        assert not bitmma.matmul(*exact, like="mi300x").requires_grad
    with pytest.raises(bitmma.OptionError, match="B is torch.float8_e4m3fn: of it no gradient is defined"):
        bitmma.matmul(a, fp8(32, 16), like="h100")


def test_pooling_without_padding():
    """``lp_pool2d`` leaves out what ``avg_pool2d`` always gives."""
    x = torch.rand(1, 1, 8, 8)
    with bitmma.torch.emulate("h100"):
        found = torch.nn.functional.lp_pool2d(x, 2, 2)
    assert torch.allclose(found, torch.nn.functional.lp_pool2d(x, 2, 2), rtol=1e-6)


def test_layer_norm_with_a_weight_in_another_order():
    """The copy of a weight that is not row by row lives as long as it is read."""
    x, weight = torch.randn(4, 4096), torch.randn(4096, 2)
    with bitmma.torch.emulate("h100"):
        for _ in range(8):
            found = torch.nn.functional.layer_norm(x, (4096,), weight[:, 0], weight[:, 1])
        expected = torch.nn.functional.layer_norm(x, (4096,), weight[:, 0].clone(), weight[:, 1].clone())
    assert torch.equal(found, expected)
