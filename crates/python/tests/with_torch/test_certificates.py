"""What a certificate covers, and training steps that are compiled as a whole."""

from __future__ import annotations

import collections
import dataclasses
import functools
import os
import sys
import types
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

from common import pretended_gpu_or_skip

pretended_gpu_or_skip()
import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import bitmma.torch  # noqa: E402
from bitmma.torch.inductor.held import CertificateError, Held, digest  # noqa: E402

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def flip(tensor: torch.Tensor) -> None:
    """One bit of the first element."""
    tensor.data.view(-1).view(torch.int32)[0] ^= 1


class Scaled(torch.nn.Module):
    """A layer with a buffer that a run changes, and a tensor that is neither."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8)
        self.extra = torch.ones(8)

    def forward(self, x: torch.Tensor, *, scale: torch.Tensor) -> torch.Tensor:
        return self.norm(self.layer(x)) * self.extra * scale


class Run:
    """A training step whose optimizer is the host's, which can be started again."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model, self.x, self.scale = Scaled(), torch.randn(4, 8), torch.randn(8)
        self.compiled = bitmma.torch.compile(self.model, "h100")
        self._state = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.start()

    def start(self) -> None:
        self.model.load_state_dict(self._state)
        self.model.zero_grad()
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.steps = [0]

    def step(self, compiled: Any, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = compiled(x, scale=scale).square().mean()
        loss.backward()
        self.optimizer.step()
        self.steps[0] += 1
        return loss.detach()

    def certify(self) -> bitmma.torch.Certificate:
        return self.compiled.certify(self.x, step=self.training, scale=self.scale)

    @property
    def training(self) -> Any:
        """Holds the optimizer and the steps, and not this."""
        return functools.partial(Run.step, Steps(self.optimizer, self.steps))


@dataclasses.dataclass
class Steps:
    optimizer: Any
    steps: list[int]


def test_a_bit_of_whatever_a_step_reads_or_changes(tmp_path: Path) -> None:
    run = Run()
    certificate = run.certify()
    certificate.save(tmp_path / "run.json")
    changed = {"model.norm.running_mean", "model.layer.weight", "model.layer.weight.grad", "step.args[0].optimizer.state[0]['exp_avg']", "step.args[0].steps[0]"}
    assert changed <= certificate.changed.keys() and "model.extra" in certificate.held and list(certificate.inputs) == ["input 0", "input scale"]
    assert "model.extra" not in certificate.changed and "input 0" not in certificate.changed and list(certificate.result) == ["the result"]
    again = run.certify()
    assert "step.args[0].optimizer.state[0]['exp_avg']" in again.held.keys() - certificate.held.keys() and certificate.differences(again), "it goes on from what the first run left"
    run.start()
    assert bitmma.torch.verify(tmp_path / "run.json", run.model, run.x, step=run.training, scale=run.scale) == []

    def certified(change: Callable[[], Any]) -> list[str]:
        run.start()
        change()
        return certificate.differences(run.certify())

    assert certified(lambda: None) == []
    # the step discards what gradients there were
    assert certified(lambda: setattr(run.model.layer.weight, "grad", torch.ones(8, 8))) == []
    for change, first in (
        (lambda: flip(run.model.norm.running_var), "model.norm.running_var differs before the run"),
        (lambda: run.optimizer.param_groups[0].update(weight_decay=0.010000001), "step.args[0].optimizer.group 0['weight_decay'] differs before the run"),
        (lambda: run.steps.append(7), "step.args[0].steps[1] differs before the run"),
    ):
        assert certified(change)[0] == first
    for tensor, first in ((run.model.extra, "model.extra differs before the run"), (run.scale, "input scale differs")):
        flip(tensor)
        assert certified(lambda: None)[0] == first
        flip(tensor)

    def keeps_gradients() -> None:
        run.optimizer.zero_grad = lambda: None
        for one in run.model.parameters():
            one.grad = torch.ones_like(one)

    assert all("after the run" in one for one in certified(keeps_gradients)) and run.model.layer.weight.grad.abs().max() > 1
    # what a run leaves is compared, not only what it starts from
    for name in ("graphs", "result", "changed", "inputs", "held", "kernels"):
        for other in forged(getattr(certificate, name)):
            assert certificate.differences(dataclasses.replace(certificate, **{name: other})), name


def forged(part: Any) -> list[Any]:
    """A part of a certificate in which one digest is another one, for each of up to three."""
    wrong = digest("wrong")
    if isinstance(part, dict):
        return [{**part, name: [wrong] if isinstance(part[name], list) else wrong} for name in list(part)[:3]]
    return [
        [dataclasses.replace(graph, **{name: [*getattr(graph, name)[:-1], wrong]}) if graph is one else graph for graph in part]
        for one in part
        for name in ("given", "outputs", "left")
    ]  # fmt: skip


FACTOR = torch.full((4,), 2.0)


class Owner:
    def __init__(self) -> None:
        self.weight, self.calls = torch.ones(4), 0

    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def test_functions_hold_what_they_enclose() -> None:
    enclosed, owner, x = torch.ones(4), Owner(), torch.randn(4)

    def function(x: torch.Tensor, *, other: torch.Tensor = torch.zeros(4)) -> torch.Tensor:
        return x * enclosed + other

    def inner(x: torch.Tensor) -> torch.Tensor:
        return function(x) * FACTOR

    for model, name, tensor in (
        (function, "model.enclosed", enclosed),
        (owner.scaled, "model.weight", owner.weight),
        (functools.partial(function, other=x), "model.keywords['other']", x),
        (inner, "model.FACTOR", FACTOR),
    ):
        before = Held({"model": model}).digests
        flip(tensor)
        after = Held({"model": model}).digests
        assert [one for one in before if before[one] != after[one]] == [name]
        flip(tensor)
    layer, seen = torch.nn.Linear(2, 2), torch.ones(3)
    layer.register_forward_hook(lambda *about: seen.sum())
    assert list(Held({"model": layer}).digests) == ["model.weight", "model.bias", "model._forward_hooks[0].seen"], "by place, not by the process's number"
    compiled = bitmma.torch.compile(owner.scaled, "h100")
    certificate = compiled.certify(x)
    assert certificate.held.keys() == {"model.weight", "model.calls"} and bitmma.torch.verify(certificate, owner.scaled, x) == []
    flip(owner.weight)
    assert bitmma.torch.verify(certificate, owner.scaled, x)[0] == "model.weight differs before the run"
    # it does not depend on sizes of calls before
    sums = bitmma.torch.compile(lambda x: x.exp().sum(-1), "h100")
    for rows in (3, 5):
        sums(torch.randn(rows, 64))
    long = torch.randn(7, 64)
    assert bitmma.torch.verify(sums.certify(long), lambda x: x.exp().sum(-1), long) == []
    doubled = bitmma.torch.compile(lambda x: x.mul_(2), "h100").certify(x.clone())
    assert list(doubled.changed) == ["input 0"] and doubled.graphs[0].given != doubled.graphs[0].left


def test_what_has_a_digest() -> None:
    sparse = torch.tensor([[0.0, 1], [2, 0]])
    values = [sparse, sparse.to_sparse(), sparse.to_sparse_csr(), sparse.bfloat16(), sparse[0], -0.0, 0.0, 0, False, None, torch.float16, sparse.numpy()]
    assert len({digest(one) for one in values}) == len(values)
    assert digest(torch.arange(4)[::2]) == digest(torch.tensor([0, 2])) and digest(torch.tensor([], dtype=torch.int8)) != digest(torch.tensor([]))
    with pytest.raises(CertificateError, match="on meta has no digest"):
        digest(torch.empty(3, device="meta"))
    with pytest.raises(CertificateError, match=r"input 0\['a'\]\[1\] is a value of type object, which has no digest"):
        Held({"input 0": {"a": [1, object()]}}, strict=True)


GLOBAL: Any = None
QUEUE: collections.deque[torch.Tensor] = collections.deque()


class Plain(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.exp()


class Counted:
    """A step that changes its own class."""

    last = torch.zeros(4)

    def __call__(self, compiled: Any, x: torch.Tensor) -> None:
        Counted.last = compiled(x)


class Noted(torch.optim.SGD):
    """An optimizer with an attribute that it changes."""

    note: Any = None

    def step(self, closure: Any = None) -> None:
        self.last = [one.grad.clone() for group in self.param_groups for one in group["params"]]


@functools.lru_cache
def cached(dtype: torch.dtype, held: Any = [torch.zeros(4)]) -> torch.Tensor:  # noqa: B006
    return held[0]


def to_global(compiled: Any, x: torch.Tensor) -> None:
    global GLOBAL
    GLOBAL = compiled(x)


def to_attribute(compiled: Any, x: torch.Tensor) -> None:
    to_attribute.last = compiled(x)  # type: ignore[attr-defined]


def to_queue(compiled: Any, x: torch.Tensor) -> None:
    QUEUE.append(compiled(x))


def to_module(compiled: Any, x: torch.Tensor) -> None:
    of_users.tensor.copy_(compiled(x))


def to_imported(compiled: Any, x: torch.Tensor) -> None:
    import of_users

    of_users.tensor.copy_(compiled(x))


def to_cached(compiled: Any, x: torch.Tensor) -> None:
    cached(x.dtype).copy_(compiled(x))


of_users: Any = types.ModuleType("of_users")
of_users.tensor = torch.zeros(4)


def test_whatever_a_step_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Global names, attributes of functions, classes, modules and optimizers, queues, what a cached function holds."""
    monkeypatch.setitem(sys.modules, "of_users", of_users)
    weight, objects = torch.nn.Parameter(torch.ones(4)), np.empty(1, object)
    objects[0] = torch.zeros(4)
    optimizer, tensors, slots = Noted([weight], lr=0.1), {torch.zeros(4)}, types.SimpleNamespace(last=0)

    def to_optimizer(x: torch.Tensor) -> None:
        weight.grad = x
        optimizer.step()

    steps: tuple[tuple[Callable[..., Any], str], ...] = (
        (to_global, "step.GLOBAL"),
        (to_attribute, "step.__dict__['last']"),
        (to_queue, "step.QUEUE[0]"),
        (to_module, "step.of_users.tensor"),
        (to_imported, "step.of_users.tensor"),
        (to_cached, "step.cached.defaults[0][0]"),
        (Counted(), "step.__class__.last"),
        (lambda compiled, x: to_optimizer(compiled(x)), "step.to_optimizer.optimizer.last[0]"),
        (lambda compiled, x: objects[0].copy_(compiled(x)), "step.objects[0]"),
        (lambda compiled, x: [one.copy_(compiled(x)) for one in tensors], "step.tensors[0]"),
        (lambda compiled, x: setattr(slots, "last", compiled(x)), "step.slots.last"),
    )
    for place, (step, name) in enumerate(steps):
        before = Held({"step": step})
        step(torch.exp, torch.full((4,), float(place)))
        assert [one for one in before.changed(Held({"step": step})) if not one.endswith(".grad")] == [name]


def test_a_result_is_covered_or_refused() -> None:
    x, run = torch.randn(4), bitmma.torch.compile(Plain(), "h100")
    owner, double = Owner(), lambda value: value * 2
    owner.weight = x
    one, other = ([run.certify(x, step=lambda compiled, x: wrap(function(compiled(x)))).result for wrap in WRAPPERS] for function in (torch.sin, torch.cos))
    assert all(map(dict.__ne__, one, other)) and len({*map(repr, one)}) > 2
    for wrong, name in ((lambda x: torch.distributions.Normal(x, 1.0), "Normal"), (iter, "list_iterator"), (lambda x: object(), "object"), (lambda x: Empty(), "Empty")):
        with pytest.raises(CertificateError, match=rf"the result\[0\] is a value of type {name}"):
            run.certify(x, step=lambda compiled, x: [wrong([compiled(x)] if wrong is iter else compiled(x))])
    # functions of libraries are named, methods hold their objects
    held = [Held({"input 0": value}, strict=True).digests for value in (torch.sin, torch.cos, F.relu, np.sin, len, torch.nn.ReLU(), torch.nn.GELU(), torch.nn.ReLU, owner.scaled, x.add_, [], None, {torch.float16: 1}, {torch.float32: 1})]
    assert len({*map(repr, held)}) == len(held) and all(held)
    with pytest.raises(CertificateError, match="input 0 is the function .*<lambda>, which holds nothing"):
        Held({"input 0": double}, strict=True)
    numbers = tuple([1, 2])
    assert Held({"a": numbers, "b": numbers}).digests == Held({"a": tuple([1, 2]), "b": tuple([1, 2])}).digests, "one object or two"


class Empty:
    pass


WRAPPERS: list[Any] = [
    lambda x: collections.deque([x]), str, lambda x: {"a": x}.values(), lambda x: {x}, lambda x: np.array([x, None], object), lambda x: types.SimpleNamespace(x=x), lambda x: frozenset(x.tolist()),
]  # fmt: skip


def test_calls_before_and_modes() -> None:
    """A certificate is of one compilation, and says under which modes of PyTorch, and from which seed."""
    scaled = bitmma.torch.compile(lambda x, by: x.exp() * by, "h100")
    for rows, by in ((4, 0.5), (5, 0.7)):
        scaled(torch.ones(rows, 64), by)
    x = torch.randn(6, 64)
    certificate = scaled.certify(x, 0.9)
    verify = functools.partial(bitmma.torch.verify, certificate, lambda x, by: x.exp() * by, x, 0.9)
    assert verify() == []
    for mode, difference in (
        (torch.no_grad(), "grad_mode is True, and False"),
        (torch.inference_mode(), "inference_mode is False, and True"),
        (torch.autocast("cpu", torch.bfloat16), "autocast is None, and 'torch.bfloat16'"),
        (torch.autocast("cpu", torch.bfloat16, enabled=False), None),
    ):
        with mode:
            found = verify()
        assert (difference in found) if difference else not found
    dropped = bitmma.torch.compile(lambda x: F.dropout(x), "h100")
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        found.append(dropped.certify(x))
    assert found[0] == found[1] and "the random numbers' state differs before the run" in found[0].differences(found[2]) and "the random numbers' state" not in certificate.held


def test_files_that_are_no_certificates(tmp_path: Path) -> None:
    certificate = bitmma.torch.compile(Plain(), "h100").certify(torch.ones(4))
    certificate.save(tmp_path / "run.json")
    text = (tmp_path / "run.json").read_text()
    sealed = dataclasses.replace(certificate, options={**certificate.options, "dynamic": "yes"})
    with pytest.raises(bitmma.Error, match="dynamic is 'yes'; None, True or False was expected"):
        bitmma.torch.verify(sealed, Plain(), torch.ones(4))
    for content, message in (
        ("[" * 200000, "is no certificate: "),
        (text.replace("{", '{"version": 3, ', 1), "is no certificate: 'version' is in it twice"),
        (text.replace('"version": 3', '"version": 3.0'), "has version 3.0; 3 was expected"),
    ):
        (tmp_path / "wrong.json").write_text(content)
        with pytest.raises(CertificateError, match=message):
            bitmma.torch.Certificate.load(tmp_path / "wrong.json")


def test_a_training_step_as_a_whole() -> None:
    """Forward and backward passes and the optimizer are the chip's; parameters are updated at once, as on a GPU."""
    x, states = torch.randn(5, 8), {}
    for foreach in (None, False):
        torch.manual_seed(0)
        torch._dynamo.reset()
        model = torch.nn.Linear(8, 4)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, foreach=foreach)

        def step(x: torch.Tensor, model: Any = model, optimizer: Any = optimizer) -> torch.Tensor:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), torch.zeros(5, 4))
            loss.backward()
            optimizer.step()
            return loss.detach()

        compiled = bitmma.torch.compile(step, "h100", fullgraph=False)
        losses = [compiled(x) for _ in range(3)]
        assert losses[0] > losses[2] and not compiled.outside and not any(compiled.account.host.values()) and not compiled.account.left
        assert len(compiled.code) == 3 and sum(one.launches for one in compiled.kernels.values()) > 10
        assert any(name.startswith("triton_for_fused") for name in compiled.kernels) is (foreach is None), "all parameters in one launch"
        states[foreach] = [*model.parameters()]
    assert not all(map(torch.equal, states[None], states[False])), "it is a choice of the device"
    torch.manual_seed(0)
    plain = torch.nn.Linear(8, 4)
    optimizer = torch.optim.Adam(plain.parameters(), lr=1e-2)
    for _ in range(3):
        step(x, plain, optimizer)
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(states[None], plain.parameters()))
    assert "cpu" not in sys.modules["torch.optim.optimizer"]._get_foreach_kernels_supported_devices(), "eager optimizers choose as before"


