"""The command ``bitmma``, as ``bitmma`` and as ``python -m bitmma``."""

from __future__ import annotations

import os
import signal
import sys

from ._bitmma import run_command


def main() -> int:
    """Runs the command with the arguments of this process and returns its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it: Python's handler would wait for its end
    sys.stdout.flush()
    if sys.argv[1:2] == ["kernel"]:  # ptxas, nvdisasm and NVRTC may lie in wheels
        from .kernels._sass import folders

        os.environ["BITMMA_CUDA_TOOLS"] = os.pathsep.join(filter(None, [os.environ.get("BITMMA_CUDA_TOOLS"), *folders()]))
    return run_command(["bitmma", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
