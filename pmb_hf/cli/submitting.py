"""``pmb submission``: folders that wrap a memory system for others to run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import JsonOption, examples
from .output import line, note, show_json

FAULTS = 1

app = typer.Typer(help="Make and check submissions.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def root(ctx: typer.Context) -> None:
    """Make and check submissions."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command(
    epilog=examples("pmb submission new my-memory", "pmb submission new my-memory --into work")
)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The system's name.")],
    into: Annotated[
        Path, typer.Option("--into", metavar="DIR", help="Where to make the folder.")
    ] = Path(),
) -> None:
    """Write the skeleton of a submission.

    It is a service that works, with its Dockerfile, docker-compose.yml,
    requirements and SUBMISSION.md. Put your system into memory.py.
    """
    from ..submission.skeleton import new as write

    folder = write(name, into)
    line(f"wrote {folder}")
    note(f"fill in what `pmb submission check {folder}` names")


@app.command(
    epilog=examples("pmb submission check my-memory", "pmb submission check my-memory --json")
)
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The submission's folder.")],
    as_json: JsonOption = False,
) -> None:
    """Check a submission without running it.

    Versions and images must be fixed, the environment declared, the fields of
    SUBMISSION.md there, and the source free of what only a cheat needs. The
    exit code is 1 if something is wrong; warnings are allowed.
    """
    from ..submission.check import check as look_over
    from ..submission.files import ERROR

    found = look_over(folder)
    if as_json:
        findings = [finding._asdict() for finding in found.findings]
        show_json({"ok": found.ok, "corpora": list(found.corpora), "findings": findings})
    else:
        for finding in found.findings:
            place = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
            line(f"{place}: {finding.severity} [{finding.rule}] {finding.message}")
        errors = sum(finding.severity == ERROR for finding in found.findings)
        line(f"{folder}: {errors} errors, {len(found.findings) - errors} warnings")
        if "official" not in found.corpora:
            note("the official corpus is not here, so its ids were not looked for")
    if not found.ok:
        raise typer.Exit(FAULTS)
