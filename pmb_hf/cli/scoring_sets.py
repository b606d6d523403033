"""``pmb score`` on data sets: directories, Hub addresses, Parquet files of many runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

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
        note(f"note: {scored.left_out:,} rows are of the other part; --config all scores both")
    if scored.near_misses:
        shown = "; ".join(scored.examples)
        note(f"note: {scored.near_misses:,} ids are compared exactly and so unknown: {shown}")
    if as_json:
        show_json({"rules": rules, "config": config, **scored._asdict()})
        return
    from ..tables.sets import set_tables

    runs = f"{scored.runs:,} runs" if scored.runs != 1 else "1 run"
    missing = f", {scored.missing:,} missing cases scored as misses" if scored.missing else ""
    note(f"{scored.rows:,} rows of {runs}{missing}")
    show(*set_tables(scored))
