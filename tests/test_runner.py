"""The runner: whole runs on real engines, failures as statuses, nothing lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pmb_hf.corpus import load_corpus
from pmb_hf.errors import (
    InputError,
    NotReadyError,
    ProviderError,
    ResumeError,
    RunStoppedWarning,
    UnknownNameError,
)
from pmb_hf.measured import Record
from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.providers.protocol import Hit
from pmb_hf.report import Evaluation, judge
from pmb_hf.report_json import report_json
from pmb_hf.report_reader import read_report
from pmb_hf.rules import RULES
from pmb_hf.runner import Progress, run


class Faulty(Fts5Provider):
    """A real engine that fails on the searches whose numbers are in ``faults``."""

    def __init__(self, faults: Mapping[int, Exception]) -> None:
        super().__init__()
        self.faults = dict(faults)
        self.searches = -1  # the warm-up is number 0

    def search(
        self, *, query: str, user_id: str, scopes: Sequence[str], limit: int
    ) -> Sequence[Hit]:
        self.searches += 1
        if self.searches in self.faults:
            raise self.faults[self.searches]
        return super().search(query=query, user_id=user_id, scopes=scopes, limit=limit)


class Clock:
    """A clock for deadlines that only searches and writes move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("pmb_hf.deadline.monotonic", lambda: self.now)

    def slow(self, search_s: float = 10.0, add_s: float = 0.0) -> Fts5Provider:
        clock = self

        class Slow(Fts5Provider):
            def search(self, **asked: Any) -> Sequence[Hit]:
                clock.now += search_s
                return super().search(**asked)

            def add(self, **row: Any) -> None:
                clock.now += add_s
                super().add(**row)

        return Slow()


@pytest.fixture(scope="module")
def official(upstream_dir: Path) -> Any:
    return load_corpus("official", fixtures=upstream_dir / "fixtures")


@pytest.mark.parametrize("rules", RULES)
def test_oracle_reaches_the_ceiling_on_native_where_all_scopes_are_sent(rules: str) -> None:
    corpus = load_corpus("native")
    evaluation = judge(run("oracle", corpus, rules=rules), corpus)
    assert evaluation.missing == ()
    if rules != "upstream-2026-06":  # which sends only the first scope of several
        assert evaluation.retrieval is not None
        assert evaluation.retrieval["passed"] == 77
    assert evaluation.session is not None
    assert evaluation.session["passed"] == 12


def test_oracle_and_empty_on_official_come_to_ceiling_and_floor(official: Any) -> None:
    ceiling = judge(run("oracle", official), official)
    floor = judge(run("empty", official), official)
    assert ceiling.retrieval is not None
    assert ceiling.session is not None
    assert (ceiling.retrieval["passed"], ceiling.session["passed"]) == (77, 12)
    assert floor.retrieval is not None
    assert floor.retrieval["passed"] == 34
    assert floor.retrieval["mean_precision"] == 0.0
    assert floor.retrieval["n_precision"] == 43


@pytest.mark.parametrize("provider", ["bm25", "fts5"])
def test_engines_answer_every_case_and_turn(provider: str) -> None:
    corpus = load_corpus("native")
    report = run(provider, corpus)
    assert [r.key for r in report.records][:77] == [(c.case_id, None) for c in corpus.cases]
    assert len(report.cases) == 77
    assert len(report.turns) == 12
    assert {r.status for r in report.records} == {"ok"}
    assert report.ingestion is not None
    assert [b for b, _ in report.ingestion.per_belief] == [b.id for b in corpus.beliefs]


def test_a_crash_is_never_an_empty_answer() -> None:
    corpus = load_corpus("native")
    plain = run(Faulty({}), corpus, parts=["retrieval"])
    asked = [r for r in plain.records if r.limit is not None]
    empty_right = next(
        n
        for n, record in enumerate(asked, 1)
        if next(c for c in corpus.cases if c.case_id == record.case_id).expect.relevant.only == ()
    )
    provider = Faulty({empty_right: RuntimeError("the index is gone\nand more")})
    report = run(provider, corpus, parts=["retrieval"])
    evaluation = judge(report, corpus)
    failed = [j for j in evaluation.cases if j.record.status != "ok"]
    assert len(failed) == 1
    assert failed[0].record.status == "error"
    assert failed[0].record.error == "RuntimeError: the index is gone"
    assert failed[0].record.latency_ms is None
    assert failed[0].score.passed is False
    assert failed[0].score.abstained is False
    assert evaluation.retrieval is not None
    assert evaluation.retrieval["cases"] == 77
    assert evaluation.retrieval["errors"] == 1


