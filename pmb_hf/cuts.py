"""What a stored answer would have been worth, had the provider returned less. Pure.

A cut keeps the first k results, or those at or above a score. The context is then
assembled again by the harness's own code, so that relations, pinned facts and the
budget come out as in a run, and scored again.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from .context import Snapshot, Store, assemble
from .expectations import RetrievalKey
from .measured import Record, Result
from .records import OK, Expectation, Retrieval, Rules
from .report import Evaluation, Judged, Report
from .schema import Corpus
from .scoring import failures, score_case
from .states import moments, seed

HIGHER, LOWER = "higher", "lower"
"""Whether a better result has a higher score (a similarity) or a lower one (a distance)."""

LENGTH, RANKING, INCOMPLETE, NO_ANSWER, ELSEWHERE = CAUSES = (
    "length",
    "ranking",
    "incomplete",
    "no_answer",
    "elsewhere",
)
"""Why a failed case fails, seen from its cuts.

``length``: some cut of it passes. ``ranking``: every needed belief is in the answer,
but what is wrong stands before or between them. ``incomplete``: a needed belief
is not in the answer. ``no_answer``: the search failed. ``elsewhere``: even the right
beliefs would fail, so another tier does.
"""


class Outcome(NamedTuple):
    """What one case is worth at one cut. ``f1`` is null where no belief is needed."""

    passed: bool
    precision: float | None
    recall: float | None
    f1: float | None
    drift: float | None
    abstained: bool | None
    hit_at_1: float | None
    r_precision: float | None
    returned: int


class Steps(NamedTuple):
    """One case as a function of how loose the cut is.

    Attributes:
        start: What it is worth if nothing is kept.
        at: How loose a cut must be for each step, ascending.
        outcomes: What it is worth from there on.
    """

    key: RetrievalKey
    start: Outcome
    at: tuple[float, ...]
    outcomes: tuple[Outcome, ...]

    def outcome(self, looseness: float) -> Outcome:
        """What the case is worth at a cut."""
        place = bisect_right(self.at, looseness)
        return self.outcomes[place - 1] if place else self.start

    @property
    def full(self) -> Outcome:
        """What it is worth uncut."""
        return self.outcomes[-1] if self.outcomes else self.start


@dataclass(frozen=True, slots=True)
class Answer:
    """One stored answer that can be cut.

    Attributes:
        results: What the provider returned within its limit, best first; the
            relevant tier without scores if raw results are not known.
        assembled: Whether a cut is of the results and the context is assembled
            again; if not, the relevant tier itself is cut.
        whole: What it is worth uncut, as reported.
    """

    judged: Judged
    rules: Rules
    results: tuple[Result, ...]
    assembled: bool
    tier_of: Callable[[Sequence[Result]], tuple[str, ...]]
    whole: Outcome

    @property
    def key(self) -> RetrievalKey:
        """``(case_id, turn_index)``."""
        return self.judged.record.key

    def keep(self, kept: Sequence[Result]) -> Outcome:
        """What the case is worth if only ``kept`` had been returned."""
        record, expected = self.judged.record, self.judged.expected
        if record.status != OK or len(kept) == len(self.results):
            return self.whole
        got = record.retrieval()._replace(relevant=self.tier_of(kept), raw=None)
        return outcome_of(expected, got, self.rules)

    def by_length(self) -> Steps:
        """The case cut at each k; a case with fewer results keeps them all."""
        sizes = range(1, len(self.results) + 1)
        outcomes = tuple(self.keep(self.results[:k]) for k in sizes)
        return Steps(self.key, self.keep(()), tuple(map(float, sizes)), outcomes)

    def by_score(self, better: str) -> Steps:
        """The case cut at each score that it holds; results keep their order.

        Every result must have a score.
        """
        sign = -1.0 if better == HIGHER else 1.0
        loose = [sign * (result.score or 0.0) for result in self.results]
        at = sorted(set(loose))
        outcomes = tuple(
            self.keep([r for r, value in zip(self.results, loose, strict=True) if value <= limit])
            for limit in at
        )
        return Steps(self.key, self.keep(()), tuple(at), outcomes)

    def cause(self, steps: Steps) -> str | None:
        """Why the case fails, one of ``CAUSES``; ``None`` if it passes."""
        if self.whole.passed:
            return None
        if self.judged.record.status != OK:
            return NO_ANSWER
        if steps.start.passed or any(o.passed for o in steps.outcomes):
            return LENGTH
        if self._fails_elsewhere():
            return ELSEWHERE
        expected = self.judged.expected
        return RANKING if expected.gold.issubset(self.judged.record.relevant) else INCOMPLETE

    def _fails_elsewhere(self) -> bool:
        expected, got = self.judged.expected, self.judged.record.retrieval()
        right = tuple(expected.gold.difference(got.pinned or ()))
        if set(expected.relevant_only or ()) - set(right):
            right = tuple(expected.gold)
        unordered = replace(expected, relevant_order=())
        return bool(failures(unordered, got._replace(relevant=right, raw=None)))


def outcome_of(expected: Expectation, got: Retrieval, rules: Rules) -> Outcome:
    """Score one answer and keep what curves show."""
    score = score_case(expected, got, rules)
    right = len(expected.gold.intersection(got.relevant)) if got.status == OK else 0
    total = len(set(got.relevant)) + len(expected.gold)
    return Outcome(
        passed=score.passed,
        precision=score.precision,
        recall=score.recall,
        f1=2 * right / total if expected.gold else None,
        drift=score.drift,
        abstained=score.abstained,
        hit_at_1=score.hit_at_1,
        r_precision=score.r_precision,
        returned=score.returned,
    )


def answers(report: Report, evaluation: Evaluation, corpus: Corpus) -> Iterator[Answer]:
    """Every answer of a report, ready to be cut, in the report's order."""
    run_rules = run_rules_of(report)
    asked = _asked(corpus, shared=run_rules.session_state == "shared")
    for judged in (*evaluation.cases, *evaluation.turns):
        yield _answer(judged, asked[judged.record.key], evaluation.rules, run_rules)


