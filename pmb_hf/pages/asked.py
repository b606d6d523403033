"""What a case or turn asks, what it expects, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..explain import Subject
from ..records import PASS_KINDS
from ..schema import Tier
from ..tables.cells import NONE
from ..tables.text import count_of
from .markup import Markup, join, name, tag, text


def asked(subject: Subject) -> Markup:
    """Query, scopes, what is expected, and why."""
    scopes = ", ".join(subject.scopes) or "no scope"
    rows: list[tuple[str, str]] = []
    if subject.description and subject.turn_index is None:
        rows.append(("about", subject.description))
    rows.append(("query", subject.query if subject.query.strip() else tag("em", "blank")))
    rows.append(("asked by", join([name(subject.user_id), " in ", name(scopes)])))
    rows.append(("budget", _budget(subject)))
    rows += _expected(subject)
    if subject.rationale:
        rows.append(("why", subject.rationale))
    if subject.notes:
        rows.append(("notes", subject.notes))
    rows.append(("kind", _kind(subject)))
    return pairs(rows)


def pairs(rows: Iterable[tuple[str, str]]) -> Markup:
    """Labels with what they stand for."""
    made = [join([tag("dt", label), tag("dd", value)]) for label, value in rows]
    return tag("dl", join(made), class_="asked")


def _budget(subject: Subject) -> str:
    shown = count_of(subject.budget, "belief")
    if subject.pinned:
        pinned = count_of(len(subject.pinned), "pinned fact")
        shown += f", {max(subject.room, 0)} of them beside {pinned}"
    return shown


def _kind(subject: Subject) -> str:
    kind = subject.expected.pass_kind
    shown = kind.replace("_", " ") if kind in PASS_KINDS else NONE
    if subject.unreachable is not None:
        shown += f"; no provider has an influence on it ({subject.unreachable})"
    return shown


def _expected(subject: Subject) -> Iterator[tuple[str, str]]:
    wanted = subject.expected
    tiers = (
        (
            "",
            Tier(
                wanted.relevant_must_include,
                wanted.relevant_must_exclude,
                wanted.relevant_only,
                wanted.relevant_order,
            ),
        ),
        (
            "pinned ",
            Tier(wanted.pinned_must_include, wanted.pinned_must_exclude, None, wanted.pinned_order),
        ),
        (
            "questions ",
            Tier(
                wanted.questions_must_include, wanted.questions_must_exclude, wanted.questions_only
            ),
        ),
    )
    for label, tier in tiers:
        yield from _tier(subject, label, tier)
    if wanted.must_not_surface:
        yield "as noise", named(subject, wanted.must_not_surface)
    prelude = [
        *(["is not empty"] if wanted.prelude_non_empty else []),
        *(["is empty"] if wanted.prelude_is_null else []),
        *(f"contains “{part}”" for part in wanted.prelude_contains),
        *(f"does not contain “{part}”" for part in wanted.prelude_must_not_contain),
    ]
    if prelude:
        yield "prelude", "; ".join(prelude)


def _tier(subject: Subject, label: str, tier: Tier) -> Iterator[tuple[str, str]]:
    if tier.only is not None:
        shown = named(subject, tier.only) if tier.only else tag("em", "nothing")
        yield f"{label}exactly", shown
    if tier.must_include:
        yield f"{label}must hold", named(subject, tier.must_include)
    if tier.must_exclude:
        yield f"{label}must lack", named(subject, tier.must_exclude)
    if tier.ordered_before:
        order = "; ".join(f"{first} before {second}" for first, second in tier.ordered_before)
        yield f"{label}in order", order


def named(subject: Subject, ids: Iterable[str]) -> Markup:
    """Beliefs with what they say at that moment."""
    items = [
        tag("li", belief(belief_id), " ", wording(subject.text(belief_id)))
        for belief_id in dict.fromkeys(ids)
    ]
    return tag("ul", join(items), class_="beliefs")


def belief(belief_id: str) -> Markup:
    """The id of a belief."""
    return tag("code", name(belief_id))


def wording(says: str | None) -> Markup:
    """What a belief says; ``None`` if the corpus does not hold it."""
    if says is None:
        return tag("em", "not in the corpus")
    return tag("span", text(says), class_="text", dir="auto")
