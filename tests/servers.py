"""Real servers for tests: a service that keeps to the contract, and one that keeps to nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.providers.protocol import Provider

SNAKE = {"superseded_by"}


@dataclass
class Traits:
    """What a service is like; all of it may be changed while it runs.

    ``ids`` says where results carry the belief id: ``id``, ``metadata``,
    ``snake`` (metadata.belief_id), ``own`` (only the service's own id, which
    ``/add`` answers) or ``none``. ``answers_add`` is ``id``, ``results`` or ``nothing``.
    ``fail`` maps the number of a search to the answer that it gets instead, ``hang``
    to the seconds that it takes.
    """

    ids: str = "id"
    answers_add: str = "id"
    texts: bool = True
    update: bool = True
    delete: bool = True
    wait: bool = False
    health: Mapping[str, Any] | None = field(default_factory=lambda: {"version": "7.1"})
    visible_after_s: float = 0.0
    resets: bool = True
    ignores_user: bool = False
    repeats: int = 1
    limit_param: str = "limit"
    prefix: str = ""
    authorization: str | None = None
    fail: dict[int, tuple[int, dict[str, str], str]] = field(default_factory=dict)
    hang: dict[int, float] = field(default_factory=dict)


class Standin:
    """A service over one of our engines, as somebody else would write it."""

    def __init__(self, traits: Traits, engine: Provider | None = None) -> None:
        self.traits = traits
        self.engine: Any = engine or Fts5Provider()
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.clients: set[tuple[str, int]] = set()
        self.searches = 0
        self.users: dict[str, dict[str, Any]] = {}
        self.own: dict[tuple[str, str], str] = {}
        self.pending: list[tuple[float, Callable[[], None]]] = []
        self.url = ""
        self.app = FastAPI()
        routes: dict[str, Any] = {
            "POST /add": self.add,
            "POST /search": self.search,
            "DELETE /reset": self.reset,
            "PUT /update": self.update,
            "DELETE /delete": self.delete,
            "POST /wait": self.wait,
            "GET /health": self.health,
        }

        @self.app.api_route("/{path:path}", methods=["GET", "POST", "PUT", "DELETE"])
        async def dispatch(path: str, request: Request) -> Response:
            assert request.client is not None
            self.clients.add((request.client.host, request.client.port))
            name = f"{request.method} /{path}".replace(self.traits.prefix, "", 1)
            raw = await request.body()
            body = json.loads(raw) if raw else dict(request.query_params)
            self.calls.append((name, body))
            wanted = self.traits.authorization
            if wanted is not None and request.headers.get("authorization") != wanted:
                seen = request.headers.get("authorization")
                return JSONResponse({"error": f"refused: {seen}"}, 401)
            absent = {
                "PUT /update": not self.traits.update,
                "DELETE /delete": not self.traits.delete,
                "POST /wait": not self.traits.wait,
                "GET /health": self.traits.health is None,
            }
            if name not in routes or absent.get(name):
                return JSONResponse({"detail": "Not Found"}, 404)
            answer: Response = await routes[name](body)
            return answer

    def names(self, name: str) -> list[dict[str, Any]]:
        """The bodies of all calls of one name."""
        return [body for called, body in self.calls if called == name]

    def _settle(self) -> None:
        now = time.monotonic()
        ready = [job for due, job in self.pending if due <= now]
        self.pending = [(due, job) for due, job in self.pending if due > now]
        for job in ready:
            job()

    def _write(self, body: dict[str, Any]) -> Response:
        metadata = dict(body["metadata"])
        belief_id, user_id = metadata["beliefId"], body["user_id"]
        own = self.own.setdefault((user_id, belief_id), f"mem-{len(self.own) + 1}")

        def store() -> None:
            self.engine.add(
                belief_id=belief_id,
                user_id=user_id,
                text=body["text"],
                aliases=body["aliases"],
                metadata={k: v for k, v in metadata.items() if k not in SNAKE},
            )
            self.users.setdefault(user_id, {})[belief_id] = True

        if self.traits.visible_after_s:
            self.pending.append((time.monotonic() + self.traits.visible_after_s, store))
        else:
            store()
        shown = own if self.traits.ids == "own" else belief_id
        if self.traits.answers_add == "results":
            return JSONResponse({"results": [{"id": shown, "event": "ADD"}]})
        if self.traits.answers_add == "nothing":
            return Response(status_code=204)
        return JSONResponse({"id": shown})

    async def add(self, body: dict[str, Any]) -> Response:
        return self._write(body)

    async def update(self, body: dict[str, Any]) -> Response:
        return self._write(body)

    async def delete(self, body: dict[str, Any]) -> Response:
        user_id, memory = body["user_id"], body["id"]
        names = {own: key[1] for key, own in self.own.items() if key[0] == user_id}
        self.engine.delete(belief_id=names.get(memory, memory), user_id=user_id)
        return JSONResponse({"status": "ok"})

    async def reset(self, body: dict[str, Any]) -> Response:
        if self.traits.resets:
            self.engine.reset()
            self.pending.clear()
            self.users.clear()
        return JSONResponse({"status": "ok"})

    async def wait(self, body: dict[str, Any]) -> Response:
        while self.pending:
            await asyncio.sleep(0.01)
            self._settle()
        return JSONResponse({"status": "ok"})

    async def health(self, body: dict[str, Any]) -> Response:
        return JSONResponse(self.traits.health)

    async def search(self, body: dict[str, Any]) -> Response:
        traits = self.traits
        self.searches += 1
        number = self.searches
        await asyncio.sleep(traits.hang.get(number, 0.0))
        if number in traits.fail:
            code, headers, text = traits.fail[number]
            return Response(text, code, headers)
        self._settle()
        scope = body["scope"]
        users = list(self.users) if traits.ignores_user else [body["user_id"]]
        rows = [
            self._row(user, hit)
            for user in users
            for hit in self.engine.search(
                query=body["query"],
                user_id=user,
                scopes=[scope] if isinstance(scope, str) else scope,
                limit=body[traits.limit_param],
            )
        ]
        return JSONResponse({"results": rows * traits.repeats})

    def _row(self, user: str, hit: Any) -> dict[str, Any]:
        ids, own = self.traits.ids, self.own.get((user, hit.id))
        metadata = dict(hit.metadata)
        if ids != "metadata":
            del metadata["beliefId"]
        if ids == "snake":
            metadata["belief_id"] = hit.id
        return {
            "id": {"id": hit.id, "none": None}.get(ids, own),
            "memory": hit.text if self.traits.texts else None,
            "score": hit.score,
            "metadata": metadata,
        }


@contextmanager
def listening(app: FastAPI) -> Iterator[str]:
    """Serve an app on a port of its own; gives its URL."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as sock:
        # asyncio does so only for sockets that name their protocol; without it each answer, which
        # is sent in two pieces, waits 40 ms for the acknowledgement of the first.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{sock.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def standin(engine: Provider | None = None, **traits: Any) -> Iterator[Standin]:
    """A well-behaved service with the given traits, on a port of its own."""
    service = Standin(Traits(**traits), engine)
    with listening(service.app) as url:
        service.url = f"{url}{service.traits.prefix}"
        yield service


