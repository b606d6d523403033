"""Starts a server and sees to it that nothing which it started outlives it.

Run as a script, ``keeper.py STATE COMMAND…``, by a Python that need have
nothing installed. The first line of its standard input goes to the command.
After that its standard input says only one thing: at its end whoever started
the keeper is gone, even by ``kill -9``. Then, or when the command ends, or at
SIGTERM, it ends the command and all processes that come from it, and removes
the directory STATE.

On Linux also those are found that have left the process group (daemons such as
a database): orphans become children of the keeper. Elsewhere only the group is
ended.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

CLOSE_S = 12.0
"""How long the command may take to close after SIGTERM."""
REST_S = 3.0
"""How long what is left over may take after SIGTERM."""

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_LINUX = sys.platform == "linux"


def main(arguments: list[str]) -> int:
    """Keep the command ``arguments[1:]`` and return its exit code."""
    state, command = arguments[0], arguments[1:]
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _noted)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    hello = _first_line()
    _control(_SET_CHILD_SUBREAPER, 1)
    try:
        child = _start(command, hello)
        code = _watch(child, woken)
        return _end(child, code)
    finally:
        shutil.rmtree(state, ignore_errors=True)


def _noted(number: int, frame: object) -> None:
    """Do nothing: the wake-up pipe tells."""


def _control(option: int, value: int) -> None:
    if _LINUX:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _first_line() -> bytes:
    """Read a line without reading beyond it, for what follows is watched by select."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            break
        line += byte
    return line


def _start(command: list[str], hello: bytes) -> int:
    def die_with_the_keeper() -> None:
        _control(_SET_PDEATHSIG, signal.SIGKILL)

    process = subprocess.Popen(  # noqa: S603 - the caller's own command
        command,
        stdin=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=die_with_the_keeper if _LINUX else None,  # noqa: PLW1509 - one thread only
    )
    # The command alone holds these now, so that their end tells of its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if process.stdin is not None:
        try:
            process.stdin.write(hello)
            process.stdin.close()
        except OSError:
            pass  # it has ended already, and its exit code tells
    process.returncode = 0  # it is waited for below, not by this object
    return process.pid


def _watch(child: int, woken: int) -> int | None:
    """Wait for one of the ends; the exit status of the command if it was that."""
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            numbers = os.read(woken, 512)
            status = _reap(child)
            if status is not None:
                return status
            if set(numbers) - {signal.SIGCHLD}:
                return None
        if 0 in ready and not os.read(0, 4096):
            return None


def _reap(child: int) -> int | None:
    """Wait for all that have ended; the exit status of ``child`` if it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            found = status


def _end(child: int, status: int | None) -> int:
    if status is None:
        _signal([child], signal.SIGTERM)
        status = _until(child, CLOSE_S, lambda seen: seen is not None)
    for number, seconds in ((signal.SIGTERM, REST_S), (signal.SIGKILL, REST_S)):
        left = _left(child)
        if status is not None and not left:
            break
        _signal(left, number)
        seen = _until(child, seconds, lambda seen: not _left(child))
        status = seen if status is None else status
    if status is None:
        return 1
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def _until(child: int, seconds: float, done: Callable[[int | None], bool]) -> int | None:
    """Reap until ``done``, or until the time is up; the exit status of ``child`` if it ended."""
    until = time.monotonic() + seconds
    found: int | None = None
    while True:
        status = _reap(child)
        found = status if found is None else found
        if done(found) or time.monotonic() > until:
            return found
        time.sleep(0.02)


def _left(child: int) -> list[int]:
    """All processes that come from the command, itself included."""
    if _LINUX:
        return _descendants(os.getpid())
    try:
        os.killpg(child, 0)
    except OSError:
        return []
    return [-child]


def _descendants(ancestor: int) -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    found = {ancestor}
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return sorted(found - {ancestor})


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue  # it has ended meanwhile


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
