"""Parquet data sets, scored in batches: the same figures as in one go, in any cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pmb_hf.corpus import load_corpus
from pmb_hf.dataset_rows import rows as dataset_rows
from pmb_hf.errors import PredictionError
from pmb_hf.evaluation import score
from pmb_hf.parquet_sets import ParquetSet, Source
from pmb_hf.partial_scores import Scored
from pmb_hf.streaming import score_set

Row = dict[str, Any]
SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        ("case_id", pa.string()),
        ("turn_index", pa.int64()),
        ("relevant_beliefs", pa.list_(pa.string())),
        ("pinned_facts", pa.list_(pa.string())),
        ("latency_ms", pa.float64()),
        ("status", pa.string()),
    ]
)


@pytest.fixture(scope="module")
def singles() -> list[Row]:
    """The references of the single-turn cases."""
    return dataset_rows(load_corpus(), "retrieval")


@pytest.fixture(scope="module")
def turns() -> list[Row]:
    """The references of the session turns."""
    return dataset_rows(load_corpus(), "sessions")


def answers(references: list[Row], run: str, take: int) -> list[Row]:
    """A run that returns the first beliefs of the gold, and one stranger."""
    return [
        {
            "run_id": run,
            "case_id": row["case_id"],
            "turn_index": row.get("turn_index"),
            "relevant_beliefs": [*row["gold"][:take], *row["eligible_beliefs"][:1]],
            "latency_ms": place / 100,
        }
        for place, row in enumerate(references)
    ]


def write(path: Path, rows: list[Row], group: int = 50) -> str:
    """A Parquet file in small row groups."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path, row_group_size=group)
    return str(path)


def stream(path: str | Path, references: list[Row], **options: Any) -> Scored:
    """Score a set."""
    where = options.pop("where", {})
    return score_set(Source(str(path), where), references, **options)


def test_one_run_comes_to_the_same_as_in_one_go(tmp_path: Path, singles: list[Row]) -> None:
    rows = answers(singles, "r", 1)
    scored = stream(write(tmp_path / "a.parquet", rows), singles)
    assert scored.summaries == {"retrieval": score(rows, singles)}
    assert (scored.rows, scored.runs, scored.missing) == (77, 1, 0)
    assert sum(s["cases"] or 0 for s in scored.by_category.values()) == 77
    assert list(scored.by_category) == list(dict.fromkeys(row["category"] for row in singles))


@pytest.mark.parametrize("workers", [1, 2])
def test_rows_of_many_runs_in_any_order(
    tmp_path: Path, singles: list[Row], monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr("pmb_hf.parquet_sets._PIECE_ROWS", 100)
    runs = [answers(singles, f"r{take}", take) for take in range(3)]
    mixed = [row for trio in zip(*runs, strict=True) for row in trio]
    write(tmp_path / "set" / "b.parquet", mixed[:90])
    write(tmp_path / "set" / "a.parquet", mixed[90:])
    scored = stream(tmp_path / "set", singles, workers=workers, by="run_id")
    assert (scored.rows, scored.runs) == (231, 3)
    assert scored.groups == {
        f"r{take}": {"retrieval": score(run, singles)} for take, run in enumerate(runs)
    }
    assert scored.summaries["retrieval"]["cases"] == 231


def test_columns_of_the_path_tell_runs_apart(tmp_path: Path, singles: list[Row]) -> None:
    for take in range(2):
        rows = answers(singles, "same", take)
        write(tmp_path / f"provider=p{take}" / "part.parquet", rows)
    scored = stream(tmp_path, singles, run_column="provider")
    assert scored.runs == 2
    only = stream(tmp_path, singles, where={"provider": "p1"})
    assert only.summaries["retrieval"] == score(answers(singles, "same", 1), singles)
    with pytest.raises(
        PredictionError,
        match=r"p1/part\.parquet: row 1: case .* of run 'same' is there more .*, first in .*p0",
    ):
        stream(tmp_path, singles)


def test_both_parts_and_the_one_that_was_not_asked_for(
    tmp_path: Path, singles: list[Row], turns: list[Row]
) -> None:
    rows = [*answers(singles, "r", 1), *answers(turns, "r", 1)]
    path = write(tmp_path / "a.parquet", rows)
    both = stream(path, [*singles, *turns])
    assert both.summaries == {
        "retrieval": score(rows[:77], singles),
        "sessions": score(rows[77:], turns),
    }
    alone = stream(path, turns)
    assert alone.summaries == {"sessions": both.summaries["sessions"]}
    assert (alone.left_out, alone.missing) == (77, 0)
    # A run without sessions lacks nothing.
    assert stream(write(tmp_path / "b.parquet", rows[:77]), [*singles, *turns]).missing == 0


def test_a_missing_case_is_an_error_or_a_miss(tmp_path: Path, singles: list[Row]) -> None:
    rows = answers(singles, "r", 1)
    gone = rows.pop(5)
    path = write(tmp_path / "a.parquet", rows)
    with pytest.raises(
        PredictionError, match=rf"run 'r' for case '{gone['case_id']}'.*--on-missing"
    ):
        stream(path, singles)
    scored = stream(path, singles, on_missing="miss")
    assert scored.missing == 1
    assert scored.summaries["retrieval"] == score(rows, singles, on_missing="miss")


def _repeat(rows: list[Row]) -> None:
    rows.append(rows[3])


def _strange(rows: list[Row]) -> None:
    rows[60]["case_id"] = "nope"


def _negative(rows: list[Row]) -> None:
    rows[60]["latency_ms"] = -1.0


def _nothing(rows: list[Row]) -> None:
    rows[60]["relevant_beliefs"] = None


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            _repeat,
            r"a\.parquet: row 78: case .* of run 'r' is there more than once, first in row 4",
        ),
        (_strange, r"a\.parquet: row 61: there is no case 'nope'"),
        (_negative, r"a\.parquet: row 61: .*'latency_ms' must be a number >= 0"),
        (_nothing, r"a\.parquet: row 61: .*'relevant_beliefs' is missing"),
    ],
)
def test_a_bad_row_is_named(
    tmp_path: Path, singles: list[Row], spoil: Callable[[list[Row]], None], message: str
) -> None:
    rows = answers(singles, "r", 1)
    spoil(rows)
    with pytest.raises(PredictionError, match=message):
        stream(write(tmp_path / "a.parquet", rows), singles)


