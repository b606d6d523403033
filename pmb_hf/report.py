"""A report: everything that one run measured, and where it comes from.

Scores and summaries are not part of the model: they are computed from the
records under a set of rules (:func:`judge`), so that a stored report can be
scored again and comes to the same bytes. :mod:`pmb_hf.report_json` and
:mod:`pmb_hf.report_reader` hold the JSON form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from .errors import ReportError
from .expectations import RetrievalKey, expectations
from .measured import ChangeRecord, Ingestion, Record
from .provenance import corpus_identity
from .records import CaseScore, Expectation, Rules
from .rules import RULES, get_rules
from .schema import Belief, Corpus
from .scoring import failures, score_case
from .summary import Summary, latency_ratio, summarize
from .withheld import restored

SCHEMA_VERSION = 1
MAX_BYTES = 256 * 1024 * 1024
"""The largest report that is written and read."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a run measured.

    Attributes:
        provider: The provider's name.
        rules: The name of the rule set that the report is scored under.
        records: Single-turn cases, then session turns, in the corpus's order.
        ingestion: Writing the seed before the single-turn part, if known.
        session_ingestion: The same before the sessions, if they were run alone.
        changes: Mid-session changes as they were carried out.
        can_update: Whether the provider can change a memory, if known.
        load: Throughput and latency of several queries at once, if measured.
        provenance: Versions, corpus, provider options, return cap, times, commit.
        upstream: Whether upstream's harness wrote it; then raw ids, the prelude
            and statuses are not known.
        stated: The summaries as they stand in the file, by part; what a
            published report says of itself.
        distractors: Those that were returned, of the distractors that the run was
            made among; without them they could not be told from unknown ids.
    """

    provider: str
    rules: str
    records: tuple[Record, ...]
    ingestion: Ingestion | None = None
    session_ingestion: Ingestion | None = None
    changes: tuple[ChangeRecord, ...] = ()
    can_update: bool | None = None
    load: Mapping[str, Any] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    upstream: bool = False
    stated: Mapping[str, Any] = field(default_factory=dict)
    distractors: tuple[Belief, ...] = ()

    @property
    def cases(self) -> tuple[Record, ...]:
        """The single-turn records."""
        return tuple(record for record in self.records if record.turn_index is None)

    @property
    def turns(self) -> tuple[Record, ...]:
        """The session records."""
        return tuple(record for record in self.records if record.turn_index is not None)

    @property
    def run_rules(self) -> Rules:
        """The rules of the run itself, which a report keeps when it is scored under others."""
        return RULES.get(str(self.provenance.get("runRules")), RULES[self.rules])

    @property
    def corpus_name(self) -> str:
        """Name of the corpus that was run; upstream's reports are on ``official``."""
        name = self.provenance.get("corpus", {}).get("name")
        return str(name) if name else "official"

    @property
    def among(self) -> Mapping[str, Any] | None:
        """The recipe of the distractors that the run was made among, if there were any."""
        found = self.provenance.get("corpus", {}).get("distractors")
        return found if isinstance(found, Mapping) else None

    @property
    def corpus_sha256(self) -> str | None:
        """Hash of the corpus that was run, if known."""
        digest = self.provenance.get("corpus", {}).get("sha256")
        return str(digest) if digest else None


class Judged(NamedTuple):
    """A record with what was expected of it, its score and why it failed."""

    record: Record
    expected: Expectation
    score: CaseScore
    failures: tuple[str, ...]


class Evaluation(NamedTuple):
    """A report scored against its corpus under a set of rules.

    ``missing`` are the keys of cases that the corpus has and the report lacks,
    in the parts that the report covers.
    """

    rules: Rules
    cases: tuple[Judged, ...]
    turns: tuple[Judged, ...]
    missing: tuple[RetrievalKey, ...]

    @property
    def retrieval(self) -> Summary | None:
        """Summary of the single-turn cases; ``None`` if there are none."""
        return summarize(j.score for j in self.cases) if self.cases else None

    @property
    def session(self) -> Summary | None:
        """Summary of the session turns; ``None`` if there are none."""
        return summarize(j.score for j in self.turns) if self.turns else None

    @property
    def latency_ratio(self) -> float | None:
        """Session p50 over single-turn p50."""
        session, single = self.session, self.retrieval
        return latency_ratio(session, single) if session and single else None


