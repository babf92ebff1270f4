"""Products in other threads than the one that entered the emulation are emulated, too, or an error; never plain in silence."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext

import pytest

import bitmma

torch = pytest.importorskip("torch")
from torch.utils import _python_dispatch  # noqa: E402

from bitmma.kernels import _device  # noqa: E402
from bitmma.torch.apart import plain  # noqa: E402
from bitmma.torch.portable import random  # noqa: E402

emulate = bitmma.torch.emulate
F = torch.nn.functional
WORDS = {torch.float32: torch.int32, torch.bfloat16: torch.int16}
LSTM = torch.nn.LSTM(64, 8)
MODEL = torch.nn.Sequential(torch.nn.Linear(96, 32), torch.nn.ReLU(), torch.nn.Linear(32, 16)).half()
#: Some rows are subnormal, which CDNA2 reads as zero.
X = (torch.randn(24, 96) * 2.0 ** -torch.arange(24)[:, None]).half()
LARGE, SMALL = torch.full((16, 16), 1024.0).half(), torch.full((16, 16), 2.0**-20).half()


@pytest.fixture
def pool():
    """A thread that was started before anything else."""
    with ThreadPoolExecutor(1) as executor:
        executor.submit(torch.zeros, 1).result()
        yield executor


def here(function):
    """The result in a thread of its own, started now."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(function).result()


def settings():
    """What is global in PyTorch and changes inside of an emulation."""
    cuda, mha = torch.backends.cuda, torch.backends.mha
    kinds = (cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled(), cuda.math_sdp_enabled(), cuda.cudnn_sdp_enabled())
    modes = (_python_dispatch._is_in_torch_dispatch_mode, torch.nn.Module.__call__)
    return (*kinds, cuda.fp16_bf16_reduction_math_sdp_allowed(), mha.get_fastpath_enabled(), torch.backends.mkldnn.enabled, *modes)


def test_a_model_in_a_thread_that_was_there_before(pool):
    with torch.no_grad(), emulate("mi250x"):
        expected = MODEL(X)
    assert not torch.equal(expected, MODEL(X)), "the inputs tell the two apart"
    with emulate("mi250x") as emulation:
        result = pool.submit(MODEL, X).result()
        assert torch.equal(result, expected)
        assert [one.layer for one in emulation.products] == ["Sequential.0", "Sequential.2"]
        assert torch.equal(here(lambda: MODEL(X)), expected) and len(emulation.products) == 4
    assert [one.index for one in emulation.products] == [0, 1, 2, 3]
    assert torch.equal(pool.submit(MODEL, X).result(), MODEL(X)), "and not after it"


def test_products_outside_of_modules(pool):
    a, b, c = X, MODEL[0].weight.detach().t(), torch.randn(32).half()
    operations = {
        "mm": lambda: torch.matmul(a, b),
        "addmm": lambda: torch.nn.functional.linear(a, b.t(), c),
        "bmm": lambda: torch.bmm(a[None], b[None]),
        "mm out": lambda: torch.mm(a, b, out=torch.empty(0, dtype=torch.float16)),
        "convolution": lambda: torch.nn.functional.conv1d(a[None], b.t().reshape(32, 96, 1)[:, :24]),
        "attention": lambda: torch.nn.functional.scaled_dot_product_attention(a[None, None], a[None, None], a[None, None]),
    }
    with torch.no_grad(), emulate("mi250x") as emulation:
        expected = {name: operation() for name, operation in operations.items()}
    count = len(emulation.products)
    for mode in (torch.no_grad, torch.inference_mode):
        with emulate("mi250x") as emulation:
            for name, operation in operations.items():

                def run(operation=operation):
                    with mode():
                        return operation()

                assert torch.equal(pool.submit(run).result(), expected[name]), name
        assert len(emulation.products) == count and not emulation.left


