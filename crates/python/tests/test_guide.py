"""Every Python block of README and of the pages runs; what is printed stands in the text block after it.

Blocks of one section share their names. A block after ``<!-- not run: REASON -->`` is left out; that every block has a
reason or a test is checked by ``crates/bitmma/tests/cli/command/pages.rs``.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from common import ROOT

FENCE = re.compile(r"^(<!-- not run:[^\n]*-->\n)?```(\w+)\n(.*?)^```$", re.M | re.S)
# run as files: Triton reads the source of its kernels
IN_FILES = {"kernels"}


def snippets(path: Path) -> list[tuple[str, list[tuple[str, str]]]]:
    """Sections (page and heading) of blocks that run, each with its language."""
    sections = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.M)
    found = []
    for text in sections:
        blocks = [(kind, block) for reason, kind, block in FENCE.findall(text) if not reason]
        if any(kind == "python" for kind, _ in blocks):
            found.append((f"{path.stem}: {text.splitlines()[0]}", blocks))
    return found


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SECTIONS = [section for page in PAGES if page.stem not in IN_FILES for section in snippets(page)]


@pytest.mark.parametrize(("title", "blocks"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_a_section(title, blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    programs = "\n".join(text for kind, text in blocks if kind == "python")
    for module in re.findall(r"^import (ml_dtypes|torch|triton)\b", programs, re.M):
        pytest.importorskip(module)
    names = {"__name__": "page"}
    printed = None
    for kind, text in blocks:
        if kind == "text" and printed is not None:
            assert printed.strip() == text.strip()
        printed = None
        if kind != "python":
            continue
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(text, title, "exec"), names)
        printed = output.getvalue()


def test_every_page_is_read():
    titles = {title.split(":")[0] for title, _ in SECTIONS}
    assert {"README", "first-result", "python", "pytorch", "error-analysis", "explain-a-mismatch", "probing"} <= titles


def test_the_page_of_the_api_is_current():
    ended = subprocess.run([sys.executable, ROOT / "scripts/python-api", "--check"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
