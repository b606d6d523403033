"""Reads a Parquet file of a stranger, who may have packed gigabytes into a kilobyte.

What a file says of its own size need not be true, so it is unpacked in a process of its own,
which may not take more memory or time than is set here. Needs no other module of the package:
the metric's page holds a copy, and this file is the program that the process runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

Row = dict[str, Any]

MOST_COLUMNS = 200
MOST_VALUES = 200_000
MOST_TEXT = 10_000_000
"""Bytes of all texts, unpacked."""
LONGEST_TEXT = 20_000
"""Bytes of one text."""
MOST_MEMORY = 1 << 30
"""Bytes that the process may have, its program (about 0.5 GB) included."""
MOST_SECONDS = 20

_MOST_UNPACKED = 50_000_000
_ROWS_AT_ONCE = 64
_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # others reserve more than they use
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class UnreadableError(ValueError):
    """The file is not read; the message says why, and names it without its folder."""


def read_parquet(path: Path, most_rows: int) -> list[Row]:
    """The rows of a Parquet file, if it holds no more than the limits above.

    Raises:
        UnreadableError: If it is none, or holds more; in a sentence.
    """
    command = [sys.executable, __file__, str(path), str(most_rows)]
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT},
            timeout=2 * MOST_SECONDS,
        )
        told = json.loads(done.stdout) if done.returncode == 0 else {}
    except (subprocess.TimeoutExpired, ValueError):
        told = {}
    if "rows" in told:
        rows: list[Row] = told["rows"]
        return rows
    why = told.get("refused", "takes too much memory or time to unpack")
    raise UnreadableError(f"{path.name} {why}")


def _unpack(path: str, most_rows: int) -> list[Row]:
    import pyarrow
    import pyarrow.parquet

    try:
        names = _texts_of(pyarrow.parquet.read_metadata(path), most_rows)
        try:
            # A text that is packed once is kept once, so that it can be measured.
            return _rows(path, names, most_rows)
        except pyarrow.ArrowNotImplementedError:
            return _rows(path, [], most_rows)
    except (pyarrow.ArrowMemoryError, MemoryError):
        raise
    except (pyarrow.ArrowException, OSError) as error:
        raise UnreadableError("is no Parquet file that can be read") from error


def _rows(path: str, as_dictionary: list[str], most_rows: int) -> list[Row]:
    import pyarrow.parquet

    rows: list[Row] = []
    values = size = 0
    with pyarrow.parquet.ParquetFile(path, read_dictionary=as_dictionary) as file:
        for batch in _batches(file):
            for column in batch.columns:
                found = _measured(column)
                values, size = values + found[0], size + found[1]
                _check_amount(values, size, found[2])
            rows += batch.to_pylist()
            if len(rows) > most_rows:
                raise UnreadableError(f"has more than {most_rows:,} rows")
    return rows


def _batches(file: Any) -> Iterator[Any]:
    """Few rows at a time; none of two groups, whose dictionaries would not fit together."""
    for group in range(file.num_row_groups):
        yield from file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], use_threads=False)


def _texts_of(found: Any, most_rows: int) -> list[str]:
    """The names of the columns of text, after a look at what the file says of itself."""
    if found.num_rows > most_rows:
        raise UnreadableError(f"has {found.num_rows:,} rows; at most {most_rows:,} are read here")
    if found.num_columns > MOST_COLUMNS:
        raise UnreadableError(f"has {found.num_columns:,} columns; at most {MOST_COLUMNS} are read")
    groups = [found.row_group(n) for n in range(found.num_row_groups)]
    unpacked = sum(group.total_byte_size for group in groups)
    if unpacked > _MOST_UNPACKED:
        raise UnreadableError(f"unpacks to {unpacked:,} bytes; it is too large")
    columns = [group.column(n) for group in groups for n in range(group.num_columns)]
    _check_amount(sum(column.num_values for column in columns), 0, 0)
    # Differences of texts can't be read as a dictionary.
    apart = {c.path_in_schema for c in columns if "DELTA_BYTE_ARRAY" in c.encodings}
    texts = {c.path_in_schema for c in columns if c.physical_type == "BYTE_ARRAY"}
    return sorted(texts - apart)


def _check_amount(values: int, size: int, longest: int) -> None:
    if values > MOST_VALUES:
        raise UnreadableError(f"holds more than {MOST_VALUES:,} values; it is too large")
    if longest > LONGEST_TEXT:
        raise UnreadableError(
            f"holds a text of {longest:,} bytes; at most {LONGEST_TEXT:,} are read"
        )
    if size > MOST_TEXT:
        raise UnreadableError(f"unpacks to more than {MOST_TEXT:,} bytes of text; it is too large")


def _measured(array: Any) -> tuple[int, int, int]:
    """How many values it holds, the bytes of their texts, and those of the longest."""
    import pyarrow.compute
    import pyarrow.types as of

    kind = array.type
    if of.is_dictionary(kind):
        lengths = pyarrow.compute.binary_length(array.dictionary).take(array.indices)
    elif of.is_string(kind) or of.is_large_string(kind) or of.is_binary(kind):
        lengths = pyarrow.compute.binary_length(array)
    elif of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind):
        values, size, longest = _measured(array.flatten())
        return len(array) + values, size, longest
    elif of.is_struct(kind):
        parts = [_measured(part) for part in array.flatten()]
        values, size = (sum(part[n] for part in parts) for n in (0, 1))
        return len(array) + values, size, max((part[2] for part in parts), default=0)
    elif of.is_map(kind) or of.is_nested(kind):
        raise UnreadableError(f"has a column of the type {kind}; give text, numbers and lists")
    else:
        return len(array), 0, 0
    totals = pyarrow.compute
    return len(array), totals.sum(lengths).as_py() or 0, totals.max(lengths).as_py() or 0


def _limit() -> None:
    """Have the system stop this process when it takes too much, where the system can."""
    try:
        import resource
    except ImportError:
        return
    for what, most in ((resource.RLIMIT_AS, MOST_MEMORY), (resource.RLIMIT_CPU, MOST_SECONDS)):
        with suppress(OSError, ValueError):
            resource.setrlimit(what, (most, most))
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _refuse(value: object) -> None:
    kind = type(value).__name__
    raise UnreadableError(f"holds a value of the type {kind}; give text, numbers and lists")


def main(path: str, most_rows: str) -> None:
    """The program of the process: writes ``{"rows": …}`` or ``{"refused": …}``."""
    _limit()
    try:
        told = json.dumps({"rows": _unpack(path, int(most_rows))}, default=_refuse)
    except UnreadableError as error:
        told = json.dumps({"refused": str(error)})
    except ImportError:
        told = json.dumps({"refused": "is Parquet, which can't be read here; give JSON"})
    sys.stdout.write(told)


if __name__ == "__main__":
    # What lies beside this file has names that are nothing to the libraries.
    sys.path[:] = [place for place in sys.path if place != str(Path(__file__).parent)]
    main(*sys.argv[1:])
