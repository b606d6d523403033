"""``pmb compare``: whether one report beats another, and many reports side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import GateFailed, InputError
from ..tables.text import numbered
from .options import (
    FixturesOption,
    JsonOption,
    OwnRulesOption,
    ReportCorpusOption,
    corpus_of,
    examples,
    known_rules,
)
from .output import show, show_json
from .reporting import joined_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from ..comparability import Entry
    from ..compare import Comparison, Standing
    from ..gate import Allowance
    from ..report import Report
    from ..schema import Corpus

MANY = 10
"""From so many reports on there is a table alone, and none is refused."""
SHOWN_CASES = 20

EPILOG = examples(
    "pmb compare base.json new.json",
    "pmb compare base.json new.json --max-regression passes=0",
    "pmb compare reports/*.json --rules spec",
)


def compare(
    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="REPORT...",
            help="Report files, ours or upstream's, or folders of them; the first is what others "
            "are held to.",
        ),
    ],
    rules: OwnRulesOption = None,
    corpus: ReportCorpusOption = None,
    fixtures: FixturesOption = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Compare also what differs in rules or corpus, marked."),
    ] = False,
    allowances: Annotated[
        list[str] | None,
        typer.Option(
            "--max-regression",
            metavar="MEASURE=AMOUNT",
            help="End with exit code 1 if a measure is worse than the first's by more. Repeatable.",
        ),
    ] = None,
    cases: Annotated[
        str | None,
        typer.Option(
            "--cases",
            metavar="N",
            help=f"How many changed cases to show, or all. Default: {SHOWN_CASES}.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare reports case by case, and show what changed.

    Two reports are compared in full, three to nine each with the first; ten or
    more make a table. Two files of one provider that hold different cases, as
    upstream's do, are joined. An interval that leaves out 0 is coloured.
    """
    from ..gate import parse_allowance

    # Wrong options end it before anything is read.
    limits = [parse_allowance(text) for text in allowances or ()]
    most = _how_many(cases)
    found = joined_files(reports)
    entries = _entries([report for report, _ in found], rules, corpus, fixtures)
    files = [paths for _, paths in found]
    if len(entries) < 2:
        raise InputError(
            "pmb compare needs two reports or more; of one provider, files that hold different "
            "cases count as one"
        )
    comparisons, tables = _compared(entries, force)
    if as_json:
        show_json(_view(entries, files, comparisons, tables))
    else:
        _show(entries, files, comparisons, tables, most)
    if limits:
        _gate(entries, limits)


def _gate(entries: Sequence[Entry], limits: Sequence[Allowance]) -> None:
    """End in an error that names every report that is worse, and the cases behind it."""
    from ..gate import regressions

    first, *others = entries
    worse = []
    for other in others:
        found = regressions(first.evaluation, other.evaluation, limits)
        if found:
            worse += [f"{other.name} is worse than {first.name}:", *map(str, found)]
    if worse:
        raise GateFailed("\n".join(worse))


def _how_many(text: str | None) -> int | None:
    if text is None:
        return SHOWN_CASES
    if text == "all":
        return None
    if not text.isdecimal():
        raise InputError(f"--cases takes a number or all, not {text!r}")
    return int(text)


def _entries(
    found: Sequence[Report], rules: str | None, corpus: str | None, fixtures: Path | None
) -> list[Entry]:
    """Judge each report against its corpus, which is loaded once."""
    from ..comparability import Entry
    from ..report import judge

    chosen = None if rules is None else known_rules(rules)
    corpora: dict[str, Corpus] = {}
    entries = []
    names = numbered([report.provider for report in found])
    for name, report in zip(names, found, strict=True):
        key = corpus or report.corpus_name
        if key not in corpora:
            corpora[key] = corpus_of(report, corpus, fixtures)
        entries.append(Entry(name, report, judge(report, corpora[key], chosen)))
    return entries


def _compared(
    entries: Sequence[Entry], force: bool
) -> tuple[list[Comparison], dict[str, list[Standing]]]:
    from ..compare import PARTS, standings
    from ..compare import compare as compare_reports

    comparisons = [] if len(entries) >= MANY else compare_reports(*entries, force=force)
    rows = {part: standings(entries, part) for part in PARTS} if len(entries) > 2 else {}
    return comparisons, {part: found for part, found in rows.items() if found}


def _view(
    entries: list[Entry],
    files: Sequence[Sequence[Path]],
    comparisons: Sequence[Comparison],
    tables: dict[str, list[Standing]],
) -> dict[str, Any]:
    from ..comparability import not_known
    from ..tables.legend import differing

    return {
        "reports": [
            {
                "name": entry.name,
                "files": [str(path) for path in paths],
                "differs": differs,
                "provider": entry.report.provider,
                "corpus": entry.report.corpus_name,
                "corpusSha256": entry.report.corpus_sha256,
                "rules": entry.evaluation.rules.name,
                "upstream": entry.report.upstream,
            }
            for entry, paths, differs in zip(entries, files, differing(entries), strict=True)
        ],
        "notKnown": not_known(entries),
        "comparisons": [comparison.to_wire() for comparison in comparisons],
        "tables": {part: [row.to_wire() for row in rows] for part, rows in tables.items()},
    }


def _show(
    entries: list[Entry],
    files: Sequence[Sequence[Path]],
    comparisons: Sequence[Comparison],
    tables: dict[str, list[Standing]],
    most: int | None,
) -> None:
    from ..comparability import not_known
    from ..compare import PARTS
    from ..tables import comparison as views
    from ..tables.layout import apart
    from ..tables.legend import legend

    marked: list[Comparison | Standing] = [*comparisons]
    if not comparisons:
        marked += [row for rows in tables.values() for row in rows]
    serious, other = apart(views.mark_remarks(marked, not_known(entries)))
    key = legend(entries, files)
    blocks: list[RenderableType] = [views.pair_head(comparisons[0])] if len(entries) == 2 else []
    blocks += [] if key is None else [key]
    blocks += serious
    if len(comparisons) == 1:
        (pair,) = comparisons
        blocks += [views.pair_table(part) for part in pair.parts]
        blocks += views.changed_list(pair.changed, most)
    blocks += [views.standings_table(rows, part) for part, rows in tables.items()]
    if len(comparisons) > 1:
        against = (views.pairs_table(comparisons, part) for part in PARTS)
        blocks += [table for table in against if table is not None]
    show(*blocks, *other)
