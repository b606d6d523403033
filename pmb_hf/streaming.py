"""Scores Parquet data sets that are larger than memory, in batches and on several processes.

A row is a prediction; rows of many runs may stand in one data set, told apart by a run
column. Each row is scored by the same rules as anywhere else and adds to a tally; the tallies
of parts add up to the tally of the whole (:class:`pmb_hf.summary.Tally`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from multiprocessing import get_context
from typing import Any, NamedTuple, TypeVar

from .completeness import Key, Places, Run, Seen
from .errors import PredictionError
from .orphans import end_with
from .parquet_sets import Batch, ParquetSet, Piece, Source, as_text
from .records import CaseScore, Expectation, Retrieval, RowError, Rules
from .rows import expectation_from_row, near_misses, retrieval_from_row, row_key
from .rules import get_rules
from .scoring import score_case
from .summary import Summary, Tally

T = TypeVar("T")

RUN_COLUMNS = ("run_id", "run")
"""Columns that tell runs apart without being named."""

_COLUMNS = (
    *("case_id", "turn_index", "relevant_beliefs", "pinned_facts", "open_questions"),
    *("persona_prelude", "latency_ms", "status", "error"),
)
_EXAMPLES = 5


@dataclass(frozen=True)
class Job:
    """What a worker has to know.

    Attributes:
        source: Where the rows are.
        wanted: The cases by key.
        rules: The rule set.
        run_column: The column that tells runs apart, or None for one run.
        by: A column whose values get a summary each, or None.
    """

    source: Source
    wanted: Mapping[Key, Expectation]
    rules: Rules
    run_column: str | None = None
    by: str | None = None

    @cached_property
    def places(self) -> Places:
        """The cases, numbered."""
        return Places(self.wanted)

    @cached_property
    def parts(self) -> frozenset[str]:
        """The parts that the cases are of."""
        return frozenset(part_of(turn) for _, turn in self.wanted)


class Scored(NamedTuple):
    """What a data set comes to.

    Attributes:
        summaries: By part: ``retrieval``, ``sessions``.
        by_category: By category, in the order of the cases.
        groups: By value of the ``by`` column, then by part; {} without one. What a run lacks
            counts in its group, unless its rows are of several.
        rows: Rows that were scored.
        runs: Number of runs.
        missing: Cases that a run lacks, scored as misses.
        left_out: Rows of the part that was not asked for.
        near_misses: Ids that differ from a known one in case, blanks or Unicode form alone.
        examples: The first near misses, as sentences.
    """

    summaries: dict[str, Summary]
    by_category: dict[str, Summary]
    groups: dict[str, dict[str, Summary]]
    rows: int
    runs: int
    missing: int
    left_out: int
    near_misses: int
    examples: tuple[str, ...]


@dataclass
class Part:
    """What some of the rows come to."""

    seen: Seen
    tallies: dict[str, Tally] = field(default_factory=dict)
    categories: dict[str, Tally] = field(default_factory=dict)
    groups: dict[tuple[str, str], Tally] = field(default_factory=dict)
    rows: int = 0
    left_out: int = 0
    near: int = 0
    examples: list[str] = field(default_factory=list)
    folded: dict[Key, dict[str, str]] = field(default_factory=dict)
    group_of: dict[Run, str | None] = field(default_factory=dict)

    def add(self, scores: Sequence[CaseScore], groups: Sequence[str]) -> None:
        """Take in scores, and the group of each if there are groups."""
        _add(self.tallies, scores, [part_of(score.turn_index) for score in scores])
        _add(self.categories, scores, [score.category for score in scores])
        if groups:
            parts = [part_of(score.turn_index) for score in scores]
            _add(self.groups, scores, list(zip(groups, parts, strict=True)))

    def merge(self, other: Part, run_column: str | None) -> None:
        """Take in what other rows come to.

        Raises:
            PredictionError: If both have one case of one run.
        """
        repeated = self.seen.merge(other.seen)
        if repeated is not None:
            run, keys = repeated
            if run is None and run_column is not None:
                raise PredictionError(f"a run of column {run_column!r} is there more than once")
            raise PredictionError(_repeated(run, keys[0]))
        for mine, others in (
            (self.tallies, other.tallies),
            (self.categories, other.categories),
            (self.groups, other.groups),
        ):
            _merge(mine, others)
        self.rows += other.rows
        self.left_out += other.left_out
        self.near += other.near
        self.examples = [*self.examples, *other.examples][:_EXAMPLES]
        for run, group in other.group_of.items():
            self.note_group(run, group)

    def note_group(self, run: Run, group: str | None) -> None:
        """Remember the group of a run, so that what it lacks counts there; None if of several."""
        known = self.group_of.setdefault(run, group)
        if known != group:
            self.group_of[run] = None


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
    with on_processes(workers, job, score_piece, rows.pieces()) as parts:
        return add_up(job, parts, on_missing)


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


def add_up(job: Job, parts: Iterable[Part], on_missing: str) -> Scored:
    """What the parts of a data set come to together.

    Raises:
        PredictionError: As `score_set`.
    """
    total = Part(Seen(job.places))
    for part in parts:
        total.merge(part, job.run_column)
    missing = _misses(job, total, on_missing)
    if not total.rows:
        what = "no rows of the parts that were asked for" if total.left_out else "no rows"
        raise PredictionError(f"{job.source.path} holds {what}")
    return _scored(job, total, missing)


def part_of(turn_index: int | None) -> str:
    """The dataset config that a row with this turn belongs to."""
    return "retrieval" if turn_index is None else "sessions"


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


def score_batch(
    job: Job, part: Part, batch: Batch
) -> list[tuple[Expectation, Retrieval, CaseScore] | None]:
    """Score a batch into ``part``.

    Returns:
        What was scored, row by row; None for a row of the part that was not asked for.

    Raises:
        PredictionError: As `score_set`.
    """
    scored: list[tuple[Expectation, Retrieval, CaseScore] | None] = []
    groups = []
    for number, row in zip(batch.numbers, batch.rows, strict=True):
        try:
            pair = _read(job, part, row)
        except RowError as error:
            raise PredictionError(f"{batch.path}: row {number}: {error}") from error
        if pair is None:
            scored.append(None)
            continue
        scored.append((*pair, score_case(*pair, job.rules)))
        if job.by is not None:
            group = as_text(row.get(job.by))
            groups.append(group)
            part.note_group(_run_of(job, row), group)
    scores = [triple[2] for triple in scored if triple is not None]
    part.rows += len(scores)
    part.add(scores, groups)
    return scored


def _read(job: Job, part: Part, row: Mapping[str, Any]) -> tuple[Expectation, Retrieval] | None:
    """A row and its case; None if it is of the part that was not asked for."""
    key = row_key(row, "prediction")
    expected = job.wanted.get(key)
    if expected is None:
        if part_of(key[1]) not in job.parts:
            part.left_out += 1
            return None
        raise RowError(f"there is no case {_case(key)} in the references")
    run = _run_of(job, row)
    if part.seen.add(run, job.places.bits[key]):
        raise RowError(_repeated(run, key))
    got = retrieval_from_row(row)
    _note_near_misses(part, expected, got)
    return expected, got


def _run_of(job: Job, row: Mapping[str, Any]) -> Run:
    return None if job.run_column is None else as_text(row.get(job.run_column))


def _note_near_misses(part: Part, expected: Expectation, got: Retrieval) -> None:
    key = (expected.case_id, expected.turn_index)
    for belief, near in near_misses(expected, got.relevant, part.folded.setdefault(key, {})):
        part.near += 1
        if len(part.examples) < _EXAMPLES:
            part.examples.append(f"case {_case(key)}: {belief!r} is not {near!r}")


_worker: tuple[Job, ParquetSet]


def _start(job: Job, parent: int) -> None:
    end_with(parent)
    global _worker  # noqa: PLW0603 - what a process needs for each of its pieces
    _worker = job, ParquetSet(job.source)


def _work(do: Callable[[Job, ParquetSet, T], Part], task: T) -> Part:
    return do(*_worker, task)


@contextmanager
def on_processes(
    workers: int, job: Job, do: Callable[[Job, ParquetSet, T], Part], tasks: Sequence[T]
) -> Iterator[Iterator[Part]]:
    """What each task comes to, in the order of the tasks; ``do`` is a function of a module.

    Raises:
        PredictionError: ``workers`` is less than 1, or a process died.
    """
    if workers < 1:
        raise PredictionError(f"workers is {workers}: give 1 or more")
    workers = min(workers, len(tasks))
    if workers <= 1:
        rows = ParquetSet(job.source)
        yield (do(job, rows, task) for task in tasks)
        return
    # spawn: a fork of a process with Arrow's threads may hang.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _start, (job, os.getpid()))
    try:
        yield pool.map(partial(_work, do), tasks)
    except BrokenProcessPool as error:
        raise PredictionError(
            f"{job.source.path}: a worker process ended; was it out of memory? Try fewer --workers"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


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
                f"no prediction{of_run} for case {_case(keys[0])}"
                + (f" and {len(keys) - 1} more" if len(keys) > 1 else "")
                + "; to score it as a miss give --on-missing miss (on_missing='miss')"
            )
        got = Retrieval(status="missing", error="no prediction")
        group = total.group_of.get(run)
        groups = [] if group is None else [group] * len(keys)
        total.add([score_case(job.wanted[key], got, job.rules) for key in keys], groups)
        missing += len(keys)
    return missing


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


def _add(tallies: dict[Any, Tally], scores: Sequence[CaseScore], names: Sequence[Any]) -> None:
    by_name: dict[Any, list[CaseScore]] = {}
    for name, score in zip(names, scores, strict=True):
        by_name.setdefault(name, []).append(score)
    for name, rows in by_name.items():
        tallies.setdefault(name, Tally()).add(rows)


def _merge(mine: dict[Any, Tally], others: Mapping[Any, Tally]) -> None:
    for name, tally in others.items():
        mine.setdefault(name, Tally()).merge(tally)


def _case(key: Key) -> str:
    return repr(key[0]) + ("" if key[1] is None else f" turn {key[1]}")


def _repeated(run: Run, key: Key) -> str:
    if run is None:
        return (
            f"case {_case(key)} is there more than once; if the rows are of several runs, name "
            "the column that tells them apart: --run-column"
        )
    return f"case {_case(key)} of run {run!r} is there more than once"
