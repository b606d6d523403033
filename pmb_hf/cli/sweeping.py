"""``pmb sweep``: a grid of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..engines.running import RETRIES
from .engine_options import (
    FAILED,
    AddressOption,
    EngineOption,
    RetriesOption,
    WorkersOption,
    maker,
    told,
)
from .options import JsonOption, examples
from .output import line, note, show, show_json

if TYPE_CHECKING:
    from ..sweep import Done

EPILOG = examples(
    "pmb sweep sweep.toml -o sweeps/first",
    "pmb sweep sweep.toml -o sweeps/first --workers 4",
    "pmb sweep sweep.toml -o sweeps/first --engine ray --address auto",
    "pmb sweep sweep.toml --list",
)


def sweep(
    plan: Annotated[Path, typer.Argument(metavar="FILE", help="The grid, as TOML.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="The directory of reports and results; what is in it is not redone.",
        ),
    ] = Path("sweep"),
    listed: Annotated[
        bool, typer.Option("--list", help="Only list the runs that the file stands for.")
    ] = False,
    engine: EngineOption = "local",
    address: AddressOption = None,
    workers: WorkersOption = None,
    retries: RetriesOption = RETRIES,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Run a grid of providers, options, rules and repeats.

    Corpora and sizes of the store may vary, too. Each run is a job of its own
    with its own namespace, journal and report. Finished ones are not run again,
    interrupted ones are gone on with, and one that fails does not stop the
    others: it is a row with its error. Reports are in DIR/reports, and all
    results as parquet in DIR/results: a row a run, and a row a case and run. The
    exit code is 3 if any run failed.
    """
    from ..sweep import Grid, read_plan
    from ..sweep import sweep as go_through
    from ..tables.sweep import jobs_table, results_table
    from ..tables.text import count_of
    from .running import sound_corpus

    read = read_plan(plan)
    fixtures = None if read.fixtures is None else Path(read.fixtures)
    corpora = {
        name: sound_corpus(name, fixtures if name == "official" else None) for name in read.corpora
    }
    grid = Grid(read, corpora)
    if listed:
        jobs = grid.jobs(out.resolve())
        if as_json:
            show_json({"jobs": [job.to_wire() for job in jobs]})
        else:
            show(jobs_table(jobs))
        return
    with told(out, quiet=quiet) as ended:
        done = go_through(grid, out, maker(engine, workers, address), retries=retries, ended=ended)
    if done.strays:
        number = count_of(len(done.strays), "report")
        note(f"of an earlier plan, and in no result: {number} in {out / 'reports'}")
    if as_json:
        show_json(_view(done))
    else:
        show(results_table(done))
        line(f"\nReports: {out / 'reports'}\nResults: {out / 'results'}")
    if done.failed:
        raise typer.Exit(FAILED)


def _view(done: Done) -> dict[str, Any]:
    return {
        "results": [str(path) for path in done.results],
        "jobs": [
            {
                "id": job.id,
                "status": outcome.status,
                "error": outcome.error,
                "tries": outcome.tries,
                "seconds": outcome.seconds,
                "report": str(job.report_path) if outcome.has_report else None,
            }
            for job, outcome in zip(done.jobs, done.outcomes, strict=True)
        ],
    }
