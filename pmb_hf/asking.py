"""Asks a provider one query and makes a record of what came, whatever came."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import NamedTuple

from .context import Store, assemble, budget, is_asked, sent_scopes
from .errors import ProviderError
from .measured import Record, Result
from .providers.protocol import Hit, Provider
from .records import OK, Rules
from .schema import Corpus
from .summary import round_half_up

BAD_ANSWER = "bad_answer"
ERROR = "error"
TIMEOUT = "timeout"

_ERROR_LENGTH = 300


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

    Each query is asked ``repeat`` times. The first answer is the one that counts.
    """

    provider: Provider
    rules: Rules
    namespace: str = ""
    repeat: int = 1

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
        except Exception as error:  # noqa: BLE001 - whatever a provider raises is its answer
            return self._failed(query, store, error, limit)
        record = self._record(query, store, results, limit, latency)
        return self._again(record, query, limit) if self.repeat > 1 else record

    def search(self, query: Query, limit: int) -> tuple[tuple[Result, ...], float]:
        """One search as the rules say: its results and its time in ms.

        Raises:
            Exception: Whatever the provider raises.
            BadAnswerError: If the answer is no list of hits.
        """
        started = perf_counter_ns()
        hits = self._search(query, limit)
        latency = elapsed_ms(started)
        return resolve(hits), latency

    def _again(self, record: Record, query: Query, limit: int) -> Record:
        """Ask again; an answer that fails, or is another list, is not stable."""
        times, stable = [], True
        first = [result.id for result in record.results or ()]
        for _ in range(self.repeat - 1):
            try:
                results, latency = self.search(query, limit)
            except Exception:  # noqa: BLE001 - the first answer counts; this one tells of stability
                stable = False
                continue
            times.append(latency)
            stable = stable and [result.id for result in results] == first
        return replace(record, repeats_ms=tuple(times), stable=stable)

    def _search(self, query: Query, limit: int) -> Sequence[Hit]:
        user = self.namespace + query.user_id
        answers = [
            self.provider.search(query=query.text, user_id=user, scopes=scopes, limit=limit)
            for scopes in sent_scopes(query.scopes, self.rules)
        ]
        return answers[0] if len(answers) == 1 else merge_by_rank(answers)

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

    def _failed(self, query: Query, store: Store, error: Exception, limit: int) -> Record:
        empty = self._record(query, store, (), limit, None)
        return replace(empty, status=status_of(error), error=describe(error), results=None)


class BadAnswerError(ProviderError):
    """A provider answered with something that is no list of results."""

    status = BAD_ANSWER


def elapsed_ms(started_ns: int) -> float:
    """Milliseconds since ``started_ns`` of the monotonic clock, to 0.01 ms."""
    return round_half_up((perf_counter_ns() - started_ns) / 1e6, 2)


def status_of(error: BaseException) -> str:
    """The status that a failure gives: the one it names itself, else by its kind."""
    status = getattr(error, "status", None)
    # Only our own errors name their status: a stranger's "ok" must not make an answer of it.
    if isinstance(error, ProviderError) and isinstance(status, str) and status not in ("", OK):
        return status
    return TIMEOUT if isinstance(error, TimeoutError) else ERROR


def describe(error: BaseException) -> str:
    """The error in one line: its class, unless it is ours, and the first line it says."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    if not isinstance(error, ProviderError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text[:_ERROR_LENGTH].encode("utf-8", "backslashreplace").decode()


def merge_by_rank(answers: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Interleave several answers by rank: all first places, and so on."""
    longest = max((len(answer) for answer in answers), default=0)
    return [answer[n] for n in range(longest) for answer in answers if n < len(answer)]


def resolve(hits: object) -> tuple[Result, ...]:
    """Give every result an id: its own, else ``metadata.beliefId``, else ``unresolved-N``.

    Raises:
        BadAnswerError: If ``hits`` is no list of hits, or an id is no string.
    """
    if isinstance(hits, str | bytes) or not isinstance(hits, Sequence):
        raise BadAnswerError(f"search must return a list of hits, not {type(hits).__name__}")
    results = []
    for number, hit in enumerate(hits, 1):
        if not isinstance(hit, Hit):
            raise BadAnswerError(f"result {number} must be a Hit, not {type(hit).__name__}")
        found = hit.id if hit.id is not None else (hit.metadata or {}).get("beliefId")
        if found is None:
            found = f"unresolved-{number}"
        if not isinstance(found, str):
            raise BadAnswerError(f"result {number} has the id {found!r}; an id must be a string")
        if not found.isascii() and found.encode("utf-8", "replace").decode() != found:
            raise BadAnswerError(f"result {number} has an id that is no valid text: {found!a}")
        results.append(Result(found, _score(hit.score)))
    return tuple(results)


def _score(score: object) -> float | None:
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    return float(score) if math.isfinite(score) else None
