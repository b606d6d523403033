"""The root command: which commands there are."""

from __future__ import annotations

from typing import Annotated

import typer

from .._version import __version__
from . import (
    board,
    comparing,
    corpus_tools,
    curve,
    data,
    exporting,
    growing,
    installing,
    lists,
    page,
    providers,
    publishing,
    reporting,
    rescoring,
    running,
    scaling,
    scoring,
    services,
    submitting,
    sweeping,
)
from .guard import GuardedGroup
from .options import examples

HELP_NAMES = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="pmb",
    cls=GuardedGroup,
    rich_markup_mode=None,  # plain help needs no rich, and so a third of the time
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=HELP_NAMES,
    epilog=examples(
        "pmb run --provider bm25",
        "pmb show reports/bm25-native-spec-20260102t030405.json",
        "pmb run --help",
    ),
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"pmb-hf {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback answers
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """PrecisionMemBench: does a memory system return what is needed, and nothing else?"""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


app.command("run", epilog=running.EPILOG)(running.run)
app.command("show", epilog=reporting.SHOW_EPILOG)(reporting.show_reports)
app.command("explain", epilog=reporting.EXPLAIN_EPILOG)(reporting.explain)
app.command("scale", epilog=scaling.EPILOG)(scaling.scale)
app.command("sweep", epilog=sweeping.EPILOG)(sweeping.sweep)
app.command("score", epilog=scoring.EPILOG)(scoring.score)
app.command("curve", epilog=curve.EPILOG)(curve.curve)
app.command("compare", epilog=comparing.EPILOG)(comparing.compare)
app.command("report", epilog=page.EPILOG)(page.page)
app.command("rescore", epilog=rescoring.EPILOG)(rescoring.rescore)
app.command("push", epilog=publishing.EPILOG)(publishing.push)
app.command("export", epilog=exporting.EXPORT_EPILOG)(exporting.export)
app.command("leaderboard", epilog=exporting.LEADERBOARD_EPILOG)(exporting.leaderboard)
app.command("doctor", epilog=services.DOCTOR_EPILOG)(services.doctor)
app.command("serve", epilog=services.SERVE_EPILOG)(services.serve)
app.command("install", epilog=installing.EPILOG)(installing.install)
app.command("space", epilog=board.EPILOG)(board.space)
data.app.command("new", epilog=corpus_tools.NEW_EPILOG)(corpus_tools.new)
data.app.command("grow", epilog=growing.EPILOG)(growing.grow)
data.app.command("from-log", epilog=corpus_tools.FROM_LOG_EPILOG)(corpus_tools.from_log)
app.add_typer(data.app, name="data")
app.add_typer(submitting.app, name="submission")
app.add_typer(providers.app, name="providers")
app.command("measures", epilog=lists.MEASURES_EPILOG)(lists.measures)


def main() -> int:
    """Run ``pmb`` on the process's arguments and return the exit code."""
    code: int = app(standalone_mode=False)
    return code
