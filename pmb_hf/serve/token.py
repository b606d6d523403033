"""Lets only those in who know a secret."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class TokenGuard:
    """ASGI middleware: a request without ``Authorization: Bearer TOKEN`` gets 401."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        """Guard ``app`` by ``token``."""
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "").encode("utf-8", "replace")
            if not hmac.compare_digest(given, self._wanted):
                answer = JSONResponse({"error": "the token is missing or wrong"}, 401)
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)
