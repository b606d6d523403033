"""Intervals and tests against published values, and what must hold of any data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.measures import MEASURES
from pmb_hf.report import judge
from pmb_hf.runner import run
from pmb_hf.stats import (
    Interval,
    average,
    binomial_interval,
    bootstrap,
    estimates,
    mean,
    proportion,
    sign_test,
)

rates = st.lists(st.floats(0, 1), min_size=1, max_size=25)


@pytest.mark.parametrize(
    ("successes", "n", "level", "low", "high"),
    [
        # scipy 1.17: binomtest(successes, n).proportion_ci(level, method="exact")
        (0, 10, 0.95, 0.0, 0.30849710781876294),
        (10, 10, 0.95, 0.6915028921812371, 1.0),
        (5, 10, 0.95, 0.1870860284474045, 0.8129139715525955),
        (1, 1, 0.95, 0.025, 1.0),
        (682, 925, 0.95, 0.707668264079039, 0.7654065582414781),
        (7, 20, 0.90, 0.17731091757446915, 0.5580345113154889),
        (5000, 10_000, 0.95, 0.4901513805899749, 0.509848619410025),
        (1, 5000, 0.99, 1.002507862119077e-06, 0.0014850707328474004),
    ],
)
def test_exact_interval_agrees_with_scipy(
    successes: int, n: int, level: float, low: float, high: float
) -> None:
    found = binomial_interval(successes, n, level=level)
    assert found is not None
    assert found.low == pytest.approx(low, abs=1e-12)
    assert found.high == pytest.approx(high, abs=1e-12)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_exact_interval_holds_the_share_and_is_symmetric(case: tuple[int, int]) -> None:
    successes, n = case
    found, mirrored = binomial_interval(successes, n), binomial_interval(n - successes, n)
    assert found is not None
    assert mirrored is not None
    assert 0 <= found.low <= successes / n <= found.high <= 1
    assert found.low == pytest.approx(1 - mirrored.high, abs=1e-12)


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (8, 2, 0.109375), (3, 3, 1.0), (0, 10, 1 / 512)],
)
def test_sign_test_has_the_exact_value(wins: int, losses: int, p: float) -> None:
    assert sign_test(wins, losses) == p
    assert sign_test(losses, wins) == p


def test_sign_test_does_not_overflow() -> None:
    assert sign_test(6000, 4000) < 1e-80
    assert sign_test(5000, 5000) == 1.0


@given(rates, st.integers(0, 5))
def test_bootstrap_holds_the_mean_and_is_reproducible(values: list[float], seed: int) -> None:
    found = bootstrap(values, seed=seed, resamples=400)
    assert found is not None
    assert min(values) <= found.low <= found.high <= max(values)
    assert found.low <= mean(values) <= found.high
    assert bootstrap(values, seed=seed, resamples=400) == found


@given(rates, rates)
def test_paired_difference_is_antisymmetric(a: list[float], b: list[float]) -> None:
    forward = bootstrap([y - x for x, y in zip(a, b, strict=False)], resamples=200)
    back = bootstrap([x - y for x, y in zip(a, b, strict=False)], resamples=200)
    assert forward is not None
    assert back is not None
    assert forward == Interval(-back.high, -back.low)


def test_bootstrap_is_near_the_normal_interval() -> None:
    values = [n / 99 for n in range(100)]
    found = bootstrap(values)
    assert found is not None
    # 0.5 ± 1.96 · sd / 10, where sd is that of a uniform spread.
    assert found.low == pytest.approx(0.4429, abs=0.006)
    assert found.high == pytest.approx(0.5571, abs=0.006)
    assert bootstrap(values, seed=1) != found


def test_nothing_has_no_interval() -> None:
    assert bootstrap([]) is None
    assert binomial_interval(0, 0) is None
    assert proportion([]) is None
    assert average([]) is None
    with pytest.raises(ValueError, match="at least one value"):
        mean([])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: bootstrap([1.0], level=1.0), "level must be between"),
        (lambda: bootstrap([1.0], resamples=0), "resamples must be 1 or more"),
        (lambda: binomial_interval(3, 2), "successes must be 0 to 2"),
        (lambda: sign_test(-1, 0), "wins and losses must be 0 or more"),
        (lambda: estimates([], ["latency"]), "'latency' is no mean or rate"),
    ],
)
def test_wrong_use_is_an_error(call: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()


def test_every_mean_and_rate_of_a_summary_has_an_interval() -> None:
    from pmb_hf.corpus import load_corpus

    corpus = load_corpus("native")
    evaluation = judge(run("fts5", corpus), corpus)
    for judged, summary in (
        (evaluation.cases, evaluation.retrieval),
        (evaluation.turns, evaluation.session),
    ):
        assert summary is not None
        found = estimates(j.score for j in judged)
        wanted = {
            name
            for name, measure in MEASURES.items()
            if measure.unit in ("rate", "rank") and summary[name] is not None
        }
        assert set(found) == wanted
        for name, estimate in found.items():
            n = MEASURES[name].n
            assert n is not None
            wire = estimate.to_wire()
            assert (wire["value"], wire["n"]) == (summary[name], summary[n])
            assert wire["low"] <= wire["value"] <= wire["high"]