# --- the other one ----------------------------------------------------------------------------

Attack = Callable[["Wire"], None]
OK_BODY = b'{"results": [{"id": "b-1", "memory": "fine", "score": 1.0, "metadata": {}}]}'


class HangUp(OSError):
    """Ends the conversation."""


@dataclass
class Wire:
    """The server's end of one connection, after a request has come."""

    sock: socket.socket
    path: str
    stop: threading.Event
    port: int

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.sock.sendall(part)

    def answer(
        self, body: bytes, code: str = "200 OK", kind: str = "application/json", *extra: str
    ) -> None:
        """A whole answer, framed as it should be."""
        lines = [f"HTTP/1.1 {code}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
        self.send("\r\n".join([*lines, *extra, "", ""]).encode() + body)

    def chunks(self, parts: Iterator[bytes], pause: float = 0.0) -> None:
        """A chunked body, part by part, until the other side has had enough."""
        self.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in parts:
            if self.stop.wait(pause) if pause else self.stop.is_set():
                return
            self.send(b"%x\r\n%b\r\n" % (len(part), part))

    def close(self, *, reset: bool = False) -> None:
        """Close the connection, in good order or not."""
        if reset:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise HangUp


def _drip_headers(wire: Wire) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\nX: ")
    while not wire.stop.wait(0.01):
        wire.send(b"a")


def _endless_headers(wire: Wire) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\n")
    while not wire.stop.is_set():
        wire.send(b"X-More: " + b"a" * 1000 + b"\r\n")


def _endless_continue(wire: Wire) -> None:
    while not wire.stop.is_set():
        wire.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 10)
        time.sleep(0.001)


