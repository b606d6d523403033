"""A server in an environment, as a child of this process that never outlives it."""

from __future__ import annotations

import json
import os
import secrets
import select
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO, Any

from ... import errors
from ...errors import PmbError, ProviderError, ProviderTimeoutError
from . import keeper
from .code import code_in
from .install import RECIPE
from .places import INSIDE_ENV, Environment
from .recipes import Recipe, read_recipe
from .users import hold

_TAIL = 16 * 1024
_LAST_LINES = 8
_END_S = keeper.CLOSE_S + 3 * keeper.REST_S
_DEATH_S = 5.0
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from pmb_hf.serve.child import main; sys.exit(main())"
)
# Ours alone, or another Python's.
_WITHHELD = frozenset(
    {
        *("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV"),
        *("PMB_HTTP_AUTHORIZATION", "PMB_HTTP_HEADERS"),
    }
)


class Child:
    """One provider, served in an environment.

    Attributes:
        url: Where it listens, on 127.0.0.1.
        token: What a request must carry.
        told: What the server said when it was there: ``version``, ``options``, ``can``.
    """

    def __init__(
        self, environment: Environment, provider: str, options: Mapping[str, object]
    ) -> None:
        """Start the server and wait until it listens.

        Raises:
            PmbError: What the provider itself said when it was made.
            ProviderError: The server ended; holds the last lines that it printed.
            ProviderTimeoutError: It was not there in time.
        """
        self.name = provider
        self.token = secrets.token_urlsafe(32)
        self._ending = threading.Lock()
        recipe = read_recipe(environment.directory / RECIPE, environment.name)
        self._hold = hold(environment)
        try:
            self._process = self._start(environment, recipe)
            self._tail = _Tail(self._process.stderr)
        except BaseException:
            self._hold.close()
            raise
        try:
            self.told = self._greet(options, recipe.start_timeout_s)
        except BaseException:
            self.end()
            raise
        self.url = str(self.told["url"])

    def _start(self, environment: Environment, recipe: Recipe) -> subprocess.Popen[bytes]:
        code = code_in(environment)
        state = tempfile.mkdtemp(prefix=f"pmb-{environment.name}-")
        python = str(environment.executable)
        return subprocess.Popen(  # noqa: S603 - our own program in an environment that we made
            # The keeper needs no package, so -S saves it the look at them.
            [python, "-I", "-S", keeper.__file__, state, python, "-I", "-c", _BOOT, str(code)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=state,
            env=_variables(environment, recipe, state),
            start_new_session=True,  # Ctrl-C reaches this process, which then ends the child
        )

    def _greet(self, options: Mapping[str, object], seconds: float) -> dict[str, Any]:
        hello = {"provider": self.name, "options": dict(options), "token": self.token}
        stdin = self._process.stdin
        if stdin is not None:
            with suppress(OSError):  # it has ended already, which is told below
                stdin.write(json.dumps(hello).encode() + b"\n")
                stdin.flush()
        line = _read_line(self._process.stdout, seconds)
        if line is None:
            raise ProviderTimeoutError(
                f"provider {self.name!r} was not there within {seconds:g} s in its environment."
                f"{self._tail.told()}"
            )
        if not line:
            raise ProviderError(f"{self.died()}")
        told: dict[str, Any] = json.loads(line)
        if told.get("event") == "failed":
            raise _as_told(told)
        return told

    @property
    def alive(self) -> bool:
        """Whether the server still runs, as far as is known."""
        return self._process.poll() is None

    def has_died(self) -> bool:
        """Tell whether it has ended, giving the end a moment to be noticed."""
        try:
            self._process.wait(_DEATH_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def died(self) -> str:
        """A sentence about its end, with the last lines that it printed."""
        try:
            code = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return f"provider {self.name!r}: the server in its environment hangs."
        how = f"by signal {code - 128}" if code > 128 else f"with code {code}"
        return (
            f"provider {self.name!r}: the server in its environment ended {how}.{self._tail.told()}"
        )

    def end(self) -> None:
        """End the server and everything that it started; twice is fine."""
        with self._ending:
            if self._hold.closed:
                return
            process = self._process
            if process.stdin is not None:
                with suppress(OSError):
                    process.stdin.close()  # the keeper sees it and ends all
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
            self._hold.close()


class _Tail:
    """The last that a process prints; read as it comes, so that the process never has to wait."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._kept = b""
        self._stream = stream
        self._thread = threading.Thread(target=self._read, name="pmb-stderr", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        if self._stream is None:
            return
        with self._stream:
            while piece := os.read(self._stream.fileno(), 65536):
                self._kept = (self._kept + piece)[-_TAIL:]

    def told(self) -> str:
        """The last lines, as they are put behind a sentence."""
        self._thread.join(0.5)
        lines = [
            line for line in self._kept.decode("utf-8", "replace").splitlines() if line.strip()
        ]
        if not lines:
            return " It printed nothing."
        shown = " | ".join(line.strip() for line in lines[-_LAST_LINES:])
        return f" The last that it printed: {shown[-1200:]}"


def _variables(environment: Environment, recipe: Recipe, state: str) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if key not in _WITHHELD}
    places = {"{site}": str(_site(environment)), "{state}": state}
    own = {}
    for key, value in recipe.variables.items():
        filled = value
        for mark, place in places.items():
            filled = filled.replace(mark, place)
        own[key] = filled
    return {**inherited, "TMPDIR": state, INSIDE_ENV: environment.name, **own}


def _site(environment: Environment) -> Path:
    found = sorted(environment.directory.glob("lib/python*/site-packages"))
    return found[0] if found else environment.directory / "Lib" / "site-packages"


def _read_line(stream: IO[bytes] | None, seconds: float) -> bytes | None:
    """A line; empty if the stream ends before one is whole, None if the time is up."""
    if stream is None:
        return b""
    until, line = monotonic() + seconds, b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([stream], [], [], max(until - monotonic(), 0))
        if not ready:
            return None
        piece = os.read(stream.fileno(), 65536)
        if not piece:
            return b""
        line += piece
    return line


def _as_told(told: Mapping[str, Any]) -> PmbError:
    """The error that the server met, of the same class where it is one of ours."""
    kind = getattr(errors, str(told.get("kind")), None)
    text = str(told.get("error"))
    if isinstance(kind, type) and issubclass(kind, PmbError):
        return kind(text)
    return ProviderError(text)
