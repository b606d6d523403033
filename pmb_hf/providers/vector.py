"""Exact cosine similarity over vectors of the memories' texts.

Every memory has a similarity, so without ``min_score`` a search always returns
as many as it may. Scores are cosines (-1 to 1), rounded to 6 decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from typing import TYPE_CHECKING

from .embedding import DEFAULT, create_embedder
from .engine import ENGINE_OPTIONS, EngineOptions, LexicalStore, Request
from .protocol import Option
from .store import Memory
from .vector_index import VectorIndex

if TYPE_CHECKING:
    from .vector_file import VectorFile

EMBEDDER_OPTIONS: tuple[Option, ...] = (
    Option(
        "embedder",
        str,
        DEFAULT,
        "wordllama, sentence-transformers:MODEL, onnx:DIR, ollama:MODEL or openai:MODEL.",
    ),
    Option("base_url", str, None, "Where the embedder's service is; else the environment says."),
)
OPTIONS: tuple[Option, ...] = (*EMBEDDER_OPTIONS, *ENGINE_OPTIONS)


class VectorProvider(LexicalStore):
    """Vectors in memory; with the file ``path``, kept there as well.

    A file keeps its memories and their vectors: the next provider on it starts
    with them, and must use the same embedder.
    """

    def __init__(
        self,
        *,
        embedder: str = DEFAULT,
        base_url: str | None = None,
        path: str | None = None,
        top_k: int | None = None,
        min_score: float | None = None,
        scope_filter: bool = True,
        active_filter: bool = False,
    ) -> None:
        """Load the embedder and open the store.

        Raises:
            InputError: An option is out of range, or ``path`` can't be used.
            MissingDependencyError: What the embedder needs is not installed.
            ProviderError: The embedder can't be loaded.
        """
        super().__init__(EngineOptions(path, top_k, min_score, scope_filter, active_filter))
        self._embedder = create_embedder(embedder, base_url=base_url)
        self._base_url = base_url
        self._index = VectorIndex()
        self._file = None if path is None else self._open(path)

    def _open(self, path: str) -> VectorFile:
        from .vector_file import VectorFile

        file = VectorFile(path, self._embedder.identity)
        kept = file.read()
        for memory in kept.memories:
            self._book.restore(memory)
        if kept.memories:
            self._index.put(kept.memories, kept.vectors)
        return file

    @property
    def version(self) -> str:  # type: ignore[override]
        """Numpy, which compares, and the embedder."""
        return f"numpy {metadata.version('numpy')}, {self._embedder.identity}"

    @property
    def options(self) -> dict[str, object]:
        """The effective options, defaults included."""
        embedder = {"embedder": self._embedder.name, "base_url": self._base_url}
        return {**embedder, **super().options}

    def _clear(self) -> None:
        if self._file is not None:
            self._file.clear()
        self._index.clear()

    def _apply(self, gone: set[int], fresh: Sequence[Memory]) -> None:
        # What may fail comes first: until the last line nothing has changed.
        vectors = self._embedder.embed([memory.text for memory in fresh]) if fresh else None
        if self._file is not None:
            self._file.write(gone, fresh, vectors)
        self._index.remove(gone)
        if vectors is not None:
            self._index.put(fresh, vectors)

    def _rank(self, request: Request) -> list[tuple[int, float]]:
        vector = self._embedder.embed([request.query])[0]
        return self._index.nearest(vector, request) if vector.any() else []

    def _close(self) -> None:
        self._embedder.close()
        if self._file is not None:
            self._file.close()
        self._index.clear()
