"""Reads dataset and prediction rows, and joins them by case: standard library only.

A reference row is one row of the ``retrieval`` or ``sessions`` dataset config;
a prediction row is ``{case_id, relevant_beliefs, …}``. Rows are joined by
``case_id`` (sessions: and ``turn_index``), never by position.
"""

from __future__ import annotations

import difflib
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from .records import (
    ACTIVE,
    OK,
    PASS_KINDS,
    STRUCTURAL,
    CaseScore,
    Expectation,
    Kinds,
    MissingError,
    Retrieval,
    RowError,
    Rules,
)
from .scoring import score_case

T = TypeVar("T")
Key = tuple[str, int | None]
_LONGEST_MS = 1e300  # so that sums stay finite
_PAST_INT64 = 2**63

KIND_COLUMNS = {
    "superseded": "superseded_beliefs",
    "resolved": "resolved_beliefs",
    "other_user": "other_user_beliefs",
    "other_scope": "other_scope_beliefs",
    "open_question": "question_beliefs",
    "pinned": "pinned_beliefs",
    "drift": "drifting_beliefs",
    "unrelated": "eligible_beliefs",
}
"""Where a reference row keeps the beliefs of each kind; together they are the corpus.

``eligible_beliefs`` and ``drifting_beliefs`` are those that a right answer can hold.
"""

LIST_FIELDS = {
    "relevant_must_include": "relevant_must_include",
    "relevant_must_exclude": "relevant_must_exclude",
    "pinned_must_include": "pinned_must_include",
    "pinned_must_exclude": "pinned_must_exclude",
    "questions_must_include": "questions_must_include",
    "questions_must_exclude": "questions_must_exclude",
    "prelude_contains": "prelude_contains",
    "prelude_must_not_contain": "prelude_must_not_contain",
    "must_not_surface": "must_not_surface",
    "changed": "changed_beliefs",
    "retired": "retired_beliefs",
}
NULLABLE_LIST_FIELDS = {
    "relevant_only": "relevant_should_only_include",
    "questions_only": "questions_should_only_include",
}
PAIR_FIELDS = {
    "relevant_order": "relevant_ordered_before",
    "pinned_order": "pinned_ordered_before",
}
GOLD_FIELDS = ("relevant_must_include", "relevant_only")
FLAG_FIELDS = ("prelude_non_empty", "prelude_is_null")


def expectation_to_row(expected: Expectation) -> dict[str, Any]:
    """The columns of a reference row that say what a case requires."""
    row: dict[str, Any] = {"case_id": expected.case_id, "category": expected.category}
    if expected.turn_index is not None:
        row["turn_index"] = expected.turn_index
    for name, column in LIST_FIELDS.items():
        row[column] = list(getattr(expected, name))
    for name, column in NULLABLE_LIST_FIELDS.items():
        value = getattr(expected, name)
        row[column] = None if value is None else list(value)
    for name, column in PAIR_FIELDS.items():
        row[column] = [list(pair) for pair in getattr(expected, name)]
    for name in FLAG_FIELDS:
        row[name] = getattr(expected, name)
    row["pass_kind"] = expected.pass_kind
    row["is_active"] = bool(expected.gold)
    row["gold"] = list(expected.needed)
    row["must_be_empty"] = expected.must_be_empty
    row["drift_beliefs"] = sorted(expected.drift_beliefs)
    for kind, column in KIND_COLUMNS.items():
        row[column] = [b for b, k in expected.kinds.items() if k == kind]
    return row


def expectation_from_row(row: Mapping[str, Any]) -> Expectation:
    """Read a reference row; columns that are not needed are ignored.

    Raises:
        RowError: If a column is missing or of the wrong type; names case and column.
    """
    key = row_key(row, "reference")
    where = _name(key, "reference")
    values: dict[str, Any] = {}
    for name, column in LIST_FIELDS.items():
        values[name] = _ids(row, column, where)
    for name, column in NULLABLE_LIST_FIELDS.items():
        values[name] = _optional_ids(row, column, where)
    for name, column in PAIR_FIELDS.items():
        values[name] = _pairs(row, column, where)
    for name in FLAG_FIELDS:
        values[name] = _typed(row, name, bool, where, "true, false")
    if "relevant_should_only_include" not in row:
        raise RowError(
            f"{where}: column 'relevant_should_only_include' is missing; pass the rows of the "
            "dataset's retrieval or sessions config as references"
        )
    kinds = Kinds(
        (belief, kind)
        for kind, column in KIND_COLUMNS.items()
        for belief in _ids(row, column, where)
    )
    return Expectation(
        case_id=key[0],
        turn_index=key[1],
        category=_typed(row, "category", str, where, "a string") or "",
        pass_kind=_pass_kind(row, where, active=any(map(values.get, GOLD_FIELDS))),
        kinds=kinds,
        drift_beliefs=frozenset(_ids(row, "drift_beliefs", where)),
        eligible=kinds.eligible if kinds else None,
        **values,
    )


