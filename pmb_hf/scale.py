"""The same cases on stores of growing size: what a memory system makes of many beliefs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .engines.jobs import Job, Outcome
from .engines.lanes import lane_of
from .engines.ledger import Ended, Ledger
from .engines.protocol import Engine
from .engines.running import RETRIES
from .errors import InputError
from .grow.recipe import DEFAULT_USERS, Recipe
from .report import Report, judge
from .report_reader import read_report
from .schema import Corpus
from .settings import PARTS
from .summary import Summary, round_half_up
from .tables.text import count_of, typed

KIND = "scale"

QUALITY = (
    *("cases", "passed", "mean_precision", "n_precision", "mean_recall", "n_recall"),
    *("abstention_rate", "n_abstention", "leaks", "errors"),
)
"""Measures of the single-turn cases that stand against the size."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a store of one size came to.

    Attributes:
        size: Beliefs in the store, those of the corpus included.
        status: How the run ended; the rest is null if there is no report.
        quality: The measures of ``QUALITY``.
        session: ``turns``, ``passed``, ``mean_drift`` with ``n_drift``.
        ingest_per_second: Beliefs written a second, from all calls until the last one
            could be found; making the beliefs does not count.
        ingest_calls: In how many calls the distractors were written.
        add_p50_ms, add_p95_ms: Writing one belief more to the full store.
        search_p50_ms, search_p95_ms: One search of the full store.
        visible_ms: From the last write until it could be found.
        memory_bytes: What filling the store added to the process; null if the store is
            in another process, or the system does not say.
        seconds: The whole run.
    """

    size: int
    status: str
    error: str | None = None
    quality: Mapping[str, Any] | None = None
    session: Mapping[str, Any] | None = None
    ingest_per_second: float | None = None
    ingest_calls: int | None = None
    add_p50_ms: float | None = None
    add_p95_ms: float | None = None
    search_p50_ms: float | None = None
    search_p95_ms: float | None = None
    visible_ms: float | None = None
    memory_bytes: int | None = None
    seconds: float | None = None
    report: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, at which sizes."""

    provider: str
    corpus: Corpus
    sizes: tuple[int, ...]
    options: Mapping[str, Any]
    corpus_name: str = "native"
    fixtures: str | None = None
    rules: str = "spec"
    parts: tuple[str, ...] = PARTS
    name: str | None = None
    text_mode: str | None = None
    ready_timeout_s: float = 600.0
    seed: int = 0
    users: int = DEFAULT_USERS
    num_cpus: float = 1.0

    def __post_init__(self) -> None:
        """Check the sizes.

        Raises:
            InputError: If there is none, one is there twice, or one is smaller than
                the corpus.
        """
        own = len(self.corpus.beliefs)
        if not self.sizes or len(set(self.sizes)) < len(self.sizes):
            raise InputError(f"sizes must be different numbers, not {list(self.sizes)}")
        if min(self.sizes) < own:
            raise InputError(
                f"size {min(self.sizes)} is too small: the corpus {self.corpus.name!r} itself "
                f"has {count_of(own, 'belief')}"
            )

    def jobs(self, home: Path) -> list[Job]:
        """A job a size, the smallest first."""
        return [self.job(home, size) for size in sorted(self.sizes)]

    def job(self, home: Path, size: int) -> Job:
        """The job of one size."""
        more = size - len(self.corpus.beliefs)
        return Job(
            id=f"size-{size:010d}",
            provider=self.provider,
            home=str(home),
            options=dict(self.options),
            corpus=self.corpus_name,
            corpus_sha256=self.corpus.sha256,
            fixtures=self.fixtures,
            recipe=Recipe(more, self.seed, self.users).to_wire() if more else None,
            rules=self.rules,
            parts=self.parts,
            name=self.name,
            text_mode=self.text_mode,
            ready_timeout_s=self.ready_timeout_s,
            num_cpus=self.num_cpus,
            lane=lane_of(self.provider, self.options),
        )


def scale(
    plan: Plan,
    home: Path,
    engine: Callable[[], Engine],
    *,
    retries: int = RETRIES,
    ended: Ended | None = None,
) -> list[Point]:
    """Measure every size that is not measured yet in ``home``; the smallest first.

    Sizes that were measured there before are points of the result, too.

    Raises:
        InputError: If ``home`` holds something else, what was measured with other
            settings, or is in use.
    """
    with Ledger(home, KIND) as ledger:
        _check_settings(ledger, plan)
        plan = replace(plan, sizes=_with_earlier(ledger, plan))
        jobs = plan.jobs(ledger.home)
        outcomes = ledger.do(jobs, engine, retries=retries, ended=ended)
    return points(plan, jobs, outcomes)


