"""``pmb report``: reports as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .options import (
    FixturesOption,
    OwnRulesOption,
    ReportCorpusOption,
    corpus_of,
    examples,
    known_rules,
)
from .output import note
from .reporting import ReportFiles, joined

if TYPE_CHECKING:
    from ..schema import Corpus

EPILOG = examples(
    "pmb report reports/bm25.json -o report.html",
    "pmb report a.json b.json c.json -o compared.html",
    "pmb report retrieval.json session.json --rules spec",
)


def page(
    reports: ReportFiles,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")
    ] = Path("report.html"),
    rules: OwnRulesOption = None,
    corpus: ReportCorpusOption = None,
    fixtures: FixturesOption = None,
) -> None:
    """Write reports as one HTML page with charts and every case.

    The page is complete in itself and loads nothing. Reports on the same corpus
    under the same rules stand side by side; upstream's retrieval and session
    reports of one provider are joined.
    """
    from ..files import write_atomically
    from ..pages.page import render

    if any(out.resolve() == path.resolve() for path in reports):
        raise InputError(f"{out} is one of the reports; name another file for the page by --out")
    chosen = None if rules is None else known_rules(rules)
    loaded: dict[str, Corpus] = {}
    pairs = []
    for report in joined(reports):
        name = corpus or report.corpus_name
        if name not in loaded:
            loaded[name] = corpus_of(report, corpus, fixtures)
        pairs.append((report, loaded[name]))
    write_atomically(out, render(pairs, chosen))
    note(f"wrote {out}")
