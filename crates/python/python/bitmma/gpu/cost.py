"""What kernels cost, counted without a GPU: compiled for a target, the instructions that one more product adds.

A kernel is compiled twice, for L and for 2·L products in an operation. The difference in instructions (of one thread, PTX for NVIDIA, AMD's own
for AMD), over the products that the thread adds, is the cost of the inner loop; loads and moves are counted. What is done once an operation
(the accumulator, rounding) is the rest of one operation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..simulate import Unit, mma
from .device import is_interpreted
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


def assembly(found: Plan, target: str, tile: tuple[int, int] = (32, 64), warps: int = 4) -> str:
    """The kernel of a plan as PTX or as AMD's assembly."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from . import kernels

    if is_interpreted():
        raise RuntimeError("TRITON_INTERPRET is set, so nothing is compiled; unset it")
    function = getattr(kernels, found.kernel)
    constants = {**found.constants, "HAS_C": True, "TILE_M": tile[0], "TILE_N": tile[1]}
    if found.kernel == "fused":
        constants["CLAMPS"] = target.startswith("sm_")
    element = {"fused": "*i32", "add_mul": "*fp32", "exact": "*fp64"}.get(found.kernel, f"*fp{found.model.container.bits}")
    sums = {"exact": "*fp32"}.get(found.kernel, element)
    signature = {}
    for name in function.arg_names:
        if name in constants:
            signature[name] = "constexpr"
        elif name in ("LINES_A", "LINES_B", "M", "N") or "operation" in name:
            signature[name] = "i32"
        else:
            signature[name] = element if name in "ab" else sums if name in "cd" else "*i32"
    place = {name: (at,) for at, name in enumerate(function.arg_names)}
    aligned = {place[name]: [["tt.divisibility", 16]] for name, kind in signature.items() if kind.startswith("*") or name.startswith("LINES")}
    source = ASTSource(function, signature, {place[name]: value for name, value in constants.items()}, aligned)
    number = re.sub(r"\D", "", target)
    chip = GPUTarget("cuda", int(number), 32) if target.startswith("sm_") else GPUTarget("hip", target, 64)
    compiled = triton.compile(source, target=chip, options={"num_warps": warps, "enable_fp_fusion": False})
    text: str = compiled.asm["ptx" if target.startswith("sm_") else "amdgcn"]
    return text


def instructions(text: str) -> int:
    """Instructions of one thread in PTX or AMD's assembly; labels, directives and comments are none."""
    lines = (line.split("//")[0].split(";")[0].strip() for line in text.splitlines())
    return sum(bool(re.match(r"(@!?%?\w+ )?[a-z][a-z0-9_]*([.\s]|$)", line)) and not line.endswith(":") for line in lines)


def cost(name: str, unit: Unit, target: str, tile: tuple[int, int] = (32, 64), warps: int = 4) -> Cost:
    """Counts one kernel on one target."""
    found = plan(model_of(unit))
    if found.kernel in ("add_mul", "multiply_add", "exact"):
        return _elementwise(name, found, target, tile, warps)
    length = found.constants["LENGTH"]
    longer = replace(found, constants={**found.constants, "LENGTH": 2 * length})
    one, two = (instructions(assembly(each, target, tile, warps)) for each in (found, longer))
    threads = warps * (32 if target.startswith("sm_") else 64)
    products = length * tile[0] * tile[1] / threads
    return Cost(name, target, (two - one) / products, one / products)


def _elementwise(name: str, found: Plan, target: str, tile: tuple[int, int], warps: int) -> Cost:
    """A kernel whose operations are all alike: the loop over them, which is all there is but the loads and stores of C and D."""
    text = assembly(found, target, tile, warps)
    threads = warps * (32 if target.startswith("sm_") else 64)
    length = {"add_mul": found.constants.get("PAIRING"), "exact": found.constants.get("LENGTH")}.get(found.kernel) or 1
    inside = instructions(_loop(text)) / (length * tile[0] * tile[1] / threads)
    return Cost(name, target, inside, inside)


def _loop(text: str) -> str:
    """The lines of the longest loop: from a label to the branch back to it."""
    lines = text.splitlines()
    labels = {match[1]: at for at, line in enumerate(lines) if (match := re.match(r"\s*(\$?[.\w]+):", line))}
    best = (0, 0)
    for at, line in enumerate(lines):
        match = re.search(r"(?:bra(?:\.uni)?|s_c?branch\w*)\s+(\$?[.\w]+)", line)
        if match and labels.get(match[1], at) < at and at - labels[match[1]] > best[1] - best[0]:
            best = labels[match[1]], at
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