def test_a_time_out_has_its_own_status() -> None:
    report = run(Faulty({1: TimeoutError("2 s")}), parts=["retrieval"])
    assert [r.status for r in report.records].count("timeout") == 1


def test_a_run_that_only_fails_stops_early_with_what_it_has(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    faults = {n: ProviderError("down") for n in range(5, 500)}
    with pytest.warns(RunStoppedWarning, match="stopped early: 4 cases failed in a row"):
        report = run(Faulty(faults), parts=["retrieval"], out=out, max_failures=4)
    assert "4 cases failed in a row; the last: down" in report.provenance["stopped"]
    assert 4 < len(report.records) < 77
    assert read_report(out).records == report.records
    corpus = load_corpus("native")
    evaluation = judge(report, corpus)
    assert len(evaluation.missing) == 77 - len(report.records)


def test_a_stopped_run_asks_again_for_what_failed_in_the_end(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    faults = {3: ProviderError("hiccup")} | {n: ProviderError("down") for n in range(9, 99)}
    broken = Faulty(faults)
    with pytest.warns(RunStoppedWarning):
        stopped = run(broken, parts=["retrieval"], out=out, max_failures=4)
    broken.faults, broken.searches = {}, -1
    resumed = run(broken, parts=["retrieval"], out=out, resume=True)
    assert len(resumed.records) == 77
    assert [r.error for r in resumed.records if r.status != "ok"] == ["hiccup"]
    assert [r.error for r in stopped.records if r.status != "ok"] == ["hiccup", *["down"] * 4]


@pytest.mark.parametrize("part", ["retrieval", "sessions"])
def test_a_provider_that_is_gone_at_the_end_stops_the_run(tmp_path: Path, part: str) -> None:
    out = tmp_path / "report.json"
    searches = Faulty({})
    total = len(run(searches, parts=[part]).records)
    last = searches.searches + 1
    broken = Faulty({n: ProviderError("down") for n in range(last - 2, last + 9)})
    with pytest.warns(RunStoppedWarning, match="the last 2 cases failed, and another search"):
        stopped = run(broken, parts=[part], out=out)
    assert [r.status for r in stopped.records if r.status != "ok"] == ["error"] * 2
    assert stopped.provenance["stopped"].endswith("another search does, too: down")
    whole = run(Faulty({}), parts=[part], out=out, resume=True)
    assert [r.status for r in whole.records] == ["ok"] * total
    assert whole.provenance["stopped"] is None
    assert not out.with_name("report.json.journal").exists()


def test_last_cases_that_fail_by_themselves_end_no_run(tmp_path: Path) -> None:
    searches = Faulty({})
    run(searches, parts=["retrieval"])
    last = searches.searches
    broken = Faulty({last - 1: ProviderError("no"), last: ProviderError("no")})
    report = run(broken, parts=["retrieval"], out=tmp_path / "report.json")
    assert report.provenance["stopped"] is None
    assert [r.error for r in report.records if r.error] == ["no"] * 2


def test_failures_before_a_reset_that_fails_are_asked_again(tmp_path: Path) -> None:
    class Dies(Faulty):
        def reset(self) -> None:
            if self.searches > 10:
                raise ProviderError("gone")
            super().reset()

    out = tmp_path / "report.json"
    searches = Faulty({})
    run(searches, parts=["retrieval"])
    last = searches.searches
    with pytest.warns(RunStoppedWarning, match="reset failed: gone"):
        # One more search answers, so that the end is only seen by the reset.
        run(Dies({last - 1: ProviderError("a"), last: ProviderError("b")}), out=out)
    whole = run(Faulty({}), name="Dies", out=out, resume=True)
    assert {r.status for r in whole.records} == {"ok"}


def test_a_run_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "report.json"
    with pytest.raises(ProviderError, match="nothing was measured: the run took longer than 0 s"):
        run("fts5", out=out, run_timeout_s=0.0)
    assert not list(tmp_path.iterdir())
    clock = Clock(monkeypatch)
    with pytest.warns(RunStoppedWarning, match="longer than 25 s"):
        report = run(clock.slow(), out=out, run_timeout_s=25.0)
    assert report.provenance["stopped"] == "the run took longer than 25 s"
    assert len(report.records) == 2  # the warm-up took 10 s as well
    assert len(run(clock.slow(), out=out, resume=True).records) == 89


def test_an_end_is_looked_at_between_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    with pytest.warns(RunStoppedWarning, match="longer than 55 s"):
        report = run(clock.slow(), run_timeout_s=55.0, repeat=100)
    (record,) = report.records
    assert clock.now == 1060.0  # the warm-up, the first time, and four times again
    assert (len(record.repeats_ms), record.stable) == (4, True)


def test_a_first_answer_that_took_all_the_time_tells_nothing_of_stability(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    with pytest.warns(RunStoppedWarning, match="longer than 15 s"):
        report = run(clock.slow(), run_timeout_s=15.0, repeat=5)
    assert [(r.repeats_ms, r.stable) for r in report.records] == [((), None)]


def test_an_end_is_looked_at_between_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    with pytest.raises(ProviderError, match="longer than 25 s, with 3 of 35 beliefs written"):
        run(clock.slow(add_s=10.0), out=tmp_path / "r.json", run_timeout_s=25.0)
    assert not list(tmp_path.iterdir())


def test_an_end_in_the_seed_of_the_sessions_keeps_the_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, out = Clock(monkeypatch), tmp_path / "r.json"
    with pytest.warns(RunStoppedWarning, match=r"longer than 355 s, with 1 of 35 beliefs"):
        report = run(clock.slow(0.0, 10.0), out=out, run_timeout_s=355.0)
    assert (len(report.cases), len(report.turns)) == (77, 0)
    assert read_report(out).records == report.records
    assert len(run(clock.slow(), out=out, resume=True).records) == 89


def test_an_end_under_load_keeps_the_cases_and_load_is_measured_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, out = Clock(monkeypatch), tmp_path / "r.json"
    asked = sum(r.limit is not None for r in run("fts5", parts=["retrieval"]).records)
    limit = 10.0 * (1 + asked) + 25.0
    with pytest.warns(RunStoppedWarning, match="asking several queries at once"):
        report = run(clock.slow(), out=out, parts=["retrieval"], run_timeout_s=limit, concurrency=1)
    assert (len(report.cases), report.load) == (77, None)
    done = run(clock.slow(), out=out, parts=["retrieval"], resume=True, concurrency=1)
    assert done.load is not None
    assert done.load["searches"] == asked
    assert done.records == report.records


def test_scores_are_given_and_are_those_of_the_report(tmp_path: Path) -> None:
    given: list[Evaluation] = []
    report = run("fts5", out=tmp_path / "r.json", on_evaluation=given.append)
    without = run("fts5", on_evaluation=given.append)
    assert given[0] == judge(report, load_corpus("native"))
    assert given[1] == judge(without, load_corpus("native"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"name": "\udcff"}, "name holds what is no valid text ('\\udcff'); write it in UTF-8"),
        ({"namespace": "a\udcff"}, "namespace holds what is no valid text"),
        ({"options": {"file": "\udcff"}}, "option 'file' holds what is no valid text"),
        ({"options": {"\udcff": 5}}, "option '\\udcff' holds what is no valid text"),
        ({"run_timeout_s": float("nan")}, "run_timeout_s must be a number of seconds, 0 or more"),
        ({"run_timeout_s": -1.0}, "run_timeout_s must be a number of seconds, 0 or more, not -1"),
        ({"ready_timeout_s": float("nan")}, "ready_timeout_s must be a number of seconds"),
        ({"max_failures": 0}, "max_failures must be 1 or more, not 0"),
    ],
)
def test_what_can_not_be_written_or_counted_is_told_at_once(
    arguments: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        run("fts5", out=tmp_path / "r.json", **arguments)
    assert says in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_run_that_never_began_leaves_no_journal(tmp_path: Path) -> None:
    class NoReset(Fts5Provider):
        def reset(self) -> None:
            raise ConnectionError("refused")

    with pytest.raises(ProviderError, match="reset failed: ConnectionError: refused"):
        run(NoReset(), out=tmp_path / "report.json")
    assert list(tmp_path.iterdir()) == []


def test_budget_of_zero_and_blank_queries_are_not_asked() -> None:
    corpus = load_corpus("native")
    provider = Faulty({})
    report = run(provider, corpus, parts=["retrieval"])
    unasked = [r for r in report.records if r.limit is None]
    assert {r.latency_ms for r in unasked} == {None}
    assert provider.searches == 77 - len(unasked)
    zero = next(c for c in corpus.cases if c.max_beliefs == 0)
    record = next(r for r in report.records if r.case_id == zero.case_id)
    assert (record.relevant, record.pinned, record.results) == ((), (), ())


def test_rules_decide_which_scopes_are_sent() -> None:
    corpus = load_corpus("native")
    several = {c.case_id: c.scope for c in corpus.cases if len(c.scope) > 1 and c.query.strip()}

    class Spy(Fts5Provider):
        asked: list[tuple[str, tuple[str, ...]]]

        def search(
            self, *, query: str, user_id: str, scopes: Sequence[str], limit: int
        ) -> Sequence[Hit]:
            self.asked.append((query, tuple(scopes)))
            return super().search(query=query, user_id=user_id, scopes=scopes, limit=limit)

    for rules, expected in (
        ("spec", lambda scope: [scope]),
        ("upstream-2026-06", lambda scope: [scope[:1]]),
        ("upstream-2026-09", lambda scope: [(s,) for s in scope]),
    ):
        spy = Spy()
        spy.asked = []
        run(spy, corpus, rules=rules, parts=["retrieval"])
        for case in corpus.cases:
            if case.case_id in several:
                sent = [scopes for query, scopes in spy.asked if query == case.query]
                assert sent == expected(case.scope)


def test_namespace_is_put_before_every_user() -> None:
    class Spy(Fts5Provider):
        users: set[str]

        def add(
            self,
            *,
            belief_id: str,
            user_id: str,
            text: str,
            aliases: Sequence[str],
            metadata: Mapping[str, Any],
        ) -> None:
            self.users.add(user_id)
            super().add(
                belief_id=belief_id,
                user_id=user_id,
                text=text,
                aliases=aliases,
                metadata=metadata,
            )

    spy = Spy()
    spy.users = set()
    plain = run("fts5", parts=["retrieval"])
    spaced = run(spy, parts=["retrieval"], namespace="run-7/")
    assert all(user.startswith("run-7/") for user in spy.users)
    assert [r.relevant for r in spaced.records] == [r.relevant for r in plain.records]


def test_progress_counts_up_to_the_whole() -> None:
    seen: list[Progress] = []
    run("empty", progress=seen.append)
    assert [p.done for p in seen if p.part == "retrieval"] == list(range(1, 78))
    assert [p.done for p in seen if p.part == "sessions"] == list(range(1, 13))


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ({"rules": "specs"}, UnknownNameError, "upstream-2026-06"),
        ({"parts": ["retrival"]}, UnknownNameError, "retrieval, sessions"),
        ({"text_mode": "names"}, UnknownNameError, "canonical_name_aliases"),
        ({"corpus": "/nowhere"}, InputError, "no corpus '/nowhere'"),
        ({"provider": "bm52"}, UnknownNameError, "bm25"),
        ({"provider": object()}, InputError, "needs the methods reset, add and search"),
    ],
)
def test_wrong_use_is_one_clear_error(
    arguments: dict[str, Any], kind: type[Exception], says: str
) -> None:
    call = {"provider": "fts5", **arguments}
    with pytest.raises(kind, match=says):
        run(**call)


