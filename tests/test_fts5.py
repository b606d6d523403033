"""The SQLite store: what is its own. The contract is in test_providers.py."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.errors import InputError, ProviderError
from pmb_hf.providers.fts5 import Fts5Provider, match_expression
from pmb_hf.providers.protocol import AddRow

SCOPE = "domain:sea"


def row(belief_id: str, text: str) -> AddRow:
    metadata = {"scope": [SCOPE]}
    return AddRow(belief_id=belief_id, user_id="u", text=text, aliases=(), metadata=metadata)


def scores(provider: Fts5Provider, query: str) -> dict[str | None, float | None]:
    hits = provider.search(query=query, user_id="u", scopes=(SCOPE,), limit=20)
    return {hit.id: hit.score for hit in hits}


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("", ""),
        ("?! 🎉 _", ""),
        ("Gulls", '"gulls"'),
        ("gull's nest", '"gull" OR "s" OR "nest"'),
        ("gull GULL gull", '"gull"'),
        ('a "b" AND NEAR(c)', '"a" OR "b" OR "and" OR "near" OR "c"'),
        ("snake_case", '"snake" OR "case"'),
    ],
)
def test_match_expression(query: str, expression: str) -> None:
    assert match_expression(query) == expression


@given(st.text())
def test_quotes_in_an_expression_are_only_its_own(query: str) -> None:
    expression = match_expression(query)
    words = expression.split(" OR ") if expression else []
    assert expression.count('"') == 2 * len(words)


def test_score_is_the_negated_bm25_of_sqlite() -> None:
    texts = ["gull gull rock", "gull sand", "kelp sand wave foam", "wave", "foam"]
    provider = Fts5Provider()
    provider.add_many([row(str(i), text) for i, text in enumerate(texts)])
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize = 'porter unicode61')")
    db.executemany("INSERT INTO t (rowid, body) VALUES (?, ?)", enumerate(texts))
    expected = {
        str(key): -score
        for key, score in db.execute("SELECT rowid, bm25(t) FROM t WHERE t MATCH 'gull OR sand'")
    }
    db.close()
    assert scores(provider, "gulls, sand?") == expected


def test_thousands_of_words() -> None:
    provider = Fts5Provider()
    provider.add(**row("b-1", "word4999"))
    assert list(scores(provider, " ".join(f"word{i}" for i in range(5000)))) == ["b-1"]


def test_diacritics_are_folded() -> None:
    provider = Fts5Provider()
    provider.add(**row("b-1", "Blåmusslor på klippan"))
    assert list(scores(provider, "blamusslor")) == ["b-1"]


def test_version_names_the_engine() -> None:
    assert Fts5Provider.version == f"sqlite {sqlite3.sqlite_version}"


def test_threads_may_share_a_store() -> None:
    provider = Fts5Provider()
    errors: list[BaseException] = []

    def work(part: int) -> None:
        try:
            for i in range(20):
                provider.add(**row(f"b-{part}-{i}", "gull"))
                scores(provider, "gull")
        except BaseException as error:  # noqa: BLE001  reported below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(provider.search(query="gull", user_id="u", scopes=(SCOPE,), limit=100)) == 80


def test_path_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"option path: .*nowhere.* can't be used"):
        Fts5Provider(path=str(tmp_path / "nowhere" / "file.db"))
    file = tmp_path / "text.db"
    file.write_text("this is no database, but long enough to be read as one " * 30)
    with pytest.raises(InputError, match=r"text\.db' can't be used as an FTS5 store"):
        Fts5Provider(path=str(file))


def test_locked_file_fails_and_keeps_the_batch(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    provider = Fts5Provider(path=str(path))
    provider._db.execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    provider.add(**row("b-1", "gull"))
    with pytest.raises(ProviderError, match=r"SQLite can't write: .*locked"):
        scores(provider, "gull")
    other.execute("ROLLBACK")
    other.close()
    assert list(scores(provider, "gull")) == ["b-1"]
