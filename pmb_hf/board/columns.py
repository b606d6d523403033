"""Columns of the leaderboard: which there are, what a view shows, and how cells look."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..measures import COUNT_OF, MEASURES, Measure
from ..summary import round_half_up
from ..tables.cells import NONE, count, milliseconds

Row = Mapping[str, Any]
"""A row of the board, as :mod:`.model` makes it."""

RANK = "rank"
"""The key of a row's rank among a part's summary."""

DEFAULT_ORDER = "retrieval.rank"

COMPACT, FULL = VIEWS = ("compact", "full")
_LATENCIES = ("p50_latency_ms", "p95_latency_ms", "mean_latency_ms")
_COUNTS = ("passed_active", "passed_structural", "passed_trivially_empty", "errors", "leaks")
_SHORT = {
    "mean_first_relevant_rank": "first rank",
    "p50_latency_ms": "p50 ms",
    "p95_latency_ms": "p95 ms",
    "mean_latency_ms": "mean ms",
    "passed_trivially_empty": "passed, empty",
}


NOTE = (
    "Rates are 0 to 1; a dash means that a measure does not apply; n is the number of cases behind "
    "the mean to its left; hover over any other mean to read its n. ↓ marks where lower is better. "
    "Grey rows are controls or can't be compared: choose a row to read why. Controls are floor and "
    "ceiling: what returning nothing, everything, or exactly the right beliefs would give."
)
"""What stands below the table."""


class Column(NamedTuple):
    """One column; ``key`` is the summary's key, ``id`` names part and key.

    ``what`` is ``text``, ``value`` (a measure) or ``n`` (how many cases it is over).
    """

    id: str
    label: str
    what: str
    part: str | None = None
    key: str = ""
    unit: str = ""
    better: str = "none"
    compact: bool = False

    def value(self, row: Row) -> str | float | int | None:
        """What the cell holds: a text, or a number to sort by; ``None`` if it does not apply."""
        if self.part is None:
            return str(row[self.key])
        summary = row["parts"].get(self.part)
        found = None if summary is None else summary.get(self.key)
        return None if found is None else _rounded(found, self.unit)

    def shown(self, row: Row) -> str:
        """The cell's text: two digits for rates and ranks, a dash where there is none."""
        if self.part is None:
            return str(row[self.key])
        value = self.value(row)
        if value is None or isinstance(value, str):
            return NONE
        if self.key == "passed":
            return f"{count(value)} of {count(row['parts'][self.part].get('cases'))}"
        if self.unit == "ms":
            return milliseconds(value)
        return count(value) if self.unit == "count" else f"{value:.2f}"

    @property
    def head(self) -> str:
        """What stands above the column; the n of a mean stands to the right of it."""
        return "n" if self.what == "n" else self.label

    @property
    def width(self) -> int:
        """How wide it is, in pixels."""
        widths = {"name": 190, "marks": 172, "source": 170, "version": 110, "date": 110}
        if self.key == RANK:
            return 64 if self.part == "retrieval" else 124
        if self.id in widths:
            return widths[self.id]
        return 56 if self.what == "n" else max(84, 8 * len(self.head) + 28)

    @property
    def n_id(self) -> str | None:
        """The id of the column that tells how many cases this mean is over; ``None`` if none."""
        found = f"{self.part}.{COUNT_OF.get(self.key)}"
        return found if self.what == "value" and found in COLUMNS else None

    @property
    def numeric(self) -> bool:
        """Whether it is aligned and sorted as a number."""
        return self.part is not None


def _rounded(value: float, unit: str) -> float:
    return value if unit == "count" else round_half_up(value, 2)


def _columns() -> dict[str, Column]:
    made = [
        Column("name", "System", "text", key="name", compact=True),
    ]
    for part, prefix in (("retrieval", ""), ("session", "session ")):
        rank = Column(f"{part}.rank", f"{prefix}rank".capitalize(), "value", part, RANK, "count")
        made.append(rank._replace(better="lower", compact=part == "retrieval"))
        made += _of_part(part, prefix)
    made += [
        Column("marks", "Marks", "text", key="marks_text", compact=True),
        Column("source", "Measured by", "text", key="source"),
        Column("version", "Version", "text", key="version"),
        Column("date", "Date", "text", key="date"),
    ]
    return {column.id: column for column in made}


