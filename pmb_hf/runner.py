"""Runs the benchmark on a memory system and makes the report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from . import provenance
from .asking import Asker, queries_of
from .baselines import ideal_answers
from .corpus import load_corpus
from .errors import InputError, ProviderError, RunStoppedWarning
from .journal import Journal, write_atomically
from .load import measure_load
from .measured import Record
from .memories import check_text_mode
from .providers.protocol import Provider, close, provider_options, provider_version
from .records import Rules
from .report import Report
from .report_json import report_json
from .run_log import RunLog
from .schema import Corpus
from .seeding import Seeder
from .session import SessionRunner
from .settings import MAX_FAILURES, PARTS, Settings, at_least_one, known_rules, runnable_parts
from .states import keys_of, seed

_WARM_UP = "warm up"


class Progress(NamedTuple):
    """How far a run is: what it does, how many of how many, and the last record."""

    part: str
    done: int
    total: int
    record: Record | None = None


def run(
    provider: str | Provider,
    corpus: str | Path | Corpus = "native",
    *,
    rules: str | Rules = "spec",
    parts: Sequence[str] = PARTS,
    options: Mapping[str, object] | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    fixtures: str | Path | None = None,
    text_mode: str | None = None,
    namespace: str = "",
    ready_timeout_s: float = 60.0,
    max_failures: int = MAX_FAILURES,
    run_timeout_s: float | None = None,
    repeat: int = 1,
    concurrency: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Run single-turn cases and sessions on ``provider`` and return the report.

    Args:
        provider: A registered name, or an object with the provider's methods.
        corpus: ``"native"``, ``"official"``, a directory, or a loaded corpus.
        rules: How to ask and to score; a rule set or its name.
        parts: ``"retrieval"``, ``"sessions"`` or both.
        options: Options of a provider that is given by name.
        name: What the report calls the provider; its registered name by default.
        out: File for the report. Beside it stands a journal until the run is
            done, so that nothing measured is lost.
        resume: Go on with the journal of an interrupted run.
        fixtures: Directory of upstream's fixtures, for ``"official"``.
        text_mode: What a memory's text is made of, one of ``memories.TEXT_MODES``;
            by default what the provider's configuration says, else ``"all"``.
        namespace: Put in front of every user id, to keep runs apart.
        ready_timeout_s: How long to wait, in seconds, until a write shows.
        max_failures: Stop after so many failed cases in a row.
        run_timeout_s: Stop after so many seconds with what there is.
        repeat: Ask each query so many times; the first answer counts, the others
            tell how the time spreads and whether the list is stable.
        concurrency: Ask the single-turn queries once more, so many at a time,
            and report throughput and latency apart.
        progress: Called after every case.

    Returns:
        The report. ``provenance["stopped"]`` says why if it stopped early.

    Raises:
        InputError: If an argument is wrong, or a journal is in the way.
        ProviderError: If the store can't be reset, seeded or shown.
    """
    loaded = corpus if isinstance(corpus, Corpus) else load_corpus(corpus, fixtures=fixtures)
    chosen, wanted = known_rules(rules), runnable_parts(parts, loaded)
    system, label = _provider(provider, options, name)
    settings = Settings(
        rules=chosen,
        parts=wanted,
        text_mode=check_text_mode(text_mode or getattr(system, "text_mode", None) or "all"),
        namespace=namespace,
        ready_timeout_s=ready_timeout_s,
        max_failures=max_failures,
        run_timeout_s=run_timeout_s,
        repeat=at_least_one("repeat", repeat),
        concurrency=None if concurrency is None else at_least_one("concurrency", concurrency),
    )
    try:
        return _Run(system, label, loaded, settings, progress).go(
            None if out is None else Path(out), resume
        )
    finally:
        if isinstance(provider, str):
            close(system)


def _provider(
    provider: str | Provider, options: Mapping[str, object] | None, name: str | None
) -> tuple[Provider, str]:
    if isinstance(provider, str):
        from .providers.registry import create

        return create(provider, options), name or provider
    if options:
        raise InputError("options are for providers given by name; set them on the object")
    if not isinstance(provider, Provider):
        raise InputError(
            f"{type(provider).__name__} is no provider: it needs the methods reset, add and search"
        )
    return provider, name or type(provider).__name__


