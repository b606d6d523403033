"""Words and vectors together: reciprocal rank fusion of two rankings.

A memory scores 1 / (k + rank) in each ranking that has it, and the sum in all
(Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet
and individual Rank Learning Methods", SIGIR 2009; k = 60 is theirs).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError
from .embedding import DEFAULT
from .engine import ENGINE_OPTIONS, EngineOptions, LexicalStore, Request
from .protocol import Option
from .store import Memory
from .vector import EMBEDDER_OPTIONS, VectorProvider

RRF_K = 60
LEXICAL = ("bm25", "fts5")

OPTIONS: tuple[Option, ...] = (
    Option("lexical", str, "bm25", "The ranking by words: bm25 or fts5."),
    Option("k", int, RRF_K, "How little the first ranks count more than the next: 1 or more."),
    *EMBEDDER_OPTIONS,
    *(option for option in ENGINE_OPTIONS if option.name != "path"),
)

# How deep each ranking is read for fusing, at least and as a multiple of the limit.
_DEPTH, _TIMES = 100, 5
_DECIMALS = 9


class HybridProvider(LexicalStore):
    """A lexical and a vector index over the same memories, in memory."""

    def __init__(
        self,
        *,
        lexical: str = "bm25",
        k: int = RRF_K,
        embedder: str = DEFAULT,
        base_url: str | None = None,
        top_k: int | None = None,
        min_score: float | None = None,
        scope_filter: bool = True,
        active_filter: bool = False,
    ) -> None:
        """Load the embedder and open both indexes.

        Raises:
            InputError: An option is out of range.
            MissingDependencyError: What the embedder needs is not installed.
            ProviderError: The embedder can't be loaded.
        """
        super().__init__(EngineOptions(None, top_k, min_score, scope_filter, active_filter))
        if k < 1:
            raise InputError(f"option k is {k}: give 1 or more.")
        self._k = k
        self._name = lexical
        self._lexical = _lexical(lexical)
        self._vector = VectorProvider(embedder=embedder, base_url=base_url)
        # Vectors first: their embedder may fail, and then neither index has changed.
        self._parts: tuple[LexicalStore, ...] = (self._vector, self._lexical)
        for part in self._parts:
            part.share(self._book)

    @property
    def version(self) -> str:  # type: ignore[override]
        """The versions of both parts."""
        return f"{self._lexical.version}, {self._vector.version}"

    @property
    def options(self) -> dict[str, object]:
        """The effective options, defaults included."""
        vector = self._vector.options
        return {
            "lexical": self._name,
            "k": self._k,
            "embedder": vector["embedder"],
            "base_url": vector["base_url"],
            **{name: value for name, value in super().options.items() if name != "path"},
        }

    def _clear(self) -> None:
        for part in self._parts:
            part._clear()

    def _apply(self, gone: set[int], fresh: Sequence[Memory]) -> None:
        for part in self._parts:
            part._apply(gone, fresh)

    def _rank(self, request: Request) -> list[tuple[int, float]]:
        deep = request._replace(limit=max(_DEPTH, _TIMES * request.limit))
        scores: dict[int, float] = {}
        for part in self._parts:
            for rank, (key, _) in enumerate(part._rank(deep), 1):
                scores[key] = scores.get(key, 0.0) + 1 / (self._k + rank)
        fused = [(key, round(score, _DECIMALS)) for key, score in scores.items()]
        fused.sort(key=lambda pair: (-pair[1], pair[0]))
        return fused[: request.limit]

    def _close(self) -> None:
        for part in self._parts:
            part._close()


def _lexical(name: str) -> LexicalStore:
    if name == "bm25":
        from .bm25 import Bm25Provider

        return Bm25Provider()
    if name == "fts5":
        from .fts5 import Fts5Provider

        return Fts5Provider()
    raise InputError(f"option lexical is {name!r}: give one of {', '.join(LEXICAL)}.")
