"""Scores Parquet data sets of results again: the same rows, with scores under other rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .completeness import Seen
from .errors import HubError, PredictionError
from .folders import whole_folder
from .parquet_sets import ParquetSet, Piece, Source
from .partial_scores import Job, Part, Scored, score_batch
from .processes import on_processes
from .records import CaseScore, Expectation, Retrieval, Rules
from .scoring import failures
from .streaming import add_up, prepare

File = tuple[Piece, str, str]
"""What is read, where it is written, and where it will be."""


def rescore_set(
    source: Source,
    references: Iterable[Mapping[str, Any]],
    out: str | Path,
    *,
    rules: str | Rules,
    run_column: str | None = None,
    workers: int = 1,
) -> Scored:
    """Write a data set with its scores under ``rules``, a file for each of its files.

    The columns ``rules``, ``passed``, ``pass_kind``, ``precision``, ``recall``, ``drift`` and
    ``failures`` are replaced, or come last; all others stay as they are. The same input and
    rules give the same bytes, for any number of workers.

    Args:
        source: The rows.
        references: Rows of the dataset's ``retrieval`` and ``sessions`` configs.
        out: A directory that is empty or not there yet.
        rules: A rule set or its name.
        run_column: The column that tells runs apart; ``run_id`` or ``run`` if there is one.
        workers: Processes to share the work, a file each.

    Returns:
        The summaries; a case that a run lacks counts as a miss in them.

    Raises:
        InputError: ``out`` is not empty.
        PredictionError: As :func:`pmb_hf.streaming.score_set`.
    """
    target = Path(out).resolve()
    rows, job = prepare(source, references, rules=rules, run_column=run_column)
    try:
        # All of it or nothing: a set that lacks files looks like any other.
        with whole_folder(target) as unfinished:
            files = [
                (piece, str(unfinished / below), str(target / below))
                for piece in rows.whole_files()
                for below in [rows.below(piece)]
            ]
            for _, file, _ in files:
                Path(file).parent.mkdir(parents=True, exist_ok=True)
            with on_processes(workers, job, rows, _rescore_file, files) as parts:
                scored = add_up(job, rows, parts, "miss")
    except HubError:
        raise  # it is about what is read
    except OSError as error:
        raise PredictionError(f"{target} can't be written: {error.strerror or error}") from error
    return scored


def _rescore_file(job: Job, rows: ParquetSet, file: File) -> Part:
    import pyarrow
    import pyarrow.parquet

    piece, name, shown = file
    path = Path(name)
    part = Part(Seen(job.places))
    own = rows.own_schema(piece)
    writer = None
    try:
        for batch in rows.batches(piece, None):
            scored = score_batch(job, part, batch)
            if any(triple is None for triple in scored):
                raise PredictionError(f"{batch.path}: rows of a part without references")
            table = _with_scores(
                pyarrow,
                pyarrow.Table.from_batches([batch.data]).select(own.names).cast(own),
                scored,
                job.rules,
            )
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
    except HubError:
        raise
    except OSError as error:
        raise PredictionError(f"{shown} can't be written: {error.strerror or error}") from error
    return part


def _with_scores(
    pyarrow: Any,
    table: Any,
    scored: Sequence[tuple[Expectation, Retrieval, CaseScore] | None],
    rules: Rules,
) -> Any:
    triples = [triple for triple in scored if triple is not None]
    scores = [score for _, _, score in triples]
    text, number = pyarrow.string(), pyarrow.float64()
    columns = {
        "rules": (text, [rules.name] * len(scores)),
        "passed": (pyarrow.bool_(), [score.passed for score in scores]),
        "pass_kind": (text, [score.pass_kind for score in scores]),
        "precision": (number, [score.precision for score in scores]),
        "recall": (number, [score.recall for score in scores]),
        "drift": (number, [score.drift for score in scores]),
        "failures": (pyarrow.list_(text), [failures(case, got) for case, got, _ in triples]),
    }
    for name, (kind, values) in columns.items():
        cells = pyarrow.array(values, kind)
        place = table.schema.get_field_index(name)
        if place < 0:
            table = table.append_column(pyarrow.field(name, kind), cells)
        else:
            table = table.set_column(place, pyarrow.field(name, kind), cells)
    return table.replace_schema_metadata(None)
