"""Vectors that outlive the process: one SQLite file an embedder, by the hash of the text.

Several processes may use one file at once. The cache never fails a run: if the
file can't be used, a warning says so and vectors are computed.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .source import Vectors

SWITCH_ENV = "PMB_VECTOR_CACHE"
"""Set to off, no, false or 0, nothing is kept on disk."""

_OFF = frozenset({"off", "no", "false", "0"})
_WAIT_S = 30.0
_PAGE = 500  # parameters of one statement; SQLite takes 999 at least

_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
"""


def switched_on() -> bool:
    """Tell whether the environment allows a cache."""
    return os.environ.get(SWITCH_ENV, "").strip().lower() not in _OFF


def file_for(identity: str, directory: str | None = None) -> Path:
    """Where the vectors of an embedder are kept.

    ``directory`` is ``vectors`` in the user's cache (or in $PMB_HF_CACHE) if None.
    """
    if directory is None:
        from ...official import cache_root

        home = cache_root() / "vectors"
    else:
        home = Path(directory).expanduser()
    return home / f"{hashlib.sha256(identity.encode()).hexdigest()[:24]}.sqlite"


class VectorCache:
    """Vectors of one embedder by text.

    Attributes:
        path: The file.
        dimensions: How many numbers a vector has; None if nothing is kept yet.
    """

    def __init__(self, path: Path, identity: str) -> None:
        """Open or make the file; ``identity`` is written into it for its reader."""
        self.path = path
        self.dimensions: int | None = None
        self._identity = identity
        self._db: sqlite3.Connection | None = None
        self._usable = True
        self._lock = threading.Lock()
        with self._lock, self._guarded():
            found = self._open().execute("SELECT value FROM about WHERE key = 'dimensions'")
            row = found.fetchone()
            self.dimensions = int(row[0]) if row else None

    def read(self, texts: Sequence[str], dimensions: int | None) -> dict[str, Vectors]:
        """The vectors that are kept, by text; those of another length are left out."""
        import numpy as np

        known: dict[str, Vectors] = {}
        by_digest = {_digest(text): text for text in texts}
        digests = list(by_digest)
        with self._lock, self._guarded():
            for start in range(0, len(digests), _PAGE):
                page = digests[start : start + _PAGE]
                marks = ",".join("?" * len(page))
                select = "SELECT digest, vector FROM vectors WHERE digest IN"
                for digest, blob in self._open().execute(f"{select} ({marks})", page):
                    if dimensions is not None and len(blob) == 4 * dimensions:
                        known[by_digest[digest]] = np.frombuffer(blob, dtype="<f4")
        return known

    def write(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Keep vectors; what another process wrote meanwhile stays."""
        rows = [
            (_digest(text), vector.astype("<f4").tobytes())
            for text, vector in zip(texts, vectors, strict=True)
        ]
        with self._lock, self._guarded():
            db = self._open()
            with db:
                about = {"embedder": self._identity, "dimensions": str(vectors.shape[1])}
                db.executemany("INSERT OR IGNORE INTO about VALUES (?, ?)", about.items())
                db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file; the next read or write opens it again."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _open(self) -> sqlite3.Connection:
        if not self._usable:
            raise _UnusableError
        if self._db is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=_WAIT_S, check_same_thread=False)
            self._db.executescript(_SCHEMA)
        return self._db

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Do nothing more after the first failure, and say so once."""
        try:
            yield
        except _UnusableError:
            return
        except (sqlite3.Error, OSError, ValueError) as error:
            self._usable = False
            warnings.warn(
                f"vectors can't be kept in {self.path} ({error}): they are computed each time. "
                "Delete the file, or name another directory.",
                RuntimeWarning,
                stacklevel=4,
            )


class _UnusableError(Exception):
    """The file is given up."""


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
