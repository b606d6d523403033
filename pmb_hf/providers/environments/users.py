"""Who uses an environment: a lock that the system lets go of when its holder dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from .places import Environment

try:
    import fcntl
except ImportError:  # a system without it: nothing is refused there
    fcntl = None  # type: ignore[assignment]


def hold(environment: Environment) -> IO[bytes]:
    """Note that the environment is used until the returned file is closed."""
    file = environment.in_use.open("ab")
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_SH)
    return file


def is_in_use(environment: Environment) -> bool:
    """Tell whether some process holds the environment."""
    with _opened(environment) as file:
        if file is None or fcntl is None:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return False


@contextmanager
def _opened(environment: Environment) -> Iterator[IO[bytes] | None]:
    try:
        file = environment.in_use.open("ab")
    except OSError:
        yield None
        return
    with file:
        yield file
