"""What a run returned, case by case: one row a case and run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ..diagnose import Diagnosis, diagnoses, is_wrong
from ..explain import ALLOWED, NEEDED
from ..records import Expectation
from ..report import Evaluation, Judged
from ..schema import Corpus
from ..withheld import without_text
from .facts import Row


def answer_rows(
    run: str, evaluations: Mapping[str, Evaluation], corpus: Corpus, *, texts: bool = True
) -> list[Row]:
    """The rows of a run, in the order of its cases, with the scores under each set of rules.

    Args:
        run: The run's id.
        evaluations: The report, judged under one set of rules or more.
        corpus: The corpus of the run.
        texts: Whether texts of the corpus may be quoted; ids may always.
    """
    by_rules = {
        rules: {j.record.key: j for j in (*evaluation.cases, *evaluation.turns)}
        for rules, evaluation in evaluations.items()
    }
    first = next(iter(evaluations.values()))
    found = {(d.case_id, d.turn_index): d for d in diagnoses(first, corpus)}
    rows = []
    for judged in (*first.cases, *first.turns):
        key = judged.record.key
        row = _answer(run, judged, found[key], texts)
        row["scores"] = {rules: _scores(views[key]) for rules, views in by_rules.items()}
        rows.append(row)
    return rows


def _answer(run: str, judged: Judged, diagnosis: Diagnosis, texts: bool) -> Row:
    record, expected, score = judged.record, judged.expected, judged.score
    return {
        "run": run,
        "caseId": record.case_id,
        "turnIndex": record.turn_index,
        "category": record.category,
        "status": record.status,
        "passed": score.passed,
        "returned": list(record.relevant),
        "kinds": [kind_of(expected, belief) for belief in record.relevant],
        "missing": [[lost.belief_id, lost.why] for lost in diagnosis.lost if lost.place is None],
        "keptOut": None
        if diagnosis.kept_out is None
        else [[wrong.belief_id, wrong.kind] for wrong in diagnosis.kept_out],
        "pinned": None if record.pinned is None else list(record.pinned),
        "questions": None if record.questions is None else list(record.questions),
        "noise": dict(sorted(Counter(score.noise).items())),
        "failures": _failures(judged, texts),
        "latencyMs": record.latency_ms,
        "limit": record.limit,
        "hitAt1": score.hit_at_1,
        "firstRelevantRank": score.first_relevant_rank,
        "mutated": score.mutated,
    }


def _failures(judged: Judged, texts: bool) -> list[str]:
    """Why the case failed, without what a service said: that may name hosts and paths."""
    error = judged.record.error
    lines = [line.replace(f": {error}", "") if error else line for line in judged.failures]
    return [line if texts else without_text(line) for line in lines]


def _scores(judged: Judged) -> Row:
    score = judged.score
    return {
        "precision": score.precision,
        "recall": score.recall,
        "drift": score.drift,
        "passKind": score.pass_kind,
    }


def kind_of(expected: Expectation, belief: str) -> str:
    """What a returned belief is: ``needed``, ``not asked for``, or its kind of noise."""
    if belief in expected.gold:
        return NEEDED
    return expected.kinds[belief] if is_wrong(expected, belief) else ALLOWED
