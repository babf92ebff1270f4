"""Streams and events: work is done when it is asked for, so every stream is idle, and times are the processor's."""

from __future__ import annotations

import time
from typing import Any

from .memory import GPU


class Stream:
    """``torch.cuda.Stream``: one after the other, all is done."""

    _numbers = 0

    def __init__(self, device: Any = None, priority: int = 0, **about: Any) -> None:
        self.device, self.device_index, self.priority = GPU, 0, priority
        Stream._numbers += 1
        self.stream_id = self.cuda_stream = about.get("stream_id", Stream._numbers)
        self.device_type = int(about.get("device_type", 1))

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the greatest priority that PyTorch gives."""
        return 0, -3

    def wait_event(self, event: Any) -> None:
        """What is waited for is done."""

    def wait_stream(self, stream: Any) -> None:
        """What is waited for is done."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event of now."""
        event = Event(enable_timing=True) if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """All is done."""
        return True

    def is_capturing(self) -> bool:
        """No graph is recorded."""
        return False

    def synchronize(self) -> None:
        """All is done."""

    def __enter__(self) -> Stream:
        self._around = current()
        choose(self)
        return self

    def __exit__(self, *raised: Any) -> None:
        choose(self._around)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Stream) and other.stream_id == self.stream_id

    def __hash__(self) -> int:
        return hash(self.stream_id)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:0 cuda_stream={self.cuda_stream:#x}>"


class Event:
    """``torch.cuda.Event``: it has happened as soon as it is recorded."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("torch.cuda.Event(interprocess=True): there is no GPU that processes could share")
        self.enable_timing, self.device = enable_timing, GPU
        self._when: float | None = None

    def record(self, stream: Any = None) -> None:
        """It happens."""
        self._when = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """It has happened."""

    def query(self) -> bool:
        """It has happened."""
        return True

    def synchronize(self) -> None:
        """It has happened."""

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds of this machine's emulation: of a GPU's speed they say nothing."""
        if not (self.enable_timing and end.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._when is None or end._when is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return max(1000 * (end._when - self._when), 1e-3)


class Refused:
    """A class of ``torch.cuda`` that is not emulated."""

    _named = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{self._named} is not emulated: bitmma runs without a GPU")


def refused(name: str) -> type[Refused]:
    """A class that raises an error with its name."""
    return type(name.rpartition(".")[2], (Refused,), {"_named": name})


DEFAULT = Stream(stream_id=0)
_chosen: list[Stream] = [DEFAULT]


def current(device: Any = None) -> Stream:
    """The stream that was chosen last."""
    return _chosen[0]


def choose(stream: Any) -> None:
    """Work goes to this stream."""
    if stream is not None:
        _chosen[0] = stream


def default(device: Any = None) -> Stream:
    """The stream of those who choose none."""
    return DEFAULT


__all__ = ["DEFAULT", "Event", "Stream", "choose", "current", "default", "refused"]
