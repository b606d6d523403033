"""Headers that are secret: from environment variables, into requests, and nowhere else."""

from __future__ import annotations

import binascii
import json
import os
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from ..errors import InputError

AUTHORIZATION_ENV = "PMB_HTTP_AUTHORIZATION"
HEADERS_ENV = "PMB_HTTP_HEADERS"

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]+")
# What frames a message, or would switch off what is checked here.
_RESERVED = frozenset(
    {
        *("accept-encoding", "connection", "content-encoding", "content-length", "content-type"),
        *("host", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)


class Secrets:
    """Headers for every call. Nothing of it shows when it is printed."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        """Take headers by name; the values are secret, and so is each word in them."""
        self.headers = dict(headers)
        words = {word for value in headers.values() for word in _words(value)}
        spellings: set[str] = set()
        for word in words:
            if len(word) >= 4 and word.lower() not in {"basic", "bearer", "token"}:
                plain = json.dumps(word)[1:-1]
                spellings |= {word, plain, plain.replace("/", "\\/"), quote(word, safe="")}
        self._spellings = sorted(spellings, key=len, reverse=True)

    def __repr__(self) -> str:
        """Name nothing."""
        return "Secrets(…)"

    def redact(self, text: str) -> str:
        """The text without any of the secrets."""
        for word in self._spellings:
            text = text.replace(word, "***")
        return text


def _words(value: str) -> list[str]:
    """A header's value, its words, and what stands behind basic authentication."""
    words = [value, *value.split()]
    if value.lower().startswith("basic "):
        try:
            pair = b64decode(words[-1], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return words
        words += [pair, pair.partition(":")[2]]
    return words


def environment_headers() -> dict[str, str]:
    """The headers that the environment sets for every service.

    Raises:
        InputError: A variable is set to what can't be a header.
    """
    headers: dict[str, str] = {}
    text = os.environ.get(HEADERS_ENV)
    if text:
        try:
            given = json.loads(text)
        except ValueError:
            given = None
        if not isinstance(given, dict) or not all(isinstance(v, str) for v in given.values()):
            # The exception would hold the text, which is secret.
            raise InputError(f'${HEADERS_ENV} must be JSON like {{"X-Api-Key": "…"}}.')
        for name, value in given.items():
            headers[name] = checked_header(name, value, f"${HEADERS_ENV}")
    authorization = os.environ.get(AUTHORIZATION_ENV)
    if authorization:
        headers = without(headers, "authorization")
        headers["Authorization"] = checked_header(
            "Authorization", authorization, f"${AUTHORIZATION_ENV}"
        )
    return headers


def checked_header(name: str, value: str, where: str) -> str:
    """Return a header's value without blanks around it.

    Raises:
        InputError: Name or value can't be sent; the value is not repeated.
    """
    if not _HEADER_NAME.fullmatch(name) or name.lower() in _RESERVED:
        raise InputError(f"{where}: {name!r} can't be set as a header.")
    value = value.strip()
    if not _HEADER_VALUE.fullmatch(value):
        raise InputError(f"{where}: the value of {name} must be printable ASCII on one line.")
    return value


def merged_headers(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Headers of several origins; a later one wins, whatever its case."""
    merged: dict[str, str] = {}
    for part in parts:
        for name, value in part.items():
            merged = {**without(merged, name), name: value}
    return merged


def without(headers: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The mapping without a header, whatever its case."""
    return {key: value for key, value in headers.items() if key.lower() != name.lower()}
