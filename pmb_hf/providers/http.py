"""Any memory system that speaks the HTTP contract.

``POST /add``, ``POST /search`` and ``DELETE /reset`` must be there; ``PUT
/update``, ``DELETE /delete``, ``POST /wait`` and ``GET /health`` may be.
Nothing that the service says is taken on trust: see design/http.md.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from ..errors import InputError
from . import http_wire as wire
from .http_calls import Answer, Call
from .http_config import HttpConfig
from .http_errors import (
    DeadlineError,
    HttpFailure,
    HttpStatusError,
    LeftoverError,
    UnsupportedError,
)
from .http_memories import Found, Written, merge
from .http_ready import has_arrived, probes, queries_for, scopes_of
from .http_secrets import Secrets
from .http_service import Service
from .patience import GRACE_S, Patience, wait_until
from .protocol import AddRow, Hit

POLL_LIMIT = 50
"""How many results are asked for when waiting for a memory to show."""


class HttpProvider:
    """A service behind a URL.

    Attributes:
        options: The settings in effect; no secret is among them.
        text_mode: What the configuration file says a memory's text is made of;
            None if it says nothing.
    """

    def __init__(self, config: HttpConfig, secrets: Secrets) -> None:
        """Connect to nothing yet."""
        self._config = config
        self._service = Service(config, secrets)
        self.options: Mapping[str, object] = config.options
        self.text_mode = config.text_mode
        self._written = Written(secrets.redact)
        self._delayed = False
        self._slowest_s = 0.0

    @property
    def version(self) -> str | None:
        """What ``GET /health`` says, asked once; None if it says nothing."""
        version = self._service.health().get("version")
        return self._service.shown(version) or None if isinstance(version, str) else None

    @property
    def supports_update(self) -> bool:
        """False once it is known that there is no ``PUT /update``."""
        return self._service.can_update

    @property
    def supports_delete(self) -> bool:
        """False once it is known that there is no ``DELETE /delete``."""
        return self._service.can_delete

    @property
    def counts(self) -> dict[str, Any]:
        """What happened so far: ``calls``, ``retries``, and how ids were ``resolved``.

        ``id`` is the result's own id, ``metadata`` the belief id in its
        metadata, ``stored`` an id that ``/add`` had answered; ``none`` counts
        the results for which there was no way.
        """
        return {**self._service.counts, "resolved": self._written.counts}

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    def reset(self) -> None:
        """Empty the store, or with the option ``reset=own`` what this run wrote of it."""
        self._service.health()
        if self._config.reset == "own":
            for user_id, belief_id in self._written.present:
                self.delete(belief_id=belief_id, user_id=user_id)
        else:
            self._service.call(Call("DELETE", "/reset"))
        self._written.clear()
        self._delayed = False

    def check_empty(self, *, rows: Sequence[AddRow], timeout_s: float) -> None:
        """Make sure that the users of ``rows``, about to be written, have nothing yet.

        A search that the service answers with an error tells nothing: some
        can't search an empty store. One that finds something, or gives no usable
        answer, is made again for 5 s, one that is late as long as ``timeout_s`` allows.

        Raises:
            LeftoverError: A search still finds something.
            HttpFailure: No search came to an answer.
        """
        for row in probes(rows):
            patience = self._patience(timeout_s)
            grace: Patience | None = None
            while (fault := self._leftover(row, patience)) is not None:
                if isinstance(fault, DeadlineError):
                    waits = patience
                else:
                    waits = grace = grace or Patience(min(timeout_s, GRACE_S))
                if not waits.pause():
                    raise fault

    def _leftover(self, row: AddRow, patience: Patience) -> HttpFailure | None:
        """What speaks against an empty store."""
        try:
            found = self._probe(queries_for(row)[0], row, patience)
        except HttpStatusError:
            return None
        except HttpFailure as failure:
            return failure
        if not found:
            return None
        first = self._service.shown(found[0].id or found[0].text or "nameless")
        return LeftoverError(
            f"the store of user {row['user_id']!r} is not empty before it is filled: "
            f"POST /search finds {len(found)}, the first is {first!r}. Leftovers spoil "
            "every figure: mend DELETE /reset, empty the store by hand, or use "
            "another --namespace"
        )

    def add(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Store a memory. It is sent again only if the service can't have taken it."""
        row = AddRow(
            belief_id=belief_id, user_id=user_id, text=text, aliases=aliases, metadata=metadata
        )
        call = Call("POST", "/add", wire.memory_body(row), repeat=False)
        self._note(row, call, self._service.call(call))

    def update(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Change a memory.

        Raises:
            UnsupportedError: The service can't; ``supports_update`` is False now.
        """
        row = AddRow(
            belief_id=belief_id, user_id=user_id, text=text, aliases=aliases, metadata=metadata
        )
        body = {**wire.memory_body(row), "id": self._written.own_ids(user_id, belief_id)[0]}
        call = Call("PUT", "/update", body)
        try:
            answer = self._service.optional(call)
        except UnsupportedError:
            self._service.can_update = False
            raise
        self._note(row, call, answer)

    def delete(self, *, belief_id: str, user_id: str) -> None:
        """Forget a memory.

        Raises:
            UnsupportedError: The service can't; ``supports_delete`` is False now.
        """
        for own in self._written.own_ids(user_id, belief_id):
            call = Call("DELETE", "/delete", params={"user_id": user_id, "id": own})
            try:
                self._service.optional(call)
            except UnsupportedError:
                self._service.can_delete = False
                raise
            except HttpStatusError as error:
                if error.code != 404:
                    raise
        self._written.forget(user_id, belief_id)

    def search(
        self, *, query: str, user_id: str, scopes: Sequence[str], limit: int
    ) -> Sequence[Hit]:
        """Ask for the best memories; whatever comes is given back, also beyond the limit."""
        if limit <= 0:
            return ()
        found = self._search(query, user_id, scopes, limit)
        self._written.count(found)
        return [hit for hit, _ in found]

    def wait_ready(self, *, belief_id: str, user_id: str, timeout_s: float) -> None:
        """Wait until a search finds what was last written under this id, as it is now.

        ``POST /wait`` is asked first; if it says yes, that will do. A search
        without a usable answer has not found it yet. The option ``ready_timeout``
        comes before ``timeout_s``.

        Raises:
            NotReadyError: It did not show in time, or searches were refused for 5 s;
                says how the last search failed, if it did.
        """
        own = self._config.ready_timeout
        seconds = timeout_s if own is None else own
        row, before = self._written.last(user_id, belief_id)
        if row is None:
            raise InputError(f"belief {belief_id!r} of user {user_id!r} was never written.")
        if self._config.honour_seed_delay and not self._delayed:
            time.sleep(self._config.seed_delay_ms / 1000)
        self._delayed = True
        patience = self._patience(seconds)
        if not self._waited(row, seconds):
            self._poll(row, before, patience)

    def _waited(self, row: AddRow, seconds: float) -> bool:
        """Whether the service has ``/wait`` and says that all is there."""
        if not self._service.can_wait or seconds <= 0:
            return False
        body = {
            "user_id": row["user_id"],
            "beliefId": row["belief_id"],
            "timeout_s": min(seconds, 600.0),
        }
        call = Call("POST", "/wait", body, timeout_s=seconds, retries=0)
        try:
            # 202 says that the service will see to it, not that it is done.
            return self._service.optional(call).code != 202
        except UnsupportedError:
            self._service.can_wait = False
            if self._config.honour_seed_delay and self._config.wait_after_seed:
                raise
        except HttpFailure:
            # Searches will tell what is wrong.
            pass
        return False

    def _poll(self, row: AddRow, before: AddRow | None, patience: Patience) -> None:
        queries = cycle(queries_for(row))
        wait_until(
            lambda: (
                None if has_arrived(self._probe(next(queries), row, patience), row, before) else ""
            ),
            patience,
            lambda seconds: (
                f"belief {row['belief_id']!r} of user {row['user_id']!r} was written, but "
                f"searches did not show it within {seconds:g} s: give it more time with "
                "--ready-timeout, or check that /search returns ids as /add got them."
            ),
        )

    def _patience(self, seconds: float) -> Patience:
        # What was that slow may well be so again: an answer is not to be cut off for nothing.
        return Patience(seconds, answer_s=2 * self._slowest_s)

    def _probe(self, query: str, row: AddRow, patience: Patience) -> list[Hit]:
        timeout = patience.share(self._config.timeout)
        started = time.monotonic()
        found = self._search(query, row["user_id"], scopes_of(row), POLL_LIMIT, timeout, 0)
        self._slowest_s = max(self._slowest_s, time.monotonic() - started)
        return [hit for hit, _ in found]

    def _search(
        self,
        query: str,
        user_id: str,
        scopes: Sequence[str],
        limit: int,
        timeout_s: float | None = None,
        retries: int | None = None,
    ) -> list[Found]:
        """The hits, each with how its id was resolved."""
        one_by_one = not self._config.multi_scope and len(scopes) > 1
        answers = []
        for asked in [(scope,) for scope in scopes] if one_by_one else [tuple(scopes)]:
            body = {
                "query": query,
                "user_id": user_id,
                self._config.limit_param: limit,
                "scope": wire.scope_value(asked),
            }
            call = Call("POST", "/search", body, timeout_s=timeout_s, retries=retries)
            rows = self._service.ask(call, wire.results_of)
            answers.append([self._written.find(row) for row in rows])
        return merge(answers, limit) if one_by_one else answers[0]

    def _note(self, row: AddRow, call: Call, answer: Answer) -> None:
        self._written.note(row, self._service.shaped(call, answer, wire.stored_ids))
