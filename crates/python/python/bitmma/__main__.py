"""The command ``bitmma``, as ``bitmma`` and as ``python -m bitmma``."""

from __future__ import annotations

import signal
import sys

from ._bitmma import run_command


def main() -> int:
    """Runs the command with the arguments of this process and returns its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it: Python's handler would wait for its end
    sys.stdout.flush()
    return run_command(["bitmma", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
