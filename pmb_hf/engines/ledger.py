"""What has been done of a plan, on disk: so that what is done is not done again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..errors import InputError
from ..files import write_atomically
from .jobs import DONE, FAILED, JOURNAL, REPORTS, Job, Outcome
from .protocol import Engine
from .running import RETRIES, run_jobs

LEDGER_FILE = "ledger.json"
FORMAT = 1
_JOBS = "jobs"

Ended = Callable[[Job, Outcome, int, int], None]
"""Called with a job, how it ended, how many have ended and how many there are."""


class Ledger:
    """The directory of a plan: its reports, and how each job ended.

    ``reports/<id>.json`` is the report of a job, ``jobs/<id>.json`` the job itself and
    how it ended.
    """

    def __init__(self, home: Path, kind: str) -> None:
        """Take the directory ``home`` for a plan of ``kind``, and hold it alone.

        Raises:
            InputError: If it holds something else, or is in use.
        """
        self.home = home.resolve()
        _check_home(self.home, kind)
        (self.home / REPORTS).mkdir(parents=True, exist_ok=True)
        (self.home / _JOBS).mkdir(exist_ok=True)
        self._lock = _locked(self.home)
        if not (self.home / LEDGER_FILE).exists():
            head = {"pmbLedger": FORMAT, "kind": kind}
            write_atomically(self.home / LEDGER_FILE, json.dumps(head) + "\n")

    def finished(self, job: Job) -> Outcome | None:
        """How ``job`` ended, if it has been done exactly as it is now and its report is there."""
        found = self._read(job.id)
        try:
            outcome = Outcome.from_wire(found["outcome"])
            report = job.report_path.read_text(encoding="utf-8")
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if found.get("job") != _identity(job) or outcome.status != DONE:
            return None
        if hashlib.sha256(report.encode()).hexdigest() != found.get("reportSha256"):
            return None
        return outcome

    def begin(self, jobs: Iterable[Job]) -> None:
        """Write down what is about to be measured, so that an interrupt does not hide it."""
        for job in jobs:
            if self._read(job.id).get("job") != _identity(job):
                self._write(job, {"job": _identity(job), "outcome": None, "reportSha256": None})

    def measured(self) -> Iterator[Job]:
        """The jobs, as they were, that left a report or part of one here; in the order of ids.

        One that failed left nothing, and an entry that can't be read is passed over.
        """
        for file in sorted((self.home / _JOBS).glob("*.json")):
            entry = self._read(file.stem)
            try:
                job = Job.from_wire({**entry["job"], "home": str(self.home)})
                failed = (entry["outcome"] or {}).get("status") == FAILED
            except (KeyError, TypeError, AttributeError):
                continue
            places = (job.report_path, job.report_path.with_name(job.report_path.name + JOURNAL))
            if not failed and any(place.exists() for place in places):
                yield job

    def keep(self, job: Job, outcome: Outcome) -> None:
        """Write down how ``job`` ended, with its report."""
        digest = None
        if outcome.report is not None:
            write_atomically(job.report_path, outcome.report)
            digest = hashlib.sha256(outcome.report.encode()).hexdigest()
        told = replace(outcome, report=None).to_wire()
        self._write(job, {"job": _identity(job), "outcome": told, "reportSha256": digest})

    def _read(self, job_id: str) -> dict[str, Any]:
        """What is written of a job; nothing if there is nothing, or it can't be read."""
        try:
            found = json.loads((self.home / _JOBS / f"{job_id}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self, job: Job, entry: Mapping[str, Any]) -> None:
        text = json.dumps(entry, ensure_ascii=False, allow_nan=False, indent=2)
        write_atomically(self.home / _JOBS / f"{job.id}.json", text + "\n")

    def do(
        self,
        jobs: Sequence[Job],
        engine: Callable[[], Engine],
        *,
        retries: int = RETRIES,
        ended: Ended | None = None,
    ) -> list[Outcome]:
        """Do what is not done yet of ``jobs``; how each ended, in their order.

        ``engine`` is called only if there is something to do. The reports stand in
        the directory, and not in the outcomes: many would not fit into memory.
        """
        by_id = {job.id: job for job in jobs}
        found = {job.id: done for job in jobs if (done := self.finished(job)) is not None}
        todo = [job for job in jobs if job.id not in found]
        if todo:
            self.begin(todo)
            for outcome in run_jobs(engine(), todo, retries=retries):
                job = by_id[outcome.job_id]
                self.keep(job, outcome)
                found[job.id] = replace(outcome, report=None)
                if ended is not None:
                    ended(job, found[job.id], len(found), len(jobs))
        return [found[job.id] for job in jobs]

    def strays(self, jobs: Iterable[Job]) -> list[Path]:
        """Reports in the directory that are not of these jobs, but of an earlier plan."""
        ours = {job.report_path.name for job in jobs}
        return sorted(p for p in (self.home / REPORTS).glob("*.json") if p.name not in ours)

    def __enter__(self) -> Self:
        """Use as a context manager that lets the directory go."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the directory go."""
        self._lock.release()


def _identity(job: Job) -> dict[str, Any]:
    """What a job is, wherever its directory stands."""
    wire = job.to_wire()
    for key in ("home", "cwd", "num_cpus", "resources"):  # these decide nothing of the result
        del wire[key]
    identity: dict[str, Any] = json.loads(json.dumps(wire))
    return identity


def _check_home(home: Path, kind: str) -> None:
    if home.exists() and not home.is_dir():
        raise InputError(f"{home} is no directory; choose another place")
    ledger = home / LEDGER_FILE
    if not ledger.exists():
        if home.is_dir() and any(p.name != ".lock" for p in home.iterdir()):
            raise InputError(f"{home} holds other files; choose a directory that is new or empty")
        return
    try:
        found = json.loads(ledger.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{ledger} can't be read ({error}); choose another directory") from error
    if found != {"pmbLedger": FORMAT, "kind": kind}:
        raise InputError(f"{home} holds something else than a {kind}; choose another directory")


def _locked(home: Path) -> Any:
    from filelock import FileLock, Timeout

    lock = FileLock(home / ".lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise InputError(f"another pmb is working in {home}; wait for it") from error
    return lock
