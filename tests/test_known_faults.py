"""Faults that scorers of retrieval are known for, each on the smallest input that shows it."""

from __future__ import annotations

from typing import Any

import pytest

import pmb_hf
from pmb_hf.errors import PredictionError
from pmb_hf.evaluation import score_cases
from pmb_hf.measures import MEASURES
from pmb_hf.records import Expectation, Kinds, Retrieval
from pmb_hf.rules import RULES, SPEC
from pmb_hf.scoring import score_case

Rows = list[dict[str, Any]]
every_rule_set = pytest.mark.parametrize("rules", RULES)


def references(**gold: list[Any]) -> Rows:
    """A reference row for each case: the exact set it asks for."""
    return [
        {
            "case_id": case_id,
            "relevant_should_only_include": ids,
            "pass_kind": "active" if ids else "structural",
        }
        for case_id, ids in gold.items()
    ]


def predictions(**returned: list[Any]) -> Rows:
    """A prediction row for each case."""
    return [{"case_id": case_id, "relevant_beliefs": ids} for case_id, ids in returned.items()]


@every_rule_set
def test_a_repeated_id_pushes_no_score_above_one(rules: str) -> None:
    given, wanted = predictions(c=["a", "a"]), references(c=["a"])
    found = pmb_hf.score(given, wanted, rules=rules)
    assert (found["mean_precision"], found["mean_recall"], found["duplicates"]) == (1.0, 1.0, 1)
    for name, measure in MEASURES.items():
        value = found.get(name)
        assert measure.unit != "rate" or value is None or 0 <= value <= 1, name


def test_a_missing_prediction_is_named_and_does_not_raise_the_score() -> None:
    gold = {f"case-{i}": [f"b{i}"] for i in range(77)}
    given = predictions(**{case: ids for case, ids in gold.items() if case != "case-41"})
    with pytest.raises(PredictionError, match="no prediction for case 'case-41'; to score it"):
        pmb_hf.score(given, references(**gold))
    found = pmb_hf.score(given, references(**gold), on_missing="miss")
    assert (found["cases"], found["n_precision"], found["errors"]) == (77, 77, 1)
    assert found["mean_precision"] == found["mean_recall"] == found["pass_rate"] == 0.987


@every_rule_set
def test_a_crash_is_no_right_abstention(rules: str) -> None:
    given = [{"case_id": "c", "relevant_beliefs": [], "status": "error", "error": "it broke"}]
    found = pmb_hf.score(given, references(c=[]), rules=rules)
    assert (found["passed"], found["errors"], found["cases"]) == (0, 1, 1)
    assert (found["abstention_rate"], found["n_abstention"]) == (0.0, 1)


@every_rule_set
def test_an_empty_gold_leaves_its_neighbours_alone(rules: str) -> None:
    wanted = references(one=["a"], two=[], three=["b"])
    cases = score_cases(predictions(one=["a"], two=[], three=["x"]), wanted, rules=rules)
    assert [case.recall for case in cases] == [1.0, None, 0.0]
    assert [case.precision for case in cases] == [1.0, None, 0.0]
    assert pmb_hf.score(predictions(one=["a"], two=[], three=["x"]), wanted)["n_recall"] == 2


@every_rule_set
def test_an_empty_result_leaves_its_neighbours_alone(rules: str) -> None:
    wanted = references(one=["d"], two=["c"], three=["e"])
    cases = score_cases(predictions(one=["d"], two=[], three=["e"]), wanted, rules=rules)
    assert [case.recall for case in cases] == [1.0, 0.0, 1.0]
    assert [case.precision for case in cases] == [1.0, 0.0, 1.0]


def test_no_rows_at_all_is_one_clear_error() -> None:
    with pytest.raises(PredictionError, match=r"^there are no references; pass the rows of"):
        pmb_hf.score([], [])


def test_rank_is_the_order_of_the_list_and_ties_are_not_sorted() -> None:
    for ids, rank in ((["d1", "d2", "d3"], 3), (["d3", "d2", "d1"], 1), (["d2", "d3", "d1"], 2)):
        [case] = score_cases(predictions(c=ids), references(c=["d3"]))
        assert case.first_relevant_rank == rank


@pytest.mark.parametrize("part", ["predictions", "references"])
def test_an_id_that_is_no_string_is_an_error_and_not_a_miss(part: str) -> None:
    given, wanted = predictions(tea=["1"]), references(tea=["1"])
    column = "relevant_beliefs" if part == "predictions" else "relevant_should_only_include"
    (given if part == "predictions" else wanted)[0][column] = [1, 2]
    with pytest.raises(PredictionError) as error:
        pmb_hf.score(given, wanted)
    assert "'tea'" in str(error.value)
    assert f"'{column}' holds 1; an id must be a string" in str(error.value)


@every_rule_set
def test_a_case_that_is_called_like_a_belief_loses_nothing(rules: str) -> None:
    wanted = references(a=["a"], b=["a", "b"])
    found = pmb_hf.score(predictions(a=["a"], b=["b", "a"]), wanted, rules=rules)
    assert (found["mean_precision"], found["mean_recall"], found["passed"]) == (1.0, 1.0, 2)


def test_returning_nothing_passes_what_must_be_empty_and_is_told_by_its_kind() -> None:
    gold = {f"asks-{i}": ["a"] for i in range(3)} | {f"empty-{i}": [] for i in range(2)}
    nothing = predictions(**{case: [] for case in gold})
    found = pmb_hf.score(nothing, references(**gold))
    assert (found["passed"], found["pass_rate"]) == (2, 0.4)
    assert (found["passed_active"], found["passed_structural"]) == (0, 2)
    assert (found["mean_precision"], found["mean_recall"], found["n_precision"]) == (0.0, 0.0, 3)
    assert (found["abstention_rate"], found["n_abstention"]) == (1.0, 2)


def test_a_limit_that_covers_all_eligible_beliefs_is_flagged() -> None:
    eligible = [f"b{i}" for i in range(15)]
    kinds = Kinds.fromkeys(eligible, "unrelated")
    expected = Expectation("c", relevant_only=("b7",), kinds=Kinds(kinds), eligible=15)
    everything = score_case(expected, Retrieval(tuple(eligible), limit=20), SPEC)
    assert everything.limit_covers_eligible
    assert (everything.recall, everything.hit_at_1, everything.r_precision) == (1.0, 0.0, 0.0)
    assert not score_case(expected, Retrieval(("b7",), limit=14), SPEC).limit_covers_eligible

    wanted = [row | {"eligible_beliefs": eligible} for row in references(c=["b7"])]
    found = pmb_hf.score(predictions(c=eligible), wanted)
    assert (found["limit_covers_eligible"], found["n_limit_covers_eligible"]) == (1, 1)
    assert (found["mean_recall"], found["mean_hit_at_1"], found["mean_r_precision"]) == (1, 0, 0)
