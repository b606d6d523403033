"""Asks a provider one query and makes a record of what came, whatever came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import NamedTuple

from .answers import hits_of, merge_by_rank, resolve
from .context import Store, assemble, budget, is_asked, sent_scopes
from .deadline import NO_DEADLINE, Deadline
from .faults import describe, is_interrupt, status_of
from .measured import Record, Result
from .providers.protocol import Hit, Provider
from .records import Rules
from .schema import Corpus
from .summary import round_half_up


class Query(NamedTuple):
    """One query to ask: whose, what, where, under which budget, and as which case."""

    case_id: str
    category: str
    user_id: str
    scopes: tuple[str, ...]
    text: str
    max_beliefs: int | None = None
    turn_index: int | None = None
    description: str = ""
    label: str = ""

    @property
    def key(self) -> tuple[str, int | None]:
        """``(case_id, turn_index)``."""
        return self.case_id, self.turn_index

    def is_asked(self, store: Store) -> bool:
        """Whether a provider is asked this, with the beliefs as they are in ``store``."""
        return is_asked(store, self.user_id, self.scopes, self.text, self.max_beliefs)


def queries_of(corpus: Corpus) -> list[Query]:
    """The single-turn cases of a corpus as queries, in order."""
    return [
        Query(
            case_id=case.case_id,
            category=case.category,
            user_id=case.user_id,
            scopes=case.scope,
            text=case.query,
            max_beliefs=case.max_beliefs,
            description=case.description,
        )
        for case in corpus.cases
    ]


@dataclass(frozen=True, slots=True)
class Asker:
    """Puts queries to ``provider`` as ``rules`` say; user ids get ``namespace`` in front.

    Each query is asked ``repeat`` times, or less often once ``deadline`` has passed.
    The first answer is the one that counts.
    """

    provider: Provider
    rules: Rules
    namespace: str = ""
    repeat: int = 1
    deadline: Deadline = NO_DEADLINE

    def ask(self, query: Query, store: Store) -> Record:
        """Ask, time the search call alone, and assemble the context.

        The provider is not asked if the query is blank or the budget leaves no
        room. A failure becomes the record's status; nothing but an interrupt is
        raised.
        """
        if not query.is_asked(store):
            return self._record(query, store, (), None, None)
        limit = budget(query.max_beliefs)
        try:
            results, latency = self.search(query, limit)
        except BaseException as error:
            if is_interrupt(error):
                raise
            return self._failed(query, store, error, limit)
        record = self._record(query, store, results, limit, latency)
        return self._again(record, query, limit) if self.repeat > 1 else record

    def search(self, query: Query, limit: int) -> tuple[tuple[Result, ...], float]:
        """One search as the rules say: its results and its time in ms.

        Raises:
            BaseException: Whatever the provider raises.
            BadAnswerError: If the answer is no list of hits.
            TooLargeAnswerError: If it holds more than is taken.
        """
        started = perf_counter_ns()
        answers = self._search(query, limit)
        latency = elapsed_ms(started)
        if len(answers) != 1:
            answers = [merge_by_rank([hits_of(answer) for answer in answers])]
        return resolve(answers[0]), latency

    def _again(self, record: Record, query: Query, limit: int) -> Record:
        """Ask again; an answer that fails, or is another list, is not stable."""
        times: list[float] = []
        stable = True
        first = [result.id for result in record.results or ()]
        for number in range(self.repeat - 1):
            if self.deadline.passed:
                # Asked fewer times than wanted; of a single time nothing is known.
                return replace(record, repeats_ms=tuple(times), stable=stable if number else None)
            try:
                results, latency = self.search(query, limit)
            except BaseException as error:
                if is_interrupt(error):
                    raise
                stable = False  # the first answer counts; this one tells of stability
                continue
            times.append(latency)
            stable = stable and [result.id for result in results] == first
        return replace(record, repeats_ms=tuple(times), stable=stable)

    def _search(self, query: Query, limit: int) -> list[Sequence[Hit]]:
        """The answer to each call that the rules make, as it came."""
        user = self.namespace + query.user_id
        return [
            self.provider.search(query=query.text, user_id=user, scopes=scopes, limit=limit)
            for scopes in sent_scopes(query.scopes, self.rules)
        ]

    def _record(
        self,
        query: Query,
        store: Store,
        results: tuple[Result, ...],
        limit: int | None,
        latency_ms: float | None,
    ) -> Record:
        context = assemble(
            store,
            user_id=query.user_id,
            scopes=query.scopes,
            max_beliefs=query.max_beliefs,
            returned=[result.id for result in results[:limit]],
            expand_questions=self.rules.expand_questions,
        )
        return Record(
            case_id=query.case_id,
            category=query.category,
            turn_index=query.turn_index,
            description=query.description,
            label=query.label,
            relevant=context.relevant,
            pinned=context.pinned,
            questions=context.questions,
            prelude=context.prelude,
            results=results,
            limit=limit,
            latency_ms=latency_ms,
        )

    def _failed(self, query: Query, store: Store, error: BaseException, limit: int) -> Record:
        empty = self._record(query, store, (), limit, None)
        return replace(empty, status=status_of(error), error=describe(error), results=None)


def elapsed_ms(started_ns: int) -> float:
    """Milliseconds since ``started_ns`` of the monotonic clock, to 0.01 ms."""
    return round_half_up((perf_counter_ns() - started_ns) / 1e6, 2)
