"""What a case requires, derived: kinds of noise, pass kinds, drift, and what was changed."""

from __future__ import annotations

from typing import Any

import pytest
from corpora import BOAT, INES, OTTO, belief, beliefs, case, cases, files, only, parsed, turn
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.context import eligible
from pmb_hf.expectations import (
    belief_kind,
    drift_beliefs,
    expectation_of_case,
    expectation_of_turn,
    expectations,
    kinds_for,
)
from pmb_hf.records import (
    ACTIVE,
    NOISE_KINDS,
    STRUCTURAL,
    TRIVIALLY_EMPTY,
    UNKNOWN,
    Expectation,
)
from pmb_hf.schema import CASES_FILE, SESSION_CATEGORY, SESSIONS_FILE, Belief, Expect, Tier, Turn
from pmb_hf.states import moments, seed

# The faults of a belief in the order of what is most telling; each row has all below it as well.
PRIORITY: list[tuple[str, dict[str, Any]]] = [
    ("other_user", {"user_id": "other"}),
    ("superseded", {"superseded_by": "x"}),
    ("resolved", {"resolved_at": "2025-01-01T00:00:00Z"}),
    ("other_scope", {"scope": ("elsewhere",)}),
    ("open_question", {"type": "open_question"}),
    ("pinned", {"pinned": True}),
    ("unrelated", {}),
]
PLAIN: dict[str, Any] = {
    "id": "b",
    "user_id": "u",
    "type": "entity",
    "canonical_name": "n",
    "content": "c",
    "scope": ("s",),
}


@pytest.mark.parametrize("index", range(len(PRIORITY)), ids=[kind for kind, _ in PRIORITY])
def test_kind_is_the_most_telling_fault(index: int) -> None:
    kind, fields = PRIORITY[index]
    assert kind in NOISE_KINDS
    assert belief_kind(Belief(**(PLAIN | fields)), "u", ("s",)) == kind
    all_below = dict(item for _, fault in reversed(PRIORITY[index:]) for item in fault.items())
    assert belief_kind(Belief(**(PLAIN | all_below)), "u", ("s",)) == kind


def test_superseded_by_status_alone() -> None:
    assert belief_kind(Belief(**PLAIN, epistemic_status="superseded"), "u", ("s",)) == "superseded"


def test_universal_belief_can_be_needed_where_its_scope_is_asked() -> None:
    universal = Belief(**(PLAIN | {"scope": ("user:universal",)}))
    assert belief_kind(universal, "u", ("user:universal",)) == "unrelated"
    assert belief_kind(universal, "u", ("s",)) == "other_scope"


def test_kinds_of_the_tiny_corpus() -> None:
    kinds = kinds_for(seed(parsed()), INES, (BOAT,))
    assert kinds == {
        "t-berth": "unrelated",
        "t-engine": "unrelated",
        "t-spare-impeller": "unrelated",
        "t-old-anchor": "superseded",
        "t-anchor": "unrelated",
        "t-never-alone": "pinned",
        "t-q-radio": "open_question",
        "t-starter": "other_scope",
        "t-brief": "other_scope",
        "t-otto-berth": "other_user",
    }
    assert kinds["t-nobody"] == UNKNOWN
    assert "t-nobody" not in kinds


def test_only_what_is_eligible_drifts() -> None:
    drift = frozenset({"t-engine", "t-old-anchor", "t-otto-berth", "t-nobody"})
    kinds = kinds_for(seed(parsed()), INES, (BOAT,), drift)
    assert kinds["t-engine"] == "drift"
    assert kinds["t-old-anchor"] == "superseded"
    assert kinds["t-otto-berth"] == "other_user"
    assert "t-nobody" not in kinds


# --- cases


def of(raw: dict[str, Any]) -> Expectation:
    corpus = parsed(files() | {CASES_FILE: [raw]})
    return expectation_of_case(corpus.cases[0], seed(corpus))


@pytest.mark.parametrize(
    ("expect", "query", "fields", "kind"),
    [
        (only("t-berth"), "q", {}, ACTIVE),
        ({"relevantBeliefs": {"mustInclude": ["t-berth"]}}, "q", {}, ACTIVE),
        (only("t-berth"), " ", {}, ACTIVE),  # gold decides first
        (only("t-berth"), "q", {"budget": {"maxBeliefs": 0}}, ACTIVE),
        (only(), "q", {}, STRUCTURAL),
        ({}, "q", {}, STRUCTURAL),
        ({"relevantBeliefs": {"mustExclude": ["t-berth"]}}, "q", {}, STRUCTURAL),
        ({"pinnedFacts": {"mustInclude": ["t-never-alone"]}}, "q", {}, STRUCTURAL),
        (only(), "", {}, TRIVIALLY_EMPTY),
        (only(), " \t\n", {}, TRIVIALLY_EMPTY),
        (only(), "q", {"budget": {"maxBeliefs": 0}}, TRIVIALLY_EMPTY),
        (only(), "q", {"budget": {"maxBeliefs": 1}}, TRIVIALLY_EMPTY),  # the pinned fact's slot
        (only(), "q", {"budget": {"maxBeliefs": 2}}, STRUCTURAL),
        (only(), "q", {"budget": {"maxBeliefs": 1}, "userId": OTTO}, STRUCTURAL),
    ],
)
def test_pass_kind(expect: Any, query: str, fields: Any, kind: str) -> None:
    assert of(case("c", query, expect, **fields)).pass_kind == kind


