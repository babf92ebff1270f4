"""Models that are compiled for several chips, compared launch by launch."""

from __future__ import annotations

import os
from typing import Any

import pytest

from common import pretended_gpu_or_skip

pretended_gpu_or_skip()
import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import bitmma.torch  # noqa: E402
from bitmma.errors import OptionError  # noqa: E402

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)

CHIPS = ["a100", "h100"]
ALONE = {"unfused": False, "eager": False, "noise_floor": False}


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


class Cancels(torch.nn.Module):
    """A product whose terms cancel, so that what a chip cuts is seen."""

    def __init__(self) -> None:
        super().__init__()
        weight = torch.randn(32, 16)
        self.weight = torch.nn.Parameter(torch.cat((weight, -weight * 1.01)).bfloat16())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        torch._dynamo.graph_break()
        z = y @ self.weight
        return z


def test_the_first_kernel_that_differs() -> None:
    model = Cancels()
    x = torch.randn(16, 32) * 2.0 ** torch.randint(-8, 8, (16, 32))
    x = torch.cat((x, x), 1).bfloat16()
    found = bitmma.torch.compare_compiled(model, x, chips=CHIPS, fullgraph=False, unfused=False)
    first = found.first["h100"]
    assert (first.launch, first.graph, first.output) == (1, 1, "out_ptr0") and first.kernel.startswith("triton_tem_fused")
    (line,) = [one for one in first.lines if "@" in one]
    assert line.startswith("test_inductor_compared.py:") and line.endswith("z = y @ self.weight")
    with torch.no_grad():
        products = []
        for chip in CHIPS:
            with bitmma.torch.emulate(chip):
                products.append((x * 2) @ model.weight)
    differing = int((products[0] != products[1]).sum())
    for pair in ("h100 and a100, compiled", "h100 and a100, not compiled"):
        assert found.totals[pair].differing == differing > 0 and found.totals[pair].elements == 256
    assert found.totals["a100, not compiled and compiled"].differing == 0
    *_, products_differ = (found.totals[pair] for pair in found.floor)
    assert len(found.floor) == 3 and products_differ.differing > 0
    text = str(found)
    assert text.startswith("h100 first differs from a100 in launch 1, triton_tem_fused") and line in text and "noise floor: a100, not compiled, every function one FP32 ulp up" in text


def test_every_run_starts_from_the_same() -> None:
    """Random numbers, optimizers, what functions close over, and results that are numbers."""
    layer, held = torch.nn.Linear(4, 4), {"sum": torch.zeros(4), "calls": 0}
    optimizer = torch.optim.SGD(layer.parameters(), 0.1, momentum=0.9)

    def model(x: torch.Tensor) -> torch.Tensor:
        held["sum"].add_(x.sum(0))
        return F.dropout(x, 0.5) * layer.weight + held["sum"]

    def step(model: Any, x: torch.Tensor) -> tuple[float, None, str]:
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss.item(), None, "text"

    before, weight = torch.random.get_rng_state(), layer.weight.detach().clone()
    found = bitmma.torch.compare_compiled(model, torch.ones(4, 4), chips=CHIPS, step=step, unfused=False, noise_floor=False)
    assert found.first == {"h100": None} and not any(total.differing or total.problem for total in found.totals.values()), str(found)
    names = set(found.outputs["h100 and a100, compiled"])
    assert "output 0" in names and any(name.startswith("gradient of") for name in names) and found.totals["h100 and a100, compiled"].elements > 16
    assert "a100, not compiled and compiled" not in found.totals and "draws random numbers" in found.notes[0]
    assert torch.equal(layer.weight, weight) and layer.weight.grad is None and not optimizer.state and held["sum"].tolist() == [0.0] * 4
    assert torch.equal(torch.random.get_rng_state(), before)

    def counts(model: Any, x: torch.Tensor) -> Any:
        held["calls"] += 1
        return model(x) + held["calls"]

    with pytest.raises(bitmma.Error, match="two runs on a100 differ: the model, or step, depends on something else"):
        bitmma.torch.compare_compiled(lambda x: x * 2, torch.ones(4), chips=CHIPS, step=counts, **ALONE)


