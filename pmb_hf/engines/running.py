"""Feeds an engine: lanes, tries and a clean end."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from .jobs import Job, Outcome
from .protocol import Engine

RETRIES = 1


def run_jobs(engine: Engine, jobs: Iterable[Job], *, retries: int = RETRIES) -> Iterator[Outcome]:
    """Do all jobs and yield how each ended, as soon as it has.

    A job that was lost, or that failed by its provider, is tried again up to
    ``retries`` times. Whatever ends this (an interrupt, too) stops the engine.
    """
    tries: dict[str, int] = {}
    running: dict[str, Job] = {}
    lanes: dict[str, deque[Job]] = defaultdict(deque)

    def start(job: Job) -> None:
        running[job.id] = job
        tries[job.id] = tries.get(job.id, 0) + 1
        engine.submit(job)

    try:
        for job in jobs:
            if job.lane is None:
                start(job)
            else:
                lanes[job.lane].append(job)
        for waiting in lanes.values():
            start(waiting.popleft())
        while running:
            outcome = engine.wait()
            job = running.pop(outcome.job_id)
            if outcome.again and tries[job.id] <= retries:
                start(job)
                continue
            if job.lane is not None and lanes[job.lane]:
                start(lanes[job.lane].popleft())
            yield replace(outcome, tries=tries[job.id])
    finally:
        engine.stop()
