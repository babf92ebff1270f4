"""A suite as someone writes it for a GPU, about ``torch.cuda`` and PyTorch's settings for it. ``test_pretend.py`` runs it as an H100."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest
import torch
import triton
import triton.language as tl
from torch.nn import functional as F

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + place, tl.load(x + place, mask=place < n) + tl.load(y + place, mask=place < n), mask=place < n)


def test_what_torch_says_of_the_gpu():
    about = torch.cuda.get_device_properties(0)
    assert torch.cuda.device_count() == 1 and torch.cuda.current_device() == 0 and torch.cuda.is_initialized()
    assert (about.major, about.minor) == torch.cuda.get_device_capability() == (9, 0) and "H100" in torch.cuda.get_device_name()
    assert about.multi_processor_count == 132 and about.total_memory == 80 << 30 and about.warp_size == 32
    assert torch.cuda.get_device_name(device=0) == torch.cuda.get_device_name("cuda") and torch.cuda.get_device_capability(device="cuda:0") == (9, 0)
    assert pickle.loads(pickle.dumps(torch.cuda.current_stream)) is torch.cuda.current_stream and torch.cuda.is_available.__name__ == "is_available"
    assert torch.zeros(3, pin_memory=True).is_pinned() and not torch.zeros(3).is_pinned()
    with pytest.raises(AttributeError, match="uuid of h100 is not known"):
        about.uuid  # noqa: B018
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.cuda.set_device(1)
    with torch.cuda.device(0), torch.cuda.device("cuda"):
        assert torch.cuda.is_bf16_supported()
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() - before == 4 << 20 <= torch.cuda.max_memory_allocated()
    del x
    assert torch.cuda.memory_allocated() == before
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    assert torch.accelerator.current_accelerator().type == "cuda" and torch.accelerator.device_count() == 1


def test_streams_and_events():
    stream, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream != torch.cuda.default_stream()
        x = torch.ones(3, device="cuda")
        x.record_stream(stream)
    end.record()
    torch.cuda.synchronize()
    torch.cuda.current_stream().wait_stream(stream)
    assert start.elapsed_time(end) > 0 and end.query() and torch.cuda.current_stream() == torch.cuda.default_stream()
    torch.cuda.nvtx.range_push("x")
    torch.cuda.nvtx.range_pop()
    assert triton.testing.do_bench(lambda: x + 1, warmup=1, rep=1) > 0
    with pytest.raises(NotImplementedError, match="torch.cuda.CUDAGraph is not emulated"):
        torch.cuda.CUDAGraph()


def test_seeds():
    def draw():
        return torch.randn(3, device="cuda"), torch.rand(3)

    torch.manual_seed(7)
    (first, on_cpu), state = draw(), torch.cuda.get_rng_state()
    second = torch.randn(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.randn(3, device="cuda"), second) and not torch.equal(first, second)
    torch.manual_seed(7)
    torch.rand(100)  # the CPU's generator is another
    assert torch.equal(draw()[0], first) and torch.cuda.initial_seed() == 7
    generator = torch.Generator(device="cuda").manual_seed(7)
    assert torch.equal(torch.randn(3, device="cuda", generator=generator), first) and generator.device.type == "cuda"
    again = generator.get_state()
    third = torch.randn(3, device="cuda", generator=generator)
    assert torch.equal(torch.randn(3, device="cuda", generator=generator.set_state(again)), third) and not torch.equal(third, first)
    copied = copy.deepcopy(generator)
    assert torch.equal(torch.randn(3, device="cuda", generator=copied), torch.randn(3, device="cuda", generator=generator)) and copied.get_offset() == generator.get_offset()
    assert state.tolist()[:8] == [7, *[0] * 7] and len(state) == 16, "a seed and an offset"
    offset, rates = generator.get_offset(), torch.full((50,), 3.0, device="cuda")
    one, other = (torch.poisson(rates, generator) for _ in range(2))
    torch.binomial(rates, rates / 6, generator=generator)
    assert not torch.equal(one, other) and generator.get_offset() == offset + 12, "a generator that is given by its place"
    torch.cuda.manual_seed_all(7)
    F.dropout(torch.ones(100, device="cuda"))
    assert not torch.equal(draw()[0], first) and on_cpu.shape == (3,)


def test_threads():
    found = []

    def work():
        x = torch.randn(16, 16, device="cuda", dtype=torch.float16, requires_grad=True)
        (x @ x).sum().backward()
        found.append(x.grad)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[0].is_cuda and found[0].shape == (16, 16)


def test_tf32_is_what_the_settings_say():
    x = torch.randn(32, 32, device="cuda")
    exact = x @ x
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        rounded = x @ x
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
    assert not torch.equal(exact, rounded) and torch.allclose(exact, rounded, atol=0.05) and torch.equal(exact, x @ x)


def test_compiled_functions_run_as_they_are():
    assert torch.compile(lambda x: x + 1)(torch.ones(2, device="cuda")).tolist() == [2, 2]


def test_loaders():
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(8.0)), batch_size=4, pin_memory=True)
    assert [batch[0].cuda(non_blocking=True).sum().item() for batch in data] == [6, 22]


def test_an_operator_of_a_library():
    library = torch.library.Library("aten", "IMPL")
    called = []

    def mm(a, b):
        called.append(a.device.type)
        out = torch.zeros(a.shape[0], b.shape[1], device=a.device, dtype=a.dtype)
        return out + 5

    library.impl("mm", mm, "CUDA")
    try:
        assert torch.mm(torch.ones(2, 2, device="cuda"), torch.ones(2, 2, device="cuda")).tolist() == [[5, 5], [5, 5]]
    finally:
        library._destroy()
    assert called == ["cuda"]
    half = torch.ones(2, 2, device="cuda", dtype=torch.float16)
    assert torch.mm(half, half).tolist() == [[2, 2], [2, 2]]


def test_kernels_of_attention_are_chosen():
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = torch.randn(3, 1, 2, 64, 32, device="cuda", dtype=torch.bfloat16)
    found = {}
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
        with sdpa_kernel(backend):
            found[backend] = F.scaled_dot_product_attention(q, k, v)
    assert torch.equal(F.scaled_dot_product_attention(q, k, v), found[SDPBackend.FLASH_ATTENTION])
    assert not torch.equal(found[SDPBackend.MATH], found[SDPBackend.FLASH_ATTENTION])
    with pytest.raises(NotImplementedError, match="FLASH_ATTENTION and MATH are emulated"), sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        F.scaled_dot_product_attention(q, k, v)


def test_what_only_gpus_have_is_named():
    x = torch.ones(2, 2, device="cuda", dtype=torch.float16)
    torch.backends.cuda.matmul.allow_fp16_accumulation = True
    try:
        with pytest.raises(NotImplementedError, match="mm: .*allow_fp16_accumulation is not emulated"):
            x @ x
    finally:
        torch.backends.cuda.matmul.allow_fp16_accumulation = False
    with pytest.raises(NotImplementedError, match="tensors of layout torch.sparse_coo on a GPU are not emulated"):
        x.float().to_sparse()
    with pytest.raises(NotImplementedError, match="nested tensors of layout torch.strided on a GPU are not emulated"):
        torch.nested.nested_tensor([x, x])
    with pytest.raises(NotImplementedError, match="aten::_fused_dropout is not emulated: PyTorch has it for GPUs only"):
        torch.ops.aten._fused_dropout(x, 0.5)


def test_loaders_of_processes():
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(8.0)), batch_size=4, num_workers=1, multiprocessing_context="fork")
    assert [batch[0].cuda().sum().item() for batch in data] == [6, 22]


def test_a_default_device():
    torch.set_default_device("cuda")
    try:
        x = torch.randn(64, dtype=torch.float32)
        y = torch.empty(64)
        add[(1,)](x, x, y, 64, BLOCK=64)
        assert x.is_cuda and torch.equal(y, x + x) and torch.tensor([1.0]).is_cuda
        half = torch.randn(16, 16).half()
        assert (half @ half).is_cuda and F.scaled_dot_product_attention(*torch.randn(3, 1, 1, 8, 8).half()).is_cuda
    finally:
        torch.set_default_device(None)


def test_operators_of_python():
    @torch.library.custom_op("bitmma_suite::twice", mutates_args=(), device_types="cuda")
    def twice(x: torch.Tensor) -> torch.Tensor:
        assert x.is_cuda
        y = torch.empty_like(x)
        add[(1,)](x, x, y, x.numel(), BLOCK=16)
        return y

    half = torch.eye(4, device="cuda", dtype=torch.float16)
    assert torch.equal(twice(half @ half), half * 2)
    with pytest.raises(NotImplementedError, match="quantized::.* is not emulated: its kernel for GPUs is compiled code"):
        torch.ops.quantized.embedding_bag_byte_unpack(torch.zeros(2, 12, dtype=torch.uint8, device="cuda"))


def test_what_a_backward_pass_needs_is_not_changed():
    for kind in (torch.nn.GRU, torch.nn.LSTM, torch.nn.RNN):
        layer, x = kind(4, 3).cuda(), torch.randn(5, 2, 4, device="cuda", requires_grad=True)
        z = x * 1.0
        y = layer(z)[0]
        z.mul_(100)
        with pytest.raises(RuntimeError, match="modified (by an )?inplace"):
            y.sum().backward()


def test_memory_of_another_library_is_kept():
    layer, x = torch.nn.GRU(4, 3).cuda(), torch.ones(5, 2, 4, device="cuda")
    (layer(x)[0].sum()).backward()
    expected = layer.weight_ih_l0.grad.clone()
    layer.zero_grad()
    w = torch.from_dlpack(x)
    y = layer(w)[0]
    del x, w
    others = [torch.full((5, 2, 4), 7.0, device="cuda") for _ in range(50)]
    y.sum().backward()
    assert torch.equal(layer.weight_ih_l0.grad, expected) and len(others) == 50


def test_torchscript_runs_and_export_is_refused():
    @torch.jit.script
    def twice(x):
        return (x * 2 + 1).relu()

    for _ in range(4):
        assert twice(torch.ones(3, device="cuda")).tolist() == [3.0] * 3
    model = torch.nn.Linear(4, 4)
    torch.export.export(model, (torch.ones(2, 4),))
    with pytest.raises(RuntimeError, match="torch.export of tensors on a GPU is not supported"):
        torch.export.export(model.cuda(), (torch.ones(2, 4, device="cuda"),))


def test_an_emulation_of_tensors_on_the_cpu_is_entered():
    import bitmma

    x = (torch.randn(8, 512) * 2.0**-13).half()
    plain = x @ x.T
    with bitmma.torch.emulate("mi250x") as emulation:
        found = x @ x.T
    assert len(emulation.products) == 1 and not torch.equal(found, plain)


def test_memory_that_another_tensor_sees_is_not_freed():
    x = torch.arange(4.0, device="cuda")
    y = x.view(2, 2)
    x.resize_(100_000)
    others = [torch.full((4,), 7.0) for _ in range(100)]
    assert torch.from_dlpack(y).tolist() == [[0.0, 1.0], [2.0, 3.0]] and len(others) == 100
    x[:4] = torch.arange(4.0, device="cuda")
    assert x.numel() == 100_000 and x[:4].tolist() == [0.0, 1.0, 2.0, 3.0]


SOURCE = r"""
extern "C" __global__ void add(const float* x, const float* y, float* z, int n, double factor) {
  int at = threadIdx.x + blockIdx.x * blockDim.x;
  if (at < n) z[at] = x[at] + y[at] * factor;
}
extern "C" __global__ void scaled(float* x, float factor) { x[threadIdx.x] *= factor; }
template <typename T> __global__ void turned(T* x) {
  extern __shared__ char memory[];
  T* all = (T*)memory;
  all[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}
"""


def test_kernels_that_torch_compiles():
    x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    z = torch.zeros(1000, device="cuda")
    add = torch.cuda._compile_kernel(SOURCE, "add")
    add(grid=(4, 1, 1), block=(256, 1, 1), args=[x, y, z, 999, 2.0])
    assert torch.equal(z[:999], (x + 2 * y)[:999]) and z[999] == 0
    turned = torch.cuda._compile_kernel(SOURCE, "turned<double>")
    x = torch.arange(64.0, dtype=torch.float64, device="cuda")
    turned((1, 1, 1), (64, 1, 1), [x], shared_mem=512)
    assert x.tolist() == [*range(63, -1, -1)]
    turned((1, 1, 1), (64, 1, 1), [x, 3, 4], shared_mem=512)  # a driver reads as many arguments as there are parameters
    turned((1, 1, 1), (64, 1, 1), [x], shared_mem=512)
    with pytest.raises(RuntimeError, match="49152 bytes of shared memory .* 0 are configured"):
        turned((1, 1, 1), (64, 1, 1), [x], shared_mem=49152)
    turned.set_shared_memory_config(50000)
    turned((1, 1, 1), (64, 1, 1), [x], shared_mem=49152)
    assert x.tolist() == [*range(64)]
    for message, kind, wrong in [
        ("exceeds device limit", RuntimeError, lambda: turned.set_shared_memory_config(1 << 20)),
        ("must be CUDA tensors", ValueError, lambda: turned(args=[x.cpu()])),
        ("parameter 'add_param_3' is of type u32", Exception, lambda: add(args=[z, z, z, 1.0, 2.0])),
        ("argument 4 is an int, .* and the parameter is of type f64", TypeError, lambda: add(args=[z, z, z, 1, 2])),
        ("argument 1 is a float, .* declare it as double", TypeError, lambda: torch.cuda._compile_kernel(SOURCE, "scaled")(args=[z, 2.0])),
        ("takes 1 arguments", RuntimeError, lambda: turned()),
        ("int' object is not subscriptable", TypeError, lambda: turned(1, (64, 1, 1), [x])),
        ("index out of range", IndexError, lambda: turned((1, 1, 1), (64,), [x])),
        ("it must have 1 to 1024", RuntimeError, lambda: turned((1, 1, 1), (2000, 1, 1), [x])),
        ("Unsupported argument type", TypeError, lambda: turned(args=["x"])),
        ("Kernel compilation failed", RuntimeError, lambda: torch.cuda._compile_kernel("void f( {", "f")),
        ("for sm_75 does not run on NVIDIA", RuntimeError, lambda: torch.cuda._compile_kernel(SOURCE, "add", compute_capability="75")),
    ]:
        with pytest.raises(kind, match=message):
            wrong()


def test_what_cuda_does_not_have_is_an_error():
    ones = torch.ones(4, 4, device="cuda")
    for message, wrong in [
        ("mm: not implemented for torch.int64", lambda: ones.long() @ ones.long()),
        ("bmm: not implemented for torch.float8_e4m3fn", lambda: torch.bmm(ones[None].to(torch.float8_e4m3fn), ones[None].to(torch.float8_e4m3fn))),
        ("Expected a 'cuda' device type for generator", lambda: ones.uniform_(generator=torch.Generator())),
        ("offset must be a multiple of 4", lambda: torch.Generator("cuda").set_offset(3)),
        ("indices should be either on cpu or on the same device", lambda: torch.ones(4)[torch.tensor([0], device="cuda")]),
        ("tensors to be on the same device", lambda: ones.index_put_((torch.tensor([0, 1]),), torch.ones(2, 4))),
        ("tensors to be on the same device", lambda: torch.ones(4).index_put((torch.tensor([0, 1]),), torch.ones(2, device="cuda"))),
        ("convolution: not implemented for torch.int64", lambda: F.conv1d(ones.long(), ones.long()[:, :, None])),
        ("_trilinear: not implemented for torch.int64", lambda: F.bilinear(ones.long(), ones.long(), ones.long()[:, :, None].repeat(1, 1, 4))),
        ("Expected a 'cpu' device type for generator but found 'cuda'", lambda: torch.rand(2, generator=torch.Generator("cuda"))),
        ("Expected a 'cpu' device type for generator but found 'cuda'", lambda: torch.randperm(2, generator=torch.Generator("cuda"))),
        ("Expected a 'cuda' device type for generator but found 'cpu'", lambda: torch.poisson(ones, torch.Generator())),
        ("CPU Generator does not use offset", lambda: torch.Generator().get_offset()),
        ("invalid device ordinal", lambda: torch.Generator("cuda:1")),
        ("invalid device ordinal", lambda: torch.cuda.get_device_name(1)),
        ("invalid device ordinal", lambda: torch.cuda.mem_get_info(device=1)),
    ]:
        with pytest.raises(RuntimeError, match=message):
            wrong()
    assert not torch.cuda.is_current_stream_capturing()
    on_cpu = torch.zeros(4)
    on_cpu[[0, 2]] = torch.tensor(5.0, device="cuda")
    put = on_cpu.index_put((torch.tensor([1]),), torch.tensor(6.0, device="cuda"))
    assert on_cpu.tolist() == [5.0, 0.0, 5.0, 0.0] and put.tolist() == [5.0, 6.0, 5.0, 0.0] and not put.is_cuda and (ones[:0].long().T @ ones[:0].long()).sum() == 0


def test_ctc_loss_with_lengths_on_the_cpu():
    scores = torch.randn(20, 2, 5).log_softmax(2)
    targets, lengths = torch.randint(1, 5, (2, 6)), (torch.tensor([20, 18]), torch.tensor([6, 4]))
    own, gpu = scores.clone().requires_grad_(), scores.cuda().requires_grad_()
    expected = torch.nn.functional.ctc_loss(own, targets, *lengths)
    found = torch.nn.functional.ctc_loss(gpu, targets.cuda(), *lengths)
    expected.backward()
    found.backward()
    assert found.is_cuda and torch.equal(found.cpu(), expected) and torch.equal(gpu.grad.cpu(), own.grad)
    one = torch.nn.functional.ctc_loss(scores[:, 0].cuda(), targets[0].cuda(), lengths[0][0], lengths[1][0])  # unbatched
    assert torch.equal(one.cpu(), torch.nn.functional.ctc_loss(scores[:, 0], targets[0], lengths[0][0], lengths[1][0]))
    with pytest.raises(RuntimeError, match="input_lengths must be integral"):
        torch.nn.functional.ctc_loss(gpu, targets.cuda(), lengths[0].float(), lengths[1])
    again = scores.clone().requires_grad_()
    there = torch.nn.functional.ctc_loss(again, targets.cuda(), lengths[0].cuda(), lengths[1].cuda())
    there.backward()
    assert not there.is_cuda and torch.equal(there, expected) and torch.equal(again.grad, own.grad)


def test_numbers_on_the_cpu_are_read_and_not_written():
    x, total = torch.ones(3, device="cuda"), torch.tensor(0.0)
    for wrong in (
        lambda: total.add_(x.mean()),
        lambda: torch.zeros(3)[0].add_(x[0]),
        lambda: torch.exp(x[0], out=total),
        lambda: torch.maximum(total, x[0], out=total),
        lambda: torch.sum(x, dim=0, out=total),
    ):
        with pytest.raises(RuntimeError, match="two devices, cuda:0 and cpu"):
            wrong()
    assert total.item() == 0 and (x * torch.tensor(2.0)).sum() == 6 and torch.tensor(1.0).fill_(x[0]).device.type == "cpu"
    total.copy_(x[0])
    x[0] = torch.tensor(5.0)
    assert total.item() == 1 and x[0] == 5
    with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory"):
        torch.empty(1 << 50, device="cuda")


def test_another_thread_s_random_numbers():
    """What draws on the GPU in one thread leaves the CPU's random numbers in another alone."""
    torch.manual_seed(1)
    expected = [torch.rand(3) for _ in range(100)]
    torch.manual_seed(1)
    ends = threading.Event()

    def draw():
        while not ends.is_set():
            torch.randn(100, device="cuda")
            torch.randint(9, (100,), device="cuda")
            torch.randint(1, 9, (100,), device="cuda")
            torch.randperm(9, device="cuda")
            torch.rand(9, device="cuda")
            F.dropout(torch.ones(9, device="cuda"))

    thread = threading.Thread(target=draw)
    thread.start()
    found = [torch.rand(3) for _ in range(100)]
    ends.set()
    thread.join()
    assert all(map(torch.equal, found, expected))


def test_shapes_without_memory():
    """Tensors of FakeTensorMode are those of a GPU, and nothing is computed."""
    with torch._subclasses.FakeTensorMode():
        x = torch.randn(3, 1, 4, device="cuda", requires_grad=True)
        found = torch.nn.LSTM(4, 4, device="cuda")(x)[0]
        found.sum().backward()
        attended = F.scaled_dot_product_attention(x, x, x)
        with pytest.raises(Exception, match="_ctc_loss"):  # its shape is not known, as on the CPU
            F.ctc_loss(x.log_softmax(2), torch.tensor([[1]]), (2,), (1,))
    assert found.is_cuda and attended.is_cuda and x.grad.is_cuda and found.shape == x.grad.shape == (3, 1, 4)
    assert (torch.ones(3, device="cuda", requires_grad=True) * 2).requires_grad


def test_recurrent_layers_and_attention_keep_to_the_gpu():
    layer, x = torch.nn.LSTM(4, 4, 2, dropout=0.5, device="cuda"), torch.ones(5, 1, 4, device="cuda")
    q = torch.randn(1, 2, 8, 16, device="cuda")
    for wrong in (
        lambda: layer(x.cpu()),
        lambda: torch.nn.GRU(4, 4)(x),
        lambda: torch.nn.GRUCell(4, 4)(x[0]),
        lambda: F.scaled_dot_product_attention(q, q.cpu(), q),
    ):
        with pytest.raises(RuntimeError, match="same device"):
            wrong()
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, [5])
    assert layer(packed)[0].data.is_cuda
    for draw in (lambda: layer(x)[0], lambda: F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)):
        state = torch.get_rng_state()
        torch.cuda.manual_seed(1)
        first, second = draw(), draw()
        torch.cuda.manual_seed(1)
        assert torch.equal(draw(), first) and not torch.equal(first, second) and torch.equal(torch.get_rng_state(), state)
    offset = torch.cuda.get_rng_state()
    for draws_nothing in (lambda: F.scaled_dot_product_attention(q, q, q, scale=0.5), lambda: layer.eval()(x)):
        draws_nothing()
        assert torch.equal(torch.cuda.get_rng_state(), offset)
    with torch.autocast("cpu"):  # the CPU's
        assert F.scaled_dot_product_attention(q, q, q).dtype == layer(x)[0].dtype == torch.float32
    with torch.autocast("cuda"):
        gru = torch.nn.GRU(4, 4, device="cuda")
        found = gru(torch.nn.Linear(4, 4, device="cuda")(x))[0]
        assert found.dtype == F.scaled_dot_product_attention(q, q, q).dtype == torch.float16
    found.float().sum().backward()
    assert gru.weight_ih_l0.grad.dtype == torch.float32
    scores = torch.randn(3, 1, 4, device="cuda", requires_grad=True)
    (gradient,) = torch.autograd.grad(F.ctc_loss(scores.log_softmax(2), torch.tensor([[1]]), (2,), (1,)), scores, create_graph=True)
    with pytest.raises(RuntimeError, match="_ctc_loss_backward.* is not implemented"):
        torch.autograd.grad(gradient[0, 0, 0], scores)
    assert isinstance(torch.default_generator, torch.Generator) and not isinstance(3, torch.Generator)
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.zeros(3, device="cuda", pin_memory=True)


