"""``pmb export`` and ``pmb leaderboard``: reports as a folder for the Hub, and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError, ReportError, UnknownNameError
from ..rules import RULES, SPEC
from ..tables.text import count_of
from .options import FixturesOption, JsonOption, examples, hint, known_rules
from .output import note, show, show_json

if TYPE_CHECKING:
    from ..leaderboard.collect import Collected
    from ..leaderboard.facts import Row
    from ..schema import Corpus

EXPORT_EPILOG = examples(
    "pmb export reports/*.json -o hf_export",
    "pmb export reports -o hf_export --fixtures DIR",
    "pmb export reports/*.json --format trec -o trec",
    "pmb export --from-hub acme/precisionmembench reports/*.json",
)
LEADERBOARD_EPILOG = examples(
    "pmb leaderboard hf_export",
    "pmb leaderboard hf_export --corpus official --rules upstream-2026-09",
    "pmb leaderboard hf_export/leaderboard.json --json",
    "pmb leaderboard --repo acme/precisionmembench",
)
HF = "hf"
SOME_SKIPPED = 1


def export(
    reports: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[REPORT...]", help="Report files, or directories of them."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write.")
    ] = Path("hf_export"),
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="hf (the dataset with its leaderboard), trec, eee (Every Eval Ever), mteb, "
            "eval-results (.eval_results of model repositories).",
        ),
    ] = HF,
    corpus: Annotated[
        list[Path] | None,
        typer.Option("--corpus", metavar="DIR", help="A corpus of your own; repeatable."),
    ] = None,
    fixtures: FixturesOption = None,
    with_texts: Annotated[
        bool,
        typer.Option(
            "--with-texts", help="Publish the texts of corpora of your own, too; else ids alone."
        ),
    ] = False,
    repo: Annotated[
        str | None,
        typer.Option(
            "--repo", metavar="ORG/NAME", help="The dataset on the Hub, for eval-results and eee."
        ),
    ] = None,
    from_hub: Annotated[
        str | None,
        typer.Option(
            "--from-hub", metavar="ORG/NAME", help="Add to the reports that this dataset has."
        ),
    ] = None,
    no_published: Annotated[
        bool, typer.Option("--no-published", help="Leave out what upstream has published.")
    ] = False,
    static: Annotated[
        bool,
        typer.Option("--static", help="Write index.html, too: the board as one page, no server."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Export reports as a folder for the Hub.

    It is a dataset: leaderboard, tables, card and the reports themselves.

    What is no report, or not of its corpus, is skipped and named; the rest is
    exported, and the exit code is 1. If no report can be used it is 2.
    Given no REPORT at all, the folder holds what upstream has published alone.
    """
    from ..leaderboard.collect import Corpora, collect

    if static and form != HF:
        raise InputError(f"--static is of --format {HF}, which holds the leaderboard")
    given = [_own(path) for path in corpus or ()]
    with _published_reports(from_hub) as there:
        collected = collect([*there, *(reports or [])], Corpora(loader(fixtures), given).find)
    _name_as_published(collected, there, from_hub)
    tell(collected)
    if collected.skipped and not collected.runs:
        raise ReportError(f"none of {len(collected.skipped)} reports can be exported")
    _name_empty(reports or (), fatal=not collected.runs)
    if static:
        from ..board.static import check_static

        check_static(out)
    if form == HF:
        summary = _write_hf(collected, out, with_texts, not no_published)
        if static:
            from ..board.static import write_static

            note(f"wrote {write_static(out)}")
    else:
        summary = _write_other(form, collected, out, repo)
    if as_json:
        show_json({**summary, "skipped": [skipped._asdict() for skipped in collected.skipped]})
    else:
        note(summary["told"])
    if collected.skipped:
        raise typer.Exit(SOME_SKIPPED)


@contextmanager
def _published_reports(repo: str | None) -> Iterator[tuple[Path, ...]]:
    """The reports of a dataset on the Hub, here for as long as they are read."""
    if repo is None:
        yield ()
        return
    from ..hub.pulling import pull_reports

    with TemporaryDirectory(prefix="pmb-hf-") as scratch:
        pulled = pull_reports(repo, Path(scratch))
        note(f"{count_of(len(pulled.files), 'report')} of {repo} at {pulled.revision[:12]}")
        yield pulled.files


def _name_as_published(collected: Collected, there: Sequence[Path], repo: str | None) -> None:
    """Name files as those of the Hub, and not of where they were for a moment."""
    for path in there:
        here, named = str(path), f"{repo}/{path.parent.name}/{path.name}"
        collected.remarks = [text.replace(here, named) for text in collected.remarks]
        collected.skipped = [
            skipped._replace(file=skipped.file.replace(here, named))
            for skipped in collected.skipped
        ]


