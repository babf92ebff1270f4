"""A model on several chips: every number is that of a plain loop, which runs each chip alone and compares tensors."""

from __future__ import annotations

import copy
import json
import math
from xml.etree import ElementTree

import pytest

import bitmma

torch = pytest.importorskip("torch")
from decoder import Decoder  # noqa: E402

from bitmma.torch.page import page  # noqa: E402

F = torch.nn.functional
CHIPS = ["a100", "h100", "mi300x"]


def decoder(layers=2, width=256):
    """The decoder of issue 20: two layers in BF16, with PyTorch's own random weights, and 128 tokens."""
    torch.manual_seed(0)
    model = Decoder(layers, width, heads=4, classes=256)
    model.apply(lambda module: module.reset_parameters() if hasattr(module, "reset_parameters") else None)
    return model.bfloat16(), torch.randint(256, (2, 64))


def alone(model, ids, chip):
    """One chip on its own: what each module hands on, in order, and what each Linear was given."""
    results, inputs, handles = {}, {}, []
    for name, module in model.named_modules():
        handles.append(module.register_forward_hook(lambda module, args, y, name=name: results.update({name: y.clone()})))
        handles.append(module.register_forward_pre_hook(lambda module, args, name=name: inputs.update({name: args[0].clone()})))
    with torch.no_grad(), bitmma.torch.emulate(chip):
        model(ids)
    for handle in handles:
        handle.remove()
    return results, inputs


def bits(tensor):
    return tensor.contiguous().view({2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()])


@pytest.fixture(scope="module")
def compared():
    """The decoder of the issue, what a plain loop finds, and what compare finds."""
    model, ids = decoder()
    return model, ids, {chip: alone(model, ids, chip) for chip in CHIPS}, bitmma.torch.compare(model, ids, chips=CHIPS, mode="both")


def test_counts_are_those_of_a_plain_loop(compared):
    model, ids, runs, comparison = compared
    rows = {row.name: row for row in comparison.modules}
    assert list(rows) == list(runs["a100"][0]), "every module, in the order in which they are done"
    for chip in CHIPS[1:]:
        for name, ours in runs["a100"][0].items():
            theirs = runs[chip][0][name]
            found = rows[name].differences[chip]
            differs = bits(ours) != bits(theirs)
            assert (found.elements, found.differing) == (ours.numel(), int(differs.sum())), (chip, name)
            assert found.first == (tuple(differs.nonzero()[0].tolist()) if differs.any() else None)
            assert found.largest == (ours.double() - theirs.double()).abs().max().item()
            norms = (ours.double() - theirs.double()).norm() / ours.double().norm()
            assert math.isclose(found.relative, norms.item(), rel_tol=1e-5)
            apart = (ordered(ours) - ordered(theirs)).abs()
            counts = [int(((apart >= 2**power) & (apart < 2 ** (power + 1))).sum()) for power in range(17)]
            assert found.codes_apart == tuple(counts[: len(found.codes_apart)]) and not any(counts[len(found.codes_apart) :])
    shares = [rows[name].differences["h100"].share for name in ("tokens", "blocks.0", "blocks.1", "head")]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] > 0.01, "it grows to the logits"


def ordered(tensor):
    """BF16 codes in the order of their values."""
    codes = bits(tensor).long()
    return torch.where(codes < 0, -(codes & 0x7FFF), codes)


def test_raw_sums_are_those_of_the_instruction(compared):
    model, ids, runs, comparison = compared
    layer, name = model.blocks[0].qkv, "blocks.0.qkv"
    sums = {}
    for chip in CHIPS[:2]:
        x = runs[chip][1][name].reshape(-1, 256)
        unit = (chip, bitmma.catalogue.choose(chip, "bf16", "bf16").name)
        sums[chip] = bitmma.gemm(unit, x, layer.weight.t()) + layer.bias.float()
    raw = next(row for row in comparison.modules if row.name == name).raw["h100"]
    assert raw.differing == int((sums["a100"] != sums["h100"]).sum()) > 1000
    row = next(row for row in comparison.products if row.name == name)
    assert row.raw["h100"] == raw and row.differences["h100"].differing < raw.differing / 100
    assert row.instructions["h100"].startswith("hopper wgmma") and row.instructions["a100"].startswith("ampere mma")


