"""Makes jobs of a plan and has them done."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..engines.jobs import DONE, Job, Outcome
from ..engines.lanes import lane_of
from ..engines.ledger import Ended, Ledger
from ..engines.protocol import Engine
from ..engines.running import RETRIES
from ..errors import InputError
from ..grow.recipe import Recipe
from ..schema import Corpus
from ..tables.text import count_of, typed
from .plan import Option, Plan, System
from .results import Entry, write_results

KIND = "sweep"
_ID_LENGTH = 90
_HASH_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Grid:
    """A plan with its corpora loaded.

    Attributes:
        corpora: Each corpus that the plan names.
    """

    plan: Plan
    corpora: Mapping[str, Corpus]

    def __post_init__(self) -> None:
        """Check the sizes against the corpora.

        Raises:
            InputError: If a corpus itself is larger than a size.
        """
        for name, corpus in self.corpora.items():
            small = [size for size in self.plan.sizes if size < len(corpus.beliefs)]
            if small:
                raise InputError(
                    f"sizes: {small[0]} is too small, corpus {name!r} itself has "
                    f"{count_of(len(corpus.beliefs), 'belief')}"
                )

    def jobs(self, home: Path) -> list[Job]:
        """Every job, in the order of the file.

        Raises:
            InputError: If two would be the same run.
        """
        jobs = list(self._jobs(home))
        seen: set[str] = set()
        for job in jobs:
            if job.id in seen:
                raise InputError(
                    f"providers: two entries give the same run {job.id}; give one a label or "
                    "another value"
                )
            seen.add(job.id)
        return jobs

    def _jobs(self, home: Path) -> Iterator[Job]:
        plan = self.plan
        for system in plan.systems:
            for options in system.combinations():
                for corpus in plan.corpora:
                    for rules in plan.rules:
                        for mode in plan.text_modes or (None,):
                            for size in plan.sizes or (None,):
                                base = self._base(home, system, options, corpus, size)
                                chosen = replace(base, rules=rules, text_mode=mode)
                                for number in range(1, plan.repeats + 1):
                                    yield _named(chosen, size, number)

    def _base(
        self, home: Path, system: System, options: dict[str, Option], corpus: str, size: int | None
    ) -> Job:
        plan, loaded = self.plan, self.corpora[corpus]
        more = 0 if size is None else size - len(loaded.beliefs)
        return Job(
            id="",
            provider=system.name,
            home=str(home),
            options=options,
            corpus=corpus,
            corpus_sha256=loaded.sha256,
            fixtures=plan.fixtures if corpus == "official" else None,
            recipe=Recipe(more, plan.seed, plan.users).to_wire() if more else None,
            parts=plan.parts,
            name=system.label,
            ready_timeout_s=plan.ready_timeout_s,
            max_failures=plan.max_failures,
            run_timeout_s=plan.run_timeout_s,
            num_cpus=system.num_cpus,
            resources=dict(system.resources),
            lane=lane_of(system.name, options),
        )


def _named(job: Job, size: int | None, number: int) -> Job:
    """The job with an id that tells what it is, and a namespace of its own."""
    wire: dict[str, Any] = {**job.to_wire(), "number": number}
    for key in ("home", "cwd", "num_cpus", "resources"):  # these decide nothing of the result
        del wire[key]
    text = json.dumps(wire, sort_keys=True, ensure_ascii=False, allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]
    parts = [job.name or job.provider, *(f"{k}={typed(v)}" for k, v in job.options.items())]
    parts += [Path(job.corpus).name, job.rules, *filter(None, [job.text_mode])]
    parts += [] if size is None else [f"n{size}"]
    slug = re.sub(r"[^A-Za-z0-9._=]+", "-", "-".join(parts)).strip("-.")[:_ID_LENGTH]
    return replace(job, id=f"{slug}-r{number}-{digest}", namespace=f"{digest}-")


@dataclass(frozen=True, slots=True)
class Done:
    """A sweep that has been gone through.

    Attributes:
        jobs: Every job of the plan.
        outcomes: How each ended.
        results: The files of the results.
        strays: Reports in the directory that are of an earlier plan.
    """

    jobs: Sequence[Job]
    outcomes: Sequence[Outcome]
    results: Sequence[Path]
    strays: Sequence[Path]

    @property
    def failed(self) -> list[Outcome]:
        """What did not end well."""
        return [outcome for outcome in self.outcomes if outcome.status != DONE]


def sweep(
    grid: Grid,
    home: Path,
    engine: Callable[[], Engine],
    *,
    retries: int = RETRIES,
    ended: Ended | None = None,
) -> Done:
    """Do every job that is not done yet in ``home``, and write the results.

    A job that fails is a row with its error; the others go on.

    Raises:
        InputError: If ``home`` holds something else or is in use, or two jobs of the
            plan are the same.
    """
    with Ledger(home, KIND) as ledger:
        jobs = grid.jobs(ledger.home)
        outcomes = ledger.do(jobs, engine, retries=retries, ended=ended)
        entries = (
            Entry(job, outcome, grid.corpora[job.corpus])
            for job, outcome in zip(jobs, outcomes, strict=True)
        )
        results = write_results(entries, ledger.home)
        return Done(jobs, outcomes, results, ledger.strays(jobs))
