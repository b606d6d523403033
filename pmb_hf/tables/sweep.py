"""A sweep as tables: what is to be run, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..engines.jobs import DONE
from .cells import NONE, count
from .layout import BAD, Id, add_number, add_text, plain, table, value
from .text import count_of

if TYPE_CHECKING:
    from rich.table import Table

    from ..engines.jobs import Job
    from ..sweep import Done


def jobs_table(jobs: Sequence[Job]) -> Table:
    """What the runs are."""
    made = table(count_of(len(jobs), "run"))
    for head in ("corpus", "rules"):
        add_text(made, head)
    add_number(made, "distractors")
    for job in jobs:
        more = None if job.recipe is None else job.recipe["count"]
        made.add_row(Id(job.id), plain(job.corpus), plain(job.rules), value(count(more)))
    return made


def results_table(done: Done) -> Table:
    """How each run ended."""
    made = table(count_of(len(done.jobs), "run"))
    add_text(made, "status", keep=True)
    add_number(made, "s")
    add_number(made, "tries")
    add_text(made, "error")
    for job, outcome in zip(done.jobs, done.outcomes, strict=True):
        good = outcome.status == DONE
        made.add_row(
            Id(job.id),
            plain(outcome.status, "" if good else BAD),
            value(NONE if outcome.seconds is None else f"{outcome.seconds:,.1f}"),
            value(count(outcome.tries)),
            plain(outcome.error or "", limit=200),
        )
    return made