def _reset_mid_body(wire: Wire) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + OK_BODY[:20])
    time.sleep(0.01)
    wire.close(reset=True)


def _close_mid_body(wire: Wire) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + OK_BODY)
    wire.close()


def _without_end(wire: Wire) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while not wire.stop.is_set():
        wire.send(b"[" * 65536)


def _short_length(wire: Wire) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n" + OK_BODY)


def _two_answers(wire: Wire) -> None:
    # The second one waits for a question that has not been asked.
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(OK_BODY)
    wire.send((head + OK_BODY) * 2)


def _row(row: str) -> Attack:
    body = b'{"results": [{"id": "b-1"}, ' + row.encode() + b"]}"
    return lambda wire: wire.answer(body)


def _body(body: bytes, kind: str = "application/json") -> Attack:
    return lambda wire: wire.answer(body, "200 OK", kind)


def _zipped(body: bytes, encoding: str = "gzip") -> Attack:
    extra = f"Content-Encoding: {encoding}"
    return lambda wire: wire.answer(body, "200 OK", "application/json", extra)


def _away(target: str, code: str = "307 Temporary Redirect") -> Attack:
    return lambda wire: wire.answer(b"", code, "text/plain", f"Location: {target}")


_BOMB = gzip.compress(b" " * (8 * 2**20))
_BOMB_IN_BOMB = gzip.compress(_BOMB)

