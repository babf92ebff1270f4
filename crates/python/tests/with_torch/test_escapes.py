"""Products that a model computes in unusual places: in a backward pass, in operators of others, after the emulation, in compiled code.

They are emulated, or counted by name, or an error; never plain in silence.
"""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from contextlib import nullcontext

import pytest

import bitmma

torch = pytest.importorskip("torch")
from common import EVERYTHING  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

emulate = bitmma.torch.emulate
F = torch.nn.functional
nn = torch.nn


def half(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape))).half()


def attention(*heads, **options):
    return F.scaled_dot_product_attention(*heads, **options)


# -- inside of a backward pass ----------------------------------------------------------------------------------


def llama():
    transformers = pytest.importorskip("transformers", reason="no transformers: pip install 'bitmma[models]'")
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1}
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**sizes, vocab_size=64, max_position_embeddings=64, use_cache=False)
    return transformers.LlamaForCausalLM(config).half().train()


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_llama_with_gradient_checkpointing(reentrant):
    """The forward pass that runs again in the backward pass is the chip's, too."""
    ids, gradients, accounts = torch.arange(24)[None], [], []
    for checkpointing in (False, True):
        model = llama()
        if checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": reentrant})
            model.enable_input_require_grads()
        with emulate("h100", attention="flash") as emulation:
            model(input_ids=ids, labels=ids).loss.backward()
        gradients.append([one.grad for one in model.parameters()])
        accounts.append(emulation.account)
        assert not emulation.left
    assert [torch.equal(*pair) for pair in zip(*gradients)].count(False) == 0
    (once, twice) = ([sum(one.attention[how] for how in one.attention if how.endswith("backward") == backward) for backward in (False, True)] for one in accounts)
    assert once == [2, 2] and twice == [4, 2]


def test_attention_in_modules_backward_passes_and_scripts():
    """Wherever it is called: in functions of PyTorch in Python and C++, and in a function of autograd."""

    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return attention(x, x, x)

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                return torch.autograd.grad(attention(x, x, x), x, gradient)[0]

    mha = nn.MultiheadAttention(64, 2, batch_first=True).half()
    x = half(2, 2, 16, 32).requires_grad_()
    with emulate("h100", attention="flash") as emulation:
        attention(x, x, x).sum().backward()
    expected = x.grad.clone()
    calls = {
        "function": lambda: Again.apply(x),
        "operator": lambda: torch.ops.aten.scaled_dot_product_attention(x, x, x),
        "checkpoint": lambda: checkpoint(attention, x, x, x, use_reentrant=False),
    }
    for name, call in calls.items():
        x.grad = None
        with emulate("h100", attention="flash") as emulation:
            call().sum().backward()
        assert torch.equal(x.grad, expected), name
        assert emulation.account.attention and all(how.startswith("flash, ") for how in emulation.account.attention), name
        assert {one.operation for one in emulation.products} == {"flash_attention"}, name
    y = half(2, 10, 64)
    with emulate("h100", attention="flash") as emulation:
        mha(y, y, y, need_weights=False)[0].float().sum().backward()
    assert sum(emulation.account.attention.values()) == 2


