"""Parquet data sets: a file, a directory or an ``hf://`` address, read in batches.

A set is cut into pieces (row groups of one file), so that several processes can share the
work. Columns that the path holds (``provider=bm25/part.parquet``) are columns like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar

from .errors import InputError, MissingDependencyError, PmbError, PredictionError
from .files import check_source

T = TypeVar("T")
HUB = "hf://"
BATCH_ROWS = 4096
"""Rows in memory at a time, and at most in a piece's last batch."""

_PIECE_ROWS = 20_000
"""About half a second of scoring: at the end, workers wait for each other no longer."""


@dataclass(frozen=True)
class Source:
    """Where rows are.

    Attributes:
        path: A file, a directory, or ``hf://datasets/ORG/NAME/PATH``.
        where: Only rows with these values, by column; values are compared as text.
    """

    path: str
    where: Mapping[str, str]


class Piece(NamedTuple):
    """Row groups of one file of a set.

    Attributes:
        path: The file.
        rows: How many rows the file has in all, to notice that it was changed.
        row_groups: Their numbers.
        stamp: Size and time of the file, for the same; None where it is not a local one.
    """

    path: str
    rows: int
    row_groups: tuple[int, ...]
    stamp: tuple[int, int] | None


class Batch(NamedTuple):
    """Some rows of one file.

    Attributes:
        path: The file.
        numbers: The rows' places in it, from 1.
        data: The rows as an Arrow record batch.
        rows: The same as mappings.
    """

    path: str
    numbers: Sequence[int]
    data: Any
    rows: list[dict[str, Any]]


