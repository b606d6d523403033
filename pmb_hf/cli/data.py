"""``pmb data``: corpora."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import growing
from .options import CorpusOption, DistractorsOption, FixturesOption, JsonOption, examples
from .output import line, show, show_json

LINT_ERRORS = 1

app = typer.Typer(help="Fetch, check and build corpora.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def root(ctx: typer.Context) -> None:
    """Fetch, check and build corpora."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command(
    epilog=examples("pmb data lint", "pmb data lint ./my-corpus", "pmb data lint official --json")
)
def lint(
    corpus: Annotated[
        str, typer.Argument(metavar="[CORPUS]", help="native, official, or a directory.")
    ] = "native",
    fixtures: FixturesOption = None,
    distractors: DistractorsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is wrong with a corpus.

    With --distractors, look over a folder of them as well: none may be a right
    answer to any case of the corpus. The exit code is 1 if there are errors;
    warnings are allowed, and so are the faults of the official corpus as it is
    published: it is read and scored with them.
    """
    from ..lint import lint as find_faults
    from ..lint import ok

    directory, published = None if corpus == "native" else Path(corpus), False
    if corpus == "official":
        from ..official import installed, locate

        directory = locate(fixtures)
        published = installed(directory)
    found = find_faults(directory)
    known = len(found) if published else 0
    if distractors is not None and ok(found[known:]):
        found += growing.faults_of(distractors, corpus, fixtures)
    sound = ok(found[known:])
    if as_json:
        rows = [f._asdict() for f in found]
        show_json({"corpus": corpus, "ok": sound, "known": known, "findings": rows})
    else:
        from ..tables.lists import findings

        show(findings(found, corpus, known=known))
    if not sound:
        raise typer.Exit(LINT_ERRORS)


@app.command(
    epilog=examples("pmb data fetch", "pmb data fetch --from ../precisionMemBench/fixtures")
)
def fetch(
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Copy from here instead of downloading."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Download what is here already, too.")
    ] = False,
) -> None:
    """Get the official corpus and check its SHA-256."""
    from .. import official
    from .progress import download_progress

    if source is not None:
        home = official.import_from(source)
    else:
        with download_progress() as progress:
            home = official.fetch(progress=progress, force=force)
    line(f"The official corpus is in {home}")


@app.command(
    epilog=examples("pmb data build -o dataset/", "pmb data build -o own/ --corpus ./mine")
)
def build(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write.")],
    corpus: CorpusOption = "native",
    fixtures: FixturesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the dataset as a folder for the Hub.

    It holds the parquet files and the card.
    """
    from ..dataset_build import build as build_folder
    from ..tables.text import count_of

    built = build_folder(out, corpus, fixtures)
    if as_json:
        view = built._asdict() | {"files": [str(path) for path in built.files]}
        show_json(view | {"directory": str(built.directory)})
        return
    for config, count in built.rows.items():
        line(f"{config}: {count_of(count, 'row')}")
    line(f"The dataset is in {built.directory}")