@pytest.mark.parametrize("backend", [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_the_account_under_sdpa_kernel(backend, mode):
    """Which kernels a model allows PyTorch changes neither the result nor the account."""
    q, mask = half(1, 2, 24, 16), torch.ones(24, 24, dtype=torch.bool).tril()
    for options in ({}, {"is_causal": True}, {"attn_mask": mask}):
        with mode():
            with emulate("h100") as emulation:
                expected = attention(q, q, q, **options)
            with emulate("h100") as other, sdpa_kernel([backend, SDPBackend.MATH] if backend == SDPBackend.EFFICIENT_ATTENTION else backend):
                found = attention(q, q, q, **options)
        assert torch.equal(found, expected)
        assert other.account.to_dict() == emulation.account.to_dict() and not other.left
        assert [one.operation for one in other.products] == ["bmm", "bmm"]


# -- operators of others ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def operators():
    """Operators that a user defines, in Python."""

    @torch.library.custom_op("bitmma_escapes::pair", mutates_args=())
    def pair(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (a @ b) @ a

    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        return gradient @ (a @ b).mT + gradient @ a.mT @ b.mT, None

    pair.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    defined = [pair]

    triton_op = getattr(torch.library, "triton_op", None)
    if triton_op is not None:

        @triton_op("bitmma_escapes::pair_by_triton", mutates_args={})
        def by_triton(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return (a @ b) @ a

        defined.append(by_triton)
    library = torch.library.Library("bitmma_escapes", "FRAGMENT")
    library.define("opaque(Tensor x) -> Tensor")
    library.define("my_linear(Tensor x) -> Tensor")
    library.define("composite(Tensor a, Tensor b) -> Tensor")
    opaque = lambda x: torch.from_numpy(x.numpy() @ x.numpy())  # noqa: E731
    library.impl("opaque", opaque, "CPU")
    library.impl("my_linear", opaque, "CPU")
    library.impl("composite", lambda a, b: (a @ b) @ a, "CompositeImplicitAutograd")
    yield [*defined, torch.ops.bitmma_escapes.composite]
    library._destroy()


def test_custom_operators_are_entered(operators):
    a, b = half(16, 16, seed=1) * 2.0**-12, half(16, 16, seed=2)
    with emulate("mi250x") as emulation:
        expected = (a @ b) @ a
    assert not torch.equal(expected, (a @ b) @ a), "the inputs tell the two apart"
    for operator in operators:
        for mode in (torch.no_grad, torch.inference_mode):
            with mode(), emulate("mi250x") as emulation:
                assert torch.equal(operator(a, b), expected), operator
            assert [one.operation for one in emulation.products] == ["mm", "mm"] and not emulation.left
            assert not emulation.account.host["other"]
        with emulate("mi250x") as emulation:
            found = []
            thread = threading.Thread(target=lambda: found.append(operator(a, b)))
            thread.start()
            thread.join()
        assert torch.equal(found[0], expected)


def test_gradients_of_a_custom_operator(operators):
    a, b = half(16, 16, seed=1) * 2.0**-12, half(16, 16, seed=2)
    a.requires_grad_()
    with emulate("mi250x") as emulation:
        operators[0](a, b).sum().backward()
        gradient = torch.ones_like(a)
        expected = gradient @ (a.detach() @ b).mT + gradient @ a.detach().mT @ b.mT
    assert torch.equal(a.grad, expected)
    assert [one.backward for one in emulation.products] == [False] * 2 + [True] * 4 + [False] * 4


def test_an_operator_that_hides_its_products_is_named(operators):
    x = torch.randn(8, 8)
    with emulate("mi300x") as emulation:
        torch.ops.bitmma_escapes.opaque(x)
    assert emulation.account.host["other"] == {"bitmma_escapes::opaque": 1}
    with pytest.warns(bitmma.errors.LeftAlone, match="bitmma_escapes::my_linear"), emulate("mi300x") as emulation:
        torch.ops.bitmma_escapes.my_linear(x)


def test_functions_as_operands():
    """Operators whose operands are functions run these in the emulation."""
    x = half(8, 8)
    with torch.no_grad(), emulate("h100") as emulation:
        torch.cond(torch.tensor(True), lambda x: x @ x, lambda x: x, (x,))
        torch.func.vmap(lambda row: x @ row)(x)
        torch.func.grad(lambda y: (y @ y).float().sum())(x)
    assert len(emulation.products) >= 5 and not emulation.left


def test_convolutions_of_traces():
    model, x = nn.Conv2d(3, 4, 3).bfloat16().eval(), torch.randn(2, 3, 8, 8).bfloat16()
    with torch.no_grad():
        trace = torch.jit.trace(model, x)
        with emulate("h100") as emulation:
            assert torch.equal(trace(x), model(x)) and not emulation.left


# -- compiled code ----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_groups_of_torchscript_are_counted():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 8)).eval()
    x = torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        fast = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.script(model)))
        if not any(node.kind() == "prim::mkldnn_convolution" for node in fast.graph.nodes()):
            pytest.skip("this PyTorch has no oneDNN")
        with pytest.warns(bitmma.errors.LeftAlone, match="2 × prim::mkldnn_convolution of TorchScript: compiled code"), emulate("h100", fp32="tf32") as emulation:
            fast(x)
            fast(x)
    assert sum(emulation.left.values()) == 2 and len(emulation.products) == 2


@pytest.mark.skipif(not hasattr(torch._C, "_aoti"), reason="this PyTorch has no AOTInductor")
def test_packages_of_aotinductor_are_counted(monkeypatch, tmp_path):
    """To compile one takes minutes: a stand-in runs, but when all tests were asked for."""
    if EVERYTHING:
        program = torch.export.export(nn.Linear(16, 16), (torch.randn(4, 16),))
        package = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "model.pt2")))
        run = lambda: package(torch.randn(4, 16))  # noqa: E731
    else:
        runner = torch._C._aoti.AOTIModelPackageLoader
        monkeypatch.setattr(runner, "run", stand_in := lambda *inputs: inputs)
        run = lambda: runner.run(3)  # noqa: E731
    with pytest.warns(bitmma.errors.LeftAlone, match="1 × a package of AOTInductor: compiled code"), emulate("h100"):
        result = run()
    if not EVERYTHING:
        assert result == (3,) and runner.run is stand_in