@dataclass(slots=True)
class _Run:
    """One run in progress."""

    provider: Provider
    name: str
    corpus: Corpus
    settings: Settings
    progress: Callable[[Progress], None] | None
    log: RunLog = field(default_factory=RunLog)
    stopped: str | None = None
    started_at: str = ""
    began: float = field(default_factory=monotonic)

    def go(self, out: Path | None, resume: bool) -> Report:
        self.started_at = provenance.utc_now()
        self._arm()
        if out is not None:
            journal = out.with_name(out.name + ".journal")
            self.log = RunLog(Journal(journal, self._config(), resume=resume))
        finished = False
        try:
            if "retrieval" in self.settings.parts:
                self._single_turn()
            if "sessions" in self.settings.parts and self.stopped is None:
                self._sessions()
            report = self._report()
            if out is not None:
                write_atomically(out, report_json(report, self.corpus))
            finished = self.stopped is None
        finally:
            self.log.close(finished=finished)
        return report

    def _config(self) -> dict[str, Any]:
        return {
            "provider": self.name,
            "providerVersion": provider_version(self.provider),
            "options": provider_options(self.provider),
            "corpus": provenance.corpus_identity(self.corpus),
            **self.settings.wire(),
        }

    def _arm(self) -> None:
        """Give the answers to a provider that is a control and asks for them."""
        arm = getattr(self.provider, "arm", None)
        if callable(arm):
            prefix = self.settings.namespace
            answers = ideal_answers(self.corpus, self.settings.rules)
            arm({(prefix + user, *rest): ids for (user, *rest), ids in answers.items()})

    def _asker(self) -> Asker:
        settings = self.settings
        return Asker(self.provider, settings.rules, settings.namespace, settings.repeat)

    def _seeder(self) -> Seeder:
        settings = self.settings
        return Seeder(
            self.provider, settings.text_mode, settings.namespace, settings.ready_timeout_s
        )

    def _single_turn(self) -> None:
        todo = [q for q in queries_of(self.corpus) if (q.case_id, None) not in self.log.records]
        wants_load = self.settings.concurrency is not None and self.log.load is None
        if not todo and not wants_load:
            return
        store = seed(self.corpus)
        self.log.keep_ingestion(self._seeder().seed(store.values()))
        self._warm_up()
        asker = self._asker()
        for query in todo:
            self._keep(asker.ask(query, store), len(self.corpus.cases))
            if self.stopped is not None:
                return
        if self.settings.concurrency is not None and wants_load:
            queries = queries_of(self.corpus)
            self.log.keep_load(measure_load(asker, queries, store, self.settings.concurrency))

    def _warm_up(self) -> None:
        """One search whose time counts nowhere: lazy indexes and connections settle in it."""
        user = self.settings.namespace + self.corpus.user_id
        try:
            self.provider.search(query=_WARM_UP, user_id=user, scopes=(_WARM_UP,), limit=1)
        except Exception:  # noqa: BLE001 - a provider that fails will fail its cases
            return

    def _sessions(self) -> None:
        runner = SessionRunner(self.corpus, self._asker(), self._seeder(), self.log.keep_change)
        total = sum(len(session.turns) for session in self.corpus.sessions)
        for session in self.corpus.sessions:
            keys = [(session.case_id, turn.turn_index) for turn in session.turns]
            if all(key in self.log.records for key in keys):
                continue
            self.log.restart(session.case_id)
            for record in runner.turns(session):
                self._keep(record, total)
                if self.stopped is not None:
                    break
            if self.log.session_ingestion is None and runner.ingestion is not None:
                self.log.keep_session_ingestion(runner.ingestion)
            if self.stopped is not None:
                return

    def _keep(self, record: Record, total: int) -> None:
        self.log.keep(record)
        failed = self.log.failed_in_a_row
        if failed >= self.settings.max_failures:
            self.stopped = f"{failed} cases failed in a row; the last: {record.error}"
            self.log.retry(list(self.log.records)[-failed:])
        limit = self.settings.run_timeout_s
        if self.stopped is None and limit is not None and monotonic() - self.began > limit:
            self.stopped = f"the run took longer than {limit:g} s"
        if self.stopped is not None:
            said = f"{self.name}: the run stopped early: {self.stopped}"
            warnings.warn(said, RunStoppedWarning, stacklevel=5)
        if self.progress is not None:
            sessions = record.turn_index is not None
            part = "sessions" if sessions else "retrieval"
            self.progress(Progress(part, self.log.done(sessions=sessions), total, record))

    def _report(self) -> Report:
        log = self.log
        if not log.records:
            raise ProviderError(f"{self.name}: nothing was measured")
        config = self._config()
        return Report(
            provider=self.name,
            rules=self.settings.rules.name,
            records=tuple(log.records[key] for key in keys_of(self.corpus) if key in log.records),
            ingestion=log.ingestion,
            session_ingestion=log.session_ingestion,
            changes=tuple(log.changes),
            can_update=self._can_update(),
            load=log.load,
            provenance={
                **provenance.environment(),
                "corpus": config.pop("corpus"),
                "config": config,
                "configSha256": provenance.config_hash(config),
                "startedAt": self.started_at,
                "finishedAt": provenance.utc_now(),
                "gitCommit": provenance.git_commit(),
                "calls": _counts(self.provider),
                "stopped": self.stopped,
            },
        )

    def _can_update(self) -> bool:
        """A service may tell only when asked, and a resumed run may not ask again."""
        refused = any(change.action == "none" for change in self.log.changes)
        return not refused and self._seeder().update_action != "none"


def _counts(provider: Provider) -> dict[str, Any] | None:
    """What a provider counted of its own calls, for instance how ids were resolved."""
    counts = getattr(provider, "counts", None)
    return dict(counts) if isinstance(counts, Mapping) else None
