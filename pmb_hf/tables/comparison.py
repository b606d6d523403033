"""Reports side by side: pairs case by case, and one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ..compare import TABLE, Changed, Comparison, Difference, PartComparison, Standing
from ..measures import MEASURES
from ..summary import round_half_up
from .cells import NONE, count, rate
from .curve import PART_TITLES
from .layout import BAD, BOLD, DIM, GOOD, WARN, Id, add_number, add_text, plain, table, value
from .remarks import Remark
from .text import clean, count_of, listed

if TYPE_CHECKING:
    from rich.table import Table

_NAME = 24
_SHOWN_IDS = 6
_NAMES = 8


def pair_head(comparison: Comparison) -> Text:
    """Which report is A and which is B."""
    text = Text("A ", style=DIM).append(clean(comparison.a, 60), style=BOLD)
    return text.append("\nB ", style=DIM).append(clean(comparison.b, 60), style=BOLD)


def pair_table(part: PartComparison) -> Table:
    """Each measure of both, the difference with its interval, and the sign test."""
    made = table(PART_TITLES[part.part])
    for head in ("A", "B", "B − A [95 %]", "n", "won/lost/tied", "p (signs)"):
        add_number(made, head)
    for difference in part.differences:
        made.add_row(
            MEASURES[difference.name].label,
            *(value(rate(v)) for v in (difference.a, difference.b)),
            _change(difference),
            Text(count(difference.n), style=DIM),
            _record(difference),
            value(_p(difference)),
        )
    return made


def signed(number: float) -> str:
    """A difference of rates with its sign.

    >>> signed(0.25), signed(-0.5), signed(0)
    ('+0.2500', '−0.5000', '0.0000')
    """
    shown = rate(abs(number))
    if not float(shown):
        return shown
    return ("+" if number > 0 else "−") + shown


def _change(difference: Difference) -> Text:
    text = Text(signed(difference.difference), style=_verdict(difference))
    low, high = map(_end, difference.interval)
    return text.append(f" [{low}, {high}]", style=DIM)


def _record(difference: Difference) -> str:
    return "/".join(count(n) for n in (difference.wins, difference.losses, difference.ties))


def _verdict(difference: Difference) -> str:
    """Coloured only if the interval leaves out 0."""
    if not difference.interval.excludes_zero:
        return BOLD
    better = (difference.difference > 0) == (MEASURES[difference.name].better == "higher")
    return f"{BOLD} {GOOD if better else BAD}"


def _p(difference: Difference) -> str:
    if not difference.wins + difference.losses:
        return NONE
    return "< 0.001" if difference.p < 0.001 else f"{difference.p:.3f}"


def changed_list(cases: Sequence[Changed], most: int | None) -> list[RenderableType]:
    """The cases that changed sides, at most ``most``, with what changed; regressions first."""
    if not cases:
        return [Text("No case changed sides.")]
    head = Text(f"{count_of(len(cases), 'case')} changed sides", style=BOLD)
    if most is not None and most < len(cases):
        head.append(f", the first {most} (--cases all shows them all)", style=DIM)
    made = table("")
    add_text(made, "", keep=True)
    add_text(made, "what changed in the relevant tier")
    for case in sorted(cases, key=lambda case: case.now_passes)[:most]:
        turn = "" if case.key[1] is None else f" turn {case.key[1]}"
        verdict = Text("passes now", GOOD) if case.now_passes else Text("fails now", BAD)
        made.add_row(Id(case.key[0] + turn), verdict, _what(case))
    return [head] if most == 0 else [Group(head, made)]


def _what(case: Changed) -> Text:
    text = Text()
    for sign, moved in (("+", case.gained), ("−", case.lost)):
        for belief, mark in moved[:_SHOWN_IDS]:
            text.append(f"{sign}{clean(belief)} ").append(f"({mark.replace('_', ' ')}) ", style=DIM)
        if len(moved) > _SHOWN_IDS:
            text.append(f"{sign}{len(moved) - _SHOWN_IDS} more ", style=DIM)
    if not case.gained and not case.lost and case.failures:
        text.append(f"the same beliefs; {'failed' if case.now_passes else 'fails'} because: ")
        text.append(clean(case.failures[0], 160), style=DIM)
    return text


def pairs_table(comparisons: Sequence[Comparison], part: str) -> Table | None:
    """One row a report: what it wins and loses against the first; ``None`` if none has ``part``."""
    rows = [(c, p) for c in comparisons for p in c.parts if p.part == part]
    if not rows:
        return None
    made = table(f"{PART_TITLES[part]}, against {_label(rows[0][0].a)}")
    for head in ("won/lost/tied", "pass rate [95 %]", "p (signs)"):
        add_number(made, head)
    for comparison, found in rows:
        passes = found.passes
        made.add_row(
            plain(_label(comparison.b)),
            _record(passes),
            _change(passes),
            value(_p(passes)),
        )
    return made


def standings_table(rows: Sequence[Standing], part: str) -> Table:
    """One row a report, by passes; what can't be compared stands last, under a line of its own."""
    made = table(PART_TITLES[part])
    made.columns[0].no_wrap = True
    shown = [name for name in TABLE if any(name in row.figures for row in rows)]
    same = {name: _same_n(rows, name) for name in shown}
    for name in shown:
        label = "passed" if name == "pass_rate" else MEASURES[name].label
        n = "" if same[name] is None else f" n {same[name]}"
        # These may wrap, between figure and interval: seven of them are wider than most terminals.
        made.add_column(Text(f"{label}{n}\n[95 %]", style=DIM), justify="right")
    apart = False
    for row in rows:
        if not row.comparable and not apart:
            made.add_row(Text("not comparable", style=WARN))
            apart = True
        style = "" if row.comparable else DIM
        title = plain(_label(row.name), style or BOLD)
        if row.marks:
            title.append(" !", style=WARN)
        figures = (_figure(row, name, style, told=same[name] is not None) for name in shown)
        made.add_row(title, *figures)
    return made


