"""The explorer: a page in the browser that shows what chips make of numbers, bit by bit."""

from __future__ import annotations

import html
import operator
import sys
import webbrowser
from types import TracebackType

from . import _bitmma
from .errors import OptionError

__all__ = ["Explorer", "explore"]


class Explorer:
    """The explorer's page, served on the loopback address of this machine until :meth:`stop`. A notebook shows it in a frame,
    where the notebook's browser runs on the same machine."""

    def __init__(self, state: str = "", *, port: int | None = None) -> None:
        if not isinstance(state, str):
            raise OptionError(f"state is {state!r}; a text is expected: a copied link, or the part of it after #")
        self._native = _bitmma.Explorer(state, _port(port))
        self.address = self._native.address
        """Where the page is, with the token that it asks for."""

    @property
    def is_running(self) -> bool:
        """Whether the page can be opened."""
        return self._native.is_running

    def stop(self) -> None:
        """Stops the server; the page that is open cannot ask any more."""
        self._native.stop()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<bitmma.Explorer: {self.address if self.is_running else 'stopped'}>"

    def _repr_html_(self) -> str:
        if not self.is_running:
            return "<p>The explorer is stopped.</p>"
        address = html.escape(self.address)
        return (
            f'<iframe src="{address}" title="bitmma explorer" width="100%" height="900" style="border:1px solid #888" '
            f'allow="clipboard-write"></iframe><p><a href="{address}" target="_blank">Open it in a tab</a></p>'
        )


def _port(port: object) -> int | None:
    """A port as it was given; True is none, although Python counts it as 1."""
    try:
        number = None if port is None or isinstance(port, bool) else operator.index(port)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if port is not None and (number is None or not 1 <= number <= 65535):
        raise OptionError(f"port is {port!r}; an integer from 1 to 65535 is expected, or None for one that is free")
    return number


def explore(state: str = "", *, port: int | None = None, browser: bool | None = None) -> Explorer:
    """Serves the explorer, and opens it in the browser; in a notebook the result is the page in a frame.

    ``state`` is what the page shows first: a link that was copied there, or the part of it after ``#``. ``port`` is one of the
    loopback address, by default one that is free. ``browser`` says whether a browser is opened, by default outside of notebooks.
    The page is served until :meth:`Explorer.stop`, or until the program ends.
    """
    explorer = Explorer(state, port=port)
    if browser if browser is not None else "ipykernel" not in sys.modules:
        webbrowser.open(explorer.address)
    return explorer
