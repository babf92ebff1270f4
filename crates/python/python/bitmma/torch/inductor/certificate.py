"""What two parties compare who ran the same model: one file, the same on every machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import torch
import triton

from ... import _bitmma
from .held import CertificateError, Held, differing, digest
from .seeds import SEEDS

if TYPE_CHECKING:
    from ...kernels._triton import Ran
    from .backend import Backend

#: The form of the file.
VERSION = 3
#: Lines of a text that say where it came from, and nothing of what it does.
_WHERE = re.compile(r"^\s*(//.*|\.(file|loc|section|b8|b32|b64)\b.*)?$")


def of_text(text: str) -> str:
    """Of a kernel's PTX, but for the names of files and lines."""
    lines = [line for line in text.split("\n") if not _WHERE.match(line)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@dataclass(frozen=True)
class Graph:
    """Digests of a graph's run."""

    given: list[str]
    """Of what it was given."""
    outputs: list[str]
    """Of what it returned."""
    left: list[str]
    """Of what it was given, as it is afterwards: a graph may change its inputs."""

    def difference(self, other: Graph) -> str | None:
        """The first of what is not the same in another one, in words."""
        for what, own, theirs in (("input", self.given, other.given), ("output", self.outputs, other.outputs), ("what it leaves of input", self.left, other.left)):
            if len(own) != len(theirs):
                return f"the number of {what}s"
            places = [place for place, pair in enumerate(zip(own, theirs)) if pair[0] != pair[1]]
            if places:
                return f"{what} {places[0]}"
        return None


@dataclass(frozen=True)
class Certificate:
    """What a model was, how it was compiled, and what it computed and changed."""

    about: dict[str, Any]
    """Releases, how many multiprocessors the chip has, and PyTorch's modes."""
    options: dict[str, Any]
    """Those of :class:`Options`, and of :func:`compile`."""
    held: dict[str, str] = field(default_factory=dict)
    """Digests of what the model and the step hold before the run, by name: parameters, buffers, optimizers, what functions enclose; of the random numbers' state, if the run
    draws any."""
    inputs: dict[str, str] = field(default_factory=dict)
    """Digests of what it was called with."""
    kernels: dict[str, list[str]] = field(default_factory=dict)
    """Of each kernel that ran its PTX, and the ptxas that was asked what it fuses."""
    graphs: list[Graph] = field(default_factory=list)
    """Of each graph that ran, in order."""
    result: dict[str, str] = field(default_factory=dict)
    """Digests of what the run returned."""
    changed: dict[str, str | None] = field(default_factory=dict)
    """Digests of what the model, the inputs and the step hold after the run, where it is another value or a new gradient; None of what is gone."""

    def _content(self) -> dict[str, Any]:
        return {"version": VERSION, **asdict(self)}

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
            content = json.loads(Path(path).read_text(), object_pairs_hook=_once)
            seal, version = content.pop("seal"), content.pop("version")
            if type(version) is not int or version != VERSION:
                raise CertificateError(f"{os.fspath(path)} has version {version!r}; {VERSION} was expected")
            found = Certificate(**{one.name: content.pop(one.name) for one in fields(Certificate)})
            found = replace(found, graphs=[Graph(**one) for one in found.graphs])  # type: ignore[arg-type]
            own = found.seal
            found.differences(found)  # each part is of its kind
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CertificateError(f"{os.fspath(path)} is no certificate: {error}") from None
        if content:
            raise CertificateError(f"{os.fspath(path)} is no certificate: {sorted(content)[0]!r} is no part of one")
        if seal != own:
            raise CertificateError(f"{os.fspath(path)} was changed: its seal is {str(seal)[:16]}…, and its content's {own[:16]}…")
        return found

    def differences(self, other: Certificate) -> list[str]:
        """What is not the same in another one, in words; the first graph that differs, and what of it."""
        own, theirs = ({**part.options, **part.about} for part in (self, other))
        found = [f"{name} is {own.get(name)!r}, and {theirs.get(name)!r}" for name in differing(own, theirs)]
        found += _named(differing(self.held, other.held), "before the run")
        found += _named(differing(self.inputs, other.inputs), "")
        names = differing(self.kernels, other.kernels)
        found += [f"kernels differ: {', '.join(names)}"] if names else []
        for place, (one, two) in enumerate(zip(self.graphs, other.graphs)):
            difference = one.difference(two)
            if difference is not None:
                found.append(f"graph {place} of {len(self.graphs)} is the first with other results: {difference}")
                break
        else:
            found += ["the numbers of graphs that ran differ"] if len(self.graphs) != len(other.graphs) else []
        found += _named(differing(self.result, other.result), "")
        return found + _named(differing(self.changed, other.changed), "after the run")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, whose names differ."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is in it twice")
    return found


def _modes() -> dict[str, Any]:
    """By which PyTorch computes otherwise."""
    autocast = str(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else None
    return {"grad_mode": torch.is_grad_enabled(), "inference_mode": torch.is_inference_mode_enabled(), "autocast": autocast, "default_dtype": str(torch.get_default_dtype())}


def _random() -> dict[str, str]:
    return {"the random numbers' state": digest(torch.cat(SEEDS.states()))}


def _named(names: list[str], when: str) -> list[str]:
    """The first few in words."""
    found = [f"{name} differs {when}".rstrip() for name in names[:4]]
    return found + ([f"and {len(names) - 4} more differ {when}".rstrip()] if len(names) > 4 else [])


def certified(backend: Backend, how: dict[str, Any], model: Any, step: Any, run: Callable[[], Any], inputs: tuple[Any, ...], named: dict[str, Any]) -> Certificate:
    """Runs a compiled model, and certifies what it computed."""
    graphs: list[Graph] = []
    kernels: dict[str, list[str]] = {}

    def digests(values: Any) -> list[str]:
        return [digest(one) for one in values]

    def launched(name: str, ran: Ran) -> None:
        known = [of_text(ran.text), ran.launched.compiler]
        if kernels.setdefault(name, known) != known:
            kernels[f"{name} {known[0][:8]}"] = known

    running: list[tuple[list[Any], list[str]]] = []

    def starts(given: list[Any]) -> None:
        running.append((given, digests(given)))

    def ran(outputs: Any) -> None:
        own, before = running.pop()
        graphs.append(Graph(before, digests(outputs), digests(own)))

    called = {**{f"input {place}": one for place, one in enumerate(inputs)}, **{f"input {name}": one for name, one in named.items()}}
    roots = {"model": model, "step": step}
    # before it runs, which may change them
    before, given, random, modes = Held(roots), Held(called, strict=True), _random(), _modes()
    with backend.watched(ran, launched, starts):
        result = run()
    if not graphs:
        raise CertificateError("no graph of the compiled model ran in this thread: there is nothing to certify")
    drawn = _random()
    changed = {**before.changed(Held(roots)), **given.changed(Held(called, strict=True)), **(drawn if drawn != random else {})}
    held = {**before.digests, **(random if drawn != random else {})}
    about = {"bitmma": _bitmma.__version__, "torch": torch.__version__, "triton": triton.__version__, "multiprocessors": backend.launcher.device._multiprocessors, **modes}
    # how many it has is said once, whether it was given or is known
    options = {**how, **asdict(backend.options), "multiprocessors": about["multiprocessors"]}
    try:
        options = json.loads(json.dumps(options))  # as they are read
    except (TypeError, ValueError) as error:
        raise CertificateError(f"the options cannot be written to a file: {error}") from None
    returned = Held({"the result": result}, strict=True).digests
    return Certificate(about, options, held, given.digests, dict(sorted(kernels.items())), graphs, returned, changed)