def test_gold_is_the_union_of_what_is_required() -> None:
    expect = {"relevantBeliefs": {"mustInclude": ["t-berth"], "shouldOnlyInclude": ["t-engine"]}}
    assert of(case("c", "q", expect)).gold == {"t-berth", "t-engine"}


def test_every_assertion_arrives() -> None:
    expect = {
        "relevantBeliefs": {
            "mustInclude": ["a"],
            "mustExclude": ["b"],
            "shouldOnlyInclude": ["a", "c"],
            "orderedBefore": [["a", "c"]],
        },
        "pinnedFacts": {"mustInclude": ["d"], "mustExclude": ["e"], "orderedBefore": [["d", "f"]]},
        "openQuestions": {
            "mustInclude": ["g"],
            "mustExclude": ["h"],
            "shouldOnlyInclude": ["g"],
        },
        "personaPrelude": {
            "nonEmpty": True,
            "isNull": False,
            "contains": ["x"],
            "mustNotContain": ["y"],
        },
    }
    got = of(case("c", "q", expect, category="k"))
    assert (got.case_id, got.category, got.turn_index) == ("c", "k", None)
    assert got.relevant_must_include == ("a",)
    assert got.relevant_must_exclude == ("b",)
    assert got.relevant_only == ("a", "c")
    assert got.relevant_order == (("a", "c"),)
    assert got.pinned_must_include == ("d",)
    assert got.pinned_must_exclude == ("e",)
    assert got.pinned_order == (("d", "f"),)
    assert got.questions_must_include == ("g",)
    assert got.questions_must_exclude == ("h",)
    assert got.questions_only == ("g",)
    assert got.prelude_non_empty is True
    assert got.prelude_is_null is False
    assert got.prelude_contains == ("x",)
    assert got.prelude_must_not_contain == ("y",)
    assert (got.must_not_surface, got.changed, got.retired) == ((), (), ())
    assert got.drift_beliefs == frozenset()


def test_eligible_is_how_many_could_rightly_be_there() -> None:
    assert of(case("c", "q", only())).eligible == len(eligible(seed(parsed()), INES, (BOAT,))) == 4
    assert of(case("c", "q", only(), userId=OTTO)).eligible == 1
    assert of(case("c", "q", only(), scope=[])).eligible == 0


# --- turns


def a_turn(*topics: str, gold: tuple[str, ...] = (), noise: tuple[str, ...] = ()) -> Turn:
    expect = Expect(relevant=Tier(only=gold), must_not_surface=noise)
    return Turn(0, "q", ("s",), topics, expect)


def test_drift_is_the_gold_of_turns_that_share_no_topic() -> None:
    earlier = [a_turn("x", gold=("a",)), a_turn("y", "z", gold=("b", "c"))]
    assert drift_beliefs(a_turn("x"), earlier) == {"b", "c"}
    assert drift_beliefs(a_turn("z"), earlier) == {"a"}
    assert drift_beliefs(a_turn("x", "y"), earlier) == frozenset()
    assert drift_beliefs(a_turn("w"), earlier) == {"a", "b", "c"}
    assert drift_beliefs(a_turn("w"), []) == frozenset()


def test_named_noise_drifts_whatever_its_topic_and_gold_never_does() -> None:
    earlier = [a_turn("x", gold=("a",)), a_turn("y", gold=("b",))]
    assert drift_beliefs(a_turn("x", noise=("a", "n")), earlier) == {"a", "n", "b"}
    assert drift_beliefs(a_turn("w", gold=("a",), noise=("b",)), earlier) == {"b"}


def turns_of(*turns: dict[str, Any]) -> list[Expectation]:
    raw = [{"caseId": "s", "turns": [{**t, "turnIndex": n} for n, t in enumerate(turns)]}]
    corpus = parsed(files() | {SESSIONS_FILE: raw})
    return [expectation_of_turn(moment) for moment in moments(corpus)]


def test_what_another_topic_created_drifts() -> None:
    stove = belief("t-stove", "The stove burns paraffin.")
    made = turn(0, "q", "stove", only(), createBeliefAtTurn=stove)
    _, other, same = turns_of(made, turn(1, "q", "x", only()), turn(2, "q", "stove", only()))
    assert other.drift_beliefs == {"t-stove"}
    assert other.kinds["t-stove"] == "drift"
    assert same.drift_beliefs == frozenset()
    assert same.kinds["t-stove"] == "unrelated"