# -- past the emulation -----------------------------------------------------------------------------------------


def without_dispatch(x):
    with torch._C._DisableTorchDispatch():
        return torch.addbmm(x, x[None], x[None])


def without_modes(x):
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        return nn.functional.linear(x, x)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("call", [without_dispatch, without_modes])
@pytest.mark.parametrize("thread", [False, True])
def test_products_past_the_dispatch_modes_are_counted(call, mode, thread):
    x = half(16, 16)
    with mode():
        expected = call(x)
    found = []

    def run():
        with mode():
            found.append(call(x))

    with pytest.warns(bitmma.errors.LeftAlone) if call is without_dispatch or not thread else nullcontext(), emulate("h100") as emulation:
        if thread:
            other = threading.Thread(target=run)
            other.start()
            other.join()
        else:
            run()
    if call is without_modes and thread:  # this thread had no modes: it takes part
        assert len(emulation.products) == 1 and not emulation.left
        return
    assert torch.equal(found[0], expected) and not emulation.products
    ((what, count),) = emulation.left.items()
    assert "called where PyTorch's dispatch modes are turned off" in what and count == 1


@pytest.mark.skipif("fbgemm" not in torch.backends.quantized.supported_engines, reason="this PyTorch has no FBGEMM")
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.filterwarnings("ignore:.*fbgemm.*")
def test_products_of_fbgemm_are_counted(mode):
    x = torch.randn(16, 16)
    packed = torch.fbgemm_pack_gemm_matrix_fp16(x)
    with mode(), pytest.warns(bitmma.errors.LeftAlone, match="1 × fbgemm_linear_fp16_weight"), emulate("h100") as emulation:
        torch.fbgemm_linear_fp16_weight(x, packed, x[0])
    assert sum(emulation.left.values()) == 1


def test_names_of_packed_operations():
    """What packs weights has no products; what takes packed ones has."""
    from bitmma.torch import operations

    assert operations._why_left("_wrapped_quantized_linear_prepacked") and operations._why_left("linear_dynamic_fp16_unpacked_weight")
    assert not operations._why_left("linear_prepack") and not operations._why_left("conv2d_unpack_sizes")


# -- after the emulation ----------------------------------------------------------------------------------------


