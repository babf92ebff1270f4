"""Calls that PyTorch rejects are rejected by an emulation, in PyTorch's words, and unusual calls that it takes are not."""

from __future__ import annotations

import warnings

import pytest

import bitmma

torch = pytest.importorskip("torch")

aten = torch.ops.aten
F = torch.nn.functional


def b(*shape):
    return torch.ones(shape).bfloat16()


def f(*shape):
    return torch.ones(shape)


def convolve(x, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), transposed=False, extra=(0, 0), groups=1):
    return aten.convolution(x, weight, bias, stride, padding, dilation, transposed, extra, groups)


def backward(gradient, x, weight, padding=(0, 0), dilation=(1, 1), groups=1):
    return aten.convolution_backward(gradient, x, weight, None, (1, 1), padding, dilation, False, (0, 0), groups, (True, True, False))


WRONG = {
    "mm: out in FP32": lambda: torch.mm(b(8, 64), b(64, 96), out=f(8, 96)),
    "mm: out in FP32, of another shape": lambda: torch.mm(b(8, 64), b(64, 96), out=f(2, 2)),
    "mm: out of integers": lambda: torch.mm(b(8, 64), b(64, 96), out=torch.zeros(8, 96, dtype=torch.int32)),
    "mm: out whose elements share memory": lambda: torch.mm(b(8, 64), b(64, 96), out=b(1).expand(8, 96)),
    "mm: FP32 and out in BF16": lambda: torch.mm(f(8, 64), f(64, 96), out=b(8, 96)),
    "mm: two dtypes": lambda: torch.mm(b(8, 64), f(64, 96)),
    "mm: sizes": lambda: torch.mm(b(8, 64), b(63, 96)),
    "mm: empty and not": lambda: torch.mm(b(8, 0), b(1, 96)),
    "mm: a vector": lambda: torch.mm(b(8), b(8, 96)),
    "mm: a number": lambda: torch.mm(b(), b(8, 96)),
    "matmul: out in FP32": lambda: torch.matmul(b(8, 64), b(64, 96), out=f(8, 96)),
    "matmul: two dtypes": lambda: torch.matmul(b(2, 8, 64), f(2, 64, 96)),
    "mv: out in FP32": lambda: torch.mv(b(8, 64), b(64), out=f(8)),
    "mv: sizes": lambda: torch.mv(b(8, 64), b(63)),
    "mv: two dtypes": lambda: torch.mv(b(8, 64), f(64)),
    "mv: a matrix": lambda: torch.mv(b(8, 64), b(64, 1)),
    "addmv: C in FP32": lambda: torch.addmv(f(8), b(8, 64), b(64)),
    "addmv: size of C": lambda: torch.addmv(b(7), b(8, 64), b(64)),
    "addmv_: C that would grow": lambda: b(1).addmv_(b(8, 64), b(64)),
    "bmm: matrices": lambda: torch.bmm(b(3, 4), b(4, 5)),
    "bmm: batches": lambda: torch.bmm(b(2, 3, 4), b(3, 4, 5)),
    "bmm: one batch": lambda: torch.bmm(b(1, 3, 4), b(2, 4, 5)),
    "bmm: two dtypes": lambda: torch.bmm(b(2, 3, 4), f(2, 4, 5)),
    "bmm: out in FP32": lambda: torch.bmm(b(2, 3, 4), b(2, 4, 5), out=f(2, 3, 5)),
    "addmm: C in FP32": lambda: torch.addmm(f(5), b(3, 4), b(4, 5)),
    "addmm: B in FP32": lambda: torch.addmm(b(5), b(3, 4), f(4, 5)),
    "addmm: size of C": lambda: torch.addmm(b(4), b(3, 4), b(4, 5)),
    "addmm: C of three dimensions": lambda: torch.addmm(b(1, 3, 5), b(3, 4), b(4, 5)),
    "addmm: batches": lambda: torch.addmm(b(5), b(1, 3, 4), b(1, 4, 5)),
    "addmm: out in FP32": lambda: torch.addmm(b(5), b(3, 4), b(4, 5), out=f(3, 5)),
    "addmm: alpha is complex": lambda: torch.addmm(b(5), b(3, 4), b(4, 5), alpha=2j),
    "addmm_: C that would grow": lambda: b(5).addmm_(b(3, 4), b(4, 5)),
    "addmm_: C in FP32": lambda: f(3, 5).addmm_(b(3, 4), b(4, 5)),
    "_addmm_activation: C in FP32": lambda: torch._addmm_activation(f(5), b(3, 4), b(4, 5)),
    "baddbmm: C in FP32": lambda: torch.baddbmm(f(5), b(2, 3, 4), b(2, 4, 5)),
    "baddbmm: matrices": lambda: torch.baddbmm(b(5), b(3, 4), b(4, 5)),
    "baddbmm: out in FP32": lambda: torch.baddbmm(b(5), b(2, 3, 4), b(2, 4, 5), out=f(2, 3, 5)),
    "baddbmm_: C that would grow": lambda: b(5).baddbmm_(b(2, 3, 4), b(2, 4, 5)),
    "mm: huge operands of one element": lambda: torch.mm(b(1, 1).expand(2**20, 2**20), b(1, 1).expand(2**20 + 1, 2**20)),
    "dot: lengths": lambda: torch.dot(f(3), f(4)),
    "dot: matrices": lambda: torch.dot(f(1, 3), f(3)),
    "dot: out in FP64": lambda: torch.dot(f(3), f(3), out=f().double()),
    "vdot: lengths": lambda: torch.vdot(b(3), b(4)),
    "addr: beta is a truth value": lambda: torch.addr(f(2, 3), f(2), f(3), beta=True),
    "addr_: C that would grow": lambda: f(2, 1).addr_(f(2), f(4)),
    "addr_: C of one dimension": lambda: f(16).addr_(f(2), f(16)),
    "addr_: size of C": lambda: f(4, 0).addr_(f(4), f(2)),
    "addr: a number": lambda: torch.addr(f(), f(2), f()),
    "linear: bias in FP32": lambda: F.linear(b(3, 4), b(5, 4), f(5)),
    "linear: size of the bias": lambda: F.linear(b(3, 4), b(5, 4), b(4)),
    "conv2d: negative padding": lambda: F.conv2d(b(1, 3, 8, 8), b(4, 3, 3, 3), padding=-1),
    "conv2d: 5 channels in 2 groups": lambda: F.conv2d(b(1, 4, 8, 8), b(5, 2, 3, 3), groups=2),
    "conv2d: channels": lambda: F.conv2d(b(1, 4, 8, 8), b(5, 3, 3, 3)),
    "conv2d: channels of groups": lambda: F.conv2d(b(1, 6, 8, 8), b(4, 2, 3, 3), groups=2),
    "conv2d: size of the bias": lambda: F.conv2d(b(1, 3, 8, 8), b(5, 3, 3, 3), b(4)),
    "conv2d: bias in FP32": lambda: F.conv2d(b(2, 3, 8, 8), b(5, 3, 3, 3), f(5)),
    "conv2d: weight in FP32": lambda: F.conv2d(b(1, 3, 8, 8), f(5, 3, 3, 3)),
    "conv2d: a kernel larger than the image": lambda: F.conv2d(b(1, 3, 2, 2), b(5, 3, 3, 3)),
    "conv2d: stride 0": lambda: F.conv2d(b(1, 3, 8, 8), b(5, 3, 3, 3), stride=0),
    "conv2d: dilation 0": lambda: F.conv2d(b(1, 3, 8, 8), b(5, 3, 3, 3), dilation=0),
    "conv2d: no group": lambda: F.conv2d(b(1, 3, 8, 8), b(5, 3, 3, 3), groups=0),
    "conv2d: no batch and no channels": lambda: F.conv2d(b(8, 8), b(5, 3, 3, 3)),
    "convolution: no batch": lambda: convolve(b(3, 8, 8), b(5, 3, 3, 3)),
    "convolution: three strides": lambda: convolve(b(1, 3, 8, 8), b(5, 3, 3, 3), stride=(1, 1, 1)),
    "convolution: bias of two dimensions": lambda: convolve(b(1, 3, 8, 8), b(5, 3, 3, 3), b(5, 1)),
    "conv_transpose1d: output_padding as large as the stride": lambda: F.conv_transpose1d(b(1, 3, 8), b(3, 4, 3), output_padding=1),
    "conv_transpose2d: output_padding as large as the stride": lambda: F.conv_transpose2d(b(2, 3, 8, 8), b(3, 4, 3, 3), output_padding=1),
    "conv_transpose2d: output_padding 2, stride 2": lambda: F.conv_transpose2d(b(1, 3, 8, 8), b(3, 4, 3, 3), stride=2, output_padding=2),
    "conv_transpose2d: negative output_padding": lambda: F.conv_transpose2d(b(1, 3, 8, 8), b(3, 4, 3, 3), stride=2, output_padding=-1),
    "conv_transpose2d: channels": lambda: F.conv_transpose2d(b(1, 4, 8, 8), b(3, 4, 3, 3)),
    "conv_transpose3d: output_padding as large as the stride": lambda: F.conv_transpose3d(b(1, 3, 4, 4, 4), b(3, 4, 3, 3, 3), output_padding=1),
    "convolution_backward: negative padding": lambda: backward(b(1, 4, 4, 4), b(1, 3, 8, 8), b(4, 3, 3, 3), padding=(-1, -1)),
    "attention: a mask of more queries": lambda: F.scaled_dot_product_attention(b(2, 2, 1, 16), b(2, 2, 5, 16), b(2, 2, 5, 16), b(4, 5)),
    "convolution_backward: channels": lambda: backward(b(1, 4, 6, 6), b(1, 5, 8, 8), b(4, 3, 3, 3)),
}