WIDE, VECTOR = torch.randn(2, 4, 33, 64), torch.randn(200)
#: Products, functions, sums and conversions that are called outside of modules; the last two have a number for a tensor.
BARE = {
    "attention": lambda: F.scaled_dot_product_attention(WIDE, WIDE, WIDE),
    "attention with dropout": lambda: (torch.manual_seed(0), F.scaled_dot_product_attention(WIDE, WIDE, WIDE, dropout_p=0.5))[1],
    "lstm": lambda: torch._VF.lstm(WIDE[0], (torch.zeros(1, 33, 8),) * 2, LSTM._flat_weights, True, 1, 0.0, False, False, False)[0],
    "softmax": lambda: WIDE.softmax(-1),
    "exp": lambda: WIDE.exp(),
    "sum": lambda: WIDE.sum(0),
    "gelu": lambda: F.gelu(WIDE),
    "layer_norm": lambda: F.layer_norm(WIDE, (64,)),
    "cosine_similarity": lambda: F.cosine_similarity(WIDE, WIDE.flip(0)),
    "normal numbers": lambda: (torch.manual_seed(0), torch.randn(33))[1],
    "linspace": lambda: torch.linspace(0, 1, 33, dtype=torch.bfloat16),
    "a NaN that is converted": lambda: torch.tensor([-1], dtype=torch.int32).view(torch.float32).bfloat16(),
    "a sum with a factor": lambda: torch.add(WIDE, 0.3, alpha=0.7),
    "a remainder": lambda: torch.fmod(WIDE, 0.3),
}


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("name", BARE)
def test_operations_outside_of_modules(pool, name, mode):
    """They have the bits of the emulation, and are counted, whatever is in other threads."""

    def run():
        with mode():
            return BARE[name]().detach().clone()

    results, counts = [], []
    for where in (run, lambda: pool.submit(run).result()):
        with emulate("h100", fp32="tf32", host="strict") as emulation:
            results.append(where())
        host = emulation.account.host
        counts.append((len(emulation.products), host["functions"], host["reductions"]))
    assert torch.equal(*(one.view(WORDS[one.dtype]) for one in results)) and counts[0] == counts[1]


def test_what_depends_on_the_machine_in_another_thread_is_refused(pool):
    with emulate("h100", host="strict"), pytest.raises(bitmma.errors.HostDependent, match="erfinv may give other bits"):
        pool.submit(VECTOR.erfinv).result()
    with emulate("h100") as emulation:
        pool.submit(VECTOR.erfinv).result()
    assert emulation.account.machine == {"erfinv": 1}


def test_pytorch_beside_an_emulation_is_as_it_is():
    """Its operations pass the kernels that catch those of other threads."""
    half, number = torch.tensor(1.5).half(), torch.tensor(3)
    calls = [
        lambda: VECTOR.half() + 0.1,
        lambda: 2.5 * half,
        lambda: number / 2,
        lambda: True + (VECTOR > 0),
        lambda: VECTOR.floor_divide(0.3),
        lambda: torch.fmod(VECTOR.half(), 0.3),
        lambda: torch.xlogy(0.3, VECTOR.abs().half()),
        lambda: torch.xlogy(number, 0.3),
        lambda: torch.special.zeta(2.5, number),
        lambda: VECTOR.double().sub(1e-9, alpha=3),
        lambda: VECTOR.softmax(0, dtype=torch.float64),
    ]
    expected = [call() for call in calls]
    with emulate("h100"), plain():
        found = [call() for call in calls]
    assert all(one.dtype == other.dtype and torch.equal(one, other) for one, other in zip(found, expected))


def test_two_threads_draw_no_number_twice(pool, monkeypatch):
    """An odd count of normal numbers sets the state of the generator, which another thread must not have changed meanwhile."""
    kept, drawn = random._kept, []

    def meanwhile(state):
        drawn.append(pool.submit(torch.rand, 2, dtype=torch.float64))
        wait(drawn, timeout=0.2)
        return kept(state)

    monkeypatch.setattr(random, "_kept", meanwhile)
    with emulate("h100"):
        torch.empty(3).normal_()
        numbers = torch.cat([one.result() for one in drawn] + [torch.rand(2, dtype=torch.float64)])
    assert len(numbers) == len(numbers.unique()) == 6


def test_what_is_left_in_another_thread_is_counted(pool):
    with pytest.warns(bitmma.errors.LeftAlone, match="2 products ran as they were"), emulate("mi250x") as emulation:
        pool.submit(lambda: (X[0] @ X[0], torch.linalg.inv(torch.eye(3)))).result()
    assert [what.split(":")[0] for what in emulation.left] == ["dot float16", "linalg_inv_ex float32"]


