"""Weights that an emulation prepares once: never a stale one, whatever writes to them."""

from __future__ import annotations

import gc
import threading

import pytest

import bitmma

torch = pytest.importorskip("torch")
nn = torch.nn

SIZE = 128


def linear(seed=0, dtype=torch.bfloat16):
    torch.manual_seed(seed)
    return nn.Linear(SIZE, SIZE, dtype=dtype)


def plain(layer, x):
    """The layer without prepared weights."""
    with bitmma.torch.emulate("h100", prepared=0):
        return layer(x)


def x_of(rows=1, seed=1, dtype=torch.bfloat16):
    torch.manual_seed(seed)
    return torch.randn(rows, SIZE, dtype=dtype)


def same(a, b):
    return torch.equal(a.view(torch.int16), b.view(torch.int16))


def test_a_weight_that_comes_again_is_prepared():
    layer, x = linear(), x_of()
    with torch.no_grad():
        expected = plain(layer, x)
        with bitmma.torch.emulate("h100") as emulation:
            for _ in range(5):
                assert same(layer(x), expected)
            weights = emulation.weights
            assert (weights.prepared, weights.hits) == (1, 4)
            assert SIZE * SIZE * 2 <= weights.nbytes <= 1.3 * SIZE * SIZE * 2
        assert "1 prepared, 4 products with them" in emulation.report()
        assert weights.nbytes == 0  # what is written from now on is not seen


def test_activations_are_not_prepared():
    a = [x_of(8, seed) for seed in range(6)]
    b = [torch.randn(SIZE, SIZE, dtype=torch.bfloat16) for _ in range(3)]
    with torch.no_grad(), bitmma.torch.emulate("h100") as emulation:
        for one in a[:3]:
            for other in b:
                one @ (other * 2)
    assert emulation.weights.prepared == 0


def adam(layer):
    layer.weight.grad = torch.randn_like(layer.weight)
    torch.optim.AdamW([layer.weight], lr=0.5).step()


def sgd(layer, **options):
    layer.weight.grad = torch.randn_like(layer.weight)
    torch.optim.SGD([layer.weight], lr=0.5, **options).step()


def by_grad(layer):
    """An optimizer's step after a backward pass."""
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    with torch.enable_grad():
        layer(x_of(3)).float().square().sum().backward()
    optimizer.step()


def to_parameters(layer):
    vector = torch.randn(sum(one.numel() for one in layer.parameters()), dtype=torch.bfloat16)
    nn.utils.vector_to_parameters(vector, layer.parameters())
    return vector


def set_storage(layer):
    layer.weight.set_(torch.randn(SIZE, SIZE, dtype=torch.bfloat16))


def set_data(layer):
    layer.weight.data = torch.randn(SIZE, SIZE, dtype=torch.bfloat16)


def swapped(layer):
    layer.weight = nn.Parameter(torch.randn(SIZE, SIZE, dtype=torch.bfloat16))


def transposed(layer):
    layer.weight.data = layer.weight.data.t()


def by_numpy(layer):
    layer.weight.detach().view(torch.int16).numpy()[:] ^= 0x80


def by_storage(layer):
    other = torch.empty(0, dtype=torch.bfloat16).set_(layer.weight.untyped_storage(), 0, (SIZE, SIZE))
    other.mul_(-1)


def tied(layer):
    other = nn.Linear(SIZE, SIZE)
    other.weight = layer.weight
    other.weight.data.neg_()


def swapped_tensors(layer):
    torch.utils.swap_tensors(layer.weight, nn.Parameter(torch.randn(SIZE, SIZE, dtype=torch.bfloat16)))


def resized(layer):
    layer.weight.data.resize_(2 * SIZE, SIZE).fill_(3)
    layer.weight.data.resize_(SIZE, SIZE)


def functionalized(layer):
    torch.func.functionalize(lambda one: one.mul_(3))(layer.weight.data)


def vmapped(layer):
    torch.func.vmap(lambda row: row.mul_(-2))(layer.weight.data)


def compiled(layer):
    torch.compile(lambda one: one.mul_(3), backend="eager")(layer.weight.data)


def averaged(layer):
    torch.optim.swa_utils.get_ema_multi_avg_fn(0.5)([layer.weight.data], [torch.randn(SIZE, SIZE, dtype=torch.bfloat16)], 1)


def in_a_thread(layer):
    thread = threading.Thread(target=lambda: layer.weight.data.mul_(-2))
    thread.start()
    thread.join()


