"""What differences come to at the end: logits, the most likely token, the loss."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch

from .tally import Tally, aside, tally


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

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "logits": self.logits.to_dict()}


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
        self.leading = (flat.float() if flat.element_size() < 4 else flat).topk(min(top_k, flat.shape[1]), -1).indices
        self.logarithms = flat.double().log_softmax(-1)
        """Of the probabilities, in FP64."""


@aside
def outcome(ours: Logits, theirs: Logits) -> Outcome | None:
    """Logits against logits; None where their shapes differ."""
    if ours.tensor.shape != theirs.tensor.shape:
        return None
    shared = (ours.leading[:, :, None] == theirs.leading[:, None, :]).any(-1).double().mean().item()
    first, second = ours.logarithms, theirs.logarithms
    divergence = (first.exp() * (first - second)).nan_to_num_(0, 0, 0).sum(-1).clamp_(min=0)
    both = [ours.tensor, theirs.tensor]
    wide = both if both[0].dtype == both[1].dtype else [one.double() for one in both]
    return Outcome(
        logits=tally(wide[0], wide[1]),
        positions=len(ours.best),
        flips=int((ours.best != theirs.best).sum()),
        top_k=ours.leading.shape[1],
        overlap=shared,
        divergence=divergence.mean().item(),
        largest_divergence=divergence.max().item(),
    )
