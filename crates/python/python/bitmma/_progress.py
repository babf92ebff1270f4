"""How far long work is: a function of the caller's, or a bar by tqdm where that is installed."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Union

#: A function of what is done, how much of it, and how much there is (0: nobody knows); True: a bar; False: none; None: a bar
#: where somebody watches.
Progress = Union[Callable[[str, int, int], object], bool, None]

#: Seconds that work takes before it has a bar.
DELAY = 1.0


def _watched() -> bool:
    """Whether standard error is a terminal, or the caller a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return type(shell).__name__ == "ZMQInteractiveShell" or bool(getattr(sys.stderr, "isatty", bool)())


class _Bar:
    """A bar; each new piece of work begins it again."""

    def __init__(self, tqdm: Callable[..., Any]) -> None:
        self._bar = tqdm(delay=DELAY, leave=False, dynamic_ncols=True)
        self._what = ""

    def __call__(self, what: str, done: int, total: int) -> None:
        if what != self._what:
            self._what = what
            self._bar.set_description(what, refresh=False)
            self._bar.reset(total=total or None)
        elif total and self._bar.total != total:
            self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


@contextmanager
def listening(progress: Progress) -> Iterator[Callable[[str, int, int], object] | None]:
    """What is to be told; the caller's own function, or a bar, or nothing."""
    if callable(progress):
        yield progress
        return
    if progress or (progress is None and _watched()):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            yield None
            return
        bar = _Bar(tqdm)
        try:
            yield bar
        finally:
            bar.close()
        return
    yield None
