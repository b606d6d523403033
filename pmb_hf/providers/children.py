"""Programs that an adapter starts: a server of the vendor's, a database. All end with it."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import IO

from ..errors import NotReadyError, ProviderError

_STOP_S = 8.0


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def open_directory(prefix: str) -> Path:
    """A new directory that other users can get to: every directory above it lets them through.

    A database refuses to run as root, and what runs it instead must reach its files.
    """
    base = Path(tempfile.gettempdir()).resolve()
    if not all(path.stat().st_mode & 0o001 for path in (base, *base.parents)):
        base = Path("/tmp")  # noqa: S108 - mkdtemp makes a private name in it
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=base))
    made.chmod(0o711)
    return made


class Child:
    """A program in a process group of its own, whose output goes to a file.

    It is ended by `stop`, or at the latest when this process ends in order.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        variables: Mapping[str, str] | None = None,
        directory: Path | None = None,
        talks: bool = False,
    ) -> None:
        """Start it; one that ``talks`` has `pipes`, and only its errors go to the file.

        Raises:
            ProviderError: It can't be started.
        """
        self.name = Path(command[0]).name
        self._log = log
        self._stopped = False
        try:
            with log.open("wb") as sink:
                self._process = subprocess.Popen(  # noqa: S603 - no shell; the command is ours
                    list(command),
                    stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                    stdout=subprocess.PIPE if talks else sink,
                    stderr=sink,
                    cwd=directory,
                    env={**os.environ, **(variables or {})},
                    start_new_session=True,
                )
        except OSError as error:
            raise ProviderError(f"{self.name} can't be started: {error}.") from error
        atexit.register(self.stop)

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """Where it reads from and where it writes to, if it talks."""
        into, out_of = self._process.stdin, self._process.stdout
        if into is None or out_of is None:
            raise ProviderError(f"{self.name} was not started to talk.")
        return into, out_of

    def wait_until(self, ready: Callable[[], bool], timeout_s: float) -> None:
        """Return once ``ready`` says so.

        Raises:
            NotReadyError: It ended before, or took longer than ``timeout_s`` seconds.
        """
        deadline = monotonic() + timeout_s
        while not ready():
            if self._process.poll() is not None:
                raise NotReadyError(f"{self.name} ended: {self.last_words()}")
            if monotonic() > deadline:
                raise NotReadyError(
                    f"{self.name} isn't up after {timeout_s:g} s: {self.last_words()}"
                )
            sleep(0.1)

    def last_words(self) -> str:
        """The last lines that it printed, as one."""
        try:
            lines = self._log.read_text("utf-8", "replace").splitlines()
        except OSError:
            return "no output"
        return " / ".join(line.strip() for line in lines[-6:] if line.strip()) or "no output"

    def stop(self) -> None:
        """End it and all that it started; twice is fine."""
        if self._stopped:
            return
        self._stopped = True
        atexit.unregister(self.stop)
        self._signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_STOP_S)
        self._signal(signal.SIGKILL)  # also what it left behind in its group
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def end_process(pid: int, timeout_s: float = _STOP_S) -> None:
    """Ask a process that is no child to end, and end it if it doesn't."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            return
        deadline = monotonic() + timeout_s
        while monotonic() < deadline:
            if not _alive(pid):
                return
            sleep(0.05)


def remove(directory: Path) -> None:
    """Remove a directory with all it holds; what is gone already is no error."""
    shutil.rmtree(directory, ignore_errors=True)


def _alive(pid: int) -> bool:
    # A child that has ended but wasn't waited for still has its number.
    with suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
