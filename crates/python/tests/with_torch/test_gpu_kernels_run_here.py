"""The project's own GPU kernels, whose results on a real H100 are known, compiled for three targets and run here: against the engine.

Every run has the models of the hardware that use every second kernel, dealt out among the three targets; ``BITMMA_TESTS=all`` has the
models of both revisions on every target, 10^6 elements and more. Each target is a process in which Triton compiles: the others of these tests
interpret. Compilation takes most of the time: once for all models and inputs that share a kernel, and in every run with shorter inner
loops for three kernels of four.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from common import EVERYTHING, models

TARGETS = ("sm_80", "sm_90", "sm_100")
#: M, N and instructions along K of a case: of several tiles, and of one.
SIZES = {False: (35, 33, 3), True: (31, 29, 3)}


def compare(target: str) -> None:
    """Prints models, kernels and elements that agree; an error where one does not."""
    import torch

    from bitmma.gpu import kernels
    from bitmma.gpu.cases import answers, cases
    from bitmma.gpu.device import Device, compiler_options
    from bitmma.gpu.model import Declined, model_of
    from bitmma.gpu.plan import plan
    from bitmma.kernels import on

    run = functools.lru_cache(lambda kernel: on(getattr(kernels, kernel), target))

    @dataclasses.dataclass(frozen=True)
    class Emulated(Device):
        """A chip that is not here."""

        short: bool = False

        def launch(self, plan, grid, arguments, constants):
            if self.short and "UNROLL" in constants:
                constants["UNROLL"] = min(constants["UNROLL"], 2)
            run(plan.kernel)[grid](*arguments, **constants, **compiler_options(plan, self.target))

    warnings.simplefilter("ignore")
    elements, ran, order = 0, 0, {}
    for unit in models(*(("hardware", "paper") if EVERYTHING else ("hardware",))):
        try:
            found = plan(model_of(unit))
        except Declined:
            continue
        place = order.setdefault((found.kernel, found.end.name, *found.compiled("ptx").items()), len(order))
        if not EVERYTHING and place % (2 * len(TARGETS)) != 2 * TARGETS.index(target):
            continue
        short = not EVERYTHING and place // (2 * len(TARGETS)) % 4 > 0
        device = Emulated(target, "cuda", (), target="ptx", short=short)
        m, n, steps = SIZES[short]
        ran += 1
        # where each instruction is a launch of its own, the first, the second and later ones are compiled apart
        drawn = list(cases(unit, (m, n, 1 if short and found.by_step else steps)))
        for name, case in [one for one in drawn if one[1][2] is not None][ran % 2 :: 2] if short else drawn:
            ours, theirs = answers(unit, case, device, torch.device("cpu"))
            differs = (ours != theirs).nonzero()
            assert not len(differs), f"{target} {unit!r}, {name}: {len(differs)} of {ours.numel()} differ, first {differs[0].tolist()}"
            elements += ours.numel()
        print(target, repr(unit), elements, file=sys.stderr, flush=True)
    print(ran, len(order), elements)


@pytest.mark.parametrize("target", TARGETS)
def test_kernels_of_the_models_give_the_bits_of_the_engine(target, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    import bitmma

    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    paths = [Path(bitmma.__file__).parents[1], Path(__file__).parents[1], environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    if EVERYTHING:  # hundreds of megabytes; else what Triton keeps for the user saves the next run most of the time
        environment["TRITON_CACHE_DIR"] = str(tmp_path)
    ended = subprocess.run([sys.executable, __file__, target], capture_output=True, text=True, env=environment)
    assert ended.returncode == 0, ended.stderr[-3000:]
    ran, kernels, elements = map(int, ended.stdout.split())
    assert elements >= (10**6 if EVERYTHING else 10**5) / 3
    assert (ran >= 365 and kernels >= 164) if EVERYTHING else (ran >= 25 and kernels >= 117), ended.stdout


if __name__ == "__main__":
    compare(sys.argv[1])
