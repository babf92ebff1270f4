"""What two parties compare who ran the same model: one file, the same on every machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import numpy as np
import torch
import triton

from ... import _bitmma
from ...errors import Error

if TYPE_CHECKING:
    from ...kernels._triton import Ran
    from .backend import Backend

#: The form of the file.
VERSION = 1
#: Lines of a text that say where it came from, and nothing of what it does.
_WHERE = re.compile(r"^\s*(//.*|\.(file|loc|section|b8|b32|b64)\b.*)?$")


class CertificateError(Error):
    """A file that is no certificate, or one that was changed."""


def digest(value: Any) -> str:
    """Of the dtype, shape and bytes of a tensor or an array; of numbers, strings and the like what they print. An error for what prints an address."""
    found = hashlib.sha256()
    if isinstance(value, np.ndarray) and value.dtype != object:
        found.update(f"numpy {value.dtype.str} {value.shape} ".encode() + value.tobytes())
    elif isinstance(value, torch.Tensor):
        plain = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        found.update(f"{plain.dtype} {tuple(plain.shape)} ".encode())
        found.update(plain.view(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b"")
    elif isinstance(value, (int, float, complex, str, bytes, type(None), torch.dtype, torch.device, np.generic)):
        found.update(repr(value).encode())
    else:
        raise CertificateError(f"an input is of type {type(value).__name__}, of which no digest can be made that is the same on another machine; tensors, arrays, numbers and strings have one")
    return found.hexdigest()


def of_text(text: str) -> str:
    """Of a kernel's PTX, but for the names of files and lines."""
    lines = [line for line in text.split("\n") if not _WHERE.match(line)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def of_model(model: Any) -> str:
    """Of the parameters and buffers of a module, by name."""
    held = {**dict(model.named_parameters()), **dict(model.named_buffers())} if isinstance(model, torch.nn.Module) else {}
    return hashlib.sha256(json.dumps({name: digest(value) for name, value in sorted(held.items())}).encode()).hexdigest()


@dataclass(frozen=True)
class Certificate:
    """What a model was, how it was compiled, and what it computed."""

    about: dict[str, Any]
    """Releases, and how many multiprocessors the chip has."""
    options: dict[str, Any]
    """Those of :class:`Options`."""
    model: str
    """A digest of parameters and buffers."""
    inputs: list[str]
    """Digests of what it was called with."""
    kernels: dict[str, list[str]] = field(default_factory=dict)
    """Of each kernel that ran its PTX, and the ptxas that was asked what it fuses."""
    graphs: list[list[str]] = field(default_factory=list)
    """Digests of the outputs of each graph that ran, in order."""

    def _content(self) -> dict[str, Any]:
        return {"version": VERSION, "about": self.about, "options": self.options, "model": self.model, "inputs": self.inputs, "kernels": self.kernels, "graphs": self.graphs}

    @property
    def seal(self) -> str:
        """A digest of all of it."""
        return hashlib.sha256(json.dumps(self._content(), sort_keys=True).encode()).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as JSON."""
        text = json.dumps({**self._content(), "seal": self.seal}, indent=1, sort_keys=True) + "\n"
        temporary = Path(f"{os.fspath(path)}.{os.getpid()}")
        temporary.write_text(text)
        temporary.replace(path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Certificate:
        """Reads it; an error if it was changed."""
        try:
            held = json.loads(Path(path).read_text())
            found = Certificate(held["about"], held["options"], held["model"], held["inputs"], held["kernels"], held["graphs"])
            seal, version = held["seal"], held["version"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CertificateError(f"{os.fspath(path)} is no certificate: {error}") from None
        if version != VERSION:
            raise CertificateError(f"{os.fspath(path)} has version {version}; {VERSION} was expected")
        if seal != found.seal:
            raise CertificateError(f"{os.fspath(path)} was changed: its seal is {seal[:16]}…, and its content's {found.seal[:16]}…")
        return found

    def differences(self, other: Certificate) -> list[str]:
        """What is not the same in another one, in words; the first graph and output that differ."""
        own, theirs = ({**part.options, **part.about} for part in (self, other))
        found = [f"{name} is {own.get(name)!r}, and {theirs.get(name)!r}" for name in sorted({*own, *theirs}) if own.get(name) != theirs.get(name)]
        found += ["the model's parameters or buffers differ"] if self.model != other.model else []
        found += [f"input {place} differs" for place, (one, two) in enumerate(zip(self.inputs, other.inputs)) if one != two]
        found += ["the numbers of inputs differ"] if len(self.inputs) != len(other.inputs) else []
        names = sorted(name for name in {*self.kernels, *other.kernels} if self.kernels.get(name) != other.kernels.get(name))
        found += [f"kernels differ: {', '.join(names)}"] if names else []
        for graph, (one, two) in enumerate(zip(self.graphs, other.graphs)):
            places = [place for place, pair in enumerate(zip(one, two)) if pair[0] != pair[1]]
            if places or len(one) != len(two):
                where = f"output {places[0]}" if places else "the number of outputs"
                found.append(f"graph {graph} of {len(self.graphs)} is the first with other results: {where}")
                break
        else:
            found += ["the numbers of graphs that ran differ"] if len(self.graphs) != len(other.graphs) else []
        return found


def certified(backend: Backend, model: Any, run: Callable[[], Any], inputs: Any) -> Certificate:
    """Runs a compiled model, and certifies what it computed."""
    graphs: list[list[str]] = []
    kernels: dict[str, list[str]] = {}

    def ran(outputs: Any) -> None:
        graphs.append([digest(one) for one in outputs])

    def launched(name: str, ran: Ran) -> None:
        known = [of_text(ran.text), ran.launched.compiler]
        if kernels.setdefault(name, known) != known:
            kernels[f"{name} {known[0][:8]}"] = known

    # before it runs, which may change them
    held, given = of_model(model), [digest(one) for one in torch.utils._pytree.tree_leaves(inputs)]
    with backend.watched(ran, launched):
        run()
    if not graphs:
        raise CertificateError("no graph of the compiled model ran in this thread: there is nothing to certify")
    about = {"bitmma": _bitmma.__version__, "torch": torch.__version__, "triton": triton.__version__, "multiprocessors": backend.launcher.device._multiprocessors}
    # how many it has is said once, whether it was given or is known
    options = {**asdict(backend.options), "multiprocessors": about["multiprocessors"]}
    return Certificate(about, options, held, given, dict(sorted(kernels.items())), graphs)
