"""Parquet of strangers: what is read, and what would take too much."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pmb_hf.board.parquet_rows import UnreadableError, read_parquet

IDS = pa.list_(pa.string())


def written(folder: Path, columns: dict[str, Any], **options: Any) -> Path:
    path = folder / "mine.parquet"
    pq.write_table(pa.table(columns), path, compression="zstd", **options)
    return path


def test_rows_are_those_that_were_written(tmp_path: Path) -> None:
    rows = [
        {"case_id": f"c{n}", "turn_index": n or None, "relevant_beliefs": ["x", None, "é"][: n % 4]}
        | {"latency_ms": 0.5 * n, "nested": {"a": [n]}, "pinned_facts": None}
        for n in range(150)
    ]
    path = tmp_path / "mine.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=40)
    assert read_parquet(path, 150) == rows
    pq.write_table(pa.Table.from_pylist(rows), path, use_dictionary=False)
    assert read_parquet(path, 150) == rows
    with pytest.raises(UnreadableError, match=r"mine.parquet has 150 rows; at most 149"):
        read_parquet(path, 149)


BOMBS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "one text for many rows": (
        {"case_id": ["a" * 100_000] * 1900, "relevant_beliefs": [["x"]] * 1900},
        {"dictionary_pagesize_limit": 10_000_000},
        "text of 100,000 bytes",
    ),
    "one text in many lists": (
        {"case_id": ["a"] * 1000, "relevant_beliefs": [["b" * 15_000]] * 1000},
        {},
        "more than 10,000,000 bytes of text",
    ),
    "one long text": (
        {"case_id": ["a" * 60_000_000], "relevant_beliefs": [["x"]]},
        {},
        "unpacks to",
    ),
    "one long list": (
        {"case_id": ["a"], "relevant_beliefs": pa.array([[None] * 1_000_000], type=IDS)},
        {},
        "more than 200,000 values",
    ),
    "many columns": ({f"c{n}": [None] for n in range(300)}, {}, "300 columns"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, name: str) -> None:
    columns, options, words = BOMBS[name]
    path = written(tmp_path, columns, **options)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UnreadableError, match=words) as caught:
        read_parquet(path, 2000)
    assert str(caught.value).startswith("mine.parquet ")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_what_lies_of_its_size_is_stopped_by_the_system(tmp_path: Path) -> None:
    """One row of few bytes, by what is told of it, that comes to gigabytes."""
    lists = pa.array([["b" * 19_000] * 40_000], type=pa.list_(pa.large_string()))
    path = written(
        tmp_path,
        {"relevant_beliefs": lists},
        use_dictionary=False,
        column_encoding={"relevant_beliefs.list.element": "DELTA_BYTE_ARRAY"},
        data_page_size=(1 << 31) - 1,
    )
    assert path.stat().st_size < 2_000
    with pytest.raises(UnreadableError, match=r"mine.parquet takes too much memory or time"):
        read_parquet(path, 2000)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 100])
def test_what_is_no_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mine.parquet"
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=r"^mine.parquet is no Parquet file"):
        read_parquet(path, 9)


def test_values_that_are_no_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="of the type bytes"):
        read_parquet(written(tmp_path, {"case_id": [b"a"]}), 9)