CHANGES = {
    "copy_": lambda layer: layer.weight.copy_(torch.randn(SIZE, SIZE)),
    "add_": lambda layer: layer.weight.add_(1),
    "data.copy_": lambda layer: layer.weight.data.copy_(torch.randn(SIZE, SIZE)),
    "data[...]": lambda layer: layer.weight.data.__setitem__((3, 5), 100.0),
    "detach().mul_": lambda layer: layer.weight.detach().mul_(2),
    "view": lambda layer: layer.weight.view(-1)[17:30].fill_(7),
    "data.t().neg_": lambda layer: layer.weight.data.t().neg_(),
    "as_strided": lambda layer: layer.weight.data.as_strided((5,), (7,)).zero_(),
    "index_put": lambda layer: layer.weight.data.index_put_((torch.tensor([1]), torch.tensor([2])), torch.tensor(9.0, dtype=torch.bfloat16)),
    "out=": lambda layer: torch.mul(layer.weight.data, 3, out=layer.weight.data),
    "mm out=": lambda layer: torch.mm(layer.weight.data.clone(), layer.weight.data.clone(), out=layer.weight.data),
    "addmm_": lambda layer: layer.weight.data.addmm_(layer.weight.data.clone(), layer.weight.data.clone()),
    "foreach": lambda layer: torch._foreach_mul_([layer.weight.data], 2),
    "init": lambda layer: nn.init.normal_(layer.weight),
    "AdamW": adam,
    "SGD": sgd,
    "SGD foreach": lambda layer: sgd(layer, foreach=True),
    "SGD fused": lambda layer: sgd(layer, fused=True),
    "backward and step": by_grad,
    "load_state_dict": lambda layer: layer.load_state_dict(linear(5).state_dict()),
    "set_": set_storage,
    "data =": set_data,
    "data = data.t()": transposed,
    "another parameter": swapped,
    "vector_to_parameters": to_parameters,
    "storage": by_storage,
    "storage.copy_": lambda layer: layer.weight.untyped_storage().copy_(linear(6).weight.untyped_storage()),
    "storage.fill_": lambda layer: layer.weight.untyped_storage().fill_(0x3f),
    "numpy": by_numpy,
    "another thread": in_a_thread,
    "tied": tied,
    "swap_tensors": swapped_tensors,
    "resize_": resized,
    "functionalize": functionalized,
    "vmap": vmapped,
    "compile": compiled,
    "EMA": averaged,
}


@pytest.mark.parametrize("name", CHANGES)
def test_no_stale_weight(name):
    layer, x = linear(), x_of(2)
    with torch.no_grad():
        with bitmma.torch.emulate("h100") as emulation:
            before = [layer(x) for _ in range(3)][-1]
            assert emulation.weights.prepared == 1
            for _ in range(3):
                kept = CHANGES[name](layer)
                after = layer(x)
                assert same(after, layer(x)) and same(after, layer(x))
                with bitmma.torch.emulate("h100", prepared=0):
                    expected = layer(x)
                assert same(after, expected)
                if torch.is_tensor(kept) and kept.numel() > SIZE:  # and what the parameters are views of
                    kept.mul_(-1)
                    with bitmma.torch.emulate("h100", prepared=0):
                        expected = layer(x)
                    assert same(layer(x), expected)
        assert not same(before, after)


def test_memory_that_numpy_shares():
    weights = torch.randn(SIZE, SIZE).numpy()
    layer, x = nn.Linear(SIZE, SIZE, bias=False, dtype=torch.float16), x_of(1, dtype=torch.float16)
    shared = weights.astype("float16")
    layer.weight = nn.Parameter(torch.from_numpy(shared))
    with torch.no_grad(), bitmma.torch.emulate("mi300x") as emulation:
        for turn in range(4):
            shared[turn, turn] = 3 + turn  # no operation of PyTorch
            for _ in range(3):
                found = layer(x)
            with bitmma.torch.emulate("mi300x", prepared=0):
                assert same(found, layer(x))
        assert emulation.weights.hits > 0


def test_a_weight_that_dies_is_dropped():
    with torch.no_grad(), bitmma.torch.emulate("h100") as emulation:
        for seed in range(3):
            layer, x = linear(seed), x_of()
            for _ in range(3):
                layer(x)
        del layer
        gc.collect()
        other = linear(9)
        for _ in range(3):
            other(x_of())
        assert emulation.weights.nbytes <= 1.3 * SIZE * SIZE * 2


def test_the_limit():
    layers, x = [linear(seed) for seed in range(4)], x_of()
    with torch.no_grad():
        for limit, prepared in ((0, 0), (0.6, 2), (1.25, 4)):
            expected = [plain(layer, x) for layer in layers]
            with bitmma.torch.emulate("h100", prepared=limit) as emulation:
                for _ in range(4):
                    for layer, one in zip(layers, expected):
                        assert same(layer(x), one)
                assert emulation.weights.nbytes <= max(limit, 0.6) * 4 * SIZE * SIZE * 2 * 1.05
                assert emulation.weights.prepared == prepared
    for wrong in (-1, "all", float("nan")):
        with pytest.raises(bitmma.OptionError, match="prepared is"):
            bitmma.torch.emulate("h100", prepared=wrong)


@pytest.mark.parametrize("chip,dtype", [("h100", torch.float16), ("mi250x", torch.float16), ("mi300x", torch.bfloat16), ("mi300x", torch.float32)])
def test_training_with_and_without(chip, dtype):
    def losses(prepared):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(SIZE, SIZE), nn.ReLU(), nn.Linear(SIZE, SIZE)).to(dtype)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        found = []
        with bitmma.torch.emulate(chip, prepared=prepared) as emulation:
            for step in range(4):
                optimizer.zero_grad()
                loss = model(x_of(4, step, dtype)).float().square().mean() + model(x_of(4, step + 9, dtype)).float().square().mean()
                loss.backward()
                optimizer.step()
                found.append(loss.item())
        return found, emulation.weights.hits

    (with_them, hits), (without, none) = losses(1.25), losses(0)
    assert with_them == without and hits > 0 and none == 0


def test_views_that_overlap_count_once():
    """Those of a cache that fills take no more than the cache, however many there are."""
    cache, x = torch.randn(512, SIZE, dtype=torch.bfloat16), torch.randn(2, 512, dtype=torch.bfloat16)
    with torch.no_grad(), bitmma.torch.emulate("h100") as emulation:
        for _ in range(2):
            for n in range(64, 512, 16):
                x[:, :n] @ cache[:n]
        assert 0 < emulation.weights.nbytes <= 1.25 * cache.nbytes
