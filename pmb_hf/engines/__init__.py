"""Runs many jobs: on this machine, or on a Ray cluster. The same jobs, the same reports.

A :class:`~.jobs.Job` is a description that can be sent anywhere, and
:func:`~.jobs.perform` does it. An engine carries descriptions out and outcomes back;
:func:`~.running.run_jobs` feeds it, tries again what was lost, and stops it.
"""

from __future__ import annotations

from .jobs import DONE, FAILED, LOST, STOPPED, Job, Outcome, perform
from .protocol import ENGINES, Engine, create
from .running import run_jobs

__all__ = [
    "DONE",
    "ENGINES",
    "FAILED",
    "LOST",
    "STOPPED",
    "Engine",
    "Job",
    "Outcome",
    "create",
    "perform",
    "run_jobs",
]
