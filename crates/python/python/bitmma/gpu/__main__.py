"""``python -m bitmma.gpu selftest`` and ``python -m bitmma.gpu cost [TARGET …]``."""

from __future__ import annotations

import os
import sys


def main(arguments: list[str]) -> int:
    """Runs a command: 0 done or agrees, 1 differs, 2 error."""
    try:
        if arguments == ["selftest"]:
            from . import selftest

            return int(any(not one.passed and not one.reason.startswith("on the CPU") for one in selftest()))
        if arguments[:1] == ["cost"]:
            from . import cost

            unknown = [one for one in arguments[1:] if one not in cost.TARGETS]
            if unknown:
                raise ValueError(f"unknown target {unknown[0]!r}; one of {', '.join(cost.TARGETS)}")
            found = cost.costs(tuple(arguments[1:]) or cost.TARGETS)
            print(cost.table(found), cost.rates(found), sep="\n\n")
            return 0
        raise ValueError("usage: python -m bitmma.gpu selftest | cost [TARGET …]")
    except (ImportError, ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    if sys.argv[1:2] == ["cost"]:
        os.environ["TRITON_INTERPRET"] = "0"  # compiled, not interpreted
    sys.exit(main(sys.argv[1:]))
