"""What `bitmma.torch.compare` costs beside the forwards that it compares, and these beside plain PyTorch.

    python crates/python/benches/compare.py [rounds]

A BF16 decoder of 4 layers, 512 wide, 256 tokens, on A100, H100 and MI300X. All runs of a round are made in turn in one process; medians
of wall clock and of processor time are printed.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
from decoder import Decoder  # noqa: E402

import bitmma  # noqa: E402

CHIPS = ["a100", "h100", "mi300x"]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    torch.manual_seed(0)
    model = Decoder(layers=4, width=512, heads=8, classes=1024).bfloat16().eval()
    ids = torch.randint(1024, (1, 256))

    def forward(chip: str) -> None:
        with torch.no_grad(), bitmma.torch.emulate(chip):
            model(ids)

    runs = {"plain": lambda: model(ids), **{chip: lambda chip=chip: forward(chip) for chip in CHIPS}}
    runs["compare"] = lambda: bitmma.torch.compare(model, ids, chips=CHIPS, reference=False)
    runs["compare with references"] = lambda: bitmma.torch.compare(model, ids, chips=CHIPS)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for place in range(rounds + 1):
        for name, run in runs.items():
            start = time.perf_counter(), time.process_time()
            with torch.no_grad():
                run()
            if place:  # the first round warms up
                taken[name].append((time.perf_counter() - start[0], time.process_time() - start[1]))
    for clock, label in enumerate(("wall", "processor")):
        median = {name: statistics.median(one[clock] for one in times) for name, times in taken.items()}
        forwards = sum(median[chip] for chip in CHIPS)
        slower = ", ".join(f"{chip} {median[chip] / median['plain']:.1f}" for chip in CHIPS)
        print(f"{label}: a forward over plain PyTorch: {slower}")
        for name in ("compare", "compare with references"):
            print(f"{label}: {name} over three forwards: {median[name] / forwards:.2f} ({median[name]:.2f} s over {forwards:.2f} s)")


if __name__ == "__main__":
    main()
