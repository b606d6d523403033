"""Floor and ceiling stand beside every result."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmb_hf.baselines import CONTROLS, baselines, ideal_answer, ideal_answers
from pmb_hf.corpus import load_corpus
from pmb_hf.report import judge
from pmb_hf.rules import RULES, SPEC
from pmb_hf.runner import run
from pmb_hf.schema import Expect, Tier


def test_official_floor_and_ceiling(upstream_dir: Path) -> None:
    corpus = load_corpus("official", fixtures=upstream_dir / "fixtures")
    floor, everything, ceiling = baselines(corpus, SPEC)
    assert floor.retrieval is not None
    assert (floor.name, floor.retrieval["passed"], floor.retrieval["mean_recall"]) == (
        "empty",
        34,
        0.0,
    )
    assert everything.retrieval is not None
    assert everything.retrieval["passed_active"] == 0
    assert ceiling.retrieval is not None
    assert ceiling.session is not None
    assert (ceiling.retrieval["passed"], ceiling.session["passed"]) == (77, 12)


@pytest.mark.parametrize("control", CONTROLS)
def test_what_is_computed_is_what_a_run_of_the_control_gives(control: str) -> None:
    corpus = load_corpus("native")
    computed = next(b for b in baselines(corpus, SPEC) if b.name == control)
    measured = judge(run(control, corpus), corpus)
    for ours, theirs in (
        (computed.retrieval, measured.retrieval),
        (computed.session, measured.session),
    ):
        assert ours is not None
        assert theirs is not None
        timed = [name for name in ours if "latency" in name]
        assert {k: v for k, v in ours.items() if k not in timed} == {
            k: v for k, v in theirs.items() if k not in timed
        }


def test_parts_that_are_not_run_have_no_floor() -> None:
    only = baselines(load_corpus("native"), SPEC, parts=("sessions",))
    assert {b.retrieval for b in only} == {None}
    assert all(b.session is not None for b in only)


def test_the_ideal_answer_keeps_every_order() -> None:
    tier = Tier(only=("a", "b", "c"), ordered_before=(("c", "a"), ("b", "c")))
    answer = ideal_answer(Expect(relevant=tier))
    assert sorted(answer) == ["a", "b", "c"]
    assert answer.index("b") < answer.index("c") < answer.index("a")


@pytest.mark.parametrize("rules", RULES.values(), ids=lambda rules: rules.name)
def test_an_oracle_has_an_answer_for_whatever_is_sent(rules: object) -> None:
    corpus = load_corpus("native")
    answers = ideal_answers(corpus, rules)  # type: ignore[arg-type]
    assert {query for _, _, query in answers} == {c.query for c in corpus.cases} | {
        turn.query for session in corpus.sessions for turn in session.turns
    }
