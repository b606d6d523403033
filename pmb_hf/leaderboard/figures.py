"""What a run comes to under a set of rules: summaries with their n, or why there are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..measured import Record
from ..measures import COUNT_OF, MEASURES
from ..report import Evaluation, Judged, Report
from ..summary import Summary, summarize, summarize_by_category
from .facts import Row
from .marks import PARTS, RETRIEVAL, SESSION, Mark, marks, missing

HIDING = ("incomplete", "statuses")
"""Marks that leave a part without figures: a mean over other cases is another mean."""

CATEGORY_MEASURES = (
    *("cases", "passed", "active_cases", "passed_active"),
    *("mean_precision", "n_precision", "mean_recall", "n_recall"),
)
"""What is kept of a summary by category."""

RANKED_BY = {
    RETRIEVAL: ("passed_active", "passed", "mean_precision"),
    SESSION: ("passed", "mean_drift", "mean_precision"),
}
"""By what rows are ranked, the first first. Passes of active cases come before all passes,
since a system that returns nothing passes every case that must be empty."""

_UPSTREAM_NAMES = {
    "meanPrecision": "mean_precision",
    "meanRecall": "mean_recall",
    "meanLatencyMs": "mean_latency_ms",
    "p50LatencyMs": "p50_latency_ms",
    "p95LatencyMs": "p95_latency_ms",
    "totalPassed": "passed",
    "totalCases": "cases",
    "passRate": "pass_rate",
    "activeRetrievalPasses": "passed_active",
}


def figures(
    report: Report, rules: str, evaluation: Evaluation | None, more: Sequence[Mark] = ()
) -> Row:
    """The figures under ``rules``: marks, both parts, and the latency ratio.

    ``evaluation`` is the report judged under ``rules``; without it the figures are those
    that the report states. ``more`` are marks beside those that the report itself calls for.
    """
    found = [*more, *marks(report, rules, evaluation)]
    if evaluation is None:
        parts = {name: _stated(name, report, found) for name in PARTS}
        ratio, basis = None, "stated by the report"
    else:
        parts = {name: _part(name, report, evaluation, found) for name in PARTS}
        ratio, basis = evaluation.latency_ratio, "scored"
    return figures_row(basis, found, parts, ratio)


def figures_row(
    basis: str,
    found: Sequence[Mark],
    parts: Mapping[str, Row | None],
    ratio: float | None = None,
) -> Row:
    """The wire form of figures; ``rank`` is filled in when all rows are known."""
    shown = [name for name in PARTS if (part := parts.get(name)) is not None and part["summary"]]
    row: Row = {
        "basis": basis,
        "marks": [mark.to_wire() for mark in found],
        "latencyRatio": ratio if len(shown) == len(PARTS) else None,
    }
    for name in PARTS:
        part = parts.get(name)
        if part is None:
            row[name] = None
            continue
        blocked = any(mark.blocks and mark.part in (None, name) for mark in found)
        row[name] = {"rank": None, "ranked": bool(part["summary"]) and not blocked, **part}
    return row


def _part(name: str, report: Report, evaluation: Evaluation, found: Sequence[Mark]) -> Row | None:
    judged = evaluation.turns if name == SESSION else evaluation.cases
    if not judged:
        return None
    lacking = missing(report, evaluation, name)
    part: Row = _frame([j.record for j in judged], lacking)
    if not _is_hidden(name, found):
        scores = [j.score for j in judged]
        part |= {"summary": summarize(scores), "categories": categories(judged)}
    if name == SESSION:
        part["driftByTurn"] = [[*j.record.key, j.score.drift] for j in judged]
    return part


def _frame(records: Sequence[Record], lacking: int) -> Row:
    return {
        "answered": len(records),
        "of": len(records) + lacking,
        "statuses": dict(sorted(Counter(record.status for record in records).items())),
        "summary": None,
        "categories": None,
    }


def _is_hidden(part: str, found: Iterable[Mark]) -> bool:
    return any(mark.what in HIDING and mark.part == part for mark in found)


def categories(judged: Iterable[Judged]) -> Row:
    """The most telling measures of each category, in the order of the cases."""
    found = summarize_by_category(j.score for j in judged)
    return {name: {key: row[key] for key in CATEGORY_MEASURES} for name, row in found.items()}


def scored_part(summary: Summary) -> Row:
    """A part of which every case was answered, and only the summary is kept."""
    cases = summary["cases"]
    return {
        "answered": cases,
        "of": cases,
        "statuses": None,
        "summary": summary,
        "categories": None,
    }


def bare_part(summary: Summary, of: int | None) -> Row:
    """A part of which only figures are known, and not the answers."""
    return {
        "answered": of,
        "of": of,
        "statuses": None,
        "summary": {name: summary.get(name) for name in _in_order() if name in summary},
        "categories": None,
    }


def _in_order() -> list[str]:
    names: dict[str, None] = {}
    for name in MEASURES:
        names[name] = None
        if (n := COUNT_OF.get(name)) is not None:
            names[n] = None
    return list(names)


def _stated(name: str, report: Report, found: Sequence[Mark]) -> Row | None:
    """A part as a report states it: known names with numbers, nothing else."""
    records = report.turns if name == SESSION else report.cases
    if not records:
        return None
    part = _frame(records, missing(report, None, name))
    if not _is_hidden(name, found):
        part["summary"] = _numbers(report.stated.get(name))
    return part


def _numbers(part: Any) -> Summary | None:
    if not isinstance(part, Mapping):
        return None
    kinds = part.get("passTypes")
    given: dict[str, Any] = {new: part[old] for old, new in _UPSTREAM_NAMES.items() if old in part}
    if isinstance(kinds, Mapping):
        names = {"activeRetrieval": "active", "structural": "structural"}
        names["triviallyEmpty"] = "trivially_empty"
        given |= {f"passed_{new}": kinds[old] for old, new in names.items() if old in kinds}
    measures = part.get("measures")
    if isinstance(measures, Mapping):
        given |= {name: measures[name] for name in _in_order() if name in measures}
    numbers = {name: value for name, value in given.items() if _is_number(value)}
    return numbers or None


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def rank(rows: Sequence[Row]) -> None:
    """Fill in ranks among the rows of one corpus, for each set of rules and each part.

    Equal figures share a rank; what is not ``ranked`` has none.
    """
    for rules in dict.fromkeys(name for row in rows for name in row["scores"]):
        for part in PARTS:
            views = [row["scores"].get(rules, {}).get(part) for row in rows]
            ranked = [view for view in views if view is not None and view["ranked"]]
            keys = [_merit(part, view["summary"]) for view in ranked]
            for view, key in zip(ranked, keys, strict=True):
                view["rank"] = 1 + sum(other > key for other in keys)


def _merit(part: str, summary: Summary) -> tuple[float, ...]:
    """A key that is greater for the better; what does not apply is worst."""
    key = []
    for name in RANKED_BY[part]:
        value = summary.get(name)
        sign = -1 if MEASURES[name].better == "lower" else 1
        key.append(float("-inf") if value is None else sign * value)
    return tuple(key)