def test_derivatives_of_recurrent_layers():
    for kind in ("LSTM", "GRU", "RNN"):
        layer = getattr(torch.nn, kind)(2, 2, device="cuda", dtype=torch.float64)
        on_cpu = copy.deepcopy(layer).cpu()
        x = torch.randn(2, 1, 2, device="cuda", dtype=torch.float64, requires_grad=True)
        y = x.detach().cpu().requires_grad_()
        found, expected = layer(x)[0], on_cpu(y)[0]
        found.square().sum().backward()
        expected.square().sum().backward()
        torch.testing.assert_close(found.cpu(), expected)
        torch.testing.assert_close([x.grad.cpu()] + [one.grad.cpu() for one in layer.parameters()], [y.grad] + [one.grad for one in on_cpu.parameters()])
        assert torch.autograd.gradgradcheck(lambda x: layer(x)[0], x)
        cell = getattr(torch.nn, kind + "Cell")(2, 2, bias=False, device="cuda")
        states = cell(x.detach()[0].float())
        torch.testing.assert_close(states, cell.cpu()(y.detach()[0].float()), check_device=False)
        total = lambda x: torch.func.functional_call(layer, dict(layer.named_parameters()), x)[0].sum()  # noqa: E731
        assert torch.equal(torch.func.grad(total)(x), torch.autograd.grad(total(x), x)[0])


