"""Tables of a scored data set: each part as a whole, by category, by group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..partial_scores import Scored
from ..summary import Summary
from .cells import count, milliseconds, rate
from .layout import Id, add_number, table, with_n
from .overview import summary_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_MEANS = {
    "precision": ("mean_precision", "n_precision"),
    "recall": ("mean_recall", "n_recall"),
    "drift": ("mean_drift", "n_drift"),
}


def set_tables(scored: Scored) -> list[RenderableType]:
    """All tables of a data set, the summaries of its parts last."""
    made: list[RenderableType] = []
    if scored.groups:
        made += [_rows(part, by_group) for part, by_group in _by_part(scored).items()]
    made.append(_rows("category", scored.by_category))
    made += [summary_table(part, s) for part, s in scored.summaries.items()]
    return made


def _by_part(scored: Scored) -> dict[str, dict[str, Summary]]:
    parts: dict[str, dict[str, Summary]] = {}
    for group, summaries in scored.groups.items():
        for part, summary in summaries.items():
            parts.setdefault(part, {})[group] = summary
    return parts


def _rows(title: str, summaries: Mapping[str, Summary]) -> Table:
    made = table(title)
    for head in ("passed", "of", *_MEANS, "p50 ms"):
        add_number(made, head)
    for name, summary in summaries.items():
        means = [
            with_n(rate(summary[mean]), summary[n], len(f"{summary['cases']:,.0f}"))
            for mean, n in _MEANS.values()
        ]
        made.add_row(
            Id(name),
            count(summary["passed"]),
            count(summary["cases"]),
            *means,
            milliseconds(summary["p50_latency_ms"]),
        )
    return made
