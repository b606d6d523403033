"""Why a case fails: every assertion, its words and its order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from scoring_kit import expectation, expectations, name_of, retrieval, retrievals, table

from pmb_hf.assertions import failures
from pmb_hf.records import OK, Expectation, Retrieval


@pytest.mark.parametrize("row", table("assertion_cases.json"), ids=name_of)
def test_table(row: dict[str, Any]) -> None:
    assert failures(expectation(**row["expected"]), retrieval(**row["got"])) == row["failures"]


@given(expectations(), retrievals(status=OK))
def test_each_reason_is_given_once(expected: Expectation, got: Retrieval) -> None:
    expected = replace(expected, relevant_order=(), pinned_order=())
    found = failures(expected, got)
    assert len(found) == len({*found})


@given(expectations(), retrievals(status=OK))
def test_a_tier_that_was_not_given_fails_nothing(expected: Expectation, got: Retrieval) -> None:
    silent = replace(
        expected,
        pinned_must_include=(),
        pinned_must_exclude=(),
        pinned_order=(),
        questions_must_include=(),
        questions_must_exclude=(),
        questions_only=None,
        prelude_non_empty=None,
        prelude_is_null=None,
        prelude_contains=(),
        prelude_must_not_contain=(),
    )
    bare = got._replace(pinned=None, questions=None, prelude=None)
    assert failures(expected, bare) == failures(silent, bare)


@given(expectations(turns=False), retrievals())
def test_a_turn_is_named_in_each_reason(expected: Expectation, got: Retrieval) -> None:
    single = failures(expected, got)
    turn = failures(replace(expected, turn_index=5), got)
    if got.status != OK:
        assert turn == single
    else:
        said = [reason.removeprefix("turn 5: ") for reason in turn]
        renamed = "unexpected relevant belief", "unexpected belief in relevantBeliefs"
        assert [reason.replace(*renamed) for reason in said] == single
        assert all(reason.startswith("turn 5: ") for reason in turn)


@given(expectations(), retrievals())
def test_an_answer_is_judged_by_itself(expected: Expectation, got: Retrieval) -> None:
    assert failures(expected, got) == failures(replace(expected), Retrieval(*got))