class Squares(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x @ x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient @ x.mT + x.mT @ gradient


FORWARD = {
    "mm": lambda x: x @ x,
    "linear": lambda x: F.linear(x[None], x),
    "convolution": lambda x: F.conv1d(x[None], x[:, :, None]),
    "attention": lambda x: attention(x[None], x[None], x[None]),
    "module": nn.Linear(16, 16, bias=False).half(),
    "a function of autograd": lambda x: Squares.apply(x),
    "checkpoint": lambda x: checkpoint(torch.mm, x, x, use_reentrant=True),
    "addbmm": lambda x: torch.addbmm(x, x[None], x[None]),
    "bilinear": lambda x: F.bilinear(x, x, x[None].expand(2, -1, -1)),
    "nested": lambda x: F.linear(torch.nested.as_nested_tensor([x, x[:5]]), x).unbind()[0],
    "jagged": lambda x: F.linear(torch.nested.as_nested_tensor([x, x[:5]], layout=torch.jagged), x).values(),
    "nested matmul": lambda x: torch.matmul(*2 * [torch.nested.as_nested_tensor([x, x])]).unbind()[0],
}


@pytest.mark.parametrize("kind", ["math", "flash"])
@pytest.mark.parametrize("name", FORWARD)
def test_a_backward_pass_after_the_emulation_is_an_error(name, kind):
    x = half(16, 16).requires_grad_()
    with emulate("h100", attention=kind) as emulation:
        y = FORWARD[name](x)
    loss = y.float().square().sum()
    with pytest.raises(bitmma.Error, match="the backward pass of what the emulation of h100 computed runs after it has ended"):
        loss.backward(retain_graph=True)
    with emulation:
        loss.backward(retain_graph=True)
    again = x.grad.clone()
    x.grad = None
    with emulate("h100", attention=kind):
        FORWARD[name](x).float().square().sum().backward()
    assert torch.equal(x.grad, again)


class Late(torch.autograd.Function):
    """Products in the backward pass only."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sum()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return x @ x


class NodeAfterProduct(Squares):
    @staticmethod
    def forward(ctx, x):
        result = Squares.forward(ctx, x)
        with torch.enable_grad():
            (torch.ones(2, requires_grad=True) * 2).sum()
        return result


def in_place(name, *operands):
    """An operation on a view, whose node belongs to what it is a view of."""

    def run(x):
        y = x * 1
        getattr(y[:4], name)(*(x[shape] for shape in operands))
        return y

    return run


WITH_PRODUCTS_IN_BACKWARD = {
    "addmm_ on a view": in_place("addmm_", slice(4), slice(None)),
    "addmv_ on a view": lambda x: (x * 1).T.contiguous()[0].addmv_(x, x[0]),
    "baddbmm_ on a view": lambda x: in_place("baddbmm_", slice(4), slice(4))(x[None].expand(8, -1, -1)),
    "a node after the product": lambda x: NodeAfterProduct.apply(x),
    "products in the backward pass only": lambda x: Late.apply(x),
    "affine_grid": lambda x: F.affine_grid(x[None, :2, :3], (1, 1, 4, 4)),
    "addr": lambda x: torch.addr(x, x[0], x[1]),
    "inverse": torch.linalg.inv,
    "pseudoinverse": torch.linalg.pinv,
    "checkpoint": lambda x: checkpoint(torch.mm, x, x, use_reentrant=False),
}


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("idle", [0, 1100])
@pytest.mark.parametrize("name", WITH_PRODUCTS_IN_BACKWARD)
def test_products_that_only_the_backward_pass_shows_are_an_error_after_it(name, idle, tells, monkeypatch):
    from bitmma.torch import graph

    if tells and not graph.TELLS:
        pytest.skip("this PyTorch does not tell of nodes")
    monkeypatch.setattr(graph, "TELLS", tells)
    x = torch.randn(16, 16, requires_grad=True)
    with emulate("h100", fp32="tf32") as emulation:
        loss = WITH_PRODUCTS_IN_BACKWARD[name](x).sum() * 1
    for _ in range(idle):
        torch.ones(1) + 1
    for context in (nullcontext(), emulate("mi250x")):
        with context, pytest.raises(bitmma.Error, match="the backward pass of what the emulation of h100 computed runs after it has ended"):
            loss.backward(retain_graph=True)
    with emulation:
        loss.backward()
    with emulate("h100", fp32="tf32"):
        (again,) = torch.autograd.grad(WITH_PRODUCTS_IN_BACKWARD[name](x).sum() * 1, x)
    assert torch.equal(x.grad, again)


THREADED = {
    "mm": torch.mm,
    "products": lambda x, y: (x @ y).sin() @ y,
    "addmm_ on a view": lambda x, y: (x * 1)[:2].addmm_(x[:2], y),
    "another product last": lambda x, y: [x @ y, y @ y][0],
    "a function of autograd": lambda x, y: Squares.apply(x),
    "products in the backward pass only": lambda x, y: Late.apply(x),
    "inverse": lambda x, y: torch.linalg.inv(x),
    "checkpoint": lambda x, y: checkpoint(torch.mm, x, y, use_reentrant=True),
    "vmap": lambda x, y: torch.vmap(torch.mm)(x[None], y[None]),
    "a vector by a matrix": lambda x, y: x[0] @ y,
    "elements set after it": lambda x, y: _with_zeros(x @ y),
    "transposed in place": lambda x, y: (x @ y).t_(),
}


def _with_zeros(x):
    x[0] = 0
    return x


@pytest.mark.parametrize("name", THREADED)
@pytest.mark.parametrize("tells", [True, False])
def test_products_of_another_thread_are_an_error_after_it(name, tells, monkeypatch):
    """Of a thread that has entered no emulation, whose nodes autograd makes before the emulation sees the product."""
    from bitmma.torch import graph

    monkeypatch.setattr(graph, "TELLS", tells and graph.TELLS)
    x, y, found = torch.randn(16, 16, requires_grad=True), torch.randn(16, 16), []
    before = x @ y
    with emulate("h100", fp32="tf32"):
        other = threading.Thread(target=lambda: found.extend([THREADED[name](x, y), before @ y]))
        other.start()
        other.join()
    for one in found:
        with pytest.raises(bitmma.Error, match="the backward pass of what the emulation of h100 computed runs after it has ended"):
            one.sum().backward(retain_graph=True)
    before.sum().backward()


@pytest.mark.parametrize("tells", [True, False])
def test_the_emulation_that_computed_it_must_act_where_the_backward_pass_runs(tells, monkeypatch):
    from bitmma.torch import graph

    monkeypatch.setattr(graph, "TELLS", tells and graph.TELLS)
    x, error = torch.randn(16, 16, requires_grad=True), "of what the emulation of h100 computed runs after it has ended"
    outer, inner = emulate("mi300x"), emulate("h100", fp32="tf32", other_threads="plain")
    with outer, inner:
        loss = (x @ x).sum()
    with inner:
        loss.backward(retain_graph=True)
    with outer, pytest.raises(bitmma.Error, match=error):
        loss.backward(retain_graph=True)
    entered, ends = threading.Event(), threading.Event()

    def enters():
        with inner:
            entered.set()
            ends.wait()

    other = threading.Thread(target=enters)
    other.start()
    entered.wait()
    for context in (nullcontext(), emulate("mi250x")):  # another thread is inside, this one takes no part
        with context, pytest.raises(bitmma.Error, match=error):
            loss.backward(retain_graph=True)
    ends.set()
    other.join()


def test_a_leaf_goes_on_to_other_graphs():
    x = torch.randn(16, 16, requires_grad=True)

    def multiplies(leaf):
        leaf.grad = leaf.grad @ torch.ones(16, 16)

    x.register_post_accumulate_grad_hook(multiplies)
    with emulate("h100", fp32="tf32"):
        kept = x.sin()
    (x * 1).sum().backward()
    assert torch.equal(x.grad, torch.full((16, 16), 16.0)) and kept.requires_grad


def test_only_products_that_it_would_have_computed_are_an_error_after_it():
    """FP32 is left alone on an H100, and a bias needs no product."""
    x, bias = torch.randn(16, 16, requires_grad=True), torch.randn(16, requires_grad=True)
    with pytest.warns(bitmma.errors.LeftAlone), emulate("h100"):
        left = torch.linalg.inv(x).sum() + Late.apply(x)
    with emulate("h100", fp32="tf32"):
        sums = F.linear(x.detach(), x.detach(), bias).sum()
    left.backward()
    sums.backward()
    assert torch.equal(bias.grad, torch.full((16,), 16.0))


@pytest.mark.parametrize("arithmetic", [{}, {"fp32": "tf32"}, {"bf16": None}])
def test_a_linear_approximation_is_that_of_the_chip(arithmetic):
    """torch.func.linearize records operations in a mode that they come to after the emulation's."""
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(16, 2)
    for function, x in ((lambda a: a @ a.T, torch.randn(16, 16)), (lambda a: layer(a, a, a)[0], torch.randn(3, 1, 16))):
        for dtype in (torch.float32, torch.bfloat16):
            layer.to(dtype)
            x = x.to(dtype)
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with emulate("h100", **arithmetic) as emulation:
                    value, along = torch.func.jvp(function, (x,), (x,))
                    products = len(emulation.products)
                    found, linear = torch.func.linearize(function, x)
                    assert torch.equal(found, value) and torch.equal(linear(x), along)
                    assert torch.equal(linear(2 * x), 2 * along)
                    assert not products or len(emulation.products) > products


def test_what_has_no_product_with_a_gradient_runs_backward_after_it():
    """A product without a gradient comes first: a frozen encoder."""
    x, y = half(16, 16), torch.randn(16, 16, requires_grad=True)
    for function in (Twice.apply, lambda one: checkpoint(torch.sin, one, use_reentrant=True)):
        with emulate("h100"):
            with torch.no_grad():
                frozen = x @ x
            result = function((y * 2 + frozen.float()).sin())
        result.sum().backward()
    assert y.grad is not None


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient


def test_pytorch_is_as_it_was_long_after_an_emulation():
    """Also where transforms decompose attention and LSTM; the kernels of operations are covered after a thousand."""
    torch.manual_seed(0)
    layer, x = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), torch.randn(2, 5, 8)
    parameters = dict(layer.named_parameters())

    def gradients():
        loss = lambda given: torch.func.functional_call(layer, given, (x,)).sin().sum()  # noqa: E731
        return torch.func.grad(loss)(parameters)

    expected = gradients()
    with emulate("h100"):
        pass
    for count in (0, 1100, 1100):
        for _ in range(count):
            x[0] @ x[0].T
        found = gradients()
        assert all(torch.equal(found[name], one) for name, one in expected.items())


