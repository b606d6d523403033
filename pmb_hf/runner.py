"""Runs the benchmark on a memory system and makes the report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from . import provenance
from .asking import Asker, queries_of
from .baselines import ideal_answers
from .context import Snapshot
from .corpus import load_corpus
from .deadline import Deadline, OutOfTimeError, seconds
from .errors import ProviderError, ResumeError, RunStoppedWarning
from .faults import named
from .files import write_atomically
from .grow.files import opened
from .grow.recipe import Recipe
from .grow.source import Distractors, bare
from .liveness import gone, warm_up
from .load import measure_load
from .measured import Record
from .memories import check_text_mode
from .opening import made_for_run
from .providers.protocol import Provider, told
from .records import Rules
from .report import Evaluation, Report, judge
from .report_json import dump, report_tree
from .run_log import RunLog
from .schema import Belief, Corpus
from .seeding import Seeder
from .self_report import SelfReport
from .session import SessionRunner
from .settings import (
    MAX_FAILURES,
    PARTS,
    Settings,
    at_least_one,
    check_text,
    known_rules,
    runnable_parts,
)
from .states import keys_of, seed
from .tables.text import count_of


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
    distractors: Distractors | Recipe | str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    on_evaluation: Callable[[Evaluation], None] | None = None,
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
        run_timeout_s: Stop after so many seconds with what there is. It is looked
            at between calls; what bounds one call is the provider's own time-out.
        repeat: Ask each query so many times; the first answer counts, the others
            tell how the time spreads and whether the list is stable.
        concurrency: Ask the single-turn queries once more, so many at a time,
            and report throughput and latency apart.
        distractors: Beliefs to fill the store with beside the corpus's: a recipe, or
            a folder of `pmb data grow`. Cases and right answers stay the same.
        progress: Called after every case.
        on_evaluation: Called with the scores of the finished report, which spares
            judging it again.

    Returns:
        The report. ``provenance["stopped"]`` says why if it stopped early.

    Raises:
        InputError: If an argument is wrong, or a journal is in the way.
        ProviderError: If the store can't be reset, seeded or shown before anything was
            measured (later the run stops early), or what the provider says of itself
            can't stand in a report.
        OSError: If report or journal can't be written.
    """
    check_text("name", name or "")
    check_text("namespace", namespace)
    loaded = corpus if isinstance(corpus, Corpus) else load_corpus(corpus, fixtures=fixtures)
    among = opened(distractors, loaded)
    chosen, wanted = known_rules(rules), runnable_parts(parts, loaded)
    with made_for_run(provider, options, name) as (system, label):
        settings = Settings(
            rules=chosen,
            parts=wanted,
            text_mode=check_text_mode(text_mode or told(system, "text_mode") or "all"),
            namespace=namespace,
            ready_timeout_s=seconds("ready_timeout_s", ready_timeout_s),
            max_failures=at_least_one("max_failures", max_failures),
            run_timeout_s=None
            if run_timeout_s is None
            else seconds("run_timeout_s", run_timeout_s),
            repeat=at_least_one("repeat", repeat),
            concurrency=None if concurrency is None else at_least_one("concurrency", concurrency),
        )
        run_ = _Run(system, label, loaded, settings, among, progress, on_evaluation)
        return run_.go(None if out is None else Path(out), resume)


