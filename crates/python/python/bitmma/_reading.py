"""Reading a text file that a person named: whatever it is, reading ends."""

from __future__ import annotations

import os
import stat

#: Bytes that a text may have, as for the command.
MOST_TEXT = 1 << 30


def text(path: str | os.PathLike[str], expected: str) -> str:
    """The text of a file that should hold ``expected``; an OSError if it is a device, a folder, a named pipe, or too long."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
        raise OSError(f"{os.fspath(path)}: it is {kinds.get(stat.S_IFMT(found.st_mode), 'a device')}; {expected} was expected")
    if found.st_size > MOST_TEXT:
        raise OSError(f"{os.fspath(path)}: it has {found.st_size} bytes; {expected} has at most {MOST_TEXT}")
    with open(path, encoding="utf-8") as file:
        return file.read()
