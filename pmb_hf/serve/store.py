"""A provider as the contract sees it. Everything here runs in one thread."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, TypeVar

from ..errors import NotReadyError, ProviderError
from ..faults import describe
from ..providers.protocol import (
    AddRow,
    Hit,
    Provider,
    provider_version,
    supports_delete,
    supports_scopes,
    supports_update,
    supports_wait,
)
from .bodies import AddBody, SearchBody, WaitBody

T = TypeVar("T")


class Refusal(Exception):
    """A request that is not carried out: the HTTP status, and why in one line."""

    def __init__(self, status: int, reason: str) -> None:
        """Take both."""
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Served:
    """What the contract does on ``provider``, which is called ``name``.

    It notes which scopes a user has used, because a search without a scope
    asks all of them; which memories it wrote, to tell an unknown memory from a
    failed update; and which of them were not waited for yet.
    """

    def __init__(self, provider: Provider, name: str) -> None:
        """Start with nothing noted; a provider may hold memories already."""
        self._provider = provider
        self.name = name
        self._scopes: dict[str, dict[str, None]] = {}
        self._known: set[tuple[str, str]] = set()
        self._unseen: dict[tuple[str, str], None] = {}

    def health(self) -> dict[str, Any]:
        """Name, version and abilities."""
        provider = self._provider
        return {
            "status": "ok",
            "provider": self.name,
            "version": provider_version(provider),
            "capabilities": {
                "update": supports_update(provider),
                "delete": supports_delete(provider),
                "wait": True,
                "scopes": supports_scopes(provider),
            },
        }

    def reset(self) -> None:
        """Forget everything."""
        self._provider.reset()
        self._scopes.clear()
        self._known.clear()
        self._unseen.clear()

    def add(self, body: AddBody) -> str:
        """Store a memory and return its id."""
        row = _row(body)
        self._provider.add(**row)
        return self._note(row)

    def update(self, body: AddBody) -> str:
        """Change a memory and return its id.

        Raises:
            Refusal: 501 if the provider can't, 404 if there is no such memory.
        """
        provider = self._provider
        if not supports_update(provider):
            raise self._cannot("update")
        row = _row(body)
        try:
            provider.update(**row)
        except ProviderError as error:
            if (row["user_id"], row["belief_id"]) in self._known:
                raise
            raise Refusal(404, describe(error)) from error
        return self._note(row)

    def delete(self, user_id: str, belief_id: str) -> None:
        """Forget a memory; an unknown one is no error.

        Raises:
            Refusal: 501 if the provider can't.
        """
        provider = self._provider
        if not supports_delete(provider):
            raise self._cannot("delete")
        provider.delete(belief_id=belief_id, user_id=user_id)
        self._known.discard((user_id, belief_id))
        self._unseen.pop((user_id, belief_id), None)

    def search(self, body: SearchBody) -> list[dict[str, Any]]:
        """Search; what comes back is neither cut nor filtered."""
        scopes = body.scopes
        if scopes is None:
            scopes = list(self._scopes.get(body.user_id, ()))
        hits: object = self._provider.search(
            query=body.query, user_id=body.user_id, scopes=tuple(scopes), limit=body.limit
        )
        if isinstance(hits, str | bytes) or not isinstance(hits, Sequence):
            raise ProviderError(f"search must return a list of hits, not {type(hits).__name__}")
        return [_result(number, hit) for number, hit in enumerate(hits, 1)]

    def wait(self, body: WaitBody) -> None:
        """Return once the named memory, or else everything written, can be found.

        A provider without ``wait_ready`` is taken to show a write at once, as a
        run in process takes it.

        Raises:
            Refusal: 504 if something does not show within ``timeout_s`` seconds.
        """
        provider, timeout_s = self._provider, body.timeout_s
        if not supports_wait(provider):
            self._unseen.clear()
            return
        deadline = monotonic() + timeout_s
        named = body.user_id, body.belief_id
        for user_id, belief_id in [key for key in self._unseen if None in named or key == named]:
            left = max(deadline - monotonic(), 0.0)
            try:
                provider.wait_ready(belief_id=belief_id, user_id=user_id, timeout_s=left)
            except NotReadyError as error:
                raise Refusal(504, describe(error)) from error
            del self._unseen[user_id, belief_id]

    def _note(self, row: AddRow) -> str:
        key = row["user_id"], row["belief_id"]
        self._known.add(key)
        self._unseen[key] = None
        self._scopes.setdefault(row["user_id"], {}).update(dict.fromkeys(row["metadata"]["scope"]))
        return row["belief_id"]

    def _cannot(self, what: str) -> Refusal:
        return Refusal(501, f"provider {self.name!r} can't {what} a memory")


def guarded(job: Callable[[], T]) -> Callable[[], T]:
    """A job whose every failure is a `Refusal`: 500 and one line, no traceback."""

    def do() -> T:
        try:
            return job()
        except Refusal:
            raise
        except BaseException as error:
            # Also what is no Exception: raised in this thread, it stops nothing.
            raise Refusal(500, describe(error)) from error

    return do


def _row(body: AddBody) -> AddRow:
    return AddRow(
        belief_id=body.metadata.belief_id,
        user_id=body.user_id,
        text=body.text,
        aliases=list(body.aliases),
        metadata=body.metadata.normalised(),
    )


def _result(number: int, hit: object) -> dict[str, Any]:
    if not isinstance(hit, Hit):
        raise ProviderError(f"result {number} must be a Hit, not {type(hit).__name__}")
    if hit.id is not None and not isinstance(hit.id, str):
        raise ProviderError(f"result {number} has the id {hit.id!r}; an id must be a string")
    number_like = isinstance(hit.score, int | float) and not isinstance(hit.score, bool)
    return {
        "id": hit.id,
        "memory": None if hit.text is None else str(hit.text),
        "score": _plain(float(hit.score)) if number_like and hit.score is not None else None,
        "metadata": None if hit.metadata is None else _plain(hit.metadata),
    }


def _plain(value: object) -> Any:
    """A value as strict JSON can hold it: what has no JSON form becomes its text or null."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return str(value)