def test_the_first_difference_is_that_of_a_search_by_hand(compared):
    model, ids, runs, comparison = compared
    for chip in CHIPS[1:]:
        first = comparison.first[chip]
        name = next(name for name, ours in runs["a100"][0].items() if not torch.equal(ours, runs[chip][0][name]))
        ours, theirs = runs["a100"][0][name], runs[chip][0][name]
        element = tuple((ours != theirs).nonzero()[0].tolist())
        assert (first.module, first.element) == (name, element)
        found = first.product
        assert found.layer == name and found.operation == "addmm" and not found.backward
        row, column = element[0] * 64 + element[1], element[2]
        assert found.element == (row, column)
        assert (found.ours, found.theirs) == (ours[element].item(), theirs[element].item())
        # the term: the two instructions on the row and the column, one more element each time
        module = model.get_submodule(name)
        x, w = runs[chip][1][name].reshape(-1, 256)[row], module.weight[column].detach()
        units = [(one, bitmma.catalogue.choose(one, "bf16", "bf16").name) for one in ("a100", chip)]
        for term in range(256):
            cut = x.clone()
            cut[term + 1 :] = 0
            answers = [bitmma.gemm(unit, cut[None], w[:, None]).item() for unit in units]
            if answers[0] != answers[1]:
                break
        assert found.term == term
        sides = found.explain().sides
        assert [side.partial for side in sides] == [side.parting.value for side in sides] == answers
        assert [side.chip for side in sides] == ["a100", chip]
        assert "losing" in str(found.explain()), "what parts the two fell off on one side"
        assert found.steps == (term // 8, term // {"h100": 16, "mi300x": 8}[chip]), "fused sums of 8, 16 and 8 elements"
        for side, element_ in zip(sides, (found.ours, found.theirs)):
            bias = module.bias[column].float().item()
            assert torch.tensor(side.whole.value + bias).bfloat16().item() == element_ == side.element


def test_local_products_have_the_first_chips_operands(compared):
    model, ids, runs, comparison = compared
    name = "blocks.1.up"
    x, layer = runs["a100"][1][name].reshape(-1, 256), model.get_submodule(name)
    answers = {}
    for chip in CHIPS:
        unit = (chip, bitmma.catalogue.choose(chip, "bf16", "bf16").name)
        answers[chip] = (bitmma.gemm(unit, x, layer.weight.t()) + layer.bias.float()).bfloat16()
    row = next(row for row in comparison.local if row.name == name)
    propagated = next(row for row in comparison.products if row.name == name)
    for chip in CHIPS[1:]:
        count = int((answers["a100"] != answers[chip]).sum())
        assert row.differences[chip].differing == count < propagated.differences[chip].differing / 10


def test_the_end(compared):
    model, ids, runs, comparison = compared
    logits = {chip: runs[chip][0][""].reshape(-1, 256) for chip in CHIPS}
    reference = copy.deepcopy(model).double()(ids).reshape(-1, 256).detach()
    for chip in CHIPS[1:]:
        end = comparison.outcomes[chip]
        p, q = logits["a100"].double().softmax(-1), logits[chip].double().softmax(-1)
        divergence = (p * (p / q).log()).sum(-1)
        assert math.isclose(end.divergence, divergence.mean().item(), rel_tol=1e-6)
        assert math.isclose(end.largest_divergence, divergence.max().item(), rel_tol=1e-6)
        assert end.flips == int((logits["a100"].argmax(-1) != logits[chip].argmax(-1)).sum()) and end.positions == 128
        sets = [[set(row.tolist()) for row in logits[one].float().topk(5, -1).indices] for one in ("a100", chip)]
        assert math.isclose(end.overlap, sum(len(a & b) for a, b in zip(*sets)) / (5 * 128))
    flips = comparison.exactness["h100"].flips
    assert flips == int((reference.argmax(-1) != logits["h100"].argmax(-1)).sum())
    head = next(row for row in comparison.modules if row.name == "head")
    for chip in CHIPS:
        error = (logits[chip].double() - reference).norm() / reference.norm()
        assert math.isclose(head.errors[chip], error.item(), rel_tol=1e-4)
    assert head.errors["fp32"] < 1e-6 < head.errors["h100"]


def test_results_are_data(compared, tmp_path):
    comparison = compared[-1]
    text = json.dumps(comparison.to_dict())
    assert json.loads(text)["first"]["h100"]["module"] == "blocks.0.qkv"
    assert "h100 first differs in blocks.0.qkv, forward, addmm" in str(comparison)
    pandas = pytest.importorskip("pandas")
    frame = comparison.frame()
    assert isinstance(frame, pandas.DataFrame)
    row = frame[(frame["mode"] == "propagated") & (frame.kind == "module") & (frame.name == "head") & (frame.chip == "h100")]
    assert row.differing.item() == next(one for one in comparison.modules if one.name == "head").differences["h100"].differing


def test_backward_and_a_step_are_those_of_each_chip_alone():
    model, ids = decoder(layers=1, width=64)
    model.train()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    torch.manual_seed(7)
    state = torch.random.get_rng_state()

    def loss(logits):
        return F.cross_entropy(logits.float().reshape(-1, 256), ids.reshape(-1))

    found = bitmma.torch.compare(
        model, ids, chips=["a100", "mi300x"], loss=loss, optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.5)
    )
    assert all(torch.equal(parameter, before[name]) and parameter.grad is None for name, parameter in model.named_parameters())
    assert torch.equal(torch.random.get_rng_state(), state)
    gradients, parameters, losses = [], [], []
    for chip in ("a100", "mi300x"):
        model.load_state_dict(before)
        model.zero_grad(set_to_none=True)
        with bitmma.torch.emulate(chip):
            value = loss(model(ids))
            value.backward()
            torch.optim.SGD(model.parameters(), lr=0.5).step()
        losses.append(value.item())
        gradients.append({name: parameter.grad.clone() for name, parameter in model.named_parameters()})
        parameters.append({name: parameter.detach().clone() for name, parameter in model.named_parameters()})
    assert [found.losses[chip] for chip in ("a100", "mi300x")] == losses
    for rows, (ours, theirs) in ((found.gradients, gradients), (found.parameters, parameters)):
        counts = {row.name: row.differences["mi300x"].differing for row in rows}
        assert counts == {name: int((ours[name] != theirs[name]).sum()) for name in ours}
        assert sum(counts.values())
    assert any(row.backward for row in found.products)


