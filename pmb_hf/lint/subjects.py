"""Replays a corpus, faults and all: every case and turn with the store that it meets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..context import Snapshot, Store
from ..expectations import expectation_of_case, expectation_of_turn
from ..schema import CASES_FILE, SESSION_CATEGORY, SESSIONS_FILE, Belief, Change, Corpus, Session
from ..states import Moment, apply, prerequisites, seed
from .findings import Finding, Subject, error, spot, warning


def row(raw_files: Mapping[str, Any], file: str, index: int) -> Mapping[str, Any]:
    """A row of a file as JSON; ``{}`` where there is no object."""
    return _item(raw_files.get(file), index)


def _item(rows: Any, index: int) -> Mapping[str, Any]:
    found = rows[index] if isinstance(rows, list) and index < len(rows) else None
    return found if isinstance(found, dict) else {}


def _expect(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    found = raw.get("expect")
    return found if isinstance(found, dict) else {}


def known_ids(corpus: Corpus) -> frozenset[str]:
    """The ids of all beliefs, those that sessions create included."""
    created = (
        change.create.id
        for session in corpus.sessions
        for turn in session.turns
        for change in turn.changes
        if change.create is not None
    )
    return frozenset((*(belief.id for belief in corpus.beliefs), *created))


def case_subjects(corpus: Corpus, raw_files: Mapping[str, Any]) -> Iterator[Subject]:
    """Every single-turn case, against the seed."""
    store, known = Snapshot(seed(corpus)), known_ids(corpus)
    for n, case in enumerate(corpus.cases):
        yield Subject(
            where=spot(CASES_FILE, n, case.case_id),
            wording=(case.category, f"{case.description} {case.case_id}"),
            query=case.query,
            scopes=case.scope,
            user_id=case.user_id,
            max_beliefs=case.max_beliefs,
            expect=case.expect,
            expectation=expectation_of_case(case, store),
            store=store,
            known=known,
            raw_expect=_expect(row(raw_files, CASES_FILE, n)),
        )


def turn_subjects(
    corpus: Corpus, raw_files: Mapping[str, Any], found: list[Finding]
) -> Iterator[Subject]:
    """Every turn, against the store that it meets; faults of the changes go to ``found``.

    A change that can't be made is reported and left out, so that the turns
    after it are looked at as well.
    """
    known = known_ids(corpus)
    for n, session in enumerate(corpus.sessions):
        where = spot(SESSIONS_FILE, n, session.case_id)
        raw_turns = row(raw_files, SESSIONS_FILE, n).get("turns")
        for k, moment in enumerate(_moments(corpus, session, where, found)):
            turn = moment.turn
            yield Subject(
                where=f"{where}.turns[{k}]",
                wording=(SESSION_CATEGORY, ""),
                query=turn.query,
                scopes=turn.scope,
                user_id=session.user_id,
                max_beliefs=None,
                expect=turn.expect,
                expectation=expectation_of_turn(moment),
                store=moment.store,
                known=known,
                raw_expect=_expect(_item(raw_turns, k)),
            )


def _moments(
    corpus: Corpus, session: Session, where: str, found: list[Finding]
) -> Iterator[Moment]:
    """As :func:`pmb_hf.states.moments`, for one session and without trusting its changes."""
    store = seed(corpus)
    done: list[Change] = []
    for other in prerequisites(corpus, session):
        for turn in other.turns:
            done.extend(_applied(store, turn.changes))
    before = supersession_cycles(store)
    for k, turn in enumerate(session.turns):
        yield Moment(session, turn, dict(store), session.turns[:k], tuple(done))
        for change in turn.changes:
            found.extend(_change_findings(store, change, f"{where}.turns[{k}]"))
            done.extend(_applied(store, (change,)))
    rings = sorted(supersession_cycles(store) - before, key=sorted)
    found.extend(cycle_finding(ring, f"{where}.turns") for ring in rings)


def _applied(store: dict[str, Belief], changes: tuple[Change, ...]) -> Iterator[Change]:
    for change in changes:
        if change.create is not None or change.belief_id in store:
            apply(store, (change,))
            yield change


def _change_findings(store: Store, change: Change, where: str) -> Iterator[Finding]:
    if change.create is not None:
        at, created = f"{where}.createBeliefAtTurn", change.create.id
        if created in store:
            yield error(
                "duplicate-belief-id",
                at,
                f"belief {created!r} exists already; give the new one an id of its own, or use "
                "updateBeliefAtTurn",
            )
        return
    at, belief = f"{where}.updateBeliefAtTurn", store.get(change.belief_id or "")
    if belief is None:
        yield error(
            "unknown-id",
            f"{at}.beliefId",
            f"no belief {change.belief_id!r} at this turn; create it before, or correct the id",
        )
        return
    if change.superseded_by is not None and change.superseded_by not in store:
        yield error(
            "unknown-id",
            f"{at}.supersededBy",
            f"no belief {change.superseded_by!r} at this turn; create it, or correct the id",
        )
    if change == Change(belief_id=change.belief_id):
        yield warning("no-effect", at, "changes nothing; add what changes, or leave it out")
    for alias in sorted({*change.add_aliases} & {*belief.aliases}):
        message = f"belief {belief.id!r} has the alias {alias!r} already; leave it out"
        yield warning("no-effect", f"{at}.addAliases", message)
    for alias in sorted({*change.remove_aliases} - {*belief.aliases}):
        message = f"belief {belief.id!r} has no alias {alias!r}; correct it, or leave it out"
        yield warning("no-effect", f"{at}.removeAliases", message)


def supersession_cycles(store: Store) -> set[frozenset[str]]:
    """The rings of beliefs that supersede one another, each as the ids in it."""
    cycles = set()
    followed: set[str] = set()  # each chain is followed once, however long it is
    for start in store:
        trail: dict[str, None] = {}
        here: str | None = start
        while here is not None and here in store and here not in trail and here not in followed:
            trail[here] = None
            here = store[here].superseded_by
        if here is not None and here in trail:
            ids = list(trail)
            cycles.add(frozenset(ids[ids.index(here) :]))
        followed.update(trail)
    return cycles


def cycle_finding(cycle: frozenset[str], where: str) -> Finding:
    """What is said of a ring."""
    names = ", ".join(sorted(cycle))
    return error(
        "supersession-cycle",
        where,
        f"{names} supersede one another in a ring, so that none of them holds; break it",
    )
