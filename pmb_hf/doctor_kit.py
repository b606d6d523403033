"""What the doctor works with: memories of its own, and calls that a service can't spoil."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .providers import http_wire as wire
from .providers.http_calls import Answer, Call
from .providers.http_config import HttpConfig
from .providers.http_errors import HttpFailure
from .providers.http_secrets import Secrets, environment_headers
from .providers.http_service import Service

SCOPE = "domain:pmb-doctor"
OTHER_SCOPE = "domain:pmb-doctor-other"
LIMIT = 20

_LONG = 10_000
_POLL_S, _POLL_TOP_S = 0.02, 0.5
_PATIENCE_S = 2.0
_LETTERS = "bcdfgkmnprtvz"


class Fault(Exception):
    """What a check has found to be wrong, in one line."""


class NotTried(Exception):
    """Why a check does not apply."""


class Memory(NamedTuple):
    """A memory of the doctor: ``marker`` is a word that stands in no other text."""

    id: str
    user_id: str
    text: str
    marker: str
    scope: str | list[str]


class Kit:
    """One examination of the service at ``url``.

    Attributes:
        memories: What is going to be written, by a short name.
        visible_ms: How long the first memory took to be found, once known.

    Raises:
        InputError: The URL can't be used.
    """

    def __init__(self, url: str, timeout_s: float, ready_timeout_s: float) -> None:
        """Make up users and memories; nothing is called yet."""
        config = HttpConfig(url=url, timeout=timeout_s, retries=0)
        self._service = Service(config, Secrets(environment_headers()))
        self._ready_timeout_s = ready_timeout_s
        self._tag = "".join(secrets.choice(_LETTERS) for _ in range(8))
        self._own: dict[str, str] = {}
        self._written: dict[str, Memory] = {}
        self._refused: dict[str, HttpFailure] = {}
        self.visible_ms: float | None = None
        self.memories = self._make_up()

    def _make_up(self) -> Mapping[str, Memory]:
        def made(name: str, text: str, **more: Any) -> tuple[str, Memory]:
            return name, self.memory(name, text, **more)

        filler = "The log book says that the weather was fair and the sea was calm. " * 200
        long = ("{m} " + filler).replace("{m}", self.word("long"))[:_LONG]
        return dict(
            [
                made("first", "The lighthouse {m} is painted green."),
                made("stranger", "The lighthouse {m} is painted red.", user="b"),
                made("unicode", "Café {m} in Zürich serves 抹茶, кофе and crème brûlée 🍵."),
                made("long", long),
                made("listed", "The ferry {m} sails at noon.", scope=[SCOPE, OTHER_SCOPE]),
                made("change", "The engine {m} burns diesel."),
                made("gone", "The cargo {m} is timber."),
                made("twin", "The harbour master {m} is called Ines."),
                made("double", self.text("twin", "The harbour master {m} is called Ines.")),
                made("again", "The anchor {m} weighs nine kilos."),
                *(
                    made(f"boat{n}", f"The boat {self.word('boat')} has berth {{m}}.")
                    for n in "123"
                ),
            ]
        )

    def user(self, name: str = "a") -> str:
        """A user that nobody else has."""
        return f"pmb-doctor-{self._tag}-{name}"

    def word(self, name: str) -> str:
        """A word that stands in no text but those of ``name``."""
        digits = "abcdefghij"
        spelt = "".join(digits[int(c)] if c.isdigit() else c for c in name)
        return f"{self._tag}{spelt}k"

    def text(self, name: str, template: str) -> str:
        """The template with the word of ``name`` in the place of ``{m}``."""
        return template.replace("{m}", self.word(name))

    def memory(
        self, name: str, template: str, *, user: str = "a", scope: str | list[str] = SCOPE
    ) -> Memory:
        """A memory that is not written yet."""
        text = self.text(name, template)
        marker = next(word for word in text.split() if self._tag in word).rstrip(".,")
        marker = self.word(name) if self.word(name) in text else marker
        return Memory(f"doctor-{name}-{self._tag}", self.user(user), text, marker, scope)

    def call(self, call: Call) -> Answer:
        """Make a call once.

        Raises:
            HttpFailure: It came to nothing.
        """
        return self._service.call(call)

    def optional(self, call: Call) -> Answer:
        """Make a call that the service need not have; see `Service.optional`."""
        return self._service.optional(call)

    def add(self, memory: Memory) -> None:
        """Write a memory."""
        call = Call("POST", "/add", _body(memory))
        answer = self._service.shaped(call, self.call(call), wire.stored_ids)
        self._written[memory.id] = memory
        self._own.update(dict.fromkeys(answer, memory.id))

    def add_all(self) -> None:
        """Write the memories that are not written yet; a refusal is kept for `expect`."""
        for name, memory in self.memories.items():
            if memory.id in self._written:
                continue
            try:
                self.add(memory)
            except HttpFailure as failure:
                self._refused[name] = failure

    def update(self, memory: Memory) -> None:
        """Write a memory anew by ``PUT /update``."""
        self.optional(Call("PUT", "/update", {**_body(memory), "id": self._own_id(memory)}))

    def delete(self, memory: Memory) -> None:
        """Forget a memory by ``DELETE /delete``."""
        params = {"user_id": memory.user_id, "id": self._own_id(memory)}
        self.optional(Call("DELETE", "/delete", params=params))
        self._written.pop(memory.id, None)

    def search(
        self,
        query: str,
        user_id: str,
        *,
        limit: int = LIMIT,
        scope: str | Sequence[str] | None = SCOPE,
    ) -> list[wire.Row]:
        """Search once.

        Raises:
            HttpFailure: It came to nothing, or the answer has another shape.
        """
        sent = scope if scope is None or isinstance(scope, str) else list(scope)
        body = {"query": query, "user_id": user_id, "limit": limit, "scope": sent}
        return self._service.ask(Call("POST", "/search", body), wire.results_of)

    def id_of(self, row: wire.Row) -> str | None:
        """The id of a result as a run finds it: its own, its metadata's, or one of ``/add``."""
        for found in (row.id, row.belief_id):
            if found in self._written:
                return found
        return self._own.get(row.id or "")

    def is_row(self, row: wire.Row, memory: Memory) -> bool:
        """Whether a result is this memory, by its id or by its text."""
        return self.id_of(row) == memory.id or memory.marker in (row.text or "")

    def find(self, memory: Memory, **how: Any) -> list[wire.Row]:
        """The results of one search for a memory that are this memory."""
        rows = self.search(memory.text[:1000], memory.user_id, **how)
        return [row for row in rows if self.is_row(row, memory)]

    def expect(self, name: str) -> Memory:
        """A memory that can be found by now.

        Raises:
            Fault: It can't, or it was not taken.
        """
        if name in self._refused:
            raise Fault(str(self._refused[name]))
        memory = self.memories[name]
        if not self.until(lambda: bool(self.find(memory))):
            raise Fault(f"the memory {memory.text[:60]!r} was written, but a search misses it")
        return memory

    @property
    def patience_s(self) -> float:
        """How long to wait for a write: generous at first, then by what the first one took."""
        if self.visible_ms is None:
            return self._ready_timeout_s
        return min(self._ready_timeout_s, max(_PATIENCE_S, 3 * self.visible_ms / 1000))

    def until(self, true: Callable[[], bool]) -> bool:
        """Ask again and again until it is true or patience ends; tell which."""
        end = time.monotonic() + self.patience_s
        pause = _POLL_S
        while not true():
            if time.monotonic() + pause > end:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _POLL_TOP_S)
        return True

    def clean_up(self, *, reset: bool) -> int:
        """Take away what was written and return how many memories are left."""
        try:
            if reset:
                self.call(Call("DELETE", "/reset"))
                return 0
            for memory in list(self._written.values()):
                self.delete(memory)
        except HttpFailure:
            pass
        return len(self._written)

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    def _own_id(self, memory: Memory) -> str:
        return next((own for own, of in self._own.items() if of == memory.id), memory.id)


def _body(memory: Memory) -> dict[str, Any]:
    return {
        "text": memory.text,
        "user_id": memory.user_id,
        "metadata": {
            "beliefId": memory.id,
            "scope": memory.scope,
            "type": "entity",
            "canonicalName": memory.marker,
            "pinned": False,
            "supersededBy": None,
            "superseded_by": None,
            "resolvedAt": None,
            "epistemicStatus": "active",
            "participants": [],
        },
        "aliases": [memory.marker],
    }