def _of_part(part: str, prefix: str) -> Iterable[Column]:
    compact = {
        "retrieval": {
            *("passed", "mean_precision", "n_precision", "mean_recall"),
            *("abstention_rate", "p50_latency_ms"),
        },
        "session": {"passed", "mean_drift"},
    }[part]
    names = [m for m in MEASURES.values() if _is_shown(m, part)]
    for measure in names:
        head = prefix + _SHORT.get(measure.name, measure.label)
        head = head[0].upper() + head[1:] + (" ↓" if measure.better == "lower" else "")
        yield Column(
            f"{part}.{measure.name}",
            head,
            "value",
            part,
            measure.name,
            measure.unit,
            measure.better,
            measure.name in compact,
        )
        n = COUNT_OF.get(measure.name)
        if n and n != "cases" and not (measure.unit == "ms" and measure.name != "p50_latency_ms"):
            label = f"n {prefix}{_SHORT.get(measure.name, measure.label)}"
            yield Column(f"{part}.{n}", label, "n", part, n, "count", "none", n in compact)


def _is_shown(measure: Measure, part: str) -> bool:
    if measure.name in {"pass_rate", "latency_ratio"}:
        return False
    if measure.name in {"mean_drift", "mutability_rate"}:
        return part == "session"
    if measure.name in {"mean_pinned_coverage", "mean_question_precision", "mean_question_recall"}:
        return part == "retrieval"
    return (
        measure.name == "passed"
        or measure.name in _COUNTS
        or measure.name in _LATENCIES
        or measure.unit in {"rate", "rank"}
    )


COLUMNS = _columns()
"""All columns by id, in the order in which tables show them."""


def choose(view: str, ids: Sequence[str] = ()) -> list[Column]:
    """The columns of a view, or those of ``ids``; the system always comes first."""
    known = [COLUMNS[name] for name in ids if name in COLUMNS]
    if not known:
        known = [c for c in COLUMNS.values() if view == FULL or c.compact]
    first = COLUMNS["name"]
    return [first, *(column for column in COLUMNS.values() if column in known and column != first)]


def order(rows: Iterable[Row], by: str = DEFAULT_ORDER, *, down: bool = False) -> list[Row]:
    """Rows from best to worst by a column; what has no value comes last, and then the controls.

    ``down`` turns the column's order round: worst first, and still no value and controls last.
    Equal rows are told apart by their rank, then by what they pass, then stay in order.
    """
    first = COLUMNS.get(by, COLUMNS[DEFAULT_ORDER])
    keys = [COLUMNS[name] for name in (DEFAULT_ORDER, "retrieval.passed", "session.passed")]
    found = sorted(rows, key=lambda row: tuple(_place(key, row) for key in keys))
    found.sort(key=lambda row: _place(first, row)[1:], reverse=down)
    found.sort(key=lambda row: (bool(row["control"]), _place(first, row)[0]))
    return found


def _place(column: Column, row: Row) -> tuple[bool, float, str]:
    value = column.value(row)
    if isinstance(value, str):
        return value in {"", NONE}, 0.0, value.casefold()
    sign = -1 if column.better == "higher" else 1
    return value is None, sign * (value or 0), ""


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
IDENTITY = ("provider", "run", "options")
"""What a CSV says after a row's name, so that runs of one provider are told apart."""


def to_csv(rows: Iterable[Row], columns: Sequence[Column]) -> str:
    """Rows as CSV: full texts, numbers with a point, an empty cell where there is none.

    After the name as it is shown stand provider, run and options (:data:`IDENTITY`).
    A text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    first, *others = columns
    writer.writerow([first.id, *IDENTITY, *(column.id for column in others)])
    for row in rows:
        cells = [first.value(row), *identity(row), *(column.value(row) for column in others)]
        writer.writerow([_csv(value) for value in cells])
    return out.getvalue()


def identity(row: Row) -> list[str]:
    """Provider, run and options of a row, in full."""
    facts = dict(row["facts"])
    return [str(row["full"]), str(facts.get("run", "")), str(facts.get("options", ""))]


def _csv(value: str | float | None) -> str | float:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return "" if value is None else value
