"""What kernels cost, counted without a GPU: compiled for a target, the instructions that one more product adds.

A kernel is compiled twice, with 8 and with 16 products in a turn of its inner loop. The difference in machine instructions of one thread, over
the products that the thread adds, is the cost of one; loads, moves and addresses are counted. The rest is done once an operation (the
accumulator, rounding) or once a kernel.
"""

from __future__ import annotations

import math
import re
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ..simulate import Unit, mma
from .device import compiler_options, is_interpreted, shape
from .model import model_of
from .plan import Plan, plan

#: Targets, by the names that compilers have for them.
TARGETS = ("sm_80", "sm_89", "sm_90", "sm_100", "gfx90a", "gfx942")


class Card(NamedTuple):
    """A GPU, and how many 32-bit integer instructions it starts a second, in units of 10^12: multiprocessors × lanes × boost clock."""

    name: str
    target: str
    rate: float


#: From vendors' data sheets: lanes that add, multiply or shift 32-bit integers, as their programming guides list them.
CARDS = (
    Card("A100", "sm_80", 108 * 64 * 1.41e-3),
    Card("RTX 4090", "sm_89", 128 * 64 * 2.52e-3),
    Card("H100 SXM", "sm_90", 132 * 64 * 1.83e-3),
    Card("MI250X (one die)", "gfx90a", 110 * 64 * 1.7e-3),
    Card("MI300X", "gfx942", 304 * 64 * 2.1e-3),
)

#: What is counted: a name, an architecture and an instruction.
KERNELS = (
    ("T-FDPA FP16, F = 25", "hopper", "wgmma.m64n256k16.f32.f16.f16"),
    ("T-FDPA FP8, F = 13", "hopper", "wgmma.m64n256k32.f32.e4m3.e4m3"),
    ("ST-FDPA MXFP8, F = 25", "blackwell", "tcgen05.mma.m128n256k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.ue8m0"),
    ("GST-FDPA NVFP4, F = 35", "blackwell", "tcgen05.mma.m128n256k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3"),
    ("TR-FDPA FP16, F = 24", "cdna3", "v_mfma_f32_32x32x8_f16"),
    ("GTR-FDPA FP8, F = 24", "cdna3", "v_mfma_f32_32x32x16_fp8_fp8"),
    ("FTZ-AddMul BF16", "cdna2", "v_mfma_f32_32x32x8bf16_1k"),
    ("E-FDPA FP16", "cdna1", "v_mfma_f32_32x32x8f16"),
    ("FMA FP32", "cdna1", "v_mfma_f32_32x32x2f32"),
)


@dataclass(frozen=True)
class Cost:
    """One kernel on one target."""

    kernel: str
    target: str
    product: float
    """Instructions of the inner loop a product."""
    operation: float
    """Instructions a product with everything that is done once an operation."""


def assembly(found: Plan, target: str) -> str:
    """The kernel of a plan as machine code, in text."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from . import kernels

    if is_interpreted():
        raise RuntimeError("TRITON_INTERPRET is set, so nothing is compiled; unset it")
    nvidia = target.startswith("sm_")
    whose = "ptx" if nvidia else "amd"
    function = getattr(kernels, found.kernel)
    tile = shape(found, whose)[0]
    constants = {**found.compiled(whose), "HAS_C": True, "TILE_M": tile[0], "TILE_N": tile[1]}
    element = {"fused": "*i32", "add_mul": "*fp32", "exact": "*fp64"}.get(found.kernel, f"*fp{found.model.container.bits}")
    sums = {"exact": "*fp32"}.get(found.kernel, element)
    signature = {}
    for name in function.arg_names:
        if name in constants:
            signature[name] = "constexpr"
        elif name in ("LINES_A", "LINES_B", "M") or "operation" in name:
            signature[name] = "i32"
        else:
            signature[name] = element if name in "ab" else sums if name in "cd" else "*fp32" if name.startswith("values") else "*i32"
    place = {name: (at,) for at, name in enumerate(function.arg_names)}
    aligned = {place[name]: [["tt.divisibility", 16]] for name, kind in signature.items() if kind.startswith("*") or name.startswith("LINES")}
    source = ASTSource(function, signature, {place[name]: value for name, value in constants.items()}, aligned)
    number = re.sub(r"\D", "", target)
    chip = GPUTarget("cuda", int(number), 32) if nvidia else GPUTarget("hip", target, 64)
    compiled = triton.compile(source, target=chip, options=compiler_options(found, whose))
    text: str = disassembled(compiled.asm["cubin"]) if nvidia else compiled.asm["amdgcn"]
    return text


def disassembled(program: bytes) -> str:
    """NVIDIA's machine code as text, by the disassembler that Triton brings."""
    from triton import knobs

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(program)
        return subprocess.run([knobs.nvidia.nvdisasm.path, "-c", file], capture_output=True, text=True, check=True).stdout


