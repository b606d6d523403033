"""YourMemory (package yourmemory), as its own server on loopback, with SQLite.

The server is started here and ends with the provider. Its vectors come from our
embedder. No language model is involved. A memory's scopes are its context paths;
with ``scope_filter`` the server filters by them (what is ``user:universal`` always
passes).

Three things that the system does of its own are kept visible:

- It stores no questions: such a memory is taken note of and is never found.
- It joins a new memory with one that is very like it. A memory that stands for
  several beliefs is a result for each of them; one that was replaced is gone.
- A query with a question mark breaks its search for words, which it only logs; then
  the vectors alone decide.

``threshold`` is the server's ``scoreThreshold``; off, as it comes, its inner floors on
similarity (0.5, else 0.2) still hold. Memory ids are numbers, mapped to belief ids.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

from ..errors import ProviderError
from .children import Child, free_port, open_directory, remove
from .joined import JoinedIds
from .protocol import Hit, Option
from .store import Memory, engine_text, require, scopes_of
from .vendor import (
    EMBEDDER_OPTIONS,
    SCOPE_OPTION,
    TOP_K_OPTION,
    VendorStore,
    check_floor,
    sdk_version,
)

OPTIONS: tuple[Option, ...] = (
    *EMBEDDER_OPTIONS,
    Option("threshold", float, None, "The server's scoreThreshold, 0 to 1; off, as it comes."),
    TOP_K_OPTION,
    SCOPE_OPTION,
)

_START_S = 180.0
_CALL_S = 120.0
_TOP = 500  # the most that the server takes as topK
_IS_QUESTION = "Questions are not stored"


class YourMemoryProvider(VendorStore):
    """YourMemory's server with a database of its own."""

    def __init__(
        self,
        *,
        embedder: str = "wordllama",
        base_url: str | None = None,
        threshold: float | None = None,
        top_k: int | None = None,
        scope_filter: bool = False,
    ) -> None:
        """Start it; `OPTIONS` says what the options do."""
        if threshold is not None:
            check_floor("threshold", threshold)
        super().__init__(
            {
                "embedder": embedder,
                "threshold": threshold,
                "top_k": top_k,
                "scope_filter": scope_filter,
                "database": "sqlite",
                "llm": "none",
            }
        )
        self.version = sdk_version("yourmemory")
        self._threshold = threshold
        self._names: dict[str, str] = {}  # user id -> the server's name for the user
        self._numbers = count()
        self._ids = JoinedIds()
        self._refused: set[int] = set()  # keys of memories that the server doesn't store
        with ExitStack() as stack:
            self._start(stack, embedder, base_url)
            self._open = stack.pop_all()

    def _start(self, stack: ExitStack, embedder: str, base_url: str | None) -> None:
        import httpx

        from .embedding import create_embedder
        from .loopback import Loopback

        home = open_directory("pmb-yourmemory-")
        stack.callback(remove, home)
        vectors = create_embedder(embedder, base_url=base_url)
        stack.callback(vectors.close)
        service = Loopback(vectors)
        stack.callback(service.close)
        port = free_port()
        launcher = Path(__file__).with_name("yourmemory_launch.py")
        # -P: the modules beside the launcher must not stand in for others of their names.
        server = Child(
            [sys.executable, "-P", str(launcher), str(port), service.url],
            home / "server.log",
            variables={
                "HOME": str(home),
                "DATABASE_URL": f"sqlite:///{home}/memories.db",
                "HF_HUB_OFFLINE": "1",
                "NO_PROXY": "127.0.0.1",
            },
            directory=home,
        )
        stack.callback(server.stop)
        self._http = httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=_CALL_S, trust_env=False
        )
        stack.callback(self._http.close)
        server.wait_until(self._is_up, _START_S)

    def _is_up(self) -> bool:
        import httpx

        try:
            return self._http.get("/health").status_code == 200
        except httpx.TransportError:
            return False

    def wait_ready(self, *, belief_id: str, user_id: str, timeout_s: float) -> None:
        """As for the others; there is nothing to wait for if the server refused the memory."""
        if require(self._book, user_id, belief_id).key not in self._refused:
            super().wait_ready(belief_id=belief_id, user_id=user_id, timeout_s=timeout_s)

    def _clear(self) -> None:
        for user_id, name in list(self._names.items()):
            self._checked(self._call("DELETE", f"/users/{name}/memories"))
            del self._names[user_id]
        self._ids.clear()
        self._refused.clear()

    def _write(self, memory: Memory) -> None:
        # Names of ours: the server writes a user as it comes, but reads it in lower case.
        name = self._names.setdefault(memory.user_id, f"pmb-{next(self._numbers)}")
        body = {
            "userId": name,
            "content": memory.text,
            "contextPaths": list(scopes_of(memory.metadata)) or None,
        }
        answer = self._call("POST", "/memories", body)
        if answer.status_code == 422 and _IS_QUESTION in answer.text:
            self._refused.add(memory.key)
            return
        stored = self._checked(answer)
        self._ids.put(memory.key, stored["id"], alone=stored["action"] in ("new", "replace"))

    def _rewrite(self, old: Memory, new: Memory) -> None:
        held = self._ids.sole(old.key)
        if held is None:
            self._remove(old)
            self._write(new)
            return
        body = {"content": new.text}
        user = {"userId": self._names[new.user_id]}
        self._checked(self._call("PUT", f"/memories/{held}", body, user))

    def _remove(self, memory: Memory) -> None:
        self._refused.discard(memory.key)
        held = self._ids.sole(memory.key)
        if held is not None:
            user = {"userId": self._names[memory.user_id]}
            self._checked(self._call("DELETE", f"/memories/{held}", None, user))
        self._ids.drop(memory.key)

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        name = self._names.get(user_id)
        if name is None or scopes == ():
            return []
        body: dict[str, Any] = {
            "userId": name,
            "query": engine_text(query),
            "topK": min(limit, _TOP),
        }
        if self._threshold is not None:
            body["scoreThreshold"] = self._threshold
        if scopes is not None:
            body["scope"] = list(scopes)
        found = self._checked(self._call("POST", "/retrieve", body))["memories"]
        return [hit for result in found for hit in self._hits(result)]

    def _hits(self, result: dict[str, Any]) -> list[Hit]:
        keys = self._ids.keys(result["id"])
        if not keys:
            return [Hit(None, result.get("score"), result["content"])]
        # A joined text is nobody's own, so it isn't told.
        text = result["content"] if len(keys) == 1 else None
        return [Hit(self._book.by_key(key).belief_id, result.get("score"), text) for key in keys]

    def _shut(self) -> None:
        self._open.close()

    def _call(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        query: dict[str, str] | None = None,
    ) -> Any:
        import httpx

        try:
            return self._http.request(method, path, json=body, params=query)
        except httpx.HTTPError as error:
            raise ProviderError(f"yourmemory: {method} {path}: {type(error).__name__}.") from error

    def _checked(self, answer: Any) -> Any:
        if answer.is_error:
            asked = f"{answer.request.method} {answer.request.url.path}"
            raise ProviderError(f"yourmemory: {asked}: {answer.status_code}, {answer.text[:200]}")
        return answer.json()


create = YourMemoryProvider