def test_a_vjp_after_the_emulation_is_an_error():
    """Of a module with parameters, too, where torch.func makes a node for each level."""
    module, x = nn.Linear(16, 16).half(), half(16, 16)
    with emulate("h100"):
        found, vjp = torch.func.vjp(module, x)
    for context in (nullcontext(), emulate("mi250x")):
        with context, pytest.raises(bitmma.Error, match="the backward pass of what the emulation of h100 computed runs after it has ended"):
            vjp(found)


def test_a_backward_pass_after_it_without_products():
    """What no product is in is as it was; what was left as it was, too."""
    x = half(16, 16).requires_grad_()
    with pytest.warns(bitmma.errors.LeftAlone), emulate("h100"):
        y, z = x.relu().sum(), (x.float() @ x.float()).sum()
        with torch.no_grad():
            x @ x
        w = (x * 2).sum()
    (y + z + w).backward()


def test_a_backward_pass_after_it_of_a_product_that_was_left():
    """Its products are PyTorch's own on both sides, whatever was emulated before."""
    x = torch.randn(16, 16, requires_grad=True)
    with pytest.warns(bitmma.errors.LeftAlone), emulate("h100"):
        with torch.no_grad():
            half(16, 16) @ half(16, 16)
        y = x @ x
    y.sum().backward()


