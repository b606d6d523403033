"""Finds both places of a case that a run of a data set has twice.

Scoring keeps a bit a case and no places, so they are looked for once it is known whose they are.
"""

from __future__ import annotations

from .completeness import Key, Run, digest
from .errors import PredictionError
from .parquet_sets import ParquetSet
from .partial_scores import Job, RepeatError, repeated, run_of
from .records import RowError
from .rows import row_key

Place = tuple[str, int]


def with_places(job: Job, rows: ParquetSet, error: RepeatError) -> PredictionError:
    """The same error with both places, file and row, of the first case that is repeated.

    Raises:
        PredictionError: The set can't be read again.
    """
    first: dict[tuple[Run, Key], Place] = {}
    columns = ["case_id", "turn_index", *filter(None, [job.run_column])]
    known: dict[Run, bool] = {}
    for piece in rows.whole_files():
        for batch in rows.batches(piece, columns):
            for number, row in zip(batch.numbers, batch.rows, strict=True):
                run = run_of(job, row)
                if run not in known:
                    known = {run: digest(run) in error.runs}
                if not known[run]:
                    continue
                try:
                    key = row_key(row, "prediction")
                except RowError:
                    continue  # of a later row: it is not what is wrong first
                if key not in job.wanted:
                    continue
                place = (batch.path, number)
                before = first.setdefault((run, key), place)
                if before != place:
                    return PredictionError(_message(run, key, before, place))
    return error


def _message(run: Run, key: Key, first: Place, second: Place) -> str:
    file = "" if first[0] == second[0] else f"{first[0]}: "
    also = f", first in {file}row {first[1]}"
    return f"{second[0]}: row {second[1]}: {repeated(run, key, also)}"
