"""Sessions: the store is where a turn needs it, and changes come before the next turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pmb_hf.corpus import load_corpus
from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.providers.protocol import Hit
from pmb_hf.report import judge
from pmb_hf.runner import run
from pmb_hf.schema import Belief, Case, Change, Corpus, Expect, Session, Tier, Turn


class Log(Fts5Provider):
    """A real engine that writes down what it is asked to do."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, str]] = []

    def reset(self) -> None:
        self.calls.append(("reset", ""))
        super().reset()

    def add(self, **call: Any) -> None:
        self.calls.append(("add", call["belief_id"]))
        super().add(**call)

    def update(self, **call: Any) -> None:
        self.calls.append(("update", call["belief_id"]))
        super().update(**call)

    def search(
        self, *, query: str, user_id: str, scopes: Sequence[str], limit: int
    ) -> Sequence[Hit]:
        self.calls.append(("search", query))
        return super().search(query=query, user_id=user_id, scopes=scopes, limit=limit)


class NoUpdate:
    """A store with nothing but the three methods that a provider must have."""

    def __init__(self) -> None:
        self.engine = Fts5Provider()

    def reset(self) -> None:
        self.engine.reset()

    def add(self, **call: Any) -> None:
        self.engine.add(**call)

    def search(self, **call: Any) -> Sequence[Hit]:
        return self.engine.search(**call)


class DeleteOnly(NoUpdate):
    def delete(self, **call: Any) -> None:
        self.engine.delete(**call)


def belief(name: str, content: str, **more: Any) -> Belief:
    return Belief(
        id=name,
        user_id="ana",
        type="entity",
        canonical_name=name,
        content=content,
        scope=("domain:boat",),
        last_reinforced_at="2026-01-01T00:00:00Z",
        **more,
    )


def turn(index: int, query: str, gold: tuple[str, ...], *changes: Change, **more: Any) -> Turn:
    expect = Expect(relevant=Tier(only=gold), must_not_surface=more.pop("noise", ()))
    return Turn(
        turn_index=index,
        query=query,
        scope=("domain:boat",),
        topics=(more.pop("topic", query),),
        expect=expect,
        changes=changes,
    )


def corpus(*sessions: Session) -> Corpus:
    case = Case("one", "Alias resolution", "mast", ("domain:boat",), "ana", Expect())
    beliefs = (
        belief("mast", "The mast is spruce."),
        belief("anchor", "The anchor weighs nine kilos."),
        belief("sail", "The sail is tan."),
    )
    return Corpus("boat", beliefs, (case,), tuple(sessions))


def session(name: str, *turns: Turn, depends_on: tuple[str, ...] | None = ()) -> Session:
    return Session(name, "ana", turns, depends_on=depends_on)


def passed(report: Any, boat: Corpus) -> list[bool]:
    return [judged.score.passed for judged in judge(report, boat).turns]


def test_an_alias_added_at_one_turn_is_found_at_the_next() -> None:
    boat = corpus(
        session(
            "s",
            turn(0, "killick", (), Change(belief_id="anchor", add_aliases=("killick",))),
            turn(1, "killick again", ("anchor",)),
        )
    )
    log = Log()
    report = run(log, boat)
    assert passed(report, boat) == [True, True]
    calls = [call for call in log.calls if call[0] != "add"]
    assert calls[-3:] == [("search", "killick"), ("update", "anchor"), ("search", "killick again")]
    evaluation = judge(report, boat)
    assert [j.score.mutated for j in evaluation.turns] == [None, True]
    assert [(c.action, c.status) for c in report.changes] == [("update", "ok")]


def test_content_set_in_a_session_replaces_the_old() -> None:
    boat = corpus(
        session(
            "s",
            turn(0, "spruce", ("mast",), Change(belief_id="mast", set_content="It is carbon.")),
            turn(1, "carbon", ("mast",)),
            turn(2, "spruce again", ()),
        )
    )
    assert passed(run("fts5", boat), boat) == [True, True, True]


