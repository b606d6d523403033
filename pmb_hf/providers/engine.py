"""A provider over an index of words, without the engine.

A subclass only writes, removes and ranks; records, options, batching and the
limit are the same for all of them.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import InputError, NotReadyError, ProviderError
from .protocol import AddRow, Hit, Option
from .store import Memory, RecordBook, engine_text, require, to_json

ENGINE_OPTIONS: tuple[Option, ...] = (
    Option("path", str, None, "Keep the index here; without it, in memory."),
    Option("top_k", int, None, "Never return more than this many memories."),
    Option("min_score", float, None, "Drop memories that score below this."),
    Option("scope_filter", bool, True, "Only memories that share one of the asked scopes."),
    Option("active_filter", bool, False, "Drop superseded and resolved memories."),
)


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The options of a lexical store; `ENGINE_OPTIONS` says what they do.

    Raises:
        InputError: ``top_k`` is below 1 or ``min_score`` is not finite.
    """

    path: str | None = None
    top_k: int | None = None
    min_score: float | None = None
    scope_filter: bool = True
    active_filter: bool = False

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.top_k is not None and self.top_k < 1:
            raise InputError(f"option top_k is {self.top_k}: give 1 or more, or none.")
        if self.min_score is not None and not math.isfinite(self.min_score):
            raise InputError(
                f"option min_score is {self.min_score}: give a finite number, or none."
            )


class Request(NamedTuple):
    """One search as an engine gets it; ``scopes`` is None if not to filter."""

    query: str
    user_id: str
    scopes: tuple[str, ...] | None
    active_only: bool
    limit: int


class LexicalStore(ABC):
    """A provider over an index of words; subclasses bring the engine.

    Writes are gathered and reach the engine in one batch: before the next
    search, at the end of `add_many`, in `wait_ready` and in `close`. Methods
    may be called from several threads.
    """

    version: str

    def __init__(self, options: EngineOptions) -> None:
        """Start with an empty book; the subclass opens its engine."""
        self._options = options
        self._book = RecordBook()
        self._fresh: dict[int, Memory] = {}
        self._gone: set[int] = set()
        self._lock = threading.RLock()
        self._closed = False

    def share(self, book: RecordBook) -> None:
        """Become a part of another store: it writes the book, this one only indexes."""
        self._book = book

    @property
    def options(self) -> dict[str, object]:
        """The effective options, defaults included."""
        return {name: getattr(self._options, name) for name in EngineOptions.__slots__}

    @abstractmethod
    def _clear(self) -> None:
        """Empty the index."""

    @abstractmethod
    def _apply(self, gone: set[int], fresh: Sequence[Memory]) -> None:
        """Remove the keys in ``gone`` (not all need be indexed), then write.

        All or nothing: after an error the same batch comes again.
        """

    @abstractmethod
    def _rank(self, request: Request) -> list[tuple[int, float]]:
        """Return (key, score) pairs: best first, equal scores by key.

        ``request.limit`` is at least 1 and at most the user's memories.
        """

    @abstractmethod
    def _close(self) -> None:
        """Let go of the engine."""

    def reset(self) -> None:
        """Forget every memory of every user."""
        with self._lock:
            self._check_open()
            self._clear()  # first: if it fails, book and index still agree
            self._fresh.clear()
            self._gone.clear()
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
        """Store one memory, in the place of the same user's with this id.

        Only ``text`` is searched; ``aliases`` are kept beside it.
        """
        row = AddRow(
            belief_id=belief_id,
            user_id=user_id,
            text=text,
            aliases=aliases,
            metadata=metadata,
        )
        with self._lock:
            self._check_open()
            self._put(row)

    def add_many(self, rows: Iterable[AddRow]) -> None:
        """Store all rows in order and make them visible."""
        with self._lock:
            self._check_open()
            for row in rows:
                self._put(row)
            self._flush()

    def update(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Replace a stored memory; it keeps its place among equal scores.

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
            memory = self._book.pop(user_id, belief_id)
            if memory is not None:
                self._fresh.pop(memory.key, None)
                self._gone.add(memory.key)

    def wait_ready(self, *, belief_id: str, user_id: str, timeout_s: float) -> None:
        """Make all writes visible now; ``timeout_s`` (seconds) isn't needed.

        Raises:
            NotReadyError: This memory was never written.
        """
        del timeout_s
        with self._lock:
            self._check_open()
            self._flush()
            if self._book.get(user_id, belief_id) is None:
                raise NotReadyError(f"memory {belief_id!r} of user {user_id!r} was never added.")

    def search(self, *, query: str, user_id: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """Return at most ``limit`` of the user's memories, the best first.

        With ``scope_filter`` a search without scopes finds nothing: no memory
        shares a scope with it. A query without a word finds nothing either.

        Raises:
            ProviderError: The engine failed, or the store is closed.
        """
        with self._lock:
            self._check_open()
            self._flush()
            limit = min(limit, self._book.count(user_id))
            if self._options.top_k is not None:
                limit = min(limit, self._options.top_k)
            if limit <= 0:
                return []
            asked = tuple(scopes) if self._options.scope_filter else None
            active_only = self._options.active_filter
            request = Request(engine_text(query), user_id, asked, active_only, limit)
            floor = self._options.min_score
            return [
                self._book.by_key(key).hit(score)
                for key, score in self._rank(request)
                if floor is None or score >= floor
            ]

    def close(self) -> None:
        """Write what is pending and let go of the engine; twice is fine."""
        with self._lock:
            if self._closed:
                return
            try:
                self._flush()
            finally:
                self._closed = True
                self._close()

    def _put(self, row: AddRow) -> None:
        if self._options.path is not None:
            to_json(row)  # complain here, not at a later search
        replaced = self._book.get(row["user_id"], row["belief_id"])
        memory = self._book.put(row)
        if replaced is not None:
            self._gone.add(memory.key)
        self._fresh[memory.key] = memory

    def _flush(self) -> None:
        if self._fresh or self._gone:
            self._apply(self._gone, list(self._fresh.values()))
            self._fresh = {}
            self._gone = set()

    def _check_open(self) -> None:
        if self._closed:
            raise ProviderError("the store is closed: create a new one.")
