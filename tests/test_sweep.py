"""A grid of runs: read strictly, done once, and put into one dataset."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import corpora
import pyarrow.parquet as pq
import pytest
from cli_kit import good, pmb, program
from test_scale import Here, no_engine

from pmb_hf.corpus import load_corpus
from pmb_hf.errors import InputError
from pmb_hf.report import judge
from pmb_hf.report_reader import read_report
from pmb_hf.schema import Corpus
from pmb_hf.sweep import Grid, read_plan, sweep

BM25 = '[[providers]]\nname = "bm25"\n'
FTS5 = '[[providers]]\nname = "fts5"\n'
SMALL = 'parts = ["sessions"]\n'


@cache
def native() -> Corpus:
    return load_corpus("native")


def file(directory: Path, text: str) -> Path:
    path = directory / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    return path


def grid(directory: Path, text: str) -> Grid:
    plan = read_plan(file(directory, text))
    return Grid(plan, {name: load_corpus(name) for name in plan.corpora})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "key 'providers' is missing"),
        ("providers = []\n", "key 'providers' must be a table"),
        ("providers = 3\n", "key 'providers' must be a table"),
        ("[[providers]]\n", "providers[0]: key 'name' is missing"),
        ("[[providers]]\nname = 3\n", "providers[0]: key 'name' must be a string"),
        (BM25 + "typo = 1\n", "providers[0]: key 'typo' is unknown"),
        ("repeat = 2\n" + BM25, "key 'repeat' is unknown"),
        ("_note = 2\n" + BM25, "key '_note' is unknown"),
        ("repeats = 0\n" + BM25, "key 'repeats' must be a whole number >= 1"),
        ("repeats = true\n" + BM25, "key 'repeats' must be a whole number >= 1"),
        ("rules = []\n" + BM25, "key 'rules' must be a list of one string or more"),
        ('rules = ["spek"]\n' + BM25, "rules[0] is 'spek'; there are spec"),
        ('rules = ["spec", "spec"]\n' + BM25, "rules holds 'spec' twice"),
        ('parts = ["all"]\n' + BM25, "parts[0] is 'all'"),
        ('text_modes = ["none"]\n' + BM25, "text_modes[0] is 'none'"),
        ("sizes = [0]\n" + BM25, "key 'sizes' must be a list of whole numbers"),
        ("run_timeout = 0\n" + BM25, "key 'run_timeout' must be a number of seconds > 0"),
        (BM25 + "num_cpus = 0\n", "key 'num_cpus' must be a number > 0"),
        (BM25 + 'resources = { GPU = "1" }\n', "key 'resources' must be a table of numbers"),
        (BM25 + "options = { top_k = [] }\n", "options.top_k is an empty list"),
        (BM25 + "options = { top_k = [[1]] }\n", "options.top_k must hold text"),
        (BM25 + "options = { top_k = [1, 1] }\n", "options.top_k holds a value twice"),
        (BM25 + "options = { topk = 1 }\n", "providers[0].options: provider 'bm25'"),
        (BM25 + 'options = { top_k = [1, "x"] }\n', "option top_k='x'"),
        ('[[providers]]\nname = "bm52"\n', "providers[0].name is 'bm52'; there are"),
        ("repeats = 1000000000\n" + BM25, "sweep.toml asks for 1,000,000,000 runs; a sweep has at"),
        (
            'rules = ["spec", "upstream-2026-09"]\nsizes = [35, 100]\nrepeats = 25_001\n' + BM25,
            "sweep.toml asks for 100,004 runs; a sweep has at most 100,000: give fewer values",
        ),
        (
            BM25
            + "[providers.options]\n"
            + "".join(f"o{n} = {list(range(1000))}\n" for n in range(4)),
            "providers[0] asks for 1,000,000,000,000 runs",
        ),
        ("repeats = \n", "no valid TOML"),
        ("repeats = 1\nrepeats = 2\n", "no valid TOML"),
    ],
)
def test_a_bad_file_is_one_error_that_names_the_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        read_plan(file(tmp_path, text))
    message = str(raised.value)
    assert said in message
    assert "sweep.toml" in message
    assert "\n" not in message


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_a_file_that_can_not_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "sweep.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match="can't be read"):
        read_plan(path)


def test_every_combination_is_a_job_of_its_own(tmp_path: Path) -> None:
    text = (
        'rules = ["spec", "upstream-2026-09"]\nrepeats = 3\nsizes = [35, 100]\n'
        'text_modes = ["all", "content"]\n'
        + BM25
        + 'num_cpus = 2\n[providers.options]\ntop_k = [3, "none"]\nscope_filter = [true, false]\n'
        + FTS5
        + 'label = "mine"\n'
    )
    jobs = grid(tmp_path, text).jobs(tmp_path)
    assert len(jobs) == (4 + 1) * 2 * 3 * 2 * 2
    assert len({job.id for job in jobs}) == len({job.namespace for job in jobs}) == len(jobs)
    assert {job.num_cpus for job in jobs if job.provider == "bm25"} == {2.0}
    assert {job.name for job in jobs if job.provider == "fts5"} == {"mine"}
    assert {job.recipe["count"] for job in jobs if job.recipe} == {65}
    assert sum(job.recipe is None for job in jobs) == len(jobs) // 2
    again = grid(tmp_path, text).jobs(tmp_path / "elsewhere")
    assert [job.id for job in again] == [job.id for job in jobs]


def test_the_same_run_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two entries give the same run"):
        grid(tmp_path, BM25 + BM25).jobs(tmp_path)
    assert len(grid(tmp_path, BM25 + BM25 + 'label = "b"\n').jobs(tmp_path)) == 2


def test_a_size_below_the_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="34 is too small"):
        grid(tmp_path, "sizes = [34]\n" + BM25)


def test_own_corpora_are_taken_from_where_the_file_stands(tmp_path: Path) -> None:
    corpora.write(tmp_path / "mine")
    made = grid(tmp_path, 'corpora = ["mine", "native"]\nsizes = [50]\n' + BM25)
    assert made.plan.corpora == (str((tmp_path / "mine").resolve()), "native")
    first, second = made.jobs(tmp_path / "out")
    assert first.recipe
    assert second.recipe
    assert first.recipe["count"] - second.recipe["count"] == 35 - len(corpora.beliefs())


def test_jobs_end_as_reports_and_rows(tmp_path: Path) -> None:
    made = grid(tmp_path, "repeats = 2\nsizes = [35, 60]\n" + BM25)
    engine = Here()
    done = sweep(made, tmp_path / "out", lambda: engine)
    assert not done.failed
    runs = pq.read_table(tmp_path / "out/results/runs").to_pylist()
    cases = pq.read_table(tmp_path / "out/results/cases").to_pylist()
    assert [row["job"] for row in runs] == [job.id for job in done.jobs]
    assert [row["beliefs"] for row in runs] == [35, 35, 60, 60]
    assert len(cases) == 4 * 89
    for row in runs:
        report = read_report(tmp_path / "out" / row["report"])
        evaluation = judge(report, native())
        assert evaluation.retrieval
        assert evaluation.session
        for name in ("mean_precision", "n_precision", "passed", "p95_latency_ms", "leaks"):
            assert row[f"retrieval_{name}"] == evaluation.retrieval[name]
        assert row["session_mean_drift"] == evaluation.session["mean_drift"]
        mine = [case for case in cases if case["job"] == row["job"]]
        assert (
            sum(case["passed"] for case in mine if case["turn_index"] is None)
            == (row["retrieval_passed"])
        )
        assert {case["run"] for case in mine} == {row["run"]}
    again = sweep(made, tmp_path / "out", no_engine)
    assert pq.read_table(tmp_path / "out/results/runs").to_pylist() == runs
    assert len(again.jobs) == 4


def test_a_job_that_fails_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    broken = '[[providers]]\nname = "scripted"\noptions = { file = "missing.json" }\n'
    made = grid(tmp_path, SMALL + broken + BM25)
    done = sweep(made, tmp_path / "out", Here)
    assert [outcome.status for outcome in done.outcomes] == ["failed", "done"]
    failed, good_one = pq.read_table(tmp_path / "out/results/runs").to_pylist()
    assert "missing.json" in failed["error"]
    assert failed["session_passed"] is None
    assert failed["provider"] == "scripted"
    assert good_one["error"] is None
    assert {row["job"] for row in pq.read_table(tmp_path / "out/results/cases").to_pylist()} == {
        good_one["job"]
    }
    engine = Here()
    sweep(made, tmp_path / "out", lambda: engine)
    assert engine.done == [failed["job"]]


def test_all_that_fails_gives_tables_all_the_same(tmp_path: Path) -> None:
    broken = '[[providers]]\nname = "scripted"\noptions = { file = "missing.json" }\n'
    sweep(grid(tmp_path, SMALL + broken), tmp_path / "out", Here)
    assert pq.read_table(tmp_path / "out/results/runs").num_rows == 1
    assert pq.read_table(tmp_path / "out/results/cases").num_rows == 0


def test_a_changed_plan_does_only_what_is_new(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep(grid(tmp_path, SMALL + BM25 + "options = { top_k = [1, 2] }\n"), out, Here)
    engine = Here()
    done = sweep(
        grid(tmp_path, SMALL + BM25 + "options = { top_k = [2, 3] }\n"), out, lambda: engine
    )
    assert len(engine.done) == 1
    assert len(done.strays) == 1
    assert len(pq.read_table(out / "results/runs")) == 2


def rows(directory: Path) -> Any:
    from datasets import load_dataset

    return load_dataset("parquet", data_dir=str(directory), split="train")


def test_the_results_load_as_a_dataset(tmp_path: Path) -> None:
    sweep(grid(tmp_path, SMALL + BM25), tmp_path / "out", Here)
    assert rows(tmp_path / "out/results/runs")[0]["session_cases"] == 12
    assert len(rows(tmp_path / "out/results/cases")) == 12


def test_command(tmp_path: Path) -> None:
    path = file(tmp_path, SMALL + BM25 + "options = { top_k = [2, 3] }\n")
    listed = good("sweep", path, "-o", tmp_path / "out", "--list", "--json").json
    assert [job["options"] for job in listed["jobs"]] == [{"top_k": 2}, {"top_k": 3}]
    assert "2 runs" in good("sweep", path, "--list").out
    narrow = good("sweep", path, "--list", columns=44).out.splitlines()
    assert max(map(len, narrow)) <= 44
    assert [line.split(" ")[0] for line in narrow[2:4]] == ["bm25-top_k=2-", "native-spec-r1-"]
    assert not (tmp_path / "out").exists()
    done = good("sweep", path, "-o", tmp_path / "out", "--workers", "2")
    assert "Results:" in done.out
    assert done.err.count("done in") == 2
    seen = good("sweep", path, "-o", tmp_path / "out", "--json", "-q")
    assert seen.err == ""
    reports = [row["report"] for row in seen.json["jobs"]]
    compared = good("compare", *reports, "--json").json
    assert json.dumps(compared)


def test_results_are_compared_and_exported(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(
        'parts = ["sessions"]\n[[providers]]\nname = "bm25"\n[[providers]]\nname = "fts5"\n'
    )
    assert program("sweep", "sweep.toml", "-o", "out", cwd=tmp_path).code == 0
    compared = program("compare", "out/results", "--json", cwd=tmp_path)
    assert compared.code == 0, compared.err
    assert compared.out == program("compare", "out", "--json", cwd=tmp_path).out
    exported = program("export", "out/results", "-o", "board", cwd=tmp_path)
    assert (exported.code, "2 runs in board" in exported.err) == (0, True)


def test_command_ends_with_3_if_a_run_failed_and_2_if_the_file_is_wrong(tmp_path: Path) -> None:
    broken = '[[providers]]\nname = "scripted"\noptions = { file = "missing.json" }\n'
    done = pmb("sweep", file(tmp_path, SMALL + broken), "-o", tmp_path / "out", "-q")
    assert done.code == 3
    assert "missing.json" in done.out
    done = pmb("sweep", file(tmp_path, "repeats = -1\n" + BM25), "-o", tmp_path / "out")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "'repeats'" in done.err
