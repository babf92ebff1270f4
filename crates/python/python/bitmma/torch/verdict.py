"""Whether chips are less accurate than the first one, in one sentence, and the criterion that it rests on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .accuracy import FEWEST, FP64, LEVEL, Accuracy

if TYPE_CHECKING:
    from .comparison import Comparison

#: Differences up to this multiple of the noise floor count as within it: the floor is the largest of a few draws.
WITHIN = 2.0
#: What is found of a chip, in the order in which it is said.
FINDINGS = ("less accurate", "more accurate", "above the noise floor", "no difference seen", "within the noise floor", "agrees", "no verdict")
#: The criteria that a finding may rest on.
CRITERIA = ("bits", "accuracy", "noise floor", "none")


class Verdict(str):
    """The sentence, and what it says as data."""

    findings: dict[str, str]
    """By chip, one of ``FINDINGS``."""
    criterion: str
    """What the findings rest on: ``accuracy``, errors against FP64; ``noise floor``, the variations that it names; ``bits``, where all
    chips agree; ``none``."""

    def __new__(cls, sentence: str, findings: dict[str, str], criterion: str) -> Verdict:
        self = super().__new__(cls, sentence)
        self.findings, self.criterion = findings, criterion
        return self

    @property
    def exit_code(self) -> int:
        """For a script: 1 where a chip is less or more accurate, or above the noise floor; else 3 where there is no verdict on one;
        else 0. 2 is left to errors."""
        found = set(self.findings.values())
        if found & {"less accurate", "more accurate", "above the noise floor"}:
            return 1
        return 3 if not found or "no verdict" in found else 0

    def __reduce__(self) -> Any:
        return Verdict, (str(self), self.findings, self.criterion)


def verdict(comparison: Comparison) -> Verdict:
    """The sentence."""
    base, others = comparison.chips[0], comparison.others
    if not comparison.products:
        return _none(comparison, "each product had the operands of the first chip; run mode='propagated'")
    alike = [chip for chip in others if _agrees(comparison, chip)]
    if not any(one.elements or one.problem for row in comparison.rows for one in row.differences.values()):
        return _none(comparison, "no tensor that was compared has an element")
    if alike == others:
        return Verdict(f"{_named(others)} and {base} agree in every bit", dict.fromkeys(others, "agrees"), "bits")
    accuracy = {chip: one for chip, one in comparison.accuracy.items() if one.kind != "no verdict" and chip not in alike}
    if all(chip in accuracy or chip in alike for chip in others):
        return _by_accuracy(comparison, accuracy, alike)
    return _by_noise(comparison, alike)


def _agrees(comparison: Comparison, chip: str) -> bool:
    return all(not row.differences[chip].differing and not row.differences[chip].problem for row in comparison.rows if chip in row.differences)


def _named(chips: list[str]) -> str:
    return chips[0] if len(chips) == 1 else f"{', '.join(chips[:-1])} and {chips[-1]}"


def _none(comparison: Comparison, reason: str) -> Verdict:
    return Verdict(f"no verdict: {reason}", dict.fromkeys(comparison.others, "no verdict"), "none")


def _alike(alike: list[str], base: str) -> list[str]:
    return [f"{_named(alike)} and {base} agree in every bit"] if alike else []


# -- by accuracy --------------------------------------------------------------------------------------------


def _by_accuracy(comparison: Comparison, accuracy: dict[str, Accuracy], alike: list[str]) -> Verdict:
    base = comparison.chips[0]
    findings = {chip: one.kind for chip, one in accuracy.items()} | dict.fromkeys(alike, "agrees")
    order = sorted(accuracy, key=lambda chip: FINDINGS.index(accuracy[chip].kind))
    parts = [sentence(base, chip, accuracy[chip]) for chip in order] + _alike(alike, base)
    against = "the model in FP64" if next(iter(accuracy.values())).reference == FP64 else "the model as it is with products in FP64"
    criterion = (
        f"criterion: errors of the output against {against}, paired by sample; "
        f"of chips of equal accuracy it says otherwise in at most {LEVEL:.0%} of comparisons"
    )
    return Verdict(f"{'; '.join(parts)} ({criterion}{_beside(comparison)})", findings, "accuracy")


def sentence(base: str, chip: str, found: Accuracy) -> str:
    """What the errors of a chip say."""
    many = f"paired, n = {found.samples}"
    if found.not_finite or found.base_not_finite:
        many += f"; not finite on {chip} alone {found.not_finite}, on {base} alone {found.base_not_finite}"
    sizes = f"{found.error:.2e} and {found.base_error:.2e}, {many}"
    if found.kind == "no difference seen":
        return f"no difference in accuracy between {chip} and {base} seen: {_share(found, base)}, errors {sizes}"
    if not found.samples:
        return f"{chip} is {found.kind} than {base}: {many}"
    return f"{chip} is {found.kind} than {base} by {_share(found, base)}: errors {sizes}"


def _share(found: Accuracy, base: str) -> str:
    """The difference and its standard error, as a share of the first chip's error where that is not zero."""
    share, deviation = found.relative
    less_accurate = found.kind in ("less accurate", "more accurate")
    if not math.isfinite(share) or not math.isfinite(deviation):
        size = abs(found.difference) if less_accurate else found.difference
        return f"{size:.2e} ± {found.standard_error:.1e}"
    digits = 1 if abs(share) < 10 else 0
    text = f"{100 * (abs(share) if less_accurate else share):.{digits}f}"
    return f"{'0.0' if text == '-0.0' else text} % ± {100 * deviation:.{digits}f} % of the error of {base}"


