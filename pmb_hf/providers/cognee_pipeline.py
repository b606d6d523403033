"""Cognee (package cognee), in process, with a pipeline of its own tasks and no language model.

Each memory is a document that Cognee classifies, cuts into chunks and stores; what
it does beyond that (a graph of entities and summaries) needs a model and is left out.
It is searched for chunks. Vectors come from our embedder over loopback.

A user is a dataset, and Cognee's access control is on: with it off, a search in one
dataset also finds what is in the others. A document is given an id of ours, so two
memories with one text stay two, and a text that looks like an address or a path is
taken as it stands. The score that Cognee tells is a distance, where less is better;
it is left out, and the rank decides. There is no floor on similarity.

Cognee reads its settings once in the life of a process, so there is one provider a
process.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from uuid import UUID, uuid4

from ..errors import ProviderError
from .children import remove
from .protocol import Hit, Option
from .store import Memory, engine_text
from .vendor import EMBEDDER_OPTIONS, TOP_K_OPTION, VendorStore, sdk_version

OPTIONS: tuple[Option, ...] = (
    *EMBEDDER_OPTIONS,
    Option("chunk_tokens", int, 512, "The longest chunk that a text is cut into, in tokens."),
    TOP_K_OPTION,
)

T = TypeVar("T")

_SPARE = 5  # a text may fill several chunks, so more of them are asked for
_DONE = ("PipelineRunCompleted", "PipelineRunAlreadyCompleted")


class CogneeProvider(VendorStore):
    """Cognee on SQLite, LanceDB and Ladybug in a directory of its own."""

    _in_use: ClassVar[bool] = False

    def __init__(
        self,
        *,
        embedder: str = "wordllama",
        base_url: str | None = None,
        chunk_tokens: int = 512,
        top_k: int | None = None,
    ) -> None:
        """Set it up; `OPTIONS` says what the options do."""
        super().__init__(
            {
                "embedder": embedder,
                "threshold": None,
                "chunk_tokens": chunk_tokens,
                "top_k": top_k,
                "scope_filter": False,
                "access_control": True,
                "llm": "none",
            }
        )
        self.version = sdk_version("cognee")
        if CogneeProvider._in_use:
            raise ProviderError(
                "cognee reads its settings once in the life of a process, and this one has used "
                "it already: start another process."
            )
        CogneeProvider._in_use = True
        self._datasets: dict[str, tuple[str, UUID]] = {}  # user -> name and id of the dataset
        self._documents: dict[int, UUID] = {}  # key of a memory -> id of its document
        self._beliefs: dict[str, str] = {}  # id of a document -> belief id
        self._numbers = count()
        with ExitStack() as stack:
            self._start(stack, embedder, base_url, chunk_tokens)
            self._open = stack.pop_all()

    def _start(
        self, stack: ExitStack, embedder: str, base_url: str | None, chunk_tokens: int
    ) -> None:
        from .embedding import create_embedder
        from .loopback import Loopback

        home = Path(tempfile.mkdtemp(prefix="pmb-cognee-"))
        stack.callback(remove, home)
        vectors = create_embedder(embedder, base_url=base_url)
        stack.callback(vectors.close)
        service = Loopback(vectors)
        stack.callback(service.close)
        os.environ.update(settings(home, service.url, vectors.dimensions, _tokenizers()))
        import cognee

        self._cognee: Any = cognee
        self._tasks = _pipeline(chunk_tokens)
        self._loop = asyncio.new_event_loop()
        stack.callback(self._end_loop)
        from cognee.low_level import setup

        self._do(setup())  # makes its tables now, not in the time of the first memory

    def _end_loop(self) -> None:
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def _clear(self) -> None:
        for user_id, (_, dataset) in list(self._datasets.items()):
            self._do(self._cognee.datasets.empty_dataset(dataset))
            del self._datasets[user_id]
        self._documents.clear()
        self._beliefs.clear()

    def _write(self, memory: Memory) -> None:
        self._do(self._store(memory))

    def _remove(self, memory: Memory) -> None:
        _, dataset = self._datasets[memory.user_id]
        document = self._documents[memory.key]
        self._do(self._cognee.datasets.delete_data(dataset, document))
        del self._documents[memory.key], self._beliefs[str(document)]

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        known = self._datasets.get(user_id)
        if known is None or not self._book.count(user_id):
            return []
        found = self._do(
            self._cognee.search(
                query_text=engine_text(query),
                query_type=self._cognee.SearchType.CHUNKS,
                dataset_ids=[known[1]],
                top_k=limit + _SPARE,
            )
        )
        return self._hits(found)

    def _hits(self, found: Iterable[Any]) -> list[Hit]:
        """One hit a document, where its best chunk stands; a text of several chunks isn't whole."""
        hits: dict[str, Hit] = {}
        for dataset in found:
            for chunk in dataset["search_result"]:
                document = str(chunk["document_id"])
                hits.setdefault(document, Hit(self._beliefs.get(document), None, chunk["text"]))
        return list(hits.values())

    def _shut(self) -> None:
        self._open.close()

    async def _store(self, memory: Memory) -> None:
        from cognee.tasks.ingestion.data_item import DataItem

        known = self._datasets.get(memory.user_id)
        name = known[0] if known else f"pmb-{next(self._numbers)}"
        document = uuid4()
        item = DataItem(data=memory.text, literal_text=True, data_id=document)
        added = await self._cognee.add(item, dataset_name=name)
        self._datasets[memory.user_id] = (name, added.dataset_id)
        self._documents[memory.key] = document
        self._beliefs[str(document)] = memory.belief_id
        done = await self._cognee.run_custom_pipeline(
            tasks=self._tasks,
            dataset=added.dataset_id,
            incremental_loading=True,
            skip_connection_test=True,
        )
        for run in done.values() if isinstance(done, dict) else ():
            if run.status not in _DONE:
                raise ProviderError(f"cognee: storing {memory.belief_id!r} ended as {run.status}.")

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)


