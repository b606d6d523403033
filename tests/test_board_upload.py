"""Files of visitors: what is scored, what is refused, and how that is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from space_kit import report

from pmb_hf.board.upload import MOST_BYTES, MOST_ROWS, score_file
from pmb_hf.corpus import load_corpus
from pmb_hf.errors import PredictionError
from pmb_hf.report import judge
from pmb_hf.report_json import report_json

Write = Callable[[Path, list[dict[str, Any]]], Path]


def as_json(path: Path, rows: list[dict[str, Any]]) -> Path:
    made = path / "mine.json"
    made.write_text(json.dumps(rows), encoding="utf-8")
    return made


def as_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    made = path / "mine.jsonl"
    made.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return made


def as_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    made = path / "mine.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), made)
    return made


def predictions() -> list[dict[str, Any]]:
    found = []
    for record in report("bm25").records:
        row: dict[str, Any] = {"case_id": record.case_id, "turn_index": record.turn_index}
        found.append(row | {"relevant_beliefs": list(record.relevant)})
    return found


@pytest.mark.parametrize("write", [as_json, as_lines, as_parquet])
def test_predictions_of_both_parts_in_each_format(tmp_path: Path, write: Write) -> None:
    scored = score_file(write(tmp_path, predictions()), "spec")
    expected = judge(report("bm25"), load_corpus("native"), "spec")
    for part, told in (("retrieval", expected.retrieval), ("session", expected.session)):
        assert told is not None
        assert scored.row["parts"][part]["mean_precision"] == told["mean_precision"]
        assert scored.row["parts"][part]["cases"] == told["cases"]
    assert not scored.row["control"]
    assert scored.row["name"].startswith("Your file: mine.")
    assert scored.scored_on.name == "native"


def test_a_report_under_other_rules(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(report_json(report("bm25"), load_corpus("native")), encoding="utf-8")
    scored = score_file(path, "upstream-2026-06")
    expected = judge(report("bm25"), load_corpus("native"), "upstream-2026-06").retrieval
    assert expected is not None
    assert scored.row["rules"] == "upstream-2026-06"
    assert scored.row["parts"]["retrieval"]["mean_precision"] == expected["mean_precision"]
    assert any("run under the rules spec" in text for text in scored.told["warnings"])


def test_missing_cases_are_an_error_or_a_miss(tmp_path: Path) -> None:
    rows = [row for row in predictions() if row["turn_index"] is None][1:]
    path = as_json(tmp_path, rows)
    with pytest.raises(PredictionError, match=predictions()[0]["case_id"]) as caught:
        score_file(path, "spec")
    assert "tick “Count cases that are missing as failed”" in str(caught.value)
    assert "on_missing" not in str(caught.value)
    scored = score_file(path, "spec", on_missing="miss")
    assert any("1 case had no prediction" in text for text in scored.told["warnings"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"relevant_beliefs": "b-x"}, ["relevant_beliefs"]),
        ({"relevant_beliefs": [5]}, ["relevant_beliefs"]),
        ({"latency_ms": "soon"}, ["latency_ms"]),
    ],
)
def test_an_error_names_case_and_field_and_no_folder(
    tmp_path: Path, change: dict[str, Any], words: list[str]
) -> None:
    rows = predictions()
    rows[3] |= change
    with pytest.raises(PredictionError) as caught:
        score_file(as_lines(tmp_path, rows), "spec")
    told = str(caught.value)
    assert rows[3]["case_id"] in told
    assert all(word in told for word in words)
    assert str(tmp_path) not in told


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("mine.json", "{", "mine.json is no valid JSON"),
        ("mine.json", "[]", "holds no rows"),
        ("mine.json", "[" * 100_000, "mine.json"),
        ("mine.json", '{"provider": "x", "cases": 5}', "cases"),
        ("mine.jsonl", '{"case_id": "a"}\nnot json', "mine.jsonl line 2"),
        ("mine.parquet", "PAR1", "mine.parquet is no Parquet file"),
        ("mine.txt", "", "give a .json"),
        ("mine.json", '[{"case_id": "nowhere", "relevant_beliefs": []}]', "nowhere"),
        ("mine.json", '[{"relevant_beliefs": []}]', "case_id"),
    ],
)
def test_what_is_no_prediction_is_refused_in_a_sentence(
    tmp_path: Path, name: str, content: str, words: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(PredictionError) as caught:
        score_file(path, "spec")
    assert words in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_sizes_rows_and_ids_are_limited(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    large.write_bytes(b" " * (MOST_BYTES + 1))
    with pytest.raises(PredictionError, match="at most"):
        score_file(large, "spec")
    rows = [{"case_id": f"c{n}", "relevant_beliefs": []} for n in range(MOST_ROWS + 1)]
    for write in (as_lines, as_parquet):
        with pytest.raises(PredictionError, match="rows; at most"):
            score_file(write(tmp_path, rows), "spec")
    long = [row | {"relevant_beliefs": ["b" * 15_000]} for row in rows[:1000]]
    with pytest.raises(PredictionError, match=r"mine.parquet unpacks to more than"):
        score_file(as_parquet(tmp_path, long), "spec")
    for write in (as_json, as_lines, as_parquet):
        with pytest.raises(PredictionError, match="row 1: an id of 201 characters") as caught:
            score_file(write(tmp_path, [rows[0] | {"relevant_beliefs": ["b" * 201]}]), "spec")
        assert "b" * 50 not in str(caught.value)


def test_a_report_on_a_corpus_that_is_not_here(tmp_path: Path) -> None:
    tree = json.loads(report_json(report("bm25"), load_corpus("native")))
    tree["provenance"]["corpus"]["name"] = "mine"
    path = tmp_path / "report.json"
    path.write_text(json.dumps(tree), encoding="utf-8")
    with pytest.raises(PredictionError, match="not here"):
        score_file(path, "spec")


def written_report(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    tree = json.loads(report_json(report("bm25"), load_corpus("native")))
    change(tree)
    made = path / "report.json"
    made.write_text(json.dumps(tree), encoding="utf-8")
    return made


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tree: tree.pop("provenance"), "doesn't say which corpus it was made on"),
        (lambda tree: tree["provenance"]["corpus"].update(sha256="0" * 64), "another version of"),
        (lambda tree: tree["provenance"]["corpus"].update(name="mine"), "score it where"),
    ],
)
def test_a_report_on_another_corpus_is_told_in_words_of_the_page(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    with pytest.raises(PredictionError, match=words) as caught:
        score_file(written_report(tmp_path, change), "spec")
    assert "--" not in str(caught.value)
    assert "official" not in str(caught.value)


def test_a_report_that_lacks_cases_says_how_many(tmp_path: Path) -> None:
    scored = score_file(
        written_report(tmp_path, lambda tree: tree.update(cases=tree["cases"][:5])), "spec"
    )
    assert any("72 cases of the corpus are lacking" in text for text in scored.told["warnings"])
    assert "17 in the file; 72 of 89 are lacking" in dict(scored.told["facts"])["passed"]


def test_ids_of_no_belief_are_told(tmp_path: Path) -> None:
    rows = predictions()
    rows[0]["relevant_beliefs"] = ["nobody", *rows[0]["relevant_beliefs"]]
    told = score_file(as_json(tmp_path, rows), "spec").told["warnings"]
    assert told == ["The answers hold 1 id of no belief in the native corpus: 'nobody'."]
    path = written_report(
        tmp_path,
        lambda tree: tree["cases"][0]["relevantBeliefs"].append("nobody"),
    )
    assert told[0] in score_file(path, "spec").told["warnings"]
    assert score_file(as_json(tmp_path, predictions()), "spec").told["warnings"] == []


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"case_id": 5, "relevant_beliefs": []}], "mine.jsonl line 2: a prediction has no usable"),
        (predictions()[:1], "line 2: prediction"),
    ],
)
def test_an_error_names_the_line(tmp_path: Path, rows: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(PredictionError) as caught:
        score_file(as_lines(tmp_path, [predictions()[0], *rows]), "spec")
    assert words in str(caught.value)


@pytest.mark.parametrize("rules", ["", "None", "nonsense"])
def test_rules_that_are_none_are_refused(tmp_path: Path, rules: str) -> None:
    with pytest.raises(PredictionError, match="choose the rules to score under: spec"):
        score_file(as_json(tmp_path, predictions()), rules)


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(PredictionError, match=r"mine.json can't be read"):
        score_file(tmp_path / "mine.json", "spec")
