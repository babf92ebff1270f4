"""FP8 GEMM on Hopper: 13 bits of a sum, what promotion saves, and what Blackwell does.

The QGMMA instructions of Hopper keep 13 fractional bits below the largest term. Training in FP8 was less
accurate than it should have been (DeepSeek-V3), until the sum was moved to FP32 every 128 elements along K.
This holds the same FP8 operands on Hopper, on Hopper with promotion, and on Blackwell, against the exact
product. Numbers between 0 and 1: no cancellation, so that every element's relative error means something.

    python examples/fp8_accumulation.py [picture.png]
"""

from __future__ import annotations

import sys

import numpy as np

import bitmma

SIZE = 64
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
HOPPER = ("h100", bitmma.catalogue.choose("h100", "e4m3", "e4m3").name)
BLACKWELL = ("b200", bitmma.catalogue.choose("b200", "e4m3", "e4m3").name)
RUNS = {
    "Hopper": lambda a, b: bitmma.gemm(HOPPER, a, b),
    "Hopper, promoted every 128": lambda a, b: bitmma.gemm(HOPPER, a, b, promote_every=128),
    "Blackwell": lambda a, b: bitmma.gemm(BLACKWELL, a, b),
}


def errors(length: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """For each run the largest and the mean relative error of an element of D, K = ``length``."""
    rng = np.random.default_rng(seed)
    a = bitmma.formats.encode(rng.uniform(size=(SIZE, length)), "e4m3")
    b = bitmma.formats.encode(rng.uniform(size=(length, SIZE)), "e4m3")
    # products have 8 bits: the FP64 sum is exact
    exact = bitmma.formats.decode(a, "e4m3") @ bitmma.formats.decode(b, "e4m3")
    found = {}
    for name, run in RUNS.items():
        d = bitmma.formats.decode(run(a, b), "f32")
        relative = np.abs(d - exact) / exact
        found[name] = (float(relative.max()), float(relative.mean()))
    return found


def draw(results: dict[int, dict[str, tuple[float, float]]], path: str) -> None:
    """The same numbers as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for name, marker in zip(RUNS, "osD"):
        # a mean and a largest error of zero (Blackwell, K = 128) have no place on a logarithmic axis
        largest, mean = ([results[length][name][which] or np.nan for length in results] for which in (0, 1))
        (line,) = axes.loglog(list(results), largest, marker=marker, label=name)
        axes.loglog(list(results), mean, color=line.get_color(), linestyle=":")
    axes.plot([], [], color="gray", linestyle=":", label="mean of all elements (solid: the largest)")
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(results), [str(length) for length in results])
    axes.set_xlabel("K")
    axes.set_ylabel("relative error of an element of D")
    axes.set_title("E4M3 × E4M3 in FP32, numbers between 0 and 1")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(0.02, 0.52))
    figure.savefig(path, dpi=150)


def main() -> None:
    results = {length: errors(length) for length in LENGTHS}
    print(f"largest (mean) relative error of an element; {HOPPER[1]}, {BLACKWELL[1]}\n")
    print(f"{'K':>6}  " + "  ".join(f"{name:>26}" for name in RUNS))
    for length, row in results.items():
        print(f"{length:>6}  " + "  ".join(f"{largest:14.2e} ({mean:.2e})" for largest, mean in row.values()))
    if len(sys.argv) > 1:
        draw(results, sys.argv[1])


if __name__ == "__main__":
    main()
