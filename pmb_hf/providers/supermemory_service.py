"""Supermemory, hosted or run by the user, over its HTTP interface.

Read from the public SDK, npm supermemory 4.25.4 (``src/resources``: documents, search;
``src/client.ts``: bearer key, addresses). Neither the hosted service nor the local
server, which the package only launches, could be run here.

A memory is a document: ``POST /v3/documents``, ``PATCH`` and ``DELETE`` by the id that
it answered. Documents are worked on in the background: `wait_ready` asks for the status
of each until it is done. A user is a container tag.

``search_mode`` says what is searched. ``memories`` (the service's default) and ``hybrid``
ask ``POST /v4/search`` for what the service's model made of the documents; a result is
given the belief id in its metadata, else the ids of its documents, of which there may be
several. ``documents`` asks ``POST /v3/search`` for the documents themselves.
``threshold`` is the floor of the mode (``threshold``, or ``chunkThreshold`` for
documents); if it is off, the service's own holds. ``scope_filter`` sends a filter on the
metadata. A reset deletes all documents that were written, 100 a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from ..errors import InputError, ProviderError
from .http_calls import Call
from .patience import Patience, wait_until
from .protocol import Hit, Option
from .service_store import (
    RETRIES_OPTION,
    TIMEOUT_OPTION,
    ServiceStore,
    belief_in,
    plain_metadata,
    score_in,
    text_in,
    url_option,
)
from .store import Memory, engine_text, require
from .vendor import SCOPE_OPTION, TOP_K_OPTION, check_floor

MODES = ("memories", "hybrid", "documents")
OPTIONS: tuple[Option, ...] = (
    url_option(None),
    Option("search_mode", str, "memories", "What is searched: memories, hybrid or documents."),
    Option("threshold", float, None, "The floor on similarity, 0 to 1; off: the service's own."),
    Option("rerank", bool, False, "Let the service put the results in order once more."),
    TOP_K_OPTION,
    SCOPE_OPTION,
    TIMEOUT_OPTION,
    RETRIES_OPTION,
)
INTERFACE = "HTTP v3 (documents, search) and v4 (search), as in the SDK npm supermemory 4.25.4"
SERVICE = (
    "Give the option url: https://api.supermemory.ai, which needs a key in "
    "$SUPERMEMORY_API_KEY, or a local server (`npx supermemory local`, http://localhost:8787)."
)

_BULK = 100


class SupermemoryProvider(ServiceStore):
    """Supermemory; a user of ours is a container tag, a memory a document."""

    system = "supermemory"
    key_env = "SUPERMEMORY_API_KEY"

    def __init__(
        self,
        *,
        url: str | None = None,
        search_mode: str = "memories",
        threshold: float | None = None,
        rerank: bool = False,
        top_k: int | None = None,
        scope_filter: bool = False,
        timeout: float = 30.0,
        retries: int = 2,
    ) -> None:
        """Connect to nothing yet; `OPTIONS` says what the options do."""
        if url is None:
            raise InputError(f"provider 'supermemory' needs the option url. {SERVICE}")
        if search_mode not in MODES:
            raise InputError(
                f"option search_mode is {search_mode!r}: give one of {', '.join(MODES)}."
            )
        if threshold is not None:
            check_floor("threshold", threshold)
        super().__init__(
            {
                "url": url,
                "search_mode": search_mode,
                "threshold": threshold,
                "rerank": rerank,
                "top_k": top_k,
                "scope_filter": scope_filter,
                "embedder": "the service's own",
                "llm": "the service's own",
            },
            timeout=timeout,
            retries=retries,
        )
        self._mode, self._threshold, self._rerank = search_mode, threshold, rerank
        self._documents: dict[int, str] = {}
        self._keys: dict[str, int] = {}
        self._pending: dict[int, None] = {}

    def wait_ready(self, *, belief_id: str, user_id: str, timeout_s: float) -> None:
        """Return once the service is done with all documents that were written so far.

        Raises:
            NotReadyError: It was not within ``timeout_s`` seconds.
            ProviderError: It gave a document up.
        """
        require(self._book, user_id, belief_id)
        wait_until(
            self._unfinished,
            Patience(timeout_s),
            lambda seconds: (
                f"supermemory: memory {belief_id!r} was written, but its document was not done "
                f"after {seconds:g} s: give it more time with --ready-timeout."
            ),
        )

    def _unfinished(self) -> str | None:
        """What to say of the first belief whose document is not done; None if all are."""
        with self._lock:
            for key in list(self._pending):
                call = Call("GET", self._path(key))
                status = self._text(call, self._call(call), "status")
                belief_id = self._book.by_key(key).belief_id
                if status == "failed":
                    raise ProviderError(
                        f"supermemory: the document of memory {belief_id!r} failed."
                    )
                if status != "done":
                    return f" The document of {belief_id!r} is still {status!r}."
                del self._pending[key]
        return None

    def _clear(self) -> None:
        written = list(self._documents)
        for start in range(0, len(written), _BULK):
            part = written[start : start + _BULK]
            body = {"ids": [self._documents[key] for key in part]}
            call = Call("DELETE", "/v3/documents/bulk", body)
            answer = self._call(call)
            if not isinstance(answer, dict) or answer.get("success") is not True:
                raise self._bad(call, "the answer does not say that all documents are deleted")
            for key in part:
                self._let_go(key)
        self._names.clear()

    def _write(self, memory: Memory) -> None:
        call = Call("POST", "/v3/documents", self._body(memory), repeat=False)
        document = self._text(call, self._call(call), "id")
        self._documents[memory.key] = document
        self._keys[document] = memory.key
        self._pending[memory.key] = None

    def _rewrite(self, old: Memory, new: Memory) -> None:
        if new.key not in self._documents:
            self._write(new)
            return
        self._call(Call("PATCH", self._path(new.key), self._body(new)))
        self._pending[new.key] = None

    def _remove(self, memory: Memory) -> None:
        if memory.key in self._documents:
            self._call(Call("DELETE", self._path(memory.key)), missing_ok=True)
            self._let_go(memory.key)

    def _let_go(self, key: int) -> None:
        self._keys.pop(self._documents.pop(key), None)
        self._pending.pop(key, None)

    def _path(self, key: int) -> str:
        return f"/v3/documents/{quote(self._documents[key], safe='')}"

    def _body(self, memory: Memory) -> dict[str, Any]:
        return {
            "content": memory.text,
            "containerTag": self._name(memory.user_id),
            "metadata": plain_metadata(memory.metadata, memory.belief_id),
        }

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        if user_id not in self._names or scopes == ():
            return []
        documents = self._mode == "documents"
        body: dict[str, Any] = {
            "q": engine_text(query),
            "containerTag": self._name(user_id),
            "limit": limit,
            "rerank": self._rerank,
        }
        if self._threshold is not None:
            body["chunkThreshold" if documents else "threshold"] = self._threshold
        if scopes is not None:
            body["filters"] = {"OR": [_in_scope(scope) for scope in scopes]}
        if not documents:
            body |= {"searchMode": self._mode, "include": {"documents": True}}
        call = Call("POST", "/v3/search" if documents else "/v4/search", body)
        rows = self._rows(call, self._call(call), "results")
        return [hit for row in rows for hit in self._hits(row)]

    def _hits(self, row: dict[str, Any]) -> list[Hit]:
        score = score_in(row, "similarity", "score")
        # A text that the service made or cut out is not the memory's own, so it isn't told.
        sources = row.get("documents") if isinstance(row.get("documents"), list) else []
        named = [text_in(row, "documentId"), *(text_in(it, "id") for it in sources or [] if it)]
        known = [self._keys[name] for name in named if name in self._keys]
        if belief_in(row) is not None or not known:
            return [Hit(belief_in(row), score)]
        return [Hit(self._book.by_key(key).belief_id, score) for key in dict.fromkeys(known)]


def _in_scope(scope: str) -> dict[str, str]:
    return {"filterType": "array_contains", "key": "scope", "value": scope}


create = SupermemoryProvider
