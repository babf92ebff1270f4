"""Attention in models that are compiled for a chip that is not here: it must be said, and has the bits of the emulation."""

from __future__ import annotations

import os
from typing import Any

import pytest

from common import pretended_gpu_or_skip

pretended_gpu_or_skip()
import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import bitmma.torch  # noqa: E402

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)

attend = F.scaled_dot_product_attention


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def half(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).bfloat16()


def gradients(function: Any, inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The result, and the gradients of its sum of squares."""
    inputs = [one.detach().requires_grad_() for one in inputs]
    out = function(*inputs)
    return out.detach(), *torch.autograd.grad(out.float().square().sum(), inputs)


def test_it_has_the_bits_of_the_emulation() -> None:
    """Forward and backward, with a head dimension and lengths that are padded, causal, and grouped heads under a checkpoint."""

    def function(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        grouped = checkpoint(lambda *one: attend(*one, scale=0.3, enable_gqa=True), a, b, c, use_reentrant=False)
        return torch.cat((attend(q * 1.5, k, v, is_causal=True).flatten(), grouped.transpose(1, 2).flatten()))

    given = [*(half(1, 2, 150, 40) for _ in range(3)), half(1, 4, 20, 16), half(1, 2, 33, 16), half(1, 2, 33, 16)]
    compiled = bitmma.torch.compile(function, "h100", attention="flash")
    found = gradients(compiled, given)
    with bitmma.torch.emulate("h100", attention="flash") as emulation:
        expected = gradients(function, given)
    assert all(map(torch.equal, found, expected))
    account = compiled.account.attention
    assert sum(account.values()) == 5 and all(how.startswith("flash, tiles of") for how in account), "the checkpoint computes one again"
    assert emulation.account.attention.keys() == account.keys() and not compiled.outside


@torch._dynamo.allow_in_graph
def whole(q: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.scaled_dot_product_attention(q, q, q)


LAYER = torch.nn.MultiheadAttention(32, 4, batch_first=True).bfloat16()
PLACES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "function": (lambda q: attend(q, q, q), (1, 2, 20, 16)),
    "module": (lambda x: LAYER(x, x, x, need_weights=False)[0], (2, 10, 32)),
    "not looked into": (whole, (1, 2, 20, 16)),
    "branch": (lambda q: torch.cond(q.sum() < 9e9, lambda q: attend(q, q, q), lambda q: q * 1, (q,)), (1, 2, 20, 16)),
}


@pytest.mark.parametrize("name", PLACES)
def test_it_is_said_wherever_it_is_called(name: str) -> None:
    function, shape = PLACES[name]
    x = half(*shape)
    with torch.no_grad():
        with pytest.raises(Exception, match="for which a GPU chooses a kernel .*: say attention='math' or 'flash'"):
            bitmma.torch.compile(function, "h100")(x)
        torch._dynamo.reset()
        found = bitmma.torch.compile(function, "a100", attention="flash")(x)
        with bitmma.torch.emulate("a100", attention="flash"):
            expected = attend(x, x, x) if name == "branch" else function(x)
    assert torch.equal(found, expected)


def test_what_inductor_replaces_by_it() -> None:
    q, k, v = (half(1, 2, 20, 16) for _ in range(3))
    function = lambda q, k, v: (q @ k.transpose(-2, -1)).mul(0.25).softmax(-1) @ v  # noqa: E731
    with pytest.raises(Exception, match="has products and a softmax that Inductor replaces by it"):
        bitmma.torch.compile(function, "h100")(q, k, v)
    torch._dynamo.reset()
    with bitmma.torch.emulate("h100", attention="flash"):
        expected = attend(q, k, v, scale=0.25)
    assert torch.equal(bitmma.torch.compile(function, "h100", attention="flash")(q, k, v), expected)


def test_products_and_a_softmax() -> None:
    q = half(1, 2, 16, 16)
    function = lambda q: attend(q, q, q, is_causal=True)  # noqa: E731
    compiled = bitmma.torch.compile(function, "h100", attention="math")
    assert (compiled(q).double() - function(q.double())).abs().max() < 0.02 and not compiled.outside and not compiled.account.attention


def test_autocast_comes_first() -> None:
    q = torch.randn(1, 2, 20, 16)

    def cast(q: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return attend(q, q, q)

    found = bitmma.torch.compile(cast, "h100", attention="flash")(q)
    with bitmma.torch.emulate("h100", attention="flash"):
        assert torch.equal(found, attend(*(q.bfloat16(),) * 3))


def test_what_it_does_not_compute_is_named() -> None:
    q, single = half(1, 2, 20, 16), torch.randn(1, 2, 20, 16)
    for function, x, why in (
        (lambda q: attend(q, q, q), single, "it computes in float16 and bfloat16, not in float32"),
        (lambda q: attend(q, q, q, attn_mask=torch.ones(20, 20, dtype=torch.bool)), q, "FlashAttention-2 has no such mask"),
        (lambda q: attend(q, q, q, dropout_p=0.5), q, "dropout 0.5"),
        (lambda q: torch.vmap(lambda x: attend(x, x, x))(q), half(2, 2, 20, 16), "inside of a transform of torch.func"),
    ):
        torch._dynamo.reset()
        with pytest.raises(Exception, match=f"attention is 'flash', which does not compute this call .*: {why}.*; say attention='math'"):
            bitmma.torch.compile(function, "h100", attention="flash")(x)
    torch._dynamo.reset()
    with pytest.raises(Exception, match="attention is 'flash', which does not compute this call .*: 20 keys and 21 values"):
        bitmma.torch.compile(attend, "h100", attention="flash")(q, q, half(1, 2, 21, 16))
    torch._dynamo.reset()
    between = torch._dynamo.disable(lambda q: attend(q, q, q))
    with pytest.raises(bitmma.Error, match="runs _scaled_dot_product_flash_attention_for_cpu outside of what was compiled, where no attention is emulated"):
        bitmma.torch.compile(lambda q: between(q * 2) + 1, "h100", attention="flash", fullgraph=False, outside="gemm")(q)
    with pytest.raises(bitmma.Error, match="called outside of a graph"):
        torch.ops.bitmma.flash_attention(q[0], q[0], q[0], False, 1.0)
