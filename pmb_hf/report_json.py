"""Writes a report as JSON: upstream's shape, with what it lacks added.

Writing is deterministic: the same report, corpus and rules give the same bytes.
:mod:`pmb_hf.report_reader` reads it back.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .diagnose import Diagnosis, count_table, diagnoses
from .errors import ReportError
from .measured import Record
from .report import MAX_BYTES, SCHEMA_VERSION, Evaluation, Judged, Report, judge
from .schema import Corpus, belief_wire
from .summary import Summary, summarize_by_category


def report_json(report: Report, corpus: Corpus) -> str:
    """The report file's text, scored under the report's rules.

    Raises:
        ReportError: If ``corpus`` is not the one that the report was made on.
    """
    return dump(report_tree(report, judge(report, corpus), corpus))


def dump(tree: Mapping[str, Any]) -> str:
    """Strict JSON with two spaces of indent and a final newline.

    Raises:
        ReportError: If it is larger than what can be read again.
    """
    text = json.dumps(tree, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    if len(text) > MAX_BYTES // 4 and len(text.encode()) > MAX_BYTES:
        raise ReportError(
            f"the report takes {len(text.encode()) >> 20} MiB, more than the {MAX_BYTES >> 20} "
            "that can be read again; let the provider return no more than it is asked for"
        )
    return text


def report_tree(report: Report, evaluation: Evaluation, corpus: Corpus) -> dict[str, Any]:
    """The report as a JSON-ready mapping."""
    found = {(d.case_id, d.turn_index): d for d in diagnoses(evaluation, corpus)}
    tree: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "provider": report.provider,
        "rules": evaluation.rules.name,
        "canUpdate": report.can_update,
        "provenance": dict(report.provenance),
    }
    if evaluation.cases:
        tree["retrieval"] = _summary(evaluation.retrieval, evaluation.cases)
        tree["cases"] = [_case(judged, found[judged.record.key]) for judged in evaluation.cases]
    if report.load is not None:
        tree["load"] = dict(report.load)
    if report.ingestion is not None:
        tree["ingestion"] = report.ingestion.to_wire()
    if evaluation.turns:
        summary = _summary(evaluation.session, evaluation.turns)
        summary["caseCount"] = len({j.record.case_id for j in evaluation.turns})
        summary["turnCount"] = len(evaluation.turns)
        session: dict[str, Any] = {
            "retrieval": summary,
            "latencyRatio": evaluation.latency_ratio,
            "changes": [change.to_wire() for change in report.changes],
            "cases": [_turn(judged, found[judged.record.key]) for judged in evaluation.turns],
        }
        if report.session_ingestion is not None:
            session["ingestion"] = report.session_ingestion.to_wire()
        tree["session"] = session
    tree["diagnosis"] = count_table(tuple(found.values()))
    if report.distractors:
        tree["distractors"] = [belief_wire(belief) for belief in report.distractors]
    return tree


def _summary(summary: Summary | None, judged: Sequence[Judged]) -> dict[str, Any]:
    if summary is None:
        raise ReportError("there is nothing to summarise")
    by_category = summarize_by_category(j.score for j in judged)
    return {
        "meanLatencyMs": summary["mean_latency_ms"],
        "p50LatencyMs": summary["p50_latency_ms"],
        "p95LatencyMs": summary["p95_latency_ms"],
        "caseCount": summary["cases"],
        "meanPrecision": summary["mean_precision"],
        "meanRecall": summary["mean_recall"],
        "totalPassed": summary["passed"],
        "totalCases": summary["cases"],
        "passRate": summary["pass_rate"],
        "activeRetrievalPasses": summary["passed_active"],
        "passTypes": {
            "activeRetrieval": summary["passed_active"],
            "structural": summary["passed_structural"],
            "triviallyEmpty": summary["passed_trivially_empty"],
        },
        "measures": summary,
        "categories": [
            {
                "category": category,
                "caseCount": part["cases"],
                "passed": part["passed"],
                "failed": (part["cases"] or 0) - (part["passed"] or 0),
                "meanPrecision": part["mean_precision"],
                "meanRecall": part["mean_recall"],
                "measures": part,
            }
            for category, part in by_category.items()
        ],
    }


def _case(judged: Judged, diagnosis: Diagnosis) -> dict[str, Any]:
    record = judged.record
    head = {
        "caseId": record.case_id,
        "category": record.category,
        "description": record.description,
        "pinnedBeliefs": _list(record.pinned),
        "relevantBeliefs": list(record.relevant),
        "retrievedQuestions": _list(record.questions),
    }
    return head | _scored(judged, diagnosis)


def _turn(judged: Judged, diagnosis: Diagnosis) -> dict[str, Any]:
    record = judged.record
    noise = [b for b in judged.expected.must_not_surface if b in record.relevant]
    head = {
        "caseId": record.case_id,
        "category": record.category,
        "turnIndex": record.turn_index,
        "label": record.label,
        "retrievedBeliefIds": list(record.relevant),
        "pinnedBeliefIds": _list(record.pinned),
        "retrievedQuestions": _list(record.questions),
        "noiseBeliefIds": noise,
        "driftScore": judged.score.drift,
        "mutated": judged.score.mutated,
    }
    return head | _scored(judged, diagnosis)


def _scored(judged: Judged, diagnosis: Diagnosis) -> dict[str, Any]:
    record, score = judged.record, judged.score
    found = diagnosis.to_wire()
    return {
        "personaPrelude": record.prelude,
        "results": None
        if record.results is None
        else [
            {"rank": rank, "id": result.id, "score": result.score}
            for rank, result in enumerate(record.results, 1)
        ],
        "limit": record.limit,
        "passed": score.passed,
        "failures": list(judged.failures),
        "passKind": score.pass_kind,
        "isActive": score.is_active,
        "retrievalPrecision": score.precision,
        "retrievalRecall": score.recall,
        "pinnedCoverage": score.pinned_coverage,
        "questionPrecision": score.question_precision,
        "questionRecall": score.question_recall,
        "abstained": score.abstained,
        "hitAt1": score.hit_at_1,
        "rPrecision": score.r_precision,
        "firstRelevantRank": score.first_relevant_rank,
        "noise": dict(sorted(Counter(score.noise).items())),
        "wrong": found["wrong"],
        "lost": found["lost"],
        "leaks": score.leaks,
        "duplicates": score.duplicates,
        "unknownIds": score.unknown_ids,
        "overLimit": score.over_limit,
        "limitCoversEligible": score.limit_covers_eligible,
        "status": record.status,
        "error": record.error,
        "retrievalLatencyMs": record.latency_ms,
        **_repeats(record),
    }


def _repeats(record: Record) -> dict[str, Any]:
    if record.stable is None:
        return {}
    return {"repeats": {"latenciesMs": list(record.repeats_ms), "stable": record.stable}}


def _list(ids: tuple[str, ...] | None) -> list[str] | None:
    return None if ids is None else list(ids)
