"""A row of distractors as a run takes it: streamed, and looked up by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from ..schema import Belief, Corpus
from .recipe import Grower, Recipe


class Distractors(Protocol):
    """Beliefs beside a corpus. Made anew on each pass, so they need no memory."""

    @property
    def recipe(self) -> Recipe:
        """What decides them; part of a report's provenance."""

    def beliefs(self) -> Iterator[Belief]:
        """All of them, in order."""

    def find(self, ids: Iterable[str]) -> Mapping[str, Belief]:
        """Those of ``ids`` that are distractors, by id."""


def bare(belief: Belief) -> Belief:
    """What a report keeps of a distractor: all that tells its kind, and none of its texts.

    They are made of the corpus's own, which a report does not quote either.
    """
    return Belief(
        id=belief.id,
        user_id=belief.user_id,
        type=belief.type,
        canonical_name="",
        content="",
        scope=belief.scope,
        epistemic_status=belief.epistemic_status,
        pinned=belief.pinned,
        resolved_at=belief.resolved_at,
        superseded_by=belief.superseded_by,
    )


class Grown:
    """Distractors made while they are read; nothing is kept on disk."""

    def __init__(self, corpus: Corpus, recipe: Recipe) -> None:
        """Prepare to grow around ``corpus``.

        Raises:
            CorpusError: If nothing can be grown around it.
        """
        self._grower = Grower(corpus, recipe)

    @property
    def recipe(self) -> Recipe:
        """What decides them."""
        return self._grower.recipe

    def beliefs(self) -> Iterator[Belief]:
        """All of them, in order."""
        return (belief for _, belief in self._grower.beliefs())

    def find(self, ids: Iterable[str]) -> dict[str, Belief]:
        """Those of ``ids`` that are distractors, by id."""
        numbers = ((belief_id, self._grower.number_of(belief_id)) for belief_id in ids)
        return {i: self._grower.belief(number) for i, number in numbers if number is not None}