def test_backward_passes(pool):
    def gradients(run):
        MODEL.zero_grad()
        x = X.clone().requires_grad_()
        run(x)
        return [x.grad, *(parameter.grad for parameter in MODEL.parameters())]

    def checkpointed(x):
        torch.utils.checkpoint.checkpoint(MODEL, x, use_reentrant=False).float().square().sum().backward()

    def whole(x):
        MODEL(x).float().square().sum().backward()

    def halves(x):  # forward here, backward in another thread
        loss = MODEL(x).float().square().sum()
        pool.submit(loss.backward).result()

    with emulate("mi250x") as emulation:
        expected = gradients(whole)
    layers = [(one.layer, one.backward) for one in emulation.products]
    assert layers[2:] == [(f"Sequential.{place}", True) for place in (2, 2, 0, 0)]
    for run in (halves, lambda x: pool.submit(whole, x).result()):
        with emulate("mi250x") as emulation:
            found = gradients(run)
        assert all(map(torch.equal, found, expected))
        assert [(one.layer, one.backward) for one in emulation.products] == layers
    for run in (checkpointed, lambda x: pool.submit(checkpointed, x).result()):
        with emulate("mi250x") as emulation:
            found = gradients(run)
        assert all(map(torch.equal, found, expected)) and len(emulation.products) > 6, "some of the forward pass runs again"


def test_a_backward_pass_without_products(pool):
    """Activations, norms and losses have the emulation's bits, and are counted."""
    model = torch.nn.Sequential(torch.nn.Linear(96, 128), torch.nn.GELU(), torch.nn.LayerNorm(128), torch.nn.Linear(128, 64))
    x, labels = torch.randn(300, 96), torch.randint(64, (300,))
    found = []
    for where in (lambda run: run(), lambda run: pool.submit(run).result()):
        model.zero_grad()
        with emulate("h100", fp32="tf32", host="strict") as emulation:
            scores = model(x)
            loss = F.cross_entropy(scores, labels) + scores.max()
            where(loss.backward)
        found.append(([one.grad for one in model.parameters()], {**emulation.account.host, "exact": None}))
    assert all(map(torch.equal, found[0][0], found[1][0])) and found[0][1] == found[1][1]


@pytest.mark.skipif(not hasattr(torch, "accelerator"), reason="this PyTorch's parallel_apply needs a GPU")
def test_parallel_apply(monkeypatch):
    """What DataParallel calls, with the CPU as its accelerator."""
    for name, value in (
        ("is_available", lambda: True),
        ("current_accelerator", lambda: torch.device("cpu")),
        ("current_stream", lambda device=None: nullcontext()),
        ("device_index", lambda device: nullcontext()),
    ):
        monkeypatch.setattr(torch.accelerator, name, value, raising=False)
    monkeypatch.setattr(sys.modules["torch.nn.parallel.parallel_apply"], "_get_device_index", lambda *device: 0)
    with torch.no_grad(), emulate("mi250x"):
        expected = MODEL(X)
    with emulate("mi250x") as emulation:
        results = torch.nn.parallel.parallel_apply([MODEL, MODEL], [(X,), (X,)])
    assert all(torch.equal(result, expected) for result in results) and len(emulation.products) == 4


def test_an_lstm_and_attention_modules(pool):
    lstm, x = torch.nn.LSTM(16, 12).half(), torch.randn(5, 3, 16).half()
    encoder = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).half().eval()
    for run in (lambda: lstm(x)[0], lambda: encoder(x)):
        with torch.no_grad(), emulate("mi250x") as first:
            expected = run()
        with torch.no_grad(), emulate("mi250x") as second:
            result = pool.submit(lambda: run().detach()).result()
        assert torch.equal(result, expected) and not second.left
        assert [one.instruction for one in second.products] == [one.instruction for one in first.products]


