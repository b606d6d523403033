"""What one case or turn is worth, under each rule set."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring_kit import (
    ALL_RULES,
    BELIEFS,
    STRANGE,
    expectation,
    expectations,
    name_of,
    retrieval,
    retrievals,
    table,
)

from pmb_hf.records import (
    BELOW_RANK,
    LOST_KINDS,
    NOISE_KINDS,
    OK,
    PASS_KINDS,
    UNKNOWN,
    CaseScore,
    Expectation,
    Kinds,
    Retrieval,
    RowError,
    Rules,
)
from pmb_hf.rules import SPEC, UPSTREAM_2026_06
from pmb_hf.scoring import failures, lost_beliefs, precision_recall, score_case, score_turn

RATES = (
    *("precision", "recall", "pinned_coverage", "question_precision", "question_recall"),
    *("drift", "hit_at_1", "r_precision"),
)
rules = st.sampled_from(ALL_RULES)


def comparable(score: CaseScore) -> CaseScore:
    """Noise has no order, and neither has what is lost in the table."""
    lists = ("noise", "dropped", "lost")
    return score._replace(**{name: tuple(sorted(getattr(score, name))) for name in lists})


@pytest.mark.parametrize("chosen", ALL_RULES, ids=lambda chosen: chosen.name)
@pytest.mark.parametrize("row", table("scoring_cases.json"), ids=name_of)
def test_table(row: dict[str, Any], chosen: Rules) -> None:
    score = comparable(score_case(expectation(**row["expected"]), retrieval(**row["got"]), chosen))
    wanted = row["all"] | row.get("spec" if chosen is SPEC else "upstream", {})
    found = {name: getattr(score, name) for name in wanted}
    assert {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()} == wanted
    assert {k: type(v) for k, v in found.items() if not isinstance(v, tuple)} == {
        k: type(v) for k, v in wanted.items() if not isinstance(v, list)
    }


def test_the_table_asks_for_every_field() -> None:
    asked = {name for row in table("scoring_cases.json") for name in row["all"]}
    asked |= {name for row in table("scoring_cases.json") for name in row.get("spec", {})}
    found = {kind for row in table("scoring_cases.json") for kind in row["all"].get("lost", ())}
    assert found == set(LOST_KINDS)
    copied = {"case_id", "turn_index", "category"}
    assert asked == set(CaseScore._fields) - copied | {"leaks", "unknown_ids", "pinned_dropped"}


@given(expectations(), retrievals(), rules)
def test_what_is_copied(expected: Expectation, got: Retrieval, chosen: Rules) -> None:
    score = score_case(expected, got, chosen)
    assert type(score) is CaseScore
    assert score[:4] == (expected.case_id, expected.turn_index, expected.category, got.status)
    assert score.latency_ms == got.latency_ms
    assert len(score) == len(CaseScore._fields)


@given(expectations(), retrievals(), rules)
def test_ranges(expected: Expectation, got: Retrieval, chosen: Rules) -> None:
    score = score_case(expected, got, chosen)
    for name in RATES:
        value = getattr(score, name)
        assert value is None or 0 <= value <= 1, name
    assert score.pass_kind in PASS_KINDS
    assert {*score.noise, *score.dropped} <= {*NOISE_KINDS}
    assert {*score.lost} <= {*LOST_KINDS}
    assert len(score.noise) <= score.returned <= len(got.relevant)
    assert min(score.duplicates, score.over_limit, score.leaks, score.unknown_ids) >= 0
    assert score.first_relevant_rank is None or 1 <= score.first_relevant_rank <= score.returned


@given(expectations(), retrievals(), rules)
def test_what_is_lost_is_what_recall_and_r_precision_lack(
    expected: Expectation, got: Retrieval, chosen: Rules
) -> None:
    score = score_case(expected, got, chosen)
    lost = lost_beliefs(expected, got)
    assert tuple(why for _, why in lost) == score.lost
    assert [belief for belief in expected.needed if belief in dict(lost)] == [b for b, _ in lost]
    missing = sum(why != BELOW_RANK for why in score.lost)
    if expected.gold:
        size = len(expected.gold)
        assert score.recall == (size - missing) / size
        assert score.r_precision == (size - len(score.lost)) / size
    else:
        assert score.lost == ()


@given(expectations(), retrievals(), rules)
def test_passing_is_having_no_reason_to_fail(
    expected: Expectation, got: Retrieval, chosen: Rules
) -> None:
    assert score_case(expected, got, chosen).passed == (failures(expected, got) == [])


@given(expectations(), retrievals(), rules)
def test_precision_and_recall_alone_are_those_of_the_score(
    expected: Expectation, got: Retrieval, chosen: Rules
) -> None:
    score = score_case(expected, got, chosen)
    assert precision_recall(expected, got, chosen) == (score.precision, score.recall)


@given(expectations(), retrievals(), rules, st.randoms(use_true_random=False))
def test_precision_and_recall_do_not_depend_on_order(
    expected: Expectation, got: Retrieval, chosen: Rules, shuffler: Any
) -> None:
    ids = list(got.relevant)
    shuffler.shuffle(ids)
    one = score_case(expected, got, chosen)
    two = score_case(expected, got._replace(relevant=tuple(ids)), chosen)
    assert (one.precision, one.recall, one.drift) == (two.precision, two.recall, two.drift)
    assert sorted(one.noise) == sorted(two.noise)


@given(expectations(), retrievals(), rules, st.data())
def test_a_repeated_id_changes_no_rate(
    expected: Expectation, got: Retrieval, chosen: Rules, data: st.DataObject
) -> None:
    if not got.relevant:
        return
    again = data.draw(st.sampled_from(got.relevant))
    place = data.draw(st.integers(got.relevant.index(again) + 1, len(got.relevant)))
    repeated = (*got.relevant[:place], again, *got.relevant[place:])
    one = score_case(expected, got._replace(raw=None), chosen)
    two = score_case(expected, got._replace(raw=None, relevant=repeated), chosen)
    changed = {"duplicates": one.duplicates + 1, "over_limit": two.over_limit}
    assert comparable(two) == comparable(one)._replace(**changed)


@given(expectations(), retrievals(), rules, st.data())
def test_a_wrong_belief_more_never_helps(
    expected: Expectation, got: Retrieval, chosen: Rules, data: st.DataObject
) -> None:
    required = {*expected.gold, *expected.required}
    wrong = data.draw(st.sampled_from([b for b in BELIEFS + STRANGE if b not in required]))
    place = data.draw(st.integers(0, len(got.relevant)))
    worse = (*got.relevant[:place], wrong, *got.relevant[place:])
    one = score_case(expected, got, chosen)
    two = score_case(expected, got._replace(relevant=worse), chosen)
    assert two.passed <= one.passed
    assert one.precision is None or two.precision is None or two.precision <= one.precision
    assert two.recall == one.recall
    assert (two.hit_at_1 or 0) <= (one.hit_at_1 or 0)
    assert (two.r_precision or 0) <= (one.r_precision or 0)


@given(expectations(), retrievals(), rules, st.sampled_from(["error", "timeout", "missing"]))
def test_a_failure_is_worth_nothing(
    expected: Expectation, got: Retrieval, chosen: Rules, status: str
) -> None:
    score = score_case(expected, got._replace(status=status), chosen)
    assert not score.passed
    assert not score.abstained
    assert not score.recall
    assert not score.mutated
    assert score.recall is not None or not expected.gold


@given(expectations(), retrievals(status=OK))
def test_ranks_agree(expected: Expectation, got: Retrieval) -> None:
    score = score_case(expected, got, SPEC)
    distinct = list(dict.fromkeys(got.relevant))
    found = [rank for rank, belief in enumerate(distinct, 1) if belief in expected.gold]
    assert score.first_relevant_rank == (found[0] if found else None)
    if expected.gold:
        size = len(expected.gold)
        assert score.hit_at_1 == float(found[:1] == [1])
        assert score.r_precision == sum(rank <= size for rank in found) / size
        assert score.recall == len(found) / size
        assert score.precision == (len(found) / len(distinct) if distinct else 0.0)


@given(expectations(), retrievals(), rules)
def test_every_wrong_belief_of_an_exact_set_has_a_kind(
    expected: Expectation, got: Retrieval, chosen: Rules
) -> None:
    score = score_case(replace(expected, relevant_only=("a",)), got, chosen)
    gold = {"a", *expected.relevant_must_include}
    kinds = [expected.kinds[belief] for belief in {*got.relevant} - gold]
    assert sorted(score.noise) == sorted(kinds)


@given(expectations(), retrievals(), rules)
def test_leaks_and_unknown_ids_count_wherever_they_are(
    expected: Expectation, got: Retrieval, chosen: Rules
) -> None:
    score = score_case(expected, got, chosen)
    shown = {*got.relevant}
    strangers = (shown - expected.gold) | ({*(got.raw or ())} - shown)
    kinds = [expected.kinds[belief] for belief in strangers]
    assert score.leaks == kinds.count("other_user")
    assert score.unknown_ids == kinds.count(UNKNOWN)


def test_score_turn_scores_turns_only() -> None:
    turn = expectation(turn_index=0, relevant_only=["a"])
    got = retrieval(relevant=["a"])
    assert score_turn(turn, got, SPEC) == score_case(turn, got, SPEC)
    with pytest.raises(RowError, match="case 'case' is no session turn"):
        score_turn(expectation(), got, SPEC)


def test_unknown_is_what_the_corpus_does_not_hold() -> None:
    kinds = Kinds(a="drift")
    assert (kinds["a"], kinds["b"], kinds.get("b")) == ("drift", UNKNOWN, None)
    assert "b" not in kinds


def test_upstream_pass_kinds_of_a_right_answer_do_not_depend_on_the_category() -> None:
    for category in ("Ranking stability", "Alias resolution"):
        expected = expectation(category=category, relevant_only=["a"])
        assert score_case(expected, retrieval(relevant=["a"]), UPSTREAM_2026_06).pass_kind == (
            "active"
        )


def test_an_expectation_is_a_value() -> None:
    expected = expectation(relevant_only=["a"], turn_index=1)
    assert replace(expected) == expected
    assert replace(expected, relevant_only=("b",)).gold == {"b"}
    with pytest.raises(AttributeError):
        expected.gold = frozenset()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("asked", "tests_context"),
    [
        ({}, False),
        ({"relevant_only": ["a"]}, False),
        ({"relevant_must_include": ["a"]}, True),
        ({"relevant_must_exclude": ["a"]}, True),
        ({"relevant_order": [["a", "b"]]}, True),
        ({"pinned_must_include": ["a"]}, True),
        ({"pinned_must_exclude": ["a"]}, True),
        ({"pinned_order": [["a", "b"]]}, True),
        ({"questions_must_include": ["a"]}, True),
        ({"questions_must_exclude": ["a"]}, True),
        ({"questions_only": []}, True),
        ({"prelude_non_empty": True}, True),
        ({"prelude_is_null": True}, True),
        ({"prelude_is_null": False}, False),
        ({"prelude_contains": ["a"]}, True),
        ({"prelude_must_not_contain": ["a"]}, True),
        ({"must_not_surface": ["a"]}, True),
    ],
)
def test_what_reaches_beyond_the_exact_set(asked: dict[str, Any], tests_context: bool) -> None:
    assert expectation(**asked).tests_context is tests_context


def test_must_be_empty() -> None:
    assert expectation(relevant_only=[]).must_be_empty
    assert not expectation(relevant_only=["a"]).must_be_empty
    assert not expectation().must_be_empty


def test_every_field_of_an_expectation_is_documented() -> None:
    derived = {field.name for field in fields(Expectation) if not field.init}
    undocumented = {name for name in derived if name not in (Expectation.__doc__ or "")}
    assert undocumented <= {"tests_order", "tests_questions", "tests_prelude"}
