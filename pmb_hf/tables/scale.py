"""Figures against the size of the store, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..engines.jobs import DONE
from .cells import NONE, count, milliseconds, rate
from .layout import BAD, add_number, plain, table, value
from .remarks import Remark
from .text import count_of

_HEADS = {
    "passed": "passed",
    "mean_precision": "precision",
    "mean_recall": "recall",
    "abstention_rate": "abstention",
    "session_passed": "turns",
    "session_mean_drift": "drift",
}

if TYPE_CHECKING:
    from rich.table import Table

    from ..scale import Point


def quality_table(points: Sequence[Point]) -> Table:
    """What comes back, size by size; each mean with its n, in the head if it is always the same."""
    made = table("Beliefs")
    made.columns[0].justify, made.columns[0].no_wrap = "right", True
    rows = [{**(p.quality or {}), **_session(p.session or {})} for p in points]
    heads = {
        "passed": "cases",
        "mean_precision": "n_precision",
        "mean_recall": "n_recall",
        "abstention_rate": "n_abstention",
        "session_passed": "session_turns",
        "session_mean_drift": "session_n_drift",
    }
    same = {
        name: len({row[n] for row in rows if row.get(n) is not None}) == 1
        for name, n in heads.items()
    }
    for name, n in heads.items():
        total = next((row[n] for row in rows if row.get(n) is not None), None)
        add_number(made, _HEADS[name] + (f"\nn {count(total)}" if same[name] else ""))
    add_number(made, "leaks")
    add_number(made, "")
    for point, row in zip(points, rows, strict=True):
        made.add_row(
            value(count(point.size)),
            *(value(_cell(row, name, n, told=same[name])) for name, n in heads.items()),
            value(count(_sum(row.get("leaks"), row.get("session_leaks")))),
            plain("" if point.status == DONE else point.status, BAD),
        )
    return made


def cost_table(points: Sequence[Point]) -> Table:
    """What it takes, size by size."""
    made = table("Beliefs")
    made.columns[0].justify, made.columns[0].no_wrap = "right", True
    for head in (
        *("written\na second", "write one\np50 ms", "shows\nafter ms", "search\np50 ms"),
        *("search\np95 ms", "memory\nMB", "run\ns"),
    ):
        add_number(made, head)
    for point in points:
        megabytes = None if point.memory_bytes is None else point.memory_bytes / 1e6
        made.add_row(
            value(count(point.size)),
            value(count(point.ingest_per_second)),
            value(milliseconds(point.add_p50_ms)),
            value(milliseconds(point.visible_ms)),
            value(milliseconds(point.search_p50_ms)),
            value(milliseconds(point.search_p95_ms)),
            value(count(megabytes)),
            value(NONE if point.seconds is None else f"{point.seconds:,.1f}"),
        )
    return made


def remarks(points: Sequence[Point]) -> Iterator[Remark]:
    """What must be said beside the tables."""
    for point in points:
        if point.error is not None:
            yield Remark(
                f"{count_of(point.size, 'belief')}: {point.status}: {point.error}", serious=True
            )
    if any(point.memory_bytes is None for point in points if point.report is not None):
        yield Remark("memory is not known where the store is in another process.")


def _session(session: Mapping[str, Any]) -> dict[str, Any]:
    return {f"session_{name}": figure for name, figure in session.items()}


def _cell(row: Mapping[str, Any], name: str, n: str, *, told: bool) -> str:
    figure = row.get(name)
    shown = count(figure) if name.endswith("passed") else rate(figure)
    return shown if told or figure is None else f"{shown} n {count(row.get(n))}"


def _sum(*values: int | None) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None
