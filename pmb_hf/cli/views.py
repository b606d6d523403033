"""What ``--json`` prints: the same figures as the tables, as mappings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..baselines import Baseline
from ..explain import Answer, Line, Subject
from ..providers.protocol import Option, ProviderInfo
from ..records import CaseScore
from ..report import Evaluation, Judged, Report
from ..summary import summarize_by_category
from ..tables.remarks import remarks


def overview(
    report: Report,
    evaluation: Evaluation,
    baselines: Sequence[Baseline] = (),
    subjects: Sequence[Subject] = (),
) -> dict[str, Any]:
    """A report's summaries, with floor and ceiling and what qualifies them."""
    keys = {j.record.key for j in (*evaluation.cases, *evaluation.turns)}
    return {
        "provider": report.provider,
        "corpus": report.corpus_name,
        "corpusSha256": report.corpus_sha256,
        "distractors": report.among,
        "rules": evaluation.rules.name,
        "upstream": report.upstream,
        "canUpdate": report.can_update,
        "stopped": report.provenance.get("stopped"),
        "retrieval": evaluation.retrieval,
        "session": evaluation.session,
        "latencyRatio": evaluation.latency_ratio,
        "ingestion": None if report.ingestion is None else _ingestion(report.ingestion.to_wire()),
        "categories": summarize_by_category(j.score for j in evaluation.cases),
        "baselines": {b.name: {"retrieval": b.retrieval, "session": b.session} for b in baselines},
        "missing": [_key(key) for key in evaluation.missing],
        "notInfluenced": [
            {**_key(s.key), "reason": s.unreachable}
            for s in subjects
            if s.unreachable is not None and s.key in keys
        ],
        "remarks": [str(remark) for remark in remarks(report, evaluation, subjects)],
    }


def _ingestion(wire: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wire.items() if name != "perBelief"}


def _key(key: tuple[str, int | None]) -> dict[str, Any]:
    return {"caseId": key[0], "turnIndex": key[1]}


def failed(judged: Iterable[Judged]) -> list[dict[str, Any]]:
    """Failed cases with what failed."""
    return [
        {
            **_key(j.record.key),
            "category": j.record.category,
            "status": j.record.status,
            "failures": list(j.failures),
            "relevantBeliefs": list(j.record.relevant),
        }
        for j in judged
    ]


def case_row(subject: Subject) -> dict[str, Any]:
    """A case as a list shows it."""
    return {
        **_key(subject.key),
        "category": subject.category,
        "query": subject.query,
        "userId": subject.user_id,
        "scopes": list(subject.scopes),
        "passKind": subject.expected.pass_kind,
        "notInfluenced": subject.unreachable,
    }


def explanation(subject: Subject, answers: Sequence[Answer]) -> dict[str, Any]:
    """A case with what is expected, and each report's answer."""
    expected = subject.expected
    return {
        **_key(subject.key),
        "category": subject.category,
        "label": subject.label or None,
        "description": subject.description,
        "rationale": subject.rationale or None,
        "notes": subject.notes or None,
        "query": subject.query,
        "userId": subject.user_id,
        "scopes": list(subject.scopes),
        "budget": subject.budget,
        "room": max(subject.room, 0),
        "passKind": expected.pass_kind,
        "notInfluenced": subject.unreachable,
        "expected": {
            "relevantMustInclude": list(expected.relevant_must_include),
            "relevantMustExclude": list(expected.relevant_must_exclude),
            "relevantOnly": _optional(expected.relevant_only),
            "relevantOrder": [list(pair) for pair in expected.relevant_order],
            "pinnedMustInclude": list(expected.pinned_must_include),
            "pinnedMustExclude": list(expected.pinned_must_exclude),
            "pinnedOrder": [list(pair) for pair in expected.pinned_order],
            "questionsMustInclude": list(expected.questions_must_include),
            "questionsMustExclude": list(expected.questions_must_exclude),
            "questionsOnly": _optional(expected.questions_only),
            "preludeNonEmpty": expected.prelude_non_empty,
            "preludeIsNull": expected.prelude_is_null,
            "preludeContains": list(expected.prelude_contains),
            "preludeMustNotContain": list(expected.prelude_must_not_contain),
            "mustNotSurface": list(expected.must_not_surface),
        },
        "beliefs": {
            belief: subject.text(belief) for belief in sorted(_mentioned(subject, answers))
        },
        "answers": [_answer(answer) for answer in answers],
    }


def _optional(ids: tuple[str, ...] | None) -> list[str] | None:
    return None if ids is None else list(ids)


def _mentioned(subject: Subject, answers: Sequence[Answer]) -> set[str]:
    expected = subject.expected
    found = {
        *expected.gold,
        *expected.relevant_must_exclude,
        *expected.pinned_must_include,
        *expected.pinned_must_exclude,
        *expected.questions_must_include,
        *expected.questions_must_exclude,
        *(expected.questions_only or ()),
        *expected.must_not_surface,
        *subject.pinned,
        *subject.questions,
    }
    for answer in answers:
        lines = (*answer.relevant, *answer.missing, *(answer.dropped or ()))
        found.update(line.belief_id for line in lines)
    return found


def _answer(answer: Answer) -> dict[str, Any]:
    record, score = answer.judged.record, answer.judged.score
    return {
        "provider": answer.provider,
        "passed": score.passed,
        "status": record.status,
        "error": record.error,
        "failures": list(answer.judged.failures),
        "relevant": [_line(line) for line in answer.relevant],
        "missing": [line.belief_id for line in answer.missing],
        "dropped": None if answer.dropped is None else [_line(line) for line in answer.dropped],
        "pinned": _optional(record.pinned),
        "questions": _optional(record.questions),
        "prelude": record.prelude,
        "limit": record.limit,
        "latencyMs": record.latency_ms,
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "beliefId": line.belief_id,
        "mark": line.mark,
        "rank": line.rank,
        "score": line.score,
        "fate": line.fate or None,
        "addedBy": line.added_by,
    }


def score_row(score: CaseScore) -> dict[str, Any]:
    """One case's score."""
    lists = {name: list(getattr(score, name)) for name in ("noise", "dropped", "lost")}
    return {**score._asdict(), **lists}


def provider(info: ProviderInfo) -> dict[str, Any]:
    """A provider as a list shows it."""
    return {
        "name": info.name,
        "state": info.state,
        "summary": info.summary,
        "extra": info.extra,
        "environment": info.environment,
        "version": info.version,
        "hint": info.hint,
        "live": info.live,
        "package": info.package,
        "interface": info.interface,
        "options": [_option(option) for option in info.options],
    }


def _option(option: Option) -> dict[str, Any]:
    return {
        "name": option.name,
        "type": option.type.__name__,
        "default": option.default,
        "help": option.help,
    }