def test_attention_is_pytorch_s_own_operation():
    from torch.nn.attention import SDPBackend, SDPAParams, sdpa_kernel
    from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
    from torch.utils.flop_counter import FlopCounterMode

    q, k, v = (torch.randn(2, 3, 32, 16, device="cuda", dtype=torch.float16, requires_grad=True) for _ in range(3))
    with FlopCounterMode(display=False) as flops:
        found = F.scaled_dot_product_attention(q, k, v)
        found.sum().backward()
    assert flops.get_total_flops() == 2 * 3 * 32 * 32 * 16 * 2 * 7, "two products forward and five backward"
    assert type(found.grad_fn).__name__ == "ScaledDotProductFlashAttentionBackward0" and found.stride() == q.stride()

    seen = []

    def keep(context, operation, *args, **kwargs):
        seen.append(operation)
        return CheckpointPolicy.MUST_SAVE if "attention" in str(operation) else CheckpointPolicy.PREFER_RECOMPUTE

    def block(q):
        return F.scaled_dot_product_attention(q @ q.mT @ q, k, v).sum()

    again = q.detach().requires_grad_()
    block(again).backward()
    kept = q.detach().requires_grad_()
    checkpoint(block, kept, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(keep)).backward()
    assert torch.equal(kept.grad, again.grad) and torch.ops.aten._scaled_dot_product_flash_attention.default in seen
    shared = torch.randn(2, 6, 32, 16, device="cuda", dtype=torch.float16, requires_grad=True)
    groups = F.scaled_dot_product_attention(shared, k, v, enable_gqa=True)
    (gradient,) = torch.autograd.grad(groups.float().sum(), k)
    wide = [one.detach().repeat_interleave(2, 1).requires_grad_() for one in (k, v)]
    alone = F.scaled_dot_product_attention(shared, *wide)
    (parts,) = torch.autograd.grad(alone.float().sum(), wide[0])
    assert torch.equal(groups, alone) and torch.equal(gradient, parts.unflatten(1, (3, 2)).sum(2))
    with pytest.raises(RuntimeError, match="must match the size|heads|broadcast"):
        F.scaled_dot_product_attention(shared, k, v)
    mask = torch.randn(32, 32, device="cuda", dtype=torch.float16)
    masked = F.scaled_dot_product_attention(q, k, v, mask)
    assert type(masked.grad_fn).__name__ == "ScaledDotProductEfficientAttentionBackward0"
    assert masked.transpose(1, 2).is_contiguous() and torch.autograd.grad(masked.sum(), q)[0].transpose(1, 2).is_contiguous()
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION), pytest.raises(NotImplementedError, match="EFFICIENT_ATTENTION with a mask"):
        F.scaled_dot_product_attention(q, k, v, mask)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION), pytest.raises(NotImplementedError, match="computes in float16 and bfloat16"):
        F.scaled_dot_product_attention(q.float(), k.float(), v.float())
    with pytest.raises(RuntimeError, match="dtype"):
        F.scaled_dot_product_attention(q, k, v, mask.double())
    each = torch.func.vmap(torch.func.grad(lambda q, k, v: F.scaled_dot_product_attention(q, k, v).float().sum()))(q, k, v)
    together = torch.func.grad(lambda q: F.scaled_dot_product_attention(q, k, v).float().sum())(q)
    assert torch.allclose(each, together, atol=1e-2)
    can = torch.backends.cuda.can_use_flash_attention
    assert can(SDPAParams(q, k, v, None, 0.0, False, False)) and not can(SDPAParams(q.float(), k.float(), v.float(), None, 0.0, False, False))
    with torch.inference_mode():
        assert torch.equal(F.scaled_dot_product_attention(q, k, v), found)
    with torch.autograd.graph.save_on_cpu():
        F.scaled_dot_product_attention(q, k, v).sum().backward()