ATTACKS: dict[str, tuple[str, Attack]] = {
    "drips its body": ("timeout", lambda w: w.chunks(itertools.repeat(b" "), 0.01)),
    "drips its headers": ("timeout", _drip_headers),
    "says nothing": ("timeout", lambda w: w.stop.wait(30) and None),
    "says 100 for ever": ("timeout", _endless_continue),
    "has headers without end": ("bad_answer", _endless_headers),
    "has chunks without end": ("too_large", lambda w: w.chunks(itertools.repeat(b"[" * 4096))),
    "has a body without end": ("too_large", _without_end),
    "announces 30 MB": (
        "too_large",
        lambda w: w.send(b"HTTP/1.1 200 OK\r\nContent-Length: 30000000\r\n\r\n[[["),
    ),
    "is a gzip bomb": ("too_large", _zipped(_BOMB)),
    "is a bomb in a bomb": ("bad_answer", _zipped(_BOMB_IN_BOMB, "gzip, gzip")),
    "is no gzip": ("bad_answer", _zipped(OK_BODY)),
    "is half a gzip": ("bad_answer", _zipped(gzip.compress(OK_BODY)[:-12])),
    "is packed in another way": ("bad_answer", _zipped(OK_BODY, "br")),
    "resets in its body": ("connection_error", _reset_mid_body),
    "closes in its body": ("connection_error", _close_mid_body),
    "closes without a word": ("connection_error", lambda w: w.close()),
    "resets without a word": ("connection_error", lambda w: w.close(reset=True)),
    "has a length too short": ("bad_answer", _short_length),
    "has no HTTP": ("bad_answer", lambda w: w.send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")),
    "has a wrong length": (
        "bad_answer",
        lambda w: w.send(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n" + OK_BODY),
    ),
    "is HTML": ("bad_answer", _body(b"<!doctype html>\n<p>Sign in</p>", "text/html")),
    "is empty": ("bad_answer", _body(b"")),
    "is half JSON": ("bad_answer", _body(OK_BODY[:-3])),
    "is latin-1": ("bad_answer", _body(b'{"results": [{"id": "b\xe9"}]}')),
    "holds NaN": ("bad_answer", _row('{"id": "b-2", "score": NaN}')),
    "holds infinity": ("bad_answer", _row('{"id": "b-2", "score": 1e999}')),
    "holds a huge number": ("bad_answer", _row('{"id": "b-2", "score": ' + "9" * 5000 + "}")),
    "is nested deeply": ("bad_answer", _body(b"[" * 100_000 + b"]" * 100_000)),
    "is a list": ("bad_answer", _body(b"[]")),
    "has results in words": ("bad_answer", _body(b'{"results": "none"}')),
    "has null results": ("bad_answer", _body(b'{"results": null}')),
    "has an error in a 200": ("bad_answer", _body(b'{"error": "index is gone"}')),
    "has a row in words": ("bad_answer", _row('"b-2"')),
    "has an id that is a number": ("bad_answer", _row('{"id": 2}')),
    "has an endless id": ("bad_answer", _row('{"id": "' + "b" * 9000 + '"}')),
    "has a lone surrogate": ("bad_answer", _row('{"metadata": {"beliefId": "\\ud800"}}')),
    "has a score in words": ("bad_answer", _row('{"id": "b-2", "score": "0.9"}')),
    "has a score of true": ("bad_answer", _row('{"id": "b-2", "score": true}')),
    "has metadata in a list": ("bad_answer", _row('{"id": "b-2", "metadata": []}')),
    "has 20000 rows": ("too_large", _body(b'{"results": [' + b"{}," * 19_999 + b"{}]}")),
    "sends elsewhere": ("redirect_refused", _away("http://192.0.2.1/search")),
    "sends to another scheme": ("redirect_refused", _away("file:///etc/hostname")),
    "sends to no URL": ("redirect_refused", _away("http://[::1")),
    "sends round in circles": ("redirect_refused", _away("/search")),
    "sends away with 303": ("redirect_refused", _away("/other", "303 See Other")),
    "fails": (
        "http_error",
        lambda w: w.answer(b'{"error": "x"}', "500 Internal Server Error"),
    ),
    "fails without end": (
        "http_error",
        lambda w: w.send(b"HTTP/1.1 502 Bad Gateway\r\n\r\n", b"sorry " * 100_000) or w.close(),
    ),
    "fails with escapes": (
        "http_error",
        lambda w: w.answer(b"\x1b[31mred\x1b[0m\r\x00\nsecond", "418 Teapot", "text/plain"),
    ),
}
SLOW = tuple(name for name, (status, _) in ATTACKS.items() if status == "timeout")


class Hostile:
    """A raw server: the query of a search names what is done to the caller.

    ``always`` says what is done to every call of a path, or of ``*`` for all.
    """

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.accepted = 0
        self.answers: dict[str, Attack] = {name: attack for name, (_, attack) in ATTACKS.items()}
        self.answers["two answers"] = _two_answers
        self.always: dict[str, Attack] = {}
        self.requests = 0
        self._sock = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._sock.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def serve(self) -> None:
        while True:
            try:
                sock, _ = self._sock.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._talk, args=(sock,), daemon=True).start()

    def _talk(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError), sock, sock.makefile("rb") as stream:
            while request := stream.readline():
                length = 0
                while (line := stream.readline()) not in {b"\r\n", b""}:
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                body = json.loads(stream.read(length)) if length else {}
                path = request.split()[1].decode()
                wire = Wire(sock, path, self.stop, self.port)
                self.requests += 1
                always = self.always.get(path.partition("?")[0]) or self.always.get("*")
                attack = always or self.answers.get(body.get("query", ""))
                if attack is None:
                    wire.answer(OK_BODY if path == "/search" else b"{}")
                else:
                    attack(wire)

    def close(self) -> None:
        self.stop.set()
        # A blocked accept() is not woken by closing the socket alone.
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()


@contextmanager
def hostile() -> Iterator[Hostile]:
    """A server that keeps to nothing, on a port of its own."""
    server = Hostile()
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()
