"""BM25 by SQLite's FTS5, from the standard library.

Texts are folded (case, diacritics) and reduced to stems by FTS5's ``porter
unicode61`` tokenizer. Definition of the score: https://sqlite.org/fts5.html,
section "The bm25() function"; it is negated here, so higher is better.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..errors import InputError, MissingDependencyError, ProviderError
from .engine import EngineOptions, LexicalStore, Request
from .store import (
    Memory,
    engine_text,
    exact_term,
    from_json,
    is_active,
    scopes_of,
    to_json,
)

_TABLES = ("pmb_text", "pmb_memory", "pmb_scope")

_SCHEMA = """
CREATE VIRTUAL TABLE IF NOT EXISTS pmb_text
    USING fts5(body, tokenize = 'porter unicode61');
CREATE TABLE IF NOT EXISTS pmb_memory (
    key INTEGER PRIMARY KEY, owner TEXT NOT NULL, active INTEGER NOT NULL, record TEXT
);
CREATE TABLE IF NOT EXISTS pmb_scope (
    key INTEGER NOT NULL, scope TEXT NOT NULL, PRIMARY KEY (key, scope)
) WITHOUT ROWID;
"""

_IN_SCOPE = """
    AND EXISTS (SELECT 1 FROM pmb_scope s WHERE s.key = m.key
                AND s.scope IN (SELECT value FROM json_each(:scopes)))
"""

_ACTIVE = " AND m.active = 1"

_SEARCH = """
SELECT m.key, -bm25(pmb_text) AS score
FROM pmb_text JOIN pmb_memory m ON m.key = pmb_text.rowid
WHERE pmb_text MATCH :terms AND m.owner = :owner {filters}
ORDER BY score DESC, m.key LIMIT :limit
"""

# A word as FTS5 sees it, but for the underscore, which it takes for a blank.
_WORD = re.compile(r"[^\W_]+")


def match_expression(query: str) -> str:
    """Return a query as an FTS5 expression: its words, quoted, joined by OR.

    Each word counts once. Nothing in the query is read as an operator. The
    expression is empty if the query has no word.
    """
    words = dict.fromkeys(_WORD.findall(query.lower()))
    return " OR ".join(f'"{word}"' for word in words)


class Fts5Provider(LexicalStore):
    """SQLite FTS5 in memory, or in the file ``path``.

    A file keeps its memories: the next provider on it starts with them. The
    statistics behind the score are those of all users together.
    """

    version = f"sqlite {sqlite3.sqlite_version}"

    def __init__(
        self,
        *,
        path: str | None = None,
        top_k: int | None = None,
        min_score: float | None = None,
        scope_filter: bool = True,
        active_filter: bool = False,
    ) -> None:
        """Open the store.

        Raises:
            InputError: An option is out of range, or ``path`` can't be used.
            MissingDependencyError: This SQLite was built without FTS5.
        """
        super().__init__(EngineOptions(path, top_k, min_score, scope_filter, active_filter))
        self._db = self._open(path)

    def _open(self, path: str | None) -> sqlite3.Connection:
        try:
            db = sqlite3.connect(
                ":memory:" if path is None else path,
                isolation_level=None,
                check_same_thread=False,
            )
            db.executescript(_SCHEMA)
            if path is not None:
                for key, record in db.execute("SELECT key, record FROM pmb_memory ORDER BY key"):
                    self._book.restore(from_json(key, record))
        except (sqlite3.Error, ValueError, TypeError) as error:
            if "no such module" in str(error):
                raise MissingDependencyError(
                    "this Python's SQLite was built without FTS5: use the provider "
                    "bm25, or a Python whose SQLite has FTS5."
                ) from error
            raise InputError(
                f"option path: {path!r} can't be used as an FTS5 store ({error}). "
                "Name a file in an existing directory that is new or was written "
                "by this provider."
            ) from error
        return db

    def _clear(self) -> None:
        with self._transaction():
            # Dropping is much faster than deleting every row of an FTS5 table.
            for table in _TABLES:
                self._db.execute(f"DROP TABLE {table}")
            for statement in filter(str.strip, _SCHEMA.split(";")):
                self._db.execute(statement)

    def _apply(self, gone: set[int], fresh: Sequence[Memory]) -> None:
        keep = self._options.path is not None
        keys = [(key,) for key in gone]
        with self._transaction():
            self._db.executemany("DELETE FROM pmb_text WHERE rowid = ?", keys)
            self._db.executemany("DELETE FROM pmb_memory WHERE key = ?", keys)
            self._db.executemany("DELETE FROM pmb_scope WHERE key = ?", keys)
            self._db.executemany(
                "INSERT INTO pmb_text (rowid, body) VALUES (?, ?)",
                ((memory.key, engine_text(memory.text)) for memory in fresh),
            )
            self._db.executemany(
                "INSERT INTO pmb_memory VALUES (?, ?, ?, ?)",
                (
                    (
                        memory.key,
                        exact_term(memory.user_id),
                        is_active(memory.metadata),
                        to_json(memory.row) if keep else None,
                    )
                    for memory in fresh
                ),
            )
            self._db.executemany(
                "INSERT OR IGNORE INTO pmb_scope VALUES (?, ?)",
                (
                    (memory.key, exact_term(scope))
                    for memory in fresh
                    for scope in scopes_of(memory.metadata)
                ),
            )

    def _rank(self, request: Request) -> list[tuple[int, float]]:
        terms = match_expression(request.query)
        if not terms:
            return []
        filters = _ACTIVE if request.active_only else ""
        scopes = [exact_term(scope) for scope in request.scopes or ()]
        if request.scopes is not None:
            filters += _IN_SCOPE
        try:
            return self._db.execute(
                _SEARCH.format(filters=filters),
                {
                    "terms": terms,
                    "owner": exact_term(request.user_id),
                    "scopes": json.dumps(scopes),
                    "limit": request.limit,
                },
            ).fetchall()
        except sqlite3.Error as error:
            raise ProviderError(f"SQLite can't search: {error}.") from error

    def _close(self) -> None:
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._db.execute("BEGIN")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise ProviderError(f"SQLite can't write: {error}.") from error
