"""mem0 (package mem0ai), in process.

With ``infer`` off a memory is stored as it is and no language model is asked.
With it on, mem0 lets a model extract facts from each text; the belief id stays
in their metadata, and one belief may become several facts or none.

Two traps: ``search(limit=…)`` is swallowed by mem0, so the limit is passed as
``top_k``; and mem0 drops what is less similar than 0.1 unless it is told
otherwise, so the floor is always passed and reported (option ``threshold``).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError, MissingDependencyError
from .protocol import Hit, Option
from .store import Memory
from .vendor import (
    EMBEDDER_OPTIONS,
    SCOPE_OPTION,
    TOP_K_OPTION,
    VendorStore,
    check_floor,
    sdk_version,
)

STORES = ("qdrant", "faiss", "chroma")
_COLLECTION = "pmb-memories"

OPTIONS: tuple[Option, ...] = (
    Option(
        "infer", bool, False, "Let a language model extract facts; off stores texts as they are."
    ),
    Option("threshold", float, 0.1, "Drop what is less similar than this; mem0's own is 0.1."),
    TOP_K_OPTION,
    Option(
        "vector_store", str, "qdrant", f"One of {', '.join(STORES)}; on disk, removed at the end."
    ),
    *EMBEDDER_OPTIONS,
    SCOPE_OPTION,
    Option("llm_model", str, None, "The model for infer, by its service's name for it."),
    Option("llm_url", str, None, "Where the OpenAI-compatible service of that model is."),
)


class Mem0Provider(VendorStore):
    """A ``mem0.Memory`` over a store in a temporary directory."""

    def __init__(
        self,
        *,
        infer: bool = False,
        threshold: float = 0.1,
        top_k: int | None = None,
        vector_store: str = "qdrant",
        embedder: str = "wordllama",
        base_url: str | None = None,
        scope_filter: bool = False,
        llm_model: str | None = None,
        llm_url: str | None = None,
    ) -> None:
        """Open an empty store; `OPTIONS` says what the options do.

        Raises:
            InputError: An option can't be used.
            MissingDependencyError: A package is not installed.
        """
        check_floor("threshold", threshold)
        if vector_store not in STORES:
            raise InputError(f"option vector_store is {vector_store!r}: give {', '.join(STORES)}.")
        if infer and (llm_model is None or llm_url is None):
            raise InputError(
                "option infer needs llm_model and llm_url: a model extracts the facts."
            )
        super().__init__(
            {
                "infer": infer,
                "threshold": threshold,
                "top_k": top_k,
                "vector_store": vector_store,
                "embedder": embedder,
                "scope_filter": scope_filter,
                "llm": llm_model if infer else "none",
            }
        )
        self._infer, self._threshold = infer, threshold
        self._ids: dict[int, list[str]] = {}
        self._directory = Path(tempfile.mkdtemp(prefix="pmb-mem0-"))
        try:
            self.version = sdk_version("mem0ai")
            self._memory = self._open(vector_store, embedder, base_url, llm_model, llm_url)
        except BaseException:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise

    def _open(
        self,
        vector_store: str,
        embedder: str,
        base_url: str | None,
        llm_model: str | None,
        llm_url: str | None,
    ) -> Any:
        from .embedding import create_embedder

        # Read when mem0 is imported: it would call home, and write into the home directory.
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ.setdefault("MEM0_DIR", str(self._directory / "mem0"))
        made = create_embedder(embedder, base_url=base_url)
        config = _config(self._directory, vector_store, made.dimensions, llm_model, llm_url)
        try:
            from mem0 import Memory as System

            system = System.from_config(config)
        except ImportError as error:
            raise MissingDependencyError(
                f"mem0 with vector_store={vector_store} needs a package: {error}"
            ) from error
        system.embedding_model = _Embedding(made)
        return system

    def _clear(self) -> None:
        self._memory.reset()
        self._ids.clear()

    def _write(self, memory: Memory) -> None:
        answer = self._memory.add(
            memory.text,
            user_id=memory.user_id,
            metadata=_metadata(memory),
            infer=self._infer,
        )
        self._ids[memory.key] = [
            str(fact["id"]) for fact in answer["results"] if fact.get("event", "ADD") != "DELETE"
        ]

    def _rewrite(self, old: Memory, new: Memory) -> None:
        ids = self._ids.get(old.key, [])
        if self._infer or len(ids) != 1:
            super()._rewrite(old, new)
        else:
            self._memory.update(ids[0], text=new.text, metadata=_metadata(new))

    def _remove(self, memory: Memory) -> None:
        for own in self._ids.pop(memory.key, []):
            self._memory.delete(own)

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        filters: dict[str, Any] = {"user_id": user_id}
        if scopes is not None:
            filters["scope"] = {"in": list(scopes)}
        answer = self._memory.search(query, filters=filters, top_k=limit, threshold=self._threshold)
        for fact in answer["results"]:
            metadata = fact.get("metadata") or {}
            belief = metadata.get("beliefId")
            yield Hit(belief, fact.get("score"), fact.get("memory"), metadata)

    def _shows(self, memory: Memory) -> bool:
        # What a model made of a text need not resemble it, and may be nothing at all.
        return self._infer or super()._shows(memory)

    def _shut(self) -> None:
        store = getattr(getattr(self._memory, "vector_store", None), "client", None)
        for part in (store, getattr(self._memory, "db", None)):
            closer = getattr(part, "close", None)
            if callable(closer):
                closer()
        shutil.rmtree(self._directory, ignore_errors=True)


class _Embedding:
    """Our embedder as mem0 calls one."""

    config = None

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.embed_batch([text], memory_action)[0]

    def embed_batch(
        self, texts: Sequence[str], memory_action: str | None = "add"
    ) -> list[list[float]]:
        vectors: list[list[float]] = self._embedder.embed(list(texts)).tolist()
        return vectors


def _config(
    directory: Path, store: str, dimensions: int, llm_model: str | None, llm_url: str | None
) -> Mapping[str, Any]:
    """What mem0 is made from. Its own embedder is made and then replaced; it calls nothing."""
    vectors: dict[str, Any] = {"collection_name": _COLLECTION, "path": str(directory / "vectors")}
    if store != "chroma":
        vectors["embedding_model_dims"] = dimensions
    if store == "faiss":
        vectors["distance_strategy"] = "cosine"
    llm: dict[str, Any] = {"model": llm_model or "none", "api_key": "none"}
    key = os.environ.get("OPENAI_API_KEY")
    if llm_url is not None:
        llm |= {"openai_base_url": llm_url, "api_key": key or "none"}
    return {
        "llm": {"provider": "openai", "config": llm},
        "embedder": {
            "provider": "openai",
            "config": {"model": "none", "api_key": "none", "embedding_dims": dimensions},
        },
        "vector_store": {"provider": store, "config": vectors},
        "history_db_path": str(directory / "history.db"),
    }


def _metadata(memory: Memory) -> dict[str, Any]:
    """What is stored beside a text: the id to get back, and what a search may filter by."""
    return {"beliefId": memory.belief_id, "scope": list(memory.metadata.get("scope") or ())}
