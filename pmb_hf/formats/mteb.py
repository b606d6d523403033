"""Results as MTEB keeps them: ``{provider}/{revision}/{task}.json``.

The revision is the run's id, since a provider is run with many settings. The main score is
the share of cases that pass, as in ``eval.yaml``. Values are 0 to 1, as MTEB's are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..measures import COUNT_OF, MEASURES
from .sheets import LANGUAGE, TASKS, Files, Sheet, epoch, slug

MAIN_SCORE = "pass_rate"


def files(found: Sequence[Sheet], repo: str | None = None) -> Files:  # noqa: ARG001
    """A file for each part of each run that has figures."""
    content: dict[str, str] = {}
    left_out: list[str] = []
    for sheet in found:
        left_out += sheet.hidden()
        for part, summary in sheet.summaries():
            path = f"{slug(sheet.row['provider'])}/{sheet.row['id']}/{TASKS[part]}.json"
            result = task_result(sheet, part, summary)
            content[path] = json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return Files(content, left_out)


def task_result(sheet: Sheet, part: str, summary: Mapping[str, Any]) -> dict[str, Any]:
    """One task's result; keys are those of MTEB's ``TaskResult``."""
    row = sheet.row
    scores = {
        name: summary[name] for name in (*MEASURES, *COUNT_OF.values()) if name and name in summary
    }
    return {
        "dataset_revision": sheet.corpus.sha256,
        "task_name": TASKS[part],
        "mteb_version": None,
        "scores": {
            "test": [
                {
                    **scores,
                    "main_score": summary[MAIN_SCORE],
                    "hf_subset": "default" if part == "retrieval" else "sessions",
                    "languages": [LANGUAGE],
                }
            ]
        },
        "evaluation_time": _seconds(sheet),
        "kg_co2_emissions": None,
        "date": None if row["date"] is None else epoch(row["date"]),
        "pmb_hf": {
            "provider": row["provider"],
            "provider_version": row["providerVersion"],
            "embedding_model": row["embeddingModel"],
            "llm": row["llm"],
            "options": row["options"],
            "corpus": row["corpus"],
            "rules": sheet.rules,
            "run_rules": row["runRules"],
            "marks": [mark["text"] for mark in sheet.figures["marks"]],
            "version": row["pmbHf"],
        },
    }


def _seconds(sheet: Sheet) -> float | None:
    """Time of all search calls."""
    judged = (*sheet.evaluation.cases, *sheet.evaluation.turns)
    times = [j.record.latency_ms for j in judged if j.record.latency_ms is not None]
    return round(sum(times) / 1000, 3) if times else None