def test_a_superseded_belief_gives_way_and_both_are_judged() -> None:
    new = belief("genoa", "The new sail is a genoa.")
    boat = corpus(
        session(
            "s",
            turn(
                0,
                "sail",
                ("sail",),
                Change(create=new),
                Change(belief_id="sail", superseded_by="genoa"),
            ),
            turn(1, "genoa sail", ("genoa",), noise=("sail",)),
        )
    )
    naive = judge(run("fts5", boat), boat)
    assert [j.score.mutated for j in naive.turns] == [None, False]
    careful = judge(run("fts5", boat, options={"active_filter": True}), boat)
    assert [j.score.mutated for j in careful.turns] == [None, True]
    assert careful.turns[1].expected.kinds["sail"] == "superseded"


def test_without_an_update_primitive_mutability_is_null_not_zero() -> None:
    boat = corpus(
        session(
            "s",
            turn(0, "killick", (), Change(belief_id="anchor", add_aliases=("killick",))),
            turn(1, "killick again", ("anchor",)),
        )
    )
    report = run(NoUpdate(), boat)
    summary = judge(report, boat).session
    assert report.can_update is False
    assert [(c.action, c.latency_ms) for c in report.changes] == [("none", None)]
    assert summary is not None
    assert (summary["mutability_rate"], summary["n_mutability"]) == (None, 0)


def test_delete_and_add_stand_in_for_update() -> None:
    boat = corpus(
        session(
            "s",
            turn(0, "killick", (), Change(belief_id="anchor", add_aliases=("killick",))),
            turn(1, "killick again", ("anchor",)),
        )
    )
    report = run(DeleteOnly(), boat)
    assert passed(report, boat) == [True, True]
    assert [c.action for c in report.changes] == ["delete+add"]


def test_a_change_that_fails_is_recorded_and_the_session_goes_on() -> None:
    class Broken(Log):
        def update(self, **call: Any) -> None:
            raise RuntimeError("read only")

    boat = corpus(
        session(
            "s",
            turn(0, "killick", (), Change(belief_id="anchor", add_aliases=("killick",))),
            turn(1, "killick again", ("anchor",)),
        )
    )
    report = run(Broken(), boat)
    assert [(c.status, c.error) for c in report.changes] == [("error", "RuntimeError: read only")]
    assert [j.score.mutated for j in judge(report, boat).turns] == [None, False]


def three(depends_on: tuple[str, ...] | None) -> Corpus:
    rename = Change(belief_id="mast", add_aliases=("spar",))
    hook = Change(belief_id="anchor", add_aliases=("hook",))
    return corpus(
        session("first", turn(0, "tan", ("sail",), rename)),
        session("second", turn(0, "nine kilos", ("anchor",), hook)),
        session("third", turn(0, "spar or hook", ("mast",)), depends_on=depends_on),
    )


@pytest.mark.parametrize(
    ("depends_on", "rules", "found"),
    [
        ((), "spec", set()),
        (("first",), "spec", {"mast"}),
        (("second",), "spec", {"anchor"}),
        (None, "spec", {"mast", "anchor"}),
        ((), "upstream-2026-09", {"mast", "anchor"}),
    ],
)
def test_a_session_starts_from_the_seed_and_what_it_depends_on(
    depends_on: tuple[str, ...] | None, rules: str, found: set[str]
) -> None:
    report = run("fts5", three(depends_on), rules=rules)
    assert set(report.turns[-1].relevant) == found


def test_a_session_that_follows_on_does_not_seed_again() -> None:
    boat = three(("first", "second"))
    boat = replace(
        boat,
        sessions=(
            boat.sessions[0],
            replace(boat.sessions[1], depends_on=("first",)),
            boat.sessions[2],
        ),
    )
    log = Log()
    run(log, boat, parts=["sessions"])
    assert [call for call, _ in log.calls].count("reset") == 1


def test_sessions_start_from_a_fresh_seed_not_from_what_single_turns_left() -> None:
    log = Log()
    run(log, load_corpus("native"))
    assert [call for call, _ in log.calls].count("reset") == 2


def test_the_created_belief_is_awaited() -> None:
    waited: list[Mapping[str, Any]] = []

    class Waits(Log):
        def wait_ready(self, **call: Any) -> None:
            waited.append(call)

    new = belief("kedge", "A small anchor.")
    boat = corpus(session("s", turn(0, "tan", ("sail",), Change(create=new))))
    report = run(Waits(), boat)
    assert waited[-1] == {"belief_id": "kedge", "user_id": "ana", "timeout_s": 60.0}
    assert report.changes[0].action == "add"
    assert report.changes[0].visible_ms is not None
