"""Providers that are no memory systems: the floor, the ceiling and a player.

``empty`` and ``everything`` are the two floors, ``oracle`` is the ceiling, and
``scripted`` plays back what a test or a document gives it.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ..errors import InputError, ProviderError
from .protocol import AddRow, Hit
from .store import RecordBook, require

Question: TypeAlias = tuple[str, tuple[str, ...], str]
"""What an oracle is asked: (user_id, scopes, query)."""

_VERSION = "1"


class _Control:
    """Keeps what is written, so that the controls take every kind of write."""

    version = _VERSION

    def __init__(self) -> None:
        self._book = RecordBook()

    @property
    def options(self) -> dict[str, object]:
        """The effective options."""
        return {}

    def reset(self) -> None:
        """Forget every memory of every user."""
        self._book.clear()

    def add(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Store one memory, in the place of the same user's with this id."""
        row = AddRow(
            belief_id=belief_id,
            user_id=user_id,
            text=text,
            aliases=aliases,
            metadata=metadata,
        )
        self._book.put(row)
        self._written(user_id, belief_id)

    def update(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Replace a stored memory; it keeps its place.

        Raises:
            ProviderError: The user has no memory with this id.
        """
        require(self._book, user_id, belief_id)
        row = AddRow(
            belief_id=belief_id,
            user_id=user_id,
            text=text,
            aliases=aliases,
            metadata=metadata,
        )
        self._book.put(row)
        self._written(user_id, belief_id)

    def delete(self, *, belief_id: str, user_id: str) -> None:
        """Forget one memory. Forgetting an unknown one does nothing."""
        self._book.pop(user_id, belief_id)

    def _written(self, user_id: str, belief_id: str) -> None:
        """Take note of a write."""

    def _hit(self, user_id: str, belief_id: str) -> Hit:
        memory = self._book.get(user_id, belief_id)
        return Hit(belief_id) if memory is None else memory.hit()


class EmptyProvider(_Control):
    """Finds nothing, ever: the floor of a system that always abstains."""

    def search(self, *, query: str, user_id: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """Return an empty list."""
        del query, user_id, scopes, limit
        return []


class EverythingProvider(_Control):
    """Returns all that the user has: the floor of a system that never chooses."""

    def search(self, *, query: str, user_id: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """Return the user's memories, the oldest first, up to ``limit``.

        Query and scopes are ignored.
        """
        del query, scopes
        memories = self._book.of_user(user_id)[: max(limit, 0)]
        return [memory.hit() for memory in memories]


class OracleProvider(_Control):
    """Returns the right answers that the runner gave it: the ceiling."""

    def __init__(self, answers: Mapping[Question, Sequence[str]] | None = None) -> None:
        """Take the answers now, or later by `arm`."""
        super().__init__()
        self._answers: dict[Question, tuple[str, ...]] | None = None
        if answers is not None:
            self.arm(answers)

    def arm(self, answers: Mapping[Question, Sequence[str]]) -> None:
        """Set the answers, in place of earlier ones; `reset` keeps them.

        Args:
            answers: Belief ids, the best first, by (user_id, scopes, query),
                exactly as `search` will be asked.
        """
        self._answers = {
            (user_id, tuple(scopes), query): tuple(ids)
            for (user_id, scopes, query), ids in answers.items()
        }

    def search(self, *, query: str, user_id: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """Return the answer to this question, up to ``limit``.

        Raises:
            ProviderError: There are no answers, or none to this question.
        """
        if self._answers is None:
            raise ProviderError("the oracle has no answers: call arm() before search.")
        ids = self._answers.get((user_id, tuple(scopes), query))
        if ids is None:
            raise ProviderError(
                f"the oracle has no answer to {query!r} of user {user_id!r} in scopes "
                f"{list(scopes)}: arm it with all questions of the run."
            )
        return [self._hit(user_id, belief_id) for belief_id in ids[: max(limit, 0)]]


class Asked(NamedTuple):
    """One search that a `ScriptedProvider` got."""

    query: str
    user_id: str
    scopes: tuple[str, ...]
    limit: int


Reply: TypeAlias = Sequence[str | Hit]
Answer: TypeAlias = Reply | Exception | Callable[[Asked], Reply]
"""Ids or hits to return, an exception to raise, or what makes the reply."""


class ScriptedProvider(_Control):
    """Plays back given answers, for tests and documents.

    Attributes:
        calls: How often each method was called, by its name.
        asked: All searches, the oldest first.
    """

    def __init__(
        self,
        script: Mapping[str, Answer] | None = None,
        *,
        default: Answer = (),
        honour_limit: bool = True,
        visible_after_searches: int = 0,
        visible_after_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the script.

        Args:
            script: The answer to each query.
            default: The answer to a query that is not in the script.
            honour_limit: False returns the whole answer whatever the limit.
            visible_after_searches: A written belief is left out of this many
                searches after its last write.
            visible_after_s: A written belief is left out for this many seconds
                after its last write. Ids that were never written are not held
                back.
            clock: Seconds, from any start.
        """
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.asked: list[Asked] = []
        self._script = dict(script or {})
        self._default = default
        self._honour_limit = honour_limit
        self._after_searches = visible_after_searches
        self._after_s = visible_after_s
        self._clock = clock
        self._writes: dict[tuple[str, str], tuple[int, float]] = {}

    @property
    def options(self) -> dict[str, object]:
        """The effective options; the script is not one of them."""
        return {
            "honour_limit": self._honour_limit,
            "visible_after_searches": self._after_searches,
            "visible_after_s": self._after_s,
        }

    def reset(self) -> None:
        """Forget what was written; the script and the counts stay."""
        self.calls["reset"] += 1
        super().reset()
        self._writes.clear()

    def add(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Store one memory, in the place of the same user's with this id."""
        self.calls["add"] += 1
        super().add(
            belief_id=belief_id,
            user_id=user_id,
            text=text,
            aliases=aliases,
            metadata=metadata,
        )

    def update(
        self,
        *,
        belief_id: str,
        user_id: str,
        text: str,
        aliases: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        """Replace a stored memory.

        Raises:
            ProviderError: The user has no memory with this id.
        """
        self.calls["update"] += 1
        super().update(
            belief_id=belief_id,
            user_id=user_id,
            text=text,
            aliases=aliases,
            metadata=metadata,
        )

    def delete(self, *, belief_id: str, user_id: str) -> None:
        """Forget one memory. Forgetting an unknown one does nothing."""
        self.calls["delete"] += 1
        super().delete(belief_id=belief_id, user_id=user_id)
        self._writes.pop((user_id, belief_id), None)

    def search(self, *, query: str, user_id: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """Return or raise what the script says for this query."""
        self.calls["search"] += 1
        asked = Asked(query, user_id, tuple(scopes), limit)
        self.asked.append(asked)
        answer = self._script.get(query, self._default)
        if isinstance(answer, Exception):
            raise answer
        reply = answer(asked) if callable(answer) else answer
        hits = [item if isinstance(item, Hit) else self._hit(user_id, item) for item in reply]
        shown = [hit for hit in hits if self._visible(user_id, hit.id)]
        return shown[: max(limit, 0)] if self._honour_limit else shown

    def _written(self, user_id: str, belief_id: str) -> None:
        now = self._clock()
        self._writes[user_id, belief_id] = (self.calls["search"], now)

    def _visible(self, user_id: str, belief_id: str | None) -> bool:
        if belief_id is None or (user_id, belief_id) not in self._writes:
            return True
        searches, written = self._writes[user_id, belief_id]
        # This search has been counted already, so ">" leaves out exactly n.
        return (
            self.calls["search"] - searches > self._after_searches
            and self._clock() - written >= self._after_s
        )


def scripted_from_file(*, file: str) -> ScriptedProvider:
    """Return a player of a JSON file: ``{query: [belief ids]}``.

    Raises:
        InputError: The file can't be read or has another shape.
    """
    try:
        script = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"option file: can't read {file!r} as JSON: {error}.") from error
    if not isinstance(script, dict):
        raise InputError(f"{file}: expected an object {{query: [belief ids]}}.")
    for query, ids in script.items():
        if not isinstance(ids, list) or not all(isinstance(i, str) for i in ids):
            raise InputError(f"{file}: query {query!r}: expected a list of belief ids.")
    return ScriptedProvider(script)
