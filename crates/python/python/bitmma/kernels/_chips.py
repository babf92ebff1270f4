"""What compilers call chips."""

from __future__ import annotations

import re

from .._bitmma import architecture as _architecture
from ..errors import OptionError

#: The compute capability that stands for an architecture.
CAPABILITIES = {"volta": 70, "turing": 75, "ampere": 80, "ada": 89, "hopper": 90, "blackwell": 100, "rtx-blackwell": 120}


def capability(chip: str, least: int = 75) -> int:
    """The compute capability of a chip or target: 90 for ``h100`` and ``sm_90a``. ``least``: that of the oldest architecture that is meant."""
    architecture = _architecture(chip)
    if CAPABILITIES.get(architecture, 0) < least:
        names = ", ".join(name for name, number in CAPABILITIES.items() if number >= least)
        raise OptionError(f"kernels run for {names}, not for {architecture}")
    exact = re.fullmatch(r"sm_(\d+)[af]?", chip.lower())
    return int(exact[1]) if exact else CAPABILITIES[architecture]


def target_of(chip: str) -> str:
    """The target for a chip, with what only it has (``sm_90a`` for ``h100``), or the target that is named."""
    number = capability(chip, 70)
    return chip.lower() if chip.lower().startswith("sm_") else f"sm_{number}{'a' * (number >= 90)}"
