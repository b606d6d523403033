"""Data sets of results, scored again: the same rows with other scores, the same bytes twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_kit import good, pmb

from pmb_hf.errors import InputError, PredictionError
from pmb_hf.evaluation import score_cases
from pmb_hf.parquet_sets import Source
from pmb_hf.prediction_files import read_references
from pmb_hf.rescoring import rescore_set

Row = dict[str, Any]
SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("case_id", pa.string()),
        ("turn_index", pa.int32()),
        ("relevant_beliefs", pa.list_(pa.string())),
        ("precision", pa.float64()),
        ("mine", pa.int8()),
    ]
)


@pytest.fixture(scope="module")
def references() -> list[Row]:
    """Both parts of the native corpus."""
    return [*read_references("native"), *read_references("native", "sessions")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, references: list[Row]) -> Path:
    """Two files, two runs in each, in folders that tell the provider."""
    root = tmp_path_factory.mktemp("results")
    for provider in ("a", "b"):
        rows = [
            {
                "run": f"{provider}{run}",
                "case_id": row["case_id"],
                "turn_index": row.get("turn_index"),
                "relevant_beliefs": [*row["gold"][:run], *row["eligible_beliefs"][:1]],
                "precision": 0.5,
                "mine": run,
            }
            for run in range(2)
            for row in references
        ]
        path = root / f"provider={provider}" / "part.parquet"
        path.parent.mkdir()
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path, row_group_size=40)
    return root


def tree(root: Path) -> dict[str, bytes]:
    """The files below a directory."""
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def test_the_same_rows_with_the_scores_of_the_rules(
    tmp_path: Path, folder: Path, references: list[Row]
) -> None:
    rules = "upstream-2026-06"
    scored = rescore_set(Source(str(folder), {}), references, tmp_path / "out", rules=rules)
    assert (scored.rows, scored.runs, scored.missing) == (356, 4, 0)
    before = pq.read_table(folder / "provider=a" / "part.parquet").to_pylist()
    after = pq.ParquetFile(tmp_path / "out" / "provider=a" / "part.parquet").read().to_pylist()
    kept = ("run", "case_id", "turn_index", "relevant_beliefs", "mine")
    assert [[r[k] for k in kept] for r in after] == [[r[k] for k in kept] for r in before]
    first = [row for row in before if row["run"] == "a1"]
    expected = score_cases(first, references, rules=rules)
    got = [row for row in after if row["run"] == "a1"]
    for name in ("passed", "pass_kind", "precision", "recall", "drift"):
        assert [row[name] for row in got] == [getattr(score, name) for score in expected], name
    assert {row["rules"] for row in after} == {rules}
    assert all(bool(row["failures"]) != row["passed"] for row in got)


def test_the_same_bytes_for_any_number_of_workers(
    tmp_path: Path, folder: Path, references: list[Row]
) -> None:
    source = Source(str(folder), {})
    one = rescore_set(source, references, tmp_path / "1", rules="spec")
    two = rescore_set(source, references, tmp_path / "2", rules="spec", workers=2)
    assert one == two
    assert tree(tmp_path / "1") == tree(tmp_path / "2")
    again = Source(str(tmp_path / "1"), {})
    assert rescore_set(again, references, tmp_path / "3", rules="spec") == one
    assert tree(tmp_path / "3") == tree(tmp_path / "1")


def test_nothing_is_written_over_and_nothing_is_left(
    tmp_path: Path, folder: Path, references: list[Row]
) -> None:
    with pytest.raises(InputError, match="is there already"):
        rescore_set(Source(str(folder), {}), references, folder, rules="spec")
    only = references[:77]
    with pytest.raises(PredictionError, match="rows of a part without references"):
        rescore_set(Source(str(folder), {}), only, tmp_path / "out", rules="spec")
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.iterdir()) == []


def test_each_file_keeps_its_own_types(tmp_path: Path, references: list[Row]) -> None:
    rows = [
        {"case_id": row["case_id"], "relevant_beliefs": row["gold"], "run": "a", "n": 7}
        for row in references[:77]
    ]
    (tmp_path / "in").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in" / "a.parquet")
    other = [{**row, "run": "b", "n": 1.5, "extra": "00012"} for row in rows]
    pq.write_table(pa.Table.from_pylist(other), tmp_path / "in" / "b.parquet")
    rescore_set(Source(str(tmp_path / "in"), {}), references, tmp_path / "out", rules="spec")
    first = pq.read_schema(tmp_path / "out" / "a.parquet")
    assert (first.field("n").type, "extra" in first.names) == (pa.int64(), False)
    second = pq.ParquetFile(tmp_path / "out" / "b.parquet").read()
    assert set(second.column("extra").to_pylist()) == {"00012"}


def test_on_the_command_line(tmp_path: Path, folder: Path) -> None:
    done = good("rescore", folder, "--rules", "spec", "-o", tmp_path / "out", "--where", "mine=1")
    assert "178 rows of 2 runs" in done.err
    table = pq.read_table(tmp_path / "out")
    assert set(table.column("mine").to_pylist()) == {1}
    one = folder / "provider=a" / "part.parquet"
    good("rescore", one, "--rules", "spec", "-o", tmp_path / "one")
    assert (tmp_path / "one" / "part.parquet").is_file()


def test_wrong_use_on_the_command_line(tmp_path: Path, folder: Path) -> None:
    assert "give --rules and a directory by --out" in pmb("rescore", folder).err
    (tmp_path / "r.json").write_text("{}")
    done = pmb("rescore", tmp_path / "r.json", "--workers", "2")
    assert (done.code, "are for Parquet data sets" in done.err) == (2, True)