def raised(call):
    with pytest.raises(Exception) as found:
        call()
    return type(found.value), str(found.value).partition("\n")[0]


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("host", ["portable", "torch"])
def test_wrong_calls_raise_what_pytorch_raises(name, host):
    with torch.no_grad():
        expected = raised(WRONG[name])
        with bitmma.torch.emulate("h100", fp32="tf32", host=host) as emulation:
            assert raised(WRONG[name]) == expected
            assert raised(WRONG[name]) == expected, "the second time"
    if not name.endswith("share memory"):  # which the last copy finds
        assert not emulation.products and not emulation.left


def test_wrong_dtypes_of_results_that_only_gpus_have():
    with bitmma.torch.emulate("h100") as emulation:
        with pytest.raises(RuntimeError, match="out_dtype must be the same as input dtype or fp32"):
            torch.mm(b(8, 64), b(64, 96), out_dtype=torch.float16)
        assert torch.mm(b(8, 64), b(64, 96), out_dtype=torch.float32).dtype == torch.float32
    assert len(emulation.products) == 1


def test_gradients_of_another_number_of_images():
    """PyTorch's kernels do not look, and may end the process."""
    for images in ((2, 3), (0, 1), (1, 0)):
        with bitmma.torch.emulate("h100"), pytest.raises(bitmma.ShapeError, match="the gradient has {} images and the input {}".format(*images)):
            backward(b(images[0], 4, 6, 6), b(images[1], 3, 8, 8), b(4, 3, 3, 3))


