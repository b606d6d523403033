"""The store in the course of sessions: what a change does, and who sees it."""

from __future__ import annotations

from typing import Any

import pytest
from corpora import belief, beliefs, files, only, parsed, turn

from pmb_hf.context import is_live, is_superseded
from pmb_hf.errors import CorpusError
from pmb_hf.schema import SESSIONS_FILE, Belief, Change, Corpus
from pmb_hf.states import Moment, apply, changed_belief, moments, prerequisites, seed

OLD = Belief("b", "u", "entity", "name", "old text", ("s",), aliases=("x", "y"))
STORE = {"b": OLD, "c": Belief("c", "u", "entity", "other", "text", ("s",))}


def after(**fields: Any) -> Belief:
    return changed_belief(STORE, Change(belief_id="b", **fields))


def test_seed_is_every_belief_by_id() -> None:
    assert list(seed(parsed())) == [raw["_id"] for raw in beliefs()]


@pytest.mark.parametrize(
    ("add", "remove", "aliases"),
    [
        (("z",), (), ("x", "y", "z")),
        (("x", "z", "z"), (), ("x", "y", "z")),
        ((), ("x",), ("y",)),
        ((), ("nothing",), ("x", "y")),
        (("z",), ("x",), ("y", "z")),
        (("x",), ("x",), ("y", "x")),  # what is added is there afterwards
    ],
)
def test_aliases(add: tuple[str, ...], remove: tuple[str, ...], aliases: tuple[str, ...]) -> None:
    changed = after(add_aliases=add, remove_aliases=remove)
    assert changed.aliases == aliases
    assert changed.content == OLD.content


def test_content_is_set_even_to_nothing() -> None:
    assert after(set_content="new text").content == "new text"
    assert after(set_content="").content == ""
    assert after().content == "old text"


def test_supersede_and_resolve() -> None:
    superseded = after(superseded_by="c")
    assert superseded.superseded_by == "c"
    assert is_superseded(superseded)
    resolved = after(resolved_at="2025-01-01T00:00:00Z")
    assert not is_live(resolved)
    assert not is_superseded(resolved)


def test_what_a_change_does_not_name_stays() -> None:
    gone = Belief("b", "u", "entity", "n", "t", ("s",), superseded_by="c", resolved_at="then")
    assert changed_belief({"b": gone}, Change(belief_id="b")) == gone
    assert after() == OLD


def test_created_belief_replaces_one_of_its_id() -> None:
    new = Belief("b", "u", "entity", "n", "new", ("s",))
    assert changed_belief(STORE, Change(create=new)) is new
    assert changed_belief({}, Change(create=new)) is new


def test_change_of_a_belief_that_is_not_there_names_it() -> None:
    with pytest.raises(CorpusError, match="'nobody'"):
        changed_belief(STORE, Change(belief_id="nobody"))
    raw = files()
    raw[SESSIONS_FILE][0]["turns"][0]["updateBeliefAtTurn"]["beliefId"] = "nobody"
    with pytest.raises(CorpusError, match="'nobody'"):
        list(moments(parsed(raw)))


def test_apply_is_in_order_and_leaves_beliefs_as_they_were() -> None:
    store = dict(STORE)
    new = Belief("n", "u", "entity", "n", "t", ("s",))
    apply(
        store,
        [
            Change(create=new),
            Change(belief_id="n", set_content="1"),
            Change(belief_id="n", set_content="2"),
            Change(belief_id="b", superseded_by="n"),
        ],
    )
    assert store["n"].content == "2"
    assert store["b"].superseded_by == "n"
    assert new.content == "t"
    assert OLD.superseded_by is None


# --- moments


def test_a_change_is_seen_from_the_next_turn_on() -> None:
    first, second, third = moments(parsed())
    assert "t-stove" not in first.store
    assert first.store == seed(parsed())
    assert first.changes == ()
    assert "t-stove" in second.store
    assert second.store["t-engine"].aliases == ("the donkey",)
    assert second.store["t-anchor"].superseded_by is None
    assert third.store["t-anchor"].superseded_by == "t-big-anchor"
    assert third.store["t-berth"].content == "The boat lies at berth 20."
    assert [len(moment.changes) for moment in (first, second, third)] == [0, 2, 5]
    assert [len(moment.earlier) for moment in (first, second, third)] == [0, 1, 2]
    assert third.session.case_id == "s-refit"
    assert third.turn.turn_index == 2


def test_moments_do_not_share_a_store() -> None:
    first, second, _ = moments(parsed())
    assert first.store is not second.store
    assert "t-stove" not in first.store  # still, after all were made


def creating(name: str, depends_on: list[str] | None, **fields: Any) -> dict[str, Any]:
    """A session of one turn that creates the belief ``b-NAME``."""
    raw = {
        "caseId": name,
        "turns": [turn(0, "q", "t", only(), createBeliefAtTurn=belief(f"b-{name}", "c"), **fields)],
    }
    return raw if depends_on is None else raw | {"dependsOn": depends_on}


def corpus(*sessions: dict[str, Any]) -> Corpus:
    return parsed(files() | {SESSIONS_FILE: list(sessions)})


def created(moment: Moment) -> set[str]:
    return {name.removeprefix("b-") for name in moment.store if name.startswith("b-")}


@pytest.mark.parametrize(
    ("b_on", "c_on", "d_on", "seen"),
    [
        (None, None, None, "abc"),  # absent: all earlier ones
        ([], [], [], ""),
        ([], [], ["c"], "c"),
        ([], [], ["a", "c"], "ac"),
        ([], ["b"], ["c"], "bc"),  # dependencies of dependencies
        (["a"], ["b"], ["c"], "abc"),
        (None, [], ["b"], "ab"),  # b takes all before it
        ([], None, ["c"], "abc"),
        ([], [], ["nobody"], ""),
        ([], [], ["d"], ""),
        ([], [], None, "abc"),
    ],
)
def test_a_session_starts_from_what_it_depends_on(
    b_on: list[str] | None, c_on: list[str] | None, d_on: list[str] | None, seen: str
) -> None:
    made = corpus(
        creating("a", None), creating("b", b_on), creating("c", c_on), creating("d", d_on)
    )
    found = [session.case_id for session in prerequisites(made, made.sessions[3])]
    assert found == list(seen)
    *_, last = moments(made)
    assert created(last) == set(seen)
    assert len(last.changes) == len(seen)
    assert last.earlier == ()


def test_a_session_does_not_see_later_ones() -> None:
    made = corpus(creating("a", ["b"]), creating("b", []))
    assert prerequisites(made, made.sessions[0]) == []


def test_shared_store_takes_all_earlier_sessions() -> None:
    made = corpus(creating("a", None), creating("b", []), creating("c", []))
    assert [created(moment) for moment in moments(made)] == [set(), set(), set()]
    assert [created(moment) for moment in moments(made, shared=True)] == [set(), {"a"}, {"a", "b"}]


def test_session_without_turns_and_corpus_without_sessions() -> None:
    assert list(moments(corpus({"caseId": "s", "turns": []}))) == []
    assert list(moments(corpus())) == []