def settings(home: Path, url: str, dimensions: int, tokenizers: str | None) -> dict[str, str]:
    """Cognee's settings: access control on, our vectors, nothing reported, nothing fetched.

    The embedding model is named so only for its tokenizer, which comes with litellm; another
    would be fetched.
    """
    made = {
        "ENABLE_BACKEND_ACCESS_CONTROL": "true",
        "EMBEDDING_PROVIDER": "openai_compatible",
        "EMBEDDING_MODEL": "text-embedding-3-small",
        "EMBEDDING_DIMENSIONS": str(dimensions),
        "EMBEDDING_ENDPOINT": url,
        "EMBEDDING_API_KEY": "none",
        "LLM_PROVIDER": "custom",
        "LLM_MODEL": "openai/none",
        "LLM_ENDPOINT": url,
        "LLM_API_KEY": "none",
        "DATA_ROOT_DIRECTORY": str(home / "data"),
        "SYSTEM_ROOT_DIRECTORY": str(home / "system"),
        "CACHE_ROOT_DIRECTORY": str(home / "cache"),
        "COGNEE_LOGS_DIR": str(home / "logs"),
        "LOG_LEVEL": "ERROR",
        "TELEMETRY_DISABLED": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    if tokenizers is not None:
        made["TIKTOKEN_CACHE_DIR"] = tokenizers
    return made


def _tokenizers() -> str | None:
    """Where litellm keeps the tokenizer that it brings, found without importing it."""
    found = find_spec("litellm")
    for place in (found.submodule_search_locations or []) if found else []:
        directory = Path(place) / "litellm_core_utils" / "tokenizers"
        if directory.is_dir():
            return str(directory)
    return None


def _pipeline(chunk_tokens: int) -> list[Any]:
    from cognee.modules.chunking.TextChunker import TextChunker
    from cognee.modules.pipelines.tasks.task import Task
    from cognee.tasks.documents import classify_documents, extract_chunks_from_documents
    from cognee.tasks.storage import add_data_points

    return [
        Task(classify_documents, needs_llm=False),
        Task(
            extract_chunks_from_documents,
            max_chunk_size=chunk_tokens,
            chunker=TextChunker,
            needs_llm=False,
        ),
        Task(add_data_points, needs_llm=False),
    ]


create = CogneeProvider