class ParquetSet:
    """An open data set.

    Raises:
        PredictionError: If there is no such set, or it can't be read.
        HubError: If it is on the Hub, and the Hub refuses or does not answer.
        MissingDependencyError: If pyarrow is not installed.
    """

    def __init__(self, source: Source) -> None:
        """List the set's files and read the schema of the first."""
        self.source = source
        try:
            import pyarrow
            from pyarrow import dataset
        except ImportError as error:
            raise MissingDependencyError(
                f"reading {source.path} needs pyarrow ({error}): pip install pyarrow"
            ) from error
        self._of_file = pyarrow.ArrowException
        self._failed: tuple[type[Exception], ...] = (pyarrow.ArrowException, OSError, ValueError)
        if source.path.startswith(HUB):
            self._failed = (Exception,)  # the library trips over an odd answer anyhow
        path, filesystem = _place(source.path)

        def find() -> Any:
            options = {"format": "parquet", "filesystem": filesystem}
            plain = dataset.dataset(path, **options)
            # As text: "01" and "1" are two values.
            of_path = pyarrow.schema([(key, pyarrow.string()) for key in _keys(plain.files, path)])
            parts = dataset.partitioning(of_path, flavor="hive") if of_path.names else None
            found = dataset.dataset(path, partitioning=parts, **options) if parts else plain
            self._fragments = {f.path: f for f in sorted(found.get_fragments(), key=_path)}
            self._stamps = {path: self._stamp(path) for path in self._fragments}
            return found

        found = self._try(f"{source.path} is no set of Parquet files", find)
        if not self._fragments:
            raise PredictionError(f"{source.path} holds no Parquet file")
        self.schema = self._schema(pyarrow, found.schema)
        unknown = [name for name in source.where if name not in self.columns]
        if unknown:
            raise PredictionError(
                f"{source.path} has no column {unknown[0]!r}; it has: {', '.join(self.columns)}"
            )

    def _schema(self, pyarrow: Any, first: Any) -> Any:
        """One schema of all files: every column, in a type that holds all of its values."""
        schema: Any = None

        def join(fragment: Any) -> Any:
            own = fragment.physical_schema.remove_metadata()
            both = [own] if schema is None else [schema, own]
            return pyarrow.unify_schemas(both, promote_options="permissive")

        for path, fragment in self._fragments.items():
            said = f"{path} can't be read together with the files before it"
            schema = self._try(said, partial(join, fragment))
        own = set(schema.names)
        of_path = [found for found in first if found.name not in own]
        return pyarrow.schema([*schema, *of_path])

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def pieces(self) -> list[Piece]:
        """The whole set, in order, in pieces of about 20,000 rows."""
        pieces = []
        for whole in self.whole_files():
            groups: list[int] = []
            rows = 0
            for group in self._row_groups(whole.path):
                groups.append(group.id)
                rows += group.num_rows
                if rows >= _PIECE_ROWS:
                    pieces.append(whole._replace(row_groups=tuple(groups)))
                    groups, rows = [], 0
            if groups:
                pieces.append(whole._replace(row_groups=tuple(groups)))
        return pieces

    def whole_files(self) -> list[Piece]:
        """Each file with all its row groups."""
        pieces = []
        for path in self._fragments:
            groups = self._row_groups(path)
            rows = sum(group.num_rows for group in groups)
            ids = tuple(group.id for group in groups)
            pieces.append(Piece(path, rows, ids, self._stamps[path]))
        return pieces

    def below(self, piece: Piece) -> str:
        """A file's path below the set's; its name if it is the set."""
        root, path = PurePosixPath(_local(self.source.path)), PurePosixPath(piece.path)
        return path.name if path == root else str(path.relative_to(root))

    def own_schema(self, piece: Piece) -> Any:
        """The columns that are in the file itself, not in its path, and their types there."""
        return self._fragment(piece).physical_schema.remove_metadata()

    def batches(self, piece: Piece, columns: Sequence[str] | None) -> Iterator[Batch]:
        """The rows of a piece with those of the columns that there are; None for all.

        Raises:
            PredictionError: If the file is damaged or was written to meanwhile.
        """
        fragment = self._fragment(piece)
        first = min(piece.row_groups, default=0)
        before = sum(g.num_rows for g in self._row_groups(piece.path) if g.id < first)
        named = self.columns if columns is None else {*columns, *self.source.where}
        wanted = [name for name in self.columns if name in named]

        def read() -> Iterator[Batch]:
            from pyarrow.dataset import ParquetFragmentScanOptions

            # Reading ahead on Arrow's threads waits for good if none of them can be started. On
            # the Hub it saves requests.
            options = ParquetFragmentScanOptions(pre_buffer=self.source.path.startswith(HUB))
            done = before
            for batch in fragment.subset(row_group_ids=list(piece.row_groups)).to_batches(
                schema=self.schema,
                columns=wanted,
                batch_size=BATCH_ROWS,
                batch_readahead=1,
                fragment_readahead=0,
                use_threads=False,
                fragment_scan_options=options,
            ):
                numbers = range(done + 1, done + 1 + batch.num_rows)
                done += batch.num_rows
                yield self._batch(fragment.path, numbers, batch)

        found = read()
        following = partial(next, found, None)
        try:
            while (batch := self._try(f"{fragment.path} can't be read", following)) is not None:
                yield batch
        except PredictionError:
            self._check(piece)  # a file that is written to is not damaged
            raise
        self._check(piece)

    def values(self, column: str, limit: int = 8) -> list[str]:
        """The values of a column as they are written on a command line, sorted; "…" for more."""
        found: set[str] = set()
        everything = ParquetSet(Source(self.source.path, {}))
        for piece in everything.whole_files():
            for batch in everything.batches(piece, [column]):
                found.update(as_text(row[column]) for row in batch.rows)
        return [*sorted(found)[:limit], *(["…"] if len(found) > limit else [])]

    def _batch(self, path: str, numbers: Sequence[int], data: Any) -> Batch:
        where, rows = self.source.where, data.to_pylist()
        if not where:
            return Batch(path, numbers, data, rows)
        kept = [
            place
            for place, row in enumerate(rows)
            if all(as_text(row[name]) == value for name, value in where.items())
        ]
        numbers, rows = [numbers[place] for place in kept], [rows[place] for place in kept]
        return Batch(path, numbers, data.take(kept) if kept else data.slice(0, 0), rows)

    def _row_groups(self, path: str) -> Sequence[Any]:
        return self._try(f"{path} can't be read", lambda: list(self._fragments[path].row_groups))

    def _try(self, said: str, do: Callable[[], T]) -> T:
        """What ``do`` returns; what it raises becomes an error that begins with ``said``."""
        failure: PmbError
        try:
            return do()
        except self._failed as error:
            if isinstance(error, PmbError):
                raise
            if self.source.path.startswith(HUB):
                from .hub.sets import reading_failure

                of_file = isinstance(error, self._of_file)
                failure = reading_failure(self.source.path, said, error, of_file=of_file)
            else:
                failure = PredictionError(f"{said}: {error}")
                failure.__cause__ = error
        # Not within: an error of the Hub holds the request, and that the token.
        raise failure

    def _fragment(self, piece: Piece) -> Any:
        """The file, if it is as it was when the set was cut into pieces."""
        found = self._fragments.get(piece.path)
        rows = None if found is None else sum(g.num_rows for g in self._row_groups(piece.path))
        self._check(piece, same=rows == piece.rows)
        return found

    def _check(self, piece: Piece, *, same: bool = True) -> None:
        if not same or self._stamp(piece.path) != piece.stamp:
            raise PredictionError(f"{piece.path} was changed while the set was read; start again")

    def _stamp(self, path: str) -> tuple[int, int] | None:
        """What tells that a file was written to."""
        if self.source.path.startswith(HUB):
            return None
        try:
            found = Path(path).stat()
        except OSError:
            return None  # it is gone, which is a change
        return found.st_size, found.st_mtime_ns


def _keys(files: Sequence[str], root: str) -> list[str]:
    """The columns in the paths of files, as in ``provider=bm25/part.parquet``."""
    folders = [folder for file in files for folder in file.removeprefix(root).split("/")[:-1]]
    return list(dict.fromkeys(f.partition("=")[0] for f in folders if "=" in f))


def _path(fragment: Any) -> str:
    return str(fragment.path)


def as_text(value: object) -> str:
    """A cell as it is written on a command line."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_set(path: str) -> bool:
    """Whether rows of this name are read as a set: a directory or an ``hf://`` address."""
    return path.startswith(HUB) or Path(path).is_dir()


def _local(path: str) -> str:
    return path.removeprefix(HUB).rstrip("/")


def _check(path: Path) -> None:
    try:
        check_source(path)
    except InputError as error:
        raise PredictionError(str(error)) from error


def _place(path: str) -> tuple[str, Any]:
    if not path.startswith(HUB):
        if Path(path).exists():
            _check(Path(path))
        return path, None
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    from .hub.sets import file_system

    return _local(path), PyFileSystem(FSSpecHandler(file_system()))