def test_references_start_from_the_same_random_state():
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Dropout(0.5)).bfloat16().train()
    found = bitmma.torch.compare(model, torch.randn(8, 64).bfloat16(), chips=["a100", "h100"])
    errors = found.modules[-1].errors  # another mask would be an error near 1
    assert errors["fp32"] < 1e-6 < errors["h100"] < 0.01


def test_routes_that_part_are_said_and_compared_no_further():
    class Routed(torch.nn.Module):
        """The sign of a sum that flushing decides chooses the expert."""

        def __init__(self):
            super().__init__()
            self.gate, self.experts = torch.nn.Linear(8, 1, bias=False), torch.nn.ModuleList([torch.nn.Linear(8, 4), torch.nn.Linear(8, 6)])
            torch.nn.init.ones_(self.gate.weight)

        def forward(self, x):
            return self.experts[int(self.gate(x).item() > 0)](x)

    model, x = Routed().half(), torch.zeros(1, 8).half()
    x[0, 0] = 2.0**-20
    found = bitmma.torch.compare(model, x, chips=["mi250x", "h100"], reference=False)
    rows = {row.name: row.differences.get("h100") for row in found.modules}
    assert rows["gate"].differing == 1 and rows["experts.0"] is None
    assert rows["experts.1"].problem == "not on mi250x" and rows[""].problem == "1×4 float16 and 1×6 float16"
    assert "not on mi250x" in str(found) and found.first["h100"].module == "gate"


def test_models_that_cannot_be_cast_have_a_note_and_no_reference():
    found = bitmma.torch.compare(lambda a: a @ a.t(), torch.randn(8, 8).half(), chips=["a100", "h100"])
    assert found.notes == ["no reference in FP32 and FP64: the model is a function, whose tensors cannot be cast"]
    assert [row.operation for row in found.products] == ["mm"] and not found.modules

    class Insists(torch.nn.Linear):
        def forward(self, x):
            return torch.nn.functional.linear(x.half(), self.weight, self.bias)

    found = bitmma.torch.compare(Insists(8, 8).half(), torch.randn(8, 8).half(), chips=["a100", "h100"])
    assert found.notes[0].startswith("no reference in FP64: RuntimeError: ")