def instructions(text: str) -> int:
    """Instructions of one thread in machine code as text; labels, directives, comments, and NVIDIA's NOP that fills up are none."""
    nvidia = re.findall(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z][\w.]*)", text, re.M)
    amd = re.findall(r"^\s*([a-z][a-z0-9_]+)(?:\s|$)(?!.*:\s*$)", text, re.M)
    return len([one for one in nvidia if one != "NOP"]) or len(amd)


def cost(name: str, unit: Unit, target: str) -> Cost:
    """Counts one kernel on one target. The route in integers, which a tile of numbers far apart takes, is left out."""
    found = plan(model_of(unit))
    length = found.constants["LENGTH"]
    nvidia = target.startswith("sm_")
    whose = "ptx" if nvidia else "amd"
    tile, warps = shape(found, whose)
    elements = math.prod(tile) / (warps * (32 if nvidia else 64))
    if found.kernel != "fused":  # operations are all alike: the loop over them, which is all but loads and stores of C and D
        inside = instructions(_loop(assembly(found, target))) / (length * elements)
        return Cost(name, target, inside, inside)
    found = replace(found, base=(0, 0))
    if found.constants["GROUP"]:  # groups of an operation are all in the code
        one, two = (_repeated(found, target, LENGTH=each) / elements for each in (length, 2 * length))
        return Cost(name, target, (two - one) / length, one / length)
    # so many turns that compilers leave the loop a loop; sums that hold an operation hold this one
    chunk = 256 if found.constants["CHUNK"] * found.constants["PARITIES"] >= length else found.constants["CHUNK"]
    one, two = (_repeated(found, target, LENGTH=256, CHUNK=chunk, UNROLL=each) / elements for each in (8, 16))
    product = (two - one) / 8
    return Cost(name, target, product, product + (one - 8 * product) / length)


def _repeated(found: Plan, target: str, **other: int) -> int:
    """Instructions with other constants."""
    return instructions(assembly(replace(found, constants={**found.constants, **other}), target))


def _loop(text: str) -> str:
    """The lines of the longest loop: from a label to the branch back to it."""
    lines = text.splitlines()
    labels = {match[1]: at for at, line in enumerate(lines) if (match := re.match(r"\s*(\.?[.\w]+):", line))}
    best = (0, 0)
    for at, line in enumerate(lines):
        match = re.search(r"(?:\bBRA\S*\s+(?:!?\w+, )?`\(|s_c?branch\w*\s+)(\.?[.\w]+)", line)
        if match and labels.get(match[1], at) < at and at - labels[match[1]] > best[1] - best[0]:
            best = labels[match[1]], at + 1
    return "\n".join(lines[best[0] : best[1]])


def costs(targets: tuple[str, ...] = TARGETS, kernels: tuple[tuple[str, str, str], ...] = KERNELS) -> list[Cost]:
    """Counts kernels on targets; minutes for all of them."""
    return [cost(name, mma(architecture, instruction), target) for name, architecture, instruction in kernels for target in targets]


def table(found: list[Cost]) -> str:
    """Instructions a product as Markdown: of the inner loop, and with what is done once an operation."""
    targets = list(dict.fromkeys(one.target for one in found))
    lines = ["| kernel | " + " | ".join(targets) + " |", "|---" * (len(targets) + 1) + "|"]
    for name in dict.fromkeys(one.kernel for one in found):
        cells = [f"{one.product:.1f} ({one.operation:.1f})" for one in found if one.kernel == name]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def rates(found: list[Cost]) -> str:
    """Products a second that follow on named cards, if nothing but the arithmetic took time."""
    pairs = [(card, one) for card in CARDS for one in found if one.target == card.target]
    return "\n".join(f"{card.name}, {one.kernel}: {card.rate / one.operation:.2f} T products/s" for card, one in pairs)