def run_rules_of(report: Report) -> Rules:
    """The rules of the run itself, which a report keeps when it is scored under others."""
    return report.run_rules


class _Asked(NamedTuple):
    store: Store
    user_id: str
    scopes: tuple[str, ...]
    max_beliefs: int | None


def _asked(corpus: Corpus, *, shared: bool) -> Mapping[RetrievalKey, _Asked]:
    store = Snapshot(seed(corpus))
    found: dict[RetrievalKey, _Asked] = {
        (case.case_id, None): _Asked(store, case.user_id, case.scope, case.max_beliefs)
        for case in corpus.cases
    }
    for session, turn, now, _, _ in moments(corpus, shared=shared):
        found[session.case_id, turn.turn_index] = _Asked(now, session.user_id, turn.scope, None)
    return found


def _answer(judged: Judged, asked: _Asked, rules: Rules, run_rules: Rules) -> Answer:
    record = judged.record

    def assembled(kept: Sequence[Result]) -> tuple[str, ...]:
        return assemble(
            asked.store,
            user_id=asked.user_id,
            scopes=asked.scopes,
            max_beliefs=asked.max_beliefs,
            returned=[result.id for result in kept],
            expand_questions=run_rules.expand_questions,
        ).relevant

    whole = outcome_of(judged.expected, record.retrieval(), rules)
    results = _within_limit(record)
    # A report whose tiers were not made by this assembly can only be cut by its tiers.
    if results is not None and assembled(results) == record.relevant:
        return Answer(judged, rules, results, True, assembled, whole)
    tier = tuple(Result(belief) for belief in record.relevant)
    return Answer(judged, rules, tier, record.status != OK, _ids, whole)


def _within_limit(record: Record) -> tuple[Result, ...] | None:
    if record.results is None:
        return None
    return tuple(Result(r.id, _usable(r.score)) for r in record.results[: record.limit])


def _usable(score: object) -> float | None:
    """A score that a threshold can be compared with; files hold what their writers put there."""
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    return score if math.isfinite(score) else None


def _ids(kept: Sequence[Result]) -> tuple[str, ...]:
    return tuple(result.id for result in kept)


def direction(found: Sequence[Answer]) -> str:
    """Whether higher scores are better, from the order of the results, best first.

    The one that fits more neighbours; ``higher`` if both fit as many.
    """
    falls = rises = 0
    for answer in found:
        scores = [r.score for r in answer.results if r.score is not None]
        for first, second in pairwise(scores):
            falls += first > second
            rises += first < second
    return LOWER if rises > falls else HIGHER


def no_scores(found: Sequence[Answer]) -> str | None:
    """Why no score threshold can be tried; ``None`` if one can."""
    if any(not answer.assembled for answer in found):
        return "the report holds no raw results"
    scores: list[Any] = [r.score for answer in found for r in answer.results]
    if not scores:
        return "nothing was returned"
    missing = scores.count(None)
    return f"{missing:,} of {len(scores):,} results have no score" if missing else None