def test_the_headline_says_how_many_products_were_emulated(compared):
    count = sum(1 for row in compared[-1].products)
    headline = str(compared[-1]).splitlines()[0]
    assert headline == f"h100, mi300x compared with a100, each on its own values: {count} of {count} products emulated on each"
    assert compared[-1].emulated == dict.fromkeys(CHIPS, count) and f"Coverage: {count} of {count}" in page(compared[-1])
    layer, x = torch.nn.Linear(300, 8), torch.randn(4, 300)

    def mixed(x):
        return layer(x).bfloat16() @ layer.weight.bfloat16()

    for mode in ("propagated", "local", "both"):
        found = bitmma.torch.compare(mixed, x, chips=["mi300x", "h100"], mode=mode)
        assert str(found).splitlines()[0].endswith("emulated 2 of 2 products on mi300x, 1 of 2 products on h100"), mode
        assert found.emulated == {"mi300x": 2, "h100": 1} and json.loads(json.dumps(found.to_dict()))["emulated"] == found.emulated


def test_a_product_that_one_chip_leaves_is_no_agreement():
    layer, x = torch.nn.Linear(300, 8), torch.randn(4, 300)
    chips = {"TF32": bitmma.torch.Chip("h100", fp32="tf32"), "h100": "h100"}
    found = bitmma.torch.compare(lambda x: (layer(x), x.bfloat16() @ x.bfloat16().t())[1], x, chips=chips)
    assert str(found).splitlines()[1] == "h100 first differs in Linear addmm, which was not emulated on both"
    assert "h100</b> first differs in Linear addmm" in page(found)


def test_a_chip_on_which_nothing_is_emulated_is_an_error():
    """An FP32 model was said to agree throughout on chips that left it alone."""
    layer, x = torch.nn.Linear(16, 8), torch.randn(4, 16)
    why = r"so there is nothing to compare; left as they were:\n  1 × addmm float32: {0} has no FP32 matrix instruction; fp32='tf32' takes TF32"
    for chips, chip in ((["a100", "h100"], "a100"), (["mi300x", "h100"], "h100")):
        for mode in ("propagated", "local", "both"):
            with pytest.raises(bitmma.OptionError, match=f"no product was emulated on {chip}, {why.format(chip)}"):
                bitmma.torch.compare(layer, x, chips=chips, mode=mode)
    with pytest.raises(bitmma.OptionError, match="the model ran without a matrix product on a100: there is nothing to compare"):
        bitmma.torch.compare(torch.nn.ReLU(), x, chips=["a100", "h100"])
    assert bitmma.torch.compare(layer, x, chips=["a100", "h100"], fp32="tf32").emulated == {"a100": 1, "h100": 1}


def test_what_is_asked_for_wrongly():
    model, ids = decoder(layers=1, width=64)
    compare = bitmma.torch.compare
    with pytest.raises(bitmma.OptionError, match="mode is 'global'; one of 'propagated', 'local', 'both'"):
        compare(model, ids, chips=["a100", "h100"], mode="global")
    with pytest.raises(bitmma.OptionError, match="chips has 1; two or more are compared"):
        compare(model, ids, chips=["a100"])
    with pytest.raises(bitmma.OptionError, match="backward needs loss="):
        compare(model, ids, chips=["a100", "h100"], backward=True, reference=False)
    with pytest.raises(bitmma.UnknownArchitecture):
        compare(model, ids, chips=["a100", "h1000"])


