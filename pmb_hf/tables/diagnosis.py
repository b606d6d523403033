"""What is wrong with a report's answers: kinds of noise and of missing beliefs, counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from rich.text import Text

from ..diagnose import Diagnosis, Tally, Wrong, tally, tally_by_category
from .cells import NONE, count
from .layout import BOLD, DIM, add_number, plain, table
from .remarks import Remark
from .text import clean, count_of

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table

_HEAD_WIDTH = 12
_MIN_LABEL, _GAP, _SUM_WIDTH = 22, 2, 6
_HEADS = {
    "pinned": "pinned already",
    "unknown": "unknown id",
    "pinned_tier": "in pinned tier",
    "not_in_tier": "why is not known",
    "error": "no answer",
}


def wrong_table(found: Sequence[Diagnosis]) -> RenderableType | None:
    """Wrong beliefs by category and kind; ``None`` if there are none."""
    return _table("Wrong beliefs", found, lambda counts: counts.wrong)


def lost_table(found: Sequence[Diagnosis]) -> RenderableType | None:
    """Needed beliefs that are missing or too low, by category and reason; ``None`` if none."""
    return _table("Needed, but", found, lambda counts: counts.lost)


def _table(
    title: str, found: Sequence[Diagnosis], pick: Callable[[Tally], Mapping[str, int]]
) -> RenderableType | None:
    total = pick(tally(found))
    kinds = [kind for kind, number in total.items() if number]
    if not kinds:
        return None
    rows = {category: pick(counts) for category, counts in tally_by_category(found).items()}
    return _Kinds(title, {name: row for name, row in rows.items() if any(row.values())}, total)


class _Kinds:
    """A column a kind; where they are too wide for the terminal, tables below each other."""

    def __init__(
        self, title: str, rows: Mapping[str, Mapping[str, int]], total: Mapping[str, int]
    ) -> None:
        self._title, self._rows, self._total = title, rows, total
        self._kinds = [kind for kind, number in total.items() if number]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        parts = self._parts(options.max_width - _MIN_LABEL)
        for number, kinds in enumerate(parts):
            if number:
                yield Text()
            title = f"{self._title}, more kinds" if number else self._title
            yield self._table(title, kinds, last=number == len(parts) - 1)

    def _parts(self, room: int) -> list[list[str]]:
        """The kinds that have room beside each other, the sums with the last of them."""
        parts: list[list[str]] = [[]]
        left = room
        for place, kind in enumerate(self._kinds):
            width = max(map(len, (*_head(kind).split("\n"), count(self._total[kind])))) + _GAP
            sums = _SUM_WIDTH + _GAP if place == len(self._kinds) - 1 else 0
            if parts[-1] and width + sums > left:
                parts.append([])
                left = room
            parts[-1].append(kind)
            left -= width
        return parts

    def _table(self, title: str, kinds: Sequence[str], *, last: bool) -> Table:
        made = table(title)
        for kind in kinds:
            add_number(made, _head(kind))
        if last:
            add_number(made, "in all")
        for category, row in self._rows.items():
            if last or any(row[kind] for kind in kinds):
                made.add_row(plain(category or NONE), *_cells(row, kinds, last=last))
        made.add_row(Text("in all", style=BOLD), *_cells(self._total, kinds, BOLD, last=last))
        return made


def _head(kind: str) -> str:
    return fill(head(kind), _HEAD_WIDTH)


def head(kind: str) -> str:
    """A kind of noise or a reason in words."""
    return _HEADS.get(kind, kind.replace("_", " "))


def _cells(
    row: Mapping[str, int], kinds: Sequence[str], style: str = "", *, last: bool
) -> list[Text]:
    numbers = [*(row[kind] for kind in kinds), *([sum(row.values())] if last else [])]
    return [Text(count(n), style=style) if n else Text(NONE, style=DIM) for n in numbers]


def drift_table(found: Sequence[Diagnosis]) -> Table | None:
    """Drifted beliefs by the earlier turn that they belong to; ``None`` if there are none."""
    counts = tally(found).drift_from
    if not counts:
        return None
    labels = {
        (row.case_id, source.turn_index): source.label
        for row in found
        for wrong in row.wrong
        for source in wrong.drift_from
    }
    made = table("Drift from turn")
    add_number(made, "returned later")
    last = None
    for (case_id, turn), number in counts.items():
        if case_id != last:
            made.add_row(plain(case_id, DIM))
            last = case_id
        made.add_row(plain(f"{turn:>3} {labels[case_id, turn]}", limit=48), count(number))
    return made


def drift_note(wrong: Wrong) -> str:
    """Where a drifted belief comes from, in words; empty if it does not drift.

    >>> drift_note(Wrong("b", "unrelated"))
    ''
    """
    if not wrong.drifts:
        return ""
    turns = [f"{s.turn_index} ({clean(s.label, 24)})" for s in wrong.drift_from]
    if not turns:
        return "drift"
    return f"drift of turn{'s' if len(turns) > 1 else ''} {', '.join(turns)}"


def diagnosis_remarks(found: Sequence[Diagnosis]) -> list[Remark]:
    """What the counts do not tell, as sentences."""
    counts = tally(found)
    remarks = []
    kept = {kind: number for kind, number in counts.kept_out.items() if number}
    if kept:
        kinds = ", ".join(f"{number:,} {head(kind)}" for kind, number in kept.items())
        number = count_of(sum(kept.values()), "wrong result")
        remarks.append(
            Remark(
                f"{number} did not reach the relevant tier (over the limit or budget, or shown "
                f"among the pinned facts): {kinds}."
            )
        )
    unknown = counts.cases - counts.results_known - counts.lost["error"]
    if counts.lost["not_in_tier"] and unknown > 0:
        remarks.append(
            Remark(
                "Why a belief is missing is not known where the file holds no raw results: "
                "it may not have been returned, or cut off."
            )
        )
    return remarks
