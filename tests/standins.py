"""Loopback stand-ins that speak the interfaces of systems that can't be installed here.

All search alike: by the number of words that a text shares with the query, texts with
equal numbers by the text. `WordsProvider` does the same in this process, so that a whole
run through a stand-in can be held against a run without one. Each records its calls.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import unquote

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from servers import listening

from pmb_hf.providers.protocol import Hit


def words(text: str) -> set[str]:
    """The words of a text, in lower case."""
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def rank(query: str, texts: Iterable[tuple[Any, str]], limit: int) -> list[tuple[Any, str, int]]:
    """(whose, text, number of shared words), the best first; those that share none are left out."""
    asked = words(query)
    found = [(who, text, len(asked & words(text))) for who, text in texts]
    return sorted((row for row in found if row[2]), key=lambda row: (-row[2], row[1]))[:limit]


class WordsProvider:
    """The same search in this process."""

    def __init__(self, title: Callable[[Mapping[str, Any], str], str] | None = None) -> None:
        self._title = title or (lambda metadata, text: text)
        self._texts: dict[tuple[str, str], str] = {}

    def reset(self) -> None:
        self._texts.clear()

    def add(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        self._texts[user_id, belief_id] = self._title(metadata, text)

    update = add

    def search(self, *, query: str, user_id: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        mine = [(who, text) for (user, who), text in self._texts.items() if user == user_id]
        return [Hit(who, float(score), None) for who, _, score in rank(query, mine, limit)]


@dataclass(frozen=True)
class Recorded:
    """One call as it came in; the body of a call without one is its query parameters."""

    name: str
    body: Any
    authorization: str | None


Answer = tuple[int, Any]


class ServiceStandin:
    """A service that records its calls; ``key`` is the bearer token that it wants, if any.

    ``fail`` maps the start of a call's name to the code, content type and body that it
    gets instead.
    """

    prefix: ClassVar[str] = ""

    def __init__(self) -> None:
        self.calls: list[Recorded] = []
        self.fail: dict[str, tuple[int, str, str]] = {}
        self.key: str | None = None
        self.numbers = itertools.count(1)
        self.url = ""
        self.app = FastAPI()

        @self.app.api_route("/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
        async def dispatch(path: str, request: Request) -> Response:
            raw = await request.body()
            body = json.loads(raw) if raw else dict(request.query_params)
            name = f"{request.method} /{path}"
            authorization = request.headers.get("authorization")
            self.calls.append(Recorded(name, body, authorization))
            for start, (code, kind, text) in self.fail.items():
                if name.startswith(start):
                    return Response(text, code, media_type=kind)
            if self.key is not None and authorization != f"Bearer {self.key}":
                return JSONResponse({"error": f"unauthorized: {authorization}"}, 401)
            code, answer = self.answer(request.method, unquote(path), body)
            return Response(status_code=code) if answer is None else JSONResponse(answer, code)

    def answer(self, method: str, path: str, body: Any) -> Answer:
        raise NotImplementedError

    def bodies(self, start: str) -> list[Any]:
        """The bodies of all calls whose names start so."""
        return [call.body for call in self.calls if call.name.startswith(start)]

    def names(self) -> list[str]:
        """The names of all calls."""
        return [call.name for call in self.calls]

    @contextmanager
    def serve(self) -> Iterator[ServiceStandin]:
        """Listen on a port of its own."""
        with listening(self.app) as url:
            self.url = url + self.prefix
            yield self


class Supermemory(ServiceStandin):
    """The documents, the search of documents and the search of memories.

    ``status`` gives the statuses that a document passes through, one a look.
    ``extracts`` says how many memories the service makes of a document.
    """

    def __init__(self) -> None:
        super().__init__()
        self.documents: dict[str, dict[str, Any]] = {}
        self.status: tuple[str, ...] = ("done",)
        self.looks: dict[str, Iterator[str]] = {}
        self.inherits = True
        self.extracts = 1

    def answer(self, method: str, path: str, body: Any) -> Answer:
        match method, path.split("/"):
            case "POST", ["v3", "documents"]:
                return self._put(f"doc{next(self.numbers)}", body)
            case "DELETE", ["v3", "documents", "bulk"]:
                gone = [self.documents.pop(own, None) for own in body["ids"][:100]]
                deleted = len([row for row in gone if row is not None])
                return 200, {"success": deleted == len(body["ids"]), "deletedCount": deleted}
            case "PATCH", ["v3", "documents", own] if own in self.documents:
                return self._put(own, body)
            case "DELETE", ["v3", "documents", own] if own in self.documents:
                del self.documents[own]
                return 204, None
            case "GET", ["v3", "documents", own] if own in self.documents:
                status = next(self.looks[own], self.status[-1])
                return 200, {**self.documents[own], "id": own, "status": status}
            case "POST", ["v3", "search"]:
                return 200, {"results": [self._chunk(*row) for row in self._search(body)]}
            case "POST", ["v4", "search"]:
                rows = [self._memory(*row) for row in self._search(body)]
                return 200, {"results": [row for row in rows for _ in range(self.extracts)]}
        return 404, {"error": "Not found"}

    def _put(self, own: str, body: Any) -> Answer:
        self.documents[own] = body
        self.looks[own] = iter(self.status)
        return 200, {"id": own, "status": "queued"}

    def _search(self, body: Any) -> list[tuple[str, str, int]]:
        wanted = [rule["value"] for rule in body.get("filters", {}).get("OR", ())]
        mine = [
            (own, row["content"])
            for own, row in self.documents.items()
            if row["containerTag"] == body["containerTag"]
            and (not wanted or set(wanted) & set(row["metadata"]["scope"]))
        ]
        return rank(body["q"], mine, body["limit"])

    def _chunk(self, own: str, text: str, score: int) -> dict[str, Any]:
        return {
            "documentId": own,
            "score": score / 100,
            "metadata": self.documents[own]["metadata"],
            "chunks": [{"content": text, "isRelevant": True, "score": score / 100}],
        }

    def _memory(self, own: str, text: str, score: int) -> dict[str, Any]:
        return {
            "id": f"memory-of-{own}",
            "memory": f"The user: {text}",
            "similarity": score / 100,
            "metadata": self.documents[own]["metadata"] if self.inherits else None,
            "documents": [{"id": own, "createdAt": "", "updatedAt": ""}],
        }


class AgentMemory(ServiceStandin):
    """remember, forget, search, health; alike memories of a project replace each other."""

    def __init__(self) -> None:
        super().__init__()
        self.memories: dict[str, dict[str, Any]] = {}

    def answer(self, method: str, path: str, body: Any) -> Answer:
        match method, path:
            case "GET", "agentmemory/health":
                return 200, {"status": "healthy", "service": "agentmemory", "version": "0.9.29"}
            case "POST", "agentmemory/remember":
                return 201, {"success": True, "memory": self._remember(body)}
            case "POST", "agentmemory/forget":
                gone = self.memories.pop(body["memoryId"], None)
                return 200, {"success": True, "deleted": int(gone is not None)}
            case "POST", "agentmemory/search":
                return 200, {"format": body["format"], "results": self._search(body)}
        return 404, {"error": "Not found"}

    def _remember(self, body: Any) -> dict[str, Any]:
        new = words(body["content"])
        supersedes = []
        for own, row in self.memories.items():
            old = words(row["content"])
            alike = len(new & old) / len(new | old) > 0.7
            if alike and row["isLatest"] and row["project"] == body["project"]:
                row["isLatest"] = False
                supersedes = [own]
                break
        own = f"mem_{next(self.numbers)}"
        self.memories[own] = {**body, "id": own, "isLatest": True, "supersedes": supersedes}
        return self.memories[own]

    def _search(self, body: Any) -> list[dict[str, Any]]:
        mine = [
            (own, row["content"])
            for own, row in self.memories.items()
            if row["isLatest"] and row["agentId"] == body["agentId"]
        ]
        return [
            {"obsId": own, "title": text[:80], "narrative": text, "score": float(score)}
            for own, text, score in rank(body["query"], mine, min(body["limit"], 100))
        ]


class AtomicMemory(ServiceStandin):
    """Quick ingestion without extraction, fast search, deletion, reset of a source.

    ``joins`` makes it answer an alike text as an update of the memory that is there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.memories: dict[str, dict[str, Any]] = {}
        self.keeps_metadata = True
        self.joins = False
        self.skips: tuple[str, ...] = ()

    def answer(self, method: str, path: str, body: Any) -> Answer:
        match method, path.split("/"):
            case "GET", ["v1", "memories", "health"]:
                return 200, {"status": "ok"}
            case "POST", ["v1", "memories", "ingest", "quick"]:
                return 200, self._ingest(body)
            case "POST", ["v1", "memories", "reset-source"]:
                mine = [
                    own
                    for own, row in self.memories.items()
                    if (row["user_id"], row["source_site"])
                    == (body["user_id"], body["source_site"])
                ]
                for own in mine:
                    del self.memories[own]
                return 200, {"success": True, "deleted_memories": len(mine), "deleted_episodes": 0}
            case "DELETE", ["v1", "memories", own]:
                row = self.memories.get(own)
                if row is None or row["user_id"] != body["user_id"]:
                    return 404, {"error": "Memory not found"}
                del self.memories[own]
                return 204, None
            case "POST", ["v1", "memories", "search", "fast"]:
                return 200, self._search(body)
        return 404, {"error": "Not found"}

    def _ingest(self, body: Any) -> dict[str, Any]:
        assert body["skip_extraction"] is True
        if body["conversation"] in self.skips:
            return {"stored_memory_ids": [], "updated_memory_ids": [], "memories_skipped": 1}
        for own, row in self.memories.items():
            if self.joins and words(row["conversation"]) & words(body["conversation"]):
                row["conversation"] += " " + body["conversation"]
                return {"stored_memory_ids": [], "updated_memory_ids": [own]}
        own = f"0198-{next(self.numbers)}"
        self.memories[own] = dict(body)
        return {"stored_memory_ids": [own], "updated_memory_ids": []}

    def _search(self, body: Any) -> dict[str, Any]:
        mine = [
            (own, row["conversation"])
            for own, row in self.memories.items()
            if row["user_id"] == body["user_id"]
        ]
        rows = [
            {
                "id": own,
                "content": text,
                "similarity": min(1.0, score / 10),
                "score": score * 1.5,
                **({"metadata": self.memories[own]["metadata"]} if self.keeps_metadata else {}),
            }
            for own, text, score in rank(body["query"], mine, body["limit"])
        ]
        return {"count": len(rows), "retrieval_mode": "flat", "memories": rows}


