"""NumPy, imported when it is first used: it takes longer to import than all the rest."""

from __future__ import annotations

import importlib
from typing import Any


class _Lazy:
    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module("numpy"), name)
        setattr(self, name, value)
        return value


numpy: Any = _Lazy()
