"""Floor and ceiling: what empty, everything and oracle come to on a corpus. Pure.

They are computed with the run's own context assembly, so that a provider's
figures always stand beside what doing nothing, or everything, would give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .context import Snapshot, Store, assemble, budget, in_scope, is_asked, sent_scopes
from .expectations import expectation_of_case, expectation_of_turn
from .records import CaseScore, Expectation, Retrieval, Rules
from .schema import Corpus, Expect
from .scoring import score_case
from .states import moments, seed
from .summary import Summary, summarize

CONTROLS = ("empty", "everything", "oracle")

Answer = Callable[[Store, str, Expect], Sequence[str]]
"""Given the store, the user and what is expected, the ids that a control returns."""


class Baseline(NamedTuple):
    """One control's summaries; ``session`` is ``None`` if the corpus has no session."""

    name: str
    retrieval: Summary | None
    session: Summary | None


def ideal_answer(expect: Expect) -> tuple[str, ...]:
    """The gold in an order that satisfies every ``orderedBefore``."""
    tier = expect.relevant
    ids = list(dict.fromkeys((*tier.must_include, *(tier.only or ()))))
    for _ in tier.ordered_before:
        for first, second in tier.ordered_before:
            if first in ids and second in ids and ids.index(first) > ids.index(second):
                ids.remove(first)
                ids.insert(ids.index(second), first)
    return tuple(ids)


def ideal_answers(
    corpus: Corpus, rules: Rules
) -> dict[tuple[str, tuple[str, ...], str], tuple[str, ...]]:
    """What an oracle answers, by user, scopes as ``rules`` send them, and query."""
    store = seed(corpus)
    asked = [(c.user_id, c.scope, c.query, c.expect, store) for c in corpus.cases]
    asked += [
        (m.session.user_id, m.turn.scope, m.turn.query, m.turn.expect, dict(m.store))
        for m in moments(corpus)
    ]
    answers = {}
    for user_id, scopes, query, expect, beliefs in asked:
        ids = ideal_answer(expect)
        for sent in sent_scopes(scopes, rules):
            known = [b for b in ids if b in beliefs and in_scope(beliefs[b], sent)]
            answers[user_id, sent, query] = tuple(known)
    return answers


_ANSWERS: dict[str, Answer] = {
    "empty": lambda store, user_id, expect: (),
    "everything": lambda store, user_id, expect: tuple(
        belief.id for belief in store.values() if belief.user_id == user_id
    ),
    "oracle": lambda store, user_id, expect: ideal_answer(expect),
}


def baselines(
    corpus: Corpus, rules: Rules, parts: Sequence[str] = ("retrieval", "sessions")
) -> list[Baseline]:
    """The controls' summaries under ``rules``, floor first."""
    return [
        Baseline(
            name,
            summarize(_case_scores(corpus, rules, answer)) if "retrieval" in parts else None,
            summarize(_turn_scores(corpus, rules, answer))
            if "sessions" in parts and corpus.sessions
            else None,
        )
        for name, answer in _ANSWERS.items()
    ]


def _case_scores(corpus: Corpus, rules: Rules, answer: Answer) -> list[CaseScore]:
    store = Snapshot(seed(corpus))
    return [
        _score(
            expectation_of_case(case, store),
            rules,
            store=store,
            user_id=case.user_id,
            scopes=case.scope,
            query=case.query,
            max_beliefs=case.max_beliefs,
            returned=answer(store, case.user_id, case.expect),
        )
        for case in corpus.cases
    ]


def _turn_scores(corpus: Corpus, rules: Rules, answer: Answer) -> list[CaseScore]:
    return [
        _score(
            expectation_of_turn(moment),
            rules,
            store=moment.store,
            user_id=moment.session.user_id,
            scopes=moment.turn.scope,
            query=moment.turn.query,
            max_beliefs=None,
            returned=answer(moment.store, moment.session.user_id, moment.turn.expect),
        )
        for moment in moments(corpus)
    ]


def _score(
    expected: Expectation,
    rules: Rules,
    *,
    store: Store,
    user_id: str,
    scopes: Sequence[str],
    query: str,
    max_beliefs: int | None,
    returned: Sequence[str],
) -> CaseScore:
    asked = is_asked(store, user_id, scopes, query, max_beliefs)
    limit = budget(max_beliefs)
    raw = tuple(returned[:limit]) if asked else ()
    context = assemble(
        store,
        user_id=user_id,
        scopes=scopes,
        max_beliefs=max_beliefs,
        returned=raw,
        expand_questions=rules.expand_questions,
    )
    got = Retrieval(*context, raw=raw, limit=limit if asked else None, can_update=True)
    return score_case(expected, got, rules)
