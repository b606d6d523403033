"""The HTTP contract as a FastAPI application."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from .._version import __version__
from ..providers.protocol import Provider
from . import bodies, page
from .bodies import AddBody, DeleteBody, SearchBody, WaitBody
from .guard import BODY_LIMIT, Guard, StrictJSON, StrictRoute
from .store import Refusal, Served, guarded
from .worker import Worker

T = TypeVar("T")

_log = logging.getLogger(__name__)

_DESCRIPTION = (
    "A memory system behind the HTTP contract of PrecisionMemBench. Bodies are JSON; "
    "an error is an object whose field `error` says why in one line."
)
_FAULTS: dict[int | str, dict[str, Any]] = {
    413: {"description": "The body is too large", "model": bodies.ErrorAnswer},
    415: {"description": "The body is not JSON", "model": bodies.ErrorAnswer},
    422: {"description": "The body has a wrong shape", "model": bodies.ErrorAnswer},
    500: {"description": "The memory system failed", "model": bodies.ErrorAnswer},
}
_UNKNOWN: dict[int | str, dict[str, Any]] = {
    404: {"description": "There is no such memory", "model": bodies.ErrorAnswer}
}
_UNABLE: dict[int | str, dict[str, Any]] = {
    501: {"description": "The memory system can't do that", "model": bodies.ErrorAnswer}
}
_LATE: dict[int | str, dict[str, Any]] = {
    504: {"description": "Something did not show in time", "model": bodies.ErrorAnswer}
}
# Which member of a union was tried is no part of a path.
_TAGS = {"str", "list[str]"}


def make_app(
    provider: Provider,
    *,
    name: str | None = None,
    body_limit: int = BODY_LIMIT,
    worker: Worker | None = None,
) -> FastAPI:
    """Return an application that serves ``provider``.

    Args:
        provider: The memory system. It is called in one thread only, one call
            at a time, and it is not closed.
        name: What ``/health`` calls it; the name of its class by default.
        body_limit: The largest body that is taken, in bytes.
        worker: The thread to call it in, if it was made in a thread of its own.
    """
    served = Served(provider, name or type(provider).__name__)
    app = FastAPI(
        title=f"pmb serve: {served.name}",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,  # the usual page loads its scripts from elsewhere
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    app.include_router(_router(served, worker or Worker()))
    app.add_middleware(Guard, limit=body_limit)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _no_route)
    app.add_exception_handler(Exception, _broken)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        headers = {"content-security-policy": page.POLICY}
        return HTMLResponse(page.render(app.openapi()), headers=headers)

    return app


def _router(served: Served, worker: Worker) -> APIRouter:
    router = APIRouter(
        route_class=StrictRoute, responses=_FAULTS, default_response_class=StrictJSON
    )

    async def call(job: Callable[[], T]) -> T:
        return await worker.run(guarded(job))

    _read_routes(router, served, call)
    _write_routes(router, served, call)
    return router


def _read_routes(router: APIRouter, served: Served, call: Callable[..., Any]) -> None:
    @router.get("/health", response_model=bodies.HealthAnswer)
    async def health() -> Response:
        """Tell what answers here and what it can do."""
        return StrictJSON(await call(served.health))

    @router.post("/search", response_model=bodies.SearchAnswer)
    async def search(body: SearchBody) -> Response:
        """Find the user's memories that answer a query, the best first."""
        return StrictJSON({"results": await call(lambda: served.search(body))})

    @router.post("/wait", response_model=bodies.DoneAnswer, responses=_LATE)
    async def wait(body: WaitBody | None = None) -> Response:
        """Answer once everything that was written, or the memory that is named, can be found."""
        asked = body or WaitBody()
        await call(lambda: served.wait(asked))
        return StrictJSON({"status": "ok"})


def _write_routes(router: APIRouter, served: Served, call: Callable[..., Any]) -> None:
    @router.post("/add", response_model=bodies.AddAnswer)
    async def add(body: AddBody) -> Response:
        """Store a memory, in the place of the one with this user and id if there is one."""
        return StrictJSON({"id": await call(lambda: served.add(body))})

    @router.put("/update", response_model=bodies.AddAnswer, responses=_UNKNOWN | _UNABLE)
    async def update(body: AddBody) -> Response:
        """Put another text, aliases and metadata in the place of a memory's."""
        return StrictJSON({"id": await call(lambda: served.update(body))})

    @router.delete("/delete", response_model=bodies.DoneAnswer, responses=_UNABLE)
    async def delete(
        body: DeleteBody | None = None,
        user_id: Annotated[bodies.Id | None, Query()] = None,
        memory_id: Annotated[bodies.Id | None, Query(alias="id")] = None,
    ) -> Response:
        """Forget one memory. `user_id` and `id` stand in the query or in the body."""
        body = body or DeleteBody()
        user, memory = user_id or body.user_id, memory_id or body.id
        if user is None or memory is None:
            return _faults([("user_id" if user is None else "id", "Field required")])
        await call(lambda: served.delete(user, memory))
        return StrictJSON({"status": "ok"})

    @router.delete("/reset", response_model=bodies.DoneAnswer)
    async def reset() -> Response:
        """Forget every memory of every user."""
        await call(served.reset)
        return StrictJSON({"status": "ok"})


async def _refused(request: Request, error: Exception) -> Response:
    status, reason = (error.status, error.reason) if isinstance(error, Refusal) else (500, "")
    if status >= 500:
        _log.warning("%s: %d, %s", request.url.path, status, reason)
    return StrictJSON({"error": reason}, status)


async def _invalid(request: Request, error: Exception) -> Response:
    del request
    found = error.errors() if isinstance(error, RequestValidationError) else []
    faults: dict[tuple[str, str], None] = {}
    for fault in found:
        message = str(fault["msg"])
        if fault["type"] == "json_invalid":
            faults["", f"{message}: {fault['ctx']['error']}"] = None
            continue
        place = [str(part) for part in fault["loc"][1:] if part not in _TAGS]
        faults[".".join(place), message] = None
    return _faults(list(faults))


def _faults(faults: list[tuple[str, str]]) -> Response:
    text = "; ".join(f"{path or 'body'}: {message}" for path, message in faults)
    fields = [{"path": path, "message": message} for path, message in faults]
    return StrictJSON({"error": text, "fields": fields}, 422)


async def _no_route(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return await _broken(request, error)
    asked = f"{request.method} {request.url.path}"
    return StrictJSON(
        {"error": f"{asked}: {error.detail}; see /docs"}, error.status_code, error.headers
    )


async def _broken(request: Request, error: Exception) -> Response:
    """Answer for a fault of this server; the traceback goes to its own log."""
    del request, error
    return StrictJSON({"error": "the server failed; see its log"}, 500)
