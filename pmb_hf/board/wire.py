"""Rows of an export as the board shows them: checked, made safe to show, plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..leaderboard.facts import CONTROL, PUBLISHED
from ..leaderboard.marks import PARTS, RETRIEVAL, SESSION
from ..leaderboard.ranges import MOST, between, count_fault, fault, shown
from ..records import NOISE_KINDS, OK
from ..summary import Summary
from ..tables.text import clean, count_of
from .columns import RANK

Wire = Mapping[str, Any]

NAME_LENGTH, TEXT_LENGTH = 80, 4000
_INCOMPLETE = {"incomplete", "statuses"}
_MOST_MARKS = 12
_WORDS = {
    "run rules": "run under other rules",
    "return cap": "cut to a fixed length",
    "cut": "cut by score",
    "text mode": "not whole texts",
    "changes": "changes failed",
    "stopped": "stopped early",
    "not scored": "not scored here",
    "distractors": "among distractors",
}
"""Marks in the words of a reader."""
_COMPUTED = "computed"
_CONTROL_NOTES = {
    "empty": "floor: nothing",
    "everything": "floor: everything",
    "oracle": "ceiling: exactly right",
}


def board_rows(row: Wire) -> list[dict[str, Any]]:
    """One row for each set of rules that the export has scored it under.

    Raises:
        KeyError: If something that a row must have is missing.
        TypeError, ValueError, AttributeError: If it is of another kind.
    """
    scores = mapping(row["scores"], "scores")
    return [
        _row(row, str(rules), mapping(figures, f"scores.{rules}"))
        for rules, figures in scores.items()
    ]


def _row(row: Wire, rules: str, figures: Wire) -> dict[str, Any]:
    given = {name: mapping(figures.get(name) or {}, name) for name in PARTS}
    parts = {name: _summary(part) for name, part in given.items()}
    marks = list(figures["marks"])[:_MOST_MARKS]
    what = {str(mark["what"]) for mark in marks}
    source, full = _text(row["source"]), _text(row["provider"])
    control = source == CONTROL or "control" in what
    name = clean(_text(row.get("label")) or full, NAME_LENGTH).strip() or "(no name)"
    incomplete = bool(what & _INCOMPLETE)
    ranked = any(part.get("ranked") for part in given.values())
    made = {
        "id": f"{_text(row['id'])}/{rules}",
        "run": _text(row["id"]),
        "corpus": _text(row["corpus"]),
        "rules": rules,
        "name": name,
        "full": clean(full, 400).strip() or "(no name)",
        "control": control,
        "ranked": bool(ranked) and not control,
        "published": source == PUBLISHED,
        "incomplete": incomplete,
        "apart": not ranked and not control and not incomplete and source != PUBLISHED,
        "marks": [clean(_text(mark["text"]), 300) for mark in marks],
        "source": _COMPUTED if source == CONTROL else source,
        "version": clean(_text(row.get("providerVersion")), 40) or "–",
        "date": _date(row.get("date")),
        "parts": parts,
        "categories": _categories(figures),
        "noise": _noise(parts),
        "turns": _turns(figures.get(SESSION)),
        "facts": _facts(row, source),
    }
    made["marks_text"] = _marks_text(made, what)
    return made | {"search": _search(made)}


def mapping(value: Any, where: str | None = None) -> Wire:
    """``value``, if it is an object.

    Raises:
        TypeError: If not; ``where`` names it.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{where or 'it'} must be an object, not {shown(value)}")
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"a text is needed, not {type(value).__name__}")
    return value


def _number(value: Any, name: str) -> float | int | None:
    """A measure's value, or that of its n."""
    found: float | int | None = _checked(value, name, fault(name, value))
    return found


def _count(value: Any, name: str) -> int | None:
    found = _checked(value, name, count_fault(value))
    return None if found is None else int(found)


def _rate(value: Any, name: str) -> float | None:
    found: float | None = _checked(value, name, between(value, 0, 1))
    return found


def _checked(value: Any, name: str, wrong: str | None) -> Any:
    if wrong is not None:
        raise ValueError(f"{clean(name, NAME_LENGTH)} {wrong}")
    return value


def _summary(part: Wire | None) -> Summary | None:
    if not part or not part.get("summary"):
        return None
    given = mapping(part["summary"], "summary")
    found = {str(key): _number(value, str(key)) for key, value in given.items()}
    if found.get("cases") is None and part.get("of") is not None:
        found["cases"] = _count(part["of"], "of")
    return found | {RANK: _count(part.get("rank"), "rank")}


