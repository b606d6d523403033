"""LlamaIndex (package llama-index-core): a ``VectorStoreIndex`` in memory.

It has no floor on similarity. A memory is a node whose id names user and
belief; users, and scopes if wanted, are told apart by metadata filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .protocol import Hit, Option
from .store import Memory, scopes_of
from .vendor import EMBEDDER_OPTIONS, SCOPE_OPTION, TOP_K_OPTION, VendorStore, sdk_version

OPTIONS: tuple[Option, ...] = (*EMBEDDER_OPTIONS, TOP_K_OPTION, SCOPE_OPTION)


class LlamaIndexProvider(VendorStore):
    """A ``VectorStoreIndex`` over a ``SimpleVectorStore``."""

    def __init__(
        self,
        *,
        embedder: str = "wordllama",
        base_url: str | None = None,
        top_k: int | None = None,
        scope_filter: bool = False,
    ) -> None:
        """Make an empty index; `OPTIONS` says what the options do."""
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

        self.version = sdk_version("llama-index-core")
        self._model = _model(create_embedder(embedder, base_url=base_url))
        self._clear()

    def _clear(self) -> None:
        from llama_index.core import VectorStoreIndex

        self._index = VectorStoreIndex(nodes=[], embed_model=self._model)

    def _write(self, memory: Memory) -> None:
        from llama_index.core.schema import TextNode

        metadata = {
            "user": memory.user_id,
            "beliefId": memory.belief_id,
            "scope": list(scopes_of(memory.metadata)),
        }
        # Otherwise the metadata would be part of the text that is embedded.
        hidden = list(metadata)
        node = TextNode(
            id_=str(memory.key),
            text=memory.text,
            metadata=metadata,
            excluded_embed_metadata_keys=hidden,
            excluded_llm_metadata_keys=hidden,
        )
        self._index.insert_nodes([node])

    def _remove(self, memory: Memory) -> None:
        self._index.delete_nodes([str(memory.key)], delete_from_docstore=True)

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters

        filters = [MetadataFilter(key="user", value=user_id)]
        if scopes is not None:
            filters.append(
                MetadataFilter(key="scope", operator=FilterOperator.ANY, value=list(scopes))
            )
        retriever = self._index.as_retriever(
            similarity_top_k=limit,
            filters=MetadataFilters(filters=list(filters)),
        )
        for found in retriever.retrieve(query):
            yield Hit(found.node.metadata["beliefId"], found.score, found.node.get_content())


def _model(embedder: Any) -> Any:
    """Our embedder as LlamaIndex calls one; its base is imported late."""
    from llama_index.core.base.embeddings.base import BaseEmbedding

    class Model(BaseEmbedding):  # type: ignore[misc]  # the base is not installed here
        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embeddings([query])[0]

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            vectors: list[list[float]] = embedder.embed(texts).tolist()
            return vectors

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    return Model(model_name=embedder.name)