def test_numbers_that_may_be_on_the_cpu_are_as_many_as_pytorch_takes():
    x, number = torch.ones(3, device="cuda"), torch.tensor(2.0)
    assert (x * number).sum() == torch.lerp(x, x, number).sum() * 2 == torch.addcmul(x, x, number).sum() - 3 + 0 == 6
    assert torch.where(x > 0, number, torch.tensor(3.0)).tolist() == [2.0, 2.0, 2.0]
    for wrong in (
        lambda: torch.clamp(x, number, number),
        lambda: torch.addcmul(x, number, number),
        lambda: torch.cat([x, number[None]]),
        lambda: torch.stack([x[0], number]),
        lambda: torch.complex(x, number),
        lambda: F.embedding(torch.tensor(0), x[:, None]),
        lambda: x.index_add(0, torch.tensor(0), x[:1]),
        lambda: x @ number.expand(3),
    ):
        with pytest.raises(RuntimeError, match="two devices, cuda:0 and cpu"):
            wrong()
    with pytest.raises(RuntimeError, match="expected self and mask to be on the same device, but got mask on cpu"):
        x.masked_fill(torch.tensor(True), 0.0)
    assert x.masked_fill(x > 0, number).tolist() == [2.0] * 3 and torch.linspace(x[0], number, 3, device="cuda").tolist() == [1.0, 1.5, 2.0]
    assert torch._foreach_addcmul([x], [x], [x], torch.tensor([2.0]))[0].tolist() == [3.0] * 3
    with pytest.raises(RuntimeError, match="Expected scalars to be on CPU, got cuda:0"):
        torch._foreach_addcmul([x], [x], [x], x[:1])