@contextmanager
def _as_of(repo: str, scratch: str) -> Iterator[None]:
    """Let errors name files as those of the Hub, and not of where they are for a moment."""
    try:
        yield
    except ReportError as error:
        raise ReportError(str(error).replace(scratch, repo)) from error


def _name_empty(reports: Sequence[Path], *, fatal: bool) -> None:
    """Name the folders that hold no report.

    Raises:
        ReportError: If that is ``fatal``, since there is nothing to export.
    """
    from ..leaderboard.collect import files

    empty = [str(path) for path in reports if not files([path])]
    if empty and fatal:
        places = ", ".join(empty)
        raise ReportError(
            f"there is no report in {places}; `pmb run --provider NAME -o {empty[0]}` makes one"
        )
    for place in empty:
        note(f"there is no report in {place}")


def _own(path: Path) -> Corpus:
    from ..corpus import load_corpus

    if not path.is_dir():
        raise InputError(f"--corpus {path} is no directory; native and official need not be named")
    return load_corpus(path)


def loader(fixtures: Path | None) -> Callable[[str], Corpus]:
    """Loads ``native`` or ``official``."""
    from ..corpus import load_corpus

    return lambda name: load_corpus(name, fixtures=fixtures if name == "official" else None)


def tell(collected: Collected) -> None:
    """Name what was left out, and what is shown without being scored."""
    for skipped in collected.skipped:
        note(f"skipped {skipped.file}: {skipped.why}")
    for remark in collected.remarks:
        note(remark)


def _write_hf(collected: Collected, out: Path, own_texts: bool, published: bool) -> Row:
    from ..hf_export import export as write
    from ..leaderboard.view import own_rows, reasons

    made = write(collected, out, own_texts=own_texts, published=published)
    for path in made.removed:
        note(f"removed {out / path}, which is of an earlier export")
    rows = own_rows(made.board)
    for row in rows:
        for reason in reasons(row, str(row["runRules"])):
            note(f"not ranked: {row['label']}: {reason}")
    return {
        "told": _told(collected, len(rows), out),
        "directory": str(out),
        "runs": len(rows),
        "files": list(made.files),
        "removed": list(made.removed),
    }


def _write_other(form: str, collected: Collected, out: Path, repo: str | None) -> Row:
    from ..formats import FORMATS, write

    if form not in FORMATS:
        raise UnknownNameError(f"no format {form!r}{hint(form, [HF, *FORMATS])}")
    made = write(form, collected.runs, out, repo=repo)
    for reason in made.left_out:
        note(f"left out: {reason}")
    return {
        "told": f"{count_of(len(made.files), 'file')} in {out}",
        "directory": str(out),
        "runs": len(collected.runs),
        "files": list(made.files),
        "leftOut": list(made.left_out),
    }


def _told(collected: Collected, runs: int, out: Path) -> str:
    told = f"{count_of(runs, 'run')} in {out}"
    if collected.skipped:
        told += f", {count_of(len(collected.skipped), 'report')} skipped"
    return told if runs else f"{told}; `pmb run --provider NAME` makes a report"


def leaderboard(
    place: Annotated[
        Path, typer.Argument(metavar="[EXPORT]", help="An export, or its leaderboard.json.")
    ] = Path("hf_export"),
    repo: Annotated[
        str | None,
        typer.Option("--repo", metavar="ORG/NAME", help="A dataset on the Hub instead."),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option("--rules", metavar="RULES", help=f"{', '.join(RULES)}. Default: spec."),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option("--corpus", metavar="NAME", help="One corpus only, by its name or id."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the leaderboard of an export, or of the Hub.

    What is not ranked says why. `pmb export` makes an export from reports.
    """
    from ..leaderboard.wire import read_board

    if repo is None:
        board = read_board(place)
    else:
        from ..hub.pulling import pull_leaderboard

        with TemporaryDirectory(prefix="pmb-hf-") as scratch:
            file = pull_leaderboard(repo, Path(scratch))
            with _as_of(repo, scratch):
                board = read_board(file)
    show_board(board, rules=rules, corpus=corpus, as_json=as_json)


def show_board(board: Row, *, rules: str | None, corpus: str | None, as_json: bool) -> None:
    """Print a board: one table a corpus, under one set of rules.

    Raises:
        UnknownNameError: If there are no such rules, or no such corpus on the board.
    """
    from ..leaderboard.view import chosen, own_rows, tables
    from ..tables.leaderboard import board_table, empty_board

    wanted = known_rules(rules) if rules is not None else SPEC.name
    names = [name for c in board["corpora"] for name in (c["name"], c["id"])]
    if corpus is not None and corpus not in names:
        raise UnknownNameError(f"no corpus {corpus!r}{hint(corpus, list(dict.fromkeys(names)))}")
    if as_json:
        show_json(chosen(board, wanted, corpus))
        return
    found = tables(board, wanted, corpus)
    show(*(board_table(made) for made in found), *([] if own_rows(board) else [empty_board()]))
