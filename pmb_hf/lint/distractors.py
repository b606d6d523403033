"""The linter for distractors: none may be a right answer. One pass, in bounded memory.

A distractor is no right answer if it is another user's, superseded, resolved or
out of every scope that its user is asked in. If it is none of these, it must
share no content word with any query that could bring it back, and no query of
its place may ask for everything that there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..context import is_live
from ..grow.asked import Asked, all_ids, asked_by
from ..grow.words import stem_set
from ..schema import OPEN_QUESTION, UNIVERSAL, Belief, Corpus
from .findings import Finding, error, warning

_WHERE = "distractors"


def lint_distractors(corpus: Corpus, beliefs: Iterable[Belief]) -> Iterator[Finding]:
    """What is wrong with ``beliefs`` as distractors around ``corpus``.

    Ids must ascend: then they are seen to be unique without keeping them.
    """
    asked, known = asked_by(corpus), all_ids(corpus)
    owners = {belief.id: belief.user_id for belief in corpus.beliefs}
    askers = {user for user, _ in asked.query_stems}
    last, count = "", 0
    for count, belief in enumerate(beliefs, 1):
        where = f"{_WHERE}[{count - 1}] ({belief.id})"
        if belief.id in known:
            yield error("duplicate-belief-id", where, "is the id of a belief of the corpus; rename")
        if belief.id <= last:
            message = f"comes after {last!r}; ids must ascend, so that each is seen to be new"
            yield error("distractor-order", where, message)
        last = belief.id
        by = belief.superseded_by
        if by is not None and owners.get(by) != belief.user_id:
            message = f"no belief {by!r} of user {belief.user_id!r} in the corpus; correct the id"
            yield error("unknown-id", f"{where}.superseded_by", message)
        if belief.participants:
            message = "a distractor that brings others along changes the right answer; drop them"
            yield error("distractor-participants", f"{where}.participants", message)
        if belief.user_id in askers and is_live(belief):
            yield from _live(belief, where, asked)
    if not count:
        yield warning("no-distractors", _WHERE, "there is none")


def _live(belief: Belief, where: str, asked: Asked) -> Iterator[Finding]:
    """A live belief of somebody who is asked: what the harness shows, and what could be right."""
    here = [scope for scope in belief.scope if (belief.user_id, scope) in asked.query_stems]
    if UNIVERSAL in belief.scope:
        message = f"is live and {UNIVERSAL!r}, so that it changes the persona prelude"
        yield error("distractor-prelude", f"{where}.scope", message)
    if not here:
        return
    if belief.pinned:
        message = "is live, in scope and pinned, so that it changes the tiers of the harness"
        yield error("distractor-pinned", f"{where}.pinned", message)
    if belief.type == OPEN_QUESTION:
        return  # eligible for no tier unless it is pinned
    shut = [scope for scope in here if (belief.user_id, scope) in asked.closed]
    if shut:
        message = f"a query in {shut[0]!r} asks for all that there is, and this would be part of it"
        yield error("distractor-right-answer", f"{where}.scope", message)
    words = stem_set((belief.canonical_name, *belief.aliases, belief.content))
    shared = sorted(words & asked.forbidden(belief.user_id, here))
    if shared:
        message = (
            f"is live and in scope, and shares {', '.join(shared)} with a query there: it could "
            "be a right answer"
        )
        yield error("distractor-right-answer", where, message)