def test_quantized_tensors_are_refused():
    with pytest.raises(NotImplementedError, match="quantized tensors on a GPU are not emulated"):
        torch.quantize_per_tensor(torch.ones(3, device="cuda"), 0.1, 0, torch.qint8)
    with pytest.raises(NotImplementedError, match="quantized tensors on a GPU are not emulated"):
        torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8).cuda()


def test_memory_is_counted_in_steps():
    before, requested = torch.cuda.memory_allocated(), torch.cuda.memory_stats()["requested_bytes.all.current"]
    x = torch.empty(3, device="cuda")
    assert torch.cuda.memory_allocated() - before == 512 == torch.accelerator.memory_allocated() - before
    assert torch.cuda.memory_stats()["requested_bytes.all.current"] - requested == 12 and len(x) == 3
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() == torch.cuda.memory_allocated()
    assert torch.tensor([1.0], pin_memory=True).is_pinned() and torch.tensor([1.0]).pin_memory().is_pinned() and not torch.tensor([1.0]).is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        x.pin_memory()


def test_random_numbers_of_the_cpu_stay():
    """Dropout and the like draw from the GPU's generator."""
    x, state = torch.ones(4, 1000, device="cuda"), torch.get_rng_state()
    for draw in (F.dropout, torch.rand_like, torch.nn.Dropout1d(), lambda x: F.alpha_dropout(x, 0.5, True)):
        torch.cuda.manual_seed(1)
        first, second = draw(x), draw(x)
        torch.cuda.manual_seed(1)
        assert torch.equal(draw(x), first) and not torch.equal(first, second) and torch.equal(torch.get_rng_state(), state)


