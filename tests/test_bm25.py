"""The tantivy store: what is its own. The contract is in test_providers.py."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pmb_hf.errors import InputError, ProviderError
from pmb_hf.providers import tantivy_store
from pmb_hf.providers.bm25 import Bm25Provider
from pmb_hf.providers.protocol import AddRow

SCOPE = "domain:sea"


def row(belief_id: str, text: str) -> AddRow:
    metadata = {"scope": [SCOPE]}
    return AddRow(belief_id=belief_id, user_id="u", text=text, aliases=(), metadata=metadata)


def scores(provider: Bm25Provider, query: str, limit: int = 20) -> dict[str | None, float | None]:
    hits = provider.search(query=query, user_id="u", scopes=(SCOPE,), limit=limit)
    return {hit.id: hit.score for hit in hits}


def test_score_is_bm25() -> None:
    provider = Bm25Provider()
    texts = {"b-1": "gull gull rock", "b-2": "gull sand", "b-3": "kelp sand wave foam"}
    provider.add_many([row(name, text) for name, text in texts.items()])
    mean_length, n = 9 / 3, 3
    idf = math.log(1 + (n - 2 + 0.5) / (2 + 0.5))
    for name, tf, length in (("b-1", 2, 3), ("b-2", 1, 2)):
        expected = idf * 2.2 * tf / (tf + 1.2 * (0.25 + 0.75 * length / mean_length))
        assert scores(provider, "gulls")[name] == pytest.approx(expected, abs=1e-4)


def test_filters_add_nothing_to_the_score() -> None:
    plain = Bm25Provider(scope_filter=False)
    filtered = Bm25Provider(active_filter=True)
    for provider in (plain, filtered):
        provider.add_many([row("b-1", "gull"), row("b-2", "gull kelp")])
    assert scores(plain, "gull kelp") == scores(filtered, "gull kelp")


def test_version_names_the_engine() -> None:
    assert Bm25Provider.version.startswith("tantivy 0.")


def test_repeated_words_of_a_query_count_once() -> None:
    provider = Bm25Provider()
    provider.add_many([row("b-1", "gull"), row("b-2", "kelp")])
    assert scores(provider, "gull gulls GULL") == scores(provider, "gull")


def test_large_stores_replace_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tantivy_store, "REBUILD_LIMIT", 0)
    provider = Bm25Provider()
    provider.add_many([row(f"b-{i}", f"gull number {i}") for i in range(50)])
    provider.update(**row("b-3", "kelp"))
    provider.delete(belief_id="b-4", user_id="u")
    found = scores(provider, "gull", limit=100)
    assert len(found) == 48
    assert not {"b-3", "b-4"} & set(found)
    assert list(scores(provider, "kelp")) == ["b-3"]


def test_equal_scores_across_many_segments_when_replaced_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tantivy_store, "REBUILD_LIMIT", 0)
    provider = Bm25Provider()
    names = [f"b-{i}" for i in range(30)]
    for name in names:
        provider.add_many([row(name, "gull over kelp")])
    for name in names[:10]:
        provider.update(**row(name, "gull over kelp"))
    assert list(scores(provider, "kelp gull", limit=5)) == names[:5]


def test_path_errors(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a directory", encoding="utf-8")
    with pytest.raises(InputError, match=r"option path: .*file' can't be used as a tantivy index"):
        Bm25Provider(path=str(file))


def test_foreign_index_is_refused(tmp_path: Path) -> None:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("other")
    tantivy.Index(builder.build(), path=str(tmp_path))
    with pytest.raises(InputError, match=r"schema does not match.* Name a directory that is new"):
        Bm25Provider(path=str(tmp_path))


def test_locked_directory_fails_and_can_be_tried_again(tmp_path: Path) -> None:
    import tantivy

    provider = Bm25Provider(path=str(tmp_path))
    other = tantivy.Index.open(str(tmp_path)).writer()
    provider.add(**row("b-1", "gull"))
    with pytest.raises(ProviderError, match=r"tantivy can't write: .*[Ll]ock"):
        scores(provider, "gull")
    other.wait_merging_threads()
    assert list(scores(provider, "gull")) == ["b-1"]
