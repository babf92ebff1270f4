"""FP16 training on CDNA2: subnormal inputs are read as zero, and the network stops learning.

A network of three layers learns which of two interleaved spirals a point is on. Weights are kept in FP32;
every matrix product, forward and backward, takes FP16 operands and runs on a simulated instruction. The loss
is a mean over a batch that 32 devices share, so the gradients lie below 2^-14, FP16's smallest normal number.
The matrix units of the MI250X read such numbers as zero (PyTorch's notes on the MI200 series), those of the
H100 and the MI300X do not. Two remedies: cast the operands of the backward pass to BF16 first, or multiply
the loss by 1024 and the gradients by 1/1024.

    python examples/fp16_training.py [picture.png]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

import bitmma

POINTS, WIDTH, STEPS = 1024, 64, 120
DEVICES = 32  # each has as many points (here: the same ones), and the loss is a mean over all
RATE, MOMENTUM = 0.1, 0.9


@dataclass(frozen=True)
class Setting:
    """Where and how a network is trained."""

    chip: str
    cast: bool = False
    """Whether operands of the backward pass are cast to BF16."""
    scale: float = 1
    """By what the loss is multiplied."""


SETTINGS = {
    "H100, FP16": Setting("h100"),
    "MI300X, FP16": Setting("mi300x"),
    "MI250X, FP16": Setting("mi250x"),
    "MI250X, backward pass cast to BF16": Setting("mi250x", cast=True),
    "MI250X, FP16, loss times 1024": Setting("mi250x", scale=1024),
}


def spirals(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points of two interleaved spirals, as eight features each, and which spiral each is on."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, POINTS)
    radius = rng.uniform(0.2, 1.0, POINTS)
    angle = 2 * np.pi * radius + np.pi * label
    point = radius * np.stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.02, (2, POINTS))
    x, y = point
    features = np.stack([x, y, x * y, x * x - y * y, np.sin(3 * x), np.sin(3 * y), np.cos(3 * x), np.cos(3 * y)])
    return features.T.astype(np.float16), label


def product(a: np.ndarray, b: np.ndarray, setting: Setting, backward: bool) -> np.ndarray:
    """A·B as the chip's library computes it: FP16 in, FP32 sums, FP16 out."""
    if backward and setting.cast:
        a, b = (bitmma.formats.encode(one, "bf16") for one in (a, b))
        words = bitmma.matmul(a, b, like=setting.chip, read_as="bf16", output="f16")
        return bitmma.formats.view(words, "f16")
    return bitmma.matmul(a, b, like=setting.chip, output="f16")


def train(setting: Setting, steps: int = STEPS, seed: int = 0) -> dict[str, np.ndarray]:
    """The loss after each step, and the share of gradients at the first layer that are subnormal in FP16."""
    x, label = spirals(seed)
    rng = np.random.default_rng(seed + 1)
    sizes = [x.shape[1], WIDTH, WIDTH, 2]
    weights = [rng.normal(0, np.sqrt(2 / n), (n, m)).astype(np.float32) for n, m in zip(sizes, sizes[1:])]
    biases = [np.zeros(m, np.float32) for m in sizes[1:]]
    speeds = [np.zeros_like(one) for one in weights + biases]
    target = np.eye(2, dtype=np.float32)[label]
    losses, subnormal, right = [], [], []
    for _ in range(steps):
        halves = [weight.astype(np.float16) for weight in weights]
        active = [x]
        for layer, (half, bias) in enumerate(zip(halves, biases)):
            y = product(active[-1], half, setting, backward=False) + bias.astype(np.float16)
            active.append(np.maximum(y, 0) if layer < 2 else y)
        logits = active.pop().astype(np.float32)
        logits -= logits.max(axis=1, keepdims=True)
        chance = np.exp(logits)
        chance /= chance.sum(axis=1, keepdims=True)
        losses.append(float(-np.log(np.maximum((chance * target).sum(axis=1), 1e-12)).mean()))
        right.append(float((chance.argmax(axis=1) == label).mean()))
        gradient = (setting.scale * (chance - target) / (DEVICES * len(x))).astype(np.float16)
        changes: list[np.ndarray] = [np.empty(0)] * 6
        for layer in (2, 1, 0):
            changes[layer] = product(active[layer].T, gradient, setting, backward=True).astype(np.float32)
            changes[3 + layer] = gradient.astype(np.float32).sum(axis=0)
            if layer:
                gradient = product(gradient, halves[layer].T, setting, backward=True) * (active[layer] > 0)
        magnitude = np.abs(gradient[gradient != 0].astype(np.float32))
        subnormal.append(float((magnitude < 2.0**-14).mean()) if magnitude.size else 1.0)
        for speed, change, parameter in zip(speeds, changes, weights + biases):
            speed *= MOMENTUM
            speed += change * (DEVICES / setting.scale)  # summed over the devices, in FP32
            parameter -= RATE * speed
    return {"loss": np.array(losses), "subnormal": np.array(subnormal), "right": np.array(right)}


def draw(results: dict[str, dict[str, np.ndarray]], path: str) -> None:
    """The same numbers as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    styles = ["-", (0, (6, 2)), "-", "--", ":"]
    for (name, result), style in zip(results.items(), styles):
        axes.semilogy(result["loss"], label=name, linestyle=style, linewidth=1.8)
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    axes.set_title("Two spirals, FP16 matrix products")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    results = {}
    print(f"{'':36}  {'loss, first':>11}  {'last':>8}  {'right':>6}  subnormal gradients at the first layer")
    for name, setting in SETTINGS.items():
        results[name] = result = train(setting)
        loss, right = result["loss"], result["right"]
        print(f"{name:36}  {loss[0]:11.4f}  {loss[-1]:8.4f}  {right[-1]:6.1%}  {result['subnormal'].mean():.0%}", flush=True)
    if len(sys.argv) > 1:
        draw(results, sys.argv[1])


if __name__ == "__main__":
    main()
