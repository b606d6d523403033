"""Reads what a run has measured back from JSON, strictly: each fault is told by its place.

The wire forms are those of :mod:`pmb_hf.measured`; a journal holds one a line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from .errors import InputError
from .measured import ChangeRecord, Ingestion, Record
from .strict import Field, Reader, mapping, strings, text, whole

T = TypeVar("T")

MAX_MS = 1e12
"""The longest time that is read, in ms; 30 years."""


def is_ms(value: Any) -> bool:
    """Whether a value is a time in ms."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value <= MAX_MS


def _or_null(field: Field) -> Field:
    def check(value: Any) -> bool:
        return value is None or field.check(value)

    return field._replace(check=check, kind=f"{field.kind} or null")


def _is_score(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # a whole number may be larger than any float


def _is_results(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, list)
        and len(item) == 2
        and isinstance(item[0], str)
        and _is_score(item[1])
        for item in value
    )


_TEXT = text(required=True)
_WORD = Field(lambda v: isinstance(v, str) and bool(v), "a word", required=True)
_IDS = strings(required=True)
_MS = Field(is_ms, "a number of ms >= 0", required=True)
_MS_LIST = Field(
    lambda v: isinstance(v, list) and all(map(is_ms, v)), "a list of numbers of ms", required=True
)
_WHOLE = whole(required=True)
_NUMBER = Field(lambda v: v is not None and _is_score(v) and v >= 0, "a number >= 0", required=True)
_ROWS = Field(
    lambda v: isinstance(v, list) and all(isinstance(row, dict) for row in v),
    "a list of objects",
    required=True,
    kept=True,
)

RECORD: Mapping[str, Field] = {
    "case_id": _TEXT,
    "category": _TEXT,
    "turn_index": _or_null(_WHOLE),
    "description": _TEXT,
    "label": _TEXT,
    "relevant": _IDS,
    "pinned": _or_null(_IDS),
    "questions": _or_null(_IDS),
    "prelude": _or_null(_TEXT),
    "results": _or_null(
        Field(_is_results, "a list of [id, score] pairs", required=True, kept=True)
    ),
    "limit": _or_null(_WHOLE),
    "latency_ms": _or_null(_MS),
    "status": _WORD,
    "error": _or_null(_TEXT),
    "repeats_ms": _MS_LIST,
    "stable": _or_null(Field(lambda v: isinstance(v, bool), "true or false", required=True)),
}
CHANGE: Mapping[str, Field] = {
    "caseId": _TEXT,
    "turnIndex": _WHOLE,
    "beliefId": _TEXT,
    "action": _WORD,
    "status": _WORD,
    "error": _or_null(_TEXT),
    "latencyMs": _or_null(_MS),
    "visibleAfterMs": _or_null(_MS),
}
INGESTION: Mapping[str, Field] = {
    "beliefCount": _WHOLE,
    "totalMs": _MS,
    "meanPerBeliefMs": _or_null(_MS),
    "p50PerBeliefMs": _or_null(_MS),
    "p95PerBeliefMs": _or_null(_MS),
    "visibleAfterMs": _or_null(_MS),
    "distractors": mapping(),
    "perBelief": _ROWS,
}
BULK: Mapping[str, Field] = {
    "beliefCount": _WHOLE,
    "calls": _WHOLE,
    "totalMs": _MS,
    "perSecond": _or_null(_NUMBER),
}
WRITE: Mapping[str, Field] = {"beliefId": _TEXT, "latencyMs": _MS}
LOAD: Mapping[str, Field] = {
    "concurrency": _WHOLE,
    "searches": _WHOLE,
    "errors": _WHOLE,
    "seconds": _NUMBER,
    "perSecond": _or_null(_NUMBER),
    "p50Ms": _or_null(_MS),
    "p95Ms": _or_null(_MS),
}


def read_record(raw: Any, where: str) -> Record:
    """The record whose wire form ``raw`` is, found at ``where``.

    Raises:
        InputError: Names the field, what it must be and what it is.
    """
    return Record.from_wire(_read(raw, where, RECORD))


