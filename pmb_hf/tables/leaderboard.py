"""A leaderboard in the terminal: one table a corpus, and why rows are not ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from ..leaderboard.facts import CONTROL
from ..leaderboard.marks import RETRIEVAL, SESSION
from ..leaderboard.view import View
from .cells import NONE, count, milliseconds, rate
from .layout import BOLD, DIM, add_number, add_text, plain, remark_list, table, value, with_n
from .remarks import Remark
from .text import clean, count_of

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_NAME, _MIN_NAME, _TEXT = 44, 22, 160
_WIDE_FROM = 104
_NARROW = ("rank", "passed", "active", "precision", "sessions")
_WIDE = ("rank", "passed", "active", "precision", "recall", "p50 ms", "sessions", "drift")
EMPTY = "There are no runs here. `pmb run --provider NAME` makes a report, `pmb export` a board."


def empty_board() -> RenderableType:
    """What is shown where there are no rows."""
    return Text(EMPTY)


def board_table(view: View) -> RenderableType:
    """The rows of one corpus under one set of rules, and the remarks on them."""
    digest = view.corpus.get("sha256")
    head = Text.assemble(
        (clean(str(view.corpus.get("name")), 60), BOLD),
        (f" {digest[:12]}…" if isinstance(digest, str) else "", DIM),
        (f", rules {view.rules}", DIM),
    )
    notes: dict[str, int] = {}
    for row in view.rows:
        for mark in row["figures"]["marks"]:
            notes.setdefault(_told(mark), len(notes) + 1)
    remarks = [Remark(f"{number}  {text}") for text, number in notes.items()]
    if view.broken:
        told = f"{count_of(view.broken, 'row')} of the file can't be read and are left out"
        remarks.append(Remark(told, serious=True))
    return Group(head, Text(""), _Rows(view.rows, notes), Text(""), *remark_list(remarks))


class _Rows:
    """The table; on a narrow terminal latency and drift give way to the names."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], notes: Mapping[str, int]) -> None:
        self._rows, self._notes = rows, notes

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        titles = _WIDE if options.max_width >= _WIDE_FROM else _NARROW
        made = table("System")
        made.columns[0].min_width = _MIN_NAME
        for title in titles:
            add_number(made, title)
        add_text(made, "remarks", keep=True)
        for row in self._rows:
            marks = [self._notes[_told(mark)] for mark in row["figures"]["marks"]]
            cells = _cells(row)
            made.add_row(
                plain(str(row["label"]), DIM if row["source"] == CONTROL else "", _NAME),
                *(cells[title] for title in titles),
                Text(" ".join(map(str, marks)), style=DIM),
            )
        yield made


def _told(mark: Mapping[str, Any]) -> str:
    where = f"{mark['part']}: " if mark["part"] else ""
    return clean(f"{where}{mark['text']}", _TEXT)


def _cells(row: Mapping[str, Any]) -> dict[str, Text]:
    part, session = row["figures"][RETRIEVAL], row["figures"][SESSION]
    summary, turns = _summary(part), _summary(session)
    return {
        "rank": value(count(None if part is None else part["rank"])),
        "passed": value(_passed(part)),
        "active": value(count(summary.get("passed_active"))),
        "precision": with_n(rate(summary.get("mean_precision")), summary.get("n_precision"), 2),
        "recall": with_n(rate(summary.get("mean_recall")), summary.get("n_recall"), 2),
        "p50 ms": value(milliseconds(summary.get("p50_latency_ms"))),
        "sessions": value(_passed(session)),
        "drift": with_n(rate(turns.get("mean_drift")), turns.get("n_drift"), 2),
    }


def _summary(part: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return (part or {}).get("summary") or {}


def _passed(part: Mapping[str, Any] | None) -> str:
    """Passes of all cases; without figures, in brackets, the answers of all cases."""
    if part is None:
        return NONE
    summary = _summary(part)
    if not summary:
        return f"({count(part['answered'])} of {count(part['of'])})"
    return f"{count(summary.get('passed'))}/{count(summary.get('cases'))}"
