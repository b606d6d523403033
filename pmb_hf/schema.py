"""Beliefs, cases, sessions and turns, as a corpus directory holds them.

A corpus is three JSON files, ``beliefs.seed.json``, ``retrieval.cases.json`` and
``session-retrieval.cases.json``, in upstream's shape with a few keys of our own
(``rationale``, ``orderedBefore``, ``dependsOn``, and changes that supersede or
resolve). :mod:`pmb_hf.parsing` reads their JSON, :mod:`pmb_hf.corpus` the files.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import Any

BELIEFS_FILE = "beliefs.seed.json"
CASES_FILE = "retrieval.cases.json"
SESSIONS_FILE = "session-retrieval.cases.json"
CORPUS_FILES = (BELIEFS_FILE, CASES_FILE, SESSIONS_FILE)

UNIVERSAL = "user:universal"
"""The scope of what holds for a user everywhere; it feeds the persona prelude."""
OPEN_QUESTION = "open_question"
RELATION = "relation"
BELIEF_TYPES = ("preference", "decision", "entity", RELATION, OPEN_QUESTION)
SESSION_CATEGORY = "Session-level noise isolation"


@dataclass(frozen=True, slots=True)
class Belief:
    """One stored statement about a user. Times are ISO 8601 strings in UTC."""

    id: str
    user_id: str
    type: str
    canonical_name: str
    content: str
    scope: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    why_it_matters: str = ""
    epistemic_status: str = "active"
    confidence: float = 1.0
    pinned: bool = False
    reinforcement_count: int = 0
    last_reinforced_at: str = ""
    user_edited: bool = False
    resolved_at: str | None = None
    superseded_by: str | None = None
    created_at: str = ""
    updated_at: str = ""
    participants: tuple[str, ...] = ()
    relation_type: str | None = None
    subtype: str | None = None


def belief_wire(belief: Belief) -> dict[str, Any]:
    """A belief as a corpus file holds it; what is as by default is left out."""
    wire: dict[str, Any] = {}
    for field in fields(belief):
        value = getattr(belief, field.name)
        if value != field.default:
            key = "_id" if field.name == "id" else field.name
            wire[key] = list(value) if isinstance(value, tuple) else value
    return wire


@dataclass(frozen=True, slots=True)
class Tier:
    """What a case asserts of one tier; ``only`` is an exact set, or ``None``."""

    must_include: tuple[str, ...] = ()
    must_exclude: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    ordered_before: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Prelude:
    """What a case asserts of the persona prelude; ``None`` asserts nothing."""

    non_empty: bool | None = None
    is_null: bool | None = None
    contains: tuple[str, ...] = ()
    must_not_contain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expect:
    """Everything that a case or a turn asserts."""

    relevant: Tier = Tier()
    pinned: Tier = Tier()
    questions: Tier = Tier()
    prelude: Prelude = Prelude()
    must_not_surface: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One single-turn query with what it must bring back."""

    case_id: str
    category: str
    query: str
    scope: tuple[str, ...]
    user_id: str
    expect: Expect
    description: str = ""
    rationale: str = ""
    max_beliefs: int | None = None
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A change to a belief that takes effect after a turn is asked.

    Exactly one of ``create`` and ``belief_id`` is set.
    """

    create: Belief | None = None
    belief_id: str | None = None
    add_aliases: tuple[str, ...] = ()
    remove_aliases: tuple[str, ...] = ()
    set_content: str | None = None
    superseded_by: str | None = None
    resolved_at: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One scored turn; its query is the user's message."""

    turn_index: int
    query: str
    scope: tuple[str, ...]
    topics: tuple[str, ...]
    expect: Expect
    label: str = ""
    rationale: str = ""
    assistant_message: str = ""
    turn_signal: str = ""
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation. ``depends_on`` of ``None`` means: on all earlier sessions."""

    case_id: str
    user_id: str
    turns: tuple[Turn, ...]
    description: str = ""
    rationale: str = ""
    depends_on: tuple[str, ...] | None = None
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A whole corpus. ``sha256`` is over the three files, in their fixed order."""

    name: str
    beliefs: tuple[Belief, ...]
    cases: tuple[Case, ...]
    sessions: tuple[Session, ...]
    sha256: str = ""
    location: str = ""

    @property
    def user_id(self) -> str:
        """The main user: the one that most beliefs belong to."""
        return main_user(self.beliefs)


def main_user(beliefs: tuple[Belief, ...]) -> str:
    """Return the user that most beliefs belong to; the first one on a tie."""
    counts = Counter(belief.user_id for belief in beliefs)
    return counts.most_common(1)[0][0] if counts else ""
