"""``pmb score``: predictions of any origin against the cases."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError, PredictionError
from .options import FixturesOption, JsonOption, RulesOption, examples, known_rules
from .output import note, show, show_json
from .scoring_sets import (
    ByOption,
    RunColumnOption,
    WhereOption,
    WorkersOption,
    is_data_set,
    score_data_set,
)

EPILOG = examples(
    "pmb score predictions.jsonl",
    "pmb score turns.parquet --config sessions --references official",
    "pmb score predictions.json --on-missing miss --cases --json",
    "pmb score results/ --config all --by provider --workers 2",
)


def score(
    predictions: Annotated[
        str,
        typer.Argument(
            metavar="PREDICTIONS",
            help="A .json list, .jsonl or .parquet file; or a directory or hf:// address of "
            "Parquet files, of any size and any number of runs.",
        ),
    ],
    references: Annotated[
        str,
        typer.Option(
            "--references",
            metavar="REF",
            help="native, official, a corpus directory, or a file of reference rows.",
        ),
    ] = "native",
    config: Annotated[
        str,
        typer.Option(
            "--config", metavar="NAME", help="retrieval or sessions; of a data set also all."
        ),
    ] = "retrieval",
    rules: RulesOption = "spec",
    on_missing: Annotated[
        str,
        typer.Option(
            "--on-missing",
            metavar="WHAT",
            help="A case without a prediction is an error or a miss.",
        ),
    ] = "error",
    fixtures: FixturesOption = None,
    cases: Annotated[bool, typer.Option("--cases", help="Show every case, too.")] = False,
    run_column: RunColumnOption = None,
    by: ByOption = None,
    where: WhereOption = None,
    workers: WorkersOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Score predictions of any origin.

    They are rows of case_id and relevant_beliefs, joined by case_id; rows of
    sessions have a turn_index as well. Optional are pinned_facts,
    open_questions, persona_prelude, latency_ms, status, returned_beliefs and
    limit. A data set is read in batches, and its runs are told apart by a
    column; more --workers share the work.

    With --json, summaries holds the measures of each part, retrieval or
    sessions; of one file summary holds the same.
    """
    from ..evaluation import score_cases
    from ..prediction_files import read_references, read_rows
    from ..summary import summarize

    if on_missing not in ("error", "miss"):
        raise InputError(f"--on-missing takes error or miss, not {on_missing!r}")
    chosen = known_rules(rules)
    if is_data_set(predictions, (run_column, by, where, workers > 1, config == "all")):
        if cases:
            raise InputError("--cases shows the cases of one file, not of a data set")
        score_data_set(
            predictions,
            references=references,
            fixtures=fixtures,
            config=config,
            rules=chosen,
            on_missing=on_missing,
            run_column=run_column,
            by=by,
            where=where or (),
            workers=workers,
            as_json=as_json,
        )
        return
    if run_column or by or where or workers > 1:
        raise InputError("--run-column, --by, --where and --workers are for Parquet data sets")
    wanted = read_references(references, config, fixtures=fixtures)
    rows = read_rows(predictions)
    if not rows and on_missing == "error":
        raise PredictionError(f"{predictions} holds no rows; it must hold one a case")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            scores = score_cases(rows, wanted, rules=chosen, on_missing=on_missing)
        except PredictionError as error:
            raise PredictionError(_placed(error, Path(predictions))) from error
    for warning in caught:
        note(f"note: {warning.message}")
    summary = summarize(scores)
    if as_json:
        from .views import score_row

        view: dict[str, Any] = {"rules": chosen, "config": config, "summaries": {config: summary}}
        view["summary"] = summary  # what it was called before data sets could be scored
        show_json({**view, "cases": [score_row(s) for s in scores]} if cases else view)
        return
    from rich.console import Group

    from ..tables.layout import remark_list
    from ..tables.overview import case_scores, summary_table
    from ..tables.remarks import counted

    table = summary_table(Path(predictions).name, summary)
    remarks = Group(*remark_list(counted([summary])))
    show(*([case_scores(scores), table] if cases else [table]), remarks)


def _placed(error: PredictionError, predictions: Path) -> str:
    """What is wrong, as one says it on a command line: with file and line, and our options."""
    from ..prediction_files import place_of
    from ..records import MissingError, RowError

    cause = error.__cause__
    if isinstance(cause, MissingError):
        return (
            f"{predictions}: no prediction for {cause.cases}; "
            "--on-missing miss scores what is missing as a miss"
        )
    if not isinstance(cause, RowError):
        return str(error)
    place, first = place_of(cause.row), place_of(cause.first)
    said = str(error) if place is None else f"{place}: {error}"
    return said if first is None else f"{said}; the first is in {first}"
