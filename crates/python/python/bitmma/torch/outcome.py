"""What differences come to at the end: logits, the most likely token, the loss."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch

from .tally import Tally, one_thread, tally


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


@one_thread
def outcome(ours: torch.Tensor, theirs: torch.Tensor, top_k: int) -> Outcome | None:
    """Logits against logits; None where their shapes differ."""
    if ours.shape != theirs.shape:
        return None
    both = [one.detach().reshape(-1, one.shape[-1]) for one in (ours, theirs)]
    count = min(top_k, both[0].shape[1])
    best = [one.argmax(-1) for one in both]
    leading = [one.float().topk(count, -1).indices if one.element_size() < 4 else one.topk(count, -1).indices for one in both]
    shared = (leading[0][:, :, None] == leading[1][:, None, :]).any(-1).double().mean().item()
    first, second = (one.double().log_softmax(-1) for one in both)
    divergence = (first.exp() * (first - second)).nan_to_num_(0, 0, 0).sum(-1).clamp_(min=0)
    wide = both if both[0].dtype == both[1].dtype else [one.double() for one in both]
    return Outcome(
        logits=tally(wide[0].reshape(ours.shape), wide[1].reshape(ours.shape)),
        positions=len(both[0]),
        flips=int((best[0] != best[1]).sum()),
        top_k=count,
        overlap=shared,
        divergence=divergence.mean().item(),
        largest_divergence=divergence.max().item(),
    )
