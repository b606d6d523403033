"""The memories that an in-process provider holds, and the shared filters."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, ProviderError
from .protocol import AddRow, Hit


@dataclass(frozen=True, slots=True)
class Memory:
    """One stored memory. ``key`` numbers the memories in order of insertion."""

    key: int
    belief_id: str
    user_id: str
    text: str
    aliases: tuple[str, ...]
    metadata: Mapping[str, Any]

    @classmethod
    def of(cls, key: int, row: AddRow) -> Memory:
        """Return a row as a memory; aliases and metadata are copied."""
        return cls(
            key=key,
            belief_id=row["belief_id"],
            user_id=row["user_id"],
            text=row["text"],
            aliases=tuple(row["aliases"]),
            metadata=dict(row["metadata"]),
        )

    @property
    def row(self) -> AddRow:
        """The arguments of ``add`` that wrote the memory."""
        return AddRow(
            belief_id=self.belief_id,
            user_id=self.user_id,
            text=self.text,
            aliases=self.aliases,
            metadata=self.metadata,
        )

    def hit(self, score: float | None = None) -> Hit:
        """Return the memory as a search result; the metadata is a copy."""
        return Hit(self.belief_id, score, self.text, dict(self.metadata))


class RecordBook:
    """Memories by user and belief id, in order of insertion.

    A memory that is written again keeps its place and its key.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._users: dict[str, dict[str, Memory]] = {}
        self._by_key: dict[int, Memory] = {}
        self._next = 0

    def __len__(self) -> int:
        """Return the number of memories of all users."""
        return len(self._by_key)

    def __iter__(self) -> Iterator[Memory]:
        """Go through the memories of all users, the oldest first."""
        return (self._by_key[key] for key in sorted(self._by_key))

    def put(self, row: AddRow) -> Memory:
        """Store a row, in the place of the one with its user and id if any."""
        old = self.get(row["user_id"], row["belief_id"])
        memory = Memory.of(self._next if old is None else old.key, row)
        self.restore(memory)
        return memory

    def restore(self, memory: Memory) -> None:
        """Store a memory under its own key; restore the oldest first."""
        self._users.setdefault(memory.user_id, {})[memory.belief_id] = memory
        self._by_key[memory.key] = memory
        self._next = max(self._next, memory.key + 1)

    def get(self, user_id: str, belief_id: str) -> Memory | None:
        """Return a user's memory, or None."""
        return self._users.get(user_id, {}).get(belief_id)

    def by_key(self, key: int) -> Memory:
        """Return the memory with this key (KeyError if there is none)."""
        return self._by_key[key]

    def pop(self, user_id: str, belief_id: str) -> Memory | None:
        """Take a user's memory out and return it, or None."""
        memory = self._users.get(user_id, {}).pop(belief_id, None)
        if memory is not None:
            del self._by_key[memory.key]
        return memory

    def of_user(self, user_id: str) -> list[Memory]:
        """Return the user's memories in order of insertion."""
        return list(self._users.get(user_id, {}).values())

    def count(self, user_id: str) -> int:
        """Return how many memories the user has."""
        return len(self._users.get(user_id, {}))

    def clear(self) -> None:
        """Forget everything; keys start at 0 again."""
        self._users.clear()
        self._by_key.clear()
        self._next = 0


def scopes_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a memory's scopes; a single string counts as one scope."""
    scope = metadata.get("scope")
    if scope is None:
        return ()
    return (scope,) if isinstance(scope, str) else tuple(scope)


def is_active(metadata: Mapping[str, Any]) -> bool:
    """Tell whether a memory is neither superseded nor resolved."""
    return (
        metadata.get("supersededBy") is None
        and metadata.get("resolvedAt") is None
        and metadata.get("epistemicStatus") != "superseded"
    )


def exact_term(value: str) -> str:
    """Return a user id or scope as a term that any engine stores as it is.

    ASCII only, so that even a lone surrogate survives; two values never share
    a term.
    """
    return json.dumps(value)


def engine_text(text: str) -> str:
    """Return text that every engine takes: NFC, no NUL, no lone surrogate."""
    clean = text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFC", clean)


def to_json(record: AddRow) -> str:
    """Return a row as strict JSON (ASCII), for an index kept on disk.

    Raises:
        InputError: The metadata isn't JSON.
    """
    try:
        return json.dumps(
            {
                **record,
                "aliases": list(record["aliases"]),
                "metadata": dict(record["metadata"]),
            },
            allow_nan=False,
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            f"metadata of memory {record['belief_id']!r} can't be kept on disk: "
            f"{error}. Use JSON values, or leave out the option path."
        ) from error


def from_json(key: int, record: str) -> Memory:
    """Return the memory with this key that `to_json` wrote."""
    row: AddRow = json.loads(record)
    return Memory.of(key, row)


def require(book: RecordBook, user_id: str, belief_id: str) -> Memory:
    """Return a user's memory.

    Raises:
        ProviderError: There is none.
    """
    memory = book.get(user_id, belief_id)
    if memory is None:
        raise ProviderError(f"no memory {belief_id!r} of user {user_id!r} to update: add it first.")
    return memory