def test_what_dropout_keeps_is_scaled():
    x = torch.randn(1000, device="cuda", requires_grad=True)
    found = F.dropout(x, 0.25)
    found.sum().backward()
    kept = found != 0
    assert 650 < kept.sum() < 850 and torch.equal(x.grad != 0, kept) and torch.allclose(found[kept], x[kept] / 0.75)
    assert torch.equal(F.dropout(x, 0.0), x) and F.dropout(x, 1.0).abs().sum() == 0 and torch.equal(F.dropout(x, training=False), x)
    with pytest.raises(NotImplementedError, match="fused_dropout: not implemented for torch.int64"):
        F.dropout(x.long(), 0.25)


def test_types_that_only_gpus_have():
    x = torch.randn(8, device="cuda").half()
    found = torch.fft.fft(x)
    assert found.dtype == torch.complex32 and torch.equal(found.to(torch.complex64), torch.fft.fft(x.float()).to(torch.complex32).to(torch.complex64))
    image = torch.rand(1, 1, 8, 8, device="cuda").bfloat16()
    small = F.interpolate(image, scale_factor=0.5, mode="bilinear", antialias=True)
    assert torch.equal(small, F.interpolate(image.float(), scale_factor=0.5, mode="bilinear", antialias=True).bfloat16())
    whole = torch.tensor([0, 1, 1, 4, 9, -1], dtype=torch.int32, device="cuda")
    assert torch.histc(whole, 5, 0, 5).tolist() == [1, 2, 0, 0, 1] == torch.histc(whole.float(), 5, 0, 5).tolist()
    assert torch.histc(whole, 3).tolist() == torch.histc(whole.float(), 3).tolist() and torch.histc(whole, 3).dtype == torch.int32

