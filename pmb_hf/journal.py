"""What a run has measured, on disk line by line, so that a crash loses nothing.

A journal is JSON lines: a header with the run's configuration, then one line a
measurement. A half-written last line is what a crash leaves and is dropped.
"""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from .errors import BusyError, InputError, ResumeError
from .files import make_parent, naming, write_atomically
from .strict import refuse_half_characters

__all__ = ["FORMAT", "Journal", "write_atomically"]

if TYPE_CHECKING:
    from filelock import BaseFileLock

FORMAT = 1

_ANEW = "delete the file to start anew"
_SHOWN = 200

T = TypeVar("T")
Parse = Callable[[Mapping[str, Any], str], T]
"""Makes an entry of a line, whose place it is told; raises InputError if it can't."""


class Journal(Generic[T]):
    """Appends measurements to a file; each is on disk when ``append`` returns.

    Attributes:
        lines: What was there already, as ``parse`` read it.
    """

    def __init__(
        self, path: Path, config: Mapping[str, Any], *, parse: Parse[T], resume: bool = False
    ) -> None:
        """Open ``path`` for a run of ``config``.

        Args:
            path: The journal's file.
            config: What must not differ between the run and its resumption.
            parse: Reads each line that is there already.
            resume: Go on with a journal that is there already.

        Raises:
            ResumeError: If the journal there is of another configuration, or is
                no journal; the message names what differs, or file, line and field.
            InputError: If there is a journal already and ``resume`` is false.
            BusyError: If another run is writing it.
        """
        self.path = path
        make_parent(path)
        self._lock = _locked(path)
        try:
            self._open(path, config, parse, resume=resume)
        except BaseException:
            self._unlock()
            raise

    def _open(
        self, path: Path, config: Mapping[str, Any], parse: Parse[T], *, resume: bool
    ) -> None:
        self.lines: list[T] = []
        header = {"pmbJournal": FORMAT, "config": dict(config)}
        if path.exists() and path.stat().st_size:
            if not resume:
                raise InputError(
                    f"{path} holds an unfinished run; go on with it by --resume "
                    "(resume=True), or delete it"
                )
            found = list(_read(path))
            _check(path, [line for _, line in found], header)
            self.lines = [_parsed(line, f"{path} line {n}", parse) for n, line in found[1:]]
            self._rewrite([line for _, line in found])
        else:
            self._rewrite([header])
        self._file = path.open("ab", buffering=0)

    def append(self, line: Mapping[str, Any]) -> None:
        """Write one measurement through to the disk.

        Raises:
            OSError: If it can't be written, for instance because the disk is
                full; the file then holds what it held before.
        """
        data = memoryview(_line(line).encode())
        end = os.fstat(self._file.fileno()).st_size
        with naming(self.path):
            try:
                while data:
                    data = data[self._file.write(data) :]
                os.fsync(self._file.fileno())
            except OSError:
                with suppress(OSError):
                    self._file.truncate(end)
                raise

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
    busy = BusyError(f"another run is writing {path}; wait for it, or choose another --out")
    try:
        with naming(path):
            lock.acquire()
    except Timeout as error:
        raise busy from error
    if not Path(lock.lock_file).exists():  # it was let go, and removed, just now
        lock.release()
        raise busy
    return lock


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"


def _read(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every line with its number, from 1 on; a torn last one is left out."""
    lines = path.read_bytes().split(b"\n")
    for number, raw in enumerate(lines, 1):
        if not raw:
            continue
        where = f"{path} line {number}"
        try:
            value = json.loads(raw.decode(), parse_constant=_refuse)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            if number >= len(lines) - 1:
                return  # the crash came in the middle of this line
            raise ResumeError(f"{where} is no JSON; {_ANEW}") from error
        except (ValueError, RecursionError) as error:
            said = "it is nested too deeply" if isinstance(error, RecursionError) else error
            raise ResumeError(f"{where} can't be read: {said}; {_ANEW}") from error
        if not isinstance(value, dict):
            raise ResumeError(f"{where} is no object; this is no journal of a run")
        try:
            refuse_half_characters(raw.decode(), value)
        except ValueError as error:
            raise ResumeError(f"{where} can't be read: {error}; {_ANEW}") from error
        yield number, value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _parsed(line: dict[str, Any], where: str, parse: Parse[T]) -> T:
    try:
        return parse(line, where)
    except InputError as error:
        raise ResumeError(f"{error}; {_ANEW}") from error


def _check(path: Path, found: list[dict[str, Any]], header: Mapping[str, Any]) -> None:
    version = found[0].get("pmbJournal") if found else None
    if version != FORMAT or isinstance(version, bool):
        raise ResumeError(f"{path} is no journal of a run; choose another --out")
    old, new = found[0].get("config"), header["config"]
    if not isinstance(old, dict):
        kind = "null" if old is None else type(old).__name__
        raise ResumeError(f"{path} line 1: config must be an object, not {kind}; {_ANEW}")
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    if keys:
        shown = "; ".join(
            f"{k} was {_short(old.get(k))} and is now {_short(new.get(k))}" for k in sorted(keys)
        )
        raise ResumeError(
            f"{path} belongs to another run: {shown}. Use the same settings or delete it"
        )


def _short(value: Any) -> str:
    shown = reprlib.repr(value) if isinstance(value, list | dict) else repr(value)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