def retrieval_from_row(row: Mapping[str, Any]) -> Retrieval:
    """Read a prediction row; only ``case_id`` and ``relevant_beliefs`` are required.

    Raises:
        RowError: If a value is of the wrong type; names case, field and value.
    """
    key = row_key(row, "prediction")
    where = _name(key, "prediction")
    if row.get("relevant_beliefs") is None and row.get("status") in (None, OK):
        raise RowError(f"{where}: 'relevant_beliefs' is missing; it is a list of belief ids")
    latency = row.get("latency_ms")
    if latency is not None and not _is_latency(latency):
        raise RowError(f"{where}: 'latency_ms' must be a number >= 0 or null, not {latency!r}")
    return Retrieval(
        relevant=_ids(row, "relevant_beliefs", where),
        pinned=_optional_ids(row, "pinned_facts", where),
        questions=_optional_ids(row, "open_questions", where),
        prelude=_typed(row, "persona_prelude", str, where, "a string"),
        latency_ms=None if latency is None else float(latency),
        status=_status(row, where),
        error=_typed(row, "error", str, where, "a string"),
        raw=_optional_ids(row, "returned_beliefs", where),
        limit=_limit(row, where),
    )


def _limit(row: Mapping[str, Any], where: str) -> int | None:
    limit = row.get("limit")
    _check_size(limit, "limit", where)
    if limit is None or (isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0):
        return limit
    raise RowError(f"{where}: 'limit' must be a whole number >= 0 or null, not {limit!r}")


def _check_size(value: object, field: str, where: str) -> None:
    """Refuse a number that no column holds; it is not shown, for it may have any length."""
    if isinstance(value, int) and not -_PAST_INT64 <= value < _PAST_INT64:
        raise RowError(f"{where}: {field!r} is beyond 64 bits; give a smaller whole number")


def _status(row: Mapping[str, Any], where: str) -> str:
    status: str | None = _typed(row, "status", str, where, "a string")
    if status is None:
        return OK
    if not status:
        raise RowError(f"{where}: 'status' must be a word such as 'ok' or 'error', or null")
    return status


def join(
    predictions: Iterable[Mapping[str, Any]],
    references: Iterable[Mapping[str, Any]],
    *,
    on_missing: str = "error",
) -> list[tuple[Expectation, Retrieval]]:
    """Pair each reference with its prediction, in the order of the references.

    Raises:
        RowError: If there are no rows at all, or a case is missing (unless
            ``on_missing="miss"``, which scores it as missing), extra or repeated.
    """
    if on_missing not in ("error", "miss"):
        raise RowError(f"on_missing must be 'error' or 'miss', not {on_missing!r}")
    wanted = _by_key(references, "reference")
    given = _by_key(predictions, "prediction")
    if not wanted:
        raise RowError("there are no references; pass the rows of a dataset config")
    extra = [key for key in given if key not in wanted]
    if extra:
        names = _some([_name(key, "prediction") for key in extra])
        said = f"no reference for {names}{meant(extra[0], wanted)}"
        raise RowError(said, row=given[extra[0]])
    missing = [_name(key, "case") for key in wanted if key not in given]
    if missing and on_missing == "error":
        raise MissingError(_some(missing))
    pairs = []
    for key, row in wanted.items():
        expected = _told(row, expectation_from_row)
        if key in given:
            got = _told(given[key], retrieval_from_row)
            _warn_near_misses(expected, got)
        else:
            got = Retrieval(status="missing", error="no prediction")
        pairs.append((expected, got))
    return pairs


def score_rows(
    predictions: Iterable[Mapping[str, Any]],
    references: Iterable[Mapping[str, Any]],
    rules: Rules,
    *,
    on_missing: str = "error",
) -> list[CaseScore]:
    """Score prediction rows against reference rows. See :func:`join` for errors."""
    pairs = join(predictions, references, on_missing=on_missing)
    return [score_case(expected, got, rules) for expected, got in pairs]


def row_key(row: Mapping[str, Any], role: str) -> Key:
    """The case and turn that a row is of; ``role`` is what an error calls the row.

    Raises:
        RowError: If the row names none.
    """
    if not isinstance(row, Mapping):
        raise RowError(f"a {role} must be a row with named fields, not {type(row).__name__}")
    case_id, turn = row.get("case_id"), row.get("turn_index")
    if not isinstance(case_id, str):
        raise RowError(f"a {role} has no usable 'case_id': must be a string, not {case_id!r}")
    if turn is not None and (isinstance(turn, bool) or not isinstance(turn, int)):
        raise RowError(f"{role} {case_id!r}: 'turn_index' must be a whole number, not {turn!r}")
    _check_size(turn, "turn_index", f"{role} {case_id!r}")
    return case_id, turn


