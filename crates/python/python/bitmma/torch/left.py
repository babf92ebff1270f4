"""Products that were left as they were: counted, and said."""

from __future__ import annotations

import warnings
from collections import Counter

from ..errors import LeftAlone
from .._lock import LOCK


class Left(Counter[str]):
    """How many products ran as they were, by operation, dtypes and reason."""

    def __init__(self) -> None:
        super().__init__()
        self.requested: set[str] = set()
        """Those that the user asked for."""

    def count(self, what: str, requested: bool = False) -> None:
        """One more; at once said where a default leaves it, and never where the user asked for it."""
        with LOCK:
            self[what] += 1
        if requested:
            self.requested.add(what)
        elif "fp32='tf32'" in what and self[what] == 1:
            warnings.warn(f"FP32 products run as they are: {what}", LeftAlone, stacklevel=6)

    def say(self, label: str) -> None:
        """At the end: all of them but those that were asked for."""
        left = {what: count for what, count in self.items() if what not in self.requested}
        if left:
            lines = "".join(f"\n  {count} × {what}" for what, count in left.items())
            warnings.warn(f"{sum(left.values())} products ran as they were, not on {label}:{lines}", LeftAlone, stacklevel=4)