def test_a_store_that_can_not_be_seeded_ends_the_run() -> None:
    class NoAdd(Fts5Provider):
        def add(self, **_: Any) -> None:
            raise OSError("disk full")

    with pytest.raises(ProviderError, match=r"add of belief .* failed: OSError: disk full"):
        run(NoAdd())


def test_a_store_that_never_shows_ends_the_run() -> None:
    class NeverReady(Fts5Provider):
        def wait_ready(self, **_: Any) -> None:
            raise NotReadyError("belief x was not visible within 1 s")

    with pytest.raises(NotReadyError, match="not visible"):
        run(NeverReady())


def test_a_store_that_can_not_be_seeded_again_stops_the_run_with_what_it_has(
    tmp_path: Path,
) -> None:
    class FailsTwice(Fts5Provider):
        resets = 0

        def reset(self) -> None:
            self.resets += 1
            if self.resets == 2:
                raise OSError("disk full")
            super().reset()

    out = tmp_path / "report.json"
    with pytest.warns(RunStoppedWarning, match="reset failed: OSError: disk full"):
        report = run(FailsTwice(), out=out, name="two")
    assert (len(report.cases), len(report.turns)) == (77, 0)
    assert read_report(out).provenance["stopped"] == "reset failed: OSError: disk full"
    whole = run(FailsTwice(), out=out, name="two", resume=True)
    assert (len(whole.cases), len(whole.turns)) == (77, 12)
    assert whole.provenance["stopped"] is None