def test_the_step_of_an_optimizer() -> None:
    """Alone, and what it refuses: what PyTorch computes by a kernel of its own."""
    for make in (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.RMSprop(p)):
        results = []
        for compiles in (True, False):
            torch.manual_seed(0)
            torch._dynamo.reset()
            layer = torch.nn.Linear(8, 4)
            optimizer = make(layer.parameters())
            step = bitmma.torch.compile(optimizer.step, "h100") if compiles else optimizer.step
            for _ in range(3):
                optimizer.zero_grad()
                layer(torch.ones(2, 8)).square().sum().backward()
                step()
            results.append(list(layer.parameters()))
        assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(*results))
    layer = torch.nn.Linear(8, 4)
    groups = [{"params": [layer.weight]}, {"params": [layer.bias], "momentum": 0.9}]
    wrong = torch.optim.SGD(groups, lr=0.1)
    for step in (wrong.step, lambda: wrong.step()):
        with pytest.raises(bitmma.Error, match="parameter group 0 of SGD has no momentum, and group 1 has: .* put group 1 first"):
            bitmma.torch.compile(step, "h100")
    bitmma.torch.compile(torch.optim.SGD(groups[::-1], lr=0.1).step, "h100")
    layer(torch.ones(2, 8)).sum().backward()
    fused = torch.optim.Adam(layer.parameters(), fused=True)
    with pytest.raises(bitmma.torch.inductor.outside.OutsideCall, match="outside of what was compiled"):
        bitmma.torch.compile(fused.step, "h100")()
