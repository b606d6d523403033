"""``pmb curve``: whether failures are a matter of length or of ranking."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..curves import FOLDS, SEED
from ..errors import InputError
from .options import (
    FixturesOption,
    JsonOption,
    OwnRulesOption,
    ReportCorpusOption,
    corpus_of,
    examples,
    known_rules,
)
from .output import note, show, show_json
from .reporting import ReportFiles, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from ..curves import PartCurves
    from ..report import Evaluation, Report

EPILOG = examples(
    "pmb curve reports/bm25.json",
    "pmb curve reports/bm25.json -o curve.svg",
    "pmb curve retrieval.json session.json --rules spec --json",
)


def curve(
    reports: ReportFiles,
    rules: OwnRulesOption = None,
    corpus: ReportCorpusOption = None,
    fixtures: FixturesOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Draw a picture: .svg, .png or .html by its end."
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option("--folds", metavar="N", min=2, help="Parts of the cross-validation.")
    ] = FOLDS,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of the cross-validation.")
    ] = SEED,
    as_json: JsonOption = False,
) -> None:
    """Cut a report at every k and score threshold.

    Shows precision, recall and passes at each cut, the best one, and what it is
    worth on other cases. Nothing is run again: stored results are cut and scored.
    Two files of one provider that hold different cases, as upstream's do, are
    joined.
    """
    from ..curve_chart import check_format, picture
    from ..curves import curves
    from ..files import check_place, write_atomically
    from ..report import judge
    from ..tables.text import clean

    if out is not None:
        check_format(out)
        check_place(out)
    found = joined(reports)
    if len(found) > 1:
        raise InputError(
            f"pmb curve takes the files of one run, not of {len(found)}; "
            "`pmb compare` shows several reports side by side"
        )
    report = found[0]
    loaded = corpus_of(report, corpus, fixtures)
    evaluation = judge(report, loaded, None if rules is None else known_rules(rules))
    parts = curves(report, evaluation, loaded, folds=folds, seed=seed)
    if out is not None:
        title = f"{report.provider} on {report.corpus_name}, rules {evaluation.rules.name}"
        content = picture(parts, clean(title, 100), out.suffix)
        write_atomically(out, content)
    if as_json:
        show_json(_view(report, evaluation, parts))
    else:
        _show(report, evaluation, parts)
    if out is not None:
        note(f"wrote {out}")


def _view(report: Report, evaluation: Evaluation, parts: Sequence[PartCurves]) -> dict[str, Any]:
    return {
        "provider": report.provider,
        "corpus": report.corpus_name,
        "corpusSha256": report.corpus_sha256,
        "rules": evaluation.rules.name,
        "upstream": report.upstream,
        "parts": [part.to_wire() for part in parts],
    }


def _show(report: Report, evaluation: Evaluation, parts: Sequence[PartCurves]) -> None:
    from rich.console import Group

    from ..tables.curve import part_remarks, part_tables
    from ..tables.layout import remark_list
    from ..tables.overview import headline

    blocks: list[RenderableType] = [headline(report, evaluation)]
    for part in parts:
        blocks += part_tables(part)
        blocks.append(Group(*remark_list(part_remarks(part))))
    show(*blocks)
