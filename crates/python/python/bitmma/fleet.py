"""Campaigns of ``bitmma verify`` on all machines of a Ray cluster.

A campaign is blocks, addressed by number alone. Workers (Ray actors) open the unit where they are and are
given a few blocks at a time; what came of each comes back here and, with ``state``, goes into the same file that
``bitmma verify --state`` writes. A worker that is lost loses what it was working at, and nothing else: another
one is started and those blocks are asked again. The digest is that of the undivided campaign.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

from . import _bitmma
from .errors import Error, OptionError, UnitError
from .simulate import Unit
from .verify import Path, VerifyReport, missing, report, toml

__all__ = ["FleetReport", "Loss", "Progress", "Worker", "verify"]

#: Blocks of one call at most: what is lost with a worker.
CALL = 16


@dataclass
class Worker:
    """A process that asks the unit."""

    node: str
    """The machine."""
    pid: int
    device: str | None
    """What computes there, where the unit says it."""
    driver: str | None
    blocks: int = 0
    """Blocks it has done."""


@dataclass(frozen=True)
class Loss:
    """A worker that was lost."""

    worker: Worker | None
    """None if it was lost before it had opened the unit."""
    blocks: int
    """Blocks that it was asked for and that others had to do."""
    problem: str
    """What is known of the cause."""


@dataclass(frozen=True)
class Progress:
    """How far a campaign is."""

    blocks: int
    of: int
    dot_products: int
    mismatches: int
    workers: list[Worker]
    """Those that are at work."""
    losses: int
    seconds: float


@dataclass(frozen=True)
class FleetReport(VerifyReport):
    """The result of a campaign on a cluster."""

    workers: list[Worker] = field(default_factory=list, repr=False)
    """All that returned something."""
    losses: list[Loss] = field(default_factory=list)
    """Those that were lost on the way."""
    seconds: float = 0.0


class _Asker:
    """What runs on a worker."""

    def __init__(self, arguments: dict[str, Any], threads: int) -> None:
        os.environ["RAYON_NUM_THREADS"] = str(threads)  # read when the first block is asked
        self.arguments = arguments

    def open(self) -> tuple[str, str, Worker]:
        self.campaign = _bitmma.Campaign(**self.arguments)
        worker = Worker(socket.gethostname(), os.getpid(), *self.campaign.about)
        return _bitmma.__version__, self.campaign.identity, worker

    def ask(self, numbers: list[int]) -> list[str]:
        lines: list[str] = []
        self.campaign.run(numbers, lines.append)
        return lines


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ImportError("bitmma.fleet needs Ray, which is not installed: pip install 'bitmma[ray]'") from error


def verify(
    unit: str,
    *,
    tests: int = 1_000_000,
    seed: int = 0,
    model: str | Unit | None = None,
    against: str | None = None,
    revision: str = "hardware",
    strict_nan: bool = False,
    state: Path | None = None,
    resume: bool = False,
    workers: int | None = None,
    cpus: float = 1,
    gpus: float = 0,
    losses: int | None = None,
    progress: Callable[[Progress], object] | bool = True,
) -> FleetReport:
    """Compares a unit with its model on a Ray cluster: the one that ``ray.init`` has joined, else the one that
    ``RAY_ADDRESS`` names, else this machine.

    ``unit`` to ``resume`` are those of :func:`bitmma.verify`. The unit is opened by every worker, under this name
    on its machine; Ray gives a worker GPUs of its own, so that ``cuda:0/…`` is another one for each. The file of
    ``state`` is written here.

    - ``workers``: how many; as many as the cluster has room for if left out. Each takes ``cpus`` and ``gpus``.
    - ``losses``: workers that may be lost (their machine, their process, or their unit: it hung, died, was not
      there) before the campaign is given up with :class:`UnitError`; three for each worker if left out.
    - ``progress``: a function that is called up to ten times a second; True writes a line to standard error.
    """
    ray = _ray()
    if not ray.is_initialized():
        ray.init()
    if cpus <= 0 or gpus < 0:
        raise OptionError(f"a worker of {cpus} processors and {gpus} GPUs; more than 0 and at least 0 are expected")
    if workers is None:
        room = ray.cluster_resources()
        counts = [room.get("CPU", 0) // cpus] + ([room.get("GPU", 0) // gpus] if gpus else [])
        workers = int(min(counts))
    if workers < 1:
        raise OptionError(f"{workers} workers of {cpus} processors and {gpus} GPUs; the cluster has room for none")
    arguments = {
        "unit": unit,
        "tests": tests,
        "seed": seed,
        "model": toml(model),
        "against": against,
        "revision_name": revision,
        "strict_nan": strict_nan,
    }
    options = {"num_cpus": cpus, "num_gpus": gpus, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
    asker = ray.remote(**options)(_Asker)
    fleet = _Fleet(
        ray,
        lambda: asker.remote(arguments, max(1, int(cpus))),
        workers,
        3 * workers if losses is None else losses,
        lambda identity: _bitmma.Blocks(identity, None if state is None else os.fspath(state), "1/1", resume),
    )
    show = _Line().show if progress is True else progress
    try:
        fleet.run(show or None)
    finally:
        fleet.end()
    return FleetReport(
        **report(fleet.blocks), workers=fleet.answered, losses=fleet.losses, seconds=fleet.seconds()
    )


class _Fleet:
    """Workers, the blocks they are at, and the blocks that nobody is at."""

    def __init__(
        self,
        ray: Any,
        start: Callable[[], Any],
        workers: int,
        allowed: int,
        known: Callable[[str], _bitmma.Blocks],
    ) -> None:
        self.ray, self.start, self.allowed, self.known = ray, start, allowed, known
        self.size = workers
        self.began = time.monotonic()
        self.identity: tuple[str, str] | None = None
        self.blocks: Any = None
        #: Blocks to be asked, and those behind them: a long campaign has more than fit in memory.
        self.todo: deque[int] = deque()
        self.later: Iterator[list[int]] = iter(())
        #: What was called: the actor, its worker (None as long as it opens the unit), the blocks.
        self.running: dict[Any, tuple[Any, Worker | None, list[int]]] = {}
        self.answered: list[Worker] = []
        self.losses: list[Loss] = []

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def run(self, progress: Callable[[Progress], object] | None) -> None:
        for _ in range(self.size):
            self._hire()
        shown = 0.0
        while self.blocks is None or self._missing():
            ready, _ = self.ray.wait(list(self.running), num_returns=1, timeout=0.5)
            for call in ready:
                self._take(call)
            if progress is not None and self.blocks is not None and self.seconds() >= shown + 0.1:
                shown = self.seconds()
                progress(self._progress())
        if progress is not None:
            progress(self._progress())

    def end(self) -> None:
        """Ends the workers that are left, whatever they do."""
        for actor, _, _ in self.running.values():
            self.ray.kill(actor)
        self.running.clear()

    def _missing(self) -> bool:
        return bool(self.todo) or any(numbers for _, _, numbers in self.running.values())

    def _progress(self) -> Progress:
        at_work = [worker for _, worker, _ in self.running.values() if worker is not None]
        blocks, of, dot_products, mismatches = self.blocks.counts()
        return Progress(blocks, of, dot_products, mismatches, at_work, len(self.losses), self.seconds())

    def _hire(self) -> None:
        actor = self.start()
        self.running[actor.open.remote()] = (actor, None, [])

    def _take(self, call: Any) -> None:
        """The result of a call; the worker continues with the next blocks, or another replaces it."""
        actor, worker, numbers = self.running.pop(call)
        try:
            answer = self.ray.get(call)
        except (self.ray.exceptions.RayActorError, UnitError) as error:
            self._lose(actor, worker, numbers, error)
            return
        except self.ray.exceptions.RayTaskError as error:
            cause = getattr(error, "cause", None)
            raise cause if isinstance(cause, Error) else error
        if worker is None:
            worker = self._admit(*answer)
        else:
            for line in answer:
                self.blocks.add(line)
            worker.blocks += len(answer)
            if not any(worker is one for one in self.answered):
                self.answered.append(worker)
        while len(self.todo) < 4 * CALL * self.size and (more := next(self.later, None)) is not None:
            self.todo.extend(more)
        share = max(1, len(self.todo) // (4 * self.size))  # ever smaller, so that all end together
        numbers = [self.todo.popleft() for _ in range(min(CALL, share, len(self.todo)))]
        if numbers:
            self.running[actor.ask.remote(numbers)] = (actor, worker, numbers)
        else:
            self.ray.kill(actor)

    def _admit(self, version: str, identity: str, worker: Worker) -> Worker:
        if self.identity is None:
            self.identity = (version, identity)
            self.blocks = self.known(identity)
            self.later = missing(self.blocks, 1 << 16)
        elif self.identity != (version, identity):
            raise UnitError(
                f"{worker.node} belongs to another campaign: bitmma {version}, {identity}; the first worker said "
                f"bitmma {self.identity[0]}, {self.identity[1]}"
            )
        return worker

    def _lose(self, actor: Any, worker: Worker | None, numbers: list[int], error: Exception) -> None:
        cause = getattr(error, "cause", None)
        problem = str(cause if isinstance(cause, Error) else error).strip()
        self.losses.append(Loss(worker, len(numbers), problem))
        self.ray.kill(actor)
        self.todo.extendleft(reversed(numbers))
        if len(self.losses) > self.allowed:
            text = f"{len(self.losses)} workers were lost, {self.allowed} are allowed; the last: {problem}"
            raise UnitError(text) from error
        self._hire()


class _Line:
    """One line on standard error, written over where it is a terminal, else now and then."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.written = -10.0

    def show(self, now: Progress) -> None:
        ended = now.blocks == now.of
        if not self.terminal and not ended and now.seconds < self.written + 10:
            return
        self.written = now.seconds
        text = (
            f"{100 * now.blocks // max(1, now.of)}% of {now.of} blocks, {now.dot_products:,} dot products, "
            f"{now.mismatches:,} mismatches, {len(now.workers)} workers, {now.losses} lost, {now.seconds:.0f} s"
        )
        print(f"\r\x1b[K{text}" if self.terminal else text, end="" if self.terminal and not ended else "\n", file=sys.stderr, flush=True)
