"""A provider that runs in an environment of its own, seen as if it ran here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..http import HttpProvider
from ..http_config import HttpConfig
from ..http_errors import HttpFailure
from ..http_secrets import Secrets
from ..protocol import AddRow, Hit
from .child import Child
from .places import Environment

CALL_S = 600.0
"""Seconds for one call: a run in process has no limit at all, but a hang must end some time."""


class CrashError(HttpFailure):
    """The process that runs the provider has ended."""

    status = "crashed"


class IsolatedProvider:
    """A provider in ``environment``; version, options and abilities are the provider's own.

    Attributes:
        version: The version that the provider tells.
        options: The options in effect there.
        environment: What it runs in: name, Python, and the hash of the lock file.
    """

    def __init__(self, environment: Environment, name: str, options: Mapping[str, object]) -> None:
        """Start it.

        Raises:
            PmbError: The provider could not be made.
        """
        self._child = Child(environment, name, options)
        told = self._child.told
        can = told["can"]
        self.version: str | None = told["version"]
        self.options: Mapping[str, object] = told["options"]
        self.supports_update = bool(can["update"])
        self.supports_delete = bool(can["delete"])
        self.supports_wait = bool(can["wait"])
        self.supports_scopes = bool(can["scopes"])
        self.environment = {
            "name": environment.name,
            "python": environment.python,
            "lock": environment.lock,
        }
        self._http = HttpProvider(
            HttpConfig(
                url=self._child.url,
                timeout=CALL_S,
                retries=0,
                supports_update=self.supports_update,
                supports_delete=self.supports_delete,
                supports_wait=self.supports_wait,
            ),
            Secrets({"Authorization": f"Bearer {self._child.token}"}),
        )

    def reset(self) -> None:
        """Forget every memory of every user."""
        with self._watched():
            self._http.reset()

    def check_empty(self, *, rows: Sequence[AddRow], timeout_s: float) -> None:
        """Make sure that nothing is there yet; see `HttpProvider.check_empty`."""
        with self._watched():
            self._http.check_empty(rows=rows, timeout_s=timeout_s)

    def add(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Store one memory."""
        with self._watched():
            self._http.add(
                belief_id=belief_id,
                user_id=user_id,
                text=text,
                aliases=aliases,
                metadata=metadata,
            )

    def update(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Replace a stored memory."""
        with self._watched():
            self._http.update(
                belief_id=belief_id,
                user_id=user_id,
                text=text,
                aliases=aliases,
                metadata=metadata,
            )

    def delete(self, *, belief_id: str, user_id: str) -> None:
        """Forget one memory."""
        with self._watched():
            self._http.delete(belief_id=belief_id, user_id=user_id)

    def search(
        self, *, query: str, user_id: str, scopes: Sequence[str], limit: int
    ) -> Sequence[Hit]:
        """Ask for the best memories."""
        with self._watched():
            return self._http.search(query=query, user_id=user_id, scopes=scopes, limit=limit)

    def wait_ready(self, *, belief_id: str, user_id: str, timeout_s: float) -> None:
        """Return once a search can find the memory."""
        with self._watched():
            self._http.wait_ready(belief_id=belief_id, user_id=user_id, timeout_s=timeout_s)

    def close(self) -> None:
        """End the process and all that it started; twice is fine."""
        self._http.close()
        self._child.end()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Make of a failed call what it is if the process has ended."""
        if not self._child.alive:
            raise CrashError(self._child.died())
        try:
            yield
        except HttpFailure as failure:
            if failure.status == "connection_error" and self._child.has_died():
                raise CrashError(self._child.died()) from failure
            raise
