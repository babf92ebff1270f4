"""The project's own GPU kernels, whose results on a real H100 are known, compiled for three targets and run here: against the engine.

Every run takes a slice of the catalogue's models, 10^5 elements and more; ``BITMMA_TESTS=all`` takes all of them, 10^6. Each target
is a process in which Triton compiles: the others of these tests interpret.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

TARGETS = ("sm_80", "sm_90", "sm_100")
#: One model in this many is in every run's slice.
SLICE = 6
#: M, N and instructions along K of a case: for every run, and for all.
SIZES = {False: (67, 41, 3), True: (97, 67, 3)}


def compare(target: str, all_models: bool) -> int:
    """How many elements agree; an error where one does not."""
    import torch

    from bitmma.gpu import kernels, table
    from bitmma.gpu.cases import answers, cases
    from bitmma.gpu.device import Device, compiler_options
    from bitmma.gpu.model import Declined, model_of
    from bitmma.gpu.plan import plan
    from bitmma.kernels import on

    @dataclasses.dataclass(frozen=True)
    class Emulated(Device):
        """A chip that is not here."""

        def launch(self, plan, grid, arguments, constants):
            on(getattr(kernels, plan.kernel), self.name)[grid](*arguments, **constants, **compiler_options(plan, self.target))

    warnings.simplefilter("ignore")
    device = Emulated(target, "cuda", (), target="ptx")
    elements = 0
    for index, unit in enumerate(table.units()):
        try:
            plan(model_of(unit))
        except Declined:
            continue
        if not all_models and index % SLICE != TARGETS.index(target):
            continue
        for name, drawn in cases(unit, SIZES[all_models]):
            ours, theirs = answers(unit, drawn, device, torch.device("cpu"))
            differs = (ours != theirs).nonzero()
            assert not len(differs), f"{target} {unit.name}, {name}: {len(differs)} of {ours.numel()} differ, first {differs[0].tolist()}"
            elements += ours.numel()
        print(unit.instruction.architecture, unit.name, elements, file=sys.stderr, flush=True)
    return elements


@pytest.mark.parametrize("target", TARGETS)
def test_kernels_of_the_models_give_the_bits_of_the_engine(target, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    import bitmma

    every = os.environ.get("BITMMA_TESTS") == "all"
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    package = str(Path(bitmma.__file__).parents[1])
    environment["PYTHONPATH"] = os.pathsep.join([package, environment.get("PYTHONPATH", "")])
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    ended = subprocess.run([sys.executable, __file__, target, str(int(every))], capture_output=True, text=True, env=environment)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert int(ended.stdout) >= (10**6 if every else 10**5) / 3


if __name__ == "__main__":
    print(compare(sys.argv[1], sys.argv[2] == "1"))
