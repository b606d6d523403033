"""Runs an application on a socket, until it is told to stop."""

from __future__ import annotations

import ipaddress
import json
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn

from ..errors import InputError, ProviderTimeoutError
from ..providers.protocol import (
    Provider,
    close,
    provider_options,
    provider_version,
    supports_delete,
    supports_scopes,
    supports_update,
    supports_wait,
)
from ..providers.registry import create
from .app import make_app
from .guard import BODY_LIMIT
from .token import TokenGuard
from .worker import Worker

if TYPE_CHECKING:
    from fastapi import FastAPI

DEFAULT_PORT = 8080
STOP_S = 5
"""How long requests that are still running may take when the server is told to stop."""
HEAD_LIMIT = 64 * 1024
"""The largest head of a request, in bytes."""
CLOSE_S = 10
"""How long the provider may take to close."""


def serve(
    provider: str,
    options: Mapping[str, object] | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    body_limit: int = BODY_LIMIT,
    announce: Callable[[str], None] | None = None,
    token: str | None = None,
    details: bool = False,
) -> None:
    """Serve a registered provider until SIGINT or SIGTERM, then close it.

    Args:
        provider: Its name, as `providers.registry.create` takes it.
        options: Its options.
        host: The address to listen on. There is no password: on anything but a
            loopback address everyone who reaches it can read and write.
        port: The port; 0 chooses a free one.
        body_limit: The largest body that is taken, in bytes.
        announce: Gets one line of JSON once the server listens:
            ``{"event": "listening", "provider", "url", "host", "port"}``. By
            default the line goes to standard output.
        token: Refuse requests without the header ``Authorization: Bearer TOKEN``.
        details: Say in that line also the provider's ``version``, ``options``
            and what it ``can`` do.

    Raises:
        UnknownNameError: There is no such provider.
        InputError: An option is wrong, or the port can't be used.
        MissingDependencyError: What the provider needs is not installed.
        ProviderError: The provider can't be created or closed.
    """
    worker = Worker()
    # Made where it will be called: some stores are bound to their thread.
    system = worker.submit(partial(create, provider, options)).result()
    try:
        app = make_app(system, name=provider, body_limit=body_limit, worker=worker)
        if token is not None:
            app.add_middleware(TokenGuard, token=token)
        more = worker.submit(partial(_details, system)).result() if details else {}
        with closing(_listen(host, port)) as sock:
            server = _server(app)
            with _stopped_by_signals(server):
                (announce or _print)(_line(provider, sock, more))
                server.run(sockets=[sock])
    finally:
        try:
            worker.submit(partial(close, system)).result(timeout=CLOSE_S)
        except TimeoutError as error:
            raise ProviderTimeoutError(
                f"provider {provider!r} is still busy {CLOSE_S} s after the server stopped; "
                "it was not closed"
            ) from error


@contextmanager
def running(app: FastAPI, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve an application from a thread of its own and give its URL.

    For tests and notebooks; the server stops at the end of the ``with`` block.

    Raises:
        InputError: The port can't be used.
    """
    with closing(_listen(host, port)) as sock:
        server = _server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        try:
            yield _url(sock)
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def serving(provider: str, options: Mapping[str, object] | None = None) -> Iterator[str]:
    """Serve a registered provider on loopback and give its URL; it is closed at the end.

    Raises:
        PmbError: It can't be created or closed; see `serve`.
    """
    worker = Worker()
    system = worker.submit(partial(create, provider, options)).result()
    try:
        with running(make_app(system, name=provider, worker=worker)) as url:
            yield url
    finally:
        worker.submit(partial(close, system)).result()


def _server(app: FastAPI) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            # Of the two that uvicorn knows, only this one bounds what it keeps of a head.
            http="h11",
            h11_max_incomplete_event_size=HEAD_LIMIT,
            # Longer than a run is ever silent, so that its connection stays.
            timeout_keep_alive=120,
            timeout_graceful_shutdown=STOP_S,
        )
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio switches Nagle's algorithm off only then; with it,
    # every answer comes 40 ms late.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(128)
        return sock
    except (OSError, OverflowError, TypeError, ValueError) as error:
        sock.close()
        raise InputError(
            f"can't listen on {host} port {port} ({error}): choose another port, "
            "or 0 for a free one"
        ) from error


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens on ``host``; false if it can't be told."""
    try:
        found = socket.getaddrinfo(host, None) if host else []
        addresses = [ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in found]
    except (OSError, ValueError):  # listening on it will fail as well, and say why
        return False
    return bool(addresses) and all(address.is_loopback for address in addresses)


def _url(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _details(system: Provider) -> dict[str, Any]:
    return {
        "version": provider_version(system),
        "options": provider_options(system),
        "can": {
            "update": supports_update(system),
            "delete": supports_delete(system),
            "wait": supports_wait(system),
            "scopes": supports_scopes(system),
        },
    }


def _line(provider: str, sock: socket.socket, more: Mapping[str, Any]) -> str:
    host, port = sock.getsockname()[:2]
    told = {
        "event": "listening",
        "provider": provider,
        "url": _url(sock),
        "host": host,
        "port": port,
        **more,
    }
    return json.dumps(told)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@contextmanager
def _stopped_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Let SIGINT and SIGTERM stop the server, and nothing else.

    uvicorn sends itself the signal once more when it has stopped; with the
    usual handlers the process would then end by it instead of with code 0.
    """

    def stop(signum: int, frame: FrameType | None) -> None:
        del signum, frame
        server.should_exit = True

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[signal.Signals, Any] = {
        number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
