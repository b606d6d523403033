"""agentmemory (npm @agentmemory/agentmemory), as a service that the user runs, over its REST.

Read from version 0.9.29 of the npm package: the table of endpoints in its README, and
the functions behind them in its ``dist``. Its server needs an engine that is fetched
from outside the package indexes, so this adapter was never run against it.

- Writing is ``POST /agentmemory/remember``. A user is both its agent, by which a search
  filters, and its project: a memory that is very like an older one of the same project
  replaces it there. What was replaced so is found no more; that is the system's doing.
- Searching is ``POST /agentmemory/search`` (``format: narrative``), which gives at most
  100 and has no floor on similarity. Ids are the service's own, and mapped.
- A change is a delete and a write: ``/evolve`` leaves the new text out of the index.
- A reset forgets one by one all that was written, what was replaced included.

It knows no scopes. Whether vectors take part in a search is the server's setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .http_calls import Call
from .protocol import Hit, Option
from .service_store import (
    RETRIES_OPTION,
    TIMEOUT_OPTION,
    ServiceStore,
    score_in,
    text_in,
    url_option,
)
from .store import Memory, engine_text, require
from .vendor import TOP_K_OPTION

URL = "http://localhost:3111"
OPTIONS: tuple[Option, ...] = (url_option(URL), TOP_K_OPTION, TIMEOUT_OPTION, RETRIES_OPTION)
INTERFACE = "the REST interface of npm @agentmemory/agentmemory 0.9.29"
SERVICE = (
    f"Run `npx @agentmemory/agentmemory` (by default at {URL}); a secret goes into "
    "$AGENTMEMORY_SECRET."
)

_TOP = 100  # the most that the server gives


class AgentMemoryProvider(ServiceStore):
    """agentmemory's server; a user of ours is an agent and a project of its."""

    system = "agentmemory"
    key_env = "AGENTMEMORY_SECRET"

    def __init__(
        self,
        *,
        url: str = URL,
        top_k: int | None = None,
        timeout: float = 30.0,
        retries: int = 2,
    ) -> None:
        """Connect to nothing yet; `OPTIONS` says what the options do."""
        super().__init__(
            {
                "url": url,
                "threshold": None,
                "top_k": top_k,
                "scope_filter": False,
                "embedder": "the service's own",
                "llm": "none",
            },
            timeout=timeout,
            retries=retries,
        )
        self._keys: dict[str, int] = {}  # the service's id -> our memory
        self._held: dict[int, str] = {}
        self._replaced: set[int] = set()

    def wait_ready(self, *, belief_id: str, user_id: str, timeout_s: float) -> None:
        """As for the others; there is nothing to wait for if the server replaced the memory."""
        if require(self._book, user_id, belief_id).key not in self._replaced:
            super().wait_ready(belief_id=belief_id, user_id=user_id, timeout_s=timeout_s)

    def _clear(self) -> None:
        self.version = text_in(self._health("/agentmemory/health"), "version")
        for key in list(self._held):
            self._forget(key)
        self._names.clear()

    def _write(self, memory: Memory) -> None:
        name = self._name(memory.user_id)
        body = {"content": memory.text, "agentId": name, "project": name}
        call = Call("POST", "/agentmemory/remember", body, repeat=False)
        answer = self._call(call)
        stored = self._text(call, answer, "memory", "id")
        replaced = answer["memory"].get("supersedes")
        for older in replaced if isinstance(replaced, list) else []:
            if older in self._keys:
                self._replaced.add(self._keys[older])
        self._keys[stored] = memory.key
        self._held[memory.key] = stored

    def _remove(self, memory: Memory) -> None:
        self._forget(memory.key)

    def _forget(self, key: int) -> None:
        if key in self._held:
            held = self._held[key]
            self._call(Call("POST", "/agentmemory/forget", {"memoryId": held}))
            del self._held[key], self._keys[held]
        self._replaced.discard(key)

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        if user_id not in self._names:
            return []
        name = self._name(user_id)
        body = {
            "query": engine_text(query),
            "limit": min(limit, _TOP),
            "format": "narrative",
            "agentId": name,
            "project": name,
        }
        call = Call("POST", "/agentmemory/search", body)
        hits = []
        for row in self._rows(call, self._call(call), "results"):
            key = self._keys.get(text_in(row, "obsId") or "")
            found = None if key is None else self._book.by_key(key).belief_id
            hits.append(Hit(found, score_in(row, "score"), text_in(row, "narrative")))
        return hits


create = AgentMemoryProvider
