"""Prepared weights that are written where no emulation sees it: by other libraries, processes, collectives and opaque operators."""

from __future__ import annotations

import ctypes
import faulthandler
import multiprocessing
import os

import numpy as np
import pytest

import bitmma

torch = pytest.importorskip("torch")
dist = torch.distributed
nn = torch.nn

SIZE = 128
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def linear(seed=0):
    torch.manual_seed(seed)
    return nn.Linear(SIZE, SIZE, bias=False, dtype=torch.bfloat16)


def x_of(rows=3):
    torch.manual_seed(1)
    return torch.randn(rows, SIZE, dtype=torch.bfloat16)


def stale(layer, write):
    """Elements of the layer's result that are wrong after its weight was prepared and then written to, and whether anything changed."""
    x = x_of()
    with torch.no_grad(), bitmma.torch.emulate("h100") as emulation:
        before = [layer(x) for _ in range(3)][-1]
        assert emulation.weights.hits >= 1
        write(layer.weight)
        after = layer(x)
    with torch.no_grad(), bitmma.torch.emulate("h100", prepared=0):
        expected = layer(x)
    return int((after != expected).sum()), not torch.equal(before, expected)


def other():
    return linear(7).weight.detach().clone()


def by_dlpack(weight):
    torch.from_dlpack(torch.utils.dlpack.to_dlpack(weight.detach())).copy_(other())


def by_numpy_dlpack(weight):
    np.from_dlpack(weight.detach().view(torch.int16)).__setitem__(slice(None), 0x3f80)


def by_ctypes(weight):
    source = other()
    ctypes.memmove(weight.data_ptr(), source.data_ptr(), source.nbytes)


def by_buffer(weight):
    memory = (ctypes.c_char * weight.nbytes).from_address(weight.data_ptr())
    torch.frombuffer(memory, dtype=torch.bfloat16).view(SIZE, SIZE).copy_(other())


def by_opaque_operator(weight):
    torch.ops.bitmma_tests.write_in_secret(weight.data)


def by_autograd_function(weight):
    class Writes(torch.autograd.Function):
        @staticmethod
        def forward(ctx, one):
            ctypes.memset(one.data_ptr(), 0x3d, one.nbytes)
            return one.sum()

    Writes.apply(weight)


WRITES = [by_dlpack, by_numpy_dlpack, by_ctypes, by_buffer, by_opaque_operator, by_autograd_function]


@pytest.fixture(scope="module", autouse=True)
def opaque():
    library = torch.library.Library("bitmma_tests", "FRAGMENT")
    library.define("write_in_secret(Tensor x) -> ()")

    def write(x):
        ctypes.memset(x.data_ptr(), 0x3d, x.nbytes)

    library.impl("write_in_secret", write, "CPU")
    yield
    library._destroy()


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_writes_without_an_operation(write):
    assert stale(linear(), write) == (0, True)


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_an_alias_made_before(library):
    """The alias has a storage of its own, of which nothing tells that it is the weight's memory."""
    layer = linear()
    alias = (torch if library == "torch" else np).from_dlpack(layer.weight.detach().view(torch.int16))
    assert stale(layer, lambda weight: alias.__ixor__(0x80)) == (0, True)


def test_memory_of_a_file(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch", reason="no safetensors")
    safetensors.save_file({"w": other()}, tmp_path / "w.safetensors")
    layer = linear()
    layer.weight = nn.Parameter(safetensors.load_file(tmp_path / "w.safetensors")["w"])
    assert stale(layer, lambda weight: weight.data.neg_()) == (0, True)
    path = tmp_path / "w.bin"
    path.write_bytes(other().view(torch.int16).numpy().tobytes())
    layer.weight = nn.Parameter(torch.from_file(str(path), shared=True, size=SIZE * SIZE, dtype=torch.bfloat16).view(SIZE, SIZE))

    def write(weight):
        with open(path, "r+b") as file:
            file.write(linear(9).weight.detach().view(torch.int16).numpy().tobytes())

    assert stale(layer, write) == (0, True)


# -- other processes --------------------------------------------------------------------------------------------


def begin_child():
    torch.set_num_threads(1)
    faulthandler.dump_traceback_later(60, exit=True)


def write_shared(weight):
    begin_child()
    weight.copy_(other())


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_shared_memory_written_by_another_process():
    layer = linear()
    layer.weight.data.share_memory_()

    def write(weight):
        child = multiprocessing.get_context("fork").Process(target=write_shared, args=(weight.data,))
        child.start()
        child.join(60)
        assert child.exitcode == 0

    assert stale(layer, write) == (0, True)


def batched(weight):
    peer = 1 - dist.get_rank()
    sent = other().add_(dist.get_rank())
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, peer), dist.P2POp(dist.irecv, weight.data, peer)]):
        work.wait()


def received(weight):
    if dist.get_rank() == 0:
        dist.recv(weight.data, 1)
        dist.send(other(), 1)
    else:
        dist.send(other(), 0)
        dist.recv(weight.data, 0)


def scattered(weight):
    dist.scatter(weight.data, [other(), other() * 2] if dist.get_rank() == 0 else None, 0)


def gathered(weight):
    dist.all_gather([weight.data, torch.empty_like(weight)], other())


def reduced_and_scattered(weight):
    dist.reduce_scatter(weight.data, [other(), other() * 2])


def zero_redundancy(weight):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    # the second parameter is rank 1's, whose step reaches rank 0 by a broadcast
    first = nn.Parameter(torch.zeros(SIZE * SIZE + 1, dtype=torch.bfloat16))
    weight.grad, first.grad = other(), torch.ones_like(first)
    ZeroRedundancyOptimizer([first, weight], torch.optim.SGD, lr=0.5).step()
    weight.grad = None


COLLECTIVES = {
    "broadcast": lambda weight: dist.broadcast(weight.data, 0),
    "broadcast async": lambda weight: dist.broadcast(weight.data, 0, async_op=True).wait(),
    "all_reduce": lambda weight: dist.all_reduce(weight.data),
    "recv": received,
    "scatter": scattered,
    "all_gather": gathered,
    "all_gather_into_tensor": lambda weight: dist.all_gather_into_tensor(weight.data, other()[: SIZE // 2].clone()),
    "reduce_scatter": reduced_and_scattered,
    "all_to_all_single": lambda weight: dist.all_to_all_single(weight.data, other()),
    "batch_isend_irecv": batched,
    "ZeroRedundancyOptimizer": zero_redundancy,
}


def rank(number, address, pipe):
    begin_child()
    dist.init_process_group("gloo", init_method=address, rank=number, world_size=2)
    found = {}
    for name, write in COLLECTIVES.items():
        found[name] = stale(linear(number), write)
    pipe.send(found)
    dist.barrier()
    dist.destroy_process_group()


@forks
@pytest.mark.skipif(not dist.is_available(), reason="this PyTorch is built without torch.distributed")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_collectives_of_two_processes(tmp_path):
    context = multiprocessing.get_context("fork")
    pairs = [context.Pipe() for _ in range(2)]
    children = [context.Process(target=rank, args=(number, f"file://{tmp_path}/store", pairs[number][1])) for number in range(2)]
    for child in children:
        child.start()
    results = []
    for ours, _ in pairs:
        assert ours.poll(60)
        results.append(ours.recv())
    for child in children:
        child.join(60)
    wrong = [{name: count for name, (count, _) in found.items() if count} for found in results]
    assert wrong == [{}, {}]
    for name in COLLECTIVES:
        assert any(found[name][1] for found in results), f"{name} writes to a weight"
