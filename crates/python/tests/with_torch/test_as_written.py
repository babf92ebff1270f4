"""``torch.compile`` inside of an emulation: the function runs as it is written, and a warning says so."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from processes import run  # noqa: E402
from torch.nn.attention.flex_attention import flex_attention  # noqa: E402

import bitmma.torch  # noqa: E402
from bitmma.errors import NotCompiled  # noqa: E402


def written(x: Any) -> Any:
    return (x @ x).sin() + 1


def test_it_is_said() -> None:
    x = torch.randn(16, 16).bfloat16()
    layer = torch.nn.Linear(16, 16).bfloat16()
    compiled, module = torch.compile(written, backend="eager"), torch.compile(layer, backend="eager")
    with bitmma.torch.emulate("h100"):
        expected, of_layer = written(x), layer(x)
    found: list[Any] = []
    with bitmma.torch.emulate("h100") as emulation:
        with pytest.warns(NotCompiled, match=r"^written is compiled by torch.compile and runs as written inside of the emulation of h100: .* bitmma.torch.compile\(model, chip\)"):
            found.append(compiled(x))
        with pytest.warns(NotCompiled, match="^Linear is compiled"):
            found.append(module(x))
        with pytest.warns(NotCompiled, match="^written is compiled"):
            thread = threading.Thread(target=lambda: found.append(compiled(x)))
            thread.start()
            thread.join()
    assert torch.equal(found[0], expected) and torch.equal(found[1], of_layer) and torch.equal(found[2], expected)
    assert len(emulation.products) == 3


def test_elsewhere_nothing_is_said() -> None:
    graphs = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(written, backend=backend)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCompiled)
        with bitmma.torch.emulate("h100", other_threads="plain"):
            thread = threading.Thread(target=compiled, args=(torch.ones(4, 4),))
            thread.start()
            thread.join()
            q = torch.randn(1, 1, 16, 16).bfloat16()
            flex_attention(q, q, q)  # PyTorch would compile it
        assert len(graphs) == 1
        compiled(torch.ones(5, 5))
    assert len(graphs) == 2


PROGRAM = """
import sys, warnings, torch, bitmma.torch
with bitmma.torch.emulate("h100"), warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert "torch._dynamo" not in sys.modules
    torch.compile(lambda x: x + 1)(torch.ones(2))
print([one.category.__name__ for one in caught], torch.compile.__name__, torch.compile.__module__)
"""


def test_also_where_the_compiler_is_imported_inside(tmp_path: Path) -> None:
    done = run("-c", PROGRAM, cwd=tmp_path)
    assert done.stdout == "['NotCompiled'] compile torch\n", done.stdout + done.stderr
