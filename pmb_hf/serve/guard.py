"""Turns away requests before anything reads them: too large, or not JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.datastructures import Headers

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 8 * 2**20
"""The largest body, in bytes: a text of 1 MiB fits in whatever way it is escaped."""

MAX_DEPTH = 64
"""How deep objects and lists may be nested in a body."""

_DRAIN = 4  # so many limits are read and thrown away before an upload is cut off
_Endpoint: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictJSON(JSONResponse):
    """JSON in ASCII, so that any string survives, and without NaN."""

    def render(self, content: Any) -> bytes:
        """Return the bytes."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


class Guard:
    """ASGI middleware: reads a body up to ``limit`` bytes and checks its type.

    A larger body gets 413, whatever its headers say of it, and is never held in
    memory. A body that is not JSON, or is compressed, gets 415.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        """Stand in front of ``app``."""
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await self._read(receive)
        if body is None:  # the client has gone
            return
        refused = self._refusal(body, Headers(scope=scope))
        if refused is not None:
            await refused(scope, receive, send)
            return
        await self._app(scope, _replay(bytes(body), receive), send)

    async def _read(self, receive: Receive) -> bytearray | None:
        body, seen, more = bytearray(), 0, True
        # A client that is cut off while it sends may never see the answer, so a
        # body that is somewhat too large is read to its end.
        while more and seen <= self._limit * _DRAIN:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunk = message.get("body", b"")
            seen += len(chunk)
            if len(body) <= self._limit:
                body += chunk[: self._limit + 1 - len(body)]
            more = message.get("more_body", False)
        return body

    def _refusal(self, body: bytearray, headers: Headers) -> Response | None:
        if len(body) > self._limit:
            reason = f"the body is larger than {self._limit} bytes"
            return StrictJSON({"error": reason}, 413, {"connection": "close"})
        if not body:
            return None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        encoding = headers.get("content-encoding", "identity").strip().lower()
        if kind != "application/json" or encoding != "identity":
            told = f"{kind or 'no content type'}, {encoding}"
            reason = f"send application/json, not compressed; this is {told}"
            return StrictJSON({"error": reason}, 415)
        return None


def _replay(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    def again() -> Awaitable[Message]:
        return _ready(messages.pop()) if messages else receive()

    return again


async def _ready(message: Message) -> Message:
    return message


class StrictRequest(Request):
    """A request whose JSON holds no NaN, no endless number and no endless nesting."""

    async def json(self) -> Any:
        """Return the body as JSON.

        Raises:
            json.JSONDecodeError: It is none, whatever the fault is.
        """
        try:
            value = json.loads(await self.body(), parse_constant=_no_number, parse_float=_finite)
        except json.JSONDecodeError:
            raise
        except UnicodeDecodeError as error:
            raise json.JSONDecodeError("not UTF-8", "", 0) from error
        except RecursionError:
            value, deep = None, True
        except ValueError as error:  # an integer of thousands of digits
            raise json.JSONDecodeError("a number is too long", "", 0) from error
        else:
            deep = _is_deep(value)
        if deep:
            raise json.JSONDecodeError(f"nested deeper than {MAX_DEPTH}", "", 0)
        return value


class StrictRoute(APIRoute):
    """A route that reads its body by `StrictRequest`."""

    def get_route_handler(self) -> _Endpoint:
        """Return the handler with the request exchanged."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strict


def _no_number(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is no JSON number", name, 0)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return bool(level)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise json.JSONDecodeError("a number is too long", digits, 0)
    return value
