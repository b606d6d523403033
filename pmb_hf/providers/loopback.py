"""A small service on loopback that speaks OpenAI's interface, for systems that want one.

``/embeddings`` answers with the vectors of an embedder of this package, so that a
system that only takes a service runs on the same vectors as the others. And
``/chat/completions`` is a stub, for systems that can't store a memory without a
language model: it fills the JSON schema that the request asks for with as little
as the schema allows, and answers "ok" where none is asked for. It understands
nothing; a provider that uses it says ``llm: stub`` in its options.
"""

from __future__ import annotations

import base64
import json
import struct
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .embedding import Embedder

_BODY_LIMIT = 32 * 2**20


class Loopback:
    """The service; it listens on a free port of 127.0.0.1 until it is closed.

    Attributes:
        url: Its base URL, with ``/v1``.
        chats: How many chat completions were asked for.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        """Start it; without an embedder ``/embeddings`` is refused."""
        self.chats = 0
        self._embedder = embedder
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._answer(200, {"object": "list", "data": []})

            def do_POST(self) -> None:
                try:
                    length = int(self.headers.get("content-length", "0"))
                    if not 0 <= length <= _BODY_LIMIT:
                        raise ValueError("the body is too large")
                    body = json.loads(self.rfile.read(length))
                    status, answer = service.answer(self.path, body)
                except Exception as error:  # noqa: BLE001 - the caller gets it as an answer
                    status, answer = 400, _fault(f"{type(error).__name__}: {error}")
                self._answer(status, answer)

            def _answer(self, status: int, body: Mapping[str, Any]) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing: what is asked is part of no log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )
        self._thread.start()

    def answer(self, path: str, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Answer one request: its HTTP status and the body."""
        call = path.partition("?")[0].rstrip("/")
        if call.endswith("/embeddings"):
            return self._vectors(body)
        if call.endswith("/chat/completions"):
            with self._lock:
                self.chats += 1
            return 200, _completion(body)
        return 404, _fault(f"there is no {path}")

    def close(self) -> None:
        """Stop listening; twice is fine."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)

    def _vectors(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        if self._embedder is None:
            return 404, _fault("no embedder here")
        given = body["input"]
        texts: list[str] = [given] if isinstance(given, str) else list(given)
        if not all(isinstance(text, str) for text in texts):
            return 400, _fault("input must be text; token ids are not understood")
        with self._lock:
            vectors = [[float(x) for x in row] for row in self._embedder.embed(texts)]
        packed = body.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": place, "embedding": _pack(row) if packed else row}
            for place, row in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        model = str(body.get("model", self._embedder.name))
        return 200, {"object": "list", "data": data, "model": model, "usage": usage}


def _pack(row: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode()


def _completion(body: Mapping[str, Any]) -> dict[str, Any]:
    asked = body.get("response_format") or {}
    schema = (asked.get("json_schema") or {}).get("schema")
    if isinstance(schema, dict):
        content = json.dumps(fill(schema))
    else:
        content = "{}" if asked.get("type") == "json_object" else "ok"
    message = {"role": "assistant", "content": content}
    return {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 0,
        "model": str(body.get("model", "stub")),
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }


def fill(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, depth: int = 0) -> Any:
    """The least that a JSON schema allows: empty texts and lists, 0, false, the first choice."""
    root = schema if root is None else root
    if depth > 32:
        return None
    if "$ref" in schema:
        target: Any = root
        for part in str(schema["$ref"]).lstrip("#/").split("/"):
            target = target[part]
        return fill(target, root, depth + 1)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return fill(schema[key][0], root, depth + 1)
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        inner = schema.get("properties", {})
        return {name: fill(part, root, depth + 1) for name, part in inner.items()}
    return {"array": [], "string": "", "integer": 0, "number": 0.0, "boolean": False}.get(str(kind))


def _fault(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error"}}
