"""Whether there seems to be a GPU."""

from __future__ import annotations

#: Set while :func:`bitmma.torch.pretend.pretend` is on.
IS_ON = False
