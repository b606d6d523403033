"""Reference and prediction rows: read strictly, joined by name."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring_kit import expectation, expectations, retrievals

from pmb_hf.records import (
    NOISE_KINDS,
    PASS_KINDS,
    UNKNOWN,
    CaseScore,
    Expectation,
    Retrieval,
    RowError,
)
from pmb_hf.rows import (
    FLAG_FIELDS,
    KIND_COLUMNS,
    LIST_FIELDS,
    NULLABLE_LIST_FIELDS,
    PAIR_FIELDS,
    expectation_from_row,
    expectation_to_row,
    join,
    retrieval_from_row,
    score_rows,
)
from pmb_hf.rules import RULES, SPEC
from pmb_hf.scoring import score_case


def wanted(case_id: str = "one", *gold: str, **columns: Any) -> dict[str, Any]:
    return {"case_id": case_id, "relevant_should_only_include": [*gold], **columns}


def answer(case_id: str = "one", *ids: Any, **columns: Any) -> dict[str, Any]:
    return {"case_id": case_id, "relevant_beliefs": [*ids], **columns}


def prediction(expected: Expectation, got: Retrieval) -> dict[str, Any]:
    """A retrieval as a prediction row."""
    return {
        "case_id": expected.case_id,
        "turn_index": expected.turn_index,
        "relevant_beliefs": [*got.relevant],
        "pinned_facts": None if got.pinned is None else [*got.pinned],
        "open_questions": None if got.questions is None else [*got.questions],
        "persona_prelude": got.prelude,
        "latency_ms": got.latency_ms,
        "status": got.status,
        "error": got.error,
        "returned_beliefs": None if got.raw is None else [*got.raw],
        "limit": got.limit,
    }


def unordered(score: CaseScore) -> CaseScore:
    lists = ("noise", "dropped")
    return score._replace(**{name: tuple(sorted(getattr(score, name))) for name in lists})


def read(row: Mapping[str, Any]) -> Expectation:
    return expectation_from_row(json.loads(json.dumps(row, allow_nan=False)))


@given(expectations())
def test_a_reference_survives_the_round_trip(expected: Expectation) -> None:
    row = expectation_to_row(expected)
    assert read(row) == expected
    assert expectation_to_row(read(row)) == row


@given(expectations(), retrievals())
def test_a_prediction_survives_the_round_trip(expected: Expectation, got: Retrieval) -> None:
    row = json.loads(json.dumps(prediction(expected, got), allow_nan=False))
    assert retrieval_from_row(row) == got._replace(can_update=None)


@given(expectations(), retrievals(), st.sampled_from([*RULES.values()]))
def test_rows_score_as_values_do(expected: Expectation, got: Retrieval, rules: Any) -> None:
    got = got._replace(can_update=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        scores = score_rows([prediction(expected, got)], [expectation_to_row(expected)], rules)
    direct = score_case(expected, got, rules)
    assert [unordered(score) for score in scores] == [unordered(direct)]


@given(st.lists(st.tuples(expectations(), retrievals()), max_size=4), st.randoms())
def test_rows_are_joined_by_name_and_never_by_position(rows: list[Any], shuffler: Any) -> None:
    unique = {(e.case_id, e.turn_index): (e, g) for e, g in rows}
    if not unique:
        return
    pairs = [*unique.values()]
    predictions = [prediction(e, g) for e, g in pairs]
    shuffler.shuffle(predictions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        joined = join(predictions, [expectation_to_row(e) for e, _ in pairs])
    assert [e for e, _ in joined] == [e for e, _ in pairs]
    assert [g.relevant for _, g in joined] == [g.relevant for _, g in pairs]


def test_every_field_of_an_expectation_has_a_column() -> None:
    named = {*LIST_FIELDS, *NULLABLE_LIST_FIELDS, *PAIR_FIELDS, *FLAG_FIELDS}
    own = {"case_id", "category", "turn_index", "pass_kind", "kinds", "drift_beliefs", "eligible"}
    stored = {f.name for f in Expectation.__dataclass_fields__.values() if f.init}
    assert named | own == stored
    assert {*KIND_COLUMNS} == {*NOISE_KINDS} - {UNKNOWN}


def test_derived_columns() -> None:
    row = expectation_to_row(
        expectation(relevant_must_include=["b"], relevant_only=["a", "b"], drift_beliefs=["z", "y"])
    )
    assert row["gold"] == ["b", "a"]
    assert row["is_active"]
    assert not row["must_be_empty"]
    assert row["drift_beliefs"] == ["y", "z"]
    assert "turn_index" not in row
    assert expectation_to_row(expectation(turn_index=0))["turn_index"] == 0
    assert expectation_to_row(expectation(relevant_only=[]))["must_be_empty"]


def test_the_least_that_a_row_must_hold() -> None:
    assert read(wanted("c", "a")) == expectation(
        case_id="c", relevant_only=["a"], pass_kind="active"
    )
    assert read(wanted("c")).pass_kind == "structural"
    assert read(wanted("c", relevant_must_include=["a"])).pass_kind == "active"
    assert retrieval_from_row(answer("c")) == Retrieval()
    assert retrieval_from_row({"case_id": "c", "status": "error"}) == Retrieval(status="error")


def test_columns_that_are_not_needed_are_ignored() -> None:
    assert read(wanted("c", "a", query="what?", rationale=None)) == read(wanted("c", "a"))
    assert retrieval_from_row(answer("c", "a", note=1)) == Retrieval(("a",))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([], "a reference must be a row with named fields, not list"),
        ({}, "a reference has no usable 'case_id': must be a string, not None"),
        ({"case_id": 7}, "must be a string, not 7"),
        ({"case_id": "one"}, "reference 'one': column 'relevant_should_only_include' is missing"),
        (wanted(turn_index=1.0), "reference 'one': 'turn_index' must be a whole number, not 1.0"),
        (wanted(turn_index=True), "must be a whole number, not True"),
        (wanted(relevant_should_only_include="a"), "must be a list of ids, not 'a'"),
        (wanted(relevant_should_only_include=[1]), "holds 1; an id must be a string"),
        (
            wanted(retired_beliefs={"a"}),
            "'one': 'retired_beliefs' must be a list of ids, not {'a'}",
        ),
        (wanted(relevant_ordered_before=[["a"]]), "'relevant_ordered_before' must be a list of p"),
        (wanted(relevant_ordered_before=["ab"]), "'relevant_ordered_before' must be a list"),
        (wanted(relevant_ordered_before=[["a", 2]]), "holds 2; an id must be a string"),
        (wanted(prelude_non_empty=1), "'prelude_non_empty' must be true, false or null, not 1"),
        (wanted(category=3), "reference 'one': 'category' must be a string or null, not 3"),
        (wanted(pass_kind="lucky"), f"'pass_kind' must be one of {PASS_KINDS} or null, not 'luck"),
        (wanted(eligible_beliefs=[None]), "'eligible_beliefs' holds None"),
    ],
)
def test_references_that_cannot_be_read(row: Any, message: str) -> None:
    with pytest.raises(RowError) as error:
        join([answer()], [row])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("one", "a prediction must be a row with named fields, not str"),
        ({"relevant_beliefs": []}, "a prediction has no usable 'case_id'"),
        ({"case_id": "one"}, "prediction 'one': 'relevant_beliefs' is missing; it is a list"),
        ({"case_id": "one", "relevant_beliefs": None, "status": "ok"}, "is missing"),
        (answer("one", 1, "a"), "prediction 'one': 'relevant_beliefs' holds 1; an id must be a st"),
        (answer("one", None), "'relevant_beliefs' holds None"),
        (answer("one", b"a"), "'relevant_beliefs' holds b'a'"),
        (answer(relevant_beliefs="abc"), "must be a list of ids, not 'abc'"),
        (answer(relevant_beliefs={"a": 1}), "must be a list of ids"),
        (answer(pinned_facts=[1]), "prediction 'one': 'pinned_facts' holds 1"),
        (answer(open_questions="q"), "prediction 'one': 'open_questions' must be a list"),
        (answer(limit=2**63), "'limit' is beyond 64 bits"),
        (answer(limit=10**5000), "'limit' is beyond 64 bits"),
        (answer(turn_index=2**63), "'turn_index' is beyond 64 bits"),
        (answer(turn_index=-(10**5000)), "'turn_index' is beyond 64 bits"),
        (answer(limit=-1), "'limit' must be a whole number >= 0 or null, not -1"),
        (answer(limit=True), "'limit' must be a whole number >= 0 or null, not True"),
        (answer(returned_beliefs="a"), "'returned_beliefs' must be a list of ids, not 'a'"),
        (answer(persona_prelude=["a"]), "'persona_prelude' must be a string or null, not ['a']"),
        (answer(latency_ms="3"), "'latency_ms' must be a number >= 0 or null, not '3'"),
        (answer(latency_ms=-1), "must be a number >= 0 or null, not -1"),
        (answer(latency_ms=True), "must be a number >= 0 or null, not True"),
        (answer(latency_ms=float("nan")), "must be a number >= 0 or null, not nan"),
        (answer(latency_ms=float("inf")), "must be a number >= 0 or null, not inf"),
        (answer(status=500), "prediction 'one': 'status' must be a string or null, not 500"),
        (answer(error=ValueError()), "prediction 'one': 'error' must be a string or null"),
    ],
)
def test_predictions_that_cannot_be_read(row: Any, message: str) -> None:
    with pytest.raises(RowError) as error:
        join([row], [wanted()])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        ([], [], "there are no references; pass the rows of a dataset config"),
        ([answer()], [], "there are no references"),
        ([], [wanted()], "no prediction for case 'one'; to score it as a miss pass on_missing"),
        ([answer("one"), answer("one")], [wanted()], "prediction 'one' is there more than once"),
        ([answer()], [wanted(), wanted()], "reference 'one' is there more than once"),
        ([answer(), answer("two")], [wanted()], "no reference for prediction 'two'"),
        ([answer(turn_index=1)], [wanted()], "no reference for prediction 'one' turn 1"),
        ([], [wanted(f"c{i}") for i in range(7)], "case 'c3', case 'c4' and 2 more; to score"),
    ],
)
def test_rows_that_do_not_fit_together(predictions: Any, references: Any, message: str) -> None:
    with pytest.raises(RowError) as error:
        join(predictions, references)
    assert message in str(error.value)


def test_a_missing_prediction_can_be_a_miss() -> None:
    pairs = join([answer("two", "b")], [wanted("one", "a"), wanted("two")], on_missing="miss")
    assert [got.status for _, got in pairs] == ["missing", "ok"]
    with pytest.raises(RowError, match="on_missing must be 'error' or 'miss', not 'skip'"):
        join([], [wanted()], on_missing="skip")
    with pytest.raises(RowError, match="no reference for prediction 'two'"):
        join([answer("two")], [wanted()], on_missing="miss")


def test_turns_of_one_session_are_told_apart() -> None:
    references = [wanted("s", "a", turn_index=0), wanted("s", "b", turn_index=1)]
    predictions = [answer("s", "b", turn_index=1), answer("s", "a", turn_index=0)]
    assert all(score.passed for score in score_rows(predictions, references, SPEC))


def test_generators_are_read_once() -> None:
    scores = score_rows(
        (answer(c, c) for c in "ab"), (wanted(c, c) for c in "ba"), SPEC, on_missing="error"
    )
    assert [(s.case_id, s.passed) for s in scores] == [("b", True), ("a", True)]


@pytest.mark.parametrize("given_id", ["B-Tea", " b-tea", "b-tea\n", "ｂ-tea"])  # the last is wide
def test_near_misses_do_not_count_and_are_warned_about(given_id: str) -> None:
    reference = wanted("one", "b-tea", eligible_beliefs=["b-tea"], turn_index=2)
    with pytest.warns(UserWarning, match="prediction 'one' turn 2: .* is not 'b-tea'; ids are"):
        [score] = score_rows([answer("one", given_id, turn_index=2)], [reference], SPEC)
    assert (score.passed, score.precision, score.noise) == (False, 0.0, (UNKNOWN,))


def test_other_unknown_ids_are_not_warned_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        join([answer("one", "coffee")], [wanted("one", "tea", eligible_beliefs=["tea"])])
        join([answer("one", "TEA")], [wanted("one", "tea")])  # the corpus is not known


def test_eligible_is_counted_from_the_columns() -> None:
    row = wanted("one", "a", eligible_beliefs=["a", "b"], drifting_beliefs=["c"])
    assert read(row | {"superseded_beliefs": ["d"]}).eligible == 3
    assert read(wanted()).eligible is None
    expected = read(row)
    assert replace(expected, kinds=expected.kinds) == expected


def test_an_empty_status_is_no_answer() -> None:
    row = {"case_id": "a", "relevant_beliefs": [], "status": ""}
    with pytest.raises(RowError, match="'status' must be a word"):
        retrieval_from_row(row)


def test_a_latency_that_no_float_can_hold_is_named() -> None:
    row = {"case_id": "a", "relevant_beliefs": [], "latency_ms": 10**400}
    with pytest.raises(RowError, match="'latency_ms' must be a number"):
        retrieval_from_row(row)
