"""One run of the benchmark as a description, and how it is done."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from ..corpus import load_corpus
from ..errors import BusyError, InputError, PmbError, ProviderError, ResumeError, RunStoppedWarning
from ..faults import describe, is_interrupt
from ..grow.recipe import Recipe
from ..settings import MAX_FAILURES, PARTS
from ..summary import round_half_up
from .memory import Meter

_BUSY_S, _LOOK_S = 60.0, 0.2

DONE, STOPPED, FAILED, LOST = STATUSES = ("done", "stopped", "failed", "lost")
"""How a job ended: with a report, with a report of a run that stopped early, with an
error, or with the process or machine that did it."""

REPORTS = "reports"
"""Where in a job's home its report stands, and its journal beside it until it is done."""
JOURNAL = ".journal"


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that one run needs, in plain values.

    Attributes:
        id: Its name, and that of its report's file.
        provider: A name of `pmb providers`, or a URL.
        options: Options of the provider.
        corpus: ``native``, ``official`` or an absolute directory.
        corpus_sha256: What that corpus must be; another machine may have another version.
        recipe: The distractors to fill the store with, as ``Recipe.to_wire`` gives it.
        home: The absolute directory of all jobs of a plan; where it is not there (on
            another machine), the job works in a directory that is removed after it.
        cwd: Where it was made; relative paths in options are from there.
        num_cpus: What an engine with resources sets aside for it.
        resources: The same for others than cores, such as ``GPU``.
        lane: Jobs of one lane share something that only one can use, such as the
            store behind a URL, and are never done at the same time.
    """

    id: str
    provider: str
    home: str
    options: Mapping[str, Any] = field(default_factory=dict)
    corpus: str = "native"
    corpus_sha256: str | None = None
    fixtures: str | None = None
    recipe: Mapping[str, Any] | None = None
    rules: str = "spec"
    parts: tuple[str, ...] = PARTS
    name: str | None = None
    namespace: str = ""
    text_mode: str | None = None
    ready_timeout_s: float = 60.0
    max_failures: int = MAX_FAILURES
    run_timeout_s: float | None = None
    cwd: str = field(default_factory=os.getcwd)
    num_cpus: float = 1.0
    resources: Mapping[str, float] = field(default_factory=dict)
    lane: str | None = None

    @property
    def report_path(self) -> Path:
        """Where its report goes, if the home is there."""
        return Path(self.home) / REPORTS / f"{self.id}.json"

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {**asdict(self), "parts": list(self.parts)}

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Job:
        """The job that ``to_wire`` gave."""
        return cls(**{**wire, "parts": tuple(wire["parts"])})


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended.

    Attributes:
        status: One of ``STATUSES``.
        error: What went wrong, in one line; ``None`` if nothing did.
        again: Whether trying again may help.
        report: The text of its report; ``None`` if there is none, or if it has been
            put in its place.
        memory: What the process of the job held, if that is known.
        seconds: Time from start to end, all included.
        tries: How often it was tried.
    """

    job_id: str
    status: str
    error: str | None = None
    again: bool = False
    report: str | None = None
    memory: Mapping[str, Any] | None = None
    seconds: float | None = None
    tries: int = 1

    @property
    def has_report(self) -> bool:
        """Whether there is a report of it, whole or of a run that stopped early."""
        return self.status in (DONE, STOPPED)

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return asdict(self)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Outcome:
        """The outcome that ``to_wire`` gave."""
        return cls(**wire)


def perform_there(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Do a job, and do it where it was made, in a process that is only for this.

    Args:
        wire: The job, as ``to_wire`` gives it.

    Returns:
        The outcome in the same form.
    """
    job = Job.from_wire(wire)
    if Path(job.cwd).is_dir():
        os.chdir(job.cwd)
    return perform(job).to_wire()


def perform(job: Job) -> Outcome:
    """Do a job in this process, going on with its journal if there is one.

    Nothing but an interrupt is raised: what goes wrong is the outcome.
    """
    from .. import runner  # noqa: F401 - what it needs is no memory of the provider

    began, meter = monotonic(), Meter()
    status, error, again, report = DONE, None, False, None
    with ExitStack() as stack:
        try:
            home = Path(job.home)
            if not home.is_dir():
                home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pmb-job-")))
            out = home / REPORTS / f"{job.id}.json"
            stopped = _run(job, out, meter)
            report = out.read_text(encoding="utf-8")
            if stopped:
                status, error, again = STOPPED, stopped, True
        except BaseException as problem:  # one job's failure is no other's
            if is_interrupt(problem):
                raise
            ours = isinstance(problem, PmbError)
            status, error = FAILED, str(problem) if ours else describe(problem)
            again = isinstance(problem, ProviderError) or not isinstance(problem, PmbError)
    seconds = round_half_up(monotonic() - began, 3)
    read = meter.read()
    memory = None if read is None else read.to_wire()
    return Outcome(job.id, status, error, again, report, memory, seconds)


def _run(job: Job, out: Path, meter: Meter) -> str | None:
    """Run the benchmark; return why it stopped early, if it did.

    A try that was taken for lost may end only now: until then its journal is its own.
    """
    until = monotonic() + _BUSY_S
    while True:
        try:
            return _resumed(job, out, meter)
        except BusyError:
            if monotonic() > until:
                raise
            sleep(_LOOK_S)


def _resumed(job: Job, out: Path, meter: Meter) -> str | None:
    """Go on with the journal, if there is one of any use."""
    journal = out.with_name(out.name + JOURNAL)
    try:
        return _once(job, out, meter, resume=journal.exists())
    except ResumeError:
        # Of another version of the provider, say, or damaged: what it holds is of no use.
        journal.unlink(missing_ok=True)
        return _once(job, out, meter, resume=False)


def _once(job: Job, out: Path, meter: Meter, *, resume: bool) -> str | None:
    from ..runner import run

    loaded = load_corpus(job.corpus, fixtures=job.fixtures)
    if job.corpus_sha256 is not None and loaded.sha256 != job.corpus_sha256:
        raise InputError(
            f"the corpus {job.corpus!r} is another one here ({loaded.sha256[:12]}…) than where the "
            f"job was made ({job.corpus_sha256[:12]}…); use the same pmb-hf and files everywhere"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunStoppedWarning)
        report = run(
            job.provider,
            loaded,
            rules=job.rules,
            parts=job.parts,
            options=job.options,
            name=job.name,
            out=out,
            resume=resume,
            text_mode=job.text_mode,
            namespace=job.namespace,
            ready_timeout_s=job.ready_timeout_s,
            max_failures=job.max_failures,
            run_timeout_s=job.run_timeout_s,
            distractors=None if job.recipe is None else Recipe.from_wire(job.recipe, job.id),
            progress=lambda _: meter.seeded(),
        )
    stopped = report.provenance.get("stopped")
    return None if stopped is None else f"the run stopped early: {stopped}"
