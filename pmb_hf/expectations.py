"""What each case of a corpus requires, derived from its beliefs. Pure.

This is where gold, pass kind, noise kinds and drift beliefs come from; the
dataset carries them as columns, so that nobody has to derive them again.
"""

from __future__ import annotations

from collections.abc import Sequence

from .context import Snapshot, Store, in_scope, is_superseded, room
from .records import ACTIVE, OTHER_USER, STRUCTURAL, TRIVIALLY_EMPTY, Expectation, Kinds
from .schema import (
    OPEN_QUESTION,
    SESSION_CATEGORY,
    Belief,
    Case,
    Corpus,
    Expect,
    Turn,
)
from .states import Moment, moments, seed

RetrievalKey = tuple[str, int | None]
"""``(case_id, turn_index)``; the index is ``None`` for single-turn cases."""


def belief_kind(belief: Belief, user_id: str, scopes: Sequence[str]) -> str:
    """What is wrong with returning ``belief`` where it is not needed.

    One of ``records.NOISE_KINDS``; ``unrelated`` are those that a right answer
    can hold.
    """
    if belief.user_id != user_id:
        return OTHER_USER
    if is_superseded(belief):
        return "superseded"
    if belief.resolved_at is not None:
        return "resolved"
    if not in_scope(belief, scopes):
        return "other_scope"
    if belief.type == OPEN_QUESTION:
        return "open_question"
    if belief.pinned:
        return "pinned"
    return "unrelated"


def kinds_for(
    store: Store, user_id: str, scopes: Sequence[str], drift: frozenset[str] = frozenset()
) -> Kinds:
    """The kind of every belief of ``store`` for a query of ``user_id`` in ``scopes``."""
    if not drift and isinstance(store, Snapshot):  # cases differ in few users and scopes
        key = user_id, tuple(scopes)
        if key not in store.kinds:
            store.kinds[key] = kinds_for(dict(store), user_id, scopes)
        return store.kinds[key]
    kinds = Kinds((b.id, belief_kind(b, user_id, scopes)) for b in store.values())
    for belief_id in drift:
        if kinds.get(belief_id) == "unrelated":
            kinds[belief_id] = "drift"
    return kinds


def _pass_kind(expect: Expect, query: str, space: int) -> str:
    if _gold(expect):
        return ACTIVE
    return TRIVIALLY_EMPTY if not query.strip() or space <= 0 else STRUCTURAL


def expectation_of_case(case: Case, store: Store) -> Expectation:
    """What a single-turn case requires of an answer."""
    kinds = kinds_for(store, case.user_id, case.scope)
    space = room(store, case.user_id, case.scope, case.max_beliefs)
    return _expectation(
        case.expect,
        case_id=case.case_id,
        category=case.category,
        kinds=kinds,
        pass_kind=_pass_kind(case.expect, case.query, space),
    )


def drift_beliefs(turn: Turn, earlier: Sequence[Turn]) -> frozenset[str]:
    """Beliefs whose return at ``turn`` is drift.

    They belong to an ``earlier`` turn of the same session that shares no topic
    with this one (they are its gold, or were created at it), or this turn names
    them as noise. What the turn itself requires never drifts.
    """
    drift = set(turn.expect.must_not_surface)
    for other in of_other_topics(turn, earlier):
        drift.update(belonging(other))
    return frozenset(drift - _gold(turn.expect))


def of_other_topics(turn: Turn, earlier: Sequence[Turn]) -> list[Turn]:
    """The ``earlier`` turns that share no topic with ``turn``."""
    return [other for other in earlier if set(other.topics).isdisjoint(turn.topics)]


def belonging(turn: Turn) -> set[str]:
    """The beliefs that belong to a turn: its gold, and what was created at it."""
    created = {change.create.id for change in turn.changes if change.create is not None}
    return _gold(turn.expect) | created


def _gold(expect: Expect) -> set[str]:
    return {*expect.relevant.must_include, *(expect.relevant.only or ())}


def expectation_of_turn(moment: Moment) -> Expectation:
    """What a session turn requires of an answer."""
    session, turn = moment.session, moment.turn
    drift = drift_beliefs(turn, moment.earlier)
    kinds = kinds_for(moment.store, session.user_id, turn.scope, drift)
    space = room(moment.store, session.user_id, turn.scope, None)
    gold = _gold(turn.expect)
    updates = [change for change in moment.changes if change.belief_id is not None]
    changed = {change.superseded_by or change.belief_id or "" for change in updates}
    retired = {c.belief_id or "" for c in updates if c.superseded_by in gold}
    return _expectation(
        turn.expect,
        case_id=session.case_id,
        category=SESSION_CATEGORY,
        turn_index=turn.turn_index,
        kinds=kinds,
        pass_kind=_pass_kind(turn.expect, turn.query, space),
        drift=drift,
        changed=tuple(sorted(changed & gold)),
        retired=tuple(sorted(retired)),
    )


def _expectation(
    expect: Expect,
    *,
    case_id: str,
    category: str,
    kinds: Kinds,
    pass_kind: str,
    turn_index: int | None = None,
    drift: frozenset[str] = frozenset(),
    changed: tuple[str, ...] = (),
    retired: tuple[str, ...] = (),
) -> Expectation:
    return Expectation(
        case_id=case_id,
        category=category,
        turn_index=turn_index,
        relevant_must_include=expect.relevant.must_include,
        relevant_must_exclude=expect.relevant.must_exclude,
        relevant_only=expect.relevant.only,
        relevant_order=expect.relevant.ordered_before,
        pinned_must_include=expect.pinned.must_include,
        pinned_must_exclude=expect.pinned.must_exclude,
        pinned_order=expect.pinned.ordered_before,
        questions_must_include=expect.questions.must_include,
        questions_must_exclude=expect.questions.must_exclude,
        questions_only=expect.questions.only,
        prelude_non_empty=expect.prelude.non_empty,
        prelude_is_null=expect.prelude.is_null,
        prelude_contains=expect.prelude.contains,
        prelude_must_not_contain=expect.prelude.must_not_contain,
        must_not_surface=expect.must_not_surface,
        pass_kind=pass_kind,
        kinds=kinds,
        drift_beliefs=drift,
        changed=changed,
        retired=retired,
        eligible=kinds.eligible,
    )


def expectations(corpus: Corpus) -> dict[RetrievalKey, Expectation]:
    """Every case and turn of ``corpus``, in order, by ``(case_id, turn_index)``."""
    store = Snapshot(seed(corpus))
    wanted: dict[RetrievalKey, Expectation] = {}
    for case in corpus.cases:
        wanted[case.case_id, None] = expectation_of_case(case, store)
    for moment in moments(corpus):
        key = (moment.session.case_id, moment.turn.turn_index)
        wanted[key] = expectation_of_turn(moment)
    return wanted


__all__ = [
    "RetrievalKey",
    "belief_kind",
    "drift_beliefs",
    "expectation_of_case",
    "expectation_of_turn",
    "expectations",
    "kinds_for",
]
