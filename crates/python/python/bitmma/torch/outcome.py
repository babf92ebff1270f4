"""What differences come to at the end: logits, the most likely token, the loss."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from .portable.native import along, apply, reduce
from .tally import Tally, aside, place_of, tally


@dataclass(frozen=True)
class Flip:
    """A position at which another class is the most likely."""

    position: tuple[int, ...]
    """Its index in the logits without their last dimension."""
    classes: tuple[int, int]
    """The most likely class on the first chip, and on the second."""
    gap: float
    """How far the two best logits of the first chip are apart; 0: a tie, which either class may win."""
    logit: float
    """The best logit of the first chip."""

    @property
    def tie(self) -> bool:
        """Whether the first chip's two best logits are equal."""
        return self.gap == 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "position": list(self.position), "classes": list(self.classes), "tie": self.tie}


@dataclass(frozen=True)
class Outcome:
    """One chip's output against another's, or against FP64's. Positions are all but the last dimension of the logits."""

    logits: Tally
    """Differences of the logits after rounding; against FP64 all that differs."""
    positions: int
    flips: int
    """Positions at which another class is the most likely; of equal logits the first counts."""
    top_k: int
    overlap: float
    """The share of the ``top_k`` most likely classes that both have, over all positions."""
    divergence: float
    """The mean Kullback-Leibler divergence of the second distribution from the first, in nats."""
    largest_divergence: float
    """The largest one of a position."""
    ties: int = 0
    """Positions at which the two best logits of the first chip are equal."""
    flipped: list[Flip] = field(default_factory=list)
    """All flips, in order."""

    @property
    def tied_flips(self) -> int:
        """Flips at ties: no loss of accuracy."""
        return sum(one.tie for one in self.flipped)

    @property
    def decisions(self) -> str:
        """The flips in words: how many, how many of them ties, and how narrow the others were."""
        text = f"{self.flips} of {self.positions} most likely classes flip"
        if not self.flips:
            return text
        parts = [f"{self.tied_flips} exact ties"] if self.tied_flips else []
        gaps = [one.gap for one in self.flipped if not one.tie]
        if gaps:
            parts.append(f"{len(gaps)} with a gap of {min(gaps):.3g} to {max(gaps):.3g}" if len(gaps) > 1 else f"one with a gap of {gaps[0]:.3g}")
        return f"{text} ({', '.join(parts)})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        flipped = [one.to_dict() for one in self.flipped]
        return {**asdict(self), "logits": self.logits.to_dict(), "tied_flips": self.tied_flips, "flipped": flipped}


def logits_of(output: Any) -> torch.Tensor | None:
    """The tensor that is taken for the logits: the output, its ``logits``, or the first floating-point tensor in it."""
    if isinstance(output, torch.Tensor):
        found: Any = output
    elif isinstance(output, dict):
        found = output.get("logits")
    else:
        found = getattr(output, "logits", None)
        if found is None and isinstance(output, (tuple, list)):
            found = next((one for one in output if isinstance(one, torch.Tensor)), None)
    fits = isinstance(found, torch.Tensor) and found.is_floating_point() and found.dim() and found.shape[-1] > 1 and found.numel()
    return found if fits else None


class Logits:
    """The logits of one run, with what every outcome needs of them."""

    @aside
    def __init__(self, tensor: torch.Tensor, top_k: int) -> None:
        self.tensor = tensor
        flat = tensor.detach().reshape(-1, tensor.shape[-1])
        self.best = flat.argmax(-1)
        wide = flat.float() if flat.element_size() < 4 else flat
        self.leading = wide.topk(min(top_k, flat.shape[1]), -1).indices
        best = wide.topk(2, -1).values
        self.highest = best[:, 0].double()
        self.gaps = self.highest - best[:, 1].double()
        """How far the two best logits are apart."""
        self.logarithms = along("log_softmax", flat, -1, to=torch.float64)
        """Of the probabilities, in FP64."""


@aside
def outcome(ours: Logits, theirs: Logits) -> Outcome | None:
    """Logits against logits; None where their shapes differ."""
    if ours.tensor.shape != theirs.tensor.shape:
        return None
    shared = (ours.leading[:, :, None] == theirs.leading[:, None, :]).any(-1).double().mean().item()
    first, second = ours.logarithms, theirs.logarithms
    divergence = reduce("sum", (apply("exp", first) * (first - second)).nan_to_num_(0, 0, 0), -1).clamp_(min=0)
    both = [ours.tensor, theirs.tensor]
    wide = both if both[0].dtype == both[1].dtype else [one.double() for one in both]
    flipped = [
        Flip(
            position=place_of(place, ours.tensor.shape[:-1]),
            classes=(int(ours.best[place]), int(theirs.best[place])),
            gap=ours.gaps[place].item(),
            logit=ours.highest[place].item(),
        )
        for place in (ours.best != theirs.best).nonzero()[:, 0].tolist()
    ]
    return Outcome(
        logits=tally(wide[0], wide[1]),
        positions=len(ours.best),
        flips=len(flipped),
        top_k=ours.leading.shape[1],
        overlap=shared,
        divergence=reduce("mean", divergence, None).item(),
        largest_divergence=divergence.max().item(),
        ties=int((ours.gaps == 0).sum()),
        flipped=flipped,
    )