SLOW = """
import sys, time
from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.runner import run

class Slow(Fts5Provider):
    def search(self, **call):
        time.sleep(0.02)
        return super().search(**call)

run(Slow(), name="slow", out=sys.argv[1], resume="--resume" in sys.argv,
    rules="spec" if "--other" not in sys.argv else "upstream-2026-09")
"""


def _lines(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def test_killed_at_case_40_and_resumed(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    journal = tmp_path / "report.json.journal"
    process = subprocess.Popen([sys.executable, "-c", SLOW, str(out)])
    while _lines(journal) < 42:
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not out.exists()
    kept = [json.loads(line) for line in journal.read_text().splitlines()]
    done = [Record.from_wire(line["record"]) for line in kept if "record" in line]
    assert len(done) >= 40
    with journal.open("a") as file:
        file.write('{"record": {"case_id": "half a li')

    def again(*flags: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", SLOW, str(out), *flags]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert "unfinished run" in again().stderr
    assert "belongs to another run: rules was 'spec'" in again("--resume", "--other").stderr
    finished = again("--resume")
    assert finished.returncode == 0, finished.stderr
    report = read_report(out)
    assert len(report.cases) == 77
    assert len(report.turns) == 12
    assert not journal.exists()
    assert [r for r in report.records if r.key in {d.key for d in done}] == done


def test_killed_in_a_session_and_resumed(tmp_path: Path) -> None:
    out = tmp_path / "report.json"

    class Killed(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.part == "sessions" and progress.done == 6:
            raise Killed

    with pytest.raises(Killed):
        run("fts5", out=out, progress=stop)
    resumed = run("fts5", out=out, resume=True)
    whole = run("fts5")
    assert [r.relevant for r in resumed.records] == [r.relevant for r in whole.records]
    assert [c.belief_id for c in resumed.changes] == [c.belief_id for c in whole.changes]
    corpus = load_corpus("native")
    assert judge(resumed, corpus).missing == ()


def test_resuming_something_else_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    (tmp_path / "report.json.journal").write_text("not a journal\nat all\n\n")
    with pytest.raises(ResumeError, match="line 1 is no JSON"):
        run("fts5", out=out, resume=True)


def test_report_on_disk_is_the_report_returned(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "report.json"
    corpus = load_corpus("native")
    report = run("fts5", corpus, out=out)
    assert out.read_text() == report_json(report, corpus)
    assert [path.name for path in out.parent.iterdir()] == ["report.json"]
    assert json.loads(out.read_text())["provenance"]["corpus"]["sha256"] == corpus.sha256