def _with_earlier(ledger: Ledger, plan: Plan) -> tuple[int, ...]:
    own = len(plan.corpus.beliefs)
    done = (own + (job.recipe or {}).get("count", 0) for job in ledger.measured())
    jobs = replace(plan, sizes=tuple({*done, *plan.sizes})).jobs(ledger.home)
    kept = {own + (job.recipe or {}).get("count", 0) for job in jobs if ledger.finished(job)}
    return tuple({*kept, *plan.sizes})


def _check_settings(ledger: Ledger, plan: Plan) -> None:
    """Refuse to write over what was measured with other settings."""
    for earlier in ledger.measured():
        size = len(plan.corpus.beliefs) + (earlier.recipe or {}).get("count", 0)
        there, here = _settings(earlier), _settings(plan.job(ledger.home, size))
        names = [n for n in (*there, *here) if there.get(n, _UNSET) != here.get(n, _UNSET)]
        if names:
            told = "; ".join(
                f"{name} {there.get(name, _UNSET)} there, {here.get(name, _UNSET)} here"
                for name in dict.fromkeys(names)
            )
            raise InputError(
                f"{ledger.home} holds what was measured with other settings: {told}. "
                "Give the same settings to go on with it, or another directory by --out"
            )


_UNSET = "not given"


def _settings(job: Job) -> dict[str, str]:
    """What decides the result of a job beside the size, by the words of the command line."""
    told = {
        "--provider": job.provider,
        **{f"--option {key}": typed(value) for key, value in job.options.items()},
        "--corpus": job.corpus,
        "the SHA-256 of the corpus": str(job.corpus_sha256)[:12],
        "--rules": job.rules,
        "--parts": ",".join(job.parts),
        "--ready-timeout": f"{job.ready_timeout_s:g}",
    }
    optional = {"--fixtures": job.fixtures, "--name": job.name, "the text mode": job.text_mode}
    told |= {name: value for name, value in optional.items() if value is not None}
    if job.recipe is not None:
        names = {"seed": "--seed", "users": "--users", "version": "the version of the distractors"}
        told |= {name: str(job.recipe.get(key)) for key, name in names.items()}
    return told


def points(plan: Plan, jobs: Sequence[Job], outcomes: Sequence[Outcome]) -> list[Point]:
    """What the outcomes of a plan's jobs come to."""
    return [
        _point(plan.corpus, size, job, outcome)
        for size, job, outcome in zip(sorted(plan.sizes), jobs, outcomes, strict=True)
    ]


def _point(corpus: Corpus, size: int, job: Job, outcome: Outcome) -> Point:
    if not outcome.has_report:
        return Point(size, outcome.status, outcome.error, seconds=outcome.seconds)
    report = read_report(job.report_path)
    evaluation = judge(report, corpus)
    single, session = evaluation.retrieval, evaluation.session
    timed = single or session or {}
    memory = outcome.memory or {}
    return Point(
        size=size,
        status=outcome.status,
        error=outcome.error,
        quality=None if single is None else {name: single.get(name) for name in QUALITY},
        session=None if session is None else _session(session),
        **_ingestion(report),
        search_p50_ms=timed.get("p50_latency_ms"),
        search_p95_ms=timed.get("p95_latency_ms"),
        memory_bytes=None if job.lane is not None else memory.get("provider"),
        seconds=outcome.seconds,
        report=str(job.report_path),
    )


def _session(session: Summary) -> dict[str, Any]:
    names = ("passed", "mean_drift", "n_drift", "leaks", "errors")
    return {"turns": session.get("cases"), **{name: session.get(name) for name in names}}


def _ingestion(report: Report) -> dict[str, Any]:
    ingestion = report.ingestion or report.session_ingestion
    if ingestion is None:
        return {}
    wire, bulk = ingestion.to_wire(), ingestion.bulk
    count, spent = len(ingestion.per_belief), ingestion.total_ms + (ingestion.visible_ms or 0.0)
    if bulk is not None:
        count, spent = count + bulk.count, spent + bulk.total_ms
    return {
        "ingest_per_second": round_half_up(count / spent * 1000, 1) if spent else None,
        "ingest_calls": None if bulk is None else bulk.calls,
        "add_p50_ms": wire["p50PerBeliefMs"],
        "add_p95_ms": wire["p95PerBeliefMs"],
        "visible_ms": ingestion.visible_ms,
    }


def view(plan: Plan, found: Iterable[Point]) -> dict[str, Any]:
    """The result as a JSON-ready mapping."""
    return {
        "provider": plan.name or plan.provider,
        "options": dict(plan.options),
        "corpus": plan.corpus.name,
        "corpusSha256": plan.corpus.sha256,
        "rules": plan.rules,
        "seed": plan.seed,
        "users": plan.users,
        "points": [point.to_wire() for point in found],
    }
