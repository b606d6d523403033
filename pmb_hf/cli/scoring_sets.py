"""``pmb score`` on data sets: directories, Hub addresses, Parquet files of many runs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from .options import key_values
from .output import note, show, show_json

RunColumnOption = Annotated[
    str | None,
    typer.Option(
        "--run-column",
        metavar="COLUMN",
        help="The column that tells the runs of a data set apart. Default: run_id or run.",
    ),
]
ByOption = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMN", help="Summarise a data set by this column, too."),
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE",
        help="Only these rows of a data set; several columns are joined by and.",
    ),
]
WorkersOption = Annotated[
    int, typer.Option("--workers", min=1, metavar="N", help="Processes to score a data set with.")
]


def address(path: str | Path) -> str:
    """A path as it was typed: a `Path` makes one slash of the two in ``hf://``."""
    text = str(path)
    return text.replace("hf:/", "hf://", 1) if re.match("hf:/[^/]", text) else text


def data_source(path: str) -> bool:
    """Whether this is a data set by its name: a directory, an address, a Parquet file."""
    from ..parquet_sets import is_set

    return is_set(path) or path.endswith(".parquet")


def is_data_set(predictions: str, asked: Sequence[object]) -> bool:
    """Whether predictions are streamed: no single file, asked for as a set, or of runs."""
    from ..parquet_sets import ParquetSet, Source, is_set

    if is_set(predictions) or not data_source(predictions):
        return is_set(predictions)
    if any(asked):
        return True
    from ..streaming import RUN_COLUMNS

    columns = ParquetSet(Source(predictions, {})).columns
    return not set(RUN_COLUMNS).isdisjoint(columns)


def _check_folder(path: Path) -> None:
    """Point from the folder of a sweep to the rows in it.

    Raises:
        InputError: If it is one, or that of its two tables.
    """
    from ..engines.ledger import LEDGER_FILE

    here = path.absolute()
    for home in (here, *here.parents[:3]):
        if not (home / LEDGER_FILE).is_file():
            continue
        cases = home / "results" / "cases"
        if cases in (here, *here.parents):
            return
        if cases.is_dir():
            cases = Path(os.path.relpath(cases))
            raise InputError(
                f"{path} is of `pmb sweep`, whose predictions are in {cases}: "
                f"`pmb score {cases} --config all --by job`"
            )
        raise InputError(
            f"{path} holds no predictions but reports: `pmb show` and `pmb compare` take "
            f"{os.path.relpath(home / 'reports')}"
        )


def score_data_set(
    predictions: str,
    *,
    references: str,
    fixtures: Path | None,
    config: str,
    rules: str,
    on_missing: str,
    run_column: str | None,
    by: str | None,
    where: Sequence[str],
    workers: int,
    as_json: bool,
) -> None:
    """Score a data set and show it.

    Raises:
        PredictionError: It can't be read or joined.
        UnknownNameError: There is no such config.
    """
    from ..parquet_sets import Source
    from ..prediction_files import CONFIGS, read_references
    from ..streaming import score_set
    from ..tables.text import count_of

    _check_folder(Path(predictions))
    configs = CONFIGS if config == "all" else (config,)
    wanted = [
        row for name in configs for row in read_references(references, name, fixtures=fixtures)
    ]
    scored = score_set(
        Source(predictions, key_values(where, "--where")),
        wanted,
        rules=rules,
        on_missing=on_missing,
        run_column=run_column,
        by=by,
        workers=workers,
    )
    if scored.left_out:
        number = count_of(scored.left_out, "row")
        note(f"note: {number} of the other part left out; --config all scores both")
    for name in configs:
        if name not in scored.summaries:
            note(f"note: {predictions} holds no rows of {name}, so that part is not scored")
    if scored.near_misses:
        shown = "; ".join(scored.examples)
        number = count_of(scored.near_misses, "id")
        note(f"note: {number} not known, since ids are compared exactly: {shown}")
    if as_json:
        show_json({"rules": rules, "config": config, **scored._asdict()})
        return
    from ..tables.sets import set_tables

    missing = ""
    if scored.missing:
        missing = f", {count_of(scored.missing, 'missing case')} scored as a miss each"
    note(f"{count_of(scored.rows, 'row')} of {count_of(scored.runs, 'run')}{missing}")
    show(*set_tables(scored))
