"""AtomicMemory, as a service that the user runs, over its own HTTP interface (``/v1``).

Read from the client SDK atomicmemory 1.1.4 on PyPI (its provider ``atomicmemory``:
paths, bodies, answers), and from a try-out of the service's source, which the
package indexes do not carry. This adapter itself was never run against the service.

Texts go in verbatim: ``POST /memories/ingest/quick`` with ``skip_extraction``, which
also keeps the metadata and with it the belief id; where a result has none, the id
that the ingestion told is mapped. Search is ``POST /memories/search/fast``.
``threshold`` is its floor on similarity and is always sent; 0.3 is the service's own.
Scores may exceed 1. There is no update: a change is a delete and an ingestion. A
reset is ``POST /memories/reset-source`` for each user. It knows no scopes. What the
service skips is never found, and what it joins is found by each belief: its own doing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote

from .http_calls import Call
from .joined import JoinedIds
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
from .vendor import TOP_K_OPTION, check_floor

URL = "http://localhost:17350"
OPTIONS: tuple[Option, ...] = (
    url_option(URL),
    Option("threshold", float, 0.3, "AtomicMemory's floor on similarity, 0 to 1."),
    TOP_K_OPTION,
    TIMEOUT_OPTION,
    RETRIES_OPTION,
)
INTERFACE = "HTTP v1, as in the client SDK atomicmemory 1.1.4 on PyPI"
SERVICE = f"Run AtomicMemory's server (by default at {URL}); a key goes into $ATOMICMEMORY_API_KEY."


class AtomicMemoryProvider(ServiceStore):
    """AtomicMemory's server; a user of ours is a user of its."""

    system = "atomicmemory"
    key_env = "ATOMICMEMORY_API_KEY"

    def __init__(
        self,
        *,
        url: str = URL,
        threshold: float = 0.3,
        top_k: int | None = None,
        timeout: float = 30.0,
        retries: int = 2,
    ) -> None:
        """Connect to nothing yet; `OPTIONS` says what the options do."""
        check_floor("threshold", threshold)
        super().__init__(
            {
                "url": url,
                "threshold": threshold,
                "top_k": top_k,
                "scope_filter": False,
                "extraction": False,
                "embedder": "the service's own",
                "llm": "none",
            },
            timeout=timeout,
            retries=retries,
        )
        self._threshold = threshold
        self._source = f"pmb-{self._run}"
        self._ids = JoinedIds()
        self._skipped: set[int] = set()  # keys of memories that the service did not store

    def wait_ready(self, *, belief_id: str, user_id: str, timeout_s: float) -> None:
        """As for the others; there is nothing to wait for if the service skipped the memory."""
        if require(self._book, user_id, belief_id).key not in self._skipped:
            super().wait_ready(belief_id=belief_id, user_id=user_id, timeout_s=timeout_s)

    def _clear(self) -> None:
        self._health("/v1/memories/health")
        for user_id, name in list(self._names.items()):
            body = {"user_id": name, "source_site": self._source}
            self._call(Call("POST", "/v1/memories/reset-source", body))
            del self._names[user_id]
        self._ids.clear()
        self._skipped.clear()

    def _write(self, memory: Memory) -> None:
        body = {
            "user_id": self._name(memory.user_id),
            "conversation": memory.text,
            "source_site": self._source,
            "source_url": "",
            "skip_extraction": True,
            "metadata": plain_metadata(memory.metadata, memory.belief_id),
        }
        call = Call("POST", "/v1/memories/ingest/quick", body, repeat=False)
        answer = self._call(call)
        told = answer if isinstance(answer, dict) else {}
        if not isinstance(told.get("stored_memory_ids"), list):
            raise self._bad(call, "the answer has no list stored_memory_ids")
        stored = _texts(told["stored_memory_ids"])
        held = stored or _texts(told.get("updated_memory_ids"))
        if held:
            self._ids.put(memory.key, held[0], alone=bool(stored))
        else:
            self._skipped.add(memory.key)

    def _remove(self, memory: Memory) -> None:
        held = self._ids.sole(memory.key)
        if held is not None:
            path = f"/v1/memories/{quote(str(held), safe='')}"
            user = {"user_id": self._name(memory.user_id)}
            self._call(Call("DELETE", path, params=user), missing_ok=True)
        self._ids.drop(memory.key)
        self._skipped.discard(memory.key)

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        if user_id not in self._names:
            return []
        body = {
            "user_id": self._name(user_id),
            "query": engine_text(query),
            "limit": limit,
            "threshold": self._threshold,
        }
        call = Call("POST", "/v1/memories/search/fast", body)
        hits = []
        for row in self._rows(call, self._call(call), "memories"):
            score = score_in(row, "ranking_score", "score", "semantic_similarity", "similarity")
            keys = self._ids.keys(text_in(row, "id") or "")
            text = text_in(row, "content")
            if len(keys) > 1:
                # One entry that stands for several: a joined text is nobody's own.
                hits += [Hit(self._book.by_key(key).belief_id, score) for key in keys]
                continue
            mapped = self._book.by_key(keys[0]).belief_id if keys else None
            hits.append(Hit(belief_in(row) or mapped, score, text))
        return hits


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


create = AtomicMemoryProvider