def _name(key: Key, role: str) -> str:
    return f"{role} {key[0]!r}" + ("" if key[1] is None else f" turn {key[1]}")


def _by_key(rows: object, role: str) -> dict[Key, Mapping[str, Any]]:
    if not isinstance(rows, Iterable):
        kind = type(rows).__name__
        raise RowError(f"{role}s must be rows, such as a list of mappings, not {kind}")
    out: dict[Key, Mapping[str, Any]] = {}
    for row in rows:
        key = _told(row, lambda row: row_key(row, role))
        if key in out:
            message = f"{_name(key, role)} is there more than once"
            raise RowError(message, row=row, first=out[key])
        out[key] = row
    return out


def _told(row: Mapping[str, Any], read: Callable[[Mapping[str, Any]], T]) -> T:
    """Read a row; an error tells which row it is about."""
    try:
        return read(row)
    except RowError as error:
        error.row = row
        raise


def _ids(row: Mapping[str, Any], column: str, where: str) -> tuple[str, ...]:
    return _optional_ids(row, column, where) or ()


def _optional_ids(row: Mapping[str, Any], column: str, where: str) -> tuple[str, ...] | None:
    value = row.get(column)
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise RowError(f"{where}: {column!r} must be a list of ids, not {value!r}")
    for item in value:
        if not isinstance(item, str):
            raise RowError(f"{where}: {column!r} holds {item!r}; an id must be a string")
    return tuple(value)


def _pairs(row: Mapping[str, Any], column: str, where: str) -> tuple[tuple[str, str], ...]:
    pairs = [_ids({column: pair}, column, where) for pair in row.get(column) or ()]
    if any(len(pair) != 2 for pair in pairs):
        raise RowError(f"{where}: {column!r} must be a list of pairs of ids")
    return tuple((first, second) for first, second in pairs)


def _typed(row: Mapping[str, Any], column: str, kind: type[T], where: str, name: str) -> T | None:
    value = row.get(column)
    if value is not None and not isinstance(value, kind):
        raise RowError(f"{where}: {column!r} must be {name} or null, not {value!r}")
    return value


def _is_latency(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= _LONGEST_MS


def _pass_kind(row: Mapping[str, Any], where: str, *, active: bool) -> str:
    kind = row.get("pass_kind")
    if kind is None:
        return ACTIVE if active else STRUCTURAL
    if kind not in PASS_KINDS:
        raise RowError(f"{where}: 'pass_kind' must be one of {PASS_KINDS} or null, not {kind!r}")
    return str(kind)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def meant(key: Key, known: Iterable[Key]) -> str:
    """What an unknown case may be meant to be, to be put behind an error; "" if nothing is near."""
    turns: dict[str, list[int | None]] = {}
    for case_id, turn in known:
        turns.setdefault(case_id, []).append(turn)
    if key[0] not in turns:
        near = difflib.get_close_matches(key[0], turns, n=1)
        return f"; did you mean {near[0]!r}?" if near else ""
    if None in turns[key[0]]:
        return "; it has no turns, so leave out turn_index"
    return f"; it has the turns {', '.join(map(str, turns[key[0]]))}"


def near_misses(
    expected: Expectation, relevant: Sequence[str], folded: dict[str, str]
) -> list[tuple[str, str]]:
    """The unknown ids that differ from a known one in case, blanks or Unicode form alone.

    Args:
        expected: The case.
        relevant: The ids that were returned for it.
        folded: Filled on first use, so that who has many rows of one case can keep it.

    Returns:
        Pairs of the id as it was returned and the one it may have meant.
    """
    unknown = [belief for belief in relevant if belief not in expected.kinds]
    if unknown and not folded:
        folded.update((_fold(known), known) for known in reversed(expected.kinds))
    return [(belief, folded[_fold(belief)]) for belief in unknown if _fold(belief) in folded]


def _fold(belief: str) -> str:
    return unicodedata.normalize("NFKC", belief).strip().casefold()


def _warn_near_misses(expected: Expectation, got: Retrieval) -> None:
    """Warn of ids that are known but for case, blanks or Unicode form; they do not count."""
    for belief, near in near_misses(expected, got.relevant, {}):
        name = _name((expected.case_id, expected.turn_index), "prediction")
        warnings.warn(f"{name}: {belief!r} is not {near!r}; ids are compared exactly", stacklevel=4)