def _label(name: str) -> str:
    """A name, cut where it must be, with its number.

    >>> _label("a-provider-with-a-very-long-name #12")
    'a-provider-with-a-v… #12'
    """
    base, mark, number = name.rpartition(" #")
    if not mark or not number.isdecimal():
        return clean(name, _NAME)
    return f"{clean(base, _NAME - len(mark + number))}{mark}{number}"


def _same_n(rows: Sequence[Standing], name: str) -> int | None:
    """Over how many cases a measure is in all rows; ``None`` if that differs."""
    numbers = {row.figures[name].n for row in rows if name in row.figures}
    return numbers.pop() if len(numbers) == 1 else None


def _figure(row: Standing, name: str, style: str, *, told: bool) -> Text:
    figure = row.figures.get(name)
    if figure is None:
        return value(NONE)
    text = count(row.passed) if name == "pass_rate" else rate(figure.value)
    cell = value(text, style)
    low, high = map(_end, figure.interval)
    cell.append(f" [{low}–{high}]", style=DIM)
    if not told:
        cell.append(f" n {figure.n}", style=DIM)
    return cell


def _end(number: float) -> str:
    """The end of an interval, short.

    >>> _end(0.123), _end(1), _end(0), _end(-0.456)
    ('.12', '1.0', '.00', '−.46')
    """
    text = f"{round_half_up(abs(number), 2):.2f}"
    text = text[1:] if text[0] == "0" else text[:3]
    return f"−{text}" if number < 0 and text != ".00" else text


def mark_remarks(
    found: Sequence[Comparison | Standing], not_known: Sequence[str] = ()
) -> list[Remark]:
    """In what the reports differ beside their answers, the incomparable ones first."""
    told: dict[tuple[bool, str, str], list[str]] = {}
    for item in found:
        name, other = (item.name, item.against) if isinstance(item, Standing) else (item.b, item.a)
        for mark in item.marks:
            if mark.fatal or item.comparable:
                names = told.setdefault((not mark.fatal, other, mark.text), [])
                # A report stands in the tables of both parts.
                names += [] if name in names else [name]
    remarks = [
        Remark(f"{listed(names, _NAMES)}, against {_label(other)}: {clean(text)}.", serious=True)
        for (_, other, text), names in sorted(told.items(), key=lambda item: item[0][0])
    ]
    return remarks + [Remark(clean(text)) for text in not_known]
