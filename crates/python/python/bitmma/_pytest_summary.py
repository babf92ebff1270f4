"""The end of a run of pytest: what was the chip's, what the host's, what was refused or skipped, and what is doubtful."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

#: Lines of each list; the rest is counted.
MOST = 8


def _top(title: str, counts: Any, most: int = MOST) -> list[str]:
    """The most frequent ones, a line each."""
    rows = Counter(counts).most_common()
    if not rows:
        return []
    lines = [f"  {title}:", *(f"    {count:6} × {name}" for name, count in rows[:most])]
    rest = rows[most:]
    return lines + ([f"    {sum(count for _, count in rest):6} × {len(rest)} more"] if rest else [])


def _several(count: int, what: str) -> str:
    """A count with its noun."""
    return f"{count} {what}" if count == 1 else f"{count} {what}{'es' if what.endswith('ch') else 's'}"


def _brief(counts: Any, most: int = 4) -> str:
    rows = Counter(counts).most_common()
    return ", ".join(f"{name} {count}" for name, count in rows[:most]) + (", …" if len(rows) > most else "")


def _merged(one: Any, other: Any) -> Any:
    """Counts added up, at any depth."""
    if isinstance(one, dict):
        return {key: _merged(one[key], other[key]) if key in one and key in other else one.get(key, other.get(key)) for key in {**one, **other}}
    return one + other if isinstance(one, (int, float)) else one


class Summary:
    """What tests did, of this process and of workers."""

    def __init__(self) -> None:
        self.errors: Counter[str] = Counter()
        self._data: dict[str, Any] = {}

    def raised(self, error: BaseException) -> None:
        """A test ended with an error; those of this package, and of CUDA, are listed by cause."""
        while error is not None:
            if type(error).__module__.startswith("bitmma"):
                text = re.sub(r"\b0x[0-9a-f]+\b|\b\d+\b", "…", str(error).split("\n")[0])
                self.errors[f"{type(error).__name__}: {text[:160]}"] += 1
                return
            if re.search("NVIDIA driver|CUDA driver|CUDA error", str(error)):
                text = str(error).split("\n")[0][:160]
                self.errors[f"what needs CUDA's driver: {text}"] += 1
                return
            error = error.__cause__ or error.__context__  # type: ignore[assignment]

    def add(self, data: dict[str, Any]) -> None:
        """More of the same."""
        self._data = _merged(self._data, data) if self._data else data

    def lines(self, skipped: list[str]) -> list[str]:
        """The section."""
        lines = [line for chip, one in self._data["chips"].items() for line in self._of_chip(chip, one)]
        outside = self._data["outside"]
        lines.append(f"products of the GPU that ran on the host and are not counted above: {sum(outside.values())}" + (f" ({_brief(outside)})" if outside else ""))
        if self._data["random"]:
            lines.append(f"random numbers on the GPU: {_several(self._data['random'], 'operation')} drew them from the CPU's generator, not from the GPU's Philox")
        if self._data["eager"]:
            lines.append(f"torch.compile: {_several(sum(self._data['eager'].values()), 'function')} ran as written ({_brief(self._data['eager'])})")
        lines += [line[2:] for line in _top("operations that were refused", self._data["refused"]) + _top("errors of the emulation", self._data["errors"])]
        lines += [line[2:] for line in _top(f"{_several(len(skipped), 'test')} skipped", [reason.removeprefix("Skipped: ").split("\n")[0][:120] for reason in skipped], 5)]
        return lines

    def _of_chip(self, chip: str, about: dict[str, Any]) -> list[str]:
        account, host = about["account"], about["account"]["host"]
        kernels = {name.removesuffix(f": PTX for {chip}"): count for name, count in account["kernels"].items()}
        done = f"{_several(sum(account['products'].values()), 'product')}, {_several(sum(kernels.values()), 'launch')} of {_several(len(kernels), 'Triton kernel')}"
        lines = [f"{chip}:", f"  by the chip: {done}"]
        lines += _top("products", account["products"], 4) + _top("Triton kernels", kernels)
        if account["attention"]:
            lines += _top("attention", account["attention"], 4)
        if about["tf32"]:
            lines.append(f"  FP32 products as TF32, as PyTorch's settings allow: {sum(about['tf32'].values())} ({_brief(about['tf32'])})")
        lines += _top("products of the host, not the chip's", account["left"])
        by = {kind: counts for kind, counts in host.items() if counts}
        exact = sum(sum(by.pop(kind, {}).values()) for kind in ("exact", "arithmetic"))
        free = "; ".join(f"{sum(counts.values())} {'of other kinds' if kind == 'other' else kind} ({_brief(counts)})" for kind, counts in by.items())
        lines.append(f"  by the host, rounded once: {exact} exact and single operations" + (f"; {free}" if free else ""))
        if account["machine"]:
            lines.append(f"  by PyTorch's own code, whose bits may depend on this machine: {_brief(account['machine'])}")
        if about["doubts"]:
            lines += _top("doubtful lines, with the number of launches", about["doubts"])
        return lines