def test_where_autograd_does_not_tell(monkeypatch):
    """Older versions of PyTorch: functions that are called from Python are looked at."""
    from bitmma.torch import graph

    monkeypatch.setattr(graph, "TELLS", False)
    x = half(16, 16).requires_grad_()
    with emulate("h100"):
        y = F.linear(x[None], x)
    with pytest.raises(bitmma.Error, match="after it has ended"):
        y.sum().backward()


@pytest.mark.parametrize("call", [nn.Identity(), nn.Flatten(), lambda y: y.view(-1), lambda y: y[0], lambda y: y.unbind()[1]])
@pytest.mark.parametrize("tells", [True, False])
def test_what_was_computed_before_an_emulation_is_not_its_own(call, tells, monkeypatch):
    from bitmma.torch import graph

    monkeypatch.setattr(graph, "TELLS", tells and graph.TELLS)
    x = torch.randn(4, 4, requires_grad=True)
    y = x @ x
    with emulate("h100", fp32="tf32"):
        z = call(y)
    z.sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("leaves", [lambda p: p.operation != "mm", lambda p: p.shape[1] == 1, lambda p: not p.backward])
def test_a_function_that_chooses_may_compute_any_product(leaves):
    """So each backward pass that comes too late is an error."""
    x = half(8, 8).requires_grad_()
    with emulate(lambda product: None if leaves(product) else "h100"):
        y = x @ x
    with pytest.raises(bitmma.Error, match="after it has ended"):
        y.sum().backward()


# -- views, leaves, hooks ---------------------------------------------------------------------------------------


class Queries(nn.Module):
    """Learned queries, as a perceiver has: a view of a parameter is the argument of a layer."""

    def __init__(self):
        super().__init__()
        self.queries, self.layer = nn.Parameter(half(8, 16)), nn.Linear(16, 16).half()

    def forward(self, batch=2):
        return self.layer(self.queries[None].expand(batch, -1, -1))


