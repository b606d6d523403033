"""BM25 by tantivy, a search engine written in Rust.

Texts are lower-cased and reduced to English stems (``en_stem``: words of more
than 40 bytes are left out). The score is BM25 with k1 = 1.2 and b = 0.75
(Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009),
rounded to 4 decimals; higher is better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import tantivy
from tantivy import Occur, Query

from ..errors import InputError, ProviderError
from .engine import EngineOptions, LexicalStore, Request
from .store import (
    Memory,
    engine_text,
    exact_term,
    from_json,
    is_active,
    scopes_of,
    to_json,
)

# tantivy counts replaced texts in its statistics until it merges them away.
# Up to this many memories the index is written anew instead (about 0.1 s), so
# that scores depend on what is stored and not on how it came there.
REBUILD_LIMIT = 5_000

_HEAP_BYTES = 50_000_000

# The engine adds up 32-bit scores in an order that varies; without rounding,
# equal texts could differ in the last bit.
_SCORE_DECIMALS = 4


# The id that ranks and deletes is the memory's key; ids and metadata stay in the
# record book. "record" is filled only if the index is kept on disk.
def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    # Text, because deleting by a number misses in some releases (0.25.1, 0.27.0).
    builder.add_text_field("key", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("owner", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("scope", tokenizer_name="raw", index_option="basic")
    builder.add_boolean_field("active", indexed=True)
    builder.add_text_field("text", tokenizer_name="en_stem", index_option="freq")
    builder.add_bytes_field("record", stored=True)
    return builder.build()


def _analyzer() -> tantivy.TextAnalyzer:
    # What tantivy calls en_stem, for the query's side.
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(40))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )


class Bm25Provider(LexicalStore):
    """A tantivy index in memory, or in the directory ``path``.

    A directory keeps its memories: the next provider on it starts with them.
    The statistics behind the score are those of all users together.
    """

    version = f"tantivy {metadata.version('tantivy')}"

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
        self._schema = _schema()
        self._analyzer = _analyzer()
        self._index = self._open(path)

    def _open(self, path: str | None) -> tantivy.Index:
        try:
            if path is not None:
                Path(path).mkdir(parents=True, exist_ok=True)
            index = tantivy.Index(self._schema, path=path)
            # Merges end in the background; only a reload by hand shows them.
            index.config_reader("manual")
            index.reload()
            if path is not None:
                self._load(index.searcher())
        except (ValueError, TypeError, OSError) as error:
            raise InputError(
                f"option path: {path!r} can't be used as a tantivy index ({error}). "
                "Name a directory that is new or was written by this provider."
            ) from error
        return index

    def _load(self, searcher: tantivy.Searcher) -> None:
        if searcher.num_docs == 0:
            return
        found = searcher.search(Query.all_query(), searcher.num_docs, count=False)
        documents = [searcher.doc(address) for _, address in found.hits]
        for document in sorted(documents, key=_key):
            record = document.get_first("record")
            if not isinstance(record, bytes):
                raise TypeError("a memory has no record")
            self._book.restore(from_json(_key(document), record.decode()))

    def _clear(self) -> None:
        with self._writer() as writer:
            writer.delete_all_documents()

    def _apply(self, gone: set[int], fresh: Sequence[Memory]) -> None:
        rebuild = bool(gone) and len(self._book) <= REBUILD_LIMIT
        with self._writer() as writer:
            if rebuild:
                writer.delete_all_documents()
            else:
                for key in gone:
                    writer.delete_documents_by_term("key", str(key))
            for memory in self._book if rebuild else fresh:
                writer.add_document(self._document(memory))

    def _document(self, memory: Memory) -> tantivy.Document:
        document = tantivy.Document()
        document.add_text("key", str(memory.key))
        document.add_text("owner", exact_term(memory.user_id))
        for scope in scopes_of(memory.metadata):
            document.add_text("scope", exact_term(scope))
        document.add_boolean("active", is_active(memory.metadata))
        document.add_text("text", engine_text(memory.text))
        if self._options.path is not None:
            document.add_bytes("record", to_json(memory.row).encode())
        return document

    def _term(self, field: str, value: str | bool) -> Query:
        kind = "freq" if field == "text" else "basic"
        return Query.term_query(self._schema, field, value, kind)

    def _query(self, request: Request) -> Query | None:
        words = dict.fromkeys(self._analyzer.analyze(request.query))
        if not words or request.scopes == ():
            return None
        filters = [self._term("owner", exact_term(request.user_id))]
        if request.scopes is not None:
            scopes = [self._term("scope", exact_term(s)) for s in request.scopes]
            filters.append(_any_of(scopes))
        if request.active_only:
            filters.append(self._term("active", True))
        return Query.boolean_query(
            [
                (Occur.Must, _any_of([self._term("text", word) for word in words])),
                # A filter decides who is in and adds nothing to the score.
                *((Occur.Must, Query.const_score_query(f, 0.0)) for f in filters),
            ]
        )

    def _rank(self, request: Request) -> list[tuple[int, float]]:
        query = self._query(request)
        if query is None:
            return []
        searcher = self._index.searcher()
        stored = len(self._book)
        wanted = min(request.limit + 1, stored)
        try:
            while True:
                hits = searcher.search(query, wanted, count=False).hits
                scored = [(round(float(s), _SCORE_DECIMALS), a) for s, a in hits]
                # The engine cuts equal scores in its own order. Go on until the
                # last one is worse than the last one wanted, then cut by age.
                if len(scored) < wanted or wanted == stored:
                    break
                if scored[-1][0] < scored[request.limit - 1][0]:
                    break
                wanted = min(wanted * 2, stored)
            ranked = [(_key(searcher.doc(address)), score) for score, address in scored]
        except ValueError as error:
            raise ProviderError(f"tantivy can't search: {error}.") from error
        ranked.sort(key=lambda pair: (-pair[1], pair[0]))
        return ranked[: request.limit]

    def _close(self) -> None:
        # Writers are closed after each batch; nothing is held but memory.
        self._index = tantivy.Index(self._schema)

    @contextmanager
    def _writer(self) -> Iterator[tantivy.IndexWriter]:
        # One thread, and all merges awaited: what a search sees depends on the
        # writes alone, not on timing. It also lets go of the directory's lock.
        try:
            writer = self._index.writer(_HEAP_BYTES, num_threads=1)
            try:
                yield writer
                writer.commit()
            except BaseException:
                writer.rollback()
                raise
            finally:
                writer.wait_merging_threads()
            self._index.reload()
        except (ValueError, OSError) as error:
            raise ProviderError(f"tantivy can't write: {error}.") from error


def _any_of(queries: Sequence[Query]) -> Query:
    return Query.boolean_query([(Occur.Should, query) for query in queries])


def _key(document: tantivy.Document) -> int:
    return int(document["key"][0])
