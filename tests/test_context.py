"""Context assembly: the tiers, the budget, and what a returned relation brings along."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from corpora import BOAT, INES, KITCHEN, OTTO, parsed
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.context import (
    DEFAULT_MAX_BELIEFS,
    Context,
    assemble,
    budget,
    eligible,
    expand_relations,
    is_live,
    is_superseded,
    open_questions,
    persona_prelude,
    pinned_facts,
    room,
)
from pmb_hf.schema import OPEN_QUESTION, RELATION, UNIVERSAL, Belief
from pmb_hf.states import seed

U = "u"


def b(name: str, **fields: Any) -> Belief:
    """An entity of U in scope s, or another belief."""
    given = {"user_id": U, "type": "entity", "canonical_name": name, "content": name} | fields
    return Belief(**({"id": name, "scope": ("s",)} | given))


def store(*beliefs: Belief) -> dict[str, Belief]:
    return {belief.id: belief for belief in beliefs}


def pinned(name: str, day: int = 1, **fields: Any) -> Belief:
    return b(name, pinned=True, last_reinforced_at=f"2025-01-{day:02}T00:00:00Z", **fields)


def build(
    beliefs: Iterable[Belief],
    returned: Sequence[str] = (),
    max_beliefs: int | None = None,
    scopes: Sequence[str] = ("s",),
    *,
    expand_questions: bool = False,
) -> Context:
    return assemble(
        store(*beliefs),
        user_id=U,
        scopes=scopes,
        max_beliefs=max_beliefs,
        returned=returned,
        expand_questions=expand_questions,
    )


@pytest.mark.parametrize(
    ("belief", "superseded", "live"),
    [
        (b("a"), False, True),
        (b("a", epistemic_status="exploratory"), False, True),
        (b("a", superseded_by="b"), True, False),
        (b("a", epistemic_status="superseded"), True, False),
        (b("a", resolved_at="2025-01-01T00:00:00Z"), False, False),
    ],
)
def test_live(belief: Belief, superseded: bool, live: bool) -> None:
    assert (is_superseded(belief), is_live(belief)) == (superseded, live)


# Each keeps a belief out of every tier.
ABSENT = [
    {"user_id": "other"},
    {"scope": ("elsewhere",)},
    {"scope": ()},
    {"superseded_by": "x"},
    {"epistemic_status": "superseded"},
    {"resolved_at": "2025-01-01T00:00:00Z"},
]


@pytest.mark.parametrize("fields", ABSENT, ids=str)
def test_what_does_not_count_is_in_no_tier(fields: dict[str, Any]) -> None:
    held = store(pinned("p", **fields), pinned("q", type=OPEN_QUESTION, **fields), b("e", **fields))
    assert pinned_facts(held, U, ("s",), None) == ()
    assert open_questions(held, U, ("s",)) == ()
    assert eligible(held, U, ("s",)) == ()


def test_any_shared_scope_is_in_scope() -> None:
    held = store(b("a", scope=("s", "t")), b("b", scope=("t",)), b("c", scope=("x",)))
    assert eligible(held, U, ("s", "t")) == ("a", "b")
    assert eligible(held, U, ("x", "y")) == ("c",)
    assert eligible(held, U, ()) == ()


def test_pinned_facts_are_newest_first_and_questions_are_apart() -> None:
    held = store(
        pinned("old", 1),
        pinned("new", 9),
        pinned("q-old", 2, type=OPEN_QUESTION),
        pinned("mid", 5),
        pinned("q-new", 3, type=OPEN_QUESTION),
        b("q-unpinned", type=OPEN_QUESTION),
    )
    assert pinned_facts(held, U, ("s",), None) == ("new", "mid", "old")
    assert open_questions(held, U, ("s",)) == ("q-new", "q-old")


def test_pinned_facts_of_one_time_keep_the_order_of_the_store() -> None:
    held = store(*(pinned(name) for name in "bca"))
    assert pinned_facts(held, U, ("s",), None) == ("b", "c", "a")


@pytest.mark.parametrize(
    ("max_beliefs", "facts", "space"),
    [(0, (), 0), (1, ("new",), 0), (2, ("new", "old"), 0), (3, ("new", "old"), 1)],
)
def test_budget_is_for_pinned_facts_first(
    max_beliefs: int, facts: tuple[str, ...], space: int
) -> None:
    beliefs = [
        pinned("old", 1),
        pinned("new", 2),
        b("a"),
        b("c"),
        pinned("q", type=OPEN_QUESTION),
    ]
    assert room(store(*beliefs), U, ("s",), max_beliefs) == space
    context = build(beliefs, ["a", "c"], max_beliefs)
    assert context.pinned == facts
    assert context.relevant == ("a", "c")[:space]
    assert context.questions == ("q",)  # the budget does not count them


def test_default_budget_is_twenty() -> None:
    assert budget(None) == DEFAULT_MAX_BELIEFS == 20
    assert budget(0) == 0
    names = [f"b{n}" for n in range(30)]
    beliefs = [pinned("p"), *map(b, names)]
    assert build(beliefs, names).relevant == tuple(names[:19])
    many = [pinned(f"p{n}") for n in range(25)]
    assert len(build(many).pinned) == 20
    assert room(store(*many), U, ("s",), None) == 0


def test_room_is_what_is_left_even_where_the_provider_returned_too_much() -> None:
    assert build([b("a"), b("c")], ["a", "c"], 1).relevant == ("a",)
    assert build([b("a")], ["a"], 0).relevant == ()


def test_nothing_is_filtered_but_duplicates_and_pinned_facts() -> None:
    beliefs = [
        pinned("p"),
        b("a"),
        b("superseded", superseded_by="a"),
        b("resolved", resolved_at="2025-01-01T00:00:00Z"),
        b("theirs", user_id="other"),
        b("elsewhere", scope=("x",)),
        pinned("pinned elsewhere", scope=("x",)),
        pinned("q", type=OPEN_QUESTION),
    ]
    returned = ["q", "p", "a", "nobody", "a", "theirs", "elsewhere", "superseded", "resolved"]
    noise = ("theirs", "elsewhere", "superseded", "resolved", "pinned elsewhere")
    context = build(beliefs, [*returned, "pinned elsewhere", "nobody"])
    assert context.relevant == ("q", "a", "nobody", *noise)


# --- relations

PARTS = (
    b("r", type=RELATION, participants=("x", "y")),
    b("x"),
    b("y"),
    b("z"),
)


def test_participants_come_right_behind_their_relation() -> None:
    assert build(PARTS, ["r", "z"]).relevant == ("r", "x", "y", "z")
    assert build(PARTS, ["y", "r"]).relevant == ("y", "r", "x")
    assert build(PARTS, ["z", "x", "r"]).relevant == ("z", "x", "r", "y")
    assert build(PARTS, ["x"]).relevant == ("x",)  # a participant does not bring its relation


def test_expansion_is_cut_by_the_budget() -> None:
    assert build(PARTS, ["r", "z"], 2).relevant == ("r", "x")


def test_relation_in_a_relation_is_not_expanded_further() -> None:
    outer = b("o", type=RELATION, participants=("r",))
    assert build([*PARTS, outer], ["o"]).relevant == ("o", "r")


@pytest.mark.parametrize("fields", ABSENT, ids=str)
def test_what_does_not_count_is_not_brought_along(fields: dict[str, Any]) -> None:
    relation, *others = PARTS
    beliefs = [relation, b("x", **fields), *others[1:]]
    for expand_questions in (False, True):
        context = build(beliefs, ["r"], expand_questions=expand_questions)
        assert context.relevant == ("r", "y")


@pytest.mark.parametrize("fields", ABSENT, ids=str)
def test_relation_that_does_not_count_brings_nothing_along(fields: dict[str, Any]) -> None:
    relation = b("r", type=RELATION, participants=("x",), **fields)
    assert build([relation, *PARTS[1:]], ["r"]).relevant == ("r",)


def test_open_question_is_brought_along_only_by_that_rule() -> None:
    beliefs = [PARTS[0], b("x", type=OPEN_QUESTION), PARTS[2]]
    assert build(beliefs, ["r"]).relevant == ("r", "y")
    assert build(beliefs, ["r"], expand_questions=True).relevant == ("r", "x", "y")


def test_pinned_and_unknown_participants_are_not_brought_along() -> None:
    relation = b("r", type=RELATION, participants=("p", "nobody", "y"))
    assert build([relation, pinned("p"), b("y")], ["r"]).relevant == ("r", "y")


def test_participants_of_what_is_no_relation_are_ignored() -> None:
    assert build([b("a", participants=("x",)), b("x")], ["a"]).relevant == ("a",)


def test_expansion_keeps_unknown_ids_and_duplicates_for_the_caller() -> None:
    found = expand_relations(store(*PARTS), U, ("s",), ["r", "nobody", "r"], expand_questions=False)
    assert found == ["r", "x", "y", "nobody", "r", "x", "y"]


# --- prelude


def test_prelude_is_what_holds_everywhere_whatever_is_asked() -> None:
    here = {"scope": (UNIVERSAL,)}
    beliefs = [
        b("plain", **here),
        pinned("old", 1, **here),
        pinned("new", 2, **here),
        b("both", scope=("s", UNIVERSAL)),
        pinned("question", type=OPEN_QUESTION, **here),
        b("theirs", user_id="other", **here),
        b("gone", superseded_by="new", **here),
        b("scoped"),
    ]
    assert persona_prelude(store(*beliefs), U).split("\n") == ["new", "old", "plain", "both"]
    for scopes in (("s",), ("x",), ()):
        assert build(beliefs, scopes=scopes).prelude == persona_prelude(store(*beliefs), U)
    assert persona_prelude(store(*beliefs), "nobody") == ""


def test_universal_beliefs_are_pinned_facts_only_where_that_scope_is_asked() -> None:
    beliefs = [pinned("p", scope=(UNIVERSAL,))]
    assert build(beliefs).pinned == ()
    assert build(beliefs, scopes=(UNIVERSAL,)).pinned == ("p",)


# --- for any answer

TINY = seed(parsed())
IDS = st.sampled_from([*TINY, "t-nobody", ""])


@given(
    returned=st.lists(IDS),
    max_beliefs=st.none() | st.integers(0, 6),
    user_id=st.sampled_from([INES, OTTO, "nobody"]),
    scopes=st.lists(st.sampled_from([BOAT, KITCHEN, UNIVERSAL, "x"]), unique=True),
    expand_questions=st.booleans(),
)
def test_whatever_is_returned(
    returned: list[str],
    max_beliefs: int | None,
    user_id: str,
    scopes: list[str],
    expand_questions: bool,
) -> None:
    def made(ids: list[str]) -> Context:
        return assemble(
            TINY,
            user_id=user_id,
            scopes=scopes,
            max_beliefs=max_beliefs,
            returned=ids,
            expand_questions=expand_questions,
        )

    context = made(returned)
    space = room(TINY, user_id, scopes, max_beliefs)
    assert space >= 0
    assert len(context.relevant) <= space
    assert len(context.relevant) + len(context.pinned) <= budget(max_beliefs)
    assert len(set(context.relevant)) == len(context.relevant)
    assert not {*context.relevant} & {*context.pinned}
    assert {*context.relevant} - {*returned} <= {*eligible(TINY, user_id, scopes), "t-q-radio"}
    assert context[1:] == made([])[1:]  # the answer has no part in the other tiers
    assert made(list(context.relevant)).relevant == context.relevant
