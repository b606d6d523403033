"""Assembles what a model would be given: three tiers and a prelude, under a budget.

Pure: beliefs in, ids out. The relevant tier is the provider's answer and
nothing is filtered from it but what the harness already shows (the pinned
tier), so that noise stays visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .records import Kinds, Rules
from .schema import OPEN_QUESTION, RELATION, UNIVERSAL, Belief

DEFAULT_MAX_BELIEFS = 20
"""How many pinned and relevant beliefs a context holds if a case sets no budget."""

Store = Mapping[str, Belief]
"""The beliefs of all users at one moment, by id."""


class Context(NamedTuple):
    """The tiers as ids, best or newest first, and the prelude's text."""

    relevant: tuple[str, ...]
    pinned: tuple[str, ...]
    questions: tuple[str, ...]
    prelude: str


def is_superseded(belief: Belief) -> bool:
    """Whether a newer belief has replaced this one."""
    return belief.superseded_by is not None or belief.epistemic_status == "superseded"


def is_live(belief: Belief) -> bool:
    """Whether a belief still holds: neither superseded nor resolved."""
    return not is_superseded(belief) and belief.resolved_at is None


def in_scope(belief: Belief, scopes: Sequence[str]) -> bool:
    """Whether a belief belongs to one of the scopes."""
    return any(scope in scopes for scope in belief.scope)


class Mine(NamedTuple):
    """What counts for a user in some scopes: live, and in one of them.

    ``pinned`` and ``questions`` are ids, newest first; ``pinned`` holds no question.
    """

    beliefs: tuple[Belief, ...]
    pinned: tuple[str, ...]
    questions: tuple[str, ...]


class Snapshot(dict[str, Belief]):
    """A store that must not be changed any more, because it keeps what was found in it.

    With it, many cases of a few users and scopes do not each go through all beliefs.
    """

    __slots__ = ("kinds", "mine", "preludes")

    def __init__(self, store: Store) -> None:
        """Take the beliefs of ``store`` as they are now."""
        super().__init__(store)
        self.mine: dict[tuple[str, tuple[str, ...]], Mine] = {}
        self.preludes: dict[str, str] = {}
        self.kinds: dict[tuple[str, tuple[str, ...]], Kinds] = {}


def _is_mine(belief: Belief, user_id: str, scopes: Sequence[str]) -> bool:
    return belief.user_id == user_id and is_live(belief) and in_scope(belief, scopes)


def _mine(store: Store, user_id: str, scopes: Sequence[str]) -> Mine:
    if not isinstance(store, Snapshot):
        return _found(store, user_id, scopes)
    key = user_id, tuple(scopes)
    if key not in store.mine:
        store.mine[key] = _found(store, user_id, scopes)
    return store.mine[key]


def _found(store: Store, user_id: str, scopes: Sequence[str]) -> Mine:
    beliefs = tuple(b for b in store.values() if _is_mine(b, user_id, scopes))
    pinned = _newest_first(b for b in beliefs if b.pinned)
    return Mine(
        beliefs,
        tuple(b.id for b in pinned if b.type != OPEN_QUESTION),
        tuple(b.id for b in pinned if b.type == OPEN_QUESTION),
    )


def _newest_first(beliefs: Iterable[Belief]) -> list[Belief]:
    return sorted(beliefs, key=lambda belief: belief.last_reinforced_at, reverse=True)


def pinned_facts(
    store: Store, user_id: str, scopes: Sequence[str], max_beliefs: int | None
) -> tuple[str, ...]:
    """Pinned live beliefs in scope that are no questions, newest first, within the budget."""
    return _mine(store, user_id, scopes).pinned[: budget(max_beliefs)]


def open_questions(store: Store, user_id: str, scopes: Sequence[str]) -> tuple[str, ...]:
    """Pinned live open questions in scope, newest first; the budget does not count them."""
    return _mine(store, user_id, scopes).questions


def persona_prelude(store: Store, user_id: str) -> str:
    """What holds for the user everywhere, a line a belief; empty if nothing does."""
    if not isinstance(store, Snapshot):
        return _prelude(store, user_id)
    if user_id not in store.preludes:
        store.preludes[user_id] = _prelude(store, user_id)
    return store.preludes[user_id]


def _prelude(store: Store, user_id: str) -> str:
    mine = [b for b in _mine(store, user_id, (UNIVERSAL,)).beliefs if b.type != OPEN_QUESTION]
    ordered = sorted(_newest_first(mine), key=lambda belief: not belief.pinned)
    return "\n".join(belief.content for belief in ordered)


def eligible(store: Store, user_id: str, scopes: Sequence[str]) -> tuple[str, ...]:
    """Beliefs that could rightly stand in the relevant tier, in the store's order."""
    mine = _mine(store, user_id, scopes).beliefs
    return tuple(b.id for b in mine if not b.pinned and b.type != OPEN_QUESTION)


def budget(max_beliefs: int | None) -> int:
    """The number of beliefs that a context may hold."""
    return DEFAULT_MAX_BELIEFS if max_beliefs is None else max_beliefs


def room(store: Store, user_id: str, scopes: Sequence[str], max_beliefs: int | None) -> int:
    """How many relevant beliefs fit beside the pinned facts; 0 or more."""
    return budget(max_beliefs) - len(pinned_facts(store, user_id, scopes, max_beliefs))


def is_asked(
    store: Store, user_id: str, scopes: Sequence[str], query: str, max_beliefs: int | None
) -> bool:
    """Whether a provider is asked: not if the query is blank or the budget has no room."""
    return bool(query.strip()) and room(store, user_id, scopes, max_beliefs) > 0


def expand_relations(
    store: Store,
    user_id: str,
    scopes: Sequence[str],
    returned: Iterable[str],
    *,
    expand_questions: bool,
) -> list[str]:
    """Insert the participants of each returned relation right behind it.

    Only those of the user that are live and in scope join; open questions only
    with ``expand_questions``.
    """

    def joins(belief_id: str) -> bool:
        belief = store.get(belief_id)
        if belief is None or not _is_mine(belief, user_id, scopes):
            return False
        return expand_questions or belief.type != OPEN_QUESTION

    expanded: list[str] = []
    for belief_id in returned:
        expanded.append(belief_id)
        belief = store.get(belief_id)
        if belief is not None and belief.type == RELATION and joins(belief_id):
            expanded.extend(filter(joins, belief.participants))
    return expanded


def sent_scopes(scopes: Sequence[str], rules: Rules) -> list[tuple[str, ...]]:
    """The scopes of each call that ``rules`` make for one query."""
    if rules.scopes_sent == "each":
        return [(scope,) for scope in scopes]
    return [tuple(scopes[:1] if rules.scopes_sent == "first" else scopes)]


def assemble(
    store: Store,
    *,
    user_id: str,
    scopes: Sequence[str],
    max_beliefs: int | None,
    returned: Sequence[str],
    expand_questions: bool = False,
) -> Context:
    """Build the tiers from what a provider ``returned`` (ids, best first)."""
    pinned = pinned_facts(store, user_id, scopes, max_beliefs)
    expanded = expand_relations(store, user_id, scopes, returned, expand_questions=expand_questions)
    relevant = [belief for belief in dict.fromkeys(expanded) if belief not in pinned]
    space = budget(max_beliefs) - len(pinned)
    return Context(
        relevant=tuple(relevant[:space]),
        pinned=pinned,
        questions=open_questions(store, user_id, scopes),
        prelude=persona_prelude(store, user_id),
    )
