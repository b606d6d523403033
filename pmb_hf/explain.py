"""What one case asks, why, and what came of it: the data behind ``pmb explain``. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .context import Snapshot, budget, open_questions, persona_prelude, pinned_facts
from .diagnose import MISSING_KINDS, Origins, Wrong, diagnose, is_wrong
from .errors import InputError, UnknownNameError
from .expectations import expectation_of_case, expectation_of_turn
from .measured import Record
from .records import Expectation
from .report import Judged
from .schema import RELATION, SESSION_CATEGORY, Belief, Case, Corpus
from .states import Moment, moments, seed

NEEDED, ALLOWED, MISSING = "needed", "not asked for", "missing"
"""Marks of a belief beside the noise kinds; ``not asked for`` is no fault in this case."""

BLANK_QUERY, NO_ROOM, OTHER_TIERS = "blank query", "no room in the budget", "other tiers only"
"""Why a provider has no influence on a case."""

DUPLICATE, PINNED_TIER, OVER_LIMIT, OVER_BUDGET = (
    "duplicate",
    "in the pinned tier",
    "over the limit",
    "over the budget",
)
EXPANDED = "participant"
"""Why a belief that was returned is not in the relevant tier, or the other way round."""

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Subject:
    """A case or a turn, with the beliefs as they are when it is asked.

    Attributes:
        budget: How many pinned and relevant beliefs the context may hold.
        room: How many of them are left beside the pinned facts; 0 or less if none.
        store: The beliefs by id.
        unreachable: Why no provider has an influence on it, or ``None``.
    """

    case_id: str
    turn_index: int | None
    category: str
    label: str
    description: str
    rationale: str
    notes: str
    user_id: str
    scopes: tuple[str, ...]
    query: str
    budget: int
    room: int
    expected: Expectation
    store: Mapping[str, Belief]
    pinned: tuple[str, ...]
    questions: tuple[str, ...]
    prelude: str
    unreachable: str | None

    @property
    def key(self) -> tuple[str, int | None]:
        """``(case_id, turn_index)``."""
        return self.case_id, self.turn_index

    def text(self, belief_id: str) -> str | None:
        """What a belief says at this moment; ``None`` if there is no such belief."""
        belief = self.store.get(belief_id)
        return None if belief is None else belief.content


class Line(NamedTuple):
    """One belief of an answer.

    Attributes:
        mark: ``needed``, ``missing``, ``not asked for``, or one of ``NOISE_KINDS``.
        rank: Its place among the results, from 1 on; ``None`` if it is not known,
            or if the belief was not among them.
        score: The provider's score.
        fate: That relation expansion brought it, why it is missing or not in the
            relevant tier, or which turn it drifted from; else empty.
        added_by: The returned relation as whose participant the harness itself
            added the belief; ``None`` if the provider returned it.
    """

    belief_id: str
    text: str | None
    mark: str
    rank: int | None = None
    score: float | None = None
    fate: str = ""
    added_by: str | None = None

    @property
    def wrong(self) -> bool:
        """Whether it counts as noise."""
        return self.mark not in (NEEDED, ALLOWED, MISSING)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one report says of a case.

    Attributes:
        relevant: The relevant tier in its order.
        missing: Needed beliefs that are not in it.
        dropped: Results that did not reach it; ``None`` if raw results are not known.
        other_failures: Failures that no line of ``relevant`` or ``missing`` shows.
    """

    provider: str
    judged: Judged
    relevant: tuple[Line, ...]
    missing: tuple[Line, ...]
    dropped: tuple[Line, ...] | None
    other_failures: tuple[str, ...]


def subjects(corpus: Corpus) -> Iterator[Subject]:
    """Every case and turn of ``corpus``, in order."""
    store = Snapshot(seed(corpus))
    for case in corpus.cases:
        yield _of_case(case, store)
    for moment in moments(corpus):
        yield _of_turn(moment)


def find(corpus: Corpus, name: str, turn: int | None = None) -> list[Subject]:
    """The case, or all turns of the session, whose id is ``name`` or alone starts with it.

    ``turn`` is the index of one turn of a session.

    Raises:
        UnknownNameError: If no id, or more than one, fits; names those that are near.
        InputError: If the case has no such turn.
    """
    ids = list(dict.fromkeys(s.case_id for s in subjects(corpus)))
    chosen = _resolve(name, ids, corpus.name)
    found = [s for s in subjects(corpus) if s.case_id == chosen]
    if turn is None:
        return found
    there = [s for s in found if s.turn_index == turn]
    if not there:
        turns = ", ".join(str(s.turn_index) for s in found if s.turn_index is not None)
        raise InputError(
            f"case {chosen!r} has the turns {turns}, not {turn}"
            if turns
            else f"case {chosen!r} is a single-turn case: leave out --turn"
        )
    return there


def _resolve(name: str, ids: Sequence[str], corpus_name: str) -> str:
    if name in ids:
        return name
    starts = [case_id for case_id in ids if case_id.startswith(name)]
    if len(starts) == 1:
        return starts[0]
    if starts:
        more = f" and {len(starts) - _SHOWN} more" if len(starts) > _SHOWN else ""
        raise UnknownNameError(
            f"{len(starts)} cases start with {name!r}: {', '.join(starts[:_SHOWN])}{more}"
        )
    near = difflib.get_close_matches(name, ids, n=3, cutoff=0.5)
    near = near or [case_id for case_id in ids if name.casefold() in case_id.casefold()][:3]
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise UnknownNameError(f"corpus {corpus_name!r} has no case {name!r}{hint}")


