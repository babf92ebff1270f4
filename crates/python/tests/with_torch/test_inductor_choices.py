"""Choices that a GPU makes by measuring: recorded, given, and read from the files of a run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from common import pretended_gpu_or_skip

pretended_gpu_or_skip()
import torch  # noqa: E402
from torch._inductor.runtime import autotune_cache, triton_heuristics  # noqa: E402

import bitmma.torch  # noqa: E402
from bitmma.errors import OptionError  # noqa: E402
from bitmma.torch.inductor import Backend, Options  # noqa: E402

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)

TUNED: dict[str, Any] = {"settings": {"max_autotune": True}}
#: Another configuration than the rule's, with other bits.
OTHER = {"XBLOCK": 4, "R0_BLOCK": 4, "num_warps": 8, "num_stages": 1}


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def sums(x: torch.Tensor) -> torch.Tensor:
    return x.exp().sum(-1)


def test_they_are_recorded_and_given(tmp_path: Path) -> None:
    x = torch.randn(4, 3000)
    by_rule = bitmma.torch.compile(sums, "h100", **TUNED)
    first = by_rule(x)
    ((name, rule),) = by_rule.choices.items()
    assert name.startswith("triton_red_fused_exp_sum_0 ") and rule != OTHER
    torch._dynamo.reset()
    chosen = bitmma.torch.compile(sums, "h100", choices={name: OTHER}, **TUNED)
    other = chosen(x)
    assert chosen.choices == {name: OTHER} and not torch.equal(first, other)
    assert torch.equal(by_rule(x), first) and torch.equal(chosen(x), other), "they share no code"
    certificate = chosen.certify(x)
    certificate.save(tmp_path / "run.json")
    assert bitmma.torch.verify(tmp_path / "run.json", sums, x) == []
    torch._dynamo.reset()
    again = bitmma.torch.compile(sums, "h100", choices=by_rule.choices, **TUNED)
    assert torch.equal(again(x), first) and certificate.differences(again.certify(x))[0].startswith("choices is ")
    for choices, message in (
        ({name: {"XBLOCK": 3}}, rf"choices has {{'XBLOCK': 3}} for {name}, which has the configurations {{'XBLOCK': 4"),
        ({name.split()[0]: OTHER}, f"by which several graphs may call a kernel: say '{name}'"),
        ({name: 3}, "a dictionary of configurations by kernel was expected"),
    ):
        torch._dynamo.reset()
        with pytest.raises(Exception, match=message):
            bitmma.torch.compile(sums, "h100", choices=choices, **TUNED)(x)
    torch._dynamo.reset()
    with pytest.warns(UserWarning, match=f"choices has kernels that no graph of the model has so far: nothing 12; it has {name}"):
        assert torch.equal(bitmma.torch.compile(sums, "h100", choices={"nothing 12": OTHER}, **TUNED)(x), first)


def test_graphs_call_other_kernels_the_same() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first = sums(x)
        torch._dynamo.graph_break()
        return first, sums(y)

    x, y = torch.randn(4, 3000), torch.randn(4, 5000)
    by_rule = bitmma.torch.compile(function, "h100", fullgraph=False, **TUNED)
    expected = by_rule(x, y)
    one, two = by_rule.choices
    assert one.split()[0] == two.split()[0] and one != two
    torch._dynamo.reset()
    chosen = bitmma.torch.compile(function, "h100", fullgraph=False, choices={two: OTHER}, **TUNED)
    found = chosen(x, y)
    assert torch.equal(found[0], expected[0]) and not torch.equal(found[1], expected[1])
    assert chosen.choices == {one: by_rule.choices[one], two: OTHER}


def test_those_of_a_run(tmp_path: Path) -> None:
    """Its files are written by PyTorch's own code, as after measuring."""
    x = torch.randn(4, 3000)
    by_rule = bitmma.torch.compile(sums, "h100", **TUNED)
    first = by_rule(x)
    (name,) = by_rule.choices
    torch._dynamo.reset()
    other = bitmma.torch.compile(sums, "h100", choices={name: OTHER}, **TUNED)(x)
    code, kept = tmp_path / "code.py", tmp_path / "kept"
    code.write_text(by_rule.code[0])

    def measured(configurations: list[Any], filename: str, meta: Any, **about: Any) -> Any:
        cache = autotune_cache.AutotuneCache.create({**meta, "autotune_local_cache": True}, str(kept / "ab" / Path(filename).name), triton_heuristics.hash_configs(configurations))
        cache.save(next(one for one in configurations if one.kwargs["R0_BLOCK"] == 4), 1000)
        return configurations, None, {}

    with mock.patch.object(triton_heuristics, "check_autotune_cache", measured):
        Backend(Options("h100")).run_code(by_rule.code[0], [x])
    (file,) = kept.rglob("*.best_config")
    for best, expected in ((kept, other), ([file], other), (None, first)):
        (found,) = bitmma.torch.run_output_code(code, [x], "h100", best_configs=best)
        assert torch.equal(found, expected)
    text = file.read_text()
    for best, content, message in (
        (kept, json.dumps({**json.loads(text), "configs_hash": "0" * 64}), "was made for other configurations of triton_red_fused_exp_sum_0 than it has here: its configs_hash is 000000000000…"),
        (kept, json.dumps({"configs_hash": json.loads(text)["configs_hash"]}), "XBLOCK is None; a number from 1 on was expected"),
        (kept, "[", "cannot be read"),
        (kept, "[]", "holds a list; a dictionary was expected"),
        (tmp_path / "nothing", text, "nothing, which is no file"),
        (code, text, "code.py, which is no file of PyTorch's that ends with .best_config"),
        ([], text, "no file that ends with .best_config in an empty list"),
        (kept, text.replace('"R0_BLOCK": 4', '"R0_BLOCK": "4"'), "R0_BLOCK is '4'; a number from 1 on was expected"),
        (5, text, "best_configs is 5; a folder, or files"),
    ):
        file.write_text(content)
        with pytest.raises(OptionError, match=message):
            bitmma.torch.run_output_code(code, [x], "h100", best_configs=best)
    file.write_text(text)
    with pytest.raises(OptionError, match="best_configs and choices both say"):
        bitmma.torch.run_output_code(code, [x], "h100", best_configs=kept, choices={name: OTHER})
    with pytest.raises(OptionError, match=r"has shape \(4, 30\) and strides \(30, 1\); \(4, 3000\) and strides \(3000, 1\) were expected"):
        bitmma.torch.run_output_code(code, [x[:, :30].contiguous()], "h100")
    with pytest.warns(UserWarning, match="choices has kernels that the code has not: nothing"):
        bitmma.torch.run_output_code(code, [x], "h100", choices={"nothing": OTHER})
    file.rename(file.with_name("other.best_config"))
    with pytest.raises(OptionError, match=f"best_configs has no {file.name}, which would hold the configuration of triton_red_fused_exp_sum_0; it has 1 other files: .*the same build of PyTorch"):
        bitmma.torch.run_output_code(code, [x], "h100", best_configs=kept)
