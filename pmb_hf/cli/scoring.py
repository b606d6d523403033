"""``pmb score``: predictions of any origin against the cases."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from .options import FixturesOption, JsonOption, RulesOption, examples, known_rules
from .output import note, show, show_json

EPILOG = examples(
    "pmb score predictions.jsonl",
    "pmb score turns.parquet --config sessions --references official",
    "pmb score predictions.json --on-missing miss --cases --json",
)


def score(
    predictions: Annotated[
        Path, typer.Argument(metavar="PREDICTIONS", help="A .json list, .jsonl or .parquet file.")
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
        str, typer.Option("--config", metavar="NAME", help="retrieval or sessions.")
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
    as_json: JsonOption = False,
) -> None:
    """Score predictions of any origin.

    They are rows of case_id and relevant_beliefs, joined by case_id; rows of
    sessions have a turn_index as well. Optional are pinned_facts,
    open_questions, persona_prelude, latency_ms and status.
    """
    from ..evaluation import score_cases
    from ..prediction_files import read_references, read_rows
    from ..summary import summarize

    chosen = known_rules(rules)
    wanted = read_references(references, config, fixtures=fixtures)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = score_cases(read_rows(predictions), wanted, rules=chosen, on_missing=on_missing)
    for warning in caught:
        note(f"note: {warning.message}")
    summary = summarize(scores)
    if as_json:
        from .views import score_row

        view = {"rules": chosen, "config": config, "summary": summary}
        show_json({**view, "cases": [score_row(s) for s in scores]} if cases else view)
        return
    from ..tables.overview import case_scores, summary_table

    table = summary_table(predictions.name, summary)
    show(*([case_scores(scores), table] if cases else [table]))
