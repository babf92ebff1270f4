"""What ptxas really makes of a text: the number of fused products in its SASS, beside the number that the rule predicts."""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

#: Fused multiply-adds of FP32, FP64 and packed halves, as SASS names them, with their operands.
OPCODES = re.compile(r"^\s*(?:/\*[0-9a-f]+\*/)?\s*(?:@!?U?P\w+\s+)?[FDH]FMA2?\b([^;]*)", re.MULTILINE)


class Sass(NamedTuple):
    """The check of one text."""

    #: The version of ptxas.
    ptxas: str
    #: Fused multiply-adds that contraction makes, counted in the SASS.
    fused: int
    #: The same as the rule predicts it.
    predicted: int

    @property
    def agrees(self) -> bool:
        """Whether the two are the same."""
        return self.fused == self.predicted


def _found(name: str) -> str | None:
    """The path of a tool: of the CUDA toolkit, or of Triton's wheel."""
    on_path = shutil.which(name)
    if on_path:
        return on_path
    triton = importlib.util.find_spec("triton")
    for folder in (triton.submodule_search_locations or []) if triton else []:
        path = Path(folder) / "backends" / "nvidia" / "bin" / name
        if path.exists():
            return str(path)
    return None


def tools(target: str) -> tuple[str, str] | None:
    """ptxas and nvdisasm for a target such as ``sm_90a``; None where one of them is not installed."""
    digits = re.search(r"\d+", target)
    # Triton compiles by the second from sm_90 on
    names = ["ptxas-blackwell", "ptxas"] if digits and int(digits[0]) >= 90 else ["ptxas"]
    assembler = next(filter(None, map(_found, names)), None)
    disassembler = _found("nvdisasm")
    return (assembler, disassembler) if assembler and disassembler else None


@functools.lru_cache(maxsize=None)
def _version(assembler: str) -> str:
    text = subprocess.run([assembler, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"release ([\d.]+)", text)
    return found[1] if found else "unknown"


def _counted(assembler: str, disassembler: str, text: str, target: str, *options: str) -> int | None:
    """Fused multiply-adds of a text; None if ptxas refuses it."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(text)
        compiled = subprocess.run(
            [assembler, f"-arch={target}", *options, str(source), "-o", str(binary)], capture_output=True, text=True, check=False
        )
        if compiled.returncode:
            return None
        listing = subprocess.run([disassembler, str(binary)], capture_output=True, text=True, check=False).stdout
    # with the register that is always zero it is a move, a product or a sum
    return sum(1 for operands in OPCODES.findall(listing) if "RZ" not in operands)


@functools.lru_cache(maxsize=256)
def check(text: str, target: str, predicted: int) -> Sass | None:
    """Compares; None where the tools are missing or ptxas does not take the text."""
    found = tools(target)
    if found is None:
        return None
    with_fusion = _counted(*found, text, target)
    without = _counted(*found, text, target, "--fmad=false")
    if with_fusion is None or without is None:
        return None
    return Sass(_version(found[0]), with_fusion - without, predicted)
