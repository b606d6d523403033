"""Memories with their vectors in one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InputError, ProviderError
from .store import Memory, from_json, to_json

if TYPE_CHECKING:
    from .embedding.source import Vectors

_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory (
    key INTEGER PRIMARY KEY, record TEXT NOT NULL, vector BLOB NOT NULL
);
"""


class Kept(NamedTuple):
    """What a file holds, the oldest first: as many vectors as memories."""

    memories: list[Memory]
    vectors: Vectors


class VectorFile:
    """One file, written by one embedder."""

    def __init__(self, path: str, identity: str) -> None:
        """Open or make the file.

        Raises:
            InputError: It can't be used, or another embedder wrote it.
        """
        self._path = path
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.executescript(_SCHEMA)
            self._db.execute("INSERT OR IGNORE INTO about VALUES ('embedder', ?)", (identity,))
            found = self._db.execute("SELECT value FROM about WHERE key = 'embedder'").fetchone()
        except sqlite3.Error as error:
            raise _unusable(path, error) from error
        if found[0] != identity:
            self._db.close()
            raise InputError(
                f"option path: {path!r} holds vectors of {found[0]!r}, not of {identity!r}. "
                "Use that embedder, or name a new file."
            )

    def read(self) -> Kept:
        """All memories with their vectors.

        Raises:
            InputError: The file is damaged.
        """
        import numpy as np

        try:
            rows = self._db.execute(
                "SELECT key, record, vector FROM memory ORDER BY key"
            ).fetchall()
            memories = [from_json(key, record) for key, record, _ in rows]
            flat = np.frombuffer(b"".join(vector for _, _, vector in rows), dtype="<f4")
            vectors = flat.reshape(len(rows), -1) if rows else flat.reshape(0, 0)
        except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
            raise _unusable(self._path, error) from error
        return Kept(memories, vectors)

    def clear(self) -> None:
        """Forget all memories; the embedder stays.

        Raises:
            ProviderError: The file can't be written.
        """
        self.write(None, (), None)

    def write(
        self, gone: Iterable[int] | None, fresh: Sequence[Memory], vectors: Vectors | None
    ) -> None:
        """Remove the keys in ``gone`` (all if None), then write, in one transaction.

        Raises:
            ProviderError: The file can't be written.
        """
        rows = zip(fresh, [] if vectors is None else vectors, strict=True)
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                if gone is None:
                    self._db.execute("DELETE FROM memory")
                else:
                    keys = ((key,) for key in gone)
                    self._db.executemany("DELETE FROM memory WHERE key = ?", keys)
                self._db.executemany(
                    "INSERT OR REPLACE INTO memory VALUES (?, ?, ?)",
                    ((m.key, to_json(m.row), v.astype("<f4").tobytes()) for m, v in rows),
                )
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise ProviderError(f"SQLite can't write {self._path!r}: {error}.") from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _unusable(path: str, error: Exception) -> InputError:
    return InputError(
        f"option path: {path!r} can't be used as a store of vectors ({error}). Name a file in "
        "an existing directory that is new or was written by this provider."
    )
