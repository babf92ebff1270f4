"""Subclasses of tensors: they say how an operation runs on what they hold, and the products inside are emulated."""

from __future__ import annotations

import pytest

import bitmma

torch = pytest.importorskip("torch")
from torch.utils import _python_dispatch  # noqa: E402
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as modes  # noqa: E402

emulate = bitmma.torch.emulate


def perceptron(bias=True):
    torch.manual_seed(0)
    layers = torch.nn.Linear(32, 64, bias=bias), torch.nn.ReLU(), torch.nn.Linear(64, 32, bias=bias)
    return torch.nn.Sequential(*layers).bfloat16()


X = torch.randn(16, 32).bfloat16()


def gradients(model):
    """The sum of squares, and the gradients that come of it, as they are without the subclass."""
    loss = model(X).float().square().sum()
    loss.backward()
    whole = [getattr(one.grad, "full_tensor", lambda one=one: one.grad)() for one in model.parameters()]
    return [loss.detach(), *whole]


@pytest.fixture(scope="module")
def plain():
    """What the model without subclasses is under the emulation."""
    with emulate("h100") as emulation:
        found = gradients(perceptron())
    return found, [(one.layer.rpartition(".")[2], one.operation, one.backward) for one in emulation.products]


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    distributed = pytest.importorskip("torch.distributed")
    if not distributed.is_available() or not distributed.is_gloo_available():
        pytest.skip("this PyTorch has no gloo")
    path = tmp_path_factory.mktemp("gloo") / "store"
    distributed.init_process_group("gloo", init_method=path.as_uri(), rank=0, world_size=1)
    yield torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
    distributed.destroy_process_group()


def emulated(model, plain, emulation):
    """That a model is the plain one in every bit, and that nothing ran outside of the emulation."""
    found = gradients(model)
    expected, products = plain
    assert all(map(torch.equal, found, expected))
    assert [(one.layer.rpartition(".")[2], one.operation, one.backward) for one in emulation.products] == products
    assert not emulation.left


def test_tensor_parallel(mesh, plain):
    parallel = pytest.importorskip("torch.distributed.tensor.parallel")
    model = parallel.parallelize_module(perceptron(), mesh, {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()})
    with emulate("h100") as emulation:
        # of a sharded result the bias of the last layer is added on its own
        found = gradients(model)
    assert len(emulation.products) == len(plain[1]) and not emulation.left and not modes()
    assert torch.allclose(found[0], plain[0][0], rtol=1e-2)


def test_a_product_of_dtensors(mesh):
    tensor = pytest.importorskip("torch.distributed.tensor")
    a = tensor.distribute_tensor(X, mesh, [tensor.Shard(0)])
    b = tensor.distribute_tensor(X.t().contiguous(), mesh, [tensor.Replicate()])
    with emulate("h100") as emulation:
        result = a @ b
        expected = X @ X.t().contiguous()
    assert torch.equal(result.full_tensor(), expected) and len(emulation.products) == 2 and not emulation.left


def test_fully_sharded(mesh, plain):
    fsdp = pytest.importorskip("torch.distributed.fsdp")
    if not hasattr(fsdp, "fully_shard"):
        pytest.skip("this PyTorch has no fully_shard")
    model = perceptron()
    for one in (model[0], model[2], model):
        fsdp.fully_shard(one, mesh=mesh)
    with emulate("h100") as emulation:
        emulated(model, plain, emulation)


def test_distributed_data_parallel(mesh, plain):
    with emulate("h100") as emulation:
        emulated(torch.nn.parallel.DistributedDataParallel(perceptron()), plain, emulation)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_nested_tensors(layout):
    parts = [torch.randn(3, 32).bfloat16(), torch.randn(5, 32).bfloat16()]
    model, nested = perceptron(), torch.nested.nested_tensor(parts, layout=layout)
    with emulate("h100") as emulation:
        result = model(nested)
    assert not modes(), "it was active after the with"
    with torch.no_grad(), emulate("h100"):
        expected = [model(part) for part in parts]
    assert all(map(torch.equal, result.unbind(), expected))
    assert len(emulation.products) == 2 and not emulation.left


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_attention_and_gradients_of_nested_tensors():
    parts = [torch.randn(3, 2, 16).bfloat16(), torch.randn(5, 2, 16).bfloat16()]
    q = torch.nested.nested_tensor(parts, layout=torch.jagged).transpose(1, 2)
    attention = torch.nn.functional.scaled_dot_product_attention
    with emulate("h100") as emulation:
        result = attention(q, q, q)
        expected = [attention(part.transpose(0, 1)[None], *[part.transpose(0, 1)[None]] * 2)[0] for part in parts]
    assert all(torch.equal(found, wanted) for found, wanted in zip(result.unbind(), expected)) and not emulation.left
    model, nested = perceptron(), torch.nested.nested_tensor([part[:, 0].repeat(1, 2) for part in parts], layout=torch.jagged, requires_grad=True)
    with emulate("h100") as emulation:
        model(nested).values().float().sum().backward()
    assert len(emulation.products) == 6 and not emulation.left and nested.grad is not None


def test_a_subclass_whose_operation_fails_leaves_no_mode():
    class Fails(torch.Tensor):
        @staticmethod
        def __new__(cls, held):
            return torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)

        def __init__(self, held):
            self.held = held

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if func is torch.ops.aten.mm.default:
                return func(*[one.held if isinstance(one, cls) else one for one in args])
            raise RecursionError(f"{func} again and again")

    with emulate("h100") as emulation:
        assert torch.equal(Fails(X) @ X.t(), X @ X.t()) and len(emulation.products) == 2
    with pytest.raises(RecursionError, match="sin"), emulate("h100"):
        Fails(X).sin()
    assert not modes()
    with pytest.raises(ValueError), emulate("h100"):
        _python_dispatch._push_mode(emulation)  # and an error before it is left, as when the recursion is too deep
        raise ValueError
    assert not modes()


def test_operands_can_be_resized_afterwards():
    """What FSDP does to parameters: NumPy's view of a tensor would forbid it for good."""
    a = X.clone()
    with emulate("h100", compare_with="mi300x"):
        a @ a.t()
    bitmma.matmul(a, a.t(), like="h100")
    a.untyped_storage().resize_(0)


@pytest.mark.parametrize("recipe", ["tensorwise", "rowwise"])
def test_float8_training(recipe):
    float8 = pytest.importorskip("torchao.float8", reason="no torchao: pip install 'bitmma[models]'")
    model = float8.convert_to_float8_training(perceptron(bias=False), config=float8.Float8LinearConfig.from_recipe_name(recipe))
    with emulate("h100") as emulation:
        found = gradients(model)
    assert [(one.operation, one.backward) for one in emulation.products] == [("_scaled_mm", False)] * 2 + [("_scaled_mm", True)] * 4
    assert {one.dtypes[0] for one in emulation.products} <= {torch.float8_e4m3fn, torch.float8_e5m2} and not emulation.left
    with emulate(torch.float64):
        exact = gradients(float8.convert_to_float8_training(perceptron(bias=False), config=float8.Float8LinearConfig.from_recipe_name(recipe)))
    for ours, other in zip(found, exact):
        assert torch.allclose(ours, other, rtol=0.1, atol=0.1 * other.abs().max().item())