@dataclass(slots=True)
class _Run:
    """One run in progress."""

    provider: Provider
    name: str
    corpus: Corpus
    settings: Settings
    distractors: Distractors | None
    progress: Callable[[Progress], None] | None
    on_evaluation: Callable[[Evaluation], None] | None = None
    log: RunLog = field(default_factory=RunLog)
    stopped: str | None = None
    started_at: str = ""
    deadline: Deadline = field(init=False)
    told: SelfReport = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = Deadline(self.settings.run_timeout_s)
        self.told = SelfReport(self._seeder())

    def go(self, out: Path | None, resume: bool) -> Report:
        self.started_at = provenance.utc_now()
        self._arm()
        if out is not None:
            journal = out.with_name(out.name + ".journal")
            self.log = RunLog.open(journal, self._config(self.told.identity), resume=resume)
        finished = False
        try:
            self._check_log(out)
            try:
                if "retrieval" in self.settings.parts:
                    self._single_turn()
                if "sessions" in self.settings.parts and self.stopped is None:
                    self._sessions()
            except ProviderError as error:
                self._give_up(error)
            report = self._report()
            if out is not None or self.on_evaluation is not None:
                self._finish(report, out)
            finished = self.stopped is None
        finally:
            self.log.close(finished=finished)
        return report

    def _finish(self, report: Report, out: Path | None) -> None:
        evaluation = judge(report, self.corpus)
        if out is not None:
            write_atomically(out, dump(report_tree(report, evaluation, self.corpus)))
        if self.on_evaluation is not None:
            self.on_evaluation(evaluation)

    def _check_log(self, out: Path | None) -> None:
        """Refuse a journal with answers to what the corpus does not ask."""
        strange = self.log.records.keys() - set(keys_of(self.corpus))
        if strange:
            case_id, turn = min(strange, key=str)
            shown = repr(case_id) + ("" if turn is None else f" turn {turn}")
            raise ResumeError(
                f"{out}.journal holds case {shown}, which is not in the corpus; "
                "delete the file to start anew"
            )

    def _config(self, identity: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "provider": self.name,
            **identity,
            "corpus": self._store_identity(),
            **self.settings.wire(),
        }

    def _store_identity(self) -> dict[str, Any]:
        found = provenance.corpus_identity(self.corpus)
        if self.distractors is not None:
            found["distractors"] = self.distractors.recipe.to_wire()
        return found

    def _returned_distractors(self) -> tuple[Belief, ...]:
        """Those that came back: what a report needs to tell what is wrong with them."""
        if self.distractors is None:
            return ()
        records = self.log.records.values()
        ids = {result.id for record in records for result in record.results or ()}
        found = self.distractors.find(ids)
        return tuple(bare(found[belief_id]) for belief_id in sorted(found))

    def _arm(self) -> None:
        """Give the answers to a provider that is a control and asks for them."""
        arm = told(self.provider, "arm")
        if callable(arm):
            prefix = self.settings.namespace
            answers = ideal_answers(self.corpus, self.settings.rules)
            with named("arm", ours=False):
                arm({(prefix + user, *rest): ids for (user, *rest), ids in answers.items()})

    def _asker(self) -> Asker:
        settings = self.settings
        return Asker(
            self.provider, settings.rules, settings.namespace, settings.repeat, self.deadline
        )

    def _seeder(self) -> Seeder:
        settings = self.settings
        return Seeder(
            self.provider,
            settings.text_mode,
            settings.namespace,
            settings.ready_timeout_s,
            self.deadline,
            self.distractors,
        )

    def _single_turn(self) -> None:
        todo = [q for q in queries_of(self.corpus) if (q.case_id, None) not in self.log.records]
        wants_load = self.settings.concurrency is not None and self.log.load is None
        if not todo and not wants_load:
            return
        store = Snapshot(seed(self.corpus))
        self.log.keep_ingestion(self._seeder().seed(store.values()))
        asker = self._asker()
        warm_up(asker, self.corpus.user_id)
        for query in todo:
            self._keep(asker.ask(query, store), len(self.corpus.cases))
            if self.stopped is not None:
                return
        if self._is_gone(asker):
            return
        if self.settings.concurrency is not None and wants_load:
            queries = queries_of(self.corpus)
            self.log.keep_load(measure_load(asker, queries, store, self.settings.concurrency))

    def _sessions(self) -> None:
        asker = self._asker()
        runner = SessionRunner(self.corpus, asker, self._seeder(), self.log.keep_change)
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
        self._is_gone(asker)

    def _is_gone(self, asker: Asker) -> bool:
        """Stop if the last cases failed and the provider answers nothing any more."""
        failed = self.log.failed_in_a_row
        why = gone(asker, self.corpus, self.log.records) if failed else None
        if why is not None:
            self._stop(
                f"the last {count_of(failed, 'case')} failed, and another search does, too: {why}"
            )
        return why is not None

    def _keep(self, record: Record, total: int) -> None:
        self.log.keep(record)
        failed = self.log.failed_in_a_row
        if failed >= self.settings.max_failures:
            self._stop(f"{count_of(failed, 'case')} failed in a row; the last: {record.error}")
        elif self.deadline.passed:
            self._stop(str(self.deadline))
        if self.progress is not None:
            sessions = record.turn_index is not None
            part = "sessions" if sessions else "retrieval"
            self.progress(Progress(part, self.log.done(sessions=sessions), total, record))

    def _give_up(self, error: ProviderError) -> None:
        """Stop with what there is: the store can't be filled again, or the time is up."""
        if self.log.records:
            self._stop(str(error))
        elif isinstance(error, OutOfTimeError):
            raise ProviderError(f"{self.name}: nothing was measured: {error}") from error
        else:
            raise error

    def _stop(self, why: str) -> None:
        self.stopped = why
        said = f"{self.name}: the run stopped early: {why}"
        warnings.warn(said, RunStoppedWarning, stacklevel=6)

    def _report(self) -> Report:
        log = self.log
        if not log.records:
            raise ProviderError(f"{self.name}: nothing was measured")
        config = self._config(self.told.identity_now())
        refused = any(change.action == "none" for change in log.changes)
        return Report(
            provider=self.name,
            rules=self.settings.rules.name,
            records=tuple(log.records[key] for key in keys_of(self.corpus) if key in log.records),
            ingestion=log.ingestion,
            session_ingestion=log.session_ingestion,
            changes=tuple(log.changes),
            # A service may tell only when asked, and a resumed run may not ask again.
            can_update=False if refused else self.told.can_update(),
            load=log.load,
            distractors=self._returned_distractors(),
            provenance={
                **provenance.environment(),
                "corpus": config.pop("corpus"),
                "config": config,
                "configSha256": provenance.config_hash(config),
                "startedAt": self.started_at,
                "finishedAt": provenance.utc_now(),
                "gitCommit": provenance.git_commit(),
                "providerEnvironment": self.told.environment(),
                "calls": self.told.counts(),
                "stopped": self.stopped,
            },
        )