def test_nothing_is_fused() -> None:
    x = torch.randn(1000).bfloat16()
    found = bitmma.torch.compare_compiled(lambda x: (x * 3).exp(), x, chips=CHIPS, eager=False, noise_floor=False)
    with bitmma.torch.emulate("a100"):
        rounded = (x * 3).exp()
    differing = int((rounded != (x.float() * 3).exp().bfloat16()).sum())
    assert abs(found.totals["a100, nothing fused and compiled"].differing - differing) <= 1 < differing, "the product is rounded to BF16, or is not"
    assert found.totals["h100 and a100, nothing fused"].differing == 0


def test_random_numbers_go_on_as_before() -> None:
    draws = bitmma.torch.compile(lambda x: torch.rand(4) + x, "h100")
    zeros = torch.zeros(4)
    draws(zeros)
    second = draws(zeros)
    torch.manual_seed(0)
    draws(zeros)
    bitmma.torch.compare_compiled(lambda x: torch.rand(4) + x, zeros, chips=CHIPS, **ALONE)
    assert torch.equal(draws(zeros), second)


def test_what_cannot_be_compared() -> None:
    for chips in ("a100", ["a100"], ["a100", "a100"]):
        with pytest.raises(OptionError, match="two chips or more are compared, each once"):
            bitmma.torch.compare_compiled(torch.exp, torch.ones(2), chips=chips)
    with pytest.raises(OptionError, match="choices are of one chip"):
        bitmma.torch.compare_compiled(torch.exp, torch.ones(2), chips=CHIPS, choices={"kernel": {}})
    with pytest.raises(OptionError, match="two chips or more are compared, each once"):
        bitmma.torch.compare_compiled(torch.exp, torch.ones(2), chips=["h100", "H100"])
    with pytest.raises(OptionError, match="compare_compiled has no option 'y'; it has outside, attention, .*, and inputs are given by place"):
        bitmma.torch.compare_compiled(torch.exp, torch.ones(2), chips=CHIPS, y=3)
    with pytest.raises(bitmma.Error, match="no graph that was compiled for a100 ran: step must call what it is given"):
        bitmma.torch.compare_compiled(torch.exp, torch.ones(2), chips=CHIPS, step=lambda compiled, x: x, **ALONE)
    with pytest.raises(OptionError, match="returns a value of type set, which cannot be compared"):
        bitmma.torch.compare_compiled(torch.exp, torch.ones(2), chips=CHIPS, step=lambda compiled, x: {compiled(x)}, **ALONE)


def test_what_a_run_changes_is_as_before_in_the_same_objects() -> None:
    layer, rate, generator = torch.nn.Linear(4, 4).bfloat16(), torch.tensor(0.1), torch.Generator().manual_seed(3)
    optimizer = torch.optim.SGD(layer.parameters(), rate)
    master = optimizer.state[layer.weight]["master"] = layer.weight.detach().float() + 1e-4
    numbers, state = master.clone(), generator.get_state()

    def step(compiled: Any, x: torch.Tensor) -> Any:
        layer.eval()
        compiled(x + torch.rand(1, generator=generator).bfloat16()).float().sum().backward()
        optimizer.step()
        rate.mul_(0.5)
        optimizer.state[layer.weight]["master"].zero_()
        return layer.weight.float().detach().numpy().copy()

    again = bitmma.torch.compile(layer, "h100")  # what is compiled for one chip is compiled for others
    bitmma.torch.compare_compiled(again, torch.ones(2, 4).bfloat16(), chips=CHIPS, step=step, **ALONE)
    assert optimizer.state[layer.weight]["master"] is master and torch.equal(master, numbers) and master.dtype == torch.float32
    assert optimizer.param_groups[0]["lr"] is rate and rate == torch.tensor(0.1) and torch.equal(generator.get_state(), state) and layer.training
