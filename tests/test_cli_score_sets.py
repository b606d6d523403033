"""``pmb score`` on data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_kit import good, pmb

from pmb_hf.prediction_files import read_references

SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        ("provider", pa.string()),
        ("case_id", pa.string()),
        ("turn_index", pa.int64()),
        ("relevant_beliefs", pa.list_(pa.string())),
    ]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of both parts: one that is right, one that finds nothing."""
    root = tmp_path_factory.mktemp("sets") / "runs"
    root.mkdir()
    for name, keep in (("right", True), ("nothing", False)):
        rows: list[dict[str, Any]] = [
            {
                "run_id": name,
                "provider": name,
                "case_id": row["case_id"],
                "turn_index": row.get("turn_index"),
                "relevant_beliefs": row["gold"] if keep else [],
            }
            for config in ("retrieval", "sessions")
            for row in read_references("native", config)
        ]
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), root / f"{name}.parquet")
    return root


def test_a_directory_of_runs(folder: Path) -> None:
    done = good("score", folder, "--config", "all", "--by", "provider", "--workers", "2", "--json")
    view = done.json
    assert (view["rows"], view["runs"], view["missing"], view["left_out"]) == (178, 2, 0, 0)
    assert view["groups"]["right"]["retrieval"]["mean_recall"] == 1
    assert view["groups"]["nothing"]["sessions"]["mean_recall"] == 0
    assert view["summaries"]["retrieval"]["cases"] == 154


def test_the_tables(folder: Path) -> None:
    done = good("score", folder, "--config", "all", "--by", "provider", columns=80)
    assert max(map(len, done.out.splitlines())) <= 80
    assert "178 rows of 2 runs" in done.err
    for word in ("right", "nothing", "Alias", "sessions", "retrieval"):
        assert word in done.out


def test_one_part_of_one_run(folder: Path) -> None:
    done = good("score", folder, "--where", "provider=right", "--json")
    assert done.json["summaries"]["retrieval"]["cases"] == 77
    assert "12 rows of the other part left out; --config all" in done.err


def test_a_part_without_rows_is_named(folder: Path, tmp_path: Path) -> None:
    done = good("score", folder, "--config", "all")
    assert "holds no rows of" not in done.err
    table = pq.read_table(folder / "right.parquet")
    (tmp_path / "half").mkdir()
    pq.write_table(table.slice(0, 77), tmp_path / "half" / "retrieval.parquet")
    done = good("score", tmp_path / "half", "--config", "all", "--json")
    assert f"note: {tmp_path / 'half'} holds no rows of sessions, so that part" in done.err
    assert list(done.json["summaries"]) == ["retrieval"]


def test_an_unknown_case_is_told_with_the_one_that_is_near(folder: Path, tmp_path: Path) -> None:
    rows = pq.read_table(folder / "right.parquet").to_pylist()
    right = rows[3]["case_id"]
    rows[3]["case_id"] = right + "x"
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), tmp_path / "p.parquet")
    done = pmb("score", tmp_path / "p.parquet", "--config", "all")
    assert done.code == 2
    assert f"row 4: there is no case {right + 'x'!r} in the references; did you mean" in done.err
    assert f"did you mean {right!r}?" in done.err


def test_a_file_with_a_run_column_is_a_set(folder: Path) -> None:
    view = good("score", folder / "right.parquet", "--json").json
    assert view["runs"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cases"], "--cases shows the cases of one file"),
        (["--where", "provider"], "--where takes key=value"),
        (["--where", "provider=right", "--where", "provider=x"], "--where provider is there twice"),
        (["--by", "nope"], "no column 'nope'"),
        (["--config", "nope"], "no config 'nope'"),
    ],
)
def test_wrong_use(folder: Path, arguments: list[str], said: str) -> None:
    done = pmb("score", folder, *arguments)
    assert done.code == 2
    assert said in done.err


def test_what_is_for_sets_alone(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('{"case_id": "a", "relevant_beliefs": []}\n')
    done = pmb("score", tmp_path / "p.jsonl", "--workers", "2")
    assert done.code == 2
    assert "are for Parquet data sets" in done.err


def test_an_interrupt_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pmb_hf.streaming.score_set", interrupted)
    done = pmb("score", folder, "--config", "all", "--workers", "2")
    assert (done.code, done.out, done.err) == (130, "", "error: interrupted\n")


def test_one_row_is_not_rows(tmp_path: Path) -> None:
    row = next(iter(read_references("native", "retrieval")))
    one = {"run_id": "a", "provider": "a", "case_id": row["case_id"], "relevant_beliefs": []}
    (tmp_path / "one").mkdir()
    pq.write_table(pa.Table.from_pylist([one], SCHEMA), tmp_path / "one" / "p.parquet")
    done = good("score", tmp_path / "one", "--on-missing", "miss")
    assert "1 row of 1 run, 76 missing cases" in done.err
