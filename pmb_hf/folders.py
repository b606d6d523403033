"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .ending import ending_in_order
from .errors import InputError
from .files import part_stem


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A new folder beside ``target`` that takes its place at the end, if all goes well.

    Else it is removed, also if SIGTERM or SIGHUP ends the program. What a process that was
    killed has left is removed by the next one that writes to the same place.

    Args:
        target: A directory that is empty or not there yet; links are resolved.

    Raises:
        InputError: ``target`` is not empty.
        OSError: A folder can't be made or moved.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} is there already; give a directory that is empty or new")
    stem = part_stem(target)
    part = target.with_name(f"{stem}.{os.getpid()}.part")
    with ending_in_order(_exit):
        _remove_left_over(target.parent, stem)
        try:
            part.mkdir(parents=True)
            yield part
            if target.exists():
                target.rmdir()
            part.replace(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _remove_left_over(parent: Path, stem: str) -> None:
    """Remove what processes that are no more have left. One of our own number was another's."""
    ours = re.compile(re.escape(stem) + r"\.(\d+)\.part")
    for path in parent.iterdir() if parent.is_dir() else ():
        found = ours.fullmatch(path.name)
        if found is None or path.is_symlink() or not path.is_dir():
            continue
        pid = int(found[1])
        if pid == os.getpid() or not _is_running(pid):
            shutil.rmtree(path, ignore_errors=True)


def _is_running(pid: int) -> bool:
    """Whether there is such a process, or it can't be known."""
    if os.name != "posix":
        return True  # there, this signal would end it
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _exit(number: int) -> SystemExit:
    return SystemExit(128 + number)
