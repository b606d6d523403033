"""What is wrong with an answer, belief by belief, and how often: standard library only.

Wrong beliefs carry their kind (``records.NOISE_KINDS``), needed ones that are not
where they should be carry the reason (``records.LOST_KINDS``). What a report does not
hold is not guessed: see :class:`Diagnosis`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .expectations import RetrievalKey, belonging, of_other_topics
from .measured import Record
from .records import BELOW_RANK, LOST_KINDS, NOISE_KINDS, Expectation
from .report import Evaluation, Judged
from .schema import Corpus
from .scoring import lost_beliefs
from .states import moments

MISSING_KINDS = tuple(kind for kind in LOST_KINDS if kind != BELOW_RANK)
"""The reasons of beliefs that recall counts as missing."""


class Source(NamedTuple):
    """The earlier turn that a drifted belief belongs to; its gold, or created at it."""

    turn_index: int
    label: str


Origins = Mapping[RetrievalKey, Mapping[str, tuple[Source, ...]]]
"""For each turn, the drift beliefs and the earlier turns that they belong to."""


class Wrong(NamedTuple):
    """A wrongly returned belief.

    Attributes:
        kind: One of ``records.NOISE_KINDS``.
        place: Its place in the relevant tier, from 1 on; ``None`` if it did not reach it.
        rank: Its place among the results; ``None`` if that is not known, or if
            relation expansion brought it.
        score: The provider's score, if known.
        drift_from: Earlier turns that it belongs to, if it is a drift belief; empty
            if it is none, if the turn itself names it as noise, or if no corpus was given.
        drifts: Whether it is a drift belief; it can have a more telling kind.
    """

    belief_id: str
    kind: str
    place: int | None = None
    rank: int | None = None
    score: float | None = None
    drift_from: tuple[Source, ...] = ()
    drifts: bool = False


class Lost(NamedTuple):
    """A needed belief that is not where it should be; ``why`` is one of ``records.LOST_KINDS``."""

    belief_id: str
    why: str
    place: int | None = None
    rank: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong with one answer.

    Attributes:
        wrong: Wrong beliefs in the relevant tier, in its order. Their kinds are
            those that ``CaseScore.noise`` counts.
        lost: Needed beliefs that are missing or stand too low.
        kept_out: Wrong results that did not reach the relevant tier (in the pinned
            tier already, over the limit or the budget); ``None`` if raw results
            are not known, as in upstream's reports.
        results_known: Whether the report holds raw results. If not, ranks and
            scores are ``None`` and a missing belief can only be ``not_in_tier``.
    """

    case_id: str
    turn_index: int | None
    category: str
    wrong: tuple[Wrong, ...]
    lost: tuple[Lost, ...]
    kept_out: tuple[Wrong, ...] | None
    results_known: bool

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "caseId": self.case_id,
            "turnIndex": self.turn_index,
            "category": self.category,
            "wrong": [_wrong_wire(w) for w in self.wrong],
            "lost": [_lost_wire(item) for item in self.lost],
            "keptOut": None if self.kept_out is None else [_wrong_wire(w) for w in self.kept_out],
            "resultsKnown": self.results_known,
        }


def _wrong_wire(wrong: Wrong) -> dict[str, Any]:
    return {
        "beliefId": wrong.belief_id,
        "kind": wrong.kind,
        "place": wrong.place,
        "rank": wrong.rank,
        "score": wrong.score,
        "drifts": wrong.drifts,
        "driftFrom": [{"turnIndex": s.turn_index, "label": s.label} for s in wrong.drift_from],
    }


def _lost_wire(lost: Lost) -> dict[str, Any]:
    return {
        "beliefId": lost.belief_id,
        "why": lost.why,
        "place": lost.place,
        "rank": lost.rank,
        "score": lost.score,
    }


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each kind occurs in a set of cases.

    Attributes:
        cases: How many cases were looked at.
        wrong: Wrong beliefs in the relevant tier, by kind.
        lost: Needed beliefs that are missing or too low, by reason.
        kept_out: Wrong results that did not reach the tier, by kind, over the
            ``results_known`` cases of which that is known.
        drift_from: Drift beliefs in the relevant tier by the turn they belong to,
            as ``(case_id, turn_index)``; a belief of two turns counts for both.
    """

    cases: int
    wrong: Mapping[str, int]
    lost: Mapping[str, int]
    kept_out: Mapping[str, int]
    results_known: int
    drift_from: Mapping[tuple[str, int], int]

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping; kinds that do not occur are there as 0."""
        return {
            "cases": self.cases,
            "resultsKnown": self.results_known,
            "wrong": dict(self.wrong),
            "lost": dict(self.lost),
            "keptOut": dict(self.kept_out) if self.results_known else None,
            "driftFrom": [
                {"caseId": case_id, "turnIndex": turn, "count": count}
                for (case_id, turn), count in self.drift_from.items()
            ],
        }


