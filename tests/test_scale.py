"""The same cases on stores of growing size, each size once."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from cli_kit import good, pmb
from servers import standin

from pmb_hf.corpus import load_corpus
from pmb_hf.engines import Engine, Job, Outcome, perform
from pmb_hf.errors import InputError
from pmb_hf.report import judge
from pmb_hf.report_reader import read_report
from pmb_hf.scale import Plan, Point, scale, view
from pmb_hf.scale_chart import chart, picture
from pmb_hf.schema import Corpus


@cache
def native() -> Corpus:
    return load_corpus("native")


def plan(*sizes: int, **fields: object) -> Plan:
    given = {"provider": "fts5", "corpus": native(), "options": {}, "parts": ("retrieval",)}
    return Plan(**{**given, "sizes": sizes, **fields})


class Here:
    """Does jobs in this process; counts them."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.waiting: list[Job] = []

    def submit(self, job: Job) -> None:
        self.waiting.append(job)

    def wait(self) -> Outcome:
        job = self.waiting.pop(0)
        self.done.append(job.id)
        return perform(job)

    def stop(self) -> None:
        self.waiting.clear()


def measured(made: Plan, home: Path) -> tuple[list[Point], list[str]]:
    engine = Here()
    found = scale(made, home, lambda: engine)
    return found, engine.done


def no_engine() -> Engine:
    raise AssertionError("there is nothing to do")


def test_points_are_the_figures_of_the_reports(tmp_path: Path) -> None:
    found, _ = measured(plan(300, 35, parts=("retrieval", "sessions")), tmp_path / "s")
    assert [point.size for point in found] == [35, 300]
    for point in found:
        report = read_report(point.report or "")
        evaluation = judge(report, native())
        assert evaluation.retrieval
        assert evaluation.session
        quality, session = point.quality or {}, point.session or {}
        assert quality["mean_precision"] == evaluation.retrieval["mean_precision"]
        assert quality["cases"] == 77
        assert quality["leaks"] == 0
        assert session["turns"] == 12
        assert session["mean_drift"] == evaluation.session["mean_drift"]
        assert point.search_p95_ms == evaluation.retrieval["p95_latency_ms"]
        assert point.ingest_per_second
        assert point.visible_ms is not None
    first, second = found
    assert first.ingest_calls is None
    assert second.ingest_calls == 1
    rates = [(point.quality or {})["mean_precision"] for point in found]
    assert rates[1] < rates[0]


def test_what_is_measured_is_not_measured_again(tmp_path: Path) -> None:
    home = tmp_path / "s"
    first, done = measured(plan(35, 60), home)
    assert done == ["size-0000000035", "size-0000000060"]
    again = scale(plan(35, 60), home, no_engine)
    assert again == first
    more, done = measured(plan(35, 60, 80), home)
    assert done == ["size-0000000080"]
    assert more[:2] == first
    fewer = scale(plan(80), home, no_engine)
    assert fewer == more


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"seed": 3}, "--seed 0 there, 3 here"),
        ({"users": 7}, "--users 100 there, 7 here"),
        ({"options": {"scope_filter": True}}, "--option scope_filter not given there, true here"),
        ({"provider": "bm25"}, "--provider fts5 there, bm25 here"),
        ({"rules": "upstream-2026-09"}, "--rules spec there, upstream-2026-09 here"),
        ({"parts": ("sessions",)}, "--parts retrieval there, sessions here"),
        ({"name": "mine"}, "--name not given there, mine here"),
        ({"ready_timeout_s": 5.0}, "--ready-timeout 600 there, 5 here"),
        ({"corpus": replace(native(), sha256="0" * 64)}, "there, 000000000000 here"),
    ],
)
def test_what_was_measured_with_other_settings_is_not_written_over(
    tmp_path: Path, fields: dict[str, object], said: str
) -> None:
    home = tmp_path / "s"
    first, _ = measured(plan(35, 60), home)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    for sizes in ((35, 60), (80,)):
        with pytest.raises(InputError, match="other settings") as raised:
            scale(plan(*sizes, **fields), home, no_engine)
        assert said in str(raised.value)
        assert "another directory by --out" in str(raised.value)
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
    assert scale(plan(35, 60), home, no_engine) == first


def test_a_seed_without_distractors_decides_nothing(tmp_path: Path) -> None:
    measured(plan(35), tmp_path / "s")
    _, done = measured(plan(35, 60, seed=3), tmp_path / "s")
    assert done == ["size-0000000060"]


class Interrupted(Here):
    """Is interrupted in the midst of its first job."""

    def wait(self) -> Outcome:
        job = self.waiting.pop(0)
        job.report_path.with_name(job.report_path.name + ".journal").write_text("{}\n")
        raise KeyboardInterrupt


