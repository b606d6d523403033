"""Reads prediction and reference rows from JSON, JSON Lines and Parquet files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .errors import InputError, MissingDependencyError, PredictionError, UnknownNameError
from .files import check_source
from .strict import what_is_wrong

Row = dict[str, Any]


class PlacedRow(Row):
    """A row that knows its place in a file, as ``file line 3`` or ``file row 3``."""

    __slots__ = ("place",)

    def __init__(self, row: Mapping[str, Any], place: str) -> None:
        """Take the fields, and where they stand."""
        super().__init__(row)
        self.place = place


def place_of(row: object) -> str | None:
    """Where a row stands, if it was read from a file."""
    return row.place if isinstance(row, PlacedRow) else None


CONFIGS = ("retrieval", "sessions")
"""The dataset configs whose rows can be references."""

_CORPORA = ("native", "official")


def read_rows(path: str | Path) -> list[Row]:
    """The rows of a ``.json`` list, ``.jsonl`` or ``.parquet`` file.

    Raises:
        PredictionError: If the file can't be read or holds no rows; names file and line.
        MissingDependencyError: If a Parquet file is given and pyarrow is not installed.
    """
    file = Path(path)
    reader = _READERS.get(file.suffix.lower())
    try:
        check_source(file)
        if reader is None:
            raise PredictionError(f"{file}: rows are read from {', '.join(_READERS)} files")
        return reader(file)
    except PredictionError:
        raise
    except InputError as error:
        raise PredictionError(str(error)) from error
    except OSError as error:
        raise PredictionError(f"{file} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise PredictionError(f"{file} is not UTF-8: {error}") from error


def read_references(
    source: str | Path, config: str = "retrieval", *, fixtures: str | Path | None = None
) -> list[Row]:
    """Reference rows of ``native``, ``official``, a corpus directory or a file.

    Args:
        source: A corpus as ``load_corpus`` takes it, or a file as :func:`read_rows` does.
        config: ``retrieval`` or ``sessions``; a file holds one of them already.
        fixtures: Directory of upstream's fixtures, for ``official``.

    Raises:
        UnknownNameError: If there is no such config.
        PredictionError: If the file can't be read.
        CorpusError: If the corpus can't be loaded.
    """
    if config not in CONFIGS:
        raise UnknownNameError(f"no config {config!r}; choose one of: {', '.join(CONFIGS)}")
    if str(source) not in _CORPORA and Path(source).is_file():
        return read_rows(source)
    from .corpus import load_corpus
    from .dataset_rows import rows

    return rows(load_corpus(source, fixtures=fixtures), config)


def _read_json(path: Path) -> list[Row]:
    text = path.read_text(encoding="utf-8-sig")
    if not text.strip():
        raise PredictionError(f"{path} is empty; it must hold a list of rows")
    value = _parse(text, str(path))
    if isinstance(value, dict) and "provider" in value and ("cases" in value or "session" in value):
        raise PredictionError(
            f"{path} is a report, not a list of predictions; see `pmb show` and `pmb rescore`"
        )
    if not isinstance(value, list):
        raise PredictionError(f"{path} must hold a list of rows, not {_kind(value)}")
    return [_row(item, f"{path} row {number}") for number, item in enumerate(value, 1)]


def _read_lines(path: Path) -> list[Row]:
    lines = path.read_text(encoding="utf-8-sig").split("\n")
    return [
        _row(_parse(line, where), where)
        for number, line in enumerate(lines, 1)
        if line.strip()
        for where in (f"{path} line {number}",)
    ]


def _read_parquet(path: Path) -> list[Row]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError(
            f"reading {path} needs pyarrow ({error}): pip install pyarrow"
        ) from error
    try:
        with path.open("rb") as file:
            rows: list[Row] = pyarrow.parquet.ParquetFile(file).read().to_pylist()
    except pyarrow.ArrowException as error:
        raise PredictionError(f"{path} is no Parquet file that can be read: {error}") from error
    return [PlacedRow(row, f"{path} row {number}") for number, row in enumerate(rows, 1)]


_READERS: Mapping[str, Callable[[Path], list[Row]]] = {
    ".json": _read_json,
    ".jsonl": _read_lines,
    ".parquet": _read_parquet,
}


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise PredictionError(f"{where} is no valid JSON: {what_is_wrong(error)}") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value; use null")


def _row(value: Any, where: str) -> Row:
    if not isinstance(value, dict):
        raise PredictionError(f"{where} must be an object with named fields, not {_kind(value)}")
    return PlacedRow(value, where)


def _kind(value: Any) -> str:
    names = {list: "a list", dict: "an object", str: "a string", type(None): "null"}
    return names.get(type(value), "a number or boolean")