def test_a_case_that_two_pieces_have_is_named(
    tmp_path: Path, singles: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pmb_hf.parquet_sets._PIECE_ROWS", 10)
    rows = [{**row, "run_id": None} for row in answers(singles, "", 1)]
    rows = [{k: v for k, v in row.items() if k != "run_id"} for row in [*rows, rows[0]]]
    path = tmp_path / "a.parquet"
    table = pa.Table.from_pylist(rows, pa.schema([f for f in SCHEMA if f.name != "run_id"]))
    pq.write_table(table, path, row_group_size=10)
    with pytest.raises(
        PredictionError,
        match=r"a\.parquet: row 78: case .* more than once, first in row 1; .*--run-column",
    ):
        stream(path, singles)


def test_near_misses_are_counted_with_examples(tmp_path: Path, singles: list[Row]) -> None:
    rows = answers(singles, "r", 1)
    for row in rows:
        row["relevant_beliefs"] = [belief.upper() for belief in row["relevant_beliefs"]]
    scored = stream(write(tmp_path / "a.parquet", rows), singles)
    assert scored.near_misses == sum(len(row["relevant_beliefs"]) for row in rows)
    assert len(scored.examples) == 5
    assert " is not " in scored.examples[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"where": {"nope": "1"}}, "no column 'nope'; it has: run_id, case_id"),
        ({"by": "nope"}, "no column 'nope'"),
        ({"run_column": "nope"}, "no column 'nope'"),
        ({"workers": 0}, "workers is 0"),
        ({"on_missing": "skip"}, "on_missing must be"),
        ({"where": {"run_id": "other"}}, "holds no rows"),
    ],
)
def test_wrong_use(
    tmp_path: Path, singles: list[Row], options: dict[str, Any], message: str
) -> None:
    path = write(tmp_path / "a.parquet", answers(singles, "r", 1))
    with pytest.raises(PredictionError, match=message):
        stream(path, singles, **options)


def test_what_is_no_set(tmp_path: Path, singles: list[Row]) -> None:
    with pytest.raises(PredictionError, match="no set of Parquet files"):
        stream(tmp_path / "nope", singles)
    (tmp_path / "empty").mkdir()
    with pytest.raises(PredictionError, match="holds no Parquet file"):
        stream(tmp_path / "empty", singles)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(PredictionError, match=r"bad\.parquet"):
        stream(tmp_path / "bad.parquet", singles)
    with pytest.raises(PredictionError, match="no references"):
        stream(write(tmp_path / "a.parquet", answers(singles, "r", 1)), [])