def test_what_an_interrupt_left_is_not_thrown_away_by_other_settings(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        scale(plan(35), tmp_path / "s", Interrupted)
    with pytest.raises(InputError, match="--option top_k not given there, 2 here"):
        scale(plan(35, options={"top_k": 2}), tmp_path / "s", no_engine)
    _, done = measured(plan(35), tmp_path / "s")
    assert done == ["size-0000000035"]


def test_what_failed_may_be_tried_with_other_settings(tmp_path: Path) -> None:
    lost = plan(35, provider="scripted", options={"file": "/missing.json"})
    assert measured(lost, tmp_path / "s")[0][0].status == "failed"
    assert measured(plan(35), tmp_path / "s")[0][0].status == "done"


def test_a_size_that_fails_is_a_point_and_is_tried_the_next_time(tmp_path: Path) -> None:
    home = tmp_path / "s"
    made = plan(35, 60, provider="http://127.0.0.1:9", options={"retries": "0"})
    found, _ = measured(made, home)
    assert [point.status for point in found] == ["failed", "failed"]
    assert all(point.error and point.quality is None for point in found)
    assert json.loads(json.dumps(view(made, found), allow_nan=False))["points"][0]["error"]
    _, done = measured(made, home)
    assert set(done) == {"size-0000000035", "size-0000000060"}


def test_a_service_holds_its_memory_itself(tmp_path: Path) -> None:
    with standin() as service:
        found, _ = measured(plan(40, provider=service.url), tmp_path / "s")
    (point,) = found
    assert point.status == "done"
    assert point.ingest_calls == 5  # one by one: the contract has no bulk
    assert point.memory_bytes is None


@pytest.mark.parametrize("sizes", [(), (34,), (35, 35)])
def test_sizes_must_be_different_and_hold_the_corpus(sizes: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="size"):
        plan(*sizes)


def point(size: int, **fields: object) -> Point:
    return Point(size, "done", quality={"cases": 4, "passed": 1, "mean_precision": 0.5}, **fields)


def test_the_picture_shows_what_is_known() -> None:
    points = [point(35, search_p50_ms=0.0), point(1000, search_p50_ms=2.0, memory_bytes=10**6)]
    spec = chart(points, "x")
    titles = [panel["title"]["text"] for panel in spec["concat"]]
    assert titles == ["What comes back (0 to 1)", "Time of a search (ms)", "Memory (MB)"]
    times = spec["concat"][1]["data"]["values"]
    assert times == [{"size": 1000, "line": "p50", "value": 2.0}]  # no logarithm of 0
    assert b"<svg" in picture(points, "a < b", ".svg")
    assert b"a &lt; b" in picture(points, "a < b", ".html")
    with pytest.raises(InputError, match="nothing to draw"):
        chart([replace(points[0], quality=None)], "x")


def test_command(tmp_path: Path) -> None:
    home, drawn = tmp_path / "s", tmp_path / "s.svg"
    line = ("scale", "-p", "fts5", "--sizes", "35,1_000", "--parts", "sessions", "-o", home)
    done = good(*line, "--picture", drawn)
    assert "1,000" in done.out
    assert "[2/2] size-0000001000: done" in done.err
    assert drawn.read_text().startswith("<svg")
    seen = good(*line, "--json", "-q")
    assert seen.err == ""
    assert seen.json == json.loads((home / "scale.json").read_text())
    assert [p["size"] for p in seen.json["points"]] == [35, 1000]
    other = pmb(*line, "--option", "top_k=2")
    assert other.code == 2
    assert "--option top_k not given there, 2 here" in other.err
    assert seen.json == json.loads((home / "scale.json").read_text())
    sweep = pmb("sweep", __file__, "-o", home)
    assert sweep.code == 2


@pytest.mark.parametrize(
    ("sizes", "said"), [("a", "whole numbers"), ("10", "has 35 beliefs"), ("", "different numbers")]
)
def test_command_refuses_wrong_sizes(tmp_path: Path, sizes: str, said: str) -> None:
    done = pmb("scale", "-p", "fts5", "--sizes", sizes, "-o", tmp_path / "s")
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["-p", "bm52"], "--provider is 'bm52'; there are"),
        (["-p", "bm25", "--option", "topk=3"], "--option: provider 'bm25'"),
    ],
)
def test_command_refuses_what_can_not_run(tmp_path: Path, line: list[str], said: str) -> None:
    done = pmb("scale", *line, "--sizes", "35", "-o", tmp_path / "s")
    assert done.code == 2
    assert said in done.err
    assert not (tmp_path / "s").exists()


def test_command_ends_with_3_if_a_size_failed(tmp_path: Path) -> None:
    line = ("scale", "-p", "scripted", "--option", "file=/missing.json", "--sizes", "35")
    done = pmb(*line, "-o", tmp_path / "s", "--retries", "0")
    assert done.code == 3
    assert "missing.json" in done.out
