"""Whether a kernel is trusted on a device: a test before its first use there, whose verdict is kept in a file.

A verdict is for one kernel with its constants, one device, one version of driver, PyTorch, Triton and the kernels' sources.
A file that is not as this version of the kernels writes it, or that another user may have written, counts for nothing: its
kernels are tested again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from .. import _bitmma
from ..simulate import Unit
from .cases import difference
from .device import Device
from .model import model_of
from .plan import Plan, plan

#: Verdicts of this process: a key, and why the kernel is not trusted (empty: it is).
_known: dict[str, str] = {}


def path() -> Path:
    """The file of verdicts: ``$BITMMA_CACHE`` or the user's cache folder, ``bitmma/gpu.json``."""
    folder = os.environ.get("BITMMA_CACHE") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(folder) / "bitmma" / "gpu.json"


@lru_cache(maxsize=1)
def sources() -> str:
    """A digest of everything here that a verdict is about."""
    digest = hashlib.sha256(_bitmma.__version__.encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def key(found: Plan, device: Device) -> str:
    """What a verdict is for."""
    model = found.model
    constants = found.compiled(device.target, device.route)
    about: list[Any] = [found.kernel, sorted(constants.items()), device.tile(found), model.family, model.a.name, model.b.name, model.c.name, model.d.name]
    about += [model.step, model.scale and (model.scale[0].name, model.scale[1]), model.flush_operands, sorted((key, str(value)) for key, value in model.lowering.items()), model.order]
    digest = hashlib.sha256(json.dumps(about, default=str).encode()).hexdigest()[:24]
    return " ".join([device.kind, device.name, *device.versions, sources(), digest])


def why_not(unit: Unit, device: Device, where: torch.device, again: bool = False) -> str | None:
    """Why the kernel of this unit is not used on the device; None where it passed its test. ``again`` tests in any case."""
    found = plan(model_of(unit))
    if device.kind == "interpreter":
        return None
    name = key(found, device)
    if again or name not in _known:
        kept = None if again else _read().get(name)
        if kept is None:
            try:
                kept = difference(unit, device, where) or ""
            except Exception as error:  # compilers and drivers fail in many ways
                kept = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'without a message'}"
            _write(name, kept)
        _known[name] = kept
    return f"its kernel failed the self-test on {device.name}: {_known[name]}" if _known[name] else None


#: What the file is, and how it is laid out.
SCHEMA = "bitmma.gpu verdicts, 2"


def _seal(name: str, reason: str) -> str:
    """A digest of one verdict: what was changed in the file, or written by other kernels, has another."""
    return hashlib.sha256(json.dumps([SCHEMA, sources(), name, reason]).encode()).hexdigest()


def _is_own(file: Path) -> bool:
    """Whether nobody but this user can have written a file."""
    status = file.stat()
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def _read() -> dict[str, str]:
    """All verdicts in the file; none where it is not as :func:`_write` writes it."""
    try:
        if not _is_own(path()):
            return {}
        held: Any = json.loads(path().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(held, dict) or held.get("schema") != SCHEMA or held.get("kernels") != sources():
        return {}
    rows = held.get("verdicts")
    if not isinstance(rows, dict):
        return {}
    found = {}
    for name, row in rows.items():
        if not isinstance(row, dict) or set(row) != {"passed", "reason", "seal"} or not isinstance(row["reason"], str):
            return {}
        if row["passed"] is not (row["reason"] == "") or row["seal"] != _seal(name, row["reason"]):
            return {}
        found[name] = row["reason"]
    return found


def _write(name: str, why: str) -> None:
    """One verdict more; a file that cannot be written costs a test in the next process."""
    file = path()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as held:
            rows = {key: {"passed": not text, "reason": text, "seal": _seal(key, text)} for key, text in {**_read(), name: why}.items()}
            json.dump({"schema": SCHEMA, "kernels": sources(), "verdicts": rows}, held, indent=1)
        os.replace(held.name, file)
    except OSError:
        return
