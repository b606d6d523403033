"""What a run comes to under a set of rules: summaries with their n, or why there are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..measured import Record
from ..measures import MEASURES
from ..report import Evaluation, Judged, Report
from ..summary import Summary, summarize, summarize_by_category
from .facts import Row
from .marks import PARTS, RETRIEVAL, SESSION, Mark, marks, missing
from .stated import check_sizes, names_in_order, stated_numbers
from .traits import repeats, setting_of

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


def figures(
    report: Report, rules: str, evaluation: Evaluation | None, more: Sequence[Mark] = ()
) -> Row:
    """The figures under ``rules``: marks, both parts, and the latency ratio.

    ``evaluation`` is the report judged under ``rules``; without it the figures are those
    that the report states. ``more`` are marks beside those that the report itself calls for.

    Raises:
        ReportError: If a figure that it states can't be; names it.
    """
    if evaluation is None:
        check_sizes(report)
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
        "summary": {name: summary.get(name) for name in names_in_order() if name in summary},
        "categories": None,
    }


def _stated(name: str, report: Report, found: Sequence[Mark]) -> Row | None:
    """A part as a report states it: known names with numbers, nothing else."""
    records = report.turns if name == SESSION else report.cases
    if not records:
        return None
    part = _frame(records, missing(report, None, name))
    if not _is_hidden(name, found):
        part["summary"] = stated_numbers(name, report.stated.get(name))
    return part


def note_repeats(rows: Sequence[Row]) -> None:
    """Say of each run of a setting that there are others."""
    for runs in repeats(rows):
        for row in runs if len(runs) > 1 else ():
            mark = Mark("note", f"one of {len(runs)} runs of this setting", blocks=False)
            for figures in row["scores"].values():
                figures["marks"].append(mark.to_wire())


def rank(rows: Sequence[Row]) -> None:
    """Fill in ranks among the rows of one corpus, for each set of rules and each part.

    Equal figures share a rank; what is not ``ranked`` has none. However often a setting was
    run, it is one system that others stand below, and none that its own runs stand below.
    """
    for rules in dict.fromkeys(name for row in rows for name in row["scores"]):
        for part in PARTS:
            views = [(row["scores"].get(rules, {}).get(part), setting_of(row)) for row in rows]
            ranked = [
                (view, _merit(part, view["summary"]), setting)
                for view, setting in views
                if view is not None and view["ranked"]
            ]
            for view, merit, setting in ranked:
                above = {of for _, other, of in ranked if other > merit and of != setting}
                view["rank"] = 1 + len(above)


def _merit(part: str, summary: Summary) -> tuple[float, ...]:
    """A key that is greater for the better; what does not apply is worst."""
    key = []
    for name in RANKED_BY[part]:
        value = summary.get(name)
        sign = -1 if MEASURES[name].better == "lower" else 1
        key.append(float("-inf") if value is None else sign * value)
    return tuple(key)