def test_the_page_needs_nothing_from_elsewhere_and_holds_the_numbers(compared, tmp_path):
    comparison = compared[-1]
    path = comparison.save(tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    text = text.replace(' xmlns="http://www.w3.org/2000/svg"', "")
    assert "http" not in text and "<script" not in text and not list(tmp_path.glob("*.part"))
    tree = ElementTree.fromstring(text.replace("<!doctype html>", ""))  # well-formed
    assert len(list(tree.iter("svg"))) == len(list(tree.iter("figure"))) == 3
    cells = {"".join(row[0].itertext()): [cell.text for cell in row[1:]] for table in tree.iter("table") for row in table.iter("tr")}
    rows = {row.title: row for row in comparison.modules}
    for name in ("blocks.0.qkv", "blocks.1", "head"):
        shares = [100 * rows[name].differences[chip].share for chip in CHIPS[1:]]
        for share, shown in zip(shares, cells[name]):
            assert abs(float(shown.strip("<> %")) - share) < 0.051
    ends = [f"{comparison.outcomes[chip].flips} of 128" for chip in CHIPS[1:]]
    assert cells["most likely flips"][:2] == ends
    # a line's points are where its values are: the shares of the first chip, on an evenly divided axis
    shares = [row.differences["h100"].share for row in comparison.modules if row.leaf]
    heights = [float(one.get("cy")) for one in next(tree.iter("svg")).iter("circle")][: len(shares)]
    lowest, highest = shares.index(min(shares)), shares.index(max(shares))
    unit = (heights[highest] - heights[lowest]) / (shares[highest] - shares[lowest])
    assert unit < 0 and all(abs(heights[lowest] + unit * (share - shares[lowest]) - y) < 0.2 for share, y in zip(shares, heights))
    shown = comparison._repr_html_()
    assert shown.startswith('<div class="bitmma note">') and shown.count("<svg") == 3 and "most likely flips" in shown


def test_a_page_names_what_is_hostile_to_html(tmp_path):
    chips = {"<b>trainer</b>": "a100", "server & co": "h100"}
    found = bitmma.torch.compare(torch.nn.Linear(64, 64).bfloat16(), torch.randn(64, 64).bfloat16(), chips=chips)
    text = found.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<b>trainer" not in text and "&lt;b&gt;trainer&lt;/b&gt;" in text and "server &amp; co" in text


def test_tallies_of_every_dtype_by_hand():
    """What differs, by how much, and where: rows of pairs, the first that differs, and codes apart."""
    from bitmma.torch.tally import tally

    inf, nan = math.inf, math.nan
    rows = [
        (torch.bfloat16, [0.0, 1.0], [-0.0, 1.0], (1, 0.0, (0,), 0, (1,))),  # +0 and -0 are two, one code apart at most
        (torch.float16, [1.0, nan, 2.0], [1.0, nan, 2.0 + 2**-7], (1, 2**-7, (2,), 0, (0, 0, 1))),
        (torch.float32, [inf, 1.0], [2.0, -1.0], (2, 2.0, (0,), 1, None)),
        (torch.float64, [1.0, nan], [1.0 + 2**-52, 3.0], (2, 2**-52, (0,), 1, None)),
        (torch.float8_e4m3fn, [448.0, 1.0], [nan, 1.125], (2, 0.125, (0,), 1, (2,))),
        (torch.int64, [5, -7], [5, 9], (1, 16.0, (1,), 0, ())),
        (torch.uint8, [5, 200], [5, 0], (1, 200.0, (1,), 0, ())),
        (torch.bool, [True, False], [True, True], (1, 1.0, (1,), 0, ())),
    ]
    for dtype, ours, theirs, (differing, largest, first, not_finite, apart) in rows:
        pair = [torch.tensor(one, dtype=torch.float64).to(dtype) for one in (ours, theirs)]
        found = tally(*pair)
        assert (found.differing, found.largest, found.first, found.not_finite) == (differing, largest, first, not_finite), dtype
        assert apart is None or found.codes_apart == apart, dtype
        assert tally(*pair, sizes=False).differing == differing
    # other layouts are read row by row
    x = torch.arange(12.0).reshape(3, 4)
    y = x.clone()
    y[2, 1] = -1
    assert tally(x.t(), y.t()).first == (1, 2) and tally(x[:, ::2], y[:, ::2]).differing == 0
    assert tally(torch.complex(x, x), torch.complex(x, y)).first == (2, 1, 1)
    assert tally(x[:0], y[:0]) == tally(x[:0], x[:0])


def test_calls_are_refused():
    with pytest.raises(bitmma.OptionError, match="compare has no calls: give a plan of bitmma.calls.plan_call as a chip"):
        bitmma.torch.compare(torch.nn.Linear(4, 4), torch.ones(1, 4), chips=CHIPS, calls="h100-pcie")
