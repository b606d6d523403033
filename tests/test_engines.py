"""Jobs on this machine: what is lost is tried again, what is over leaves nothing behind."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest
from cli_kit import environment
from engine_kit import Gate, job, without_times
from servers import standin

from pmb_hf.engines import DONE, FAILED, LOST, STOPPED, Job, Outcome, create, perform, run_jobs
from pmb_hf.engines.lanes import lane_of
from pmb_hf.engines.ledger import Ledger
from pmb_hf.engines.on_machine import MachineEngine
from pmb_hf.errors import InputError, UnknownNameError
from pmb_hf.grow import Recipe
from pmb_hf.journal import Journal
from pmb_hf.report_reader import read_report
from pmb_hf.runner import run


def test_a_job_is_a_plain_description(tmp_path: Path) -> None:
    one = job(tmp_path, recipe=Recipe(5).to_wire(), options={"top_k": 3}, lane="x")
    assert Job.from_wire(json.loads(json.dumps(one.to_wire()))) == one
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - made here


def test_performing_a_job_writes_and_returns_its_report(tmp_path: Path) -> None:
    one = job(tmp_path)
    outcome = perform(one)
    assert outcome.status == DONE
    assert outcome.report == one.report_path.read_text()
    assert Outcome.from_wire(json.loads(json.dumps(outcome.to_wire()))) == outcome
    assert not one.report_path.with_name("j.json.journal").exists()


def test_a_job_whose_home_is_not_there_works_elsewhere(tmp_path: Path) -> None:
    """As on another machine: the report comes back, and nothing stays."""
    away = tmp_path / "away"
    outcome = perform(job(away))
    assert outcome.status == DONE
    assert json.loads(outcome.report or "")["provider"] == "bm25"
    assert not away.exists()


@pytest.mark.parametrize(
    ("fields", "said", "again"),
    [
        ({"provider": "nope"}, "no provider 'nope'", False),
        ({"options": {"top_k": 0}}, "top_k", False),
        ({"corpus": "/nowhere"}, "no corpus", False),
        ({"corpus_sha256": "0" * 64}, "another one here", False),
        ({"recipe": {"count": 5, "seed": 0, "users": 1, "version": 99}}, "version 99", False),
        ({"provider": "http://127.0.0.1:9"}, "", True),
    ],
)
def test_a_failure_is_an_outcome(tmp_path: Path, fields: dict, said: str, again: bool) -> None:
    outcome = perform(job(tmp_path, **fields))
    assert outcome.status == FAILED
    assert said in (outcome.error or "")
    assert outcome.again is again
    assert outcome.report is None


def test_a_run_that_stops_early_is_gone_on_with(tmp_path: Path) -> None:
    down = {number: (500, {}, "down") for number in range(30, 400)}
    with standin(fail=down) as service:
        options = {"retries": "0"}
        one = job(tmp_path, provider=service.url, options=options, parts=("retrieval",))
        first = perform(replace(one, max_failures=2))
        assert first.status == STOPPED
        assert first.again
        assert "stopped early" in (first.error or "")
        kept = {r.key: r.latency_ms for r in read_report(one.report_path).records[:20]}
        service.traits.fail.clear()
        second = perform(replace(one, max_failures=2))
    assert second.status == DONE
    report = read_report(one.report_path)
    assert len(report.records) == 77
    assert {r.key: r.latency_ms for r in report.records[:20]} == kept
    assert not one.report_path.with_name("j.json.journal").exists()


def test_a_job_waits_for_a_try_that_was_taken_for_lost(tmp_path: Path) -> None:
    """The process of a lost one may live on for a while, and has the journal until it ends."""
    one = job(tmp_path)
    journal = one.report_path.with_name("j.json.journal")
    outcomes: list[Outcome] = []
    again = threading.Thread(target=lambda: outcomes.append(perform(one)))
    with Journal(journal, {"of": "the lost one"}, parse=lambda line, _: line):
        again.start()
        again.join(2)
        assert again.is_alive()
    again.join(60)
    assert [outcome.status for outcome in outcomes] == [DONE]


@pytest.mark.parametrize("namespace", ["", "other"])
def test_a_killed_run_is_gone_on_with_if_it_is_the_same(tmp_path: Path, namespace: str) -> None:
    """A journal of another configuration is of no use, and stops no job."""
    one = job(tmp_path)

    def kill(progress: object) -> None:
        raise KeyboardInterrupt

    parts = ("sessions",)
    with pytest.raises(KeyboardInterrupt):
        run("bm25", out=one.report_path, parts=parts, namespace=namespace, progress=kill)
    assert one.report_path.with_name("j.json.journal").exists()
    assert perform(one).status == DONE
    assert len(read_report(one.report_path).records) == 12
    assert not one.report_path.with_name("j.json.journal").exists()


def test_jobs_run_in_processes_of_their_own(tmp_path: Path) -> None:
    jobs = [job(tmp_path, f"j{n}", recipe=Recipe(20 * n + 20).to_wire()) for n in range(3)]
    outcomes = {o.job_id: o for o in run_jobs(create("local", workers=2), jobs)}
    assert [outcomes[one.id].status for one in jobs] == [DONE] * 3
    for one in jobs:
        here = perform(replace(one, home=str(tmp_path / "elsewhere")))
        there = outcomes[one.id]
        assert without_times(here.report or "") == without_times(there.report or "")
        if sys.platform == "linux":
            assert there.memory
            assert there.memory["provider"] > 0


def test_a_killed_process_costs_only_its_job_and_is_tried_again(tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate.json")
    jobs = [job(tmp_path, "held", **gate.fields), job(tmp_path, "other")]
    engine = MachineEngine(2)

    def kill() -> None:
        end = gate.reached()
        gate.open_for_good()
        with engine._lock:
            (process,) = [p for p in engine._processes if p.poll() is None][:1]
        process.kill()
        gate.left(end)

    # The other job is over when the held one is killed: it alone is still running.
    outcomes = []
    for outcome in run_jobs(engine, jobs):
        outcomes.append(outcome)
        if outcome.job_id == "other":
            threading.Thread(target=kill).start()
    assert {o.job_id: o.status for o in outcomes} == {"other": DONE, "held": DONE}
    assert {o.job_id: o.tries for o in outcomes} == {"other": 1, "held": 2}


class Scripted:
    """An engine that only says what it is told to; it keeps what was running together."""

    def __init__(self, **ends: list[str]) -> None:
        self.ends = {name: deque(statuses) for name, statuses in ends.items()}
        self.running: list[Job] = []
        self.together: list[set[str]] = []
        self.stopped = 0

    def submit(self, job: Job) -> None:
        self.running.append(job)
        self.together.append({one.id for one in self.running})

    def wait(self) -> Outcome:
        job = self.running.pop(0)
        status = self.ends[job.id].popleft()
        return Outcome(job.id, status, again=status in (LOST, STOPPED))

    def stop(self) -> None:
        self.stopped += 1


@pytest.mark.parametrize(("retries", "status", "tries"), [(0, LOST, 1), (1, LOST, 2), (2, DONE, 3)])
def test_tries_are_bounded(tmp_path: Path, retries: int, status: str, tries: int) -> None:
    engine = Scripted(j=[LOST, LOST, DONE])
    (outcome,) = run_jobs(engine, [job(tmp_path)], retries=retries)
    assert (outcome.status, outcome.tries) == (status, tries)
    assert engine.stopped


def test_what_can_not_get_better_is_not_tried_again(tmp_path: Path) -> None:
    (outcome,) = run_jobs(Scripted(j=[FAILED, DONE]), [job(tmp_path)], retries=5)
    assert (outcome.status, outcome.tries) == (FAILED, 1)


def test_jobs_of_one_lane_never_run_together(tmp_path: Path) -> None:
    names = ["a1", "a2", "a3", "b1", "free"]
    lanes = {"a": "A", "b": "B", "f": None}
    engine = Scripted(**{name: [LOST, DONE] for name in names})
    jobs = [job(tmp_path, name, lane=lanes[name[0]]) for name in names]
    assert {o.status for o in run_jobs(engine, jobs)} == {DONE}
    assert all(sum(name.startswith("a") for name in group) <= 1 for group in engine.together)
    assert any(len(group) == 3 for group in engine.together)


@pytest.mark.parametrize(
    ("provider", "options", "lane"),
    [
        ("bm25", {}, None),
        ("bm25", {"top_k": 3, "path": "none"}, None),
        ("bm25", {"path": "/srv/x"}, "bm25 path=/srv/x"),
        ("http://localhost:1", {}, "http://localhost:1"),
    ],
)
def test_what_shares_a_store_shares_a_lane(provider: str, options: dict, lane: str | None) -> None:
    assert lane_of(provider, options) == lane


def test_an_interrupt_leaves_no_process(tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate.json")
    engine = MachineEngine(1)
    for outcome in run_jobs(engine, [job(tmp_path, "quick"), job(tmp_path, "held", **gate.fields)]):
        assert outcome.job_id == "quick"
        end = gate.reached()
        break
    engine.stop()
    assert gate.left(end)
    assert not engine._processes


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_ends_takes_its_jobs_along(tmp_path: Path, sent: signal.Signals) -> None:
    """Interrupted, it stops them; killed, they notice."""
    gate = Gate(tmp_path / "gate.json")
    grid = f'[[providers]]\nname = "scripted"\noptions = {{ file = "{gate.path}" }}\n'
    quick = 'parts = ["sessions"]\n[[providers]]\nname = "bm25"\n'
    (tmp_path / "sweep.toml").write_text(quick + grid)
    command = [sys.executable, "-m", "pmb_hf", "sweep", "sweep.toml", "-o", "out", "--workers=1"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        end = gate.reached()
        process.send_signal(sent)
        _, err = process.communicate(timeout=60)
    if sent != signal.SIGKILL:
        first, *said = err.decode().splitlines()
        assert "[1/2] bm25" in first
        assert said == [
            "1 of 2 runs is kept in out; the same command goes on with the rest",
            "error: interrupted",
        ]
    codes = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}
    assert process.returncode == codes[sent]
    assert gate.left(end)


def test_a_ledger_knows_what_is_done(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Ledger(home, "sweep") as ledger:
        one = job(ledger.home)
        assert ledger.finished(one) is None
        ledger.keep(one, perform(one))
        assert ledger.finished(one) is not None
        assert ledger.finished(replace(one, options={"top_k": 5})) is None
        assert ledger.finished(replace(one, home="/moved")) is None  # no report there
        assert ledger.strays([]) == [one.report_path]
        with pytest.raises(InputError, match="another pmb is working"):
            Ledger(home, "sweep")
    one.report_path.write_text("{}")
    with Ledger(home, "sweep") as ledger:
        assert ledger.finished(one) is None
    with pytest.raises(InputError, match="something else than a scale"):
        Ledger(home, "scale")


def test_a_ledger_takes_no_directory_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="other files"):
        Ledger(tmp_path, "sweep")
    with pytest.raises(InputError, match="no directory"):
        Ledger(tmp_path / "mine.txt", "sweep")


def test_an_engine_by_another_name_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="local, ray"):
        create("slurm")
    with pytest.raises(InputError, match="--address"):
        create("local", address="auto")
    with pytest.raises(InputError, match="workers"):
        create("local", workers=0)
