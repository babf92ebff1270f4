"""What is the chip's and what the host's: counts, the noise floor, functions of the chip, plans of calls, flips and ties."""

from __future__ import annotations

import json

import pytest

import bitmma

torch = pytest.importorskip("torch")
from decoder import Decoder  # noqa: E402

from bitmma.torch import noise  # noqa: E402
from bitmma.torch.account import kind_of  # noqa: E402
from bitmma.torch.page import page as html  # noqa: E402

emulate, compare = bitmma.torch.emulate, bitmma.torch.compare
aten = torch.ops.aten


class Norm(torch.nn.Module):
    """A layer between two RMS norms as models write them, and a choice at the end."""

    def __init__(self, width=64):
        super().__init__()
        self.up, self.head = torch.nn.Linear(width, width), torch.nn.Linear(width, 16, bias=False)

    def forward(self, x):
        for layer in (self.up, self.head):
            wide = x.float()
            x = layer((wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype))
        return torch.nn.functional.silu(x)


def norm():
    torch.manual_seed(0)
    return Norm().bfloat16(), torch.randn(50, 64).bfloat16()


def test_counts():
    model, x = norm()
    with torch.no_grad(), emulate("h100") as emulation:
        model(x)
        torch.nn.functional.dropout(x, 0.5)
    account = emulation.account
    assert sum(account.products.values()) == 2 and sum(account.multiplications.values()) == 50 * 64 * (64 + 16)
    assert account.host["functions"] == {"rsqrt": 2, "silu": 1} and account.host["reductions"] == {"mean": 2}
    assert account.host["arithmetic"]["pow"] == 2 and account.host["arithmetic"]["mul"] >= 2 and account.host["random"]
    assert not account.host["other"], account.host["other"]
    text = str(account)
    assert "\n" not in text and text.startswith("h100: 2 products; the host: 3 functions (rsqrt 2, silu 1), 2 reductions (mean 2)")
    table = account.table().splitlines()
    assert len(table) == 1 + len(account.products) + sum(map(len, account.host.values()))
    assert json.loads(json.dumps(account.to_dict()))["host"]["functions"]["silu"] == 1
    assert str(account) in emulation.report()


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (aten.exp.default, "functions"),
        (aten.silu_backward.default, "functions"),
        (aten.gelu.default, "functions"),
        (aten.add_.Tensor, "arithmetic"),
        (aten.sqrt.default, "arithmetic"),
        (aten.sum.dim_IntList, "reductions"),
        (aten.native_layer_norm_backward.default, "reductions"),
        (aten.embedding_dense_backward.default, "reductions"),
        (aten.relu.default, "exact"),
        (aten.cat.default, "exact"),
        (aten.transpose.int, "exact"),
        (aten.topk.default, "exact"),
        (aten.bernoulli_.float, "random"),
        (aten.normal_.default, "random"),
        (aten.special_entr.default, "functions"),
        (aten._cdist_forward.default, "other"),
    ],
)
def test_kinds(operation, kind):
    assert kind_of(operation) == kind


def test_functions_of_the_chip():
    """rsqrt as the chip's instruction; what is not known stays the host's and is said."""
    model, x = norm()
    values = torch.rand(1000) + 0.5
    with torch.no_grad(), emulate("h100", functions="h100") as emulation:
        found, narrow, other = values.rsqrt(), values.bfloat16().rsqrt(), values.exp2()
        model(x)
    exact = bitmma.functions.rsqrt(values, chip="h100")
    assert torch.equal(found, exact) and not torch.equal(found, values.rsqrt())
    assert torch.equal(narrow, bitmma.functions.rsqrt(values.bfloat16().float(), chip="h100").bfloat16())
    assert torch.equal(other, values.double().exp2().float()) and "exp2" in emulation.account.notes[0]
    assert sum(emulation.account.functions.values()) == 4 and "rsqrt" not in emulation.account.host["functions"]
    with emulate("v100", functions="v100"):
        assert torch.equal(values.exp2(), bitmma.functions.ex2(values, chip="v100"))
    with pytest.raises(bitmma.OptionError, match="mi300x"):
        emulate("mi300x", functions="mi300x")


