"""Reports for tests of boards and exports, made by real runs on the tiny corpus."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from pmb_hf.leaderboard.board import Run, board
from pmb_hf.leaderboard.facts import Row
from pmb_hf.report import Report
from pmb_hf.report_json import report_json
from pmb_hf.runner import run
from pmb_hf.schema import Corpus


def ran(corpus: Corpus, provider: str = "bm25", rules: str = "spec", **options: object) -> Report:
    """A run, at a fixed time and without latencies, so that its bytes are always the same."""
    report = run(provider, options=options, corpus=corpus, rules=rules)
    times = {"startedAt": "2026-01-02T03:04:05Z", "finishedAt": "2026-01-02T03:04:06Z"}
    return replace(
        report,
        records=tuple(replace(record, latency_ms=None) for record in report.records),
        changes=tuple(replace(c, latency_ms=None, visible_ms=None) for c in report.changes),
        provenance={**report.provenance, **times},
        ingestion=None,
        session_ingestion=None,
    )


def without(report: Report, number: int) -> Report:
    """The report without its last ``number`` single-turn records."""
    return replace(report, records=report.cases[: len(report.cases) - number] + report.turns)


def failing(report: Report, number: int) -> Report:
    """The report with its first ``number`` searches answered by a 503."""
    failed = tuple(
        replace(r, status="error", error="HTTP 503", relevant=(), results=None)
        for r in report.records[:number]
    )
    return replace(report, records=failed + report.records[number:])


def under(report: Report, **provenance: Any) -> Report:
    """The report with other provenance."""
    return replace(report, provenance={**report.provenance, **provenance})


def with_options(report: Report, **options: object) -> Report:
    """The report with other options of its provider."""
    config = report.provenance["config"]
    return under(report, config={**config, "options": {**config["options"], **options}})


def boarded(corpus: Corpus | None, *reports: Report, **options: Any) -> Row:
    """The board of reports on one corpus, without upstream's published rows."""
    return board([Run(report, corpus) for report in reports], **{"published": False, **options})


def rows_of(tree: Row) -> list[Row]:
    """The board's rows without floors and ceilings."""
    return [row for row in tree["rows"] if row["source"] != "control"]


def marks_of(row: Row, rules: str = "spec") -> list[str]:
    """What the marks of a row are about."""
    return [mark["what"] for mark in row["scores"][rules]["marks"]]


def wrote(directory: Path, corpus: Corpus, name: str, report: Report) -> Path:
    """The report's file."""
    path = directory / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report_json(report, corpus), encoding="utf-8")
    return path


def strict(path: Path) -> Any:
    """A file as strict JSON."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no strict JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
