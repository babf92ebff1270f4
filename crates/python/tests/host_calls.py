"""Calls of operations that an emulation leaves to the host, and a digest of their results: ``python host_calls.py``.

Run by itself it prints, for each call and dtype, a digest of the bits under :class:`bitmma.torch.emulate`; with ``plain`` without it;
with ``drawn`` both, of random numbers that PyTorch draws with the same bits.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch

import bitmma

F = torch.nn.functional
aten = torch.ops.aten
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
WORDS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
Numbers = Callable[..., torch.Tensor]


class Source:
    """Numbers of one dtype from integers, which are the same on every machine."""

    def __init__(self, dtype: torch.dtype, special: bool) -> None:
        self.dtype, self.special, self._random = dtype, special, torch.Generator().manual_seed(0)

    def __call__(self, *shape: int, low: float = -4, high: float = 4) -> torch.Tensor:
        unit = torch.randint(0, 2**20, shape, generator=self._random).double() / 2**20
        found = (unit * (high - low) + low).to(self.dtype)
        if not self.special:
            return found
        limits = torch.finfo(self.dtype)
        notable = [0.0, 1.0, 0.5, 3.0, limits.tiny, limits.tiny / 4, limits.max, limits.eps, float("inf"), float("nan")]
        table = torch.tensor([*notable, *(-one for one in notable)], dtype=torch.float64).to(self.dtype)
        size = found.element_size()
        words = torch.randint(-(2**31), 2**31, shape, generator=self._random)
        bits = (words * 2**32 + words if size == 8 else words.to(WORDS[size])).to(WORDS[size]).view(self.dtype)
        choice = torch.randint(0, 4, shape, generator=self._random)
        place = torch.randint(0, len(table), shape, generator=self._random)
        return torch.where(choice == 0, table[place], torch.where(choice == 1, bits, found))


def _with_gradients(function: Callable[..., Any], *xs: torch.Tensor, special: bool = False) -> list[torch.Tensor]:
    """Results and the gradients of all operands."""
    xs = tuple(x.clone().requires_grad_(x.is_floating_point()) for x in xs)
    result = function(*xs)
    results = result if isinstance(result, tuple) else (result,)
    weights = [torch.linspace(-1, 1, one.numel(), dtype=torch.float64).reshape(one.shape).to(one.dtype) for one in results]
    wanted = [x for x in xs if x.requires_grad]
    return [*(one.detach() for one in results), *torch.autograd.grad(results, wanted, weights)]


#: One operation of IEEE 754 for each element: PyTorch computes them, here only NaN is made one.
SINGLE: dict[str, Callable[[Source, int], Any]] = {
    **{name: lambda s, n, name=name: getattr(torch, name)(s(n)) for name in "neg abs sqrt square reciprocal relu sign floor ceil round trunc frac".split()},
    **{name: lambda s, n, name=name: getattr(torch, name)(s(n), s(n)) for name in "add sub mul div".split()},
    **{f"{name} number": lambda s, n, name=name: getattr(torch, name)(s(n), 0.3) for name in "add sub mul div".split()},
    **{f"{name} strided": lambda s, n, name=name: getattr(torch, name)(s(4 * n)[::4], s(n)) for name in "add sub mul div".split()},
    **{f"{name} stretched": lambda s, n, name=name: getattr(torch, name)(s(min(n, 99))[:, None], s(min(n, 99))) for name in "add sub mul div".split()},
    **{f"{name} in place": lambda s, n, name=name: getattr(s(n), name + "_")(s(n)) for name in "add sub mul div".split()},
    **{f"{name} mixed": lambda s, n, name=name: getattr(torch, name)(s(n), s(n).float()) for name in "add sub mul div".split()},
    **{f"to {dtype}": lambda s, n, dtype=dtype: s(n).to(dtype) for dtype in DTYPES},
    "clamp": lambda s, n: s(n).clamp(-1, 1),
    "clamp from 0": lambda s, n: s(n).clamp(min=0),
    "clamp from -0": lambda s, n: s(n).clamp(min=-0.0),
    "clamp to 0": lambda s, n: s(n).clamp(max=0),
    "clamp to -0": lambda s, n: s(n).clamp(max=-0.0),
    "relu6": lambda s, n: F.relu6(s(n)),
    "leaky_relu": lambda s, n: F.leaky_relu(s(n), 0.1),
    "hardtanh": lambda s, n: F.hardtanh(s(n)),
    "threshold": lambda s, n: F.threshold(s(n), 0.1, 3),
    "max along": lambda s, n: s(3, n).max(1),
    "median": lambda s, n: s(3, n).median(1),
    "cummax": lambda s, n: s(3, n).cummax(1),
    "power 2": lambda s, n: s(n) ** 2,
    "rsub": lambda s, n: torch.rsub(s(n), 0.3),
    "div trunc": lambda s, n: torch.div(s(n), s(n), rounding_mode="trunc"),
    "copy": lambda s, n: torch.empty(n).copy_(s(n)),
    "columns in place": lambda s, n: s(n, 3)[:, 1].mul_(s(n)),
    "sort": lambda s, n: s(n).sort(),
    "argmax": lambda s, n: s(3, n).argmax(1),
    "where": lambda s, n: torch.where(s(n) > 0, s(n), s(n)),
    "foreach": lambda s, n: torch._foreach_mul([s(n)], [s(n)]),
}

_UNARY = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc lgamma rsqrt sigmoid"
).split()
_ACTIVATIONS = "silu gelu mish hardswish hardsigmoid logsigmoid softplus elu selu celu glu softsign tanhshrink".split()
_PAIRS = "fmod remainder maximum minimum fmax fmin atan2 hypot logaddexp logaddexp2 xlogy floor_divide pow".split()

#: Functions of each element.
FUNCTIONS: dict[str, Callable[[Source, int], Any]] = {
    **{name: lambda s, n, name=name: getattr(torch, name)(s(n)) for name in _UNARY},
    **{name: lambda s, n, name=name: getattr(F, name)(s(2 * n)) for name in _ACTIVATIONS},
    **{name: lambda s, n, name=name: getattr(torch, name)(s(n), s(n)) for name in _PAIRS},
    **{f"{name} number": lambda s, n, name=name: getattr(torch, name)(s(n), 0.3) for name in ("fmod", "remainder", "pow", "floor_divide", "xlogy")},
    **{f"{name} gradient": lambda s, n, name=name: _with_gradients(getattr(torch, name), s(n)) for name in _UNARY if name != "lgamma"},
    **{f"{name} gradient": lambda s, n, name=name: _with_gradients(getattr(F, name), s(2 * n)) for name in _ACTIVATIONS},
    "gelu by tanh": lambda s, n: _with_gradients(lambda x: F.gelu(x, approximate="tanh"), s(n)),
    "softplus 2": lambda s, n: _with_gradients(lambda x: F.softplus(x, 2, 3), s(n)),
    "elu in place": lambda s, n: F.elu_(s(n)),
    "logit": lambda s, n: _with_gradients(lambda x: torch.logit(x, 0.1), s(n, low=0, high=1)),
    "number to power": lambda s, n: torch.pow(1.7, s(n)),
    "power 3": lambda s, n: _with_gradients(lambda x: x**3, s(n)),
    "power 0.5": lambda s, n: s(n) ** 0.5,
    "power -1": lambda s, n: s(n) ** -1,
    "add alpha": lambda s, n: torch.add(s(n), s(n), alpha=0.3),
    "sub alpha": lambda s, n: torch.sub(s(n), s(n), alpha=0.3),
    "rsub alpha": lambda s, n: torch.rsub(s(n), s(n), alpha=0.3),
    "addcmul": lambda s, n: torch.addcmul(s(n), s(n), s(n), value=0.3),
    "addcdiv": lambda s, n: torch.addcdiv(s(n), s(n), s(n), value=0.3),
    "addcmul in place": lambda s, n: s(n).addcmul_(s(n), s(n), value=0.3),
    "lerp": lambda s, n: torch.lerp(s(n), s(n), 0.3),
    "lerp by": lambda s, n: torch.lerp(s(n), s(n), s(n, low=0, high=1)),
    "exp out": lambda s, n: torch.exp(s(n), out=torch.empty(0, dtype=s.dtype)),
    "exp transposed": lambda s, n: torch.exp(s(n, 3).t()),
    "exp of columns": lambda s, n: torch.exp(s(n, 3)[:, 1]),
    "sin of whole": lambda s, n: torch.arange(n).sin(),
    "foreach addcdiv": lambda s, n: torch._foreach_addcdiv([s(n)], [s(n)], [s(n)], 0.3),
    "foreach lerp": lambda s, n: torch._foreach_lerp([s(n)], [s(n)], 0.3),
    "foreach maximum": lambda s, n: torch._foreach_maximum([s(n)], 0.3),
    "arange": lambda s, n: torch.arange(0.1, n * 0.3, 0.3, dtype=s.dtype),
    "linspace": lambda s, n: torch.linspace(0.1, 7.7, n, dtype=s.dtype),
}


def _labels(n: int, classes: int) -> torch.Tensor:
    return torch.arange(n) * 11 % classes


#: Sums, and what is made of them.
SUMS: dict[str, Callable[[Source, int], Any]] = {
    **{name: lambda s, n, name=name: getattr(torch, name)(s(3, n)) for name in "sum mean prod nansum std var amax amin max min".split()},
    **{f"{name} along": lambda s, n, name=name: getattr(torch, name)(s(n, 5), 0) for name in "sum mean prod nansum std var amax amin logsumexp".split()},
    "sum keepdim": lambda s, n: s(2, n, 3).sum((0, 1), keepdim=True),
    "sum dtype": lambda s, n: s(2, n).sum(1, dtype=torch.float32),
    "sum transposed": lambda s, n: s(n, 3).t().sum(1),
    "sum of nothing": lambda s, n: s(0, 3).sum(0),
    "var_mean": lambda s, n: torch.var_mean(s(3, n), 1, correction=0),
    "aminmax": lambda s, n: torch.aminmax(s(3, n)),
    "cumsum": lambda s, n: s(3, n).cumsum(1),
    "cumprod": lambda s, n: s(3, n).cumprod(0),
    **{f"norm {p}": lambda s, n, p=p: torch.linalg.vector_norm(s(3, n), p, 1) for p in (0, 1, 2, 3, float("inf"), -float("inf"))},
    "norm": lambda s, n: _with_gradients(lambda x: x.norm(), s(n)),
    "dist": lambda s, n: torch.dist(s(n), s(n)),
    "trace": lambda s, n: s(min(n, 99), min(n, 99)).trace(),
    "softmax": lambda s, n: _with_gradients(lambda x: x.softmax(1), s(3, n)),
    "softmax 0": lambda s, n: _with_gradients(lambda x: x.softmax(0), s(3, n)),
    "log_softmax": lambda s, n: _with_gradients(lambda x: x.log_softmax(1), s(3, n)),
    "logsumexp": lambda s, n: _with_gradients(lambda x: x.logsumexp(1), s(3, n)),
    "safe_softmax": lambda s, n: torch.ops.aten._safe_softmax(s(3, n), 1),
    "layer_norm": lambda s, n: _with_gradients(lambda x, w, b: F.layer_norm(x, (n,), w, b), s(3, n), s(n), s(n)),
    "layer_norm mixed": lambda s, n: _with_gradients(lambda x, w, b: F.layer_norm(x, (n,), w, b), s(3, n), s(n).float(), s(n).float())
    if s.dtype != torch.float64
    else s(1),
    "rms_norm": lambda s, n: _with_gradients(lambda x, w: F.rms_norm(x, (n,), w), s(3, n), s(n)),
    "group_norm": lambda s, n: _with_gradients(lambda x, w, b: F.group_norm(x, 2, w, b), s(2, 4, n), s(4), s(4)),
    "batch_norm": lambda s, n: _batch_norm(s, n, True),
    "batch_norm fixed": lambda s, n: _batch_norm(s, n, False),
    "instance_norm": lambda s, n: _with_gradients(F.instance_norm, s(2, 3, n + 1)),
    "cross_entropy": lambda s, n: _with_gradients(lambda x: F.cross_entropy(x, _labels(n, 5)), s(n, 5)),
    "cross_entropy smooth": lambda s, n: _with_gradients(lambda x: F.cross_entropy(x, _labels(n, 5), label_smoothing=0.1), s(n, 5)),
    "cross_entropy weighted": lambda s, n: _with_gradients(
        lambda x: F.cross_entropy(x, _labels(n, 5), weight=torch.arange(1, 6).to(x.dtype), ignore_index=2, reduction="sum"), s(n, 5)
    ),
    "cross_entropy 2d": lambda s, n: _with_gradients(lambda x: F.cross_entropy(x, _labels(2 * n, 5).view(2, n, 1)), s(2, 5, n, 1)),
    "nll_loss none": lambda s, n: _with_gradients(lambda x: F.nll_loss(x, _labels(n, 5), reduction="none"), s(n, 5)),
    **{
        name: lambda s, n, name=name: _with_gradients(getattr(F, name), s(n), s(n))
        for name in "mse_loss l1_loss smooth_l1_loss huber_loss kl_div".split()
    },
    "soft_margin_loss": lambda s, n: _with_gradients(lambda x: F.soft_margin_loss(x, torch.ones(n, dtype=s.dtype)), s(n)),
    "bce": lambda s, n: _with_gradients(F.binary_cross_entropy, s(n, low=0.1, high=0.9), s(n, low=0, high=1)) if not s.special else s(1),
    "bce logits": lambda s, n: _with_gradients(F.binary_cross_entropy_with_logits, s(n), s(n)),
    "embedding": lambda s, n: _with_gradients(lambda w: F.embedding(_labels(n, 7), w), s(7, 3)),
    "embedding padded": lambda s, n: _with_gradients(lambda w: F.embedding(_labels(n, 7), w, padding_idx=2, scale_grad_by_freq=True), s(7, 3)),
    "index": lambda s, n: _with_gradients(lambda x: x[_labels(n, 7)], s(7, 3)),
    "index 2": lambda s, n: _with_gradients(lambda x: x[:, _labels(n, 3)], s(7, 3)),
    "index_put": lambda s, n: s(7, 3).index_put_((_labels(n, 7),), s(n, 3), accumulate=True),
    "gather": lambda s, n: _with_gradients(lambda x: x.gather(1, _labels(3 * n, 5).view(3, n)), s(3, 5)),
    "scatter_add": lambda s, n: s(3, 5).scatter_add(1, _labels(3 * n, 5).view(3, n), s(3, n)),
    "index_add": lambda s, n: s(3, 5).index_add(1, _labels(n, 5), s(3, n), alpha=0.3),
    "max_pool": lambda s, n: _with_gradients(lambda x: F.max_pool2d(x, 3, 2, 1), s(2, 2, n, 5)),
    "avg_pool": lambda s, n: _with_gradients(lambda x: F.avg_pool2d(x, 3, 2, 1), s(2, 2, n, 5)) if n > 1 else s(1),
    "adaptive_avg_pool": lambda s, n: _with_gradients(lambda x: F.adaptive_avg_pool2d(x, (2, 2)), s(2, 2, 6, 5)),
    "adaptive_avg_pool 1": lambda s, n: _with_gradients(lambda x: F.adaptive_avg_pool2d(x, 1), s(2, 2, n, 5)),
    "interpolate": lambda s, n: _with_gradients(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), s(1, 2, min(n, 9), 5)),
    "interpolate bicubic": lambda s, n: F.interpolate(s(1, 2, 7, 5), size=(9, 8), mode="bicubic"),
    "unfold": lambda s, n: _with_gradients(lambda x: x.unfold(1, 3, 2), s(3, n + 3)),
    "repeat": lambda s, n: _with_gradients(lambda x: x.repeat(3, 2), s(2, n)),
    "expand": lambda s, n: _with_gradients(lambda x: x.expand(5, n), s(1, n)),
    "histc": lambda s, n: s(n).histc(5, -1, 1),
    "foreach norm": lambda s, n: torch._foreach_norm([s(n), s(2 * n)]),
}


def _batch_norm(s: Source, n: int, training: bool) -> list[torch.Tensor]:
    mean, variance = s(3), s(3, low=0.5, high=2)
    found = _with_gradients(lambda x, w, b: F.batch_norm(x, mean, variance, w, b, training), s(2, 3, n + 1), s(3), s(3))
    return [*found, mean, variance]


def _module(s: Source, module: torch.nn.Module, *xs: torch.Tensor) -> list[torch.Tensor]:
    """Results and gradients of a module whose parameters come from the source."""
    names = dict(module.named_parameters())
    parameters = [s(*one.shape, low=-1, high=1) for one in names.values()]

    def call(*given: torch.Tensor) -> Any:
        found = torch.func.functional_call(module, dict(zip(names, given)), given[len(names) :])
        return found[0] if isinstance(found, tuple) else found

    return _with_gradients(call, *parameters, *xs)


#: Products of matrices: by the chip, or left alone.
PRODUCTS: dict[str, Callable[[Source, int], Any]] = {
    "mm": lambda s, n: s(5, n) @ s(n, 3),
    "mm transposed": lambda s, n: s(n, 5).t() @ s(3, n).t(),
    "mm out": lambda s, n: torch.mm(s(5, n), s(n, 3), out=torch.empty(0, dtype=s.dtype)),
    "addmm": lambda s, n: torch.addmm(s(3), s(5, n), s(n, 3), beta=0.3, alpha=1.7),
    "addmm in place": lambda s, n: s(5, 3).addmm_(s(5, n), s(n, 3)),
    "bmm": lambda s, n: torch.bmm(s(2, 5, n), s(2, n, 3)),
    "baddbmm": lambda s, n: torch.baddbmm(s(2, 5, 3), s(2, 5, n), s(2, n, 3), beta=0.3),
    "matmul": lambda s, n: _with_gradients(torch.matmul, s(2, 1, 5, n), s(3, n, 4)),
    "linear": lambda s, n: _with_gradients(F.linear, s(5, n), s(3, n), s(3)),
    "einsum": lambda s, n: torch.einsum("bij,bkj->bik", s(2, 5, n), s(2, 3, n)),
    "mv": lambda s, n: torch.mv(s(5, n), s(n)),
    "addmv": lambda s, n: torch.addmv(s(5), s(5, n), s(n), alpha=0.3),
    "dot": lambda s, n: torch.dot(s(n), s(n)),
    "addr": lambda s, n: torch.addr(s(5, n), s(5), s(n), beta=0.3, alpha=1.7),
    "bilinear": lambda s, n: F.bilinear(s(5, n), s(5, 3), s(2, n, 3), s(2)),
    "conv1d": lambda s, n: _with_gradients(lambda x, w, b: F.conv1d(x, w, b, 2, 1), s(2, 4, n), s(3, 4, 3), s(3)),
    "conv2d in groups": lambda s, n: _with_gradients(lambda x, w, b: F.conv2d(x, w, b, 1, 1, 2, 2), s(2, 4, n, 5), s(6, 2, 3, 3), s(6)),
    "conv transposed": lambda s, n: _with_gradients(lambda x, w, b: F.conv_transpose1d(x, w, b, 2), s(2, 4, n), s(4, 3, 3), s(3)),
    "attention": lambda s, n: _with_gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), s(1, 2, 5, n), s(1, 2, 5, n), s(1, 2, 5, 4)),
    "lstm": lambda s, n: _module(s, torch.nn.LSTM(n, 4), s(3, 2, n)),
}


def _drawn(draw: Callable[[], torch.Tensor]) -> list[torch.Tensor]:
    """Numbers of one seed, and the state of the generator after them."""
    torch.manual_seed(1)
    return [draw(), torch.get_rng_state()]


def _flipped(s: Source, n: int) -> torch.Tensor:
    """A place for numbers that is no row of them."""
    return torch.empty(3, n, dtype=s.dtype).t()


#: Random numbers that PyTorch draws with the same bits: made of the generator's by single operations.
DRAWN: dict[str, Callable[[Source, int], Any]] = {
    "rand": lambda s, n: _drawn(lambda: torch.rand(n, dtype=s.dtype)),
    "randint": lambda s, n: _drawn(lambda: torch.randint(-9, 9, (n,), dtype=s.dtype)),
    "uniform": lambda s, n: _drawn(lambda: s(n).uniform_(-1, 2.3)),
    "uniform transposed": lambda s, n: _drawn(lambda: _flipped(s, n).uniform_(-1, 2.3)),
    "bernoulli": lambda s, n: _drawn(lambda: torch.bernoulli(torch.rand(n, dtype=s.dtype))),
    "bernoulli out": lambda s, n: _drawn(lambda: torch.bernoulli(torch.rand(n, 3, dtype=s.dtype), out=_flipped(s, n))),
    "bernoulli in place": lambda s, n: _drawn(lambda: s(n).bernoulli_(0.3)),
    "bernoulli of chances": lambda s, n: _drawn(lambda: _flipped(s, n).bernoulli_(torch.rand(n, 3).to(s.dtype))),
    "bernoulli of integers": lambda s, n: _drawn(lambda: torch.empty(n, dtype=torch.uint8).bernoulli_(0.3)),
    "dropout": lambda s, n: _drawn(lambda: F.dropout(s(n), 0.3)),
    "native dropout": lambda s, n: _drawn(lambda: torch.native_dropout(s(n), 0.3, True)[1]),
    "geometric": lambda s, n: _drawn(lambda: s(n).geometric_(0.3)),
    "multinomial": lambda s, n: _drawn(lambda: torch.multinomial(torch.rand(3, n, dtype=s.dtype), 3)),
    "multinomial one": lambda s, n: _drawn(lambda: torch.multinomial(torch.rand(3, n, dtype=s.dtype), 1)),
    "multinomial replaced": lambda s, n: _drawn(lambda: torch.multinomial(torch.rand(n, dtype=s.dtype), 50, True)),
}
#: And those that PyTorch makes with the machine's functions.
MADE: dict[str, Callable[[Source, int], Any]] = {
    "randn": lambda s, n: _drawn(lambda: torch.randn(n, dtype=s.dtype)),
    "randn_like": lambda s, n: _drawn(lambda: torch.randn_like(s(n))),
    "randn_like transposed": lambda s, n: _drawn(lambda: torch.randn_like(_flipped(s, n))),
    "randn out": lambda s, n: _drawn(lambda: torch.randn(n, 3, out=_flipped(s, n))),
    "randn of a generator": lambda s, n: _drawn(lambda: torch.randn(n, dtype=s.dtype, generator=torch.Generator().manual_seed(n))),
    "randn in parts": lambda s, n: _drawn(lambda: torch.cat([torch.randn(3, dtype=s.dtype), torch.randn(n, dtype=s.dtype), torch.randn(4, dtype=s.dtype)])),
    "normal": lambda s, n: _drawn(lambda: torch.normal(s(n), 2.0)),
    "normal of deviations": lambda s, n: _drawn(lambda: torch.normal(2.0, torch.rand(n, dtype=s.dtype))),
    "normal of both": lambda s, n: _drawn(lambda: torch.normal(s(n, 1), torch.rand(3, dtype=s.dtype))),
    "normal of a size": lambda s, n: _drawn(lambda: torch.normal(0.5, 2.0, (n,), dtype=s.dtype)),
    "normal in place": lambda s, n: _drawn(lambda: s(n).normal_(1, 3)),
    "exponential": lambda s, n: _drawn(lambda: s(n).exponential_(2)),
    "log_normal": lambda s, n: _drawn(lambda: s(n).log_normal_(0, 0.5)),
    "cauchy": lambda s, n: _drawn(lambda: s(n).cauchy_(1, 2)),
}
#: What is compared with PyTorch's results, too.
CALLS = {**SINGLE, **FUNCTIONS, **SUMS, **PRODUCTS}
EVERY = {**CALLS, **DRAWN, **MADE}
LENGTHS = (7, 259)
#: How many random numbers: PyTorch draws them otherwise from 16 on.
SIZES = (1, 5, 15, 16, 19, 259)


def results(call: Callable[[Source, int], Any], dtype: torch.dtype, special: bool, n: int) -> list[torch.Tensor]:
    """What a call returns, as a list."""
    found = call(Source(dtype, special), n)
    return [found] if isinstance(found, torch.Tensor) else [one for one in found if isinstance(one, torch.Tensor)]


def digest(x: torch.Tensor) -> str:
    return hashlib.sha256(x.detach().resolve_neg().reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()).hexdigest()[:16]


def digests(emulated: bool) -> dict[str, Any]:
    """Of each call; of a sixth of them without an emulation, which is enough to see that PyTorch's differ."""
    found: dict[str, Any] = {}
    machine: dict[str, Any] = {}
    for name, call in list(EVERY.items())[:: 1 if emulated else 6]:
        emulation = bitmma.torch.emulate("h100", fp64=None)
        with emulation if emulated else nullcontext():
            for dtype in DTYPES:
                for special in (False, True):
                    for n in LENGTHS:
                        found[f"{name} {str(dtype)[6:]} {special} {n}"] = [digest(one) for one in results(call, dtype, special, n)]
        if emulation.account.machine:
            machine[name] = dict(emulation.account.machine)
    return {"digests": found, "machine": machine}


def drawn() -> dict[str, Any]:
    """Random numbers without an emulation and in one: digests and layouts."""
    found: dict[str, Any] = {}
    for name, call in DRAWN.items():
        for dtype in DTYPES:
            for n in SIZES if "multinomial" not in name else SIZES[1:]:
                both = []
                for context in (nullcontext(), bitmma.torch.emulate("h100", host="strict")):
                    with context:
                        both.append([(digest(one), str(one.dtype), one.shape, one.stride()) for one in results(call, dtype, False, n)])
                found[f"{name} {dtype} {n}"] = both
    return found


if __name__ == "__main__":
    print(json.dumps(drawn() if "drawn" in sys.argv[1:] else digests("plain" not in sys.argv[1:])))