def judge(report: Report, corpus: Corpus, rules: str | Rules | None = None) -> Evaluation:
    """Score a report against the corpus that it was made on.

    Raises:
        ReportError: If the corpus is another one, or a record is of a case that
            the corpus does not have.
        ValueError: If there is no such rule set.
    """
    chosen = get_rules(report.rules if rules is None else rules)
    check_corpus(report, corpus)
    wanted = expectations(replace(corpus, beliefs=corpus.beliefs + report.distractors))
    records = restored(report.records, report.provenance, corpus, report.run_rules)
    judged = [_judge(record, wanted, chosen, report) for record in records]
    seen = {record.key for record in report.records}
    parts = {turn is not None for _, turn in seen}
    missing = tuple(key for key in wanted if (key[1] is not None) in parts and key not in seen)
    return Evaluation(
        rules=chosen,
        cases=tuple(j for j in judged if j.record.turn_index is None),
        turns=tuple(j for j in judged if j.record.turn_index is not None),
        missing=missing,
    )


def check_corpus(report: Report, corpus: Corpus) -> None:
    """Refuse to score a report against a corpus that it was not made on.

    Raises:
        ReportError: If both hashes are known and differ.
    """
    made_on = report.corpus_sha256
    if made_on is not None and corpus.sha256 and made_on != corpus.sha256:
        raise ReportError(
            f"the report was made on corpus {report.corpus_name!r} with SHA-256 {made_on[:12]}…, "
            f"this is {corpus.name!r} with {corpus.sha256[:12]}…; give the corpus of the run "
            "(--corpus DIR) or run again"
        )


def _judge(
    record: Record,
    wanted: Mapping[RetrievalKey, Expectation],
    rules: Rules,
    report: Report,
) -> Judged:
    expected = wanted.get(record.key)
    if expected is None:
        turn = "" if record.turn_index is None else f" turn {record.turn_index}"
        raise ReportError(
            f"case {record.case_id!r}{turn} of the report is not in the corpus; "
            "is this the corpus of the run?"
        )
    if record.category != expected.category:
        expected = replace(expected, category=record.category)
    if report.among is not None:
        expected = replace(expected, eligible=None)  # only the returned ones are known here
    got = record.retrieval(can_update=report.can_update)
    return Judged(
        record, expected, score_case(expected, got, rules), tuple(failures(expected, got))
    )


def merge(reports: Sequence[Report]) -> Report:
    """Join the parts of one run that stand in several files, as upstream's do.

    Raises:
        ReportError: If they are of different providers or repeat a case.
    """
    first = reports[0]
    for other in reports[1:]:
        if other.provider != first.provider:
            raise ReportError(
                f"these reports are of two providers, {first.provider!r} and {other.provider!r}"
            )
        double = {r.key for r in first.records} & {r.key for r in other.records}
        if double:
            raise ReportError(f"case {min(map(str, double))} is in both reports")
        first = replace(
            first,
            records=first.records + other.records,
            ingestion=first.ingestion or other.ingestion,
            session_ingestion=first.session_ingestion or other.session_ingestion,
            changes=first.changes + other.changes,
            load=first.load or other.load,
            stated={**other.stated, **first.stated},
        )
    return replace(first, records=first.cases + first.turns)


def rescore(report: Report, corpus: Corpus, rules: str | Rules) -> Report:
    """The same measurements under other rules; the run's own rules stay in provenance.

    Raises:
        ReportError: If ``corpus`` is not the one that the report was made on.
        ValueError: If there is no such rule set.
    """
    chosen = get_rules(rules)
    check_corpus(report, corpus)
    provenance = dict(report.provenance)
    if report.upstream:
        provenance |= {"source": "upstream", "corpus": corpus_identity(corpus)}
    provenance.setdefault("runRules", report.rules)
    if provenance["runRules"] == chosen.name:
        del provenance["runRules"]
    return replace(report, rules=chosen.name, provenance=provenance, upstream=False)