def origins(corpus: Corpus) -> Origins:
    """For each turn of a corpus, its drift beliefs and the earlier turns they belong to.

    A belief that only the turn itself names as noise has no source.
    """
    found: dict[RetrievalKey, dict[str, tuple[Source, ...]]] = {}
    for session, turn, _, earlier, _ in moments(corpus):
        sources: dict[str, tuple[Source, ...]] = {}
        for other in of_other_topics(turn, earlier):
            for belief in belonging(other):
                known = sources.get(belief, ())
                sources[belief] = (*known, Source(other.turn_index, other.label))
        found[session.case_id, turn.turn_index] = sources
    return found


def diagnose(judged: Judged, sources: Origins | None = None) -> Diagnosis:
    """What is wrong with one answer.

    Args:
        judged: The answer with what was expected of it, from ``report.judge``.
        sources: What :func:`origins` says of the corpus, to name drift's turns.
    """
    record, expected = judged.record, judged.expected
    ranks = _ranks(record)
    there = (sources or {}).get(record.key, {})
    tier = tuple(dict.fromkeys(record.relevant))
    places = {belief: place for place, belief in enumerate(tier, 1)}

    def wrong(belief: str) -> Wrong:
        rank, score = ranks.get(belief, (None, None))
        drifts = belief in expected.drift_beliefs
        return Wrong(
            belief_id=belief,
            kind=expected.kinds[belief],
            place=places.get(belief),
            rank=rank,
            score=score,
            drift_from=there.get(belief, ()) if drifts else (),
            drifts=drifts,
        )

    kept_out = None
    if record.results is not None:
        kept_out = tuple(
            wrong(belief) for belief in ranks if belief not in places and is_wrong(expected, belief)
        )
    return Diagnosis(
        case_id=record.case_id,
        turn_index=record.turn_index,
        category=record.category,
        wrong=tuple(wrong(b) for b in tier if is_wrong(expected, b)),
        lost=tuple(_lost(judged, places, ranks)),
        kept_out=kept_out,
        results_known=record.results is not None,
    )


def is_wrong(expected: Expectation, belief: str) -> bool:
    """Whether a belief in the relevant tier is noise, as ``CaseScore.noise`` counts it."""
    return belief not in expected.gold and belief not in expected.harmless


def _ranks(record: Record) -> dict[str, tuple[int | None, float | None]]:
    """First rank and score of each result, best first."""
    found: dict[str, tuple[int | None, float | None]] = {}
    for rank, result in enumerate(record.results or (), 1):
        found.setdefault(result.id, (rank, result.score))
    return found


def _lost(
    judged: Judged,
    places: Mapping[str, int],
    ranks: Mapping[str, tuple[int | None, float | None]],
) -> Iterator[Lost]:
    got = judged.record.retrieval()
    for belief, why in lost_beliefs(judged.expected, got):
        rank, score = ranks.get(belief, (None, None))
        yield Lost(belief, why, places.get(belief), rank, score)


def diagnoses(evaluation: Evaluation, corpus: Corpus | None = None) -> tuple[Diagnosis, ...]:
    """A diagnosis of every case and turn; with ``corpus``, drift is traced to its turns."""
    sources = None if corpus is None else origins(corpus)
    return tuple(diagnose(j, sources) for j in (*evaluation.cases, *evaluation.turns))


def tally(found: Iterable[Diagnosis]) -> Tally:
    """Count the kinds in a set of diagnoses. Every kind is there, in fixed order."""
    rows = list(found)
    wrong = Counter(w.kind for row in rows for w in row.wrong)
    lost = Counter(item.why for row in rows for item in row.lost)
    kept = Counter(w.kind for row in rows for w in row.kept_out or ())
    drift: Counter[tuple[str, int]] = Counter(
        (row.case_id, source.turn_index)
        for row in rows
        for w in row.wrong
        for source in w.drift_from
    )
    return Tally(
        cases=len(rows),
        wrong={kind: wrong[kind] for kind in NOISE_KINDS},
        lost={kind: lost[kind] for kind in LOST_KINDS},
        kept_out={kind: kept[kind] for kind in NOISE_KINDS},
        results_known=sum(row.results_known for row in rows),
        drift_from=dict(sorted(drift.items())),
    )


def tally_by_category(found: Iterable[Diagnosis]) -> dict[str, Tally]:
    """A tally of each category, in the order in which the categories first appear."""
    groups: dict[str, list[Diagnosis]] = {}
    for row in found:
        groups.setdefault(row.category, []).append(row)
    return {category: tally(rows) for category, rows in groups.items()}


def noise_table(evaluation: Evaluation, corpus: Corpus | None = None) -> dict[str, Any]:
    """All counts of a report, JSON-ready: in all, by part and by category."""
    return count_table(diagnoses(evaluation, corpus))


def count_table(rows: Sequence[Diagnosis]) -> dict[str, Any]:
    """The counts of diagnoses that are made already; see :func:`noise_table`."""
    parts = {
        "retrieval": [row for row in rows if row.turn_index is None],
        "session": [row for row in rows if row.turn_index is not None],
    }
    return {
        "total": tally(rows).to_wire(),
        "parts": {part: tally(found).to_wire() for part, found in parts.items() if found},
        "categories": {c: found.to_wire() for c, found in tally_by_category(rows).items()},
    }
