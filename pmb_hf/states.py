"""How beliefs change in the course of a session. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from .errors import CorpusError
from .schema import Belief, Change, Corpus, Session, Turn


class Moment(NamedTuple):
    """A turn with the store as it is when the turn is asked.

    ``earlier`` are the turns of the same session before it; ``changes`` is all
    that made this store of the seed, in sessions depended on as well.
    """

    session: Session
    turn: Turn
    store: Mapping[str, Belief]
    earlier: tuple[Turn, ...]
    changes: tuple[Change, ...]


def seed(corpus: Corpus) -> dict[str, Belief]:
    """The store before any session."""
    return {belief.id: belief for belief in corpus.beliefs}


def changed_belief(store: Mapping[str, Belief], change: Change) -> Belief:
    """What a belief is after ``change``.

    Raises:
        CorpusError: If the change names a belief that the store does not hold.
    """
    if change.create is not None:
        return change.create
    old = store.get(change.belief_id or "")
    if old is None:
        raise CorpusError(
            f"updateBeliefAtTurn names belief {change.belief_id!r}, which is not there at that "
            "turn: correct the id, or create the belief before; `pmb data lint` names the turn"
        )
    kept = [alias for alias in old.aliases if alias not in change.remove_aliases]
    aliases = tuple(dict.fromkeys((*kept, *change.add_aliases)))
    return replace(
        old,
        aliases=aliases,
        content=old.content if change.set_content is None else change.set_content,
        superseded_by=change.superseded_by or old.superseded_by,
        resolved_at=change.resolved_at or old.resolved_at,
    )


def apply(store: dict[str, Belief], changes: Iterable[Change]) -> None:
    """Carry out ``changes`` on ``store``, in order."""
    for change in changes:
        belief = changed_belief(store, change)
        store[belief.id] = belief


def prerequisites(corpus: Corpus, session: Session, *, shared: bool = False) -> list[Session]:
    """The sessions whose changes a session starts from, in corpus order.

    ``depends_on`` of ``None``, or a shared store, means all earlier sessions.
    Dependencies of dependencies count as well.
    """
    earlier = corpus.sessions[: corpus.sessions.index(session)]
    if shared or session.depends_on is None:
        return list(earlier)
    wanted = set(session.depends_on)
    for other in reversed(earlier):
        if other.case_id in wanted:
            deeper = other.depends_on
            ids = [s.case_id for s in earlier[: earlier.index(other)]]
            wanted.update(ids if deeper is None else deeper)
    return [other for other in earlier if other.case_id in wanted]


def moments(corpus: Corpus, *, shared: bool = False) -> Iterator[Moment]:
    """Every scored turn of a corpus, in order, with the store that it meets."""
    for session in corpus.sessions:
        store = seed(corpus)
        changes = [
            change
            for other in prerequisites(corpus, session, shared=shared)
            for turn in other.turns
            for change in turn.changes
        ]
        apply(store, changes)
        for n, turn in enumerate(session.turns):
            yield Moment(session, turn, dict(store), session.turns[:n], tuple(changes))
            apply(store, turn.changes)
            changes.extend(turn.changes)


def keys_of(corpus: Corpus) -> list[tuple[str, int | None]]:
    """``(case_id, turn_index)`` of every case and turn, in the corpus's order."""
    keys: list[tuple[str, int | None]] = [(case.case_id, None) for case in corpus.cases]
    keys += [(s.case_id, turn.turn_index) for s in corpus.sessions for turn in s.turns]
    return keys
