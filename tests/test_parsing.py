"""Parsing: what JSON becomes, which defaults hold, and where a fault is said to be."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from corpora import INES, OTTO, belief, beliefs, case, files, only, parsed, turn
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.parsing import parse_belief, parse_case, parse_corpus, parse_session
from pmb_hf.schema import (
    BELIEF_TYPES,
    BELIEFS_FILE,
    CASES_FILE,
    CORPUS_FILES,
    SESSIONS_FILE,
    Belief,
    Case,
    Change,
    Corpus,
    Expect,
    Prelude,
    Tier,
)
from pmb_hf.strict import Problem, Reader

TEXT = st.text(max_size=8)
TEXTS = st.lists(TEXT, max_size=3)


def faults(raw: dict[str, Any]) -> list[tuple[str, str]]:
    reader = Reader()
    parse_corpus("tiny", raw, reader)
    return [(problem.where, problem.code) for problem in reader.problems]


def a_case(expect: dict[str, Any], **more: Any) -> tuple[Case, list[Problem]]:
    reader = Reader()
    return parse_case(case("c", "q", expect, **more), "at", reader, INES), reader.problems


def test_tiny_corpus_is_read_without_fault() -> None:
    corpus = parsed()
    assert [len(corpus.beliefs), len(corpus.cases), len(corpus.sessions)] == [10, 8, 1]
    assert corpus.user_id == INES
    assert corpus.name == "tiny"


def test_minimal_belief_has_defaults() -> None:
    reader = Reader()
    raw = {
        "_id": "b",
        "user_id": "u",
        "type": "entity",
        "canonical_name": "n",
        "content": "c",
        "scope": ["s"],
    }
    assert parse_belief(raw, "at", reader) == Belief("b", "u", "entity", "n", "c", ("s",))
    assert reader.problems == []
    for key in raw:
        reader = Reader()
        parse_belief({k: v for k, v in raw.items() if k != key}, "at", reader)
        assert [(p.where, p.code) for p in reader.problems] == [(f"at.{key}", "missing-key")]


def test_belief_keys_that_are_allowed_and_not_kept() -> None:
    reader = Reader()
    raw = belief(
        "b",
        "c",
        change_log=[{"at": 1}],
        provenance={"turn_id": None},
        expertise_domain="knots",
        expertise_depth=3,
        _comment="x",
    )
    assert parse_belief(raw, "at", reader).id == "b"
    assert reader.problems == []


@pytest.mark.parametrize("value", ["fact", "", None, ["entity"], {}])
def test_unknown_type_of_belief(value: Any) -> None:
    reader = Reader()
    assert parse_belief(belief("b", "c", type=value), "at", reader).type == ""
    assert [p.where for p in reader.problems] == ["at.type"]
    assert all(name in reader.problems[0].message for name in BELIEF_TYPES)


def test_minimal_case_has_defaults() -> None:
    reader = Reader()
    raw = {"caseId": "c", "category": "k", "query": "", "scope": [], "expect": {}}
    assert parse_case(raw, "at", reader, INES) == Case("c", "k", "", (), INES, Expect())
    assert reader.problems == []


def test_everything_that_a_case_asserts() -> None:
    read, problems = a_case(
        {
            "relevantBeliefs": {
                "mustInclude": ["a"],
                "mustExclude": ["b"],
                "shouldOnlyInclude": ["a", "c"],
                "orderedBefore": [["a", "c"]],
            },
            "pinnedFacts": {
                "mustInclude": ["d"],
                "mustExclude": ["e"],
                "orderedBefore": [["d", "f"]],
            },
            "openQuestions": {
                "mustInclude": ["g"],
                "mustExclude": ["h"],
                "shouldOnlyInclude": [],
            },
            "personaPrelude": {
                "nonEmpty": True,
                "isNull": False,
                "contains": ["x"],
                "mustNotContain": ["y"],
            },
        },
        userId=OTTO,
        budget={"maxBeliefs": 0},
    )
    assert problems == []
    assert (read.user_id, read.max_beliefs) == (OTTO, 0)
    assert read.expect == Expect(
        relevant=Tier(("a",), ("b",), ("a", "c"), (("a", "c"),)),
        pinned=Tier(("d",), ("e",), None, (("d", "f"),)),
        questions=Tier(("g",), ("h",), ()),
        prelude=Prelude(True, False, ("x",), ("y",)),
    )


def test_no_exact_set_and_the_empty_one_differ() -> None:
    assert a_case({"relevantBeliefs": {}})[0].expect.relevant.only is None
    assert a_case(only())[0].expect.relevant.only == ()


@pytest.mark.parametrize(
    ("expect", "where"),
    [
        ({"relevantBelief": {}}, "at.expect.relevantBelief"),
        ({"relevantBeliefs": {"pinnedFacts": {}}}, "at.expect.relevantBeliefs.pinnedFacts"),
        # No rule looks at these two, so reading them would let a case pass unseen.
        ({"pinnedFacts": {"shouldOnlyInclude": []}}, "at.expect.pinnedFacts.shouldOnlyInclude"),
        ({"openQuestions": {"orderedBefore": []}}, "at.expect.openQuestions.orderedBefore"),
        ({"noiseCheck": {"mustNotSurface": ["a"]}}, "at.expect.noiseCheck"),
        ({"topicRetrieval": {}}, "at.expect.topicRetrieval"),
        ({"personaPrelude": {"isnull": True}}, "at.expect.personaPrelude.isnull"),
    ],
)
def test_key_that_is_never_checked_is_unknown(expect: dict[str, Any], where: str) -> None:
    assert [(p.where, p.code) for p in a_case(expect)[1]] == [(where, "unknown-key")]


def test_comments_are_ignored_everywhere() -> None:
    raw = files()
    raw[BELIEFS_FILE][0]["_why"] = 1
    raw[CASES_FILE][0]["_why"] = 1
    raw[CASES_FILE][0]["expect"]["_why"] = 1
    raw[CASES_FILE][0]["expect"]["relevantBeliefs"]["_why"] = 1
    raw[CASES_FILE][0]["budget"] = {"_why": 1}
    session = raw[SESSIONS_FILE][0]
    session["_why"] = session["turns"][0]["_why"] = 1
    session["turns"][0]["updateBeliefAtTurn"]["_why"] = 1
    assert faults(raw) == []
    assert parsed(raw) == parsed()


def read_changes(**keys: Any) -> tuple[tuple[Change, ...], list[Problem]]:
    reader = Reader()
    raw = {"caseId": "s", "turns": [turn(0, "q", "t", {}, **keys)]}
    return parse_session(raw, "at", reader, INES).turns[0].changes, reader.problems


def test_changes_are_one_or_a_list_and_creations_come_first() -> None:
    one, two = belief("b-1", "c"), belief("b-2", "c")
    update = {
        "beliefId": "b-1",
        "addAliases": ["x"],
        "removeAliases": ["y"],
        "setContent": "z",
        "supersededBy": "b-2",
        "resolvedAt": "2025-01-01T00:00:00Z",
    }
    changed = Change(None, "b-1", ("x",), ("y",), "z", "b-2", "2025-01-01T00:00:00Z")
    reader = Reader()
    created = [Change(create=parse_belief(raw, "at", reader)) for raw in (one, two)]
    assert read_changes(createBeliefAtTurn=one, updateBeliefAtTurn=update) == (
        (created[0], changed),
        [],
    )
    assert read_changes(updateBeliefAtTurn=[update, {"beliefId": "b-2"}]) == (
        (changed, Change(belief_id="b-2")),
        [],
    )
    assert read_changes(createBeliefAtTurn=[one, two]) == (tuple(created), [])
    for nothing in (None, []):
        assert read_changes(createBeliefAtTurn=nothing) == ((), [])


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ({"updateBeliefAtTurn": {}}, "updateBeliefAtTurn.beliefId"),
        (
            {"updateBeliefAtTurn": [{"beliefId": "a", "addAlias": []}]},
            "updateBeliefAtTurn[0].addAlias",
        ),
        ({"updateBeliefAtTurn": {"beliefId": "a", "content": "x"}}, "updateBeliefAtTurn.content"),
        ({"createBeliefAtTurn": [belief("b", "c"), 3]}, "createBeliefAtTurn[1]"),
        ({"createBeliefAtTurn": [[belief("b", "c")]]}, "createBeliefAtTurn[0]"),
    ],
)
def test_fault_of_a_change_is_named_by_its_place(keys: dict[str, Any], where: str) -> None:
    assert read_changes(**keys)[1][0].where == f"at.turns[0].{where}"


def test_depends_on_absent_and_empty_differ() -> None:
    def depends(**keys: Any) -> tuple[str, ...] | None:
        return parse_session({"caseId": "s", "turns": [], **keys}, "at", Reader(), INES).depends_on

    assert depends() is None
    assert depends(dependsOn=[]) == ()
    assert depends(dependsOn=["a"]) == ("a",)


def test_place_names_file_index_and_id() -> None:
    raw = files()
    raw[BELIEFS_FILE][1]["confidence"] = 2
    raw[CASES_FILE][0]["expect"]["relevantBeliefs"]["mustInclude"] = "t-berth"
    raw[SESSIONS_FILE][0]["turns"][2]["scope"] = None
    raw[SESSIONS_FILE][0]["turns"].append(7)
    assert faults(raw)[:4] == [
        (f"{BELIEFS_FILE}[1] (t-engine).confidence", "type"),
        (f"{CASES_FILE}[0] (c-mooring).expect.relevantBeliefs.mustInclude", "type"),
        (f"{SESSIONS_FILE}[0] (s-refit).turns[2].scope", "type"),
        (f"{SESSIONS_FILE}[0] (s-refit).turns[3]", "type"),
    ]


@pytest.mark.parametrize("name", [None, 3, ["x" * 1000], "", {}])
def test_place_of_a_row_without_a_name(name: Any) -> None:
    raw = files()
    raw[CASES_FILE][0]["caseId"] = name
    assert all(where.startswith(f"{CASES_FILE}[0].caseId") for where, _ in faults(raw))


@pytest.mark.parametrize("name", CORPUS_FILES)
@pytest.mark.parametrize("value", [None, {}, "x", 3])
def test_file_that_holds_no_list(name: str, value: Any) -> None:
    assert (name, "type") in faults(files() | {name: value})


def test_main_user_is_that_of_most_beliefs() -> None:
    raw = files()
    raw[CASES_FILE][0]["userId"] = OTTO
    corpus = parsed(raw)
    assert [corpus.cases[0].user_id, corpus.cases[1].user_id] == [OTTO, INES]
    assert corpus.sessions[0].user_id == INES
    reader = Reader()
    assert parse_corpus("none", files() | {BELIEFS_FILE: []}, reader).user_id == ""


# --- any belief survives the way to JSON and back

BELIEFS = st.builds(
    Belief,
    id=TEXT,
    user_id=TEXT,
    type=st.sampled_from(BELIEF_TYPES),
    canonical_name=TEXT,
    content=TEXT,
    scope=TEXTS.map(tuple),
    aliases=TEXTS.map(tuple),
    why_it_matters=TEXT,
    epistemic_status=TEXT,
    confidence=st.floats(0, 1),
    pinned=st.booleans(),
    reinforcement_count=st.integers(0, 10**20),
    last_reinforced_at=TEXT,
    user_edited=st.booleans(),
    resolved_at=st.none() | TEXT,
    superseded_by=st.none() | TEXT,
    created_at=TEXT,
    updated_at=TEXT,
    participants=TEXTS.map(tuple),
    relation_type=st.none() | TEXT,
    subtype=st.none() | TEXT,
)


@given(BELIEFS)
def test_belief_survives_the_way_through_json(original: Belief) -> None:
    raw = {field.name: getattr(original, field.name) for field in fields(Belief)}
    raw["_id"] = raw.pop("id")
    reader = Reader()
    back = parse_belief(json.loads(json.dumps(raw, allow_nan=False)), "at", reader)
    assert reader.problems == []
    assert back == original


IDS = st.lists(st.sampled_from([raw["_id"] for raw in beliefs()] + ["", "ß", "t nope"]), max_size=3)


@given(IDS, IDS, st.none() | IDS, st.lists(st.tuples(TEXT, TEXT), max_size=2))
def test_tier_survives_the_way_through_json(
    include: list[str], exclude: list[str], exact: list[str] | None, order: list[tuple[str, str]]
) -> None:
    tier: dict[str, Any] = {"mustInclude": include, "mustExclude": exclude, "orderedBefore": order}
    if exact is not None:
        tier["shouldOnlyInclude"] = exact
    read, problems = a_case(json.loads(json.dumps({"relevantBeliefs": tier})))
    assert problems == []
    assert read.expect.relevant == Tier(
        tuple(include), tuple(exclude), None if exact is None else tuple(exact), tuple(order)
    )


@given(st.data())
def test_no_json_makes_it_fail(data: st.DataObject) -> None:
    keys = st.sampled_from(["expect", "turns", "scope", "_id", "caseId", "mustInclude", "x"])
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner),
    )
    reader = Reader()
    raw = {name: data.draw(anything) for name in CORPUS_FILES}
    assert isinstance(parse_corpus("any", raw, reader), Corpus)
    assert all(name in {"type", "missing-key", "unknown-key"} for _, name, _ in reader.problems)
