"""BM25 by tantivy, a search engine written in Rust.

Texts are lower-cased and reduced to English stems (``en_stem``: words of more
than 40 bytes are left out). The score is BM25 with k1 = 1.2 and b = 0.75
(Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009),
rounded to 4 decimals; higher is better.
"""

from __future__ import annotations

import tantivy
from tantivy import Occur, Query

from .engine import EngineOptions, Request
from .store import Memory, engine_text
from .tantivy_store import TantivyStore, any_of


def _analyzer() -> tantivy.TextAnalyzer:
    # What tantivy calls en_stem, for the query's side.
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(40))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )


class Bm25Provider(TantivyStore):
    """The texts of memories by their words, in memory or in the directory ``path``."""

    def __init__(
        self,
        *,
        path: str | None = None,
        top_k: int | None = None,
        min_score: float | None = None,
        scope_filter: bool = True,
        active_filter: bool = False,
    ) -> None:
        """Open the store.

        Raises:
            InputError: An option is out of range, or ``path`` can't be used.
        """
        super().__init__(EngineOptions(path, top_k, min_score, scope_filter, active_filter))
        self._analyzer = _analyzer()

    def _fields(self, builder: tantivy.SchemaBuilder) -> None:
        builder.add_text_field("text", tokenizer_name="en_stem", index_option="freq")

    def _fill(self, document: tantivy.Document, memory: Memory) -> None:
        document.add_text("text", engine_text(memory.text))

    def _rank(self, request: Request) -> list[tuple[int, float]]:
        words = dict.fromkeys(self._analyzer.analyze(request.query))
        if not words or request.scopes == ():
            return []
        terms = [Query.term_query(self._schema, "text", word, "freq") for word in words]
        query = Query.boolean_query([(Occur.Must, any_of(terms)), *self._filters(request)])
        return self._best(query, request.limit)