def test_no_library_factorizes_or_solves_narrow_types():
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.eye(4, device="cuda", dtype=dtype)
        for name in ("svdvals", "qr", "eigvalsh", "cholesky", "lu_factor", "det"):
            with pytest.raises((RuntimeError, NotImplementedError), match="not implemented for"):
                getattr(torch.linalg, name)(x)
        with pytest.raises((RuntimeError, NotImplementedError), match="not implemented for"):
            torch.linalg.solve_triangular(x, x, upper=True)


@pytest.mark.skipif(not hasattr(torch, "bcomplex32"), reason="PyTorch 2.15 has complex numbers of two BF16")
def test_complex_numbers_of_bf16():
    x = (torch.randn(16, device="cuda") * 2.0**20).bfloat16()
    found = torch.fft.rfft(x)
    expected = torch.fft.rfft(x.float())
    assert found.dtype == torch.bcomplex32 and torch.equal(torch.view_as_real(found.to(torch.complex64)), torch.view_as_real(expected).bfloat16().float())
    back = torch.fft.irfft(found)
    assert back.dtype == torch.bfloat16 and torch.equal(back, torch.fft.irfft(found.to(torch.complex64)).bfloat16())


def test_what_only_cpus_have_is_refused():
    x = torch.ones(16, 16, device="cuda")
    narrow, one = x.to(torch.float8_e5m2), torch.ones((), device="cuda")
    for kind, message, wrong in (
        (NotImplementedError, "Could not run 'aten::histogram.*' with arguments from the 'CUDA' backend", lambda: torch.histogram(x, 3)),
        (RuntimeError, "two Float8_e5m2 matrices is not supported", lambda: torch._scaled_mm(narrow, narrow.t(), one, one, out_dtype=torch.bfloat16)),
        (NotImplementedError, "_broadcast_coalesced is not emulated", lambda: torch.nn.parallel.replicate(torch.nn.Linear(2, 2).cuda(), [0])),
        (NotImplementedError, "PyTorch has it for GPUs only", lambda: torch.ops.aten._flash_attention_forward(x, x, x, None, None, 1, 1, 0.0, False, False)),
    ):
        with pytest.raises(kind, match=message):
            wrong()


def test_channels_stay_last_in_convolutions():
    x = torch.ones(2, 3, 4, 4, device="cuda").to(memory_format=torch.channels_last)
    for layer in (torch.nn.Conv2d(3, 4, 3), torch.nn.ConvTranspose2d(3, 4, 3)):
        found, plain = layer.cuda()(x), layer(x.contiguous())
        assert found.is_contiguous(memory_format=torch.channels_last) and plain.is_contiguous() and torch.equal(found, plain)
    with pytest.raises(NotImplementedError, match="torch.jit.trace of a convolution is not supported"):
        torch.jit.trace(layer, x, check_trace=False)
    scripted = torch.jit.script(torch.nn.Conv2d(3, 4, 3).cuda())
    assert scripted(x).shape == (2, 4, 2, 2)
