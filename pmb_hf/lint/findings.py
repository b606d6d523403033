"""What the linter says, and what its rules look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..context import Store, in_scope, is_superseded
from ..records import Expectation
from ..schema import OPEN_QUESTION, Expect

ERROR, WARNING = "error", "warning"


class Finding(NamedTuple):
    """One fault of a corpus.

    Attributes:
        severity: ``error`` or ``warning``.
        code: What kind of fault it is, as in ``design/linter.md``.
        where: ``file[index] (id).path``.
        message: What is wrong and what to do.
    """

    severity: str
    code: str
    where: str
    message: str


def error(code: str, where: str, message: str) -> Finding:
    """A fault that makes figures wrong, or that no answer can pass."""
    return Finding(ERROR, code, where, message)


def warning(code: str, where: str, message: str) -> Finding:
    """Something that is likely not meant."""
    return Finding(WARNING, code, where, message)


def spot(file: str, index: int, name: str) -> str:
    """The place of a row, as :mod:`pmb_hf.parsing` writes it."""
    return f"{file}[{index}]" + (f" ({name})" if name else "")


@dataclass(frozen=True, slots=True)
class Subject:
    """A case or a turn, with the beliefs as they are when it is asked.

    Attributes:
        where: Its place.
        wording: Where a case says what it is about: category, then description and id.
        known: Every belief id of the corpus, created ones included.
        raw_expect: Its ``expect`` as JSON; ``{}`` if that is no object.
    """

    where: str
    wording: tuple[str, str]
    query: str
    scopes: tuple[str, ...]
    user_id: str
    max_beliefs: int | None
    expect: Expect
    expectation: Expectation
    store: Store
    known: frozenset[str]
    raw_expect: Mapping[str, Any]

    @property
    def at(self) -> str:
        """The place of its assertions."""
        return f"{self.where}.expect"

    def required(self) -> Iterator[tuple[str, str]]:
        """Each gold id with the path of its list, in the order of the lists."""
        tier = self.expect.relevant
        for key, ids in (
            ("shouldOnlyInclude", tier.only or ()),
            ("mustInclude", tier.must_include),
        ):
            for belief_id in dict.fromkeys(ids):
                yield f"{self.at}.relevantBeliefs.{key}", belief_id

    def id_lists(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Every list of belief ids that is asserted, with its path; pairs are flattened."""
        for name, tier in (
            ("relevantBeliefs", self.expect.relevant),
            ("pinnedFacts", self.expect.pinned),
            ("openQuestions", self.expect.questions),
        ):
            path = f"{self.at}.{name}"
            yield f"{path}.mustInclude", tier.must_include
            yield f"{path}.mustExclude", tier.must_exclude
            yield f"{path}.shouldOnlyInclude", tier.only or ()
            yield f"{path}.orderedBefore", tuple(i for pair in tier.ordered_before for i in pair)
        yield f"{self.at}.noiseCheck.mustNotSurface", self.expect.must_not_surface

    def misfit(self, belief_id: str) -> tuple[str, str] | None:
        """Why a belief does not count for this user, these scopes and this moment.

        A short code and the reason, or ``None`` if it is the user's, live and in scope.
        """
        belief = self.store.get(belief_id)
        if belief is None:
            return "not-there", (
                "does not exist yet: it is created later, or in a session that this does not "
                "depend on"
            )
        if belief.user_id != self.user_id:
            return "other-user", f"belongs to user {belief.user_id!r}, not to {self.user_id!r}"
        if is_superseded(belief):
            by = f" by {belief.superseded_by}" if belief.superseded_by else ""
            return "superseded", f"is superseded{by}"
        if belief.resolved_at is not None:
            return "resolved", f"was resolved at {belief.resolved_at}"
        if not in_scope(belief, self.scopes):
            return "out-of-scope", (
                f"has the scopes {list(belief.scope)}, and asked are {list(self.scopes)}"
            )
        return None

    def is_question(self, belief_id: str) -> bool:
        """Whether a belief is an open question."""
        belief = self.store.get(belief_id)
        return belief is not None and belief.type == OPEN_QUESTION

    def is_pinned(self, belief_id: str) -> bool:
        """Whether a belief is pinned."""
        belief = self.store.get(belief_id)
        return belief is not None and belief.pinned
