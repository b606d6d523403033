"""Reads the parsed JSON of a corpus into :mod:`pmb_hf.schema`, strictly.

Keys that start with ``_`` are comments. Faults are collected by the reader and
named by their path, ``file[index] (id).key``; nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import strict
from .schema import (
    BELIEF_TYPES,
    BELIEFS_FILE,
    CASES_FILE,
    SESSIONS_FILE,
    Belief,
    Case,
    Change,
    Corpus,
    Expect,
    Prelude,
    Session,
    Tier,
    Turn,
    main_user,
)
from .strict import Reader

_BELIEF_FIELDS: Mapping[str, strict.Field] = {
    "_id": strict.text(required=True),
    "user_id": strict.text(required=True),
    "type": strict.Field(
        lambda v: v in BELIEF_TYPES, "one of " + ", ".join(BELIEF_TYPES), True, ""
    ),
    "canonical_name": strict.text(required=True),
    "content": strict.text(required=True),
    "scope": strict.strings(required=True),
    "aliases": strict.strings(),
    "why_it_matters": strict.text(),
    "epistemic_status": strict.text(default="active"),
    "confidence": strict.rate(),
    "pinned": strict.flag(),
    "reinforcement_count": strict.whole(),
    "last_reinforced_at": strict.text(),
    "user_edited": strict.flag(),
    "resolved_at": strict.optional_text(),
    "superseded_by": strict.optional_text(),
    "created_at": strict.text(),
    "updated_at": strict.text(),
    "participants": strict.strings(),
    "relation_type": strict.optional_text(),
    "subtype": strict.optional_text(),
    "expertise_domain": strict.optional_text(),
    "expertise_depth": strict.anything(),
    "change_log": strict.anything(),
    "provenance": strict.mapping(),
}
_UNUSED_BELIEF_FIELDS = ("_id", "expertise_domain", "expertise_depth", "change_log", "provenance")

_CASE_FIELDS: Mapping[str, strict.Field] = {
    "caseId": strict.text(required=True),
    "category": strict.text(required=True),
    "query": strict.text(required=True),
    "scope": strict.strings(required=True),
    "expect": strict.mapping(required=True),
    "description": strict.text(),
    "rationale": strict.text(),
    "userId": strict.text(default=None),
    "budget": strict.mapping(),
    "notes": strict.text(),
}
_ONLY = {"shouldOnlyInclude": strict.strings(default=None)}
_ORDER = {"orderedBefore": strict.pairs()}
_INCLUSION = {"mustInclude": strict.strings(), "mustExclude": strict.strings()}
# Each tier reads only what is checked of it; anything else would pass unseen.
_TIER_FIELDS: Mapping[str, Mapping[str, strict.Field]] = {
    "relevantBeliefs": {**_INCLUSION, **_ONLY, **_ORDER},
    "pinnedFacts": {**_INCLUSION, **_ORDER},
    "openQuestions": {**_INCLUSION, **_ONLY},
}
_PRELUDE_FIELDS: Mapping[str, strict.Field] = {
    "nonEmpty": strict.flag(default=None),
    "isNull": strict.flag(default=None),
    "contains": strict.strings(),
    "mustNotContain": strict.strings(),
}
_EXPECT_FIELDS: Mapping[str, strict.Field] = {
    "relevantBeliefs": strict.mapping(),
    "pinnedFacts": strict.mapping(),
    "openQuestions": strict.mapping(),
    "personaPrelude": strict.mapping(),
}
_TURN_EXPECT_FIELDS: Mapping[str, strict.Field] = {
    **_EXPECT_FIELDS,
    "noiseCheck": strict.mapping(),
    "topicRetrieval": strict.anything(),
}
_SESSION_FIELDS: Mapping[str, strict.Field] = {
    "caseId": strict.text(required=True),
    "turns": strict.Field(lambda v: isinstance(v, list), "a list of turns", True, (), kept=True),
    "description": strict.text(),
    "rationale": strict.text(),
    "userId": strict.text(default=None),
    "dependsOn": strict.strings(default=None),
    "notes": strict.text(),
}
_TURN_FIELDS: Mapping[str, strict.Field] = {
    "turnIndex": strict.whole(required=True),
    "userMessage": strict.text(required=True),
    "scope": strict.strings(required=True),
    "topics": strict.strings(required=True),
    "expect": strict.mapping(required=True),
    "label": strict.text(),
    "rationale": strict.text(),
    "assistantMessage": strict.text(),
    "turnSignal": strict.text(),
    "createBeliefAtTurn": strict.anything(),
    "updateBeliefAtTurn": strict.anything(),
}
_UPDATE_FIELDS: Mapping[str, strict.Field] = {
    "beliefId": strict.text(required=True),
    "addAliases": strict.strings(),
    "removeAliases": strict.strings(),
    "setContent": strict.optional_text(),
    "supersededBy": strict.optional_text(),
    "resolvedAt": strict.optional_text(),
}


def parse_belief(raw: Any, where: str, reader: Reader) -> Belief:
    """Read one belief; faults go to ``reader.problems``."""
    values = reader.read(raw, where, _BELIEF_FIELDS)
    kept = {name: v for name, v in values.items() if name not in _UNUSED_BELIEF_FIELDS}
    return Belief(id=values["_id"], **kept)


def _tier(expect: dict[str, Any], name: str, where: str, reader: Reader) -> Tier:
    values = reader.read(expect[name], f"{where}.{name}", _TIER_FIELDS[name])
    return Tier(
        must_include=values["mustInclude"],
        must_exclude=values["mustExclude"],
        only=values.get("shouldOnlyInclude"),
        ordered_before=values.get("orderedBefore", ()),
    )


def _expect(raw: Any, where: str, reader: Reader, *, turn: bool) -> Expect:
    values = reader.read(raw, where, _TURN_EXPECT_FIELDS if turn else _EXPECT_FIELDS)
    prelude = reader.read(values["personaPrelude"], f"{where}.personaPrelude", _PRELUDE_FIELDS)
    noise: tuple[str, ...] = ()
    if turn:
        fields = {"mustNotSurface": strict.strings()}
        noise = reader.read(values["noiseCheck"], f"{where}.noiseCheck", fields)["mustNotSurface"]
    return Expect(
        relevant=_tier(values, "relevantBeliefs", where, reader),
        pinned=_tier(values, "pinnedFacts", where, reader),
        questions=_tier(values, "openQuestions", where, reader),
        prelude=Prelude(
            non_empty=prelude["nonEmpty"],
            is_null=prelude["isNull"],
            contains=prelude["contains"],
            must_not_contain=prelude["mustNotContain"],
        ),
        must_not_surface=noise,
    )


def parse_case(raw: Any, where: str, reader: Reader, user_id: str) -> Case:
    """Read one single-turn case of the corpus whose main user is ``user_id``."""
    values = reader.read(raw, where, _CASE_FIELDS)
    budget = reader.read(
        values["budget"], f"{where}.budget", {"maxBeliefs": strict.whole(default=None)}
    )
    return Case(
        case_id=values["caseId"],
        category=values["category"],
        query=values["query"],
        scope=values["scope"],
        user_id=user_id if values["userId"] is None else values["userId"],
        expect=_expect(values["expect"], f"{where}.expect", reader, turn=False),
        description=values["description"],
        rationale=values["rationale"],
        max_beliefs=budget["maxBeliefs"],
        notes=values["notes"],
    )


def _changes(values: dict[str, Any], where: str, reader: Reader) -> tuple[Change, ...]:
    changes = []
    for key in ("createBeliefAtTurn", "updateBeliefAtTurn"):
        given = values[key]
        for n, raw in enumerate(given if isinstance(given, list) else [given]):
            if raw is None:
                continue
            path = f"{where}.{key}" + (f"[{n}]" if isinstance(given, list) else "")
            if key == "createBeliefAtTurn":
                changes.append(Change(create=parse_belief(raw, path, reader)))
            else:
                update = reader.read(raw, path, _UPDATE_FIELDS)
                changes.append(
                    Change(
                        belief_id=update["beliefId"],
                        add_aliases=update["addAliases"],
                        remove_aliases=update["removeAliases"],
                        set_content=update["setContent"],
                        superseded_by=update["supersededBy"],
                        resolved_at=update["resolvedAt"],
                    )
                )
    return tuple(changes)


def parse_session(raw: Any, where: str, reader: Reader, user_id: str) -> Session:
    """Read one session of the corpus whose main user is ``user_id``."""
    values = reader.read(raw, where, _SESSION_FIELDS)
    turns = []
    for n, raw_turn in enumerate(values["turns"]):
        path = f"{where}.turns[{n}]"
        turn = reader.read(raw_turn, path, _TURN_FIELDS)
        turns.append(
            Turn(
                turn_index=turn["turnIndex"],
                query=turn["userMessage"],
                scope=turn["scope"],
                topics=turn["topics"],
                expect=_expect(turn["expect"], f"{path}.expect", reader, turn=True),
                label=turn["label"],
                rationale=turn["rationale"],
                assistant_message=turn["assistantMessage"],
                turn_signal=turn["turnSignal"],
                changes=_changes(turn, path, reader),
            )
        )
    return Session(
        case_id=values["caseId"],
        user_id=user_id if values["userId"] is None else values["userId"],
        turns=tuple(turns),
        description=values["description"],
        rationale=values["rationale"],
        depends_on=values["dependsOn"],
        notes=values["notes"],
    )


def parse_corpus(name: str, files: Mapping[str, Any], reader: Reader) -> Corpus:
    """Read a corpus from the parsed JSON of its three files, keyed by file name.

    Faults go to ``reader.problems``; where names are ``file[index].key``.
    """

    def rows(file: str) -> list[Any]:
        if isinstance(files[file], list):
            return list(files[file])
        reader.report(file, "type", f"must be a list, not {type(files[file]).__name__}")
        return []

    def each(file: str, key: str) -> list[tuple[Any, str]]:
        out = []
        for n, raw in enumerate(rows(file)):
            label = raw.get(key) if isinstance(raw, dict) else None
            named = f" ({label})" if isinstance(label, str) and label else ""
            out.append((raw, f"{file}[{n}]{named}"))
        return out

    beliefs = tuple(parse_belief(raw, at, reader) for raw, at in each(BELIEFS_FILE, "_id"))
    user = main_user(beliefs)
    return Corpus(
        name=name,
        beliefs=beliefs,
        cases=tuple(parse_case(raw, at, reader, user) for raw, at in each(CASES_FILE, "caseId")),
        sessions=tuple(
            parse_session(raw, at, reader, user) for raw, at in each(SESSIONS_FILE, "caseId")
        ),
    )
