"""Tells from a search whether a write has arrived. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .protocol import AddRow, Hit

_NAME_LENGTH, _TEXT_LENGTH = 300, 1000
_STATE_KEYS = (("supersededBy", "superseded_by"), ("resolvedAt", "resolved_at"))


def queries_for(row: AddRow) -> list[str]:
    """Queries that should find a memory: the names at the start of its text, then the text."""
    text = row["text"].strip()
    name = text.partition(": ")[0][:_NAME_LENGTH]
    return list(dict.fromkeys(query for query in (name, text[:_TEXT_LENGTH]) if query)) or [
        row["belief_id"]
    ]


def scopes_of(row: AddRow) -> tuple[str, ...]:
    """The scopes in which a memory can be found."""
    scope = row["metadata"].get("scope")
    return (scope,) if isinstance(scope, str) else tuple(scope or ())


def probes(rows: Sequence[AddRow]) -> Iterator[AddRow]:
    """The first and the last memory of every user: what a leftover store would find."""
    ends: dict[str, tuple[AddRow, AddRow]] = {}
    for row in rows:
        first, _ = ends.get(row["user_id"], (row, row))
        ends[row["user_id"]] = (first, row)
    for first, last in ends.values():
        yield first
        if last is not first:
            yield last


def has_arrived(hits: Sequence[Hit], row: AddRow, before: AddRow | None) -> bool:
    """Tell whether a search shows ``row``, which took the place of ``before`` if that is not None.

    A store may rewrite texts or give none back. So only a hit that still shows
    exactly what was there before counts as old. A store may also hide what is
    superseded or resolved: then not to find it is what should be.
    """
    hit = next((hit for hit in hits if hit.id == row["belief_id"]), None)
    if hit is None:
        return _is_hidden(row)
    return before is None or not _shows(hit, before, row)


def _is_hidden(row: AddRow) -> bool:
    metadata = row["metadata"]
    ended = any(metadata.get(key) is not None for key, _ in _STATE_KEYS)
    return ended or metadata.get("epistemicStatus") == "superseded"


def _shows(hit: Hit, before: AddRow, row: AddRow) -> bool:
    """Tell whether a hit shows something that ``row`` has changed as it was ``before``."""
    old, new = _plain(before["text"]), _plain(row["text"])
    if hit.text is not None and _plain(hit.text) == old != new:
        return True
    shown = hit.metadata or {}
    for camel, snake in _STATE_KEYS:
        was, now = before["metadata"].get(camel), row["metadata"].get(camel)
        if was != now and _state(shown, camel, snake, now) == was:
            return True
    return False


def _state(shown: Mapping[str, Any], camel: str, snake: str, default: Any) -> Any:
    return shown.get(camel, shown.get(snake, default))


def _plain(text: str) -> str:
    return " ".join(text.split())