def test_turns_of_the_tiny_corpus() -> None:
    first, second, third = (expectation_of_turn(moment) for moment in moments(parsed()))
    assert [e.turn_index for e in (first, second, third)] == [0, 1, 2]
    assert first.category == SESSION_CATEGORY
    assert first.case_id == "s-refit"
    assert first.kinds["t-stove"] == UNKNOWN  # not created yet
    assert second.drift_beliefs == {"t-engine", "t-stove"}
    assert second.must_not_surface == ("t-engine", "t-stove")
    assert third.drift_beliefs == {"t-engine", "t-stove"}
    assert third.kinds["t-anchor"] == "superseded"
    assert (first.changed, first.retired) == ((), ())
    assert (second.changed, second.retired) == ((), ())
    assert third.changed == ("t-berth", "t-big-anchor")
    assert third.retired == ("t-anchor",)
    assert [e.eligible for e in (first, second, third)] == [4, 5, 5]


@pytest.mark.parametrize(
    ("update", "gold", "changed", "retired"),
    [
        ({"beliefId": "t-berth", "setContent": "x"}, "t-berth", ("t-berth",), ()),
        ({"beliefId": "t-berth", "addAliases": ["x"]}, "t-berth", ("t-berth",), ()),
        ({"beliefId": "t-berth", "setContent": "x"}, "t-engine", (), ()),
        (
            {"beliefId": "t-engine", "supersededBy": "t-berth"},
            "t-berth",
            ("t-berth",),
            ("t-engine",),
        ),
        ({"beliefId": "t-engine", "supersededBy": "t-berth"}, "t-anchor", (), ()),
        ({"beliefId": "t-q-radio", "resolvedAt": "2025-04-01T00:00:00Z"}, "t-berth", (), ()),
    ],
)
def test_changed_gold_and_what_it_retired(
    update: dict[str, Any], gold: str, changed: tuple[str, ...], retired: tuple[str, ...]
) -> None:
    before, after = turns_of(
        turn(0, "q", "x", only(gold), updateBeliefAtTurn=update), turn(1, "q", "x", only(gold))
    )
    assert (before.changed, before.retired) == ((), ())  # a change is seen from the next turn on
    assert (after.changed, after.retired) == (changed, retired)


def test_created_belief_is_not_changed() -> None:
    stove = belief("t-stove", "The stove burns paraffin.")
    _, after = turns_of(
        turn(0, "q", "x", only(), createBeliefAtTurn=stove), turn(1, "q", "x", only("t-stove"))
    )
    assert after.changed == ()


def test_change_of_a_session_depended_on_counts() -> None:
    update = {"beliefId": "t-berth", "setContent": "x"}
    first = {"caseId": "a", "turns": [turn(0, "q", "x", only(), updateBeliefAtTurn=update)]}
    turns = [turn(0, "q", "x", only("t-berth"))]

    def last(depends_on: list[str]) -> Expectation:
        second = {"caseId": "b", "dependsOn": depends_on, "turns": turns}
        corpus = parsed(files() | {SESSIONS_FILE: [first, second]})
        return [*expectations(corpus).values()][-1]

    assert last(["a"]).changed == ("t-berth",)
    assert last([]).changed == ()


@pytest.mark.parametrize(
    ("expect", "message", "kind"),
    [(only("t-berth"), "q", ACTIVE), (only(), "q", STRUCTURAL), (only(), " ", TRIVIALLY_EMPTY)],
)
def test_pass_kind_of_a_turn(expect: Any, message: str, kind: str) -> None:
    assert turns_of(turn(0, message, "x", expect))[0].pass_kind == kind


def test_all_of_a_corpus_in_order() -> None:
    corpus = parsed()
    wanted = expectations(corpus)
    assert list(wanted) == [
        *((raw["caseId"], None) for raw in cases()),
        *(("s-refit", n) for n in range(3)),
    ]
    assert all((e.case_id, e.turn_index) == key for key, e in wanted.items())
    counts = [e.pass_kind for key, e in wanted.items() if key[1] is None]
    assert [counts.count(kind) for kind in (ACTIVE, STRUCTURAL, TRIVIALLY_EMPTY)] == [4, 2, 2]


NAMES = [raw["_id"] for raw in beliefs()]


@given(
    user_id=st.sampled_from([INES, OTTO, "nobody"]),
    scopes=st.lists(st.sampled_from([BOAT, "domain:kitchen", "user:universal"]), unique=True),
    drift=st.frozensets(st.sampled_from([*NAMES, "t-nobody"])),
)
def test_every_belief_has_one_kind(user_id: str, scopes: list[str], drift: frozenset[str]) -> None:
    kinds = kinds_for(seed(parsed()), user_id, scopes, drift)
    assert list(kinds) == NAMES
    assert set(kinds.values()) <= set(NOISE_KINDS) - {UNKNOWN}
    assert {name for name, kind in kinds.items() if kind == "drift"} <= drift
    right = {name for name, kind in kinds.items() if kind in {"unrelated", "drift"}}
    assert right == {*eligible(seed(parsed()), user_id, scopes)}
