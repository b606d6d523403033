"""A provider over somebody else's memory system: what all adapters share.

A subclass only writes, removes, finds and clears. The rows as they were
written are kept here, so that a pair of user and belief that comes again takes
the place of the first, and so that every result is given its belief id back.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import InputError, MissingDependencyError, ProviderError
from .environments.versions import package_version
from .patience import Patience, wait_until
from .protocol import AddRow, Hit, Option
from .store import Memory, RecordBook, require, scopes_of

EMBEDDER_OPTIONS: tuple[Option, ...] = (
    Option("embedder", str, "wordllama", "What makes the vectors, as for the provider vector."),
    Option("base_url", str, None, "Where the service of an ollama: or openai: embedder is."),
)
SCOPE_OPTION = Option(
    "scope_filter", bool, False, "Let the system filter by scope; off, as it comes."
)
TOP_K_OPTION = Option("top_k", int, None, "Never return more than this many memories.")

_LOOK = 50  # results asked for when looking whether a write shows


class VendorStore(ABC):
    """One system under test. Calls come from any thread, one at a time reaches the system.

    Attributes:
        version: The version of its package.
        options: The options in effect.
    """

    version: str | None = None

    def __init__(self, options: Mapping[str, object]) -> None:
        """Take the options to report; ``top_k`` and ``scope_filter`` are read from them."""
        self.options: Mapping[str, object] = dict(options)
        self._top_k = check_top_k(options.get("top_k"))
        self._scope_filter = bool(options.get("scope_filter", False))
        self._book = RecordBook()
        self._lock = threading.RLock()
        self._closed = False

    @abstractmethod
    def _clear(self) -> None:
        """Forget everything, for all users."""

    @abstractmethod
    def _write(self, memory: Memory) -> None:
        """Store a memory that is not there yet."""

    @abstractmethod
    def _remove(self, memory: Memory) -> None:
        """Forget a memory that is there."""

    @abstractmethod
    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        """The best memories of a user, the best first; ``scopes`` is None if not to filter."""

    def _rewrite(self, old: Memory, new: Memory) -> None:
        """Put a memory in another's place; where a system can't, forget and store."""
        self._remove(old)
        self._write(new)

    def _shut(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of the system."""

    def reset(self) -> None:
        """Forget every memory of every user."""
        with self._lock:
            self._check_open()
            self._clear()
            self._book.clear()

    def add(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Store one memory, in the place of the same user's with this id."""
        row = AddRow(
            belief_id=belief_id, user_id=user_id, text=text, aliases=aliases, metadata=metadata
        )
        with self._lock:
            self._check_open()
            old = self._book.get(user_id, belief_id)
            new = self._book.put(row)
            try:
                if old is None:
                    self._write(new)
                else:
                    self._rewrite(old, new)
            except BaseException:
                # What the system does not hold must not be taken for written.
                self._book.pop(user_id, belief_id)
                if old is not None:
                    self._book.restore(old)
                raise

    def update(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Replace a stored memory.

        Raises:
            ProviderError: The user has no memory with this id.
        """
        with self._lock:
            require(self._book, user_id, belief_id)
            self.add(
                belief_id=belief_id,
                user_id=user_id,
                text=text,
                aliases=aliases,
                metadata=metadata,
            )

    def delete(self, *, belief_id: str, user_id: str) -> None:
        """Forget one memory. Forgetting an unknown one does nothing."""
        with self._lock:
            self._check_open()
            memory = self._book.get(user_id, belief_id)
            if memory is not None:
                self._remove(memory)
                self._book.pop(user_id, belief_id)

    def search(self, *, query: str, user_id: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """Return at most ``limit`` memories as the system ranks them.

        Raises:
            ProviderError: The store is closed.
        """
        with self._lock:
            self._check_open()
            if self._top_k is not None:
                limit = min(limit, self._top_k)
            if limit <= 0 or not query.strip():
                return []
            asked = tuple(scopes) if self._scope_filter else None
            return list(self._find(query, user_id, asked, limit))[:limit]

    def wait_ready(self, *, belief_id: str, user_id: str, timeout_s: float) -> None:
        """Return once the system finds the memory by its own text.

        Raises:
            NotReadyError: It did not show within ``timeout_s`` seconds, or a service
                refused searches for 5 s; says how the last search failed, if it did.
            ProviderError: A search failed that was no call to a service.
        """
        memory = require(self._book, user_id, belief_id)
        wait_until(
            lambda: None if self._shows(memory) else "",
            Patience(timeout_s),
            lambda seconds: (
                f"memory {belief_id!r} of user {user_id!r} was written, but a search for its "
                f"own text did not show it within {seconds:g} s."
            ),
        )

    def close(self) -> None:
        """Let go of the system; twice is fine."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._shut()

    def _shows(self, memory: Memory) -> bool:
        asked = scopes_of(memory.metadata) if self._scope_filter else None
        with self._lock:
            found = list(self._find(memory.text, memory.user_id, asked, _LOOK))
        return any(hit.id == memory.belief_id and hit.text in (None, memory.text) for hit in found)

    def _check_open(self) -> None:
        if self._closed:
            raise ProviderError("the store is closed: create a new one.")


def check_top_k(value: object) -> int | None:
    """Return the option ``top_k``.

    Raises:
        InputError: It is below 1.
    """
    if value is None:
        return None
    if not isinstance(value, int) or value < 1:
        raise InputError(f"option top_k is {value}: give 1 or more, or none.")
    return value


def check_floor(name: str, value: float) -> float:
    """Return a floor on similarity.

    Raises:
        InputError: It is no number from 0 to 1.
    """
    if not (math.isfinite(value) and 0 <= value <= 1):
        raise InputError(f"option {name} is {value}: give a number from 0 to 1.")
    return value


def sdk_version(package: str) -> str:
    """The version of a vendor's package.

    Raises:
        MissingDependencyError: It is not installed.
    """
    found = package_version(package)
    if found is None:
        raise MissingDependencyError(
            f"the package {package} is not installed: pip install {package}"
        )
    return found