def read_change(raw: Any, where: str) -> ChangeRecord:
    """The mid-session change whose wire form ``raw`` is; see `read_record`."""
    return ChangeRecord.from_wire(_read(raw, where, CHANGE))


def read_ingestion(raw: Any, where: str) -> Ingestion:
    """The times of writing whose wire form ``raw`` is; see `read_record`."""
    found = _read(raw, where, INGESTION)
    for number, row in enumerate(found["perBelief"]):
        _read(row, f"{where}.perBelief[{number}]", WRITE)
    if found["distractors"]:
        _read(found["distractors"], f"{where}.distractors", BULK)
    return Ingestion.from_wire(found)


def read_load(raw: Any, where: str) -> dict[str, Any]:
    """The figures of asking several at once; see `read_record`."""
    return _read(raw, where, LOAD)


def check_written(ingestion: Any, changes: Any, load: Any, where: str) -> None:
    """Refuse what a report tells of writing and of load, if a figure is of a wrong type.

    Unlike a journal, a report may lack fields, and may be of a version that has more.

    Raises:
        InputError: Names the field, what it must be and what it is.
    """
    for number, row in enumerate(changes or ()):
        _check(row, f"{where}changes[{number}]", CHANGE)
    if ingestion:
        _check(ingestion, f"{where}ingestion", INGESTION)
        for number, row in enumerate(ingestion.get("perBelief") or ()):
            _check(row, f"{where}ingestion.perBelief[{number}]", WRITE)
        if ingestion.get("distractors"):
            _check(ingestion["distractors"], f"{where}ingestion.distractors", BULK)
    if load is not None:
        _check(load, f"{where}load", LOAD)


def _check(raw: Any, where: str, fields: Mapping[str, Field]) -> None:
    reader = Reader()
    reader.read(raw, where, fields)
    for problem in reader.problems:
        if problem.code == "type":
            raise InputError(f"{problem.where} {problem.message}")


def _read(raw: Any, where: str, fields: Mapping[str, Field]) -> dict[str, Any]:
    reader = Reader()
    found = reader.read(raw, where, fields)
    comments = [key for key in raw if key.startswith("_")] if isinstance(raw, dict) else []
    for key in comments:  # a reader takes them for comments; nobody writes any here
        reader.report(f"{where}.{key}", "unknown-key", "unknown key")
    if reader.problems:
        first = reader.problems[0]
        raise InputError(f"{first.where} {first.message}")
    return found


class Restart(NamedTuple):
    """A session starts anew: what was measured of it is void."""

    case_id: str


class Seeding(NamedTuple):
    """The times of writing the seed, before the cases or before the sessions."""

    ingestion: Ingestion
    sessions: bool


class Load(NamedTuple):
    """The figures of asking several at once."""

    figures: dict[str, Any]


Entry = Record | ChangeRecord | Seeding | Load | Restart
"""What one line of a journal stands for."""


def _restart(raw: Any, where: str) -> Restart:
    if not isinstance(raw, str):
        raise InputError(f"{where} must be the id of a session")
    return Restart(raw)


_ENTRIES: Mapping[str, Callable[[Any, str], Entry]] = {
    "record": read_record,
    "change": read_change,
    "ingestion": lambda raw, where: Seeding(read_ingestion(raw, where), sessions=False),
    "sessionIngestion": lambda raw, where: Seeding(read_ingestion(raw, where), sessions=True),
    "load": lambda raw, where: Load(read_load(raw, where)),
    "restart": _restart,
}


def read_entry(line: Mapping[str, Any], where: str) -> Entry:
    """What a line of a journal stands for.

    Raises:
        InputError: If it is no such line; names the field.
    """
    kinds = [key for key in line if key in _ENTRIES]
    if len(line) != 1 or not kinds:
        raise InputError(f"{where} must hold one of {', '.join(_ENTRIES)}")
    return _ENTRIES[kinds[0]](line[kinds[0]], f"{where}: {kinds[0]}")
