"""Reads memories and logged queries line by line; a fault names its file, line, field and value."""

from __future__ import annotations

import difflib
import json
import reprlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import InputError
from .files import check_source
from .schema import BELIEF_TYPES
from .strict import what_is_wrong
from .tables.text import count_of

_MAX_BYTES = 256 * 1024 * 1024
_LISTS = ("beliefs", "memories")
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60

# What a dump may call a field -> what a belief calls it.
_NAMES = {"_id": "id", "text": "content", "memory": "content", "name": "canonical_name"}
_TEXT = "a string that is not blank"
_TEXTS = "a list of strings that are not blank"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and _writable(value)


def _writable(text: str) -> bool:
    """Whether it can be written in UTF-8; a lone surrogate can't."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_id(value: Any) -> bool:
    return _is_text(value) or (isinstance(value, int) and not isinstance(value, bool))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_rate(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


Check = tuple[Callable[[Any], bool], str]
_STRING: Check = (lambda v: isinstance(v, str) and _writable(v), "a string")
_FLAG: Check = (lambda v: isinstance(v, bool), "true or false")
_ID: Check = (_is_id, "a string that is not blank, or a whole number")

_MEMORY: Mapping[str, Check] = {
    "id": _ID,
    "content": (_is_text, _TEXT),
    "user_id": _ID,
    "type": (lambda v: v in BELIEF_TYPES, "one of " + ", ".join(BELIEF_TYPES)),
    "canonical_name": _STRING,
    "aliases": (_is_texts, _TEXTS),
    "scope": (lambda v: _is_texts(v) and bool(v), _TEXTS + ", and not empty"),
    "why_it_matters": _STRING,
    "epistemic_status": _STRING,
    "confidence": (_is_rate, "a number from 0 to 1"),
    "pinned": _FLAG,
    "reinforcement_count": (_is_whole, "a whole number >= 0"),
    "last_reinforced_at": _STRING,
    "user_edited": _FLAG,
    "resolved_at": _STRING,
    "superseded_by": _ID,
    "created_at": _STRING,
    "updated_at": _STRING,
    "participants": (lambda v: isinstance(v, list) and all(map(_is_id, v)), "a list of ids"),
    "relation_type": _STRING,
    "subtype": _STRING,
}
_QUERY: Mapping[str, Check] = {
    "query": (_is_text, _TEXT),
    "expected": (
        lambda v: isinstance(v, list) and all(map(_is_id, v)),
        "a list of ids; [] if nothing should come back",
    ),
    "user_id": _ID,
    "scope": (lambda v: _is_texts(v) and bool(v), _TEXTS + ", and not empty"),
    "id": _ID,
    "max_beliefs": (_is_whole, "a whole number >= 0"),
    "category": _STRING,
    "description": _STRING,
}


@dataclass(slots=True)
class Faults:
    """What is wrong with the input, and what is worth knowing; a line each."""

    found: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, where: str, name: str, value: object, message: str) -> None:
        """Keep a fault of one field."""
        self.found.append(f"{where}: {name} {_SHORT.repr(value)} {message}")


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory: where it stands, its id, and what else it says, by the names of a belief."""

    where: str
    id: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """One logged query. ``id`` and the texts are empty, and ``scope`` is, where it says nothing."""

    where: str
    text: str
    expected: tuple[str, ...]
    user_id: str
    scope: tuple[str, ...] = ()
    id: str = ""
    max_beliefs: int | None = None
    category: str = ""
    description: str = ""

    @property
    def asked(self) -> tuple[Any, ...]:
        """What makes two queries the same: words, user, scopes and budget."""
        return self.text, self.user_id, tuple(sorted(set(self.scope))), self.max_beliefs


def read_memories(path: Path, faults: Faults) -> list[Memory]:
    """The memories of a file of JSON lines or of one JSON list, without the faulty ones.

    Raises:
        InputError: If the file can't be read.
    """
    ignored: Counter[str] = Counter()
    memories = []
    for where, raw in _rows(path, faults):
        before = len(faults.found)
        named = _named(raw, where, faults)
        values = _checked(named, where, _MEMORY, ("id", "content"), ignored, faults)
        if values is None or len(faults.found) > before:
            continue
        for key in {"user_id", "superseded_by"} & values.keys():
            values[key] = str(values[key])
        if "participants" in values:
            values["participants"] = [str(one) for one in values["participants"]]
        memories.append(Memory(where, str(values.pop("id")), values))
    _note_ignored(path, ignored, _MEMORY, faults)
    if not memories and not faults.found:
        faults.found.append(f"{path.name}: holds no memory")
    return memories


