"""Searches that belong to no case: to warm a provider up, and to see whether it is still there."""

from __future__ import annotations

from collections.abc import Mapping

from .asking import Asker, Query, queries_of
from .context import budget
from .faults import describe, is_interrupt
from .measured import Record
from .records import OK
from .schema import Corpus
from .session import query_of

_WARM_UP = "warm up"


def warm_up(asker: Asker, user_id: str) -> None:
    """One search whose time counts nowhere: lazy indexes and connections settle in it."""
    _failure(asker, _warm_up_query(user_id))


def gone(
    asker: Asker, corpus: Corpus, records: Mapping[tuple[str, int | None], Record]
) -> str | None:
    """Why the provider answers no more, or None if it does.

    It is asked once more what it has answered in this run; if that was nothing, the
    search that warmed it up.
    """
    queries = [
        *queries_of(corpus),
        *(query_of(session, turn) for session in corpus.sessions for turn in session.turns),
    ]
    answered = (query for query in reversed(queries) if _was_answered(records.get(query.key)))
    return _failure(asker, next(answered, _warm_up_query(corpus.user_id)))


def _was_answered(record: Record | None) -> bool:
    return record is not None and record.status == OK and record.limit is not None


def _warm_up_query(user_id: str) -> Query:
    return Query(_WARM_UP, "", user_id, (_WARM_UP,), _WARM_UP, max_beliefs=1)


def _failure(asker: Asker, query: Query) -> str | None:
    try:
        asker.search(query, budget(query.max_beliefs))
    except BaseException as error:
        if is_interrupt(error):
            raise
        return describe(error)
    return None
