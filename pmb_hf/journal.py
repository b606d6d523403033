"""What a run has measured, on disk line by line, so that a crash loses nothing.

A journal is JSON lines: a header with the run's configuration, then one line a
measurement. A half-written last line is what a crash leaves and is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .errors import InputError, ResumeError

if TYPE_CHECKING:
    from filelock import BaseFileLock

FORMAT = 1


class Journal:
    """Appends measurements to a file; each is on disk when ``append`` returns."""

    def __init__(self, path: Path, config: Mapping[str, Any], *, resume: bool = False) -> None:
        """Open ``path`` for a run of ``config``.

        Args:
            path: The journal's file.
            config: What must not differ between the run and its resumption.
            resume: Go on with a journal that is there already.

        Raises:
            ResumeError: If the journal there is of another configuration, or is
                no journal; the message names what differs.
            InputError: If there is a journal already and ``resume`` is false, or
                another run is writing it.
        """
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(path)
        try:
            self._open(path, config, resume=resume)
        except BaseException:
            self._unlock()
            raise

    def _open(self, path: Path, config: Mapping[str, Any], *, resume: bool) -> None:
        self.lines: list[dict[str, Any]] = []
        header = {"pmbJournal": FORMAT, "config": dict(config)}
        if path.exists() and path.stat().st_size:
            if not resume:
                raise InputError(
                    f"{path} holds an unfinished run; go on with it by --resume "
                    "(resume=True), or delete it"
                )
            found = list(_read(path))
            _check(path, found, header)
            self.lines = found[1:]
            self._rewrite(found)
        else:
            self._rewrite([header])
        self._file = path.open("a", encoding="utf-8")

    def append(self, line: Mapping[str, Any]) -> None:
        """Write one measurement through to the disk."""
        self._file.write(_line(line))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; it stays."""
        self._file.close()
        self._unlock()

    def remove(self) -> None:
        """Close the file and delete it: the report holds everything now."""
        self._file.close()
        self.path.unlink(missing_ok=True)
        self._unlock()

    def _unlock(self) -> None:
        lock = Path(self._lock.lock_file)
        if self._lock.is_locked:
            lock.unlink(missing_ok=True)
            self._lock.release()

    def _rewrite(self, lines: list[dict[str, Any]]) -> None:
        write_atomically(self.path, "".join(map(_line, lines)))

    def __enter__(self) -> Self:
        """Use as a context manager that closes the file."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file, whatever happened."""
        self.close()


def _locked(path: Path) -> BaseFileLock:
    """Hold the journal for this run alone."""
    from filelock import FileLock, Timeout

    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=0)
    busy = InputError(f"another run is writing {path}; wait for it, or choose another --out")
    try:
        lock.acquire()
    except Timeout as error:
        raise busy from error
    if not Path(lock.lock_file).exists():  # it was let go, and removed, just now
        lock.release()
        raise busy
    return lock


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write so that ``path`` holds either the old content or all of the new.

    A link is followed. Raises InputError for what is no regular file.
    """
    try:
        path = path.resolve()
    except RuntimeError as error:  # how some Pythons tell of links that go round in a circle
        raise InputError(f"{path} can't be written: its links lead nowhere") from error
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no regular file; choose another place to write to")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"


def _read(path: Path) -> Iterator[dict[str, Any]]:
    lines = path.read_bytes().split(b"\n")
    for number, raw in enumerate(lines, 1):
        if not raw:
            continue
        try:
            value = json.loads(raw)
        except ValueError as error:
            if number >= len(lines) - 1:
                return  # the crash came in the middle of this line
            raise ResumeError(
                f"{path} line {number} is no JSON; delete the file to start anew"
            ) from error
        if not isinstance(value, dict):
            raise ResumeError(f"{path} line {number} is no object; this is no journal of a run")
        yield value


def _check(path: Path, found: list[dict[str, Any]], header: Mapping[str, Any]) -> None:
    if not found or found[0].get("pmbJournal") != FORMAT:
        raise ResumeError(f"{path} is no journal of a run; choose another --out")
    old, new = found[0].get("config", {}), header["config"]
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    if keys:
        shown = "; ".join(f"{k} was {old.get(k)!r} and is now {new.get(k)!r}" for k in sorted(keys))
        raise ResumeError(
            f"{path} belongs to another run: {shown}. Use the same settings or delete it"
        )