# -- by the noise floor -------------------------------------------------------------------------------------


def _sizes(comparison: Comparison) -> tuple[dict[str, float], dict[str, float], str]:
    """The relative size of the difference of each chip and of each draw, and of what: logits, else the last module's result."""
    if comparison.outcomes:
        chips = {chip: end.logits.relative for chip, end in comparison.outcomes.items()}
        return chips, {label: end.logits.relative for label, end in comparison.floor.items()}, "logits"
    rows = comparison.modules or comparison.products
    last = next((row for row in reversed(rows) if row.differences and not any(one.problem for one in row.differences.values())), None)
    if last is None:
        return {}, {}, ""
    return {chip: one.relative for chip, one in last.differences.items()}, {label: one.relative for label, one in last.floor.items()}, last.title


def _drawn(comparison: Comparison) -> str:
    """The variations that changed something, with their draws, and those that varied nothing."""
    ran = ", ".join(f"{one.name} {len(one.runs)}×" for one in comparison.variations if one.runs)
    idle = "; ".join(f"{one.name} varied nothing: {one.idle}" for one in comparison.variations if one.idle)
    return "; ".join(filter(None, [f"variations: {ran}" if ran else "", idle]))


def _beside(comparison: Comparison) -> str:
    """How large the differences are beside the noise floor: said, but nothing rests on it."""
    sizes, floor, what = _sizes(comparison)
    floor = {label: size for label, size in floor.items() if size}
    if not sizes:
        return ""
    text = f"; size of the differences in {what}: {', '.join(f'{chip} {size:.1e}' for chip, size in sizes.items())}"
    if not floor:
        return f"{text}; nothing that was varied reaches the {what} ({_drawn(comparison)})" if comparison.variations else f"{text}; no noise floor"
    return f"{text}, of {comparison.chips[0]} from itself {_range(floor)} ({_drawn(comparison)})"


def _range(floor: dict[str, float]) -> str:
    low, high = min(floor.values()), max(floor.values())
    return f"{high:.1e}" if low == high else f"{low:.1e} to {high:.1e}"


def _by_noise(comparison: Comparison, alike: list[str]) -> Verdict:
    base = comparison.chips[0]
    why = _why_no_accuracy(comparison)
    sizes, floor, what = _sizes(comparison)
    if not sizes:
        return _none(comparison, "no tensor at the end can be compared")
    floor = {label: size for label, size in floor.items() if size}
    if not floor:
        ran = any(one.runs for one in comparison.variations)
        drawn = f"nothing that was varied reached the {what}: {_drawn(comparison)}" if ran else f"nothing was varied: {_drawn(comparison)}"
        drawn = drawn if comparison.variations else "no noise floor was asked for"
        others = "" if any(one.name == "products" for one in comparison.variations) else " or noise_floor=['products']"
        return _none(comparison, f"{drawn}; {why}; give {_what_helps(comparison)}{others}")
    highest = max(floor.values())
    sizes = {chip: size for chip, size in sizes.items() if chip not in alike}
    above = [chip for chip, size in sizes.items() if not size <= WITHIN * highest]
    within = [chip for chip in sizes if chip not in above]
    parts = []
    if within:
        much = "no more than" if max(sizes[chip] for chip in within) <= highest else "about as much as"
        verb = "differs" if len(within) == 1 else "differ"
        parts.append(f"within the noise floor: {_named(within)} {verb} from {base} {much} {base} from itself by these variations")
    if above:
        sizes_of = [f"{chip} differs from {base} {sizes[chip] / highest:.1f} times as much" for chip in above]
        parts.append(f"above the noise floor: {', '.join(sizes_of)}")
    findings = dict.fromkeys(above, "above the noise floor") | dict.fromkeys(within, "within the noise floor") | dict.fromkeys(alike, "agrees")
    of = f"size of the difference in {what}: {', '.join(f'{chip} {size:.1e}' for chip, size in sizes.items())}, floor {_range(floor)}"
    drawn = f"criterion: {_drawn(comparison)}; other variations may say otherwise, and it says nothing about accuracy: {why}"
    return Verdict(f"{'; '.join([*parts, *_alike(alike, base)])} ({drawn}; {of}{_flips(comparison, list(sizes))})", findings, "noise floor")


def _flips(comparison: Comparison, chips: list[str]) -> str:
    if not comparison.outcomes:
        return ""
    end = {chip: comparison.outcomes[chip] for chip in chips}
    counts = sorted(one.flips for one in comparison.floor.values())
    between = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    return f"; of {next(iter(end.values())).positions} most likely classes {', '.join(f'{one.flips} flip on {chip}' for chip, one in end.items())}, {between} within the floor"


def _why_no_accuracy(comparison: Comparison) -> str:
    """Why the verdict does not rest on errors against FP64."""
    few = [one for one in comparison.accuracy.values() if one.kind == "no verdict"]
    if few:
        return f"{few[0].samples} {'sample' if few[0].samples == 1 else 'samples'}, {FEWEST} or more are needed"
    return "there is no reference in FP64" if not comparison.accuracy else "some outputs have another shape"


def _what_helps(comparison: Comparison) -> str:
    return "a batch of more samples" if comparison.accuracy else "reference=True"
