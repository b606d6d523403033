"""What one run has written to a service, and whose the ids are that come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import NamedTuple

from .http_wire import Row
from .protocol import AddRow, Hit

RESOLUTIONS = ("id", "metadata", "stored", "none")


class Found(NamedTuple):
    """A hit, and how its id was resolved: one of `RESOLUTIONS`."""

    hit: Hit
    how: str


class Written:
    """The memories of a run as they were last written."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        """Start with none; ``redact`` takes secrets out of ids that nobody knows."""
        self._redact = redact
        self._lock = Lock()
        self._resolved: Counter[str] = Counter()
        self.clear()

    def clear(self) -> None:
        """Forget all memories; counts stay."""
        self._rows: dict[tuple[str, str], AddRow] = {}
        self._before: dict[tuple[str, str], AddRow | None] = {}
        self._present: dict[tuple[str, str], None] = {}
        self._known: set[str] = set()
        self._own: dict[str, tuple[str, str]] = {}

    @property
    def present(self) -> list[tuple[str, str]]:
        """User and belief id of all memories that were not deleted."""
        return list(self._present)

    def note(self, row: AddRow, own_ids: Iterable[str]) -> None:
        """Remember what was written, and under which ids the service keeps it."""
        key = row["user_id"], row["belief_id"]
        self._own.update(dict.fromkeys(own_ids, key))
        self._known.add(row["belief_id"])
        self._before[key] = self._rows.get(key)
        self._rows[key] = row
        self._present[key] = None

    def forget(self, user_id: str, belief_id: str) -> None:
        """Take note that a memory was deleted."""
        key = user_id, belief_id
        self._present.pop(key, None)
        self._own = {own: whose for own, whose in self._own.items() if whose != key}

    def own_ids(self, user_id: str, belief_id: str) -> list[str]:
        """The service's own ids of a memory; its belief id if it told none."""
        key = user_id, belief_id
        return [own for own, whose in self._own.items() if whose == key] or [belief_id]

    def last(self, user_id: str, belief_id: str) -> tuple[AddRow | None, AddRow | None]:
        """A memory as it was last written, and as it was before that."""
        key = user_id, belief_id
        return self._rows.get(key), self._before.get(key)

    def find(self, row: Row) -> Found:
        """Give a result its belief id.

        It is the result's own id if that is a known belief, else what its
        metadata names, else the belief whose ``/add`` was answered with the id.
        """
        if row.id is not None and row.id in self._known:
            return Found(Hit(row.id, row.score, row.text, row.metadata), "id")
        if row.belief_id is not None:
            known = row.belief_id in self._known
            belief_id = row.belief_id if known else self._redact(row.belief_id)
            return Found(Hit(belief_id, row.score, row.text, row.metadata), "metadata")
        own = None if row.id is None else self._own.get(row.id)
        if own is not None:
            return Found(Hit(own[1], row.score, row.text, row.metadata), "stored")
        return Found(Hit(None, row.score, row.text), "none")

    def count(self, found: Iterable[Found]) -> None:
        """Count how the ids of an answer were resolved."""
        with self._lock:
            self._resolved.update(how for _, how in found)

    @property
    def counts(self) -> dict[str, int]:
        """How many ids were resolved in which way."""
        with self._lock:
            return {how: self._resolved[how] for how in RESOLUTIONS}


def merge(answers: Sequence[Sequence[Found]], limit: int) -> list[Found]:
    """Interleave the answers for several scopes by rank.

    What another scope gave before is no duplicate, and more than the limit is
    kept only where one answer alone had more.
    """
    merged: list[Found] = []
    first: dict[str, int] = {}
    for rank in range(max(map(len, answers))):
        for scope, answer in enumerate(answers):
            if rank < len(answer):
                found = answer[rank].hit.id
                if found is None or first.setdefault(found, scope) == scope:
                    merged.append(answer[rank])
    return merged[: max(limit, *map(len, answers))]