Message = dict[str, Any]


class ChatModel(ServiceStandin):
    """An OpenAI-compatible endpoint whose model picks the files whose lines share a word.

    ``script`` replaces what the model says: it is given the messages.
    """

    prefix = "/v1"

    def __init__(self) -> None:
        super().__init__()
        self.lists_models = True
        self.script: Callable[[list[Message]], Message] = picks_by_words

    def answer(self, method: str, path: str, body: Any) -> Answer:
        if (method, path) == ("GET", "v1/models") and self.lists_models:
            return 200, {"object": "list", "data": [{"id": "stub", "object": "model"}]}
        if (method, path) != ("POST", "v1/chat/completions"):
            return 404, {"error": {"message": "Not found"}}
        assert [tool["function"]["name"] for tool in body["tools"]] == ["list_files", "read_file"]
        said = self.script(body["messages"])
        reason = said.pop("finish_reason", "tool_calls" if said.get("tool_calls") else "stop")
        choice = {"index": 0, "message": {"role": "assistant", **said}, "finish_reason": reason}
        return 200, {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]}


def tool_call(name: str, number: int = 0, **arguments: Any) -> Message:
    """A call of a tool as a model gives it."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{name}_{number}", "type": "function", "function": function}


def picks_by_words(messages: list[Message]) -> Message:
    """List the files, read those whose title shares a word with the question, be done."""
    told = [message for message in messages if message["role"] == "tool"]
    if not told:
        return {"content": None, "tool_calls": [tool_call("list_files")]}
    if len(told) > 1:
        return {"content": "DONE"}
    lines = [line.partition(" - ") for line in told[0]["content"].splitlines()]
    found = rank(messages[1]["content"], [(path, title) for path, _, title in lines], 99)
    calls = [tool_call("read_file", number, path=row[0]) for number, row in enumerate(found)]
    return {"content": None, "tool_calls": calls} if calls else {"content": "DONE"}
