"""Reciprocal rank fusion: what is its own. The contract is in test_providers.py."""

from __future__ import annotations

from typing import Any

import pytest
from embedding_kit import embedding_service

from pmb_hf.errors import InputError, ProviderError
from pmb_hf.providers.hybrid import LEXICAL, HybridProvider
from pmb_hf.providers.protocol import AddRow
from pmb_hf.providers.registry import create
from pmb_hf.providers.vector import VectorProvider

SCOPE = "domain:sea"
TEXTS = {
    "b-boat": "The wooden dinghy is varnished every spring",
    "b-tide": "Checks when high water is before sailing",
    "b-rope": "Ropes are coiled clockwise",
    "b-bread": "Bakes rye bread at the quay",
    "b-fire": "The fire on the quay needs dry wood",
}


def row(belief_id: str, text: str, **metadata: Any) -> AddRow:
    return AddRow(
        belief_id=belief_id,
        user_id="u",
        text=text,
        aliases=(),
        metadata={"scope": [SCOPE], **metadata},
    )


def seeded(provider: Any) -> Any:
    provider.add_many([row(name, text) for name, text in TEXTS.items()])
    return provider


def ranks(provider: Any, query: str) -> dict[str, int]:
    hits = provider.search(query=query, user_id="u", scopes=(SCOPE,), limit=20)
    return {hit.id: place for place, hit in enumerate(hits, 1)}


@pytest.mark.parametrize("lexical", LEXICAL)
@pytest.mark.parametrize("k", [1, 60])
def test_scores_are_sums_of_reciprocal_ranks(lexical: str, k: int) -> None:
    query = "wood fire at the quay"
    by_words = ranks(seeded(create(lexical)), query)
    by_vectors = ranks(seeded(VectorProvider()), query)
    fused = seeded(HybridProvider(lexical=lexical, k=k))
    hits = fused.search(query=query, user_id="u", scopes=(SCOPE,), limit=20)
    for hit in hits:
        places = [ranking[hit.id] for ranking in (by_words, by_vectors) if hit.id in ranking]
        assert hit.score == pytest.approx(sum(1 / (k + place) for place in places), abs=1e-9)
    assert {hit.id for hit in hits} == set(by_words) | set(by_vectors)
    assert hits[0].id == "b-fire"


def test_a_query_without_a_word_of_ours_is_ranked_by_meaning() -> None:
    assert next(iter(ranks(seeded(HybridProvider()), "loaves of sourdough"))) == "b-bread"


def test_min_score_asks_for_both_rankings() -> None:
    # Nothing that only one ranking has can score more than 1 / (k + 1).
    provider = seeded(HybridProvider(min_score=1 / 61 + 1e-6))
    assert set(ranks(provider, "coiled ropes")) == {"b-rope"}


def test_filters_are_those_of_both_parts() -> None:
    provider = seeded(HybridProvider(active_filter=True))
    provider.update(**row("b-rope", "Ropes are coiled clockwise", supersededBy="b-new"))
    assert "b-rope" not in ranks(provider, "coiled ropes")
    hits = provider.search(query="ropes", user_id="u", scopes=("domain:land",), limit=5)
    assert hits == []


def test_a_failing_embedder_leaves_both_indexes_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PMB_VECTOR_CACHE", "off")
    with embedding_service() as service:
        provider = HybridProvider(embedder="openai:tiny", base_url=service.url)
        seeded(provider)
        service.statuses = [401]
        provider.add(**row("b-late", "Sails are mended"))
        with pytest.raises(ProviderError, match="401"):
            ranks(provider, "mended sails")
        hits = provider.search(query="mended sails", user_id="u", scopes=(SCOPE,), limit=20)
        assert [hit.id for hit in hits].count("b-late") == 1
        assert len(hits) == 6
        provider.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lexical": "bm52"}, r"option lexical is 'bm52': give one of bm25, fts5"),
        ({"k": "0"}, "option k is 0: give 1 or more"),
        ({"path": "x"}, "has no option 'path'"),
        ({"top_k": "0"}, "option top_k is 0"),
        ({"embedder": "word2vec"}, "no embedder 'word2vec'"),
    ],
)
def test_bad_options(options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create("hybrid", options)


def test_version_names_both_parts() -> None:
    version = HybridProvider(lexical="fts5").version
    assert version.startswith("sqlite 3.")
    assert "wordllama" in version
