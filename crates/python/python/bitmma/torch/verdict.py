"""Whether the chips differ by more than the host's part may make of one of them, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .comparison import Comparison

#: Differences up to this multiple of the noise floor count as within it: the floor is the largest of a few draws.
WITHIN = 2.0


def _sizes(comparison: Comparison) -> tuple[dict[str, float], dict[str, float], str]:
    """The relative size of the difference of each chip and of each variation, and of what: logits, else the last module's result."""
    if comparison.outcomes:
        chips = {chip: end.logits.relative for chip, end in comparison.outcomes.items()}
        return chips, {label: end.logits.relative for label, end in comparison.floor.items()}, "logits"
    rows = comparison.modules or comparison.products
    last = next((row for row in reversed(rows) if row.differences and not any(one.problem for one in row.differences.values())), None)
    if last is None:
        return {}, {}, ""
    return {chip: one.relative for chip, one in last.differences.items()}, {label: one.relative for label, one in last.floor.items()}, last.title


def _agrees(comparison: Comparison, chip: str) -> bool:
    return all(not row.differences[chip].differing and not row.differences[chip].problem for row in comparison.rows if chip in row.differences)


def _named(chips: list[str]) -> str:
    return chips[0] if len(chips) == 1 else f"{', '.join(chips[:-1])} and {chips[-1]}"


def verdict(comparison: Comparison) -> str:
    """The sentence."""
    base = comparison.chips[0]
    if not comparison.products:
        return "no verdict: the noise floor belongs to runs in which each chip goes on with its own values"
    if all(_agrees(comparison, chip) for chip in comparison.others):
        return f"{_named(comparison.others)} and {base} agree in every bit"
    sizes, floor, what = _sizes(comparison)
    if not sizes:
        return "no verdict: no tensor at the end can be compared"
    if not floor:
        account = comparison.accounts.get(base)
        if account is not None and not account.free:
            return "the host's part of this model is exact or rounded once, and leaves no freedom: all that differs is the chips'"
        return "no verdict: there is no noise floor to compare with (noise_floor=)"
    highest = max(floor.values())
    above = [chip for chip, size in sizes.items() if size > WITHIN * highest]
    within = [chip for chip in sizes if chip not in above]
    flips = ""
    if comparison.outcomes:
        end = {chip: comparison.outcomes[chip] for chip in sizes}
        counts = sorted(one.flips for one in comparison.floor.values())
        between = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
        flips = f"; of {next(iter(end.values())).positions} most likely classes {', '.join(f'{one.flips} flip on {chip}' for chip, one in end.items())}, {between} within the floor"
    parts = []
    if within:
        much = "no more than" if max(sizes[chip] for chip in within) <= highest else "about as much as"
        verb = "differs" if len(within) == 1 else "differ"
        parts.append(f"within the noise floor: {_named(within)} {verb} from {base} {much} {base} from itself when the host's part is computed otherwise")
    if above:
        sizes_of = [f"{chip} differs from {base} {f'{sizes[chip] / highest:.1f} times as much' if highest else 'and the floor is zero'}" for chip in above]
        parts.append(f"above the noise floor: {', '.join(sizes_of)}")
    of = f"relative size of the difference in {what}: {', '.join(f'{chip} {size:.1e}' for chip, size in sizes.items())}, floor {highest:.1e}"
    return f"{'; '.join(parts)} ({of}{flips})"
