"""A suite as someone writes it for a GPU: it knows of no emulation. ``test_pretend.py`` runs it as an H100."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
import triton
import triton.language as tl
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
GPU = torch.device("cuda")


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + place, tl.load(x + place, mask=place < n) + tl.load(y + place, mask=place < n), mask=place < n)


def test_a_launch_writes_a_tensor_of_the_gpu():
    x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device=0)
    z = torch.empty_like(x)
    add[(4,)](x, y, z, 1000, BLOCK=256)
    torch.testing.assert_close(z, x + y, rtol=0, atol=0)


def test_a_table_of_pointers():
    @triton.jit
    def copy_from(table, out, n: tl.constexpr):
        source = tl.load(table).to(tl.pointer_type(tl.float32))
        tl.store(out + tl.arange(0, n), tl.load(source + tl.arange(0, n)))

    x, out = torch.randn(32, device="cuda"), torch.zeros(32, device="cuda")
    copy_from[(1,)](torch.tensor([x.data_ptr()], device="cuda"), out, 32)
    assert torch.equal(out, x)


def test_where_tensors_are():
    x = torch.ones(3, 4, device="cuda")
    assert x.is_cuda and x.device == torch.device("cuda", 0) and x.get_device() == 0 and "device='cuda:0'" in repr(x)
    assert x[1:].t().is_cuda and (x + 1).is_cuda and torch.cat([x, x]).is_cuda and torch.zeros_like(x).is_cuda and x.new_zeros(2).is_cuda
    assert not x.cpu().is_cuda and not torch.ones(1).is_cuda and x.sum().item() == 12 and x.tolist() == [[1.0] * 4] * 3
    assert torch.empty_like(x, device="cpu").device.type == "cpu" and x.type() == "torch.cuda.FloatTensor"
    assert torch.tensor([1, 2], device="cuda").is_cuda and torch.arange(3, device=GPU).is_cuda and torch.randperm(4, device="cuda").is_cuda
    assert x.to(torch.float64).is_cuda and torch.ones(2).to(x).is_cuda and torch.ones(2).cuda().is_cuda and x.to("cpu", torch.half).dtype == torch.half
    with torch.device("cuda"):
        assert torch.ones(1).is_cuda and torch.nn.Linear(2, 2).weight.is_cuda


def test_copies_are_copies():
    on_cpu = torch.zeros(3)
    on_gpu = on_cpu.to("cuda")
    on_gpu.add_(1)
    assert on_cpu.sum() == 0 and on_gpu.to("cuda").data_ptr() == on_gpu.data_ptr() and on_gpu.cuda() is on_gpu
    back = on_gpu.cpu()
    back.zero_()
    on_cpu.copy_(on_gpu)
    assert on_gpu.sum() == 3 and on_cpu.sum() == 3
    view = on_gpu[1:]
    view.mul_(2)
    assert on_gpu.tolist() == [1, 2, 2] and view._base is on_gpu
    on_gpu.resize_(5)[3:] = 7
    assert on_gpu.tolist() == [1, 2, 2, 7, 7]
    out = torch.empty(0, device="cuda")
    assert torch.add(on_gpu, 1, out=out) is out and out.tolist() == [2, 3, 3, 8, 8]


def test_devices_do_not_mix():
    x = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        x + torch.ones(3)
    with pytest.raises(RuntimeError, match="same device"):
        F.linear(x, torch.ones(3, 3))
    assert (x + torch.tensor(2.0)).tolist() == [3, 3, 3]  # a number may come from the CPU
    assert x[torch.tensor([0, 2])].is_cuda
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.numpy()
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(1, device="cuda:1")


def test_copies_of_objects():
    x = torch.arange(4.0, device="cuda")
    file = io.BytesIO()
    torch.save({"x": x}, file)
    for location, kind in ((None, "cuda"), ("cpu", "cpu"), ("cuda", "cuda")):
        file.seek(0)
        found = torch.load(file, map_location=location)["x"]
        assert found.device.type == kind and found.tolist() == x.tolist()
    assert copy.deepcopy(x).is_cuda and pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    assert copy.deepcopy(torch.nn.Linear(2, 2).cuda()).weight.is_cuda
    pinned = torch.ones(3).pin_memory()
    assert pinned.is_pinned() and pinned.to("cuda", non_blocking=True).is_cuda and not torch.ones(3).is_pinned()
    there = torch.ones(3, device="cuda")
    assert there.to("cpu", non_blocking=True).is_pinned() and torch.empty_like(there, device="cpu", pin_memory=True).is_pinned() and not there.cpu().is_pinned()
    assert torch.cuda.Stream.priority_range() == (0, -3)
    assert torch.empty(3, pin_memory=True).shape == (3,)


def test_training():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.LayerNorm(32), torch.nn.GELU(), torch.nn.Linear(32, 1)).cuda()
    optimizer, scaler = torch.optim.AdamW(model.parameters(), 0.01), torch.amp.GradScaler("cuda")
    x, y = torch.randn(64, 16, device="cuda"), torch.randn(64, 1, device="cuda")
    losses = []
    for _ in range(8):
        with torch.autocast("cuda", dtype=torch.float16):
            hidden = model[0](x)
            assert hidden.dtype == torch.float16 and F.softmax(hidden, -1).dtype == torch.float32
            loss = F.mse_loss(model(x).float(), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and all(one.grad.is_cuda for one in model.parameters())
    model.load_state_dict({name: value.cpu() for name, value in model.state_dict().items()})
    assert all(one.is_cuda for one in model.state_dict().values())


def test_autograd():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            assert x.is_cuda and gradient.is_cuda
            return 2 * x * gradient

    x = torch.randn(5, device="cuda", dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Double.apply, x)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, 6 * x.detach())
    layer = torch.nn.Linear(8, 8, device="cuda", dtype=torch.bfloat16)
    given = torch.randn(4, 8, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    gradients = []
    for run in (layer, lambda one: checkpoint(layer, one, use_reentrant=False), lambda one: checkpoint(layer, one, use_reentrant=True)):
        gradients.append(torch.autograd.grad(run(given).float().pow(2).sum(), given)[0] if not gradients else None)
        if gradients[-1] is None:
            given.grad = None
            run(given).float().pow(2).sum().backward()
            assert torch.equal(given.grad, gradients[0])
    assert torch.func.vmap(torch.func.grad(lambda v: (v * v).sum()))(torch.ones(2, 3, device="cuda")).is_cuda


def test_attention_and_convolution():
    q = torch.randn(1, 2, 32, 16, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    out = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    out.sum().backward()
    assert out.is_cuda and q.grad.is_cuda
    image = torch.randn(1, 3, 8, 8, device="cuda", dtype=torch.float16)
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).cuda().half()
    assert layers(image).shape == (1, 4, 6, 6)
    assert torch.nn.LSTM(4, 4).cuda()(torch.randn(2, 1, 4, device="cuda"))[0].is_cuda


def test_the_cpu_stays_the_cpu():
    x = torch.randn(64, 512, dtype=torch.float16)
    on_cpu, wide = x @ x.T, (x.double() @ x.double().T).half()
    assert (on_cpu != wide).float().mean() < 0.01, "its sums are FP32"
    assert (x.cuda() @ x.cuda().T).cpu().shape == on_cpu.shape
    with pytest.raises(ValueError, match=r"Pointer argument \(at 1\) cannot be accessed from Triton \(cpu tensor\?\)"):
        add[(1,)](torch.ones(4, device="cuda"), torch.ones(4), torch.ones(4, device="cuda"), 4, BLOCK=4)


def test_conjugates():
    x = torch.randn(8, dtype=torch.complex64)
    y = x.cuda()
    torch.testing.assert_close(torch.vdot(y, y.conj()).cpu(), torch.vdot(x, x.conj()))
    torch.testing.assert_close((y.conj() * 2).imag.cpu(), x.conj().imag * 2)


def test_inference_mode():
    with torch.inference_mode():
        layer = torch.nn.Linear(8, 8).to("cuda").half()
        x = torch.ones(2, 8).to("cuda").half()
        assert layer(x).cpu().shape == (2, 8) and x.to("cpu").device.type == "cpu" and x.reshape(16).is_cuda


def test_recurrent_layers():
    for kind in (torch.nn.GRU, torch.nn.LSTM, torch.nn.RNN):
        layer = kind(4, 4).cuda()
        x = torch.randn(3, 2, 4, device="cuda", requires_grad=True)
        layer(x)[0].sum().backward()
        assert x.grad.is_cuda and layer.weight_hh_l0.grad.is_cuda
