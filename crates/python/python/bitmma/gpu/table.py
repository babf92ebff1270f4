"""The table of kernels that a device passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from .. import _bitmma
from ..errors import DeviceError, Error
from ..simulate import Unit
from . import device as devices
from .model import Declined, model_of
from .plan import plan
from .verdicts import why_not


@dataclass(frozen=True)
class Verdict:
    """What the self-test says of one kernel."""

    family: str
    formats: tuple[str, str, str]
    """Of A, B and D."""
    instruction: str
    """An instruction that it computes."""
    passed: bool
    reason: str
    """Why not, or why no kernel computes it; empty where it passed."""


def units() -> Iterator[Unit]:
    """An instruction for each family and choice of formats in the catalogue."""
    seen = set()
    for row in _bitmma.instructions():
        try:
            unit = Unit(_bitmma.Unit.of_instruction(row, "hardware"), row)
            model = model_of(unit)
        except (Error, Declined):  # instructions that have no model
            continue
        kind = (model.family, model.a, model.b, model.d, model.rounding, model.scale and model.scale[0])
        if kind not in seen:
            seen.add(kind)
            yield unit


def selftest(device: str | torch.device | None = None, *, show: bool = True) -> list[Verdict]:
    """Tests the kernels of every family and choice of formats on a device (else the current one) against the CPU, keeps the
    verdicts, and prints them as a table."""
    missing = devices.why_none()
    if missing is not None:
        raise DeviceError(missing)
    where = torch.device("cpu") if devices.is_interpreted() else torch.device(device or "cuda")
    one = devices.device_of(where)
    verdicts = []
    if show:
        print(f"{one.name} ({', '.join(one.versions)})")
    for unit in units():
        model = model_of(unit)
        try:
            plan(model)
            why = why_not(unit, one, where, again=True)
        except Declined as reason:
            why = f"on the CPU: {reason}"
        row = unit.instruction
        name = f"{row.architecture} {row.name}" if row else unit.name
        verdicts.append(Verdict(model.family, (unit.a, unit.b, unit.d), name, why is None, why or ""))
        if show:
            print(f"{model.family:11} {unit.a:9} {unit.b:9} {unit.d:4} {'passed' if why is None else why}", flush=True)
    return verdicts
