"""Chroma (package chromadb), in process, with vectors of our own embedder.

Chroma's default embedder fetches a model, so none of its own is used. It has
no floor on similarity. What it reports is a cosine distance, where less is
better; as a score it is 1 minus the distance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from .protocol import Hit, Option
from .store import Memory, scopes_of
from .vendor import EMBEDDER_OPTIONS, SCOPE_OPTION, TOP_K_OPTION, VendorStore, sdk_version

OPTIONS: tuple[Option, ...] = (*EMBEDDER_OPTIONS, TOP_K_OPTION, SCOPE_OPTION)

_numbers = count()


class ChromaProvider(VendorStore):
    """One collection in memory; the user is in the metadata and in every ``where``."""

    def __init__(
        self,
        *,
        embedder: str = "wordllama",
        base_url: str | None = None,
        top_k: int | None = None,
        scope_filter: bool = False,
    ) -> None:
        """Make an empty collection; `OPTIONS` says what the options do."""
        super().__init__(
            {
                "embedder": embedder,
                "threshold": None,
                "top_k": top_k,
                "scope_filter": scope_filter,
                "llm": "none",
            }
        )
        import chromadb
        from chromadb.config import Settings

        from .embedding import create_embedder

        self.version = sdk_version("chromadb")
        self._embedder = create_embedder(embedder, base_url=base_url)
        self._client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
        # All clients in memory of one process share their collections.
        self._name = f"pmb-memories-{next(_numbers)}"
        self._collection: Any = None
        self._clear()

    def _clear(self) -> None:
        if self._collection is not None:
            self._client.delete_collection(self._name)
        self._collection = self._client.create_collection(
            self._name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def _write(self, memory: Memory) -> None:
        metadata: dict[str, Any] = {"user": memory.user_id, "beliefId": memory.belief_id}
        scopes = list(scopes_of(memory.metadata))
        if scopes:
            metadata["scope"] = scopes
        self._collection.upsert(
            ids=[str(memory.key)],
            embeddings=self._embedder.embed([memory.text]),
            documents=[memory.text],
            metadatas=[metadata],
        )

    def _rewrite(self, old: Memory, new: Memory) -> None:
        self._write(new)

    def _remove(self, memory: Memory) -> None:
        self._collection.delete(ids=[str(memory.key)])

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        here = self._book.count(user_id)
        if not here:
            return
        where: dict[str, Any] = {"user": user_id}
        if scopes is not None:
            if not scopes:
                return
            shared = [{"scope": {"$contains": scope}} for scope in scopes]
            where = {"$and": [where, shared[0] if len(shared) == 1 else {"$or": shared}]}
        answer = self._collection.query(
            query_embeddings=self._embedder.embed([query]),
            n_results=min(limit, here),
            where=where,
        )
        columns = zip(
            answer["metadatas"][0], answer["distances"][0], answer["documents"][0], strict=True
        )
        for metadata, distance, text in columns:
            yield Hit(metadata["beliefId"], 1 - float(distance), text)

    def _shut(self) -> None:
        self._client.delete_collection(self._name)