def test_overlapping_emulations_are_apart_and_settings_come_back():
    """Each thread has the arithmetic that it entered, whichever leaves first; a third must say which it means."""
    before = settings()
    for first_leaves_first in (True, False):
        entered, leave = threading.Barrier(3), [threading.Event(), threading.Event()]
        found = {}

        def work(chip, event):
            with emulate(chip) as emulation:
                entered.wait(30)
                found[chip] = (SMALL @ LARGE)[0, 0].item()
                assert event.wait(30)
                found[chip, "settings"] = settings()
                found[chip, "alone"] = (SMALL @ LARGE)[0, 0].item()
            found[chip, "count"] = len(emulation.products)

        threads = [threading.Thread(target=work, args=args) for args in zip(("h100", "mi250x"), leave)]
        for thread in threads:
            thread.start()
        entered.wait(30)
        during = settings()
        assert during != before
        for run in (lambda: SMALL @ LARGE, lambda: MODEL(X)):
            with pytest.raises(bitmma.Error, match="thread 'MainThread' has entered no emulation, and several are on in other threads"):
                run()
        order = (0, 1) if first_leaves_first else (1, 0)
        for place in order:
            leave[place].set()
            threads[place].join(30)
        assert found["h100"] == found["h100", "alone"] == 2.0**-6 and found["mi250x"] == found["mi250x", "alone"] == 0
        assert found["h100", "count"] == found["mi250x", "count"] == 2
        assert found["h100", "settings"] == found["mi250x", "settings"] == during, "until the last has left"
        assert settings() == before
    assert (SMALL @ LARGE)[0, 0] == torch.full((), 2.0**-6)


def test_other_threads_may_stay_plain(pool):
    plain = X @ X.t()
    with emulate("mi250x", other_threads="plain") as emulation:
        assert torch.equal(pool.submit(lambda: X @ X.t()).result(), plain)
        assert torch.equal(pool.submit(MODEL, X).result(), here(lambda: MODEL(X)))
        assert not emulation.products
        X @ X.t()
    assert len(emulation.products) == 1
    with pytest.raises(bitmma.OptionError, match="other_threads is 'none'; one of 'emulate', 'plain'"):
        emulate("h100", other_threads="none")


def test_nested_emulations_are_nested_in_other_threads_too(pool):
    def both():
        return (SMALL @ LARGE)[0, 0].item(), (SMALL.bfloat16() @ LARGE.bfloat16())[0, 0].item()

    with emulate("h100") as outer:
        with emulate("mi250x", bf16=None) as inner:
            results = both(), pool.submit(both).result()
        assert both()[0] == 2.0**-6
    assert results[0] == results[1] == (0, 2.0**-6)
    names = [[one.instruction.split()[0] for one in emulation.products] for emulation in (outer, inner)]
    assert names == [["hopper"] * 4, ["cdna2"] * 2]


def test_pytorch_in_another_thread_while_emulations_begin_and_end(pool):
    """PyTorch changes the table of an operation without regard to threads that read it."""
    stop, x = threading.Event(), torch.randn(4, 4)

    def beside():
        while not stop.is_set():
            torch.softmax(x.exp() + x.sum(), -1)

    thread = pool.submit(beside)
    for _ in range(300):
        with emulate("h100", other_threads="plain"):
            pass
    stop.set()
    thread.result()


def test_an_error_in_another_thread_leaves_no_mode_behind(pool):
    class Fails(torch.nn.Module):
        def __init__(self, error):
            super().__init__()
            self.inner, self.error = MODEL, error

        def forward(self, x):
            self.inner(x)
            raise self.error

    def modes():
        return _python_dispatch._get_current_dispatch_mode_stack(), torch.overrides._get_current_function_mode_stack()

    before = settings()
    for error in (ValueError(), KeyboardInterrupt()):
        with emulate("mi250x") as emulation:
            for run in (lambda: Fails(error)(X), lambda: MODEL(X[:, :3]), lambda: torch.mm(X, X)):
                with pytest.raises((type(error), bitmma.ShapeError, RuntimeError)):
                    pool.submit(run).result()
                assert pool.submit(modes).result() == ([], [])
            assert pool.submit(lambda: X @ X.t()).result() is not None and emulation.products[-1].layer == "", "no module runs"
        with pytest.raises(type(error)), emulate("mi250x"):
            Fails(error)(X)
        assert modes() == ([], []) and settings() == before


def test_a_thread_that_outlives_the_emulation(pool):
    """What had begun goes on; what begins afterwards is plain."""
    inside, go_on = threading.Event(), threading.Event()

    class Waits(torch.nn.Module):
        def forward(self, x):
            inside.set()
            assert go_on.wait(30)
            return x @ x.t()

    with emulate("mi250x") as emulation:
        expected = X @ X.t()
        late = pool.submit(Waits(), X)
        assert inside.wait(30)
    go_on.set()
    assert torch.equal(late.result(), expected) and len(emulation.products) == 2
    assert torch.equal(pool.submit(lambda: X @ X.t()).result(), X @ X.t()) and len(emulation.products) == 2