def _named(raw: Mapping[str, Any], where: str, faults: Faults) -> dict[str, Any]:
    """The fields that are not null, by the names that a belief has for them."""
    named: dict[str, Any] = {}
    for key, value in raw.items():
        name = _NAMES.get(key, key)
        if value is None:
            continue
        if name in named:
            faults.add(where, key, value, f"is there beside another {name}; give one of them")
        named[name] = value
    return named


def read_queries(path: Path, faults: Faults) -> list[Query]:
    """The queries of a log of JSON lines, without the faulty ones.

    Raises:
        InputError: If the file can't be read.
    """
    ignored: Counter[str] = Counter()
    queries = []
    for where, raw in _rows(path, faults):
        values = _checked(raw, where, _QUERY, ("query", "expected"), ignored, faults)
        if values is None:
            continue
        expected = tuple(str(one) for one in values["expected"])
        double = [one for one, count in Counter(expected).items() if count > 1]
        if double:
            faults.add(where, "expected", double[0], "is there more than once; list it once")
            continue
        queries.append(
            Query(
                where=where,
                text=values["query"],
                expected=expected,
                user_id=str(values.get("user_id", "")),
                scope=tuple(values.get("scope", ())),
                id=str(values.get("id", "")),
                max_beliefs=values.get("max_beliefs"),
                category=values.get("category", ""),
                description=values.get("description", ""),
            )
        )
    _note_ignored(path, ignored, _QUERY, faults)
    if not queries and not faults.found:
        faults.found.append(f"{path.name}: holds no query")
    return queries


def _checked(
    raw: Mapping[str, Any],
    where: str,
    fields: Mapping[str, Check],
    required: tuple[str, ...],
    ignored: Counter[str],
    faults: Faults,
) -> dict[str, Any] | None:
    """The known fields that are not null, or ``None`` if one is wrong or missing."""
    before = len(faults.found)
    values: dict[str, Any] = {}
    for name in required:
        if raw.get(name) is None:
            _, kind = fields[name]
            faults.found.append(f"{where}: {name} is missing; must be {kind}")
    for name, value in raw.items():
        if name not in fields:
            ignored[name] += 1
        elif value is not None:
            check, kind = fields[name]
            if check(value):
                values[name] = value
            else:
                faults.add(where, name, value, f"must be {kind}")
    return values if len(faults.found) == before else None


def _note_ignored(
    path: Path, ignored: Counter[str], fields: Mapping[str, Check], faults: Faults
) -> None:
    for name, count in sorted(ignored.items()):
        if not name.startswith("_"):
            near = difflib.get_close_matches(name, fields, n=1, cutoff=0.8)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            rows = count_of(count, "row")
            faults.notes.append(f"{path.name}: {name!r} is ignored in {rows}{hint}")


def _rows(path: Path, faults: Faults) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each object of the file with its place."""
    text = _read(path)
    listed = _listed(path, text)
    for where, value in _lines(path, text, faults) if listed is None else listed:
        if isinstance(value, dict):
            yield where, value
        else:
            faults.found.append(f"{where}: must be an object, not {_SHORT.repr(value)}")


def _read(path: Path) -> str:
    try:
        check_source(path)
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path} is larger than {_MAX_BYTES >> 20} MiB; split it")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}") from error


def _listed(path: Path, text: str) -> list[tuple[str, Any]] | None:
    """The items of a JSON list, bare or under ``beliefs`` or ``memories``; else ``None``."""
    try:
        rows = _parse(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("["):
            raise InputError(f"{path} is no valid JSON: {what_is_wrong(error)}") from error
        return None  # JSON lines
    if isinstance(rows, dict):
        rows = next((rows[key] for key in _LISTS if isinstance(rows.get(key), list)), None)
    if not isinstance(rows, list):
        return None
    return [(f"{path.name} item {number}", value) for number, value in enumerate(rows, 1)]


def _lines(path: Path, text: str, faults: Faults) -> Iterator[tuple[str, Any]]:
    # Only "\n" ends a line: JSON strings may hold U+2028 and its like as they are.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path.name} line {number}"
        try:
            value = _parse(line)
        except (ValueError, RecursionError) as error:
            # The error's own line number is 1 for every line.
            text = what_is_wrong(error)
            if isinstance(error, json.JSONDecodeError):
                text = f"{error.msg} at column {error.colno}"
            faults.found.append(f"{where}: is no valid JSON: {text}")
            continue
        yield where, value


def _parse(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value; use null")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        double = next(n for n, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {double!r} is there twice")
    return out
