"""What the rows of a data set come to, some of them at a time, to be added up.

Each row is scored by the same rules as anywhere else and adds to a tally.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from .completeness import Key, Places, Run, Seen, digest
from .errors import PredictionError
from .parquet_sets import Batch, Source, as_text
from .records import CaseScore, Expectation, Retrieval, RowError, Rules
from .rows import meant, near_misses, retrieval_from_row, row_key
from .scoring import score_case
from .summary import Summary, Tally

_EXAMPLES = 5


class RepeatError(PredictionError):
    """A run has a case more than once.

    Attributes:
        runs: The hashes of the runs that may be meant.
    """

    def __init__(self, message: str, runs: frozenset[int] = frozenset()) -> None:
        """Say what is there twice."""
        super().__init__(message)
        self.runs = runs


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
            RepeatError: If both have one case of one run.
        """
        both = self.seen.merge(other.seen)
        if both is not None:
            if both.run is None and run_column is not None:
                said = f"a run of column {run_column!r} is there more than once"
                raise RepeatError(said, both.runs)
            raise RepeatError(repeated(both.run, both.keys[0]), both.runs)
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


def score_batch(
    job: Job, part: Part, batch: Batch
) -> list[tuple[Expectation, Retrieval, CaseScore] | None]:
    """Score a batch into ``part``.

    Returns:
        What was scored, row by row; None for a row of the part that was not asked for.

    Raises:
        PredictionError: As `score_set`.
        RepeatError: If a run has a case twice.
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
            part.note_group(run_of(job, row), group)
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
        said = f"there is no case {name_of(key)} in the references"
        raise RowError(said + meant(key, job.wanted))
    run = run_of(job, row)
    if part.seen.add(run, job.places.bits[key]):
        raise RepeatError(repeated(run, key), frozenset([digest(run)]))
    got = retrieval_from_row(row)
    _note_near_misses(part, expected, got)
    return expected, got


def run_of(job: Job, row: Mapping[str, Any]) -> Run:
    """The run of a row; None if there is one run only."""
    return None if job.run_column is None else as_text(row.get(job.run_column))


def _note_near_misses(part: Part, expected: Expectation, got: Retrieval) -> None:
    key = (expected.case_id, expected.turn_index)
    for belief, near in near_misses(expected, got.relevant, part.folded.setdefault(key, {})):
        part.near += 1
        if len(part.examples) < _EXAMPLES:
            part.examples.append(f"case {name_of(key)}: {belief!r} is not {near!r}")


def part_of(turn_index: int | None) -> str:
    """The dataset config that a row with this turn belongs to."""
    return "retrieval" if turn_index is None else "sessions"


def name_of(key: Key) -> str:
    """A case as messages name it."""
    return repr(key[0]) + ("" if key[1] is None else f" turn {key[1]}")


def repeated(run: Run, key: Key, also: str = "") -> str:
    """What is said of a case that a run has twice, and where ``also``."""
    if run is None:
        return (
            f"case {name_of(key)} is there more than once{also}; if the rows are of several runs, "
            "name the column that tells them apart: --run-column"
        )
    return f"case {name_of(key)} of run {run!r} is there more than once{also}"


def _add(tallies: dict[Any, Tally], scores: Sequence[CaseScore], names: Sequence[Any]) -> None:
    by_name: dict[Any, list[CaseScore]] = {}
    for name, score in zip(names, scores, strict=True):
        by_name.setdefault(name, []).append(score)
    for name, rows in by_name.items():
        tallies.setdefault(name, Tally()).add(rows)


def _merge(mine: dict[Any, Tally], others: Mapping[Any, Tally]) -> None:
    for name, tally in others.items():
        mine.setdefault(name, Tally()).merge(tally)
