"""Reading predictions and references: three formats, and what is wrong with a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli_kit import pmb

from pmb_hf.corpus import load_corpus
from pmb_hf.dataset_rows import rows
from pmb_hf.errors import PredictionError, UnknownNameError
from pmb_hf.prediction_files import read_references, read_rows

ROWS: list[dict[str, Any]] = [
    {"case_id": "a", "turn_index": None, "relevant_beliefs": ["b-1", "b-2"], "latency_ms": 1.5},
    {"case_id": "ä", "turn_index": 3, "relevant_beliefs": [], "latency_ms": None},
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows in the format that the file's name says."""
    if path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    elif path.suffix == ".jsonl":
        text = "\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        path.write_text(text + "\n", encoding="utf-8-sig")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize("suffix", ["json", "jsonl", "parquet", "JSON"])
def test_all_formats_give_the_same_rows(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"p.{suffix.lower()}", ROWS)
    assert read_rows(path.rename(tmp_path / f"q.{suffix}")) == ROWS


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", b"case_id\n", r"p\.csv: rows are read from \.json, \.jsonl, \.parquet files"),
        ("p.json", b"{", "is no valid JSON"),
        ("p.json", b'{"case_id": "a"}', "must hold a list of rows, not an object"),
        ("p.json", b'[{"case_id": "a"}, 3]', "row 2 must be an object"),
        ("p.json", b'[{"latency_ms": NaN}]', "NaN is no JSON value"),
        ("p.json", b'{"provider": "x", "cases": []}', "is a report"),
        ("p.json", b"[" * 100_000, "is no valid JSON"),
        ("p.jsonl", b'{"latency_ms": ' + b"9" * 5000 + b"}", r"value has 5000 digits$"),
        ("p.json", b"\xff\xfe", "is not UTF-8"),
        ("p.jsonl", b'{"case_id": "a"}\n\n{"case_id"', "line 3 is no valid JSON"),
        ("p.jsonl", b'{"case_id": "a"}\n[]', "line 2 must be an object with named fields, not a"),
        ("p.parquet", b"PAR1 no", "is no Parquet file"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PredictionError, match=message):
        read_rows(tmp_path / name)


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet", ""])
def test_a_missing_file_is_named(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(PredictionError, match=rf"p{suffix} can't be read: No such file"):
        read_rows(tmp_path / f"p{suffix}")


@pytest.mark.parametrize("config", ["retrieval", "sessions"])
def test_references_of_a_corpus_and_of_a_file_are_the_same(tmp_path: Path, config: str) -> None:
    expected = rows(load_corpus("native"), config)
    assert read_references("native", config) == expected
    assert read_references(write(tmp_path / "r.json", expected), config) == expected


def test_references_of_an_unknown_config() -> None:
    with pytest.raises(UnknownNameError, match="retrieval, sessions"):
        read_references("native", "beliefs")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("name", ["p.json", "p.jsonl", "p.parquet"])
def test_a_named_pipe_is_refused_at_once(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(PredictionError, match=rf"{name} is a named pipe, no file; give a file"):
        read_rows(tmp_path / name)
    done = pmb("score", tmp_path / name)
    assert (done.code, f"{name} is a named pipe" in done.err) == (2, True)