def _categories(figures: Wire) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for part in PARTS:
        given = mapping((figures.get(part) or {}).get("categories") or {}, "categories")
        for name, row in given.items():
            counts = mapping(row, f"categories.{name}")
            passed = _count(counts["passed"], f"categories.{name}.passed")
            cases = _count(counts["cases"], f"categories.{name}.cases")
            label = clean(_text(name), NAME_LENGTH) or "(none)"
            found[label] = [passed or 0, cases or 0]
    return found


def _noise(parts: Mapping[str, Summary | None]) -> dict[str, int] | None:
    told = [part for part in parts.values() if part and f"noise_{NOISE_KINDS[0]}" in part]
    if not told:
        return None
    return {k: sum(int(part.get(f"noise_{k}") or 0) for part in told) for k in NOISE_KINDS}


def _turns(part: Wire | None) -> list[dict[str, Any]]:
    rows = (part or {}).get("driftByTurn") or ()
    return [
        {
            "session": clean(_text(case), NAME_LENGTH),
            "turn": _count(turn, "driftByTurn") or 0,
            "drift": _rate(drift, "driftByTurn"),
        }
        for case, turn, drift in rows
    ]


def _date(value: Any) -> str:
    return clean(_text(value)[:10], 10) or "–"


def _marks_text(row: Mapping[str, Any], what: Iterable[str]) -> str:
    if row["control"]:
        return _CONTROL_NOTES.get(row["full"], "control")
    words = ["published by upstream"] if row["published"] else []
    words += ["incomplete"] if row["incomplete"] else []
    quiet = _INCOMPLETE | {"published", "control", "not known", "note"}
    rest = sorted(_WORDS.get(w, w) for w in what if w not in quiet)
    return clean(", ".join([*words, *rest]), NAME_LENGTH)


def _search(row: Mapping[str, Any]) -> str:
    facts = (value for _, value in row["facts"])
    return " ".join([row["name"], row["full"], row["marks_text"], row["source"], *facts]).casefold()


def _facts(row: Wire, source: str) -> list[list[str]]:
    options = row.get("options")
    told = (
        ", ".join(f"{k}={v}" for k, v in options.items()) if isinstance(options, Mapping) else None
    )
    cap = row.get("returnCap")
    pairs = (
        ("provider", row.get("provider")),
        ("measured by", source),
        ("version", row.get("providerVersion")),
        ("embedding", row.get("embeddingModel")),
        ("LLM", row.get("llm")),
        ("options", told),
        ("results asked for", str(cap) if cap is not None else None),
        ("run under", row.get("runRules")),
        ("date", row.get("date")),
        ("pmb-hf", row.get("pmbHf")),
        ("commit", row.get("gitCommit")),
        ("run", row.get("id")),
    )
    return [[label, clean(str(value), 300)] for label, value in pairs if value]


def case_row(case: Wire, corpus: Wire) -> dict[str, Any]:
    """A case or turn with what it asks and expects; texts are ``None`` if the export has none."""
    turn, label = _count(case["turnIndex"], "turnIndex"), _text(case.get("label"))
    title = clean(_text(case["caseId"]), NAME_LENGTH)
    named = None if turn is None else f"Turn {turn}" + (f": {label}" if label else "")
    query = case.get("query")
    return {
        "case_id": _text(case["caseId"]),
        "turn": turn,
        "category": clean(_text(case.get("category")), NAME_LENGTH),
        "title": title if turn is None else f"{title} (session)",
        "turn_title": None if named is None else clean(named, 200),
        "description": _long(case.get("description")),
        "info": {
            "query": None if query is None else _long(query),
            "scopes": [clean(_text(scope), NAME_LENGTH) for scope in case["scopes"]],
            "user": clean(_text(case.get("userId")), NAME_LENGTH),
            "budget": _count(case.get("budget"), "budget"),
            "expected": list(_expected(mapping(case["expected"], "expected"))),
            "why": _long(case.get("rationale")),
            "kind": _kind(case),
            "texts": _texts(case, corpus),
        },
    }


def _long(value: Any) -> str:
    return clean(_text(value), TEXT_LENGTH)


def _kind(case: Wire) -> str:
    shown = clean(_text(case.get("passKind")), 40).replace("_", " ")
    say = case.get("providerHasNoSay")
    return f"{shown}; no provider has a say ({clean(_text(say), 60)})" if say else shown


def _texts(case: Wire, corpus: Wire) -> dict[str, str]:
    now = case.get("beliefsNow") or {}
    found = {}
    for belief, row in (corpus.get("beliefs") or {}).items():
        says = now.get(belief) or row.get("content")
        if isinstance(says, Mapping):
            says = says.get("content")
        if isinstance(says, str):
            found[_id(belief)] = _long(says)
    return found


def _id(value: Any) -> str:
    return clean(_text(value), 120)


