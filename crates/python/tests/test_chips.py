"""Chips of threads and tasks, what code is told about them, and what a launch may change."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)
triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")

import triton.language as tl  # noqa: E402
from triton.runtime.interpreter import InterpretedFunction  # noqa: E402

import bitmma  # noqa: E402
from bitmma.kernels import compare, emulate, on  # noqa: E402

N = 64
RANDOM = torch.Generator().manual_seed(0)
#: Products of many sizes, of which each chip drops other bits.
A, B = ((torch.randn(N, N, generator=RANDOM) * 2.0 ** torch.randint(-6, 6, (N, N), generator=RANDOM)).half() for _ in range(2))


@triton.jit
def product(a, b, c, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def product_of_tuples(operands, results, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None]
    tl.store(results[0] + at, tl.dot(tl.load(operands[0] + at), tl.load(operands[1] + at)))


@triton.jit
def product_by_pointers(table, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None]
    a, b = tl.load(table).to(tl.pointer_type(tl.float16)), tl.load(table + 1).to(tl.pointer_type(tl.float16))
    tl.store(tl.load(table + 2).to(tl.pointer_type(tl.float32)) + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def added(x, BLOCK: tl.constexpr):
    at = x + tl.arange(0, BLOCK)
    tl.store(at, tl.load(at) + 1)


def result() -> Any:
    c = torch.zeros(N, N)
    product[(1,)](A, B, c, N)
    return c


def expected(chip: str) -> Any:
    c = torch.zeros(N, N)
    on(product, chip)[(1,)](A, B, c, N)
    return c


A100, H100 = expected("a100"), expected("h100")


def test_the_chips_differ() -> None:
    assert not torch.equal(A100, H100)


def test_tasks_have_the_chips_that_they_entered() -> None:
    async def task(chip: str, of_chip: Any) -> None:
        with emulate(chip):
            for _ in range(3):
                await asyncio.sleep(0)
                assert torch.equal(result(), of_chip), chip
            assert torch.equal(await asyncio.to_thread(result), of_chip)
            with emulate("a100"):
                assert torch.equal(await asyncio.create_task(inner()), A100)

    async def inner() -> Any:
        return result()

    async def both() -> None:
        await asyncio.gather(task("h100", H100), task("a100", A100))

    asyncio.run(both())


def test_a_thread_that_entered_no_chip_is_told_if_there_are_several() -> None:
    ready, done = threading.Barrier(2), threading.Event()

    def other() -> None:
        with emulate("a100"):
            ready.wait()
            done.wait()

    with ThreadPoolExecutor(2) as pool:
        with emulate("h100"):
            assert torch.equal(pool.submit(result).result(), H100), "it takes part"
            thread = pool.submit(other)
            ready.wait()
            try:
                assert torch.equal(result(), H100)
                with pytest.raises(bitmma.Error, match="has entered no chip, and other threads have entered a100 and h100: enter the one you mean"):
                    pool.submit(result).result()
                assert pool.submit(lambda: torch.ones(1).is_cuda).result() is False
                assert pool.submit(expected, "h100").result().equal(H100), "a chip that is named"
            finally:
                done.set()
            thread.result()


def test_kernels_of_an_emulation_are_those_of_its_threads() -> None:
    """Not of a thread that has entered another emulation, nor of one that stays plain: Triton looks for a GPU there."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with ThreadPoolExecutor(1) as pool:

        def in_another() -> None:
            with bitmma.torch.emulate("a100"):
                result()

        with bitmma.torch.emulate("h100", kernels="h100") as emulation:
            assert torch.equal(pool.submit(result).result(), H100)
            with pytest.raises(RuntimeError, match="active drivers"):
                pool.submit(in_another).result()
        assert emulation.account.kernels == {"product: PTX for h100": 1}
        with bitmma.torch.emulate("h100", kernels="h100", other_threads="plain"), pytest.raises(RuntimeError, match="active drivers"):
            pool.submit(result).result()


def test_a_chip_is_named_while_others_are_in_several_emulations() -> None:
    ready, done = threading.Barrier(3), threading.Event()

    def inside(chip: str) -> None:
        with bitmma.torch.emulate(chip):
            ready.wait()
            done.wait()

    with ThreadPoolExecutor(2) as pool:
        threads = [pool.submit(inside, chip) for chip in ("a100", "mi250x")]
        ready.wait()
        try:
            a, b, c = (one.numpy() for one in (A, B, torch.zeros(N, N)))
            on(product, "h100")[(1,)](a, b, c, N)
            assert (c == H100.numpy()).all()
        finally:
            done.set()
        for thread in threads:
            thread.result()


def test_a_kernel_compiled_for_another_chip_is_refused() -> None:
    c = torch.zeros(N, N)
    with emulate("h100"):
        compiled = product.warmup(A, B, c, N, grid=(1,))
        compiled[(1, 1, 1)](A, B, c, N)
    assert torch.equal(c, H100)
    with emulate("a100"), pytest.raises(bitmma.errors.PtxError, match="was compiled for sm_90, and a100 is sm_80"):
        compiled[(1, 1, 1)](A, B, c, N)


