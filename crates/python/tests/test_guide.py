"""Every Python snippet of the guide and of the README runs; what is printed stands in the text block after it."""

from __future__ import annotations

import contextlib
import io
import re

import pytest

from common import ROOT

FENCE = re.compile(r"^```(python|text)[^\n]*\n(.*?)^```$", re.M | re.S)


def snippets(path):
    """Sections (by heading) of snippets; those of one section share their names."""
    sections = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.M)
    return [(text.splitlines()[0], FENCE.findall(text)) for text in sections[1:] if "```python" in text]


GUIDE = snippets(ROOT / "docs/guide.md")


@pytest.mark.parametrize(("title", "blocks"), GUIDE, ids=[title for title, _ in GUIDE])
def test_the_guide(title, blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module in re.findall(r"^import (ml_dtypes|torch)\b", "\n".join(text for _, text in blocks), re.M):
        pytest.importorskip(module)
    names = {"__name__": "guide"}
    printed = ""
    for kind, text in blocks:
        if kind == "text":
            assert printed.strip() == text.strip()
            continue
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(text, f"guide: {title}", "exec"), names)
        printed = output.getvalue()


@pytest.mark.parametrize("page", ["from-your-code", "functions"])
def test_a_page(page):
    (_, blocks), = snippets(ROOT / f"docs/{page}.md")
    (_, program), = [block for block in blocks if block[0] == "python"]
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(program, page, "exec"), {})
    following = blocks[[kind for kind, _ in blocks].index("python") + 1]
    assert following == ("text", output.getvalue())


def test_the_readme():
    blocks = [text for _, found in snippets(ROOT / "README.md") for kind, text in found if kind == "python"]
    assert blocks
    for text in blocks:
        exec(compile(text, "README.md", "exec"), {})
