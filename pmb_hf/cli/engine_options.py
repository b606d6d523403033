"""Options of commands that run many jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..tables.text import count_of
from .output import note

if TYPE_CHECKING:
    from ..engines import Engine, Job, Outcome

EngineOption = Annotated[
    str, typer.Option("--engine", metavar="ENGINE", help="local (this machine) or ray.")
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="The Ray cluster, such as auto or ray://host:10001. Default: one on this machine.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", metavar="N", min=1, help="Jobs at a time on this machine. Default: one a core."
    ),
]
RetriesOption = Annotated[
    int,
    typer.Option(
        "--retries", metavar="N", min=0, help="How often a lost or failed job is tried again."
    ),
]
HomeOption = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="DIR", help="The directory of reports; what is in it is not redone."
    ),
]

FAILED = 3


def maker(name: str, workers: int | None, address: str | None) -> Callable[[], Engine]:
    """Makes the engine once there is something to do."""

    def make() -> Engine:
        from ..engines import create

        return create(name, workers=workers, address=address)

    return make


@contextmanager
def told(home: Path, *, quiet: bool) -> Iterator[Callable[[Job, Outcome, int, int], None]]:
    """A line on standard error for each job that has ended, and what is left at an interrupt."""
    ended = "what is done is"

    def say(job: Job, outcome: Outcome, done: int, total: int) -> None:
        nonlocal ended
        ended = f"{done:,} of {count_of(total, 'run')} {'is' if done == 1 else 'are'}"
        if quiet:
            return
        took = "" if outcome.seconds is None else f" in {outcome.seconds:,.1f} s"
        why = "" if outcome.error is None else f": {outcome.error}"
        again = "" if outcome.tries == 1 else f" after {outcome.tries} tries"
        note(f"[{done}/{total}] {job.id}: {outcome.status}{took}{again}{why}")

    try:
        yield say
    except KeyboardInterrupt:
        note(f"{ended} kept in {home}; the same command goes on with the rest")
        raise