def test_an_interpreted_kernel_is_refused() -> None:
    interpreted, c = InterpretedFunction(product.fn), torch.zeros(N, N)
    with emulate("h100"), pytest.raises(bitmma.errors.PtxError, match="TRITON_INTERPRET asks for: unset it"):
        interpreted[(1,)](A, B, c, N)


@pytest.mark.parametrize("how", ["tuple", "pointers", "reinterpreted"])
def test_outputs_are_compared_and_restored_wherever_they_are(how: str) -> None:
    c = torch.full((N, N), 7.0)
    if how == "tuple":
        found, name = compare(product_of_tuples, "a100", "h100")[(1,)]((A, B), (c,), N=N), "results[0]"
    elif how == "pointers":
        table = torch.tensor([one.data_ptr() for one in (A, B, c)])
        found, name = compare(product_by_pointers, "a100", "h100")[(1,)](table, N=N), "an array that pointers lead to"
    else:
        found, name = compare(product, "a100", "h100")[(1,)](A, B, triton.reinterpret(c, tl.float32), N=N), "c"
    assert [(one.name, one.differing) for one in found.outputs] == [(name, int((A100 != H100).sum()))]
    assert found.first is not None and found.second is not None
    assert (c == 7).all()


def test_elements_of_a_view_are_counted_from_its_start() -> None:
    whole = torch.full((4 * N, N), 7.0)
    c = whole[2 * N : 3 * N]
    found = compare(product, "a100", "h100")[(1,)](A, B, c, N)
    assert found.outputs[0].first == int((A100 != H100).reshape(-1).int().argmax()) and found.outputs[0].of == N * N
    assert (whole == 7).all()


@triton.autotune([triton.Config({}, num_warps=warps) for warps in (1, 4)], key=[])
@triton.jit
def summed(x, results, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(results[0], tl.load(results[0]) + tl.sum(tl.load(x + at), 0))


def test_configurations_run_on_the_same_inputs_in_a_tuple() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(512), torch.zeros(1)
    launched = on(summed, "h100", autotune="all")[(1,)](x, (y,), BLOCK=512)
    assert [agrees for _, agrees in launched.configurations] == [True, False]
    once = torch.zeros(1)
    on(summed, "h100")[(1,)](x, (once,), BLOCK=512)
    assert torch.equal(y, once)


@triton.autotune([triton.Config({"BLOCK": 32})], key=[])
@triton.jit
def filled(y, value, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), value)


@triton.heuristics({"TWICE": lambda given: 2 * given["BLOCK"]})
@triton.autotune([triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 16})], key=[])
@triton.jit
def filled_twice(y, value, BLOCK: tl.constexpr, TWICE: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), value * TWICE)


def test_a_tuned_parameter_is_not_given() -> None:
    y = torch.zeros(64)
    with pytest.raises(bitmma.errors.PtxError, match="parameter 'BLOCK' is given, and the kernel is tuned over it"):
        on(filled, "h100")[(1,)](y, 5.0, BLOCK=16)
    assert not y.any()


@pytest.mark.parametrize("options", [{"autotune": "best"}, {"multiprocessors": -3}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(bitmma.OptionError, match=f"{next(iter(options.values()))!r}"), emulate("h100", **options):
        pass


def test_torch_cuda_takes_keywords_and_is_as_it_was_afterwards() -> None:
    with emulate("h100", cuda=True):
        from torch.cuda import device, get_device_capability, is_available

        assert get_device_capability(device=0) == (9, 0) and torch.cuda.get_device_properties(device="cuda").multi_processor_count == 132
        assert torch.cuda.get_device_name(device=None) == "NVIDIA H100" and is_available()
        assert torch.cuda.get_device_properties(0).shared_memory_per_multiprocessor == 228 << 10
        with device(0), torch.cuda.device(device=0):
            assert not isinstance(3, torch.cuda.device)
    assert is_available() is torch.cuda.is_available() is torch.ones(1).is_cuda
    if not torch.cuda.is_available():
        with pytest.raises((AssertionError, RuntimeError), match="NVIDIA|CUDA"):
            get_device_capability()


def test_threads_that_have_no_part_in_it_are_not_disturbed() -> None:
    stop, failed = threading.Event(), []

    def beside() -> None:
        x = torch.ones(1)
        while not stop.is_set():
            try:
                if x.is_cuda or torch.cuda.is_available():
                    failed.append("a GPU")
            except bitmma.Error as error:
                failed.append(str(error))

    with ThreadPoolExecutor(1) as pool:
        if torch.cuda.is_available():
            pytest.skip("there is a GPU")
        thread = pool.submit(beside)
        for _ in range(300):
            with emulate("h100"):
                pass
        stop.set()
        thread.result()
    assert not failed, failed[:3]


def test_rows_of_one_tensor_are_written_by_many_threads() -> None:
    rows = torch.zeros(8, 256)
    with emulate("h100"), ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            list(pool.map(lambda row: added[(1,)](row, 256), rows.unbind(0)))
    assert (rows == 10).all(), rows[:, 0].tolist()


def test_an_empty_array_between_two_views() -> None:
    base = np.zeros(1000, np.float32)
    memory = bitmma.kernels._memory.Memory()
    given = [memory.argument(index, one) for index, one in enumerate([base, base[500:500], base[700:]])]
    (whole, _, part), _, _ = memory.buffers(given)
    assert whole[0] == part[0] and part[1] - whole[1] == 2800
