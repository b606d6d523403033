"""The vector store and its index: what is their own. The contract is in test_providers.py."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedding_kit import embedding_service, write_onnx
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.errors import InputError, ProviderError
from pmb_hf.providers.engine import Request
from pmb_hf.providers.protocol import AddRow
from pmb_hf.providers.store import Memory
from pmb_hf.providers.vector import VectorProvider
from pmb_hf.providers.vector_index import VectorIndex

SEA, LAND = "domain:sea", "domain:land"


def row(belief_id: str, text: str, user_id: str = "u", scope: str = SEA, **metadata: Any) -> AddRow:
    return AddRow(
        belief_id=belief_id,
        user_id=user_id,
        text=text,
        aliases=(),
        metadata={"scope": [scope], **metadata},
    )


ROWS = (
    row("b-boat", "The wooden dinghy is varnished every spring"),
    row("b-tide", "Checks when high water is before sailing"),
    row("b-bread", "Bakes rye bread", scope=LAND),
    row("b-old", "Sails on Fridays", supersededBy="b-new"),
)


def find(
    provider: VectorProvider, query: str, scopes: tuple[str, ...] = (SEA,), limit: int = 9
) -> dict[str | None, float | None]:
    hits = provider.search(query=query, user_id="u", scopes=scopes, limit=limit)
    return {hit.id: hit.score for hit in hits}


def test_meaning_without_a_shared_word() -> None:
    provider = VectorProvider()
    provider.add_many(ROWS)
    assert next(iter(find(provider, "maintenance of the wood of the vessel"))) == "b-boat"
    assert next(iter(find(provider, "loaves of sourdough", scopes=(SEA, LAND)))) == "b-bread"


def test_score_is_the_cosine(tmp_path: Path) -> None:
    write_onnx(tmp_path)
    provider = VectorProvider(embedder=f"onnx:{tmp_path}")
    provider.add_many([row("b-1", "glaze"), row("b-2", "glaze bees"), row("b-3", "honey")])
    assert find(provider, "glaze") == {"b-1": 1.0, "b-2": 0.707107, "b-3": 0.0}
    assert provider.options["embedder"] == f"onnx:{tmp_path}"


def test_filters() -> None:
    provider = VectorProvider()
    provider.add_many([*ROWS, row("b-other", "dinghy", user_id="v")])
    assert set(find(provider, "dinghy")) == {"b-boat", "b-tide", "b-old"}
    assert set(find(provider, "dinghy", scopes=(LAND,))) == {"b-bread"}
    assert set(find(provider, "dinghy", scopes=(LAND, SEA))) == {row["belief_id"] for row in ROWS}
    assert find(provider, "dinghy", scopes=()) == {}
    anywhere = VectorProvider(scope_filter=False, active_filter=True)
    anywhere.add_many(ROWS)
    assert set(find(anywhere, "dinghy", scopes=())) == {"b-boat", "b-tide", "b-bread"}
    anywhere.update(**row("b-tide", "Sold the boat", resolvedAt="2026-01-01T00:00:00Z"))
    assert set(find(anywhere, "dinghy", scopes=())) == {"b-boat", "b-bread"}


def test_a_query_of_blanks_finds_nothing() -> None:
    provider = VectorProvider()
    provider.add_many(ROWS)
    assert find(provider, "  ") == {}
    provider.add(**row("b-blank", " "))
    assert find(provider, "dinghy")["b-blank"] == 0.0


def test_nothing_changes_when_the_embedder_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMB_VECTOR_CACHE", "off")
    with embedding_service() as service:
        provider = VectorProvider(embedder="ollama:tiny", base_url=service.url)
        provider.add_many(ROWS[:2])
        before = find(provider, "sail")
        service.statuses = [400]
        provider.delete(belief_id="b-tide", user_id="u")
        provider.add(**row("b-late", "Ropes are coiled"))
        with pytest.raises(ProviderError, match="400"):
            find(provider, "sail")
        after = find(provider, "sail")
        assert set(before) == {"b-boat", "b-tide"}
        assert set(after) == {"b-boat", "b-late"}
        assert provider.options["base_url"] == service.url
        provider.close()


def test_file_belongs_to_its_embedder(tmp_path: Path) -> None:
    write_onnx(tmp_path / "m")
    path = str(tmp_path / "store")
    VectorProvider(path=path).close()
    with pytest.raises(InputError, match=r"holds vectors of 'wordllama .*', not of 'onnx "):
        VectorProvider(path=path, embedder=f"onnx:{tmp_path / 'm'}")


def test_path_that_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be used as a store of vectors"):
        VectorProvider(path=str(tmp_path))
    (tmp_path / "text").write_text("no database at all, but long enough " * 50, encoding="utf-8")
    with pytest.raises(InputError, match="can't be used as a store of vectors"):
        VectorProvider(path=str(tmp_path / "text"))
    path = str(tmp_path / "damaged")
    provider = VectorProvider(path=path)
    provider.add_many(ROWS)
    provider.close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE memory SET vector = x'00' WHERE key = 1")
    with pytest.raises(InputError, match="can't be used as a store of vectors"):
        VectorProvider(path=path)


def test_versions_are_told() -> None:
    assert VectorProvider().version.startswith("numpy ")
    assert "wordllama 0." in VectorProvider().version


# --- the index --------------------------------------------------------------------------------

KEYS = st.integers(0, 12)
STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "remove"]), st.lists(KEYS, unique=True, max_size=6)),
    max_size=12,
)


def memory(key: int) -> Memory:
    scope = [SEA] if key % 2 else [LAND, SEA] if key % 3 else [LAND]
    metadata = {"scope": scope, **({"resolvedAt": "2026"} if key % 5 == 0 else {})}
    return Memory(key, f"b{key}", "u" if key % 7 else "v", "", (), metadata)


@given(
    steps=STEPS, limit=st.integers(1, 15), active=st.booleans(), asked=st.sampled_from([SEA, None])
)
def test_index_ranks_like_a_loop(
    steps: list[tuple[str, list[int]]], limit: int, active: bool, asked: str | None
) -> None:
    dice = np.random.default_rng(5)
    table = dice.integers(-2, 3, (13, 4)).astype(np.float32)  # small whole numbers: many ties
    index, held = VectorIndex(), set()
    for verb, keys in steps:
        if verb == "remove":
            index.remove(keys)
            held -= set(keys)
        elif keys:
            index.put([memory(key) for key in keys], table[keys])
            held |= set(keys)
    vector = np.array([1, -1, 2, 0], dtype=np.float32)
    scopes = None if asked is None else (asked,)
    request = Request("q", "u", scopes, active, limit)
    seen = [
        key
        for key in held
        if memory(key).user_id == "u"
        and (asked is None or asked in memory(key).metadata["scope"])
        and not (active and "resolvedAt" in memory(key).metadata)
    ]
    expected = sorted((-float(table[key] @ vector), key) for key in seen)[:limit]
    assert index.nearest(vector, request) == [(key, -score + 0.0) for score, key in expected]


def test_index_grows_by_chunks() -> None:
    index = VectorIndex()
    dice = np.random.default_rng(7)
    table = dice.normal(size=(5000, 8)).astype(np.float32)
    sizes = []
    for start in range(0, 5000, 50):
        keys = range(start, start + 50)
        rows = [Memory.of(key, row(f"b{key}", "")) for key in keys]
        index.put(rows, table[start : start + 50])
        sizes.append(len(index._matrix))
    assert len(set(sizes)) <= 6
    best = index.nearest(table[4321], Request("q", "u", (SEA,), False, 1))
    assert best[0][0] == int(np.argmax(table @ table[4321]))