class Shares(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(half(8, 16))

    def forward(self):
        return self.weight


def deberta():
    transformers = pytest.importorskip("transformers", reason="no transformers: pip install 'bitmma[models]'")
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 64, "max_position_embeddings": 32}
    torch.manual_seed(0)
    config = transformers.DebertaV2Config(**sizes, relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm", share_att_key=True)
    return transformers.DebertaV2Model(config).bfloat16().eval(), (torch.arange(12)[None],)


def perceiver():
    transformers = pytest.importorskip("transformers", reason="no transformers: pip install 'bitmma[models]'")
    sizes = {"num_latents": 8, "d_latents": 32, "d_model": 16, "num_self_attends_per_block": 1, "num_self_attention_heads": 2, "num_cross_attention_heads": 2}
    torch.manual_seed(0)
    return transformers.PerceiverModel(transformers.PerceiverConfig(**sizes)).bfloat16().eval(), (torch.randn(1, 10, 16).bfloat16(),)


MODELS = {"queries": lambda: (Queries(), ()), "a parameter": lambda: (Shares(), ()), "deberta": deberta, "perceiver": perceiver}


@pytest.mark.parametrize("name", MODELS)
def test_views_of_parameters(name):
    model, given = MODELS[name]()
    results = []
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode(), emulate("h100") as emulation:
            found = model(*given)
            results.append(getattr(found, "last_hidden_state", found).detach().clone())
        assert not emulation.left
    assert all(torch.equal(one, results[0]) for one in results)


def test_hooks_do_not_grow():
    """Of the emulation, of a leaf and of the runs of a backward pass."""
    model, x = nn.Sequential(*(nn.Linear(16, 16) for _ in range(4)), nn.Sequential(nn.Linear(16, 16))).half(), half(4, 16).requires_grad_()
    learned = Queries()
    counts = []
    with emulate("h100") as emulation:
        for _ in range(3):
            (model(x).float().sum() + learned().float().sum()).backward()
            layers = emulation._layers
            counts.append((len(layers._hooks), len(layers._backward), len(x._backward_hooks or ()), len(learned.queries._backward_hooks or ())))
    assert counts[0] == counts[1] == counts[2] and counts[0][1] == 0
    assert not x._backward_hooks, "and none is left behind"
    names = [one.layer for one in emulation.products if one.backward][: len(emulation.products) // 3]
    assert "Sequential.4.0" in names and "Queries.layer" in names and "" not in names


# -- crashes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: nn.Conv2d(4, 6, 3, groups=2), lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), lambda: nn.Conv1d(4, 6, 3, padding=1)])
def test_convolutions_of_no_images(make):
    layer = make().bfloat16()
    x = torch.zeros(0, 4, *[8] * (layer.weight.dim() - 2), dtype=torch.bfloat16, requires_grad=True)
    expected = layer(x)
    with emulate("h100") as emulation:
        found = layer(x)
        found.sum().backward()
    assert found.shape == expected.shape and x.grad.shape == x.shape and not emulation.left
    assert not layer.weight.grad.any() and not layer.bias.grad.any()


def test_attention_in_tiles_under_torch_func():
    q = half(3, 2, 16, 32)
    with emulate("h100", attention="flash") as emulation:
        of_each = torch.func.vmap(lambda q: attention(q, q, q))(q)
        gradient = torch.func.grad(lambda q: attention(q, q, q).float().sum())(q)
    with emulate("h100") as other:
        assert torch.equal(of_each, attention(q, q, q))
        q.requires_grad_()
        attention(q, q, q).float().sum().backward()
    assert torch.equal(gradient, q.grad)
    (how,) = emulation.account.attention
    assert how.startswith("flash declined") and "torch.func" in how and emulation.account.attention[how] == 2
    assert not emulation.left and len(other.products) == 8


COPIES = {"pickle": lambda one: pickle.loads(pickle.dumps(one)), "copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("how", COPIES)
def test_copies_of_an_emulation(how):
    """They have its arguments and what it has listed; they are in no block, and go on by themselves."""
    x = half(4, 16) * 2.0**-14
    with emulate("h100", compare_with="mi250x", functions="h100", fp32=None) as emulation:
        x @ x.t()
        x.float() @ x.float().t()
        assert not COPIES[how](emulation).is_on
    other = COPIES[how](emulation)
    assert len(other.products) == 1 and other.left == emulation.left
    assert other.account.to_dict() == emulation.account.to_dict() and other.report() == emulation.report()
    assert str(other.first_difference) == str(emulation.first_difference)
    with other:
        x @ x.t()
        x.float().rsqrt()
    assert len(other.products) == 2 and len(emulation.products) == 1
    assert sum(other.account.functions.values()) == 1 and not emulation.account.functions and other.account.left is other.left