def test_products_that_are_left_are_checked_too():
    with bitmma.torch.emulate("h100"):
        assert torch.equal(f(2, 5).addr_(f(2), f(5)), 2 * f(2, 5))
    with bitmma.torch.emulate("h100", fp32=None) as emulation:
        with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got double"):
            torch.mm(f(8, 64), f(64, 96), out=torch.zeros(8, 96, dtype=torch.float64))
    assert not emulation.left


g = torch.Generator().manual_seed(0)


def whole(*shape, dtype=torch.bfloat16):
    """Small integers, whose products are exact in every order."""
    return torch.randint(-2, 3, shape, generator=g).to(dtype)


def images():
    return whole(2, 3, 8, 8)


def gradients(convolve, x, weight, **options):
    """Of the input and the weight, one after the other."""
    with torch.enable_grad():
        result = convolve(x.requires_grad_(), weight.requires_grad_(), **options)
        given = torch.arange(result.numel()).view(result.shape).remainder(3).to(result.dtype)
        return torch.cat([one.flatten() for one in torch.autograd.grad(result, (x, weight), given)])


A, B, X, W = whole(8, 16), whole(16, 24), images(), whole(4, 3, 3, 3)
RIGHT = {
    "mm: out that is resized": lambda: torch.mm(A, B, out=b(0)),
    "mm: out of another shape": lambda: torch.mm(A, B, out=b(3, 3)),
    "mm: strided out": lambda: torch.mm(A, B, out=b(24, 8).t()),
    "mm: out with gaps": lambda: torch.mm(A, B, out=b(8, 48)[:, ::2]),
    "mm: K is 0": lambda: torch.mm(b(8, 0), b(0, 24)),
    "mm: no rows": lambda: torch.mm(b(0, 16), B),
    "mm: one column": lambda: torch.mm(A, B[:, :1]),
    "mm: an operand that is expanded": lambda: torch.mm(A, b(1, 1).expand(16, 24)),
    "bmm: no batch": lambda: torch.bmm(b(0, 8, 16), b(0, 16, 24)),
    "bmm: batches that are expanded": lambda: torch.bmm(A.expand(3, 8, 16), B.expand(3, 16, 24)),
    "matmul: vectors": lambda: torch.matmul(A, B[:, 0]),
    "matmul: batches that are broadcast": lambda: torch.matmul(A.expand(2, 1, 8, 16), B.expand(3, 16, 24)),
    "addmm: C of no dimension": lambda: torch.addmm(b(), A, B),
    "addmm: C of one element": lambda: torch.addmm(b(1), A, B),
    "addmm: C of one column": lambda: torch.addmm(b(8, 1), A, B),
    "addmm: alpha and beta are integers": lambda: torch.addmm(b(24), A, B, alpha=2, beta=3),
    "addmm: alpha is a truth value": lambda: torch.addmm(b(24), A, B, alpha=True),
    "addmm: beta is 0": lambda: torch.addmm(b(24), A, B, beta=0.0),
    "addmm_: in place": lambda: b(8, 24).addmm_(A, B),
    "addmv: C of one element": lambda: torch.addmv(b(1), A, B[:, 0]),
    "baddbmm: C of no dimension": lambda: torch.baddbmm(b(), A[None], B[None]),
    "conv2d: channels_last": lambda: F.conv2d(X.to(memory_format=torch.channels_last), W.to(memory_format=torch.channels_last)),
    "conv2d: no images": lambda: F.conv2d(b(0, 3, 8, 8), W),
    "conv2d: no batch": lambda: F.conv2d(X[0], W, b(4), padding=1),
    "conv2d: padding='same'": lambda: F.conv2d(X, W, padding="same"),
    "conv2d: one channel for each group": lambda: F.conv2d(X, W[:3, :1], groups=3),
    "conv2d: twice as many channels": lambda: F.conv2d(X, whole(6, 1, 3, 3), groups=3),
    "conv_transpose2d: output_padding below the dilation": lambda: F.conv_transpose2d(X, W[:3], dilation=2, output_padding=1),
    "conv_transpose2d: groups": lambda: F.conv_transpose2d(X, W[:3, :2], groups=3, stride=2, output_padding=1),
    "conv_transpose1d: gradients, output_padding above the stride": lambda: gradients(
        F.conv_transpose1d, whole(1, 2, 4), whole(2, 1, 3), stride=2, padding=1, output_padding=3, dilation=4
    ),
    "conv_transpose2d: gradients, output_padding as large as the stride": lambda: gradients(
        F.conv_transpose2d, whole(2, 2, 3, 4), whole(2, 2, 2, 3), output_padding=(1, 0), dilation=2
    ),
    "convolution_backward": lambda: backward(whole(2, 4, 6, 6), X, W)[1],
}


