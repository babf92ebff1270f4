"""The command ``bitmma``, as ``bitmma`` and as ``python -m bitmma``."""

from __future__ import annotations

import os
import signal
import sys

from ._bitmma import run_command


PYTEST = """Runs a suite that was written for device="cuda" without a GPU, as the chips that you name.

Usage: python -m bitmma pytest [--chip NAME]… [--no-doubtful] [options of pytest] [files]

  --chip NAME     run as this chip (a100, h100, b200, …); several, or names with commas between them, run each test once for each;
                  by default h100, or the chips of bitmma_chips in pytest's configuration
  --no-doubtful   kernels whose results on a GPU are not known for sure are errors; by default they run and are listed

Tests marked @pytest.mark.chips("a100", "h100") run as these chips; the fixture chip has the name. The end of the run lists what the chip computed,
what the host computed, what was refused, and what is doubtful. The same by pytest itself: pytest -p bitmma.pytest. Its options: pytest --help.

  python -m bitmma pytest tests/ --chip a100 --chip h100 -x
"""


def _pytest(arguments: list[str]) -> int:
    """Runs pytest with the plugin; the exit code is pytest's."""
    if arguments[:1] in (["--help"], ["-h"]):
        print(PYTEST, end="")
        return 0
    try:
        import pytest
    except ImportError:
        print("pytest is not installed: pip install pytest", file=sys.stderr)
        return 2
    return int(pytest.main(["-p", "bitmma.pytest", *arguments]))


def main() -> int:
    """Runs the command with the arguments of this process and returns its exit code."""
    if sys.argv[1:2] == ["pytest"]:
        return _pytest(sys.argv[2:])
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it: Python's handler would wait for its end
    sys.stdout.flush()
    if sys.argv[1:2] == ["kernel"]:  # ptxas, nvdisasm and NVRTC may lie in wheels
        from .kernels._sass import folders

        os.environ["BITMMA_CUDA_TOOLS"] = os.pathsep.join(filter(None, [os.environ.get("BITMMA_CUDA_TOOLS"), *folders()]))
    return run_command(["bitmma", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