def _expected(expected: Wire) -> Iterable[list[Any]]:
    for key, label in (("relevant", ""), ("pinned", "pinned "), ("questions", "questions ")):
        tier = expected.get(key) or {}
        if tier.get("only") is not None:
            yield [f"{label}exactly", [_id(b) for b in tier["only"]]]
        if tier.get("mustInclude"):
            yield [f"{label}must hold", [_id(b) for b in tier["mustInclude"]]]
        if tier.get("mustExclude"):
            yield [f"{label}must lack", [_id(b) for b in tier["mustExclude"]]]
        if tier.get("orderedBefore"):
            pairs = (f"{_id(a)} before {_id(b)}" for a, b in tier["orderedBefore"])
            yield [f"{label}in order", "; ".join(pairs)]
    if expected.get("mustNotSurface"):
        yield ["as noise", [_id(b) for b in expected["mustNotSurface"]]]
    prelude = expected.get("prelude") or {}
    told = [
        *(["is not empty"] if prelude.get("nonEmpty") else []),
        *(["is empty"] if prelude.get("isNull") else []),
        *(f"contains “{_long(part)}”" for part in prelude.get("contains") or ()),
        *(f"does not contain “{_long(part)}”" for part in prelude.get("mustNotContain") or ()),
    ]
    if told:
        yield ["prelude", "; ".join(told)]


def answer(row: Wire, rules: str) -> dict[str, Any]:
    """What a run returned for a case, with its scores under ``rules``."""
    scores = mapping(row["scores"][rules], f"scores.{rules}")
    kinds = list(row["kinds"])
    places = [_id(belief) for belief in row["returned"]]
    status = clean(_text(row["status"]), 40)
    return {
        "status": status,
        "error": clean(_text(row.get("error")), 400) if status != OK else "",
        "passed": bool(row["passed"]),
        "precision": _rate(scores.get("precision"), "precision"),
        "recall": _rate(scores.get("recall"), "recall"),
        "drift": _rate(scores.get("drift"), "drift"),
        "latency": _checked(
            row.get("latencyMs"), "latencyMs", between(row.get("latencyMs"), 0, MOST)
        ),
        "relevant": [
            {"id": belief, "mark": _mark(kind), "note": ""}
            for belief, kind in zip(places, kinds, strict=True)
        ],
        "missing": [
            {"id": _id(belief), "mark": "missing", "note": _text(why).replace("_", " ")}
            for belief, why in row.get("missing") or ()
        ],
        "failures": [clean(_text(line), 400) for line in row.get("failures") or ()],
    }


def _mark(kind: Any) -> str:
    return clean(_text(kind), 40).replace("_", " ")


_CHARTED = ("name", "control", "categories", "noise", "turns")
_SUMMED = (
    *("mean_precision", "n_precision", "mean_recall", "n_recall", "passed", "cases"),
    *("passed_active", "passed_structural", "passed_trivially_empty"),
    *("p50_latency_ms", "p95_latency_ms", "n_latency"),
)


def chart_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What charts need of rows, and the categories in their order."""
    categories = dict.fromkeys(name for row in rows for name in row["categories"])
    return {"rows": [_charted(row) for row in rows], "categories": list(categories)}


def _charted(row: Mapping[str, Any]) -> dict[str, Any]:
    parts = {
        name: None if part is None else {key: part.get(key) for key in _SUMMED}
        for name, part in row["parts"].items()
    }
    return {**{key: row[key] for key in _CHARTED}, "parts": parts}


def without_doubles(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without the controls that are computed where a run of the same one is there."""
    ran = {_control(row) for row in rows if row["control"] and row["source"] != _COMPUTED}
    return [r for r in rows if r["source"] != _COMPUTED or _control(r) not in ran]


def _control(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["corpus"], row["rules"], row["full"]


def unique(rows: Sequence[dict[str, Any]]) -> None:
    """Number rows of one corpus and rules that are called the same, so that a name finds one."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        key = (row["corpus"], row["rules"], row["name"])
        seen[key] += 1
        if seen[key] > 1:
            row["name"] = f"{row['name']} #{seen[key]}"


def corpus_told(corpus: Wire) -> dict[str, Any]:
    """A corpus in words: its name and size, and its hash."""
    sizes = [
        count_of(number, noun)
        for key, noun in (("beliefCount", "belief"), ("caseCount", "case"), ("turnCount", "turn"))
        if (number := _count(corpus.get(key), key)) is not None
    ]
    _text(corpus["id"])
    name = clean(_text(corpus["name"]), NAME_LENGTH)
    told = f"{name} ({', '.join(sizes)})" if sizes else name
    return {"told": told, "name": name, "sha256": clean(_text(corpus.get("sha256")), 64) or None}


__all__ = ["RETRIEVAL", "SESSION", "answer", "board_rows", "case_row", "chart_rows", "corpus_told"]