def test_one_emulation_in_many_threads_counts_every_product():
    with emulate("mi250x") as emulation, ThreadPoolExecutor(4) as executor:
        for result in [executor.submit(MODEL, X) for _ in range(24)]:
            result.result()
    assert [one.index for one in emulation.products] == list(range(48))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bitmma.errors.LeftAlone)
        with emulate("mi250x") as emulation, ThreadPoolExecutor(4) as executor:
            for result in [executor.submit(torch.dot, X[0], X[1]) for _ in range(200)]:
                result.result()
    assert sum(emulation.left.values()) == 200


def test_the_references_of_compare_are_pytorchs_own():
    """A thread that emulates beside it changes none of them."""
    alone = bitmma.torch.compare(MODEL, X, chips=["h100", "mi300x"])
    entered, leave = threading.Event(), threading.Event()

    def beside():
        with emulate("mi250x", other_threads="emulate"):
            entered.set()
            assert leave.wait(60)

    thread = threading.Thread(target=beside)
    thread.start()
    assert entered.wait(30)
    try:
        found = bitmma.torch.compare(MODEL, X, chips=["h100", "mi300x"])
    finally:
        leave.set()
        thread.join()
    assert [row.errors for row in found.modules] == [row.errors for row in alone.modules]


def test_tasks_that_take_turns_in_one_thread_are_no_emulations_of_each_other():
    """Each would have the arithmetic that was entered last; never in silence."""
    before = settings()

    async def multiply(chip, first, second, wait):
        with emulate(chip):
            await first()
            result = SMALL @ LARGE
            await second()
        await wait()
        return result[0, 0].item()

    async def both(*orders):
        return await asyncio.gather(*(multiply(chip, *order) for chip, order in zip(("h100", "mi250x"), orders)), return_exceptions=True)

    def steps(*seconds):
        return [lambda one=one: asyncio.sleep(one) for one in seconds]

    for orders in ([(0.02, 0.02, 0), (0.02, 0.02, 0)], [(0.02, 0.1, 0), (0, 0.04, 0)], [(0, 0.02, 0), (0.04, 0.04, 0)]):
        found = asyncio.run(both(*(steps(*order) for order in orders)))
        assert any(isinstance(one, bitmma.Error) and ("take turns" in str(one) or "another task" in str(one)) for one in found), found
        assert all(isinstance(one, bitmma.Error) or one == expected for one, expected in zip(found, (2.0**-6, 0))), found
        assert not _python_dispatch._get_current_dispatch_mode_stack() and settings() == before
    # one after the other, and in threads of their own

    async def in_turn():
        return [await multiply(chip, *steps(0, 0, 0)) for chip in ("h100", "mi250x")]

    async def in_threads():
        one = [asyncio.to_thread(asyncio.run, multiply(chip, *steps(0.02, 0.02, 0))) for chip in ("h100", "mi250x")]
        return await asyncio.gather(*one)

    for run in (in_turn, in_threads):
        assert asyncio.run(run()) == [2.0**-6, 0]


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
of_threads = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


def product():
    """0 on the MI250X, 2^-6 on the H100 and in PyTorch."""
    return (SMALL @ LARGE)[0, 0]


