"""Whether one chip is less accurate than another: the errors of both against FP64, sample by sample.

A sample is a position of the output: all but its last dimension. Its error is the norm of its distance from the reference. Both
chips get the same samples, so the difference of their errors is taken sample by sample (paired), and what counts is how far its
mean is from zero in standard errors. Two things make it vary:

- Which samples there are. Neighbouring samples may depend on each other, as the tokens of a text do: the variance is that of the
  means of blocks of neighbors, and larger by as much as a block resembles the next. A sample that comes again counts once, and one
  of which the reference has no finite element not at all.
- In which order products are summed. An order may be a little better for all samples at once, and says nothing about the
  arithmetic: a difference that may be one is measured again with the terms of all products in random orders, and the variance
  of these draws is added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from .portable.native import apply, reduce
from .tally import aside

#: The references: the model and its inputs in FP64; the model as it is with its products summed in FP64, where it cannot be cast.
FP64, FP64_PRODUCTS = "fp64", "fp64 products"
#: A difference in accuracy between chips that have none is reported in at most this share of comparisons.
LEVEL = 0.05
#: The level of the test itself, both sides. It is lower, as samples in different blocks may still depend on each other.
TESTED = 0.01
#: A probability up to which a difference is measured again in other orders.
SUSPECTED = 0.05
#: Random orders in which it is measured again, beside the first one.
ORDERS = 3
#: Blocks of neighboring samples, at most.
BLOCKS = 32
#: Samples below which nothing is concluded.
FEWEST = 8


@dataclass(frozen=True)
class Accuracy:
    """The errors of the first chip and of another, against one reference."""

    error: float
    """The mean error of a sample on the other chip, over the root mean square of the reference's samples."""
    base_error: float
    """The same on the first chip."""
    difference: float
    """The mean of the other chip's error minus the first chip's, sample by sample."""
    standard_error: float
    """Of the difference; NaN with fewer than two blocks."""
    samples: int
    """Samples that are finite on both chips."""
    blocks: int
    """Blocks of neighboring samples from which the standard error comes."""
    orders: int
    """Orders of the terms of products in which both chips were measured: 1 where the first shows no difference."""
    probability: float
    """That two chips of equal accuracy differ by so much or more."""
    not_finite: int = 0
    """Samples that are finite in the reference and on the first chip only."""
    base_not_finite: int = 0
    """Samples that are finite in the reference and on the other chip only."""
    reference: str = FP64
    """What the errors are measured against: ``FP64`` or ``FP64_PRODUCTS``."""

    @property
    def kind(self) -> str:
        """``less accurate``, ``more accurate``, ``no difference seen`` or ``no verdict``."""
        lost = binomial(self.not_finite, self.base_not_finite)
        if lost <= TESTED and self.not_finite != self.base_not_finite:
            return "less accurate" if self.not_finite > self.base_not_finite else "more accurate"
        if self.samples < FEWEST:
            return "no verdict"
        if self.probability > TESTED:
            return "no difference seen"
        return "less accurate" if self.difference > 0 else "more accurate"

    @property
    def is_suspected(self) -> bool:
        """Whether there may be a difference, so that it is worth measuring in other orders."""
        return self.samples >= FEWEST and self.probability <= SUSPECTED

    @property
    def relative(self) -> tuple[float, float]:
        """The difference and its standard error as shares of the first chip's error; infinite where that is zero."""
        if not self.base_error:
            return (math.inf if self.difference else 0.0), (math.inf if self.standard_error else 0.0)
        return self.difference / self.base_error, self.standard_error / self.base_error

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        relative = [one if math.isfinite(one) else None for one in self.relative]
        plain = {name: None if isinstance(one, float) and not math.isfinite(one) else one for name, one in asdict(self).items()}
        return {**plain, "relative": relative, "kind": self.kind}


@aside
def errors(reference: torch.Tensor, output: torch.Tensor) -> torch.Tensor | None:
    """The error of each sample, over the root mean square of the reference's samples; NaN where the output is not finite and the
    reference is, and of what is no sample of its own (:func:`_own_samples`). None where the shapes differ."""
    if reference.shape != output.shape or reference.dim() < 2 or not reference.numel():
        return None
    exact = reference.detach().double().reshape(-1, reference.shape[-1])
    finite = exact.isfinite()
    own = _own_samples(exact, finite)
    exact = exact.where(finite, 0)
    distance = (output.detach().double().reshape(exact.shape) - exact).where(finite, 0)
    found = reduce("norm", distance, 1, parameter=2.0)
    scale = reduce("norm", exact, None, parameter=2.0).item() / math.sqrt(len(exact))
    found = found / scale if scale else found
    return found.where(found.isfinite() & own, math.nan)


