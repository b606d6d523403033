"""``pmb rescore``: what was measured, under other rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from .options import (
    FixturesOption,
    OwnRulesOption,
    ReportCorpusOption,
    corpus_of,
    examples,
    key_values,
    known_rules,
)
from .output import note, show, write_text
from .reporting import ReportFiles
from .scoring_sets import RunColumnOption, WhereOption, WorkersOption, address, data_source

EPILOG = examples(
    "pmb rescore reports/bm25.json --rules upstream-2026-09 -o rescored.json",
    "pmb rescore retrieval.json session.json --rules spec",
    "pmb rescore results/ --rules spec --corpus native --workers 2 -o rescored/",
)


def rescore(
    reports: ReportFiles,
    rules: OwnRulesOption = None,
    corpus: ReportCorpusOption = None,
    fixtures: FixturesOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="A file; default: standard output. For a data set, an empty directory.",
        ),
    ] = None,
    run_column: RunColumnOption = None,
    where: WhereOption = None,
    workers: WorkersOption = 1,
) -> None:
    """Score a report again, from its stored ids.

    The report is written in our form, also if it was one of upstream's.
    Several files must be parts of one provider's run; they become one report.
    The same input and rules give the same bytes. A data set of results (a
    Parquet file, a directory of them, or an hf:// address) is written again
    with its scores under the rules, in batches.
    """
    source = address(reports[0])
    if len(reports) == 1 and data_source(source):
        _rescore_set(source, rules, corpus, fixtures, out, run_column, where or (), workers)
        return
    if run_column or where or workers > 1:
        raise InputError("--run-column, --where and --workers are for Parquet data sets")
    from ..files import write_atomically
    from ..report import merge
    from ..report import rescore as score_again
    from ..report_json import report_json
    from ..report_reader import read_report

    report = merge([read_report(path) for path in reports])
    loaded = corpus_of(report, corpus, fixtures)
    chosen = report.rules if rules is None else known_rules(rules)
    if report.upstream or chosen != report.rules:
        report = score_again(report, loaded, chosen)
    text = report_json(report, loaded)
    if out is None:
        write_text(text)
    else:
        write_atomically(out, text)
        note(f"wrote {out}")


def _rescore_set(
    source: str,
    rules: str | None,
    corpus: str | None,
    fixtures: Path | None,
    out: Path | None,
    run_column: str | None,
    where: Sequence[str],
    workers: int,
) -> None:
    from ..parquet_sets import Source
    from ..prediction_files import CONFIGS, read_references
    from ..rescoring import rescore_set
    from ..tables.sets import set_tables
    from ..tables.text import count_of

    if out is None or rules is None:
        raise InputError("to score a data set again, give --rules and a directory by --out")
    name = corpus or "native"
    scored = rescore_set(
        Source(source, key_values(where, "--where")),
        [row for config in CONFIGS for row in read_references(name, config, fixtures=fixtures)],
        out,
        rules=known_rules(rules),
        run_column=run_column,
        workers=workers,
    )
    note(f"wrote {out}: {count_of(scored.rows, 'row')} of {count_of(scored.runs, 'run')}")
    show(*set_tables(scored))
