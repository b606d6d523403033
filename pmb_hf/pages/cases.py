"""Every case and turn to open: what was asked and expected, and what each report answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ..diagnose import Diagnosis, Source
from ..explain import ALLOWED, MISSING, NEEDED, Answer, Line, Subject, answer
from ..records import BELOW_RANK, OK
from ..tables.cells import milliseconds
from ..tables.text import count_of
from .asked import asked, belief, named, pairs, wording
from .data import Group, Panel
from .figures import LOST_TEXTS, noise_label
from .markup import Markup, join, lines, name, tag

_GOOD, _BAD, _OTHER = "good", "bad", "other"


class _Verdict(NamedTuple):
    passed: int
    total: int
    failed_by: tuple[int, ...]


def cases(group: Group) -> Markup:
    """The filter and all cases; turns stand under their session."""
    singles = [s for s in group.subjects if s.turn_index is None]
    turns = [s for s in group.subjects if s.turn_index is not None]
    numbers = {subject.key: place for place, subject in enumerate(group.subjects)}
    content = [_case(group, subject, numbers[subject.key]) for subject in singles]
    blocks = [_filter(group)]
    blocks += [tag("h3", "Single turn"), join(content)] if content else []
    blocks.append(tag("h3", "Sessions, turn by turn"))
    if not turns:
        blocks.append(tag("p", "No session was run.", class_="note"))
    for case_id, rows in groupby(turns, key=lambda subject: subject.case_id):
        found = list(rows)
        made = [_case(group, subject, numbers[subject.key]) for subject in found]
        about = tag("p", found[0].description, class_="note") if found[0].description else None
        blocks.append(tag("section", tag("h4", name(case_id)), about, join(made), class_="session"))
    return tag("div", join(blocks), class_="cases")


def _filter(group: Group) -> Markup:
    base = f"g{group.number}"
    categories = list(dict.fromkeys(subject.category for subject in group.subjects))
    options = [tag("option", "all categories", value="")]
    options += [tag("option", c or "(none)", value=f"c{n}") for n, c in enumerate(categories)]
    fields = [
        tag(
            "label",
            tag("span", "Text"),
            tag("input", type="search", name="text", autocomplete="off", placeholder="id, query…"),
        ),
        tag(
            "label",
            tag("span", "Category"),
            tag("select", join(options), name="category"),
        ),
    ]
    if len(group.panels) > 1:
        reports = [tag("option", "any report", value="")]
        reports += [tag("option", p.label, value=str(n)) for n, p in enumerate(group.panels)]
        fields.append(
            tag("label", tag("span", "Report"), tag("select", join(reports), name="report"))
        )
    fields.append(
        tag(
            "label",
            tag("input", type="checkbox", name="failed"),
            tag("span", "only failed"),
            class_="check",
        )
    )
    buttons = [
        tag("button", "Open all", type="button", data_open="1"),
        tag("button", "Close all", type="button", data_open="0"),
    ]
    return tag(
        "form",
        join(fields),
        tag("span", join(buttons), class_="buttons"),
        tag("output", count_of(len(group.subjects), "case"), aria_live="polite"),
        class_="filter",
        id=f"{base}-filter",
        role="search",
        aria_label="Filter cases",
        hidden=True,
    )


def _case(group: Group, subject: Subject, number: int) -> Markup:
    found = [(n, panel) for n, panel in enumerate(group.panels) if subject.key in panel.judged]
    failed = tuple(n for n, panel in found if not panel.judged[subject.key].score.passed)
    verdict = _Verdict(len(found) - len(failed), len(found), failed)
    categories = list(dict.fromkeys(s.category for s in group.subjects))
    query = name(subject.query) if subject.query.strip() else tag("em", "blank query")
    title = subject.case_id
    if subject.turn_index is not None:
        title = f"turn {subject.turn_index}" + (f": {subject.label}" if subject.label else "")
    summary = tag(
        "summary",
        _badge(verdict),
        tag("span", name(title), class_="id"),
        tag("span", query, class_="query"),
        None
        if subject.turn_index is not None
        else tag("span", subject.category, class_="category"),
    )
    answers = [_answer(subject, panel) for _, panel in found]
    return tag(
        "details",
        summary,
        tag("div", asked(subject), join(answers), class_="body"),
        class_="case",
        id=f"g{group.number}-case-{number}",
        data_category=f"c{categories.index(subject.category)}",
        data_failed=" ".join(map(str, failed)),
        data_reports=" ".join(str(n) for n, _ in found),
    )


def _badge(verdict: _Verdict) -> Markup:
    if verdict.total == 1:
        return _mark(passed=not verdict.failed_by)
    every = not verdict.failed_by
    kind = _GOOD if every else _BAD if not verdict.passed else _OTHER
    shown = f"{verdict.passed}/{verdict.total} passed"
    return tag("span", shown, class_=f"badge {kind}")


def _mark(*, passed: bool) -> Markup:
    shown = "✓ passed" if passed else "✗ failed"
    return tag("span", shown, class_=f"badge {_GOOD if passed else _BAD}")


def _answer(subject: Subject, panel: Panel) -> Markup:
    judged = panel.judged[subject.key]
    record = judged.record
    made = answer(subject, judged, panel.report.provider)
    diagnosis = panel.diagnoses[subject.key]
    facts = [] if record.latency_ms is None else [f"{milliseconds(record.latency_ms)} ms"]
    facts += [f"limit {record.limit}"] if record.limit is not None else []
    head = tag(
        "h5",
        name(panel.label),
        " ",
        _mark(passed=judged.score.passed),
        tag("small", " · ".join(facts)) if facts else None,
    )
    blocks = [head]
    if record.status != OK:
        error = f"No answer ({record.status}): {record.error or 'no reason given'}"
        blocks.append(tag("p", error, class_="failure"))
    blocks.append(_returned(made, diagnosis))
    if made.missing:
        blocks += [tag("h6", "Missing"), _missing(made, diagnosis)]
    blocks += list(_failures(made))
    blocks += list(_others(subject, made))
    return tag("section", join(blocks), class_="answer")


def _returned(made: Answer, diagnosis: Diagnosis) -> Markup:
    record = made.judged.record
    if not made.relevant:
        if record.status != OK:
            return Markup()
        asked = record.limit is not None or record.results is None
        shown = "Nothing was returned." if asked else "The provider was not asked."
        return tag("p", shown, class_="note")
    sources = {wrong.belief_id: wrong.drift_from for wrong in diagnosis.wrong}
    low = {lost.belief_id for lost in diagnosis.lost if lost.why == BELOW_RANK}
    items = []
    for line in made.relevant:
        notes = [line.fate] if line.fate else []
        notes += [_from(sources[line.belief_id])] if sources.get(line.belief_id) else []
        notes += ["below the first R"] if line.belief_id in low else []
        items.append(_line(line, notes))
    return join([tag("h6", "Returned, in order"), tag("ol", join(items), class_="lines")])


def _from(sources: Sequence[Source]) -> str:
    shown = ", ".join(
        f"{source.turn_index} “{source.label}”" if source.label else str(source.turn_index)
        for source in sources
    )
    return f"of turn {shown}"


def _line(line: Line, notes: Sequence[str]) -> Markup:
    kind = {NEEDED: _GOOD, ALLOWED: _OTHER, MISSING: "warn"}.get(line.mark, _BAD)
    shown = line.mark if kind != _BAD else noise_label(line.mark)
    below = list(notes)
    if line.score is not None:
        below.append(f"score {line.score:#.3g}")
    small = tag("small", " · ".join(below)) if below else None
    what = tag("span", belief(line.belief_id), small, class_="what")
    told = tag("span", what, " ", wording(line.text))
    return tag("li", tag("div", tag("span", shown, class_=f"kind {kind}"), " ", told))


def _missing(made: Answer, diagnosis: Diagnosis) -> Markup:
    why = {lost.belief_id: LOST_TEXTS[lost.why] for lost in diagnosis.lost}
    items = [
        _line(line, [why[line.belief_id]] if line.belief_id in why else []) for line in made.missing
    ]
    return tag("ul", join(items), class_="lines")


def _failures(made: Answer) -> Iterator[Markup]:
    """All failures; folded away if the beliefs above tell them already."""
    told = made.judged.failures
    if not told:
        return
    items = tag("ul", join(tag("li", failure) for failure in told), class_="failures")
    if made.other_failures:
        yield join([tag("h6", "Failures"), items])
    else:
        title = tag("summary", count_of(len(told), "failed assertion"))
        yield tag("details", title, items, class_="more")


def _others(subject: Subject, made: Answer) -> Iterator[Markup]:
    record = made.judged.record
    rows: list[tuple[str, str]] = []
    if made.dropped is None and record.status == OK:
        rows.append(("dropped", tag("em", "not known: the file holds no raw results")))
    elif made.dropped:
        items = [tag("li", belief(d.belief_id), f" rank {d.rank}, {d.fate}") for d in made.dropped]
        rows.append(("dropped", tag("ul", join(items), class_="beliefs")))
    for label, ids in (("pinned", record.pinned), ("questions", record.questions)):
        if ids is None:
            rows.append((label, tag("em", "not known")))
        elif ids:
            rows.append((label, named(subject, ids)))
    if record.prelude:
        rows.append(("prelude", lines(record.prelude)))
    if rows:
        yield tag(
            "details",
            tag("summary", "The rest of the context"),
            pairs(rows),
            class_="more",
        )
