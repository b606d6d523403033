"""Reads a report file, ours or upstream's, and names the place that is wrong."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from .errors import InputError, ReportError
from .files import check_source
from .measured import ChangeRecord, Ingestion, Record, Result
from .parsing import parse_belief
from .records import OK
from .report import MAX_BYTES, SCHEMA_VERSION, Report
from .rules import RULES
from .schema import SESSION_CATEGORY, Belief
from .strict import Reader, refuse_half_characters, what_is_wrong
from .wire import check_written, is_ms

_MAX_LATENCY_MS = 1e12


def read_report(path: str | Path) -> Report:
    """Read a report file, ours or upstream's.

    Raises:
        ReportError: If it can't be read, is no report, or has an unknown schema
            version; names the file and the place.
    """
    file = Path(path)
    return parse_report(read_json(file), where=str(file))


def read_json(path: Path) -> Any:
    """Parse a report file as strict JSON.

    Raises:
        ReportError: If it is missing, too large, or no JSON.
    """
    try:
        check_source(path)
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1) if path.stat().st_size <= MAX_BYTES else None
        if data is None or len(data) > MAX_BYTES:
            raise ReportError(f"{path} is larger than {MAX_BYTES >> 20} MiB; this is no report")
        text = data.decode("utf-8")
        tree = json.loads(text, parse_constant=_refuse_constant)
        refuse_half_characters(text, tree)
    except ReportError:
        raise
    except InputError as error:
        raise ReportError(str(error)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(f"{path} can't be read: {error}") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise ReportError(f"{path} is no valid JSON: {error}") from error
    except ValueError as error:
        raise ReportError(f"{path}: {what_is_wrong(error)}") from error
    return tree


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value; absence is null")


def parse_report(tree: Any, *, where: str = "report") -> Report:
    """Read a parsed report, ours or upstream's.

    Raises:
        ReportError: Names the place in the file that is wrong.
    """
    if not isinstance(tree, dict):
        raise ReportError(f"{where}: a report is an object, not {type(tree).__name__}")
    version = tree.get("schemaVersion")
    if version is not None and version != SCHEMA_VERSION:
        raise ReportError(
            f"{where}: schemaVersion {version!r} is not known to this version of pmb-hf, "
            f"which reads {SCHEMA_VERSION}; upgrade pmb-hf"
        )
    provider = tree.get("provider")
    if not isinstance(provider, str):
        raise ReportError(f"{where}: 'provider' must be a string; this is no report")
    upstream = version is None
    rules = tree.get("rules", "upstream-2026-06")
    if not isinstance(rules, str) or rules not in RULES:
        raise ReportError(f"{where}: rules {rules!r} are not known; known are {', '.join(RULES)}")
    return _parse(tree, provider, str(rules), upstream, where)


def _parse(tree: dict[str, Any], provider: str, rules: str, upstream: bool, where: str) -> Report:
    session = _at(tree, "session", dict, where) or {}
    rows = [(f"cases[{n}]", row) for n, row in enumerate(_at(tree, "cases", list, where) or ())]
    turns = _at(session, "cases", list, f"{where}: session") or ()
    rows += [(f"session.cases[{n}]", row) for n, row in enumerate(turns)]
    if not rows:
        raise ReportError(f"{where}: there are no cases; this is no report of a run")
    records = [_record(row, f"{where}: {at}", upstream) for at, row in rows]
    double = [key for key, count in Counter(r.key for r in records).items() if count > 1]
    if double:
        raise ReportError(f"{where}: case {double[0][0]!r} is there more than once")
    first, second = _at(tree, "ingestion", dict, where), session.get("ingestion")
    if upstream and records[0].turn_index is not None:
        first, second = None, first
    _at(_at(tree, "provenance", dict, where) or {}, "corpus", dict, f"{where}: provenance")
    try:
        check_written(first, (), tree.get("load"), "")
        check_written(second, _at(session, "changes", list, f"{where}: session"), None, "session.")
    except InputError as error:
        raise ReportError(f"{where}: {error}") from error
    try:
        return Report(
            provider=provider,
            rules=rules,
            records=tuple(records),
            ingestion=Ingestion.from_wire(first) if first else None,
            session_ingestion=Ingestion.from_wire(second) if second else None,
            changes=tuple(ChangeRecord.from_wire(c) for c in session.get("changes") or ()),
            can_update=tree.get("canUpdate"),
            load=_at(tree, "load", dict, where),
            provenance=_at(tree, "provenance", dict, where) or {},
            upstream=upstream,
            stated=_stated(tree, session, records[0].turn_index is not None),
            distractors=_distractors(tree, where),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"{where}: ingestion or changes are malformed: {error!r}") from error


def _distractors(tree: dict[str, Any], where: str) -> tuple[Belief, ...]:
    reader, rows = Reader(), _at(tree, "distractors", list, where) or ()
    found = tuple(parse_belief(row, f"distractors[{n}]", reader) for n, row in enumerate(rows))
    if reader.problems:
        first = reader.problems[0]
        raise ReportError(f"{where}: {first.where}: {first.message}")
    return found


def _at(tree: dict[str, Any], key: str, kind: type, where: str) -> Any:
    value = tree.get(key)
    if value is not None and not isinstance(value, kind):
        name = "a list" if kind is list else "an object"
        raise ReportError(f"{where}: {key!r} must be {name}, not {type(value).__name__}")
    return value


def _stated(tree: dict[str, Any], session: dict[str, Any], is_session: bool) -> dict[str, Any]:
    stated = {"session" if is_session else "retrieval": tree.get("retrieval")}
    if session.get("retrieval"):
        stated["session"] = session["retrieval"]
    return {part: summary for part, summary in stated.items() if summary}


def _record(row: Any, where: str, upstream: bool) -> Record:
    if not isinstance(row, dict):
        raise ReportError(f"{where}: must be an object, not {type(row).__name__}")
    case_id = row.get("caseId")
    if not isinstance(case_id, str):
        raise ReportError(f"{where}.caseId must be a string, not {case_id!r}")
    turn = row.get("turnIndex")
    if turn is not None and (isinstance(turn, bool) or not isinstance(turn, int)):
        raise ReportError(f"{where}.turnIndex must be a whole number, not {turn!r}")
    at = f"{where} ({case_id})"
    single = turn is None
    relevant = _ids(row, "relevantBeliefs" if single else "retrievedBeliefIds", at)
    if relevant is None:
        raise ReportError(f"{at}: the returned ids are missing")
    return Record(
        case_id=case_id,
        category=str(row.get("category") or ("" if single else SESSION_CATEGORY)),
        turn_index=turn,
        description=str(row.get("description") or ""),
        label=str(row.get("label") or ""),
        relevant=relevant,
        pinned=_ids(row, "pinnedBeliefs" if single else "pinnedBeliefIds", at),
        questions=_ids(row, "retrievedQuestions", at),
        prelude=row.get("personaPrelude"),
        results=None if upstream else _results(row, at),
        limit=_limit(row, at),
        latency_ms=_latency(row, at),
        status=_status(row, at),
        error=row.get("error"),
        **_repeats(row, at),
    )


def _ids(row: dict[str, Any], key: str, where: str) -> tuple[str, ...] | None:
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ReportError(f"{where}.{key} must be a list of ids, not {value!r}")
    return tuple(value)


def _latency(row: dict[str, Any], where: str) -> float | None:
    value = row.get("retrievalLatencyMs")
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= _MAX_LATENCY_MS:
        raise ReportError(
            f"{where}.retrievalLatencyMs must be a number or null, not {str(value)[:40]}"
        )
    return value  # type: ignore[no-any-return]


def _status(row: dict[str, Any], where: str) -> str:
    value = row.get("status")
    if value is None:
        return OK
    if not isinstance(value, str) or not value:
        raise ReportError(f"{where}.status must be a word or null, not {value!r}")
    return value


def _limit(row: dict[str, Any], where: str) -> int | None:
    value = row.get("limit")
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise ReportError(f"{where}.limit must be a whole number or null, not {value!r}")
    return value


def _repeats(row: dict[str, Any], where: str) -> dict[str, Any]:
    repeats = _at(row, "repeats", dict, where)
    if repeats is None:
        return {}
    times = _at(repeats, "latenciesMs", list, f"{where}.repeats") or ()
    if not all(map(is_ms, times)):
        raise ReportError(f"{where}.repeats.latenciesMs must be numbers of ms")
    return {"repeats_ms": tuple(times), "stable": bool(repeats.get("stable"))}


def _results(row: dict[str, Any], where: str) -> tuple[Result, ...] | None:
    value = row.get("results")
    if value is None:
        return None
    try:
        results = tuple(Result(item["id"], item.get("score")) for item in value)
    except (KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"{where}.results is malformed: {error!r}") from error
    if not all(isinstance(result.id, str) for result in results):
        raise ReportError(f"{where}.results holds an id that is no string")
    for result in results:
        if isinstance(result.score, bool) or not isinstance(result.score, int | float | None):
            raise ReportError(f"{where}.results holds the score {result.score!r}; it is a number")
    return results