def test_variations():
    """What each variation makes of one operation, against plain loops."""
    up, sums = noise.Varied("functions"), noise.Varied("sums")
    x = torch.rand(5, 300) + 0.1
    found = up(aten.rsqrt.default, (x,), {})
    assert torch.equal(found.view(torch.int32), x.rsqrt().view(torch.int32) + 1)
    narrow = up(aten.silu.default, (x.bfloat16(),), {})
    wide = torch.nn.functional.silu(x.bfloat16().float())
    assert torch.equal(narrow, (wide.view(torch.int32) + 1).view(torch.float32).bfloat16())
    total = torch.zeros(5)
    for column in range(300):
        total = total + x[:, column]
    assert torch.equal(sums(aten.sum.dim_IntList, (x, [1]), {}), total) and torch.equal(sums(aten.mean.dim, (x, [1], True), {}), total[:, None] / 300)
    assert torch.equal(sums(aten.sum.default, (x.t(),), {}), sums(aten.sum.default, (x.t().contiguous(),), {}))
    powers = (x - x.amax(1, True)).exp()
    total = torch.zeros(5)
    for column in range(300):
        total = total + powers[:, column]
    assert torch.equal(sums(aten._softmax.default, (x, 1, False), {}), powers / total[:, None])
    for own in (up, sums):
        norm, mean, rstd = own(aten.native_layer_norm.default, (x, [300], None, None, 1e-5), {})
        expected = aten.native_layer_norm(x, [300], None, None, 1e-5)
        for ours, theirs in zip((norm, mean, rstd), expected):
            assert ours.shape == theirs.shape and torch.allclose(ours, theirs, atol=1e-5)
    gradient = torch.randn(5, 300)
    for name, y in (("_softmax", x.softmax(1)), ("_log_softmax", x.log_softmax(1))):
        operation = getattr(aten, f"{name}_backward_data").default
        assert torch.allclose(sums(operation, (gradient, y, 1, torch.float32), {}), operation(gradient, y, 1, torch.float32), atol=1e-5)
    assert up(aten.add.Tensor, (x, x), {}) is NotImplemented and sums(aten.exp.default, (x,), {}) is NotImplemented
    assert sums(aten.var.correction, (x, [1]), {}) is NotImplemented and sums.left["var"] == 1


def test_the_noise_floor():
    """Each variation is one run more, against the first chip; the sentence names what is larger."""
    torch.manual_seed(0)
    model, ids = Decoder(2, 64, 4, 256).bfloat16(), torch.randint(256, (2, 64))
    found = compare(model, ids, chips=["h100", "a100", "b200"], reference=False)
    labels = [f"h100, {noise.described(name, 0)}" for name in noise.VARIATIONS]
    runs = [f"h100, {noise.described(name, draw)}" for name in noise.VARIATIONS for draw in range(3)]
    assert list(found.outcomes) == ["a100", "b200"] and found.others == ["a100", "b200"]
    assert list(found.floor) == [label for one in found.variations for label in one.runs], "each draw that changed something"
    assert set(found.floor) <= set(runs) and {labels[0], labels[2]} <= set(found.floor)
    assert [one.name for one in found.variations] == list(noise.VARIATIONS) and not any(one.idle for one in found.variations)
    with torch.no_grad(), emulate("h100") as emulation:
        plain = model(ids)
    with torch.no_grad(), emulate("h100", attention="flash"):
        tiles = model(ids)
    assert found.floor[labels[2]].logits.differing == int((plain != tiles).sum()) > 0
    assert found.modules[-1].floor[labels[2]] == found.floor[labels[2]].logits
    assert found.accounts["h100"].to_dict() == emulation.account.to_dict()
    assert found.verdict.startswith("within the noise floor: a100 differs from h100 no more than h100 from itself by these variations; b200 and h100 agree in every bit (")
    assert found.verdict in str(found) and found.verdict.findings == {"a100": "within the noise floor", "b200": "agrees"} and found.verdict.criterion == "noise floor"
    assert len(found.verdict.splitlines()) == 1 and json.loads(json.dumps(found.to_dict()))["floor"].keys() == set(found.floor)
    page = html(found)
    assert "noise floor" in page and labels[0] in page.replace("&#x27;", "'")
    fewer = compare(model, ids, chips=["h100", "a100"], reference=False, noise_floor="sums")
    assert [one.name for one in fewer.variations] == ["sums"] and all("sums of reductions" in label for label in fewer.floor)
    once = compare(model, ids, chips=["h100", "a100"], reference=False, noise_floor="attention", noise_draws=1)
    assert list(once.floor) == [labels[2]]
    none = compare(model, ids, chips=["h100", "a100"], reference=False, noise_floor=False)
    assert not none.floor and "no noise floor" in none.verdict and none.verdict.exit_code == 3
    with pytest.raises(bitmma.OptionError, match="noise_floor"):
        compare(model, ids, chips=["h100", "a100"], noise_floor=["sum"])
    with pytest.raises(bitmma.OptionError, match="noise_draws is 0; it must be 1 or more"):
        compare(model, ids, chips=["h100", "a100"], noise_draws=0)


