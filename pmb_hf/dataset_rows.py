"""The rows of each dataset config, made from a corpus, and what each column means. Pure.

``retrieval`` and ``sessions`` rows are references of the metric as they are.
``corpus``, ``queries`` and ``qrels`` are the same data in BEIR's layout.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from .context import Snapshot, budget, is_live, room
from .expectations import expectation_of_case, expectation_of_turn
from .memories import memory_row
from .rows import expectation_to_row
from .schema import Belief, Case, Change, Corpus
from .states import Moment, moments, seed

Row = dict[str, Any]

SPLIT = "test"
DEFAULT_CONFIG = "retrieval"

STRING, BOOL, INT, FLOAT = "string", "bool", "int64", "float64"
SCORE = "int32"
"""The type that MTEB casts relevance scores to."""
STRINGS, PAIRS = "list<string>", "list<list<string>>"


class Column(NamedTuple):
    """One column: its name, its type (one of the constants above) and its meaning."""

    name: str
    type: str
    description: str


class Config(NamedTuple):
    """One dataset config: its name, what a row is, and its columns in order."""

    name: str
    summary: str
    columns: tuple[Column, ...]


_ASKED = (
    Column("user_id", STRING, "The user who asks."),
    Column("scopes", STRINGS, "The scopes that the query is asked in."),
    Column("query", STRING, "What is asked. Blank in cases that test a blank query."),
    Column(
        "max_beliefs",
        INT,
        "The budget: how many pinned and relevant beliefs the context may hold together.",
    ),
    Column("room", INT, "How many relevant beliefs fit beside the pinned facts."),
    Column(
        "provider_decides",
        BOOL,
        "Whether the memory system is asked at all. False if the query is blank or there is "
        "no room: the harness then answers alone, whatever the system is.",
    ),
)

_REQUIRED = (
    Column("pass_kind", STRING, "`active`, `structural` or `trivially_empty`; see below."),
    Column("is_active", BOOL, "Whether `gold` is not empty."),
    Column("gold", STRINGS, "The non-pinned beliefs that must come back."),
    Column("must_be_empty", BOOL, "Whether the right answer is to return nothing."),
    Column(
        "relevant_should_only_include",
        STRINGS,
        "The exact set of relevant beliefs, in any order. Null asserts no exact set; an empty "
        "list asserts that nothing comes back.",
    ),
    Column("relevant_must_include", STRINGS, "Must be among the relevant or pinned beliefs."),
    Column("relevant_must_exclude", STRINGS, "Must be among neither of them."),
    Column("relevant_ordered_before", PAIRS, "Pairs: the first must rank before the second."),
    Column("pinned_must_include", STRINGS, "Must be in the pinned tier."),
    Column("pinned_must_exclude", STRINGS, "Must not be in the pinned tier."),
    Column("pinned_ordered_before", PAIRS, "Pairs, in order, of the pinned tier."),
    Column(
        "questions_should_only_include",
        STRINGS,
        "The exact set of the question tier; null asserts no exact set.",
    ),
    Column("questions_must_include", STRINGS, "Must be in the question tier."),
    Column("questions_must_exclude", STRINGS, "Must not be in the question tier."),
    Column("prelude_non_empty", BOOL, "True: the persona prelude must have text. Null: not asked."),
    Column("prelude_is_null", BOOL, "True: there must be no persona prelude. Null: not asked."),
    Column("prelude_contains", STRINGS, "Texts that the persona prelude must contain."),
    Column("prelude_must_not_contain", STRINGS, "Texts that it must not contain."),
    Column("must_not_surface", STRINGS, "Beliefs that a turn names as noise."),
    Column(
        "drift_beliefs",
        STRINGS,
        "Beliefs whose return is drift: they belong to earlier turns of the session that share "
        "no topic with this one, or the turn names them as noise.",
    ),
    Column("changed_beliefs", STRINGS, "Gold that an earlier turn changed, or that replaced."),
    Column("retired_beliefs", STRINGS, "Beliefs that gold has replaced in an earlier turn."),
    Column("eligible_beliefs", STRINGS, "A right answer may hold these: live, in scope, unpinned."),
    Column("drifting_beliefs", STRINGS, "As `eligible_beliefs`, but their return would be drift."),
    Column("pinned_beliefs", STRINGS, "Live and in scope, but shown elsewhere by the harness."),
    Column("question_beliefs", STRINGS, "Live open questions in scope; they have their own tier."),
    Column("superseded_beliefs", STRINGS, "The user's beliefs that a newer one has replaced."),
    Column("resolved_beliefs", STRINGS, "The user's beliefs that are settled."),
    Column("other_scope_beliefs", STRINGS, "The user's live beliefs of other scopes."),
    Column("other_user_beliefs", STRINGS, "Beliefs of other users."),
)

RETRIEVAL = (
    Column("case_id", STRING, "The case's id; predictions are joined by it."),
    Column("category", STRING, "What the case tests."),
    Column("description", STRING, "The case in one sentence."),
    Column("rationale", STRING, "Why the expectation is right; null if the corpus does not say."),
    Column("notes", STRING, "A remark; null if there is none."),
    *_ASKED,
    *_REQUIRED,
)

SESSIONS = (
    Column("case_id", STRING, "The session's id."),
    Column("turn_index", INT, "The turn; predictions are joined by both."),
    Column("category", STRING, "Session-level noise isolation, for all turns."),
    Column("label", STRING, "The turn's part in the session."),
    Column("description", STRING, "The session in one sentence."),
    Column("rationale", STRING, "Why the turn's expectation is right, if the corpus says so."),
    Column("notes", STRING, "A remark on the session; null if there is none."),
    Column("topics", STRINGS, "The turn's topics; turns that share none are off-topic."),
    *_ASKED,
    Column("assistant_message", STRING, "The assistant's reply, for reading; it is not scored."),
    Column("turn_signal", STRING, "What kind of message the turn is."),
    Column(
        "depends_on",
        STRINGS,
        "Sessions whose changes this one starts from. Null means all earlier ones, an empty "
        "list none.",
    ),
    Column(
        "changes",
        STRING,
        "What is changed after this turn's answer and before the next turn, as a JSON list; "
        "null if nothing is. A change has `create` (a belief) or `belief_id` with "
        "`add_aliases`, `remove_aliases`, `set_content`, `superseded_by`, `resolved_at`.",
    ),
    *_REQUIRED,
)

BELIEFS = (
    Column("id", STRING, "The belief's id, which predictions hold."),
    Column("user_id", STRING, "Whose belief it is."),
    Column("type", STRING, "`preference`, `decision`, `entity`, `relation` or `open_question`."),
    Column("canonical_name", STRING, "What it is about."),
    Column("aliases", STRINGS, "Other names for that."),
    Column("content", STRING, "The statement."),
    Column("why_it_matters", STRING, "What it is good for."),
    Column("scope", STRINGS, "Where it holds; `user:universal` is everywhere."),
    Column("text", STRING, "What a run gives to a memory system: names, aliases and content."),
    Column("is_live", BOOL, "Whether it still holds: neither superseded nor resolved."),
    Column("epistemic_status", STRING, "`active`, `inferred`, `exploratory` or `superseded`."),
    Column("confidence", FLOAT, "0 to 1."),
    Column("pinned", BOOL, "Whether it is always shown in its scope."),
    Column("reinforcement_count", INT, "How often it was confirmed."),
    Column("last_reinforced_at", STRING, "When it last was; ISO 8601, UTC."),
    Column("user_edited", BOOL, "Whether the user wrote or changed it."),
    Column("resolved_at", STRING, "When it was settled; null if it is open."),
    Column("superseded_by", STRING, "The belief that replaced it; null if none did."),
    Column("created_at", STRING, "ISO 8601, UTC."),
    Column("updated_at", STRING, "ISO 8601, UTC."),
    Column("participants", STRINGS, "The beliefs that a relation connects."),
    Column("relation_type", STRING, "How it connects them; null if it is no relation."),
    Column("subtype", STRING, "A finer type; null if there is none."),
)

CORPUS = (
    Column("_id", STRING, "The belief's id."),
    Column("title", STRING, "Its canonical name."),
    Column("text", STRING, "What a run gives to a memory system: names, aliases and content."),
    Column("user_id", STRING, "Whose belief it is."),
    Column("scopes", STRINGS, "Where it holds."),
    Column("is_live", BOOL, "Whether it is neither superseded nor resolved before any session."),
)

QUERIES = (
    Column("_id", STRING, "`case_id`, or `case_id#turn_index` for a turn."),
    Column("text", STRING, "The query."),
    Column("user_id", STRING, "The user who asks."),
    Column("scopes", STRINGS, "The scopes that the query is asked in."),
    Column("max_beliefs", INT, "The budget."),
)

QRELS = (
    Column("query-id", STRING, "A query's `_id`."),
    Column("corpus-id", STRING, "The `_id` of a belief in that query's gold."),
    Column("score", SCORE, "Always 1."),
)

CONFIGS: Mapping[str, Config] = {
    config.name: config
    for config in (
        Config("retrieval", "a row a single-turn case", RETRIEVAL),
        Config("sessions", "a row a scored session turn", SESSIONS),
        Config("beliefs", "a row a belief, as it is before any session", BELIEFS),
        Config("corpus", "BEIR layout: a row a belief, with those that sessions create", CORPUS),
        Config("queries", "BEIR layout: a row a case or turn", QUERIES),
        Config("qrels", "BEIR layout: a row a query and belief that belong together", QRELS),
    )
}
"""All configs of the dataset, by name."""


def rows(corpus: Corpus, config: str) -> list[Row]:
    """The rows of ``config``, in the corpus's order; each has exactly its columns.

    Raises:
        KeyError: If there is no such config; see ``CONFIGS``.
    """
    names = [column.name for column in CONFIGS[config].columns]
    return [{name: row[name] for name in names} for row in _MAKERS[config](corpus)]


def query_id(case_id: str, turn_index: int | None = None) -> str:
    """The id of a case or turn among all queries."""
    return case_id if turn_index is None else f"{case_id}#{turn_index}"


def _said(text: str) -> str | None:
    """A text that the corpus may leave out."""
    return text or None


def _asked(
    user_id: str, scopes: Sequence[str], query: str, max_beliefs: int | None, space: int
) -> Row:
    return {
        "user_id": user_id,
        "scopes": list(scopes),
        "query": query,
        "max_beliefs": budget(max_beliefs),
        "room": max(space, 0),
        "provider_decides": bool(query.strip()) and space > 0,
    }


def _retrieval(corpus: Corpus) -> Iterator[Row]:
    store = Snapshot(seed(corpus))
    for case in corpus.cases:
        space = room(store, case.user_id, case.scope, case.max_beliefs)
        yield {
            **expectation_to_row(expectation_of_case(case, store)),
            **_asked(case.user_id, case.scope, case.query, case.max_beliefs, space),
            "description": _said(case.description),
            "rationale": _said(case.rationale),
            "notes": _said(case.notes),
        }


def _sessions(corpus: Corpus) -> Iterator[Row]:
    for moment in moments(corpus):
        session, turn = moment.session, moment.turn
        space = room(moment.store, session.user_id, turn.scope, None)
        depends_on = session.depends_on
        yield {
            **expectation_to_row(expectation_of_turn(moment)),
            **_asked(session.user_id, turn.scope, turn.query, None, space),
            "label": _said(turn.label),
            "description": _said(session.description),
            "rationale": _said(turn.rationale),
            "notes": _said(session.notes),
            "topics": list(turn.topics),
            "assistant_message": _said(turn.assistant_message),
            "turn_signal": _said(turn.turn_signal),
            "depends_on": None if depends_on is None else list(depends_on),
            "changes": _changes(turn.changes),
        }


def _changes(changes: Iterable[Change]) -> str | None:
    wire = []
    for change in changes:
        if change.create is not None:
            wire.append({"create": asdict(change.create)})
        else:
            wire.append({name: value for name, value in asdict(change).items() if value})
    return json.dumps(wire, ensure_ascii=False, allow_nan=False) if wire else None


def _text(belief: Belief) -> str:
    return memory_row(belief, user_id=belief.user_id)["text"]


def _beliefs(corpus: Corpus) -> Iterator[Row]:
    optional = ("why_it_matters", "last_reinforced_at", "created_at", "updated_at")
    for belief in corpus.beliefs:
        row = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(belief).items()
        }
        row.update({name: _said(getattr(belief, name)) for name in optional})
        yield {**row, "text": _text(belief), "is_live": is_live(belief)}


def _documents(corpus: Corpus) -> dict[str, Belief]:
    """The seed and what sessions create, each as it first is."""
    documents = seed(corpus)
    for session in corpus.sessions:
        for turn in session.turns:
            for change in turn.changes:
                if change.create is not None:
                    documents.setdefault(change.create.id, change.create)
    return documents


def _corpus(corpus: Corpus) -> Iterator[Row]:
    for belief in _documents(corpus).values():
        yield {
            "_id": belief.id,
            "title": belief.canonical_name.replace("_", " "),
            "text": _text(belief),
            "user_id": belief.user_id,
            "scopes": list(belief.scope),
            "is_live": is_live(belief),
        }


def _queries(corpus: Corpus) -> Iterator[Row]:
    for row in (*_retrieval(corpus), *_sessions(corpus)):
        yield {
            "_id": query_id(row["case_id"], row.get("turn_index")),
            "text": row["query"],
            "user_id": row["user_id"],
            "scopes": row["scopes"],
            "max_beliefs": row["max_beliefs"],
        }


def _qrels(corpus: Corpus) -> Iterator[Row]:
    documents = _documents(corpus)
    for case in corpus.cases:
        yield from _pairs(query_id(case.case_id), _gold_of_case(case, documents))
    for moment in moments(corpus):
        gold = _gold_of_turn(moment)
        # A text that a session has changed by now is not in this fixed corpus.
        if all(_text(moment.store[b]) == _text(documents[b]) for b in gold):
            yield from _pairs(query_id(moment.session.case_id, moment.turn.turn_index), gold)


def _pairs(query: str, gold: Iterable[str]) -> Iterator[Row]:
    for belief in gold:
        yield {"query-id": query, "corpus-id": belief, "score": 1}


def _gold_of_case(case: Case, store: Mapping[str, Belief]) -> list[str]:
    gold: list[str] = expectation_to_row(expectation_of_case(case, store))["gold"]
    return gold


def _gold_of_turn(moment: Moment) -> list[str]:
    gold: list[str] = expectation_to_row(expectation_of_turn(moment))["gold"]
    return gold


_MAKERS: Mapping[str, Callable[[Corpus], Iterable[Row]]] = {
    "retrieval": _retrieval,
    "sessions": _sessions,
    "beliefs": _beliefs,
    "corpus": _corpus,
    "queries": _queries,
    "qrels": _qrels,
}
