"""Aggregates: counts that add up, means with their n, and JSON without NaN."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring_kit import ALL_RULES, expectation, expectations, retrieval, retrievals

from pmb_hf.records import NOISE_KINDS, PASS_KINDS, CaseScore
from pmb_hf.rules import SPEC
from pmb_hf.scoring import score_case
from pmb_hf.summary import (
    MEANS,
    Summary,
    Tally,
    latency_ratio,
    mean_or_none,
    percentile,
    round_half_up,
    summarize,
    summarize_by_category,
)

scores = st.lists(
    st.builds(score_case, expectations(), retrievals(), st.sampled_from(ALL_RULES)), max_size=5
)


@given(scores)
def test_counts_add_up(rows: list[CaseScore]) -> None:
    summary = summarize(rows)
    assert summary["cases"] == len(rows)
    assert summary["passed"] == sum(summary[f"passed_{kind}"] or 0 for kind in PASS_KINDS)
    assert summary["passed"] == sum(row.passed for row in rows)
    assert summary["errors"] == sum(row.status != "ok" for row in rows)
    assert sum(summary[f"noise_{kind}"] or 0 for kind in NOISE_KINDS) == sum(
        len(row.noise) for row in rows
    )
    assert summary["leaks"] == sum(row.leaks for row in rows)
    assert summary["unknown_ids"] == sum(row.unknown_ids for row in rows)
    for name in ("returned", "duplicates", "over_limit"):
        assert summary[name] == sum(getattr(row, name) for row in rows)


@given(scores)
def test_each_mean_is_over_what_is_not_null(rows: list[CaseScore]) -> None:
    summary = summarize(rows)
    means = {f"mean_{name}": (field, f"n_{name}") for name, field in MEANS.items()}
    means["abstention_rate"] = ("abstained", "n_abstention")
    means["mutability_rate"] = ("mutated", "n_mutability")
    for name, (field, n) in means.items():
        values = [getattr(row, field) for row in rows if getattr(row, field) is not None]
        assert summary[n] == len(values)
        assert summary[name] == mean_or_none(values)
    assert summary["pass_rate"] == mean_or_none([row.passed for row in rows])


@given(scores, st.randoms(use_true_random=False))
def test_the_order_of_cases_does_not_matter(rows: list[CaseScore], shuffler: Any) -> None:
    shuffled = list(rows)
    shuffler.shuffle(shuffled)
    assert summarize(shuffled) == summarize(rows)


@given(scores)
def test_json_is_strict_and_rates_are_rates(rows: list[CaseScore]) -> None:
    summary = summarize(rows)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert {type(value) for value in summary.values()} <= {int, float, type(None)}
    for name, value in summary.items():
        if name.endswith("_rate") or name.removeprefix("mean_") in {*MEANS} - {
            "first_relevant_rank"
        }:
            assert value is None or 0 <= value <= 1, name


@given(scores)
def test_categories_partition_the_cases(rows: list[CaseScore]) -> None:
    groups = summarize_by_category(iter(rows))
    assert [*groups] == [*dict.fromkeys(row.category for row in rows)]
    for name in ("cases", "passed", "active_cases", "errors", "returned", "n_precision"):
        assert sum(group[name] or 0 for group in groups.values()) == summarize(rows)[name]


def test_nothing_has_no_mean() -> None:
    summary = summarize([])
    assert summary == summarize(iter(()))
    assert [name for name, value in summary.items() if value not in (0, None)] == []
    nulls = {name for name, value in summary.items() if value is None}
    means = {f"mean_{name}" for name in MEANS} | {"pass_rate", "abstention_rate"}
    assert nulls == means | {"mutability_rate", *_latency_names()}
    assert [*summary] == [*summarize([_score()])]


def _latency_names() -> set[str]:
    return {"mean_latency_ms", "p50_latency_ms", "p95_latency_ms"}


def _score(latency_ms: float | None = None) -> CaseScore:
    return score_case(expectation(relevant_only=["a"]), retrieval(latency_ms=latency_ms), SPEC)


def test_latencies() -> None:
    summary = summarize([_score(4.0), _score(None), _score(1.0), _score(2.0), _score(3.125)])
    found = [summary[name] for name in ("mean_latency_ms", "p50_latency_ms", "p95_latency_ms")]
    assert found == [2.53, 2.0, 4.0]
    assert summary["n_latency"] == 4


def test_a_zero_is_a_value() -> None:
    summary = summarize([_score(0.0), _score(0.0)])
    assert (summary["mean_latency_ms"], summary["n_latency"]) == (0.0, 2)
    assert (summary["mean_recall"], summary["n_recall"]) == (0.0, 2)


@pytest.mark.parametrize(
    ("value", "digits", "rounded"),
    [
        (0.00005, 4, 0.0001),
        (0.00015, 4, 0.0001),  # below a half as a binary number; JavaScript says the same
        (0.12345, 4, 0.1235),
        (0.5, 0, 1.0),
        (1.5, 0, 2.0),
        (2.5, 0, 3.0),  # where round() gives 2
        (-0.5, 0, 0.0),
        (-1.5, 0, -1.0),
        (13.485, 2, 13.49),
        (2 / 3, 4, 0.6667),
        (1, 4, 1.0),
    ],
)
def test_round_half_up(value: float, digits: int, rounded: float) -> None:
    assert round_half_up(value, digits) == rounded


@given(st.floats(0, 1))
def test_rounding_moves_a_rate_by_half_a_step_at_most(value: float) -> None:
    assert abs(round_half_up(value) - value) <= 0.00005 + 1e-12
    assert 0 <= round_half_up(value) <= 1


@pytest.mark.parametrize(
    ("count", "share", "rank"),
    [
        *[(1, 0.5, 1), (2, 0.5, 1), (3, 0.5, 2), (4, 0.5, 2), (12, 0.5, 6), (77, 0.5, 39)],
        *[(1, 0.95, 1), (12, 0.95, 12), (20, 0.95, 19), (21, 0.95, 20), (77, 0.95, 74)],
        *[(5, 0.0, 1), (5, 1.0, 5)],
    ],
)
def test_nearest_rank(count: int, share: float, rank: int) -> None:
    assert percentile(reversed(range(1, count + 1)), share) == rank


@given(st.lists(st.floats(0, 1e6), min_size=1), st.sampled_from(["0.5", "0.95"]))
def test_a_percentile_is_an_observed_value(values: list[float], share: str) -> None:
    found = percentile(values, float(share))
    assert found in values
    assert found is not None
    below = sum(value <= found for value in values)
    assert below >= math.ceil(Fraction(share) * len(values))
    assert sum(value < found for value in values) < Fraction(share) * len(values)


def test_means() -> None:
    assert mean_or_none([]) is None
    assert mean_or_none([0.0]) == 0.0
    assert {mean_or_none(order) for order in permutations([0.1, 0.2, 0.3, 1e16, -1e16])} == {0.12}


def _part(p50: float | None) -> Summary:
    return summarize([]) | {"p50_latency_ms": p50}


@pytest.mark.parametrize(
    ("session", "single", "ratio"),
    [
        *[(30.0, 20.0, 1.5), (10.0, 30.0, 0.33), (0.0, 20.0, 0.0)],
        *[(None, 20.0, None), (30.0, None, None), (30.0, 0.0, None)],
    ],
)
def test_latency_ratio(session: float | None, single: float | None, ratio: float | None) -> None:
    assert latency_ratio(_part(session), _part(single)) == ratio


def _tally(rows: list[CaseScore]) -> Tally:
    tally = Tally()
    tally.add(rows)
    return tally


@given(st.lists(scores, max_size=4), st.booleans())
def test_a_summary_of_parts_is_the_summary_of_the_whole(
    parts: list[list[CaseScore]], counted: bool
) -> None:
    whole = [row for part in parts for row in part]
    total = Tally()
    with pytest.MonkeyPatch.context() as patch:
        if counted:
            patch.setattr("pmb_hf.summary._LOOSE", 0)
        for part in parts:
            total.merge(_tally(part))
        assert total.summary() == summarize(whole)
    assert json.dumps(total.summary()) == json.dumps(summarize(whole))


@given(
    st.lists(
        st.lists(st.floats(0, 1e6).map(lambda ms: round(ms, 2)), max_size=9), min_size=1, max_size=5
    )
)
def test_percentiles_and_means_of_parts_are_exact(parts: list[list[float]]) -> None:
    score = score_case(expectation(), retrieval(), SPEC)
    total = Tally()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pmb_hf.summary._LOOSE", 2)
        for part in parts:
            total.merge(_tally([score._replace(latency_ms=ms) for ms in part]))
        summary = total.summary()
    values = [ms for part in parts for ms in part]
    assert summary["p50_latency_ms"] == percentile(values, 0.5)
    assert summary["p95_latency_ms"] == percentile(values, 0.95)
    assert summary["mean_latency_ms"] == mean_or_none(values, 2)
    assert summary["n_latency"] == len(values)


def test_many_scores_are_counted_by_value() -> None:
    score = score_case(expectation(), retrieval(), SPEC)
    rows = [score._replace(latency_ms=place % 7 / 100) for place in range(10_000)]
    tally = _tally(rows)
    assert tally._latencies.loose == []
    assert len(tally._latencies.counted) == 7
    assert tally.summary()["p95_latency_ms"] == percentile(
        [r.latency_ms or 0.0 for r in rows], 0.95
    )
