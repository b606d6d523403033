"""``pmb data new``, ``pmb data from-log`` and the gate of ``pmb run``, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from cli_kit import good, pmb
from corpora import write


def rows(path: Path, *found: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return path


@pytest.fixture
def log(tmp_path: Path) -> tuple[Path, Path]:
    return (
        rows(
            tmp_path / "queries.jsonl",
            {"query": "Where is the boat?", "expected": ["berth"]},
            {"query": "Where is the boat?", "expected": ["berth"], "latency": 3},
        ),
        rows(tmp_path / "memories.jsonl", {"id": "berth", "text": "The boat is at berth 14."}),
    )


def test_new_corpus_is_named_valid_and_runs(tmp_path: Path) -> None:
    home = tmp_path / "mine"
    done = good("data", "new", home)
    assert done.out.splitlines()[0] == str(home / "beliefs.seed.json")
    assert f"pmb data lint {home}" in done.err
    assert good("data", "lint", home, "--json").json["findings"] == []
    out = tmp_path / "report.json"
    good("run", "--corpus", home, "--provider", "bm25", "--out", out, "-q")
    assert json.loads(out.read_text(encoding="utf-8"))["provenance"]["corpus"]["name"] == "mine"


def test_new_corpus_overwrites_nothing(tmp_path: Path) -> None:
    good("data", "new", tmp_path)
    done = pmb("data", "new", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert f"{tmp_path / 'beliefs.seed.json'} is there already" in done.err


def test_corpus_of_a_log_is_valid_and_what_was_done_is_said(
    tmp_path: Path, log: tuple[Path, Path]
) -> None:
    queries, memories = log
    home = tmp_path / "made"
    done = good("data", "from-log", queries, "--beliefs", memories, "-o", home)
    assert done.out == f"Wrote {home}: 1 belief, 1 case, 1 repeated line merged\n"
    assert done.err == "note: queries.jsonl: 'latency' is ignored in 1 row\n"
    good("data", "lint", home)
    again = pmb("data", "from-log", queries, "--beliefs", memories, "-o", home)
    assert again.code == 2
    assert "--force" in again.err
    forced = good(
        "data", "from-log", queries, "--beliefs", memories, "-o", home, "--force", "--json"
    )
    assert forced.json == {
        "directory": str(home),
        "beliefs": 1,
        "cases": 1,
        "merged": 1,
        "notes": ["queries.jsonl: 'latency' is ignored in 1 row"],
    }


def test_faulty_lines_are_listed_and_nothing_is_written(
    tmp_path: Path, log: tuple[Path, Path]
) -> None:
    queries = rows(
        tmp_path / "bad.jsonl", {"query": "a", "expected": ["x"]}, {"query": "b", "expected": 3}
    )
    done = pmb("data", "from-log", queries, "--beliefs", log[1], "-o", tmp_path / "made")
    assert done.code == 2
    assert "bad.jsonl line 1: expected 'x' is no id of the beliefs file" in done.err
    assert "bad.jsonl line 2: expected 3 must be a list of ids" in done.err
    assert not (tmp_path / "made").exists()


def test_many_notes_are_cut(tmp_path: Path, log: tuple[Path, Path]) -> None:
    memories = rows(
        tmp_path / "wide.jsonl", {"id": "berth", "text": "T.", **{f"x{n}": n for n in range(25)}}
    )
    done = good("data", "from-log", log[0], "--beliefs", memories, "-o", tmp_path / "made")
    assert done.err.count("note: wide.jsonl") == 20
    assert "note: and 6 more" in done.err


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write(tmp_path / "tiny")


def test_run_that_meets_its_limits_ends_well(tmp_path: Path, tiny: Path) -> None:
    limits = ("--fail-under", "precision=1", "--fail-under", "drift<=0")
    good("run", "-p", "oracle", "--corpus", tiny, "-o", tmp_path / "r.json", "-q", *limits)


def test_run_that_does_not_ends_with_1_and_names_the_cases(tmp_path: Path, tiny: Path) -> None:
    out = tmp_path / "r.json"
    done = pmb(
        *("run", "-p", "everything", "--corpus", tiny, "-o", out, "-q"),
        *("--fail-under", "precision=0.9", "--fail-under", "session.passes>=3"),
    )
    assert done.code == 1
    assert done.out == f"{out}\n", "the report is written all the same"
    assert out.is_file()
    first, *rest = done.err.splitlines()
    assert first == "error: everything does not meet --fail-under:"
    assert rest[0].startswith("retrieval precision is 0.")
    assert "(n=4); it must be at least 0.9" in rest[0]
    assert any(line.startswith("  c-mooring (") for line in rest)
    assert "session passed is 0 (n=3); it must be at least 3" in rest


def test_json_stays_json_where_a_limit_is_not_met(tmp_path: Path, tiny: Path) -> None:
    done = pmb(
        *("run", "-p", "empty", "--corpus", tiny, "-o", tmp_path / "r.json", "--json"),
        *("--fail-under", "recall=1"),
    )
    assert done.code == 1
    assert done.json["provider"] == "empty"
    assert "c-mooring" in done.err


@pytest.mark.parametrize("limit", ["precison=1", "precision<=1", "precision=80"])
def test_limit_that_can_not_be_meant_ends_before_the_run(
    tmp_path: Path, tiny: Path, limit: str
) -> None:
    out = tmp_path / "r.json"
    done = pmb("run", "-p", "oracle", "--corpus", tiny, "-o", out, "--fail-under", limit)
    assert done.code == 2
    assert not out.exists()


def test_junit_is_written_beside_the_report(tmp_path: Path, tiny: Path) -> None:
    out, junit = tmp_path / "r.json", tmp_path / "deep" / "pmb.xml"
    arguments = ("run", "-p", "empty", "--corpus", tiny, "-o", out, "-q", "--junit", junit)
    assert pmb(*arguments, "--fail-under", "recall=1").code == 1
    root = ET.fromstring(junit.read_bytes())  # noqa: S314 - made here
    assert (root.get("tests"), root.get("failures")) == ("11", "7")


def test_comparison_gates_on_regressions(tmp_path: Path, tiny: Path) -> None:
    base, new = tmp_path / "base.json", tmp_path / "new.json"
    good("run", "-p", "oracle", "--corpus", tiny, "-o", base, "-q")
    good("run", "-p", "empty", "--corpus", tiny, "-o", new, "-q")
    good("compare", base, base, "--corpus", tiny, "--max-regression", "passes=0", "--force")
    done = pmb("compare", base, new, "--corpus", tiny, "--max-regression", "passes=0")
    assert done.code == 1
    assert "retrieval passed (n=8) went from 8 to 4; it must not get worse" in done.err
    assert "  c-mooring" in done.err
