"""Writes files whole or not at all, and says which file could not be written, and why."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import InputError

_OPEN = re.compile(r"/dev/stdin|(/dev|/proc/self)/fd/\d+")
_PART_NAME = 50
"""How much of a file's name its part bears; with all of it the part's name may be too long."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write so that ``path`` holds either the old content or all of the new.

    A link is followed.

    Raises:
        InputError: If ``path`` is no regular file, or can't be one.
        OSError: If it can't be written; it is the file that is named.
    """
    try:
        path = path.resolve()
    except RuntimeError as error:  # how some Pythons tell of links that go round in a circle
        raise InputError(f"{path} can't be written: its links lead nowhere") from error
    make_parent(path)
    part = path.with_name(f"{part_stem(path)}.{os.getpid()}.part")
    with naming(path):
        try:
            with part.open("wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def part_stem(path: Path) -> str:
    """How the name of what is still to become ``path`` begins."""
    return f".{path.name[:_PART_NAME]}"


def make_parent(path: Path) -> None:
    """Make the directory that ``path`` is to stand in.

    Raises:
        InputError: If ``path`` can't be a file; see `check_place`.
        OSError: If the directory can't be made.
    """
    check_place(path)
    path.parent.mkdir(parents=True, exist_ok=True)


def check_place(path: Path) -> None:
    """Refuse a place for a file that can hold none.

    Raises:
        InputError: If something that is no file stands there, or something that
            is no directory in its way.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no regular file; choose another place to write to")
    for parent in path.parents:
        if parent.is_dir():
            return
        if os.path.lexists(parent):
            raise InputError(
                f"{path} can't be written: {parent} is no directory; choose another place"
            )


def check_source(path: Path) -> None:
    """Refuse to read what is no file: a named pipe or a device may never come to an end.

    A pipe that the shell has opened for us (``/dev/stdin``, ``<(command)``) is read.

    Raises:
        InputError: If something else than a file or a directory stands there.
        OSError: If nothing does, or it may not be looked at.
    """
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return
    if _OPEN.fullmatch(str(path)) and stat.S_ISFIFO(mode):
        return
    kinds = ((stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))
    kind = next((name for is_one, name in kinds if is_one(mode)), "a device")
    raise InputError(f"{path} is {kind}, no file; give a file")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an OSError name ``path``, whatever helper file it came from."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        # What a library says in its own words holds the system's at its end.
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
