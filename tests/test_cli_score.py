"""``pmb score``: predictions of any origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
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
    assert view["summaries"] == {config: summary}  # as of a directory
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


def faulty(change: str) -> Rows:
    rows = predictions()[:4]
    if change == "id":
        rows[1]["relevant_beliefs"] = [1]
    if change == "latency":
        rows[2]["latency_ms"] = "fast"
    if change == "case":
        rows[3]["case_id"] = 5
    if change == "twice":
        rows[3] = rows[1]
    if change == "unknown":
        rows[2]["case_id"] = "nowhere"
    return rows


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet"])
@pytest.mark.parametrize(
    ("change", "number", "says"),
    [
        ("id", 2, "'relevant_beliefs' holds 1; an id must be a string"),
        ("latency", 3, "'latency_ms' must be a number >= 0 or null, not 'fast'"),
        ("case", 4, "a prediction has no usable 'case_id'"),
        ("twice", 4, "is there more than once; the first is in"),
        ("unknown", 3, "no reference for prediction 'nowhere'"),
    ],
)
def test_a_fault_is_told_with_file_and_line(
    tmp_path: Path, suffix: str, change: str, number: int, says: str
) -> None:
    rows, path = faulty(change), tmp_path / f"p{suffix}"
    (tmp_path / "r.json").write_text(json.dumps(read_references("native")[:4]), encoding="utf-8")
    if suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    elif suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n\n" for row in rows), encoding="utf-8")
        number = number * 2 - 1
    elif change in ("id", "latency", "case"):
        return  # Parquet holds one type a column
    else:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    done = pmb("score", path, "--references", tmp_path / "r.json")
    unit = "line" if suffix == ".jsonl" else "row"
    assert done.code == 2
    assert done.err.startswith(f"error: {path} {unit} {number}: ")
    assert says in done.err
    if change == "twice":
        assert f"the first is in {path} {unit} {3 if unit == 'line' else 2}" in done.err


@pytest.mark.parametrize(
    ("config", "wrong", "says"),
    [
        ("retrieval", {"case_id": "{}x"}, "; did you mean '{}'?"),
        ("retrieval", {"turn_index": 1}, "; it has no turns, so leave out turn_index"),
        ("sessions", {"turn_index": 99}, "; it has the turns "),
        ("sessions", {"turn_index": None}, "; it has the turns "),
        ("retrieval", {"case_id": "nothing like it"}, "'nothing like it'\n"),
    ],
)
def test_an_unknown_case_is_told_with_what_may_be_meant(
    tmp_path: Path, config: str, wrong: dict[str, Any], says: str
) -> None:
    rows = predictions(config)
    right = rows[0]["case_id"]
    rows[0] |= {k: v.format(right) if isinstance(v, str) else v for k, v in wrong.items()}
    done = pmb("score", write(tmp_path / "p.jsonl", rows), "--config", config)
    assert done.code == 2
    assert "line 1: no reference for prediction" in done.err
    assert says.format(right) in done.err


def test_a_fault_of_a_reference_names_its_file(tmp_path: Path) -> None:
    references = read_references("native")[:2]
    references[1]["pass_kind"] = "odd"
    (tmp_path / "r.json").write_text(json.dumps(references), encoding="utf-8")
    path = write(tmp_path / "p.jsonl", predictions()[:2])
    done = pmb("score", path, "--references", tmp_path / "r.json")
    assert done.code == 2
    assert f"error: {tmp_path / 'r.json'} row 2: reference " in done.err


def test_what_is_missing_is_told_in_the_words_of_the_command_line(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", predictions()[2:])
    done = pmb("score", path)
    assert done.code == 2
    assert done.err.startswith(f"error: {path}: no prediction for case '")
    assert "--on-missing miss" in done.err
    assert "on_missing" not in done.err
    done = pmb("score", path, "--on-missing", "ignore")
    assert (done.code, done.err) == (2, "error: --on-missing takes error or miss, not 'ignore'\n")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("p.json", "", "is empty; it must hold a list of rows"),
        ("p.json", " \n", "is empty; it must hold a list of rows"),
        ("p.json", "[]", "holds no rows; it must hold one a case"),
        ("p.jsonl", "", "holds no rows; it must hold one a case"),
        ("p.jsonl", "\n\n", "holds no rows; it must hold one a case"),
    ],
)
def test_an_empty_file_is_called_empty(tmp_path: Path, name: str, content: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    done = pmb("score", path)
    assert (done.code, done.err) == (2, f"error: {path} {says}\n")


def test_no_rows_may_be_scored_as_misses(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", [])
    view = good("score", path, "--on-missing", "miss", "--json").json
    assert (view["summary"]["cases"], view["summary"]["errors"]) == (77, 77)
