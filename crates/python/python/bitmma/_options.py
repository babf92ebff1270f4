"""Options that are counts."""

from __future__ import annotations

from .errors import OptionError


def whole(**options: int | None) -> None:
    """Refuses numbers that the native half cannot take, by name; how many make sense is said there."""
    for name, value in options.items():
        if isinstance(value, int) and not 0 <= value < 1 << 64:
            raise OptionError(f"{name} is {value}; it must be an integer from 0 to 2^64 - 1")
