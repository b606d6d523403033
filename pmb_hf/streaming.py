"""Scores Parquet data sets that are larger than memory, in batches and on several processes.

A row is a prediction; rows of many runs may stand in one data set, told apart by a run
column. The tallies of parts add up to the tally of the whole (:class:`pmb_hf.summary.Tally`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .completeness import Key, Seen
from .errors import PredictionError
from .parquet_sets import ParquetSet, Piece, Source
from .partial_scores import Job, Part, RepeatError, Scored, name_of, score_batch
from .processes import on_processes
from .records import Expectation, Retrieval, RowError, Rules
from .repeats import with_places
from .rows import expectation_from_row
from .rules import get_rules
from .scoring import score_case
from .summary import Summary

RUN_COLUMNS = ("run_id", "run")
"""Columns that tell runs apart without being named."""

_COLUMNS = (
    *("case_id", "turn_index", "relevant_beliefs", "pinned_facts", "open_questions"),
    *("persona_prelude", "latency_ms", "status", "error", "returned_beliefs", "limit"),
)


def score_set(
    source: Source,
    references: Iterable[Mapping[str, Any]],
    *,
    rules: str | Rules = "spec",
    on_missing: str = "error",
    run_column: str | None = None,
    by: str | None = None,
    workers: int = 1,
) -> Scored:
    """Score the rows of a Parquet data set.

    Args:
        source: Where they are; columns that are not predictions are ignored.
        references: Rows of the dataset's ``retrieval`` or ``sessions`` config, or of both.
        rules: A rule set or its name.
        on_missing: ``"error"``, or ``"miss"`` to score a case that a run lacks as failed.
            A run is asked only for the parts (cases, turns) that it has rows of.
        run_column: The column that tells runs apart; ``run_id`` or ``run`` if there is one.
        by: A column whose values get a summary each.
        workers: Processes to share the work.

    Returns:
        The summaries. They are the same for any number of workers.

    Raises:
        PredictionError: If a row can't be read, or is of no case, or of one that its run
            has already; if a run lacks a case. It names file, row, case and field.
        MissingDependencyError: If pyarrow is not installed.
    """
    rows, job = prepare(source, references, rules=rules, run_column=run_column, by=by)
    with on_processes(workers, job, rows, score_piece, rows.pieces()) as parts:
        return add_up(job, rows, parts, on_missing)


def prepare(
    source: Source,
    references: Iterable[Mapping[str, Any]],
    *,
    rules: str | Rules,
    run_column: str | None = None,
    by: str | None = None,
) -> tuple[ParquetSet, Job]:
    """Open a data set and say what is to be done with it; see `score_set`."""
    rows = ParquetSet(source)
    return rows, Job(
        source=source,
        wanted=_wanted(references),
        rules=get_rules(rules),
        run_column=_run_column(rows, run_column),
        by=_column(rows, by),
    )


def add_up(job: Job, rows: ParquetSet, parts: Iterable[Part], on_missing: str) -> Scored:
    """What the parts of a data set come to together.

    Raises:
        PredictionError: As `score_set`.
    """
    total = Part(Seen(job.places))
    try:
        for part in parts:
            total.merge(part, job.run_column)
    except RepeatError as error:
        raise with_places(job, rows, error) from error
    missing = _misses(job, total, on_missing)
    if not total.rows:
        raise PredictionError(f"{job.source.path} holds {_nothing(job, total)}")
    return _scored(job, total, missing)


def score_piece(job: Job, rows: ParquetSet, piece: Piece) -> Part:
    """Score some of the rows of a data set.

    Raises:
        PredictionError: As `score_set`.
    """
    part = Part(Seen(job.places))
    columns = [*_COLUMNS, *filter(None, (job.run_column, job.by))]
    for batch in rows.batches(piece, columns):
        score_batch(job, part, batch)
    return part


def _wanted(references: Iterable[Mapping[str, Any]]) -> dict[Key, Expectation]:
    try:
        wanted = [expectation_from_row(row) for row in references]
    except RowError as error:
        raise PredictionError(str(error)) from error
    if not wanted:
        raise PredictionError("there are no references; give the rows of a dataset config")
    return {(expected.case_id, expected.turn_index): expected for expected in wanted}


def _column(rows: ParquetSet, name: str | None) -> str | None:
    if name is not None and name not in rows.columns:
        raise PredictionError(
            f"{rows.source.path} has no column {name!r}; it has: {', '.join(rows.columns)}"
        )
    return name


def _run_column(rows: ParquetSet, name: str | None) -> str | None:
    if name is not None:
        return _column(rows, name)
    return next((column for column in RUN_COLUMNS if column in rows.columns), None)


def _misses(job: Job, total: Part, on_missing: str) -> int:
    """Score what runs lack as misses, or refuse it."""
    if on_missing not in ("error", "miss"):
        raise PredictionError(f"on_missing must be 'error' or 'miss', not {on_missing!r}")
    missing = 0
    for run, keys in total.seen.lacking():
        if on_missing == "error":
            of_run = "" if run is None else f" of run {run!r}"
            raise PredictionError(
                f"no prediction{of_run} for case {name_of(keys[0])}"
                + (f" and {len(keys) - 1} more" if len(keys) > 1 else "")
                + "; to score it as a miss give --on-missing miss (on_missing='miss')"
            )
        got = Retrieval(status="missing", error="no prediction")
        group = total.group_of.get(run)
        groups = [] if group is None else [group] * len(keys)
        total.add([score_case(job.wanted[key], got, job.rules) for key in keys], groups)
        missing += len(keys)
    return missing


def _nothing(job: Job, total: Part) -> str:
    """Why there is nothing to score."""
    if total.left_out:
        return "no rows of the parts that were asked for"
    if not job.source.where:
        return "no rows"
    rows = ParquetSet(job.source)
    where = " and ".join(f"{name}={value}" for name, value in job.source.where.items())
    there = "; ".join(f"{name} is {' or '.join(rows.values(name))}" for name in job.source.where)
    return f"no rows with {where}: {there}"


def _scored(job: Job, total: Part, missing: int) -> Scored:
    groups: dict[str, dict[str, Summary]] = {}
    for (group, part), tally in sorted(total.groups.items()):
        groups.setdefault(group, {})[part] = tally.summary()
    categories = dict.fromkeys(expected.category for expected in job.wanted.values())
    return Scored(
        summaries={part: tally.summary() for part, tally in sorted(total.tallies.items())},
        by_category={
            name: total.categories[name].summary()
            for name in categories
            if name in total.categories
        },
        groups=groups,
        rows=total.rows,
        runs=total.seen.runs,
        missing=missing,
        left_out=total.left_out,
        near_misses=total.near,
        examples=tuple(total.examples),
    )