def bare(path: Path, columns: dict[str, pa.Array]) -> None:
    """A Parquet file of these columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def columns_of(rows: list[Row], run: str, **more: pa.Array) -> dict[str, pa.Array]:
    """The columns that every file has, and more."""
    return {
        "run_id": pa.array([run] * len(rows)),
        "case_id": pa.array([row["case_id"] for row in rows]),
        "relevant_beliefs": pa.array([row["relevant_beliefs"] for row in rows]),
        **more,
    }


@pytest.mark.parametrize("first", ["a", "z"])
def test_columns_that_only_some_files_have(tmp_path: Path, singles: list[Row], first: str) -> None:
    rows = answers(singles, "r", 1)
    failed = pa.array(["timeout"] * len(rows))
    bare(tmp_path / f"{first}.parquet", columns_of(rows, "plain"))
    bare(tmp_path / "m.parquet", columns_of(rows, "failed", status=failed))
    summary = stream(tmp_path, singles).summaries["retrieval"]
    assert (summary["cases"], summary["errors"]) == (154, 77)


def test_types_that_go_together_and_types_that_do_not(tmp_path: Path, singles: list[Row]) -> None:
    rows = answers(singles, "r", 1)
    n = len(rows)
    bare(
        tmp_path / "a.parquet",
        columns_of(rows, "a", status=pa.nulls(n), latency_ms=pa.array([1] * n)),
    )
    fine = {"status": pa.array(["ok"] * n), "latency_ms": pa.array([1.5] * n)}
    bare(tmp_path / "b.parquet", columns_of(rows, "b", **fine))
    summary = stream(tmp_path, singles).summaries["retrieval"]
    assert (summary["errors"], summary["mean_latency_ms"]) == (0, 1.25)
    numbers = columns_of(rows, "c") | {"run_id": pa.array([7] * n)}
    bare(tmp_path / "c.parquet", numbers)
    with pytest.raises(PredictionError, match=r"c\.parquet can't be read together"):
        stream(tmp_path, singles)


def test_what_a_path_says_is_text(tmp_path: Path, singles: list[Row]) -> None:
    rows = answers(singles, "r", 1)
    for run in ("1", "01"):
        columns = columns_of(rows, "")
        del columns["run_id"]
        bare(tmp_path / f"run={run}" / "a.parquet", columns)
    assert stream(tmp_path, singles).runs == 2


def test_what_a_run_lacks_counts_in_its_group(tmp_path: Path, singles: list[Row]) -> None:
    write(tmp_path / "a.parquet", answers(singles, "whole", 1))
    part = answers(singles, "part", 1)[:16]
    write(tmp_path / "b.parquet", part)
    scored = stream(tmp_path, singles, by="run_id", on_missing="miss")
    assert scored.groups["part"]["retrieval"] == score(part, singles, on_missing="miss")
    assert scored.groups["whole"]["retrieval"]["cases"] == 77


def test_a_set_that_changes_is_refused(tmp_path: Path, singles: list[Row]) -> None:
    rows = answers(singles, "r", 1)
    write(tmp_path / "b.parquet", rows)
    before = ParquetSet(Source(str(tmp_path), {})).pieces()
    write(tmp_path / "a.parquet", answers(singles, "new", 1))
    now = ParquetSet(Source(str(tmp_path), {}))
    assert [piece.path for piece in before] == [str(tmp_path / "b.parquet")]
    assert sum(len(b.rows) for b in now.batches(before[0], ["case_id"])) == 77
    write(tmp_path / "b.parquet", rows[:5])
    with pytest.raises(PredictionError, match=r"b\.parquet was changed"):
        list(ParquetSet(Source(str(tmp_path), {})).batches(before[0], ["case_id"]))
    (tmp_path / "b.parquet").unlink()
    with pytest.raises(PredictionError, match=r"b\.parquet was changed"):
        list(ParquetSet(Source(str(tmp_path), {})).batches(before[0], ["case_id"]))


def test_a_choice_of_no_rows_says_what_there_is(tmp_path: Path, singles: list[Row]) -> None:
    for run in ("a", "b"):
        write(tmp_path / f"{run}.parquet", answers(singles, run, 1))
    with pytest.raises(PredictionError, match="no rows with run_id=c: run_id is a or b"):
        score_set(Source(str(tmp_path), {"run_id": "c"}), singles)
