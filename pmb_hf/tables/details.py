"""Single cases: why they failed, and what was asked, wanted and returned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..explain import ALLOWED, MISSING, NEEDED, Answer, Line, Subject
from ..records import OK, PASS_KINDS
from ..schema import Tier
from .cells import NONE
from .layout import BAD, BOLD, DIM, GOOD, WARN, add_number, add_text, pairs, plain, short, table
from .text import clean, count_of

_FAILURE_LINES = 6
_ID_LENGTH, _MIN_TEXT = 28, 20
"""How wide a column of ids may be, which are folded, and how narrow one of texts."""
_PRELUDE_LENGTH = 400


def failure(subject: Subject, answer: Answer) -> RenderableType:
    """Why one case failed, with the texts of the beliefs at fault."""
    head = Text(clean(_title(subject)), style=BOLD)
    head.append(f"  {clean(subject.category)}", style=DIM)
    lines = [*answer.missing, *(line for line in answer.relevant if line.wrong)]
    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True)
    rows.add_column(max_width=_ID_LENGTH, overflow="fold")
    rows.add_column(ratio=1)
    for line in lines[:_FAILURE_LINES]:
        rows.add_row(_mark(line), plain(line.belief_id), _short_text(line))
    more = len(lines) - _FAILURE_LINES
    parts: list[RenderableType] = [
        head,
        plain(subject.query) if subject.query.strip() else _blank(),
    ]
    parts += [rows] if lines else []
    parts += [Text(f"… and {more} more", style=DIM)] if more > 0 else []
    parts += [plain(text, BAD) for text in answer.other_failures]
    return Group(*parts)


def subject_block(subject: Subject) -> RenderableType:
    """What a case asks, what it wants, and why."""
    title = Text(clean(_title(subject)), style=BOLD)
    title.append(f"  {clean(subject.category)}", style=DIM)
    rows: list[tuple[str, RenderableType]] = []
    if subject.label:
        rows.append(("turn", plain(subject.label)))
    if subject.description:
        rows.append(("about", plain(subject.description)))
    rows.append(("query", plain(subject.query) if subject.query.strip() else _blank()))
    asker = f"{subject.user_id} in {', '.join(subject.scopes) or 'no scope'}"
    rows.append(("asked by", plain(asker)))
    rows.append(("budget", Text(_budget(subject))))
    rows += _wanted(subject)
    if subject.rationale:
        rows.append(("why", plain(subject.rationale)))
    if subject.notes:
        rows.append(("notes", plain(subject.notes)))
    rows.append(("kind", _kind(subject)))
    return Group(title, pairs(rows))


def answer_block(subject: Subject, answer: Answer) -> RenderableType:
    """What one report says of a case, belief by belief."""
    score, record = answer.judged.score, answer.judged.record
    head = Text(clean(answer.provider, 40), style=BOLD)
    verdict = ("passed", GOOD) if score.passed else ("failed", BAD)
    head.append(" ").append(*verdict)
    if record.status != OK:
        head.append(f" ({clean(record.status, 20)})", style=BAD)
    parts: list[RenderableType] = [head]
    lines = (*answer.relevant, *answer.missing)
    if lines:
        parts.append(_lines(lines))
    elif record.status == OK:
        parts.append(
            Text("Nothing was returned." if answer.dropped != () else _untold(record.limit))
        )
    rows = list(_tiers(subject, answer))
    rows += [("failure", plain(text, BAD)) for text in answer.other_failures]
    if rows:
        parts.append(pairs(rows))
    return Group(*parts)


def _untold(limit: int | None) -> str:
    return "The provider was not asked." if limit is None else "Nothing was returned."


def _title(subject: Subject) -> str:
    turn = "" if subject.turn_index is None else f" turn {subject.turn_index}"
    return subject.case_id + turn


def _blank() -> Text:
    return Text("(blank)", style=DIM)


def _text(text: str | None) -> Text:
    return Text("not in the corpus", style=DIM) if text is None else plain(text, DIM)


def _cut(text: str | None) -> Text:
    return short("not in the corpus" if text is None else text, DIM)


def _short_text(line: Line) -> Text:
    """What a belief says; of one that the provider did not return, who brought it."""
    if line.added_by is None:
        return _cut(line.text)
    return _cut(f"({line.fate}) {line.text or ''}")


def _mark(line: Line) -> Text:
    style = GOOD if line.mark == NEEDED else "" if line.mark == ALLOWED else BAD
    return Text(line.mark.replace("_", " "), style=WARN if line.mark == MISSING else style)


def _budget(subject: Subject) -> str:
    text = count_of(subject.budget, "belief")
    if subject.pinned:
        pinned = count_of(len(subject.pinned), "pinned fact")
        text += f", {max(subject.room, 0)} of them beside {pinned}"
    return text


def _kind(subject: Subject) -> Text:
    kind = subject.expected.pass_kind
    text = Text(kind.replace("_", " ") if kind in PASS_KINDS else NONE)
    if subject.unreachable is not None:
        text.append(f"; no provider has an influence on it ({subject.unreachable})", style=WARN)
    return text


def _wanted(subject: Subject) -> Iterator[tuple[str, RenderableType]]:
    expected = subject.expected
    relevant = Tier(
        expected.relevant_must_include,
        expected.relevant_must_exclude,
        expected.relevant_only,
        expected.relevant_order,
    )
    pinned = Tier(
        expected.pinned_must_include, expected.pinned_must_exclude, None, expected.pinned_order
    )
    questions = Tier(
        expected.questions_must_include, expected.questions_must_exclude, expected.questions_only
    )
    yield from _tier(subject, "", relevant)
    yield from _tier(subject, "pinned ", pinned)
    yield from _tier(subject, "questions ", questions)
    if expected.must_not_surface:
        yield "as noise", _named(subject, expected.must_not_surface)
    prelude = [
        *(["is not empty"] if expected.prelude_non_empty else []),
        *(["is empty"] if expected.prelude_is_null else []),
        *(f"contains “{part}”" for part in expected.prelude_contains),
        *(f"does not contain “{part}”" for part in expected.prelude_must_not_contain),
    ]
    if prelude:
        yield "prelude", plain("; ".join(prelude))


def _tier(subject: Subject, name: str, tier: Tier) -> Iterator[tuple[str, RenderableType]]:
    if tier.only is not None:
        yield f"{name}exactly", _named(subject, tier.only) if tier.only else Text("nothing")
    if tier.must_include:
        yield f"{name}must hold", _named(subject, tier.must_include)
    if tier.must_exclude:
        yield f"{name}must lack", _named(subject, tier.must_exclude)
    if tier.ordered_before:
        order = "; ".join(f"{first} before {second}" for first, second in tier.ordered_before)
        yield f"{name}in order", plain(order)


def _named(subject: Subject, ids: Iterable[str]) -> RenderableType:
    lines = []
    for belief_id in dict.fromkeys(ids):
        line = plain(belief_id)
        text = subject.text(belief_id)
        line.append("  ").append_text(_text(text))
        lines.append(line)
    return Group(*lines)


def _lines(lines: Sequence[Line]) -> Table:
    made = table("")
    made.columns[0].justify = "right"
    for name in ("belief", "mark"):
        add_text(made, name)
        made.columns[-1].max_width = _ID_LENGTH
    scored = any(line.score is not None for line in lines)
    if scored:
        add_number(made, "score")
    add_text(made, "text")
    made.columns[-1].min_width = _MIN_TEXT
    for place, line in enumerate(lines, 1):
        number = Text(str(place) if line.mark != MISSING else "", style=DIM)
        mark = _mark(line)
        if line.fate:
            mark.append(f" ({line.fate})", style=DIM)
        score = [Text(NONE if line.score is None else f"{line.score:#.3g}", style=DIM)]
        belief = plain(line.belief_id)
        made.add_row(number, belief, mark, *(score * scored), _text(line.text))
    return made


def _tiers(subject: Subject, answer: Answer) -> Iterator[tuple[str, RenderableType]]:
    record = answer.judged.record
    if answer.dropped is None and record.status == OK:
        yield "dropped", Text("not known: the file holds no raw results", style=DIM)
    elif answer.dropped:
        yield (
            "dropped",
            Group(*(plain(f"{d.rank}  {d.belief_id}  {d.fate}", DIM) for d in answer.dropped)),
        )
    for label, ids in (("pinned", record.pinned), ("questions", record.questions)):
        if ids is None:
            yield label, Text("not known", style=DIM)
        elif ids:
            yield label, _named(subject, ids)
    if record.prelude:
        yield "prelude", plain(record.prelude, DIM, _PRELUDE_LENGTH)
