"""Every Eval Ever, schema 0.3.0: one aggregate file a run, and its cases as JSON Lines.

The model is the memory system, its models and options are details. Times are the report's, so
the same report gives the same bytes; file names are UUIDs made of the run's id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from .._version import __version__
from ..dataset_rows import query_id
from ..explain import subjects
from ..measures import MEASURES, Measure
from ..official import REPOSITORY
from ..report import Judged
from .sheets import TASKS, Files, Sheet, epoch, slug

SCHEMA_VERSION = "0.3.0"
BENCHMARK, DEVELOPER = "precisionmembench", "unknown"
WITHHELD = "(text not published)"


def files(found: Sequence[Sheet], repo: str | None = None) -> Files:
    """``data/{benchmark}/{developer}/{model}/{uuid}.json`` and ``…_samples.jsonl`` of each run."""
    content: dict[str, str] = {}
    left_out: list[str] = []
    for sheet in found:
        label = sheet.row["label"]
        left_out += sheet.hidden()
        if sheet.row["date"] is None:
            left_out.append(f"{label}: its report does not say when it was run")
        elif not list(sheet.summaries()):
            left_out.append(f"{label}: it has no figures")
        else:
            stem = path_of(sheet)
            content[f"{stem}.json"] = _json(aggregate(sheet, repo), indent=2) + "\n"
            content[f"{stem}_samples.jsonl"] = "".join(
                f"{_json(row)}\n" for row in instances(sheet)
            )
    return Files(content, left_out)


def path_of(sheet: Sheet) -> str:
    """The path of a run's files, without their endings."""
    digest = hashlib.sha256(f"{sheet.row['id']} {sheet.rules}".encode()).digest()
    name = UUID(bytes=digest[:16], version=4)
    return f"data/{BENCHMARK}/{DEVELOPER}/{slug(sheet.row['provider'])}/{name}"


def aggregate(sheet: Sheet, repo: str | None = None) -> dict[str, Any]:
    """The run's rates, each with its n."""
    row = sheet.row
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": _evaluation_id(sheet),
        "retrieved_timestamp": str(epoch(row["date"])),
        "source_metadata": {
            "source_name": "pmb-hf",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "model_info": {
            "name": row["provider"],
            "id": _model_id(sheet),
            "developer": DEVELOPER,
            "additional_details": _details(sheet),
        },
        "eval_library": {"name": "pmb-hf", "version": row["pmbHf"] or __version__},
        "evaluation_results": [
            _result(sheet, part, MEASURES[name], summary, repo)
            for part, summary in sheet.summaries()
            for name in MEASURES
            if MEASURES[name].unit == "rate" and summary.get(name) is not None
        ],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": f"{path_of(sheet)}_samples.jsonl",
            "total_rows": len(sheet.evaluation.cases) + len(sheet.evaluation.turns),
        },
    }


def _details(sheet: Sheet) -> dict[str, str]:
    row = sheet.row
    found = {
        "provider_version": row["providerVersion"],
        "embedding_model": row["embeddingModel"],
        "llm": row["llm"],
        "options": _json(row["options"], sort_keys=True),
        "corpus": row["corpus"],
        "corpus_sha256": sheet.corpus.sha256,
        "rules": sheet.rules,
        "run_rules": row["runRules"],
        "marks": "; ".join(mark["text"] for mark in sheet.figures["marks"]) or None,
    }
    known = {name: str(value) for name, value in found.items() if value is not None}
    return {"deployment_type": "unknown", "model_availability": "unknown", **known}


def _result(
    sheet: Sheet, part: str, measure: Measure, summary: Mapping[str, Any], repo: str | None
) -> dict[str, Any]:
    n = summary.get(measure.n or "cases")
    source: dict[str, Any] = {
        "dataset_name": f"PrecisionMemBench ({sheet.corpus.name})",
        "source_type": "url",
        "url": [f"https://github.com/{REPOSITORY}"],
    }
    if repo is not None and sheet.shows_texts:
        source = {
            "dataset_name": "PrecisionMemBench",
            "source_type": "hf_dataset",
            "hf_repo": repo,
            "hf_split": "test",
            "samples_number": summary["cases"],
        }
    return {
        "evaluation_name": f"{TASKS[part]} / {measure.label}",
        "source_data": source,
        "metric_config": {
            "metric_id": f"{BENCHMARK}.{part}.{measure.name}",
            "metric_name": measure.label,
            "metric_unit": "proportion",
            "evaluation_description": measure.definition,
            "lower_is_better": measure.better == "lower",
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": {
            "score": summary[measure.name],
            "uncertainty": {"num_samples": n},
        },
    }


def instances(sheet: Sheet) -> Iterator[dict[str, Any]]:
    """A row a case; where its text may not be published, its id stands for it."""
    queries = {s.key: s.query for s in subjects(sheet.corpus)} if sheet.shows_texts else {}
    for part, _ in sheet.summaries():
        for judged in sheet.part(part):
            yield _instance(sheet, part, judged, queries.get(judged.record.key, WITHHELD))


def _instance(sheet: Sheet, part: str, judged: Judged, query: str) -> dict[str, Any]:
    record = judged.record
    row: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": _evaluation_id(sheet),
        "model_id": _model_id(sheet),
        "evaluation_name": TASKS[part],
        "sample_id": query_id(*record.key),
        "interaction_type": "single_turn",
        "input": {"raw": query, "reference": list(judged.expected.needed)},
        "output": {"raw": list(record.relevant)},
        "messages": None,
        "answer_attribution": [],
        "evaluation": {"score": float(judged.score.passed), "is_correct": judged.score.passed},
    }
    if record.latency_ms is not None:
        row["performance"] = {"latency_ms": record.latency_ms}
    return row


def _model_id(sheet: Sheet) -> str:
    return f"{DEVELOPER}/{slug(sheet.row['provider'])}"


def _evaluation_id(sheet: Sheet) -> str:
    return f"{BENCHMARK}/{_model_id(sheet)}/{epoch(sheet.row['date'])}"


def _json(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, indent=indent, sort_keys=sort_keys
    )