@pytest.mark.parametrize("name", RIGHT)
def test_unusual_calls_are_computed(name):
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a tensor that is resized
        state = g.get_state()
        expected = RIGHT[name]()
        g.set_state(state)
        with bitmma.torch.emulate("h100") as emulation:
            found = RIGHT[name]()
    assert found.shape == expected.shape and found.dtype == expected.dtype and torch.equal(found, expected)
    assert emulation.products and not emulation.left


def test_checks_are_no_products_and_draw_no_numbers():
    with bitmma.torch.emulate("h100") as around, bitmma.torch.emulate("a100") as emulation:
        before = torch.get_rng_state()
        for size in range(30, 40):
            torch.mm(b(size, size), b(size, 7))
        assert torch.equal(torch.get_rng_state(), before)
    assert len(emulation.products) == 10 and not around.products
    assert not emulation.account.machine and not around.account.machine


def test_out_is_not_written_by_a_wrong_call():
    out, c = f(8, 24), b(5)
    with bitmma.torch.emulate("h100"):
        for call in (lambda: torch.mm(A, B, out=out), lambda: c.addmm_(b(3, 4), b(4, 5))):
            with pytest.raises(RuntimeError):
                call()
    assert torch.equal(out, f(8, 24)) and torch.equal(c, b(5))