def _own_samples(exact: torch.Tensor, finite: torch.Tensor) -> torch.Tensor:
    """The samples of the reference that have a finite element and did not come before: the same sample twice, as of an expanded
    batch or of padding, says no more than once."""
    generator = torch.Generator().manual_seed(0)
    factors = torch.randint(2**62, (exact.shape[1],), generator=generator) * 2 + 1
    # sums of whole numbers, so that equal samples have equal sums wherever they are
    sums = ((exact + 0.0).contiguous().view(torch.int64) * factors).sum(1).tolist()
    first: dict[int, int] = {}
    places = torch.tensor([first.setdefault(one, place) == place for place, one in enumerate(sums)])
    return places & finite.any(1)


@aside
def accuracy(base: Sequence[torch.Tensor], other: Sequence[torch.Tensor], reference: str = FP64) -> Accuracy:
    """The errors of the first chip's samples and of the other's, in one order of the terms of products or in several."""
    ours, theirs = torch.stack(list(base)), torch.stack(list(other))
    lost, base_lost = theirs[0].isnan(), ours[0].isnan()
    both = ~(ours.isnan().any(0) | theirs.isnan().any(0))
    ours, theirs = ours[:, both], theirs[:, both]
    orders, count = ours.shape
    differences = reduce("mean", theirs, 0) - reduce("mean", ours, 0)
    blocks = min(count, BLOCKS)
    variance, freedom = math.nan, 0.0
    if blocks > 1:
        means = torch.stack([reduce("mean", one, None) for one in differences.tensor_split(blocks)])
        larger = _dependence(means)
        variance, freedom = _variance(means) / blocks * larger, max(blocks / larger - 1, 1.0)
    if blocks > 1 and orders > 1:
        of_orders = (_variance(reduce("mean", ours, 1)) + _variance(reduce("mean", theirs, 1))) / orders
        # Welch and Satterthwaite: the degrees of freedom of a sum of two variances
        parts = variance**2 / freedom + of_orders**2 / (2 * (orders - 1))
        variance += of_orders
        freedom = variance**2 / parts if parts else freedom
    mean = _mean(differences) if count else math.nan
    return Accuracy(
        error=_mean(theirs) if count else math.nan,
        base_error=_mean(ours) if count else math.nan,
        difference=mean,
        standard_error=math.sqrt(variance) if blocks > 1 else math.nan,
        samples=count,
        blocks=blocks,
        orders=orders,
        probability=student(mean, math.sqrt(variance), int(freedom)) if blocks > 1 else 1.0,
        not_finite=int((lost & ~base_lost).sum()),
        base_not_finite=int((base_lost & ~lost).sum()),
        reference=reference,
    )


def _mean(x: torch.Tensor) -> float:
    return reduce("mean", x, None).item()


def _variance(x: torch.Tensor) -> float:
    return reduce("var", x, None, parameter=1.0).item()


def _dependence(means: torch.Tensor) -> float:
    """How much larger than of independent blocks the variance of their mean is, 1 or more: (1 + r) / (1 - r) where r is the
    correlation of neighboring blocks, as of a first-order autoregressive series. What is measured of r is too low by about
    (1 + 3r) / n (Kendall 1954)."""
    centred = means - _mean(means)
    squares = reduce("sum", centred.square(), None).item()
    if not squares:
        return 1.0
    found = reduce("sum", centred[1:] * centred[:-1], None).item() / squares
    found = min(max(found + (1 + 3 * found) / len(means), 0.0), 0.99)
    return (1 + found) / (1 - found)


@aside
def student(mean: float, deviation: float, freedom: int) -> float:
    """The probability that a mean whose expectation is zero is so far from it, on either side: Student's t distribution.

    With x = atan(t / √ν) its density is proportional to cos(x)^(ν - 1).
    """
    if freedom < 1 or math.isnan(mean) or not mean:
        return 1.0
    if not deviation:
        return 0.0

    def area(start: float, end: float, steps: int = 1000) -> float:
        width = (end - start) / (2 * steps)
        angles = torch.arange(2 * steps + 1).double() * width + start
        heights = apply("power", apply("cos", angles), parameters=(freedom - 1.0,)).tolist()
        return width / 3 * (heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2]))

    place = apply("atan", torch.tensor(abs(mean) / deviation / math.sqrt(freedom), dtype=torch.float64)).item()
    return min(1.0, max(0.0, area(place, math.pi / 2)) / area(0, math.pi / 2))


def binomial(some: int, others: int) -> float:
    """The probability that as many or more of ``some + others`` tosses of a coin fall on one side, whichever."""
    count, most = some + others, max(some, others)
    tail = sum(math.comb(count, one) for one in range(most, count + 1)) / 2**count
    return min(1.0, 2 * tail)