def _of_case(case: Case, store: Mapping[str, Belief]) -> Subject:
    pinned = pinned_facts(store, case.user_id, case.scope, case.max_beliefs)
    expected = expectation_of_case(case, store)
    most = budget(case.max_beliefs)
    return Subject(
        case_id=case.case_id,
        turn_index=None,
        category=case.category,
        label="",
        description=case.description,
        rationale=case.rationale,
        notes=case.notes,
        user_id=case.user_id,
        scopes=case.scope,
        query=case.query,
        budget=most,
        room=most - len(pinned),
        expected=expected,
        store=store,
        pinned=pinned,
        questions=open_questions(store, case.user_id, case.scope),
        prelude=persona_prelude(store, case.user_id),
        unreachable=unreachable(expected, case.query, most - len(pinned), pinned),
    )


def _of_turn(moment: Moment) -> Subject:
    session, turn, store = moment.session, moment.turn, moment.store
    pinned = pinned_facts(store, session.user_id, turn.scope, None)
    expected = expectation_of_turn(moment)
    most = budget(None)
    return Subject(
        case_id=session.case_id,
        turn_index=turn.turn_index,
        category=SESSION_CATEGORY,
        label=turn.label,
        description=session.description,
        rationale=turn.rationale,
        notes=session.notes,
        user_id=session.user_id,
        scopes=turn.scope,
        query=turn.query,
        budget=most,
        room=most - len(pinned),
        expected=expected,
        store=store,
        pinned=pinned,
        questions=open_questions(store, session.user_id, turn.scope),
        prelude=persona_prelude(store, session.user_id),
        unreachable=unreachable(expected, turn.query, most - len(pinned), pinned),
    )


def unreachable(
    expected: Expectation, query: str, room: int, pinned: Sequence[str] = ()
) -> str | None:
    """Why the harness alone decides a case: ``None`` if the provider has a say.

    It is not asked if the query is blank or there is no room, and it fills only
    the relevant tier: pinned facts, questions and prelude come from the harness.
    """
    if not query.strip():
        return BLANK_QUERY
    if room <= 0:
        return NO_ROOM
    asserts = (
        expected.relevant_only is not None
        or set(expected.relevant_must_include) - set(pinned)
        or expected.relevant_must_exclude
        or expected.relevant_order
        or expected.must_not_surface
    )
    return None if asserts else OTHER_TIERS


def answer(
    subject: Subject, judged: Judged, provider: str, sources: Origins | None = None
) -> Answer:
    """What a report says of ``subject``, belief by belief.

    With ``sources`` (``diagnose.origins``), drift is traced to its turns.
    """
    record, expected = judged.record, subject.expected
    diagnosis = diagnose(judged, sources)
    drifts = {wrong.belief_id: _drift(wrong) for wrong in diagnosis.wrong if wrong.drifts}
    first: dict[str, tuple[int | None, float | None]] = {}
    asked = record.results if record.limit is None else (record.results or ())[: record.limit]
    for place, result in enumerate(asked or (), 1):
        first.setdefault(result.id, (place, result.score))
    relevant = []
    for belief_id in record.relevant:
        rank, score = first.get(belief_id, (None, None))
        told = [drifts[belief_id]] if drifts.get(belief_id) else []
        relation = None
        if rank is None and record.results is not None:
            relation = _relation(subject, belief_id, first)
            told.insert(0, f"{EXPANDED} of {relation or 'a relation'}, added by the harness")
        text, mark = subject.text(belief_id), _mark(expected, belief_id)
        relevant.append(Line(belief_id, text, mark, rank, score, "; ".join(told), relation))
    missing = tuple(
        Line(lost.belief_id, subject.text(lost.belief_id), MISSING, fate=lost.why.replace("_", " "))
        for lost in diagnosis.lost
        if lost.why in MISSING_KINDS
    )
    shown = {line.belief_id for line in relevant if line.wrong} | {m.belief_id for m in missing}
    return Answer(
        provider=provider,
        judged=judged,
        relevant=tuple(relevant),
        missing=missing,
        dropped=None if record.results is None else tuple(_dropped(subject, record)),
        other_failures=tuple(f for f in judged.failures if f.rpartition(": ")[2] not in shown),
    )


def _relation(subject: Subject, belief_id: str, returned: Iterable[str]) -> str | None:
    """The first returned relation that the belief takes part in."""
    for other in returned:
        belief = subject.store.get(other)
        if belief is not None and belief.type == RELATION and belief_id in belief.participants:
            return other
    return None


def _drift(wrong: Wrong) -> str:
    turns = ", ".join(str(source.turn_index) for source in wrong.drift_from)
    return f"from turn {turns}" if turns else ""


def _mark(expected: Expectation, belief_id: str) -> str:
    if belief_id in expected.gold:
        return NEEDED
    return expected.kinds[belief_id] if is_wrong(expected, belief_id) else ALLOWED


def _dropped(subject: Subject, record: Record) -> Iterator[Line]:
    seen: set[str] = set()
    for rank, result in enumerate(record.results or (), 1):
        again, kept = result.id in seen, result.id in record.relevant
        seen.add(result.id)
        if kept and not again:
            continue
        if record.limit is not None and rank > record.limit:
            fate = OVER_LIMIT
        elif again:
            fate = DUPLICATE
        else:
            fate = PINNED_TIER if result.id in (record.pinned or ()) else OVER_BUDGET
        text, mark = subject.text(result.id), _mark(subject.expected, result.id)
        yield Line(result.id, text, mark, rank, result.score, fate)
