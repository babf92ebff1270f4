"""Every form that Triton's kernels and this project's GPU kernels use: decoded, or refused by name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bitmma._bitmma import Ptx

DATA = Path(__file__).parents[2] / "ptx" / "tests" / "data"
FORMS: dict[str, dict[str, Any]] = json.loads((DATA / "forms.json").read_text())
TARGETS = {"80": "sm_80", "90": "sm_90a", "100": "sm_100a"}

#: What may be refused, and the reason is in the message: objects of barriers, tensor memory.
REFUSED = ("mbarrier", "tcgen05", "cp.async.bulk")
LETTER = {"8": "%h", "16": "%h", "32": "%r", "64": "%d"}
SIZES = {"f16x2": "32", "bf16x2": "32", "f32x2": "64", "tf32": "32", "e4m3x2": "16", "e5m2x2": "16"}
#: Operands after the result, by name, where there are not two.
ARITY = {
    "abs": 1, "neg": 1, "not": 1, "mov": 1, "cvt": 1, "rcp": 1, "sqrt": 1, "rsqrt": 1, "ex2": 1, "lg2": 1, "sin": 1, "cos": 1,
    "fma": 3, "mad": 3, "madc": 3, "bfe": 3, "prmt": 3, "shf": 3, "dp4a": 3, "selp": 3, "setp": 2, "set": 2,
}  # fmt: skip


def types(form: str) -> list[str]:
    """The types that a form names."""
    return [word for word in form.split(".")[1:] if re.fullmatch(r"[bsuf]\d+(x2)?|bf16(x2)?|tf32|e[45]m[23]x2|pred", word)]


def register(kind: str, number: int) -> str:
    if kind == "pred":
        return f"%p{number}"
    return LETTER[SIZES.get(kind) or kind.lstrip("bsuf")] + str(number)


def listed(letter: str, first: int, count: int) -> str:
    return "{" + ", ".join(f"{letter}{first + index}" for index in range(count)) + "}"


def instruction(form: str) -> str:
    """A line with this form, and operands that fit."""
    form = form.replace("nNk", "n64k")
    name, kinds = form.split(".")[0], types(form)
    vector = re.search(r"\.v(\d)\.", form)
    some = lambda kind, first: listed(register(kind, 0)[:2], first, int(vector[1])) if vector else register(kind, first)  # noqa: E731
    if name in ("bar", "barrier"):
        return f"{form} 0;"
    if name in ("ret",) or form.startswith(("fence", "wgmma.fence", "wgmma.commit", "cp.async.commit")):
        return f"{form};"
    if form.startswith(("wgmma.wait_group", "cp.async.wait_group")):
        return f"{form} 0;"
    if name == "bra":
        return f"{form} $L;\n$L:"
    if name == "ld":
        return f"{form} {some(kinds[-1], 1)}, [{'p' if '.param.' in form else '%r20' if 'shared' in form else '%d20'}];"
    if name == "st":
        return f"{form} [{'%r20' if 'shared' in form else '%d20'}], {some(kinds[-1], 1)};"
    if name == "atom":
        return f"{form} {some(kinds[-1], 1)}, [{'%r20' if 'shared' in form else '%d20'}], {some(kinds[-1], 8)};"
    if form.startswith("cp.async"):
        return f"{form} [%r20], [%d20], {16 if '.cg.' in form else 4};"
    if name in ("ldmatrix", "stmatrix"):
        registers = listed("%r", 1, int(re.search(r"\.x(\d)", form)[1]))  # type: ignore[index]
        return f"{form} {registers}, [%r20];" if name == "ldmatrix" else f"{form} [%r20], {registers};"
    if name == "mma":
        k, bits = int(re.search(r"k(\d+)", form)[1]), {"bf16": 16, "f16": 16, "tf32": 32, "s8": 8}[form.split(".")[-2]]  # type: ignore[index]
        a = 16 * k * bits // 1024
        return f"{form} {listed('%r', 0, 4)}, {listed('%r', 4, a)}, {listed('%r', 10, a // 2)}, {listed('%r', 0, 4)};"
    if form.startswith("wgmma.mma_async"):
        flags = "1" if "s32" in form else "1, 1, 1" if "tf32" in form or "e5m2" in form else "1, 1, 1, 0, 0"
        return f"{form} {listed('%r', 0, 32)}, %d1, %d2, {flags};"
    if name == "shfl":
        return f"{form} %r1, %r2, 1, 31, -1;"
    if name == "redux":
        return f"{form} %r1, %r2, -1;"
    if name == "elect":
        return f"{form} %r1|%p1, -1;"
    if name == "lop3":
        return f"{form} %r1, %r2, %r3, %r4, 0x96;"
    if name == "setp":
        pair = "%p1|%p2" if kinds[0].endswith("x2") else "%p1"
        return f"{form} {pair}, {register(kinds[0], 1)}, {register(kinds[0], 2)};"
    if name == "set":
        return f"{form} %r1, {register(kinds[1], 2)}, {register(kinds[1], 3)};"
    if name == "selp":
        return f"{form} {register(kinds[0], 1)}, {register(kinds[0], 2)}, {register(kinds[0], 3)}, %p1;"
    if name == "cvt":
        sources = 2 if kinds[0].endswith("x2") and kinds[1] == "f32" else 1
        given = ", ".join(register(kinds[1], 2 + index) for index in range(sources))
        d = register(kinds[0], 1) if kinds[0] not in ("s8", "u8") else "%r1"
        return f"{form} {d}, {given};"
    wide = ".wide." in form
    result = register({"16": "b32", "32": "b64"}[kinds[0].lstrip("su")], 1) if wide else register(kinds[0], 1)
    sources = [register(kinds[-1] if name != "dp4a" else "b32", 2 + index) for index in range(ARITY.get(name, 2))]
    if wide and len(sources) == 3:
        sources[2] = result
    if name in ("add", "sub", "fma") and form.endswith((".f32.f16", ".f32.bf16")):  # of halves in FP32
        sources = [*(f"%h{2 + index}" for index in range(len(sources) - 1)), result]
    if name in ("shl", "shr"):
        sources[1] = "%r9"
    if name == "bfe":
        sources[1:] = ["%r8", "%r9"]
    return f"{form} {result}, {', '.join(sources)};"


def text(line: str, target: str) -> str:
    return (
        f".version 8.7\n.target {target}\n.address_size 64\n.visible .entry one(.param .u64 p, .param .u64 q)\n.reqntid 128\n{{\n"
        f".reg .pred %p<9>; .reg .b16 %h<30>; .reg .b32 %r<99>; .reg .b64 %d<30>; .shared .b8 s[64]; .local .b8 l[64];\n{line}\nret;\n}}\n"
    )


@pytest.mark.parametrize("group", FORMS)
def test_every_form_is_decoded_or_refused_by_name(group: str) -> None:
    capability = group.rsplit("_", 1)[1]
    refused, wrong = [], []
    for form in FORMS[group]["forms"]:
        may_be = form.startswith(REFUSED)
        line = f"{form} [%r20];" if may_be else instruction(form)
        try:
            [found] = [one for one in Ptx(text(line, TARGETS[capability])).survey() if one[0] == form.replace("nNk", "n64k")]
        except Exception as error:
            wrong.append(f"{line} {error}")
            continue
        if found[2] == "refused":
            refused.append(form)
            if not may_be:
                wrong.append(f"{line} {found[3]}")
    assert not wrong, "\n".join(wrong)
    if capability != "100":
        assert not refused
    else:
        assert all(form.startswith(REFUSED) for form in refused)
