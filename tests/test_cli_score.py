"""``pmb score``: predictions of any origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_kit import good, pmb

from pmb_hf.prediction_files import read_references

Rows = list[dict[str, Any]]


def predictions(config: str = "retrieval") -> Rows:
    """The right answers, as a system would give them."""
    keep = ("case_id", "turn_index")
    return [
        {**{k: row[k] for k in keep if k in row}, "relevant_beliefs": row["gold"]}
        for row in read_references("native", config)
    ]


def write(path: Path, rows: Rows) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.mark.parametrize(("config", "cases"), [("retrieval", 77), ("sessions", 12)])
def test_right_answers_score_full_marks(tmp_path: Path, config: str, cases: int) -> None:
    path = write(tmp_path / "p.jsonl", predictions(config))
    view = good("score", path, "--config", config, "--json").json
    assert view["rules"] == "spec"
    assert view["config"] == config
    summary = view["summary"]
    assert (summary["cases"], summary["mean_precision"], summary["mean_recall"]) == (cases, 1, 1)
    assert "cases" not in view


def test_the_table_and_the_cases(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", predictions())
    done = good("score", path, "--cases", columns=80)
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.count("passed") >= 77
    view = good("score", path, "--cases", "--json").json
    assert len(view["cases"]) == 77
    assert view["cases"][0]["precision"] == 1.0


def test_references_may_be_a_file(tmp_path: Path) -> None:
    references = read_references("native")[:3]
    (tmp_path / "r.json").write_text(json.dumps(references), encoding="utf-8")
    path = write(tmp_path / "p.jsonl", predictions()[:3])
    view = good("score", path, "--references", tmp_path / "r.json", "--json").json
    assert view["summary"]["cases"] == 3


def test_a_missing_case_is_an_error_or_a_miss(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", predictions()[1:])
    done = pmb("score", path)
    assert done.code == 2
    assert "no prediction for case" in done.err
    view = good("score", path, "--on-missing", "miss", "--json").json
    assert view["summary"]["errors"] == 1
    assert pmb("score", path, "--on-missing", "maybe").code == 2


def test_a_near_miss_is_a_note(tmp_path: Path) -> None:
    rows = predictions()
    active = next(row for row in rows if row["relevant_beliefs"])
    active["relevant_beliefs"] = [active["relevant_beliefs"][0].upper()]
    done = good("score", write(tmp_path / "p.jsonl", rows), "--json")
    assert done.json["summary"]["unknown_ids"] == 1
    assert done.err.startswith("note: ")
    assert "ids are compared exactly" in done.err


def test_rules_make_a_difference(tmp_path: Path) -> None:
    rows = [{**row, "relevant_beliefs": []} for row in predictions()]
    path = write(tmp_path / "p.jsonl", rows)
    assert good("score", path, "--json").json["summary"]["n_precision"] == 43
    upstream = good("score", path, "--json", "--rules", "upstream-2026-06").json
    assert upstream["rules"] == "upstream-2026-06"
    assert pmb("score", path, "--rules", "none").code == 2


def test_a_report_is_no_list_of_predictions(tmp_path: Path) -> None:
    good("run", "--provider", "empty", "--quiet", "--out", tmp_path / "r.json")
    done = pmb("score", tmp_path / "r.json")
    assert done.code == 2
    assert "is a report" in done.err
