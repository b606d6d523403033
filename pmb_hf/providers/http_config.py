"""How to reach a service: the options, checked."""

from __future__ import annotations

from dataclasses import dataclass, fields
from urllib.parse import urlsplit, urlunsplit

from ..errors import InputError
from ..memories import TEXT_MODES
from .http_secrets import AUTHORIZATION_ENV, HEADERS_ENV
from .protocol import Option

MIB = 1024 * 1024

HTTP_OPTIONS: tuple[Option, ...] = (
    Option("url", str, None, "Where the service is; it may have a path, but no password or query."),
    Option("timeout", float, 30.0, "Seconds for one call, from connecting to its last byte."),
    Option("connect_timeout", float, 5.0, "Seconds for connecting."),
    Option("read_timeout", float, None, "Seconds that the service may be silent within a call."),
    Option("ready_timeout", float, None, "Seconds to wait for a write to show; the run's if none."),
    Option("retries", int, 2, "Further attempts of a call that may be repeated."),
    Option("body_limit", int, 8 * MIB, "Bytes that an answer may have once it is unpacked."),
    Option("limit_param", str, "limit", "What the service calls the limit of a search."),
    Option("multi_scope", bool, True, "False: ask scope by scope and merge the answers by rank."),
    Option("supports_update", bool, None, "Whether there is PUT /update; found out if none."),
    Option("supports_delete", bool, None, "Whether there is DELETE /delete; found out if none."),
    Option("supports_wait", bool, None, "Whether there is POST /wait; found out if none."),
    Option("honour_seed_delay", bool, False, "Sleep as the file's seedDelayMs says."),
    Option("reset", str, "all", "all: DELETE /reset; own: delete one by one what this run wrote."),
)


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """How to reach one service; `HTTP_OPTIONS` says what the values do.

    ``text_mode`` is what the file says a memory's text is made of, or None.

    Raises:
        InputError: A value is out of range, or the URL can't be used.
    """

    url: str
    timeout: float = 30.0
    connect_timeout: float = 5.0
    read_timeout: float | None = None
    ready_timeout: float | None = None
    retries: int = 2
    body_limit: int = 8 * MIB
    limit_param: str = "limit"
    multi_scope: bool = True
    supports_update: bool | None = None
    supports_delete: bool | None = None
    supports_wait: bool | None = None
    honour_seed_delay: bool = False
    reset: str = "all"
    seed_delay_ms: int = 0
    wait_after_seed: bool = False
    text_mode: str | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        object.__setattr__(self, "url", clean_url(self.url))
        for name in ("timeout", "connect_timeout", "read_timeout"):
            seconds = getattr(self, name)
            if seconds is not None and not 0 < seconds <= 3600:
                raise InputError(f"option {name} is {seconds}: give seconds above 0, up to 3600.")
        if not 0 <= self.retries <= 10:
            raise InputError(f"option retries is {self.retries}: give 0 to 10.")
        if not 1024 <= self.body_limit <= 1024 * MIB:
            raise InputError(f"option body_limit is {self.body_limit}: give 1024 to {1024 * MIB}.")
        if self.reset not in {"all", "own"}:
            raise InputError(f"option reset is {self.reset!r}: give all or own.")
        if self.limit_param in {"", "query", "user_id", "scope"}:
            raise InputError(f"option limit_param can't be {self.limit_param!r}.")
        if self.text_mode is not None and self.text_mode not in TEXT_MODES:
            raise InputError(
                f"beliefToText is {self.text_mode!r}: give one of {', '.join(TEXT_MODES)}."
            )

    @property
    def options(self) -> dict[str, object]:
        """The values that decide what is measured; no secret is among them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def clean_url(url: str) -> str:
    """Return a base URL without a slash at its end.

    Raises:
        InputError: It is no http(s) URL, or holds a password, a query or a
            fragment. The message does not repeat what may be secret.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InputError("the URL of the service can't be read: check host and port.") from error
    if "@" in parts.netloc:
        raise InputError(
            f"the URL of {host or 'the service'} holds a user or password: leave it out, and "
            f"put the Authorization header into ${AUTHORIZATION_ENV}."
        )
    if parts.query or parts.fragment or "?" in url or "#" in url:
        raise InputError(
            f"the URL of {host or 'the service'} has a query or fragment: leave it out; secret "
            f"headers come from ${HEADERS_ENV}."
        )
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in {"http", "https"} or not host or not plain:
        raise InputError(f"{url!r} is no URL of a service: write http://HOST:PORT or https://….")
    if port == 0:
        raise InputError(f"{url!r} has the port 0: name the port that the service listens on.")
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def is_url(name: str) -> bool:
    """Tell whether a provider's name is the URL of a service."""
    return name.lower().startswith(("http://", "https://"))
