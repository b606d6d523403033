"""A connection that keeps to a deadline, whatever the other side does.

A read time-out alone is no bound: a server that drips one byte a second never
runs into it, neither in the headers nor in the body. Here every single read
and write of a call gets only what is left of the call's time.

`httpx` and `httpcore` are imported when the first client is opened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import ssl

    import httpcore
    import httpx

KEEP_ALIVE_S = 4.0
"""Idle connections are given up after this time: most servers close them after 5 s, and a call
on a connection that is just being closed is lost."""

_PIECE = 16 * 1024


class Deadline(threading.local):
    """When the call that this thread makes must be over, and what its connection saw."""

    until = float("inf")
    reads = 0
    ended = False
    reused = False

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Give what happens inside at most so many seconds."""
        self.until = monotonic() + seconds
        self.reads, self.ended, self.reused = 0, False, False
        try:
            yield
        finally:
            self.until = float("inf")

    def cap(self, timeout: float | None) -> float:
        """The shorter of a time-out and the time that is left; 0 or less if none is."""
        left = self.until - monotonic()
        return left if timeout is None else min(timeout, left)


class DeadlineStream:
    """A network stream (as `httpcore.NetworkStream`) that keeps to the thread's deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        """Wrap an open stream."""
        self._stream = stream
        self._deadline = deadline
        self._answered = False
        self._reused = False
        self._spoiled = False

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there; empty at the end of the stream."""
        import httpcore

        left = self._deadline.cap(timeout)
        if left <= 0:
            raise httpcore.ReadTimeout("the time for the call is up")
        data = self._stream.read(max_bytes, timeout=left)
        self._answered = True
        self._deadline.reads += 1
        self._deadline.ended = not data
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write everything, in pieces, so that a server which never reads is noticed."""
        import httpcore

        self._reused = self._reused or self._answered
        self._answered = False
        self._deadline.reads, self._deadline.reused = 0, self._reused
        for start in range(0, len(buffer), _PIECE):
            left = self._deadline.cap(timeout)
            if left <= 0:
                raise httpcore.WriteTimeout("the time for the call is up")
            self._stream.write(buffer[start : start + _PIECE], timeout=left)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> DeadlineStream:
        """Go on encrypted."""
        left = max(self._deadline.cap(timeout), 1e-3)
        inner = self._stream.start_tls(ssl_context, server_hostname, left)
        return DeadlineStream(inner, self._deadline)

    def spoil(self) -> None:
        """Let nobody use the connection after the current call."""
        self._spoiled = True

    def get_extra_info(self, info: str) -> Any:
        """Tell about the connection; one that has something to read while idle is given up."""
        if info == "is_readable" and self._spoiled:
            return True
        return self._stream.get_extra_info(info)


class _Backend:
    """Opens streams (as `httpcore.NetworkBackend`) that keep to the deadline."""

    def __init__(self, inner: httpcore.NetworkBackend, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> DeadlineStream:
        left = max(self._deadline.cap(timeout), 1e-3)
        stream = self._inner.connect_tcp(host, port, left, local_address, socket_options)
        return DeadlineStream(stream, self._deadline)

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


@cache
def _body_type() -> Callable[[Iterable[bytes]], httpx.SyncByteStream]:
    """The type of the raw bytes of an answer; made late, because httpx is imported late."""
    import httpx

    class Body(httpx.SyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            return iter(self._stream)

        def close(self) -> None:
            self._stream.close()

    return Body


class _Transport:
    """Sends requests (as `httpx.BaseTransport`) over one pool; cookies are not kept."""

    def __init__(self, pool: httpcore.ConnectionPool, deadline: Deadline) -> None:
        import httpcore
        import httpx

        self._request, self._url = httpcore.Request, httpcore.URL
        self._response, self._body = httpx.Response, _body_type()
        self._stale = httpcore.RemoteProtocolError
        self._pool = pool
        self._deadline = deadline

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        answer = self._pool.handle_request(
            self._request(
                method=request.method,
                url=self._url(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=cast("httpx.SyncByteStream", request.stream),
                extensions=request.extensions,
            )
        )
        if not self._deadline.reads:
            # It was read before the question was sent: the tail of an earlier answer.
            answer.close()
            raise self._stale("an answer came before its question")
        return self._response(
            status_code=answer.status,
            headers=[pair for pair in answer.headers if pair[0].lower() != b"set-cookie"],
            stream=self._body(cast("Iterable[bytes]", answer.stream)),
            extensions=answer.extensions,
        )

    def close(self) -> None:
        self._pool.close()


def open_client(
    deadline: Deadline,
    *,
    secure: bool,
    connect_timeout_s: float,
    read_timeout_s: float,
    headers: Mapping[str, str],
) -> httpx.Client:
    """Open a client that keeps connections alive and keeps to ``deadline``.

    It takes nothing from the environment but the certificates that it trusts:
    no proxy, no .netrc. It follows no redirect.
    """
    import httpcore
    import httpx

    from .._version import __version__

    pool = httpcore.ConnectionPool(
        ssl_context=httpx.create_ssl_context() if secure else None,
        max_connections=None,
        keepalive_expiry=KEEP_ALIVE_S,
        network_backend=cast("httpcore.NetworkBackend", _Backend(httpcore.SyncBackend(), deadline)),
    )
    return httpx.Client(
        transport=cast("httpx.BaseTransport", _Transport(pool, deadline)),
        timeout=httpx.Timeout(read_timeout_s, connect=connect_timeout_s),
        trust_env=False,
        follow_redirects=False,
        headers={
            "accept": "application/json",
            "accept-encoding": "gzip",
            "user-agent": f"pmb-hf/{__version__}",
            **{name.lower(): value for name, value in headers.items()},
        },
    )
