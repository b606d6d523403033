"""The results of a sweep as one parquet dataset: a row a run, and a row a case and run.

The rows of the cases are those of the leaderboard's dataset, which can be scored again,
with the job in front; the summaries of a run have the same names there and here. A job
without a report is a row with its error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from ..dataset_rows import BOOL, FLOAT, INT, STRING, STRINGS
from ..engines.jobs import Job, Outcome
from ..leaderboard.answers import answer_rows
from ..leaderboard.facts import facts
from ..leaderboard.subjects import corpus_id
from ..leaderboard.tables import RESULTS, result_rows
from ..measures import COUNT_OF, MEASURES
from ..report import Evaluation, Report, judge
from ..report_reader import read_report
from ..schema import Corpus

DIRECTORY = "results"
RUNS, CASES = "runs", "cases"

_GROUP_ROWS = 5_000

Row = dict[str, Any]


class Entry(NamedTuple):
    """A job, how it ended, and the corpus that it was of."""

    job: Job
    outcome: Outcome
    corpus: Corpus


def write_results(entries: Iterable[Entry], home: Path) -> list[Path]:
    """Write ``results/runs/*.parquet`` and ``results/cases/*.parquet`` in ``home``.

    Reports are read one after the other, so that many need no more memory than few.
    """
    with (
        _Table(home / DIRECTORY / RUNS / "part-0.parquet", RUN_COLUMNS) as runs,
        _Table(home / DIRECTORY / CASES / "part-0.parquet", CASE_COLUMNS) as cases,
    ):
        for entry in entries:
            run, answers = rows_of(entry)
            runs.add([run])
            cases.add(answers)
    return [runs.path, cases.path]


class _Table:
    """A parquet file that appears when all its rows are written."""

    def __init__(self, path: Path, columns: Mapping[str, str]) -> None:
        import pyarrow as pa

        self.path, self._part = path, path.with_name(f".{path.name}.part")
        self._schema = pa.schema(list(_arrow(columns, pa)))
        self._rows: list[Row] = []

    def __enter__(self) -> Self:
        import pyarrow.parquet as pq

        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = pq.ParquetWriter(self._part, self._schema, compression="zstd")
        return self

    def add(self, rows: Sequence[Row]) -> None:
        """Write ``rows``, sooner or later: a group of few would be larger than its rows."""
        self._rows += rows
        if len(self._rows) >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, self._schema))
        self._rows = []

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None and self._rows:
                self._flush()
        finally:
            self._writer.close()
            if error is None:
                self._part.replace(self.path)
            else:
                self._part.unlink(missing_ok=True)


def rows_of(entry: Entry) -> tuple[Row, list[Row]]:
    """The row of a run, and those of its cases."""
    job, outcome, corpus = entry
    row: Row = dict.fromkeys(RUN_COLUMNS)
    recipe = job.recipe or {}
    row |= {
        "job": job.id,
        "status": outcome.status,
        "error": outcome.error,
        "tries": outcome.tries,
        "seconds": outcome.seconds,
        "memory_bytes": (outcome.memory or {}).get("provider"),
        "provider": job.name or job.provider,
        "options": _json(job.options),
        "corpus": corpus_id(corpus.name, corpus.sha256),
        "corpus_name": corpus.name,
        "corpus_sha256": corpus.sha256,
        "rules": job.rules,
        "text_mode": job.text_mode,
        "namespace": job.namespace,
        "beliefs": len(corpus.beliefs) + recipe.get("count", 0),
        "distractors": recipe.get("count", 0),
        "distractor_seed": recipe.get("seed"),
    }
    if not outcome.has_report:
        return row, []
    report = read_report(job.report_path)
    evaluation = judge(report, corpus)
    row |= _of_report(report, evaluation)
    row["report"] = f"{job.report_path.parent.name}/{job.report_path.name}"
    answers = answer_rows(row["run"], {job.rules: evaluation}, corpus)
    head = {"id": row["run"], "provider": row["provider"], "corpus": row["corpus"]}
    judged = (*evaluation.cases, *evaluation.turns)
    found = result_rows(head, job.rules, judged, answers, texts=True)
    return row, [{"job": job.id, **case} for case in found]


def _of_report(report: Report, evaluation: Evaluation) -> Row:
    found = facts(report)
    ingestion = found["ingestion"] or found["sessionIngestion"] or {}
    bulk = ingestion.get("distractors") or {}
    row: Row = {
        "run": found["id"],
        "provider_version": found["providerVersion"],
        "options": _json(found["options"]),
        "options_sha256": found["optionsSha256"],
        "text_mode": found["textMode"],
        "date": found["date"],
        "pmb_hf": found["pmbHf"],
        "stopped": found["stopped"],
        "can_update": found["canUpdate"],
        "visible_ms": ingestion.get("visibleAfterMs"),
        "add_p50_ms": ingestion.get("p50PerBeliefMs"),
        "bulk_per_second": bulk.get("perSecond"),
        "latency_ratio": evaluation.latency_ratio,
    }
    for part, summary in (("retrieval", evaluation.retrieval), ("session", evaluation.session)):
        if summary is not None:
            row |= {f"{part}_{name}": summary.get(name) for name in _SUMMARY}
    return row


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


_TEXT, _INT, _REAL, _FLAG, _TEXTS = STRING, INT, FLOAT, BOOL, STRINGS
_COUNTS = {"count"}
_SUMMARY = {
    name: kind
    for measure, spec in MEASURES.items()
    if measure != "latency_ratio"
    for name, kind in (
        (measure, _INT if spec.unit in _COUNTS else _REAL),
        (COUNT_OF.get(measure), _INT),
    )
    if name is not None
}

RUN_COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(("job", "run", "status", "error"), _TEXT),
    "tries": _INT,
    "seconds": _REAL,
    "memory_bytes": _INT,
    **dict.fromkeys(("provider", "provider_version", "options", "options_sha256"), _TEXT),
    **dict.fromkeys(
        ("corpus", "corpus_name", "corpus_sha256", "rules", "text_mode", "namespace"), _TEXT
    ),
    **dict.fromkeys(("beliefs", "distractors", "distractor_seed"), _INT),
    **dict.fromkeys(("date", "pmb_hf", "stopped", "report"), _TEXT),
    "can_update": _FLAG,
    **dict.fromkeys(("visible_ms", "add_p50_ms", "bulk_per_second", "latency_ratio"), _REAL),
    **{f"retrieval_{name}": kind for name, kind in _SUMMARY.items()},
    **{f"session_{name}": kind for name, kind in _SUMMARY.items()},
}
CASE_COLUMNS: Mapping[str, str] = {
    "job": _TEXT,
    **{column.name: column.type for column in RESULTS},
}


def _arrow(columns: Mapping[str, str], pa: Any) -> Iterator[Any]:
    kinds = {
        _TEXT: pa.string(),
        _INT: pa.int64(),
        _REAL: pa.float64(),
        _FLAG: pa.bool_(),
        _TEXTS: pa.list_(pa.string()),
    }
    for name, kind in columns.items():
        yield pa.field(name, kinds[kind])
