"""What a corpus asks, of whom and in which words: it decides where a distractor may be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..context import eligible
from ..schema import UNIVERSAL, Belief, Corpus, Expect
from ..states import moments, seed
from .words import stem_set, stems


class Question(NamedTuple):
    """One query with the ids that could be right (``eligible``) and those that are (``gold``)."""

    where: str
    user_id: str
    scopes: tuple[str, ...]
    text: str
    gold: frozenset[str]
    eligible: frozenset[str]

    @property
    def takes_all(self) -> bool:
        """Whether everything that could be right is.

        Such a query may be a general one ("what do you know of this?"), to which
        anything more would be a right answer, too.
        """
        return bool(self.gold) and self.gold >= self.eligible


@dataclass(frozen=True, slots=True)
class Asked:
    """What the cases and turns of a corpus ask.

    Attributes:
        users: Everyone who asks or owns a belief.
        scopes: Every scope that is asked or that a belief has.
        closed: ``(user, scope)`` in which no live distractor may be: a query
            there takes all.
        query_stems: ``(user, scope)`` to the content words of its queries.
        stems: The content words of everything: queries, names, aliases, contents.
    """

    users: frozenset[str]
    scopes: frozenset[str]
    closed: frozenset[tuple[str, str]]
    query_stems: Mapping[tuple[str, str], frozenset[str]]
    stems: frozenset[str]

    def forbidden(self, user_id: str, scopes: Iterable[str]) -> frozenset[str]:
        """The content words that a live belief of this user and these scopes must not have."""
        return frozenset().union(*(self.query_stems.get((user_id, s), ()) for s in scopes))


def asked_by(corpus: Corpus) -> Asked:
    """Look through everything that ``corpus`` asks."""
    beliefs = list(_all_beliefs(corpus))
    users = {belief.user_id for belief in beliefs}
    scopes = {scope for belief in beliefs for scope in belief.scope}
    closed: set[tuple[str, str]] = set()
    by_place: dict[tuple[str, str], set[str]] = defaultdict(set)
    texts = [text for belief in beliefs for text in _texts(belief)]
    for question in questions(corpus):
        users.add(question.user_id)
        scopes.update(question.scopes)
        texts.append(question.text)
        for scope in question.scopes:
            by_place[question.user_id, scope].update(stems(question.text))
            if question.takes_all:
                closed.add((question.user_id, scope))
    for session in corpus.sessions:
        for turn in session.turns:
            for change in turn.changes:
                texts += [*change.add_aliases, change.set_content or ""]
    return Asked(
        users=frozenset(users),
        scopes=frozenset(scopes | {UNIVERSAL}),
        closed=frozenset(closed),
        query_stems={place: frozenset(found) for place, found in by_place.items()},
        stems=stem_set(texts),
    )


def questions(corpus: Corpus) -> Iterator[Question]:
    """Every case and every turn."""
    store = seed(corpus)
    for case in corpus.cases:
        could = frozenset(eligible(store, case.user_id, case.scope))
        gold = _gold(case.expect)
        yield Question(case.case_id, case.user_id, case.scope, case.query, gold, could)
    for moment in moments(corpus):
        session, turn = moment.session, moment.turn
        where = f"{session.case_id} turn {turn.turn_index}"
        could = frozenset(eligible(moment.store, session.user_id, turn.scope))
        gold = _gold(turn.expect)
        yield Question(where, session.user_id, turn.scope, turn.query, gold, could)


def _gold(expect: Expect) -> frozenset[str]:
    return frozenset((*expect.relevant.must_include, *(expect.relevant.only or ())))


def _all_beliefs(corpus: Corpus) -> Iterator[Belief]:
    yield from corpus.beliefs
    for session in corpus.sessions:
        for turn in session.turns:
            yield from (c.create for c in turn.changes if c.create is not None)


def all_ids(corpus: Corpus) -> frozenset[str]:
    """The ids of all beliefs, those that sessions create included."""
    return frozenset(belief.id for belief in _all_beliefs(corpus))


def _texts(belief: Belief) -> Iterator[str]:
    yield belief.canonical_name
    yield from belief.aliases
    yield belief.content
    yield belief.why_it_matters
