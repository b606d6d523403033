"""Embedders over HTTP: Ollama's call and OpenAI's, at any base URL.

Calls keep a deadline, are repeated when that may help (429, 5xx, a broken
connection), follow no redirect to another host and take no proxy from the
environment: what `http_calls` does for services of memories. The key is sent
and shown nowhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import InputError
from ..http_calls import Call
from ..http_config import HttpConfig
from ..http_errors import AnswerError
from ..http_secrets import Secrets, checked_header
from ..http_service import Service

OLLAMA_ENV, OPENAI_ENV, KEY_ENV = "OLLAMA_HOST", "OPENAI_BASE_URL", "OPENAI_API_KEY"
OLLAMA_URL, OPENAI_URL = "http://127.0.0.1:11434", "https://api.openai.com/v1"

_TIMEOUT_S = 120.0
_BODY_BYTES = 256 * 1024 * 1024
_BATCH = 64


class ServiceSource:
    """A model behind a call that takes texts and answers vectors."""

    costly = True

    def __init__(
        self,
        name: str,
        service: Service,
        url: str,
        ask: Callable[[list[str]], Call],
        read: Callable[[Any], list[Any]],
    ) -> None:
        """Connect to nothing yet."""
        self.name = name
        self.identity = f"{name} at {url}"
        self._service = service
        self._ask = ask
        self._read = read

    def vectors(self, texts: Sequence[str]) -> list[Any]:
        """One vector a text.

        Raises:
            ProviderError: The service refused, failed, or answered another
                number of vectors.
        """
        rows: list[Any] = []
        for start in range(0, len(texts), _BATCH):
            page = list(texts[start : start + _BATCH])
            found = self._service.ask(self._ask(page), self._read)
            if len(found) != len(page):
                raise AnswerError(
                    f"embedder {self.name!r} answered {len(found)} vectors for {len(page)} texts."
                )
            rows += found
        return rows

    def close(self) -> None:
        """Close the connections; they are opened again when needed."""
        self._service.close()


def ollama(model: str, base_url: str | None) -> ServiceSource:
    """A model of Ollama; ``base_url`` comes from $OLLAMA_HOST, else it is this machine.

    Raises:
        InputError: The URL can't be used.
    """
    service, url = _service(base_url or _ollama_host(), {})
    return ServiceSource(
        f"ollama:{model}",
        service,
        url,
        lambda texts: Call("POST", "/api/embed", {"model": model, "input": texts}),
        _ollama_vectors,
    )


def openai(model: str, base_url: str | None) -> ServiceSource:
    """A model behind ``/embeddings``; ``base_url`` from $OPENAI_BASE_URL, else OpenAI itself.

    Raises:
        InputError: The URL can't be used, or OpenAI itself is asked without a key.
    """
    given = base_url or os.environ.get(OPENAI_ENV) or OPENAI_URL
    key = os.environ.get(KEY_ENV, "").strip()
    headers = {}
    if key:
        headers["Authorization"] = checked_header("Authorization", f"Bearer {key}", f"${KEY_ENV}")
    elif given.rstrip("/") == OPENAI_URL:
        raise InputError(
            f"embedder 'openai:{model}': {OPENAI_URL} needs a key: set ${KEY_ENV}, or give "
            f"base_url (or ${OPENAI_ENV}) of a service that needs none."
        )
    service, url = _service(given, headers)
    body = {"model": model, "encoding_format": "float"}
    return ServiceSource(
        f"openai:{model}",
        service,
        url,
        lambda texts: Call("POST", "/embeddings", {**body, "input": texts}),
        _openai_vectors,
    )


def _service(url: str, headers: dict[str, str]) -> tuple[Service, str]:
    if any(sign in url for sign in "@?#"):
        raise InputError(
            "the base URL of an embedder must hold no user, password, query or fragment; "
            f"a key comes from ${KEY_ENV}."
        )
    config = HttpConfig(url, timeout=_TIMEOUT_S, body_limit=_BODY_BYTES)
    return Service(config, Secrets(headers)), config.url


def _ollama_host() -> str:
    """$OLLAMA_HOST as Ollama reads it: scheme and port may be missing."""
    host = os.environ.get(OLLAMA_ENV, "").strip().rstrip("/")
    if not host:
        return OLLAMA_URL
    if "://" in host:
        return host
    name, colon, port = host.partition(":")
    # The address to listen on may be "all"; one doesn't call that.
    name = "127.0.0.1" if name in {"", "0.0.0.0"} else name  # noqa: S104 - replaced, not bound
    return f"http://{name}:{port if colon else '11434'}"


def _ollama_vectors(answer: Any) -> list[Any]:
    rows = answer.get("embeddings") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise AnswerError('no list "embeddings" in it')
    return [_numbers(row, f"embeddings[{place}]") for place, row in enumerate(rows)]


def _openai_vectors(answer: Any) -> list[Any]:
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise AnswerError('no list "data" in it')
    by_index: dict[int, Any] = {}
    for place, row in enumerate(rows):
        index = row.get("index", place) if isinstance(row, dict) else None
        if not isinstance(index, int) or isinstance(index, bool) or index in by_index:
            raise AnswerError(f"data[{place}] has no index of its own")
        by_index[index] = _numbers(row.get("embedding"), f"data[{place}].embedding")
    if sorted(by_index) != list(range(len(rows))):
        raise AnswerError("the indices in data are not 0, 1, 2 …")
    return [by_index[index] for index in range(len(rows))]


def _numbers(row: Any, where: str) -> list[Any]:
    kinds = (int, float)
    if not isinstance(row, list) or not all(type(number) in kinds for number in row):
        raise AnswerError(f"{where} is no list of numbers")
    return row
