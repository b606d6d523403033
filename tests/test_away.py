"""A service that goes away in the middle of a run and comes back, or never takes a call."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_kit import environment, pmb
from servers import Hostile, Wire, hostile

from pmb_hf.errors import ProviderError
from pmb_hf.measured import Record
from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.report import Report
from pmb_hf.report_reader import read_report
from pmb_hf.runner import run
from pmb_hf.serve import make_app, running

FAST = {"retries": 0, "timeout": 5.0}


PROGRAM = """
import os, sys
import pmb_hf.providers.fts5 as fts5
import pmb_hf.serve as serving

class GoesAway(fts5.Fts5Provider):
    left = int(sys.argv[2])

    def search(self, **asked):
        self.left -= 1
        if self.left == 0:
            os._exit(9)
        return super().search(**asked)

fts5.Fts5Provider = GoesAway
serving.serve("fts5", {}, port=int(sys.argv[1]))
"""


@contextmanager
def served(port: int = 0, searches: int = 0) -> Iterator[str]:
    """A service, which dies in the middle of its search number ``searches``."""
    command = [sys.executable, "-c", PROGRAM, str(port), str(searches)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()


def untimed(records: tuple[Record, ...]) -> list[Record]:
    return [replace(record, latency_ms=None) for record in records]


@pytest.fixture(scope="module")
def whole() -> Report:
    """What comes of a run in which nothing happens."""
    with running(make_app(Fts5Provider())) as url:
        return run(url, "native", options=FAST, name="service")


@pytest.mark.parametrize("searches", [15, 50, 85])
def test_a_service_that_comes_back_is_gone_on_with_to_the_same_result(
    tmp_path: Path, whole: Report, searches: int
) -> None:
    out = tmp_path / "r.json"
    more: dict[str, Any] = {"options": FAST, "name": "service", "out": out}
    with served(searches=searches) as url:
        port = int(url.rpartition(":")[2])
        with pytest.warns(UserWarning, match="3 cases failed in a row"):
            stopped = run(url, "native", max_failures=3, ready_timeout_s=1, **more)
    assert {record.status for record in stopped.records} == {"ok", "connection_error"}
    assert 0 < len(stopped.records) < 89
    with served(port) as url:
        resumed = run(url, "native", resume=True, **more)
    assert untimed(resumed.records) == untimed(whole.records)
    assert read_report(out).records == resumed.records
    assert not out.with_name("r.json.journal").exists()


def test_a_service_that_is_gone_before_anything_was_measured_leaves_nothing(
    tmp_path: Path,
) -> None:
    with served(searches=1) as url, pytest.raises(ProviderError, match="connect"):
        run(url, "native", options=FAST, out=tmp_path / "r.json", ready_timeout_s=0.1)
    assert not list(tmp_path.iterdir())


def refuses(server: Hostile, retry_after: str) -> list[str]:
    """From now on every search gets 429; the paths that were asked."""
    asked: list[str] = []

    def attack(wire: Wire) -> None:
        asked.append(wire.path)
        wire.answer(b"{}", "429 Too Many Requests", "text/plain", f"Retry-After: {retry_after}")

    server.always["/search"] = attack
    return asked


def test_a_refusal_for_a_day_ends_the_run_by_its_failures_in_a_row(tmp_path: Path) -> None:
    with hostile() as server:
        asked = refuses(server, "86400")
        done = pmb(
            *("run", "--provider", server.url, "--out", tmp_path / "r.json", "--parts"),
            *("retrieval", "--ready-timeout", "0", "--max-failures", "4"),
        )
    assert done.code == 3
    said = " ".join(done.err.split())
    assert "4 cases failed in a row" in said
    assert "answered 429" in said
    assert "it takes no call for 86400 s, so it was not tried again" in said
    report = json.loads((tmp_path / "r.json").read_text())
    assert [case["status"] for case in report["cases"]].count("http_error") == 4
    assert len(asked) < 10  # nobody waited, and nobody asked twice


def test_a_refusal_that_would_be_waited_for_ends_the_run_by_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = itertools.count(1000.0, 20.0)  # each look at the clock is 20 s later
    monkeypatch.setattr("pmb_hf.deadline.monotonic", lambda: next(now))
    waited: list[float] = []
    runs, sleep = threading.current_thread(), time.sleep

    def note(seconds: float) -> None:
        # The server's own threads sleep as they like, and whoever waits for a child does shortly.
        is_wait = threading.current_thread() is runs and seconds >= 1
        waited.append(seconds) if is_wait else sleep(seconds)

    monkeypatch.setattr("pmb_hf.providers.http_calls.time.sleep", note)
    with hostile() as server:
        refuses(server, "30")
        with pytest.warns(UserWarning, match="the run took longer than 1500 s"):
            report = run(
                server.url,
                "native",
                parts=["retrieval"],
                ready_timeout_s=0,
                run_timeout_s=1500,
                max_failures=10_000,
                out=tmp_path / "r.json",
            )
    assert 0 < len(report.records) < 89
    assert set(waited) == {30.0}
