"""Results: dataclasses that are read from what the native half hands over, and shown as it describes them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from . import _bitmma, _page

if TYPE_CHECKING:
    import os

T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """What the command prints of it is its text, and what a notebook shows is the same as HTML."""

    document: _bitmma.Document = field(repr=False, compare=False)
    """The result as people read it."""

    def __str__(self) -> str:
        return self.document.text().rstrip("\n")

    def __repr__(self) -> str:
        return f"<bitmma.{type(self).__name__}: {str(self).splitlines()[0]}>"

    def _repr_html_(self) -> str:
        return _bitmma.html_fragment(self.document.html())

    def html(self) -> str:
        """A page of its own."""
        title = str(self).split("\n", 1)[0]
        return _page.document(title, self.document.html())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page into a file."""
        Path(path).write_text(self.html(), encoding="utf-8")


def result(cls: type[T], native: tuple[str | dict[str, Any], _bitmma.Document], **more: Any) -> T:
    """A result from the two things that the native half makes of one."""
    fields, document = native
    return read(cls, fields, document=document, **more)


def read_all(cls: type[T], text: str) -> list[T]:
    """A dataclass of each object of a list of JSON."""
    return [read(cls, one) for one in json.loads(text)]


def read(cls: type[T], value: str | dict[str, Any], **more: Any) -> T:
    """A dataclass of the values of the same names, each as its type says; what it has no field for is left out."""
    of: Any = cls
    value = json.loads(value) if isinstance(value, str) else value
    kinds = _kinds(of)
    names = [one.name for one in fields(of) if one.name in value and one.name not in more]
    return cls(**{name: _as(kinds[name], value[name]) for name in names}, **more)


@cache
def _kinds(cls: type) -> dict[str, Any]:
    """The types of the fields. None stands for itself, and what is one of several types is left as it is."""
    texts = {name: text.replace(" | None", "") for one in cls.__mro__ for name, text in vars(one).get("__annotations__", {}).items()}
    texts = {name: "object" if "|" in text else text for name, text in texts.items() if name != "document"}
    return get_type_hints(type("_", (), {"__annotations__": texts, "__module__": cls.__module__}))


def _as(kind: Any, value: Any) -> Any:
    """A value of JSON as a type: a dataclass, a list, a tuple (also of an object's values in order), or itself."""
    if value is None:
        return None
    if kind is float:
        return float(value)  # NaN and infinities are text
    if is_dataclass(kind):
        return read(kind, value)  # type: ignore[arg-type]
    of, inner = get_origin(kind), get_args(kind)
    if of is list:
        return [_as(inner[0], one) for one in value]
    if of is tuple:
        values = list(value.values()) if isinstance(value, dict) else value
        return tuple(_as(one, item) for one, item in zip(inner, values))
    return value
