"""The store of LangGraph (package langgraph): ``InMemoryStore`` with a vector index.

langmem's tools write to and search the same store. It has no floor on
similarity: a search returns as many memories as it is allowed to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .protocol import Hit, Option
from .store import Memory, scopes_of
from .vendor import EMBEDDER_OPTIONS, SCOPE_OPTION, TOP_K_OPTION, VendorStore, sdk_version

_ROOT = "memories"

OPTIONS: tuple[Option, ...] = (*EMBEDDER_OPTIONS, TOP_K_OPTION, SCOPE_OPTION)


class LanggraphProvider(VendorStore):
    """An ``InMemoryStore`` with a namespace a user; the key of an item is the belief id."""

    def __init__(
        self,
        *,
        embedder: str = "wordllama",
        base_url: str | None = None,
        top_k: int | None = None,
        scope_filter: bool = False,
    ) -> None:
        """Make an empty store; `OPTIONS` says what the options do."""
        super().__init__(
            {
                "embedder": embedder,
                "threshold": None,
                "top_k": top_k,
                "scope_filter": scope_filter,
                "llm": "none",
            }
        )
        from .embedding import create_embedder

        self.version = sdk_version("langgraph")
        self._embedder = create_embedder(embedder, base_url=base_url)
        self._clear()

    def _clear(self) -> None:
        from langgraph.store.memory import InMemoryStore

        self._store = InMemoryStore(
            index={
                "dims": self._embedder.dimensions,
                "embed": self._embed,
                "fields": ["text"],
            }
        )

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._embedder.embed(list(texts)).tolist()
        return vectors

    def _write(self, memory: Memory) -> None:
        # A filter compares whole values, so each scope has a key of its own.
        flags = {_flag(scope): True for scope in scopes_of(memory.metadata)}
        self._store.put(
            _namespace(memory.user_id), memory.belief_id, {"text": memory.text, **flags}
        )

    def _rewrite(self, old: Memory, new: Memory) -> None:
        self._write(new)

    def _remove(self, memory: Memory) -> None:
        self._store.delete(_namespace(memory.user_id), memory.belief_id)

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        filters: list[dict[str, Any] | None] = (
            [None] if scopes is None else [{_flag(scope): True} for scope in scopes]
        )
        found = {
            item.key: item
            for chosen in filters
            for item in self._store.search(
                _namespace(user_id), query=query, filter=chosen, limit=limit
            )
        }
        # Searches for several scopes are one list by score; one search keeps the store's order.
        best = sorted(found.values(), key=lambda item: -(item.score or 0.0))
        return [Hit(item.key, item.score, item.value["text"]) for item in best[:limit]]


def _namespace(user_id: str) -> tuple[str, ...]:
    """A namespace's labels must hold no dot and not be empty."""
    return (_ROOT, user_id.encode().hex() or "none")


def _flag(scope: str) -> str:
    return f"in {scope}"