def in_a_child(function):
    """Whether a function returns true in a forked child."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if function() else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


@forks
@of_threads
def test_a_forked_child_keeps_its_emulation_where_another_thread_had_one():
    # the child closes the frames of the parent's other threads
    with torch.no_grad(), emulate("mi250x"):
        expected = MODEL(X)
    assert not torch.equal(expected, MODEL(X))
    entered, leave = threading.Event(), threading.Event()

    def other():
        with torch.no_grad(), emulate("h100"):
            MODEL(X)
            entered.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with torch.no_grad(), emulate("mi250x"):
        thread.start()
        entered.wait()
        assert in_a_child(lambda: torch.equal(MODEL(X), expected))
    leave.set()
    thread.join()


class Products(torch.utils.data.Dataset):
    """A product, and the result of a function of the host."""

    def __len__(self):
        return 1

    def __getitem__(self, place):
        return product(), VECTOR.exp()


def loaded():
    return next(iter(torch.utils.data.DataLoader(Products(), batch_size=None, num_workers=1, multiprocessing_context="fork", timeout=60)))


@forks
@of_threads
@pytest.mark.parametrize("load", [loaded, lambda: Products()[0]], ids=["loader", "fork"])
def test_a_child_forked_from_a_thread_that_takes_part(pool, load):
    with emulate("mi250x"):
        expected = Products()[0]
    assert expected[0] == 0 != product()

    def same():
        return all(map(torch.equal, load(), expected))

    with emulate("mi250x"):
        assert pool.submit(same if load is loaded else lambda: in_a_child(same)).result()


@forks
@of_threads
def test_threads_of_a_forked_child_take_part(pool):
    """Also one that is given the identifier of the thread that entered the emulation, which is not there."""
    emulation = emulate("mi250x")
    pool.submit(emulation.__enter__).result()

    def all_emulated():
        started = threading.Barrier(8)

        def together(_):
            started.wait(30)
            return product()

        with ThreadPoolExecutor(8) as executor:
            return not any(executor.map(together, range(8)))

    assert in_a_child(all_emulated)
    pool.submit(emulation.__exit__, None, None, None).result()


@forks
@of_threads
def test_a_child_forked_from_a_thread_that_entered_another_emulation(pool):
    def both():
        with emulate("mi250x"):
            return in_a_child(lambda: product() == 0)

    with emulate("h100"):
        assert pool.submit(both).result()


@forks
@of_threads
def test_kernels_in_a_child_forked_from_a_thread_that_takes_part(pool):
    pytest.importorskip("triton")
    with emulate("h100", kernels="h100"):
        assert pool.submit(in_a_child, lambda: _device.current().device.chip == "h100").result()
    assert _device.current() is None


@of_threads
def test_each_thread_has_the_chip_that_it_entered_last(pool):
    pytest.importorskip("triton")
    chip = lambda: _device.current().device.chip  # noqa: E731
    h100, a100 = emulate("h100", kernels="h100"), emulate("a100", kernels="a100")
    with h100, a100:
        with h100:
            assert chip() == "h100"
        assert chip() == pool.submit(chip).result() == "a100"
    # one thread has entered it, another leaves later
    pool.submit(h100.__enter__).result()
    with a100:
        assert (chip(), pool.submit(chip).result()) == ("a100", "h100")
        pool.submit(h100.__exit__, None, None, None).result()
        assert chip() == "a100"
    assert _device.current() is None


def inside(emulation):
    with emulation:
        yield


def plain_again(before):
    return settings() == before and product() == here(product) == 2.0**-6


@pytest.mark.parametrize("leave", [lambda block: block.close(), lambda block: next(block, None)], ids=["close", "next"])
def test_an_emulation_that_is_left_in_another_thread(pool, leave):
    before, emulation = settings(), emulate("mi250x")
    block = inside(emulation)
    pool.submit(next, block).result()
    assert product() == 0
    message = r"was entered in thread 'ThreadPoolExecutor-\S+' and left in thread 'MainThread': leave it in the thread that entered it. Products of"
    with pytest.raises(bitmma.Error, match=message):
        leave(block)
    assert plain_again(before)
    assert pool.submit(product).result() == 0, "as the error says"
    pool.submit(emulation.__exit__, None, None, None).result()
    assert pool.submit(product).result() == 2.0**-6 and plain_again(before)
    with emulation:
        assert product() == pool.submit(product).result() == 0
    assert plain_again(before)


def test_an_emulation_in_a_generator_that_another_thread_collects(pool, monkeypatch):
    before, raised = settings(), []
    block = inside(emulate("mi250x"))
    pool.submit(next, block).result()
    monkeypatch.setattr(sys, "unraisablehook", lambda error: raised.append(error.exc_value))
    del block
    gc.collect()
    assert len(raised) == 1 and isinstance(raised[0], bitmma.Error) and plain_again(before)


def test_an_emulation_ends_with_its_thread():
    before, emulation = settings(), emulate("mi250x")
    block = inside(emulation)
    here(lambda: next(block))
    assert plain_again(before)
    with pytest.raises(bitmma.Error, match="was not entered in any thread that still runs and left in thread 'MainThread'"):
        block.close()
    with ThreadPoolExecutor(1, initializer=emulation.__enter__) as executor:
        assert executor.submit(product).result() == 0
    assert plain_again(before)
