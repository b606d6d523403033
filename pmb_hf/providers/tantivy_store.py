"""An index of tantivy, a search engine written in Rust: what the stores over it share.

A subclass says which fields a memory has and how a search ranks; opening,
writing, replacing, keeping on disk and the hard filters are here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import tantivy
from tantivy import Occur, Query

from ..errors import InputError, ProviderError
from .engine import EngineOptions, LexicalStore, Request
from .store import Memory, exact_term, from_json, is_active, scopes_of, to_json

# tantivy counts replaced texts in its statistics until it merges them away.
# Up to this many memories the index is written anew instead (about 0.1 s), so
# that scores depend on what is stored and not on how it came there.
REBUILD_LIMIT = 5_000

_HEAP_BYTES = 50_000_000

# The engine adds up 32-bit scores in an order that varies; without rounding,
# equal texts could differ in the last bit.
_SCORE_DECIMALS = 4


class TantivyStore(LexicalStore):
    """A tantivy index in memory, or in the directory ``path``.

    A directory keeps its memories: the next provider on it starts with them.
    The statistics behind the score are those of all users together.
    """

    version = f"tantivy {metadata.version('tantivy')}"

    def __init__(self, options: EngineOptions) -> None:
        """Open the store.

        Raises:
            InputError: ``path`` can't be used.
        """
        super().__init__(options)
        builder = tantivy.SchemaBuilder()
        # The id that ranks and deletes is the memory's key; ids and metadata stay in the
        # record book. "record" is filled only if the index is kept on disk.
        # Text, because deleting by a number misses in some releases (0.25.1, 0.27.0).
        builder.add_text_field("key", stored=True, tokenizer_name="raw", index_option="basic")
        for name in ("owner", "scope"):
            builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
        builder.add_boolean_field("active", indexed=True)
        self._fields(builder)
        builder.add_bytes_field("record", stored=True)
        self._schema = builder.build()
        self._index = self._open(options.path)

    @abstractmethod
    def _fields(self, builder: tantivy.SchemaBuilder) -> None:
        """Add the fields that are searched."""

    @abstractmethod
    def _fill(self, document: tantivy.Document, memory: Memory) -> None:
        """Add a memory's values for these fields."""

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
        for document in sorted(documents, key=key_of):
            record = document.get_first("record")
            if not isinstance(record, bytes):
                raise TypeError("a memory has no record")
            self._book.restore(from_json(key_of(document), record.decode()))

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
        self._fill(document, memory)
        if self._options.path is not None:
            document.add_bytes("record", to_json(memory.row).encode())
        return document

    def _filters(self, request: Request) -> list[tuple[Occur, Query]]:
        """Clauses that decide who is in and add nothing to the score."""
        filters = [self._exact("owner", exact_term(request.user_id))]
        if request.scopes is not None:
            scopes = [self._exact("scope", exact_term(scope)) for scope in request.scopes]
            filters.append(any_of(scopes))
        if request.active_only:
            filters.append(self._exact("active", True))
        return [(Occur.Must, Query.const_score_query(query, 0.0)) for query in filters]

    def _exact(self, field: str, value: str | bool) -> Query:
        return Query.term_query(self._schema, field, value, "basic")

    def _best(self, query: Query, limit: int) -> list[tuple[int, float]]:
        """(key, score) of the best ``limit`` memories, equal scores by key."""
        searcher = self._index.searcher()
        stored = len(self._book)
        wanted = min(limit + 1, stored)
        try:
            while True:
                hits = searcher.search(query, wanted, count=False).hits
                scored = [(round(float(s), _SCORE_DECIMALS), a) for s, a in hits]
                # The engine cuts equal scores in its own order. Go on until the
                # last one is worse than the last one wanted, then cut by age.
                if len(scored) < wanted or wanted == stored:
                    break
                if scored[-1][0] < scored[limit - 1][0]:
                    break
                wanted = min(wanted * 2, stored)
            ranked = [(key_of(searcher.doc(address)), score) for score, address in scored]
        except ValueError as error:
            raise ProviderError(f"tantivy can't search: {error}.") from error
        ranked.sort(key=lambda pair: (-pair[1], pair[0]))
        return ranked[:limit]

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


def any_of(queries: Sequence[Query]) -> Query:
    """Match what matches one of them; nothing if there is none."""
    return Query.boolean_query([(Occur.Should, query) for query in queries])


def key_of(document: tantivy.Document) -> int:
    """The key of the memory that a document stands for."""
    return int(document["key"][0])