def test_sentences_for_other_models():
    torch.manual_seed(0)
    plain = torch.nn.Sequential(torch.nn.Linear(256, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).half()
    x = (torch.randn(64, 256) * 2.0**-13).half()
    found = compare(plain, x, chips=["h100", "mi250x"], reference=False)
    assert found.verdict.startswith("no verdict: nothing was varied: functions varied nothing: the model has no elementwise function; ")
    assert found.verdict.exit_code == 3 and found.verdict.endswith("there is no reference in FP64; give reference=True")
    assert compare(plain, x, chips=["h100", "mi250x"]).verdict.findings == {"mi250x": "less accurate"}
    assert compare(plain, x, chips=["h100", "b200"], reference=False).verdict == "b200 and h100 agree in every bit"
    model = torch.nn.Sequential(torch.nn.Linear(256, 64), torch.nn.SiLU(), torch.nn.Linear(64, 8)).half()
    x = (torch.randn(1024, 256) * 2.0**-13).half()  # more samples see smaller differences
    found = compare(model, x, chips=["h100", "mi250x"], noise_floor=False)
    assert found.verdict.startswith("mi250x is less accurate than h100 by "), "subnormal numbers, which MI250X reads as zero"


def test_flips_and_ties():
    """A flip names the two classes and the gap between the best logits; a tie is called one."""
    from bitmma.torch.outcome import Logits, outcome

    ours = torch.tensor([[[1.0, 1.0, 0.0], [3.0, 2.5, 0.0], [0.0, 0.0, 5.0]]]).bfloat16()
    theirs = torch.tensor([[[1.0, 1.0078125, 0.0], [2.0, 2.5, 0.0], [0.0, 0.0, 5.0]]]).bfloat16()
    end = outcome(Logits(ours, 2), Logits(theirs, 2))
    assert (end.flips, end.ties, end.tied_flips, end.positions) == (2, 1, 1, 3)
    assert [(one.position, one.classes, one.gap, one.tie) for one in end.flipped] == [((0, 0), (0, 1), 0.0, True), ((0, 1), (0, 1), 0.5, False)]
    assert end.decisions == "2 of 3 most likely classes flip (1 exact ties, one with a gap of 0.5)"
    assert json.loads(json.dumps(end.to_dict()))["flipped"][1]["gap"] == 0.5


@pytest.mark.parametrize("platform", ["h100-sxm", "h200"])
def test_recorded_decisions_are_built_in(platform):
    """Products whose shapes were recorded have the plan of the call; others are declined by their shape."""
    layer = torch.nn.Linear(768, 768, bias=False).bfloat16()
    x = torch.randn(100, 768).bfloat16()
    with torch.no_grad(), emulate("h100", calls=platform) as emulation:
        found, other = layer(x[:64]), layer(x)
    assert torch.equal(found, bitmma.calls.linear(x[:64], layer.weight.detach(), platform=platform))
    assert sum(emulation.planned.values()) == 1 and "100×768×768 is not in the decisions" in next(iter(emulation.declined))
    assert emulation.account.planned_shares == (0.5, 64 / 164)
    assert "1 had a plan, 1 had none: 50% of the products, 39% of the multiplications" in emulation.report()
    assert len(other) == 100
