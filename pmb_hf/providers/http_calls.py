"""One call to a service: bounded in time and size, repeated where that does no harm."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from . import http_wire as wire
from .http_config import HttpConfig
from .http_errors import (
    AnswerError,
    BrokenConnectionError,
    DeadlineError,
    HttpFailure,
    HttpStatusError,
    RedirectError,
    TooLargeError,
)
from .http_secrets import Secrets
from .http_transport import Deadline, open_client

if TYPE_CHECKING:
    import httpx

MAX_REDIRECTS = 3
MAX_WAIT_S = 30.0
"""The longest wait between two attempts, whatever Retry-After asks for, in seconds."""

_BACKOFF_S, _BACKOFF_TOP_S = 0.1, 5.0
_ERROR_BODY = 64 * 1024
_JSON = {"content-type": "application/json"}
_KEPT_METHOD = frozenset({301, 302, 307, 308})
_PASSING = frozenset({429, 500, 502, 503, 504})
_NOT_TAKEN = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Call:
    """What to ask. ``repeat`` tells that asking twice does no harm.

    ``timeout_s`` and ``retries`` are those of the configuration if None.
    """

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    params: Mapping[str, str] | None = None
    repeat: bool = True
    timeout_s: float | None = None
    retries: int | None = None

    def __str__(self) -> str:
        """Name method and path."""
        return f"{self.method} {self.path}"


class Answer(NamedTuple):
    """The code of a success and its body; None if the body is empty."""

    code: int
    json: Any


class Caller:
    """Makes the calls of one run over one client.

    Attributes:
        counts: How many calls, and how many further attempts were made.
    """

    def __init__(self, config: HttpConfig, secrets: Secrets) -> None:
        """Connect to nothing yet."""
        self._config = config
        self._secrets = secrets
        self._deadline = Deadline()
        self._client: httpx.Client | None = None
        self._urls: dict[str, httpx.URL] = {}
        self._lock = Lock()
        self.counts = {"calls": 0, "retries": 0}

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def shown(self, text: str) -> str:
        """Text of the service, fit to be shown: one line, no secret, not long."""
        return wire.cut(self._secrets.redact(wire.clean(text)))

    def call(self, call: Call) -> Answer:
        """Make a call, up to ``1 + retries`` times.

        Raises:
            HttpFailure: What the last attempt came to; the subclass says what.
            InputError: The body can't be sent.
        """
        retries = self._config.retries if call.retries is None else call.retries
        content = None if call.body is None else wire.dump(call.body)
        self._count("calls")
        for attempt in range(retries + 1):
            result = self._attempt(call, content)
            if isinstance(result, Answer):
                return result
            left = retries - attempt
            if not left or not _may_repeat(call, result):
                raise result
            if (result.retry_after_s or 0.0) > left * MAX_WAIT_S:
                raise _left_alone(result)
            self._count("retries")
            time.sleep(_pause(attempt, result.retry_after_s))
        raise AssertionError("a negative number of retries")

    def _count(self, what: str) -> None:
        with self._lock:
            self.counts[what] += 1

    def _open(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                config = self._config
                self._client = open_client(
                    self._deadline,
                    secure=config.url.startswith("https"),
                    connect_timeout_s=config.connect_timeout,
                    read_timeout_s=config.read_timeout or config.timeout,
                    headers=self._secrets.headers,
                )
            return self._client

    def _attempt(self, call: Call, content: bytes | None) -> Answer | HttpFailure:
        """One attempt. Its failure is returned, so that no foreign exception hangs on to it."""
        import httpcore
        import httpx

        seconds = self._config.timeout if call.timeout_s is None else call.timeout_s
        try:
            with self._deadline.within(seconds):
                return self._exchange(call, content)
        except HttpFailure as failure:  # it lacks the name of the call
            return type(failure)(
                self._told(call, str(failure)),
                code=failure.code,
                retry_after_s=failure.retry_after_s,
                passing=failure.passing,
            )
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            said = str(error) or "no connection in time"
            return BrokenConnectionError(
                self._told(call, f"can't connect to {self._config.url}: {said}"),
                unsent=True,
                passing=True,
            )
        except httpcore.TimeoutException:
            return DeadlineError(self._told(call, f"no whole answer within {seconds:g} s"))
        except httpcore.RemoteProtocolError as error:
            said = str(error)
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            return BrokenConnectionError(
                self._told(call, f"the connection broke: {str(error) or type(error).__name__}"),
                passing=True,
            )
        except httpx.RemoteProtocolError:
            # The only thing that the client itself reads is where a redirect goes.
            return RedirectError(self._told(call, "redirected to what is no URL"))
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, ValueError) as error:
            # Not shown: it may quote what was sent.
            return AnswerError(self._told(call, f"no valid HTTP ({type(error).__name__})"))
        if self._deadline.ended:
            said = f"the connection was closed: {said}"
            return BrokenConnectionError(self._told(call, said), passing=True)
        # On a connection that was used before, it may be the tail of an earlier answer.
        return AnswerError(
            self._told(call, f"no valid HTTP: {said}"), passing=self._deadline.reused
        )

    def _told(self, call: Call, said: str) -> str:
        return f"{call}: {self._secrets.redact(wire.clean(said))}"

    def _exchange(self, call: Call, content: bytes | None) -> Answer:
        import httpx

        client = self._open()
        if call.path not in self._urls:
            self._urls[call.path] = httpx.URL(self._config.url + call.path)
        url = self._urls[call.path]
        if call.params:
            url = url.copy_merge_params(dict(call.params))
        headers = None if content is None else _JSON
        for _ in range(MAX_REDIRECTS + 1):
            request = client.build_request(call.method, url, headers=headers, content=content)
            response = client.send(request, stream=True)
            try:
                if not response.has_redirect_location:
                    return self._read(response)
                url = self._redirected(url, response)
                _body(response, _ERROR_BODY, whole=False)
            finally:
                response.close()
        raise RedirectError(f"more than {MAX_REDIRECTS} redirects")

    def _redirected(self, url: httpx.URL, response: httpx.Response) -> httpx.URL:
        import httpx

        code = response.status_code
        try:
            target = url.join(response.headers["location"])
        except (httpx.InvalidURL, ValueError):
            raise RedirectError(f"redirected ({code}) to what is no URL", code=code) from None
        if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
            shown = self.shown(f"{target.scheme}://{target.host}")
            raise RedirectError(
                f"redirected ({code}) to another host, {shown}: if that is right, "
                "make it the URL of the provider",
                code=code,
            )
        if code not in _KEPT_METHOD:
            raise RedirectError(f"redirected with {code}, which changes the method", code=code)
        return target

    def _read(self, response: httpx.Response) -> Answer:
        code = response.status_code
        if not 200 <= code < 300:
            line = wire.first_line(_body(response, _ERROR_BODY, whole=False))
            said = f"answered {code}" + (f": {self.shown(line)}" if line else "")
            raise HttpStatusError(
                said,
                code=code,
                retry_after_s=_retry_after(response.headers.get("retry-after")),
                passing=code in _PASSING,
            )
        data = _body(response, self._config.body_limit, whole=True)
        if not data.strip():
            return Answer(code, None)
        try:
            return Answer(code, wire.load(data))
        except AnswerError as error:
            # Perhaps the length was wrong, and the rest of it is still to come.
            response.extensions["network_stream"].spoil()
            kind = self.shown(response.headers.get("content-type", "no content-type"))
            problem = f"{error} ({kind}): {self.shown(wire.first_line(data))}"
        raise AnswerError(f"answered {code}, but {problem}")


def _body(response: httpx.Response, limit: int, *, whole: bool) -> bytes:
    """Read a body of at most ``limit`` bytes, before and after it is unpacked.

    If it need not be ``whole``, what was read until something went wrong will do.

    Raises:
        TooLargeError: It is larger; it is not read to its end.
        AnswerError: It can't be unpacked.
    """
    declared = response.headers.get("content-length", "")
    encoding = response.headers.get("content-encoding", "").strip().lower()
    data = bytearray()
    try:
        unpacker = wire.Unpacker(encoding, limit)
        data = unpacker.data
        if whole and declared.isdecimal() and int(declared[:20]) > limit:
            raise TooLargeError(f"the body is larger than {limit} bytes")
        for chunk in response.iter_raw():
            unpacker.feed(chunk)
        return unpacker.finish()
    except HttpFailure:
        if whole:
            raise
        return bytes(data)


def _may_repeat(call: Call, failure: HttpFailure) -> bool:
    if call.repeat:
        return failure.passing
    return failure.unsent or failure.code in _NOT_TAKEN


def _left_alone(failure: HttpFailure) -> HttpFailure:
    """The same failure, with why it was not tried again: no attempt would come late enough."""
    return type(failure)(
        f"{failure}; it takes no call for {failure.retry_after_s:.0f} s, so it was not tried again",
        code=failure.code,
        retry_after_s=failure.retry_after_s,
        passing=failure.passing,
    )


def _pause(attempt: int, retry_after_s: float | None) -> float:
    if retry_after_s is not None:
        return min(retry_after_s, MAX_WAIT_S)
    return random.uniform(0.5, 1.0) * min(_BACKOFF_S * 2.0**attempt, _BACKOFF_TOP_S)


def _retry_after(value: str | None) -> float | None:
    """Seconds from a Retry-After header, which holds seconds or a date; None if neither."""
    if value is None:
        return None
    value = value.strip()
    if value.isdecimal():
        return float(value[:9])
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max((when - datetime.now(UTC)).total_seconds(), 0.0)
