"""Which memories a system's entry stands for, where a system joins what is alike."""

from __future__ import annotations

from typing import TypeAlias

Entry: TypeAlias = int | str


class JoinedIds:
    """Entries of a system and the keys of the memories that each stands for.

    A memory is in one entry at most. An entry that a later memory replaced stands
    for that one alone; the memories before it are in none.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._keys: dict[Entry, list[int]] = {}
        self._entries: dict[int, Entry] = {}

    def put(self, key: int, entry: Entry, *, alone: bool) -> None:
        """Note that ``entry`` holds the memory; ``alone``: nothing else any more."""
        self.drop(key)
        if alone:
            for other in self._keys.pop(entry, []):
                del self._entries[other]
        self._keys.setdefault(entry, []).append(key)
        self._entries[key] = entry

    def keys(self, entry: Entry) -> tuple[int, ...]:
        """The memories that an entry stands for, the oldest first."""
        return tuple(self._keys.get(entry, ()))

    def sole(self, key: int) -> Entry | None:
        """The entry of a memory if it stands for no other; else None."""
        entry = self._entries.get(key)
        return entry if entry is not None and self._keys[entry] == [key] else None

    def drop(self, key: int) -> None:
        """Forget a memory; its entry may still stand for others."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._keys[entry].remove(key)
            if not self._keys[entry]:
                del self._keys[entry]

    def clear(self) -> None:
        """Forget everything."""
        self._keys.clear()
        self._entries.clear()
