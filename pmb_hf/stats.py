"""How sure a figure is: intervals and tests, standard library only, reproducible.

Nothing here needs an array library: a bootstrap of 2,000 resamples over a hundred
cases takes some 20 ms, and exact binomial tails are sums of a few hundred terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

from .records import CaseScore
from .summary import MEANS, round_half_up

LEVEL = 0.95
"""Share of samples whose interval is to hold the true value."""
RESAMPLES = 2000
SEED = 0

BOOTSTRAP, EXACT = "bootstrap", "exact binomial"

_PROPORTIONS = {
    "pass_rate": "passed",
    "abstention_rate": "abstained",
    "mutability_rate": "mutated",
    "mean_hit_at_1": "hit_at_1",
}
"""Measures of which every case is 0 or 1, by the field of a case's score."""
_MEANS = {
    f"mean_{name}": field for name, field in MEANS.items() if f"mean_{name}" not in _PROPORTIONS
}
_BISECTIONS = 60  # halving 0..1 that often is finer than a float


class Interval(NamedTuple):
    """Both ends of a confidence interval, in the unit of the figure."""

    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether 0 is outside."""
        return self.low > 0 or self.high < 0


class Estimate(NamedTuple):
    """A mean with its n and interval; ``method`` says how the interval was made."""

    value: float
    n: int
    interval: Interval
    method: str

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping, rounded half up to four digits."""
        return {
            "value": round_half_up(self.value),
            "n": self.n,
            "low": round_half_up(self.interval.low),
            "high": round_half_up(self.interval.high),
            "method": self.method,
        }


def mean(values: Sequence[float]) -> float:
    """The mean of at least one value, from the exact sum.

    Raises:
        ValueError: If there is none.
    """
    if not values:
        raise ValueError("a mean needs at least one value")
    # A quotient may round past the values that it is the mean of.
    return min(max(math.fsum(values) / len(values), min(values)), max(values))


def bootstrap(
    values: Sequence[float],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """Percentile bootstrap interval of the mean of ``values``; ``None`` if there are none.

    The same values in the same order give the same interval. Source: Efron and
    Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.

    >>> bootstrap([0.5, 0.5]), bootstrap([])
    (Interval(low=0.5, high=0.5), None)

    Raises:
        ValueError: If ``level`` is not between 0 and 1, or ``resamples`` is below 1.
    """
    _check_level(level)
    if resamples < 1:
        raise ValueError(f"resamples must be 1 or more, not {resamples}")
    if not values:
        return None
    random, size = Random(seed), len(values)
    means = sorted(mean(random.choices(values, k=size)) for _ in range(resamples))
    # The same number of resamples is cut off at either end, so that the interval of the
    # negated values is exactly the negated interval. Rounded: 0.05 / 2 * 2000 is not 50.
    cut = min(int(round((1 - level) / 2 * resamples, 9)), (resamples - 1) // 2)
    return Interval(means[cut], means[-1 - cut])


def binomial_interval(successes: int, n: int, *, level: float = LEVEL) -> Interval | None:
    """Exact (Clopper-Pearson) interval of a proportion; ``None`` if ``n`` is 0.

    Source: Clopper and Pearson, Biometrika 26 (1934). It is never too short: it
    holds the true value in at least ``level`` of all samples.

    >>> [round(end, 4) for end in binomial_interval(0, 10)]
    [0.0, 0.3085]

    Raises:
        ValueError: If ``successes`` is not within 0 and ``n``, or ``level`` is no share.
    """
    _check_level(level)
    if not 0 <= successes <= n:
        raise ValueError(f"successes must be 0 to {n}, not {successes}")
    if n == 0:
        return None
    tail = (1 - level) / 2
    low = _where(lambda p: _upper_tail(successes, n, p) >= tail) if successes else 0.0
    # Failures are successes of the other side.
    failures = n - successes
    high = 1 - _where(lambda p: _upper_tail(failures, n, p) >= tail) if failures else 1.0
    return Interval(low, high)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level}")


def _upper_tail(k: int, n: int, p: float) -> float:
    """Probability of ``k`` or more successes in ``n`` trials; 0 < p < 1."""
    log_p, log_q, whole = math.log(p), math.log1p(-p), math.lgamma(n + 1)
    return math.fsum(
        math.exp(whole - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * log_p + (n - i) * log_q)
        for i in range(k, n + 1)
    )


def _where(reached: Callable[[float], bool]) -> float:
    """The smallest p for which ``reached``, which must hold from some p on."""
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if not 0 < middle < 1:  # as close to the end as a float can be
            break
        low, high = (low, middle) if reached(middle) else (middle, high)
    return (low + high) / 2


def sign_test(wins: int, losses: int) -> float:
    """Exact two-sided p-value of ``wins`` against ``losses``; ties are left out.

    On passes it is McNemar's exact test. With neither wins nor losses it is 1.

    >>> sign_test(5, 0), sign_test(0, 0)
    (0.0625, 1.0)

    Raises:
        ValueError: If a count is negative.
    """
    if wins < 0 or losses < 0:
        raise ValueError(f"wins and losses must be 0 or more, not {wins} and {losses}")
    n = wins + losses
    tail = sum(math.comb(n, i) for i in range(min(wins, losses) + 1))
    # Whole numbers: exact, and no overflow however many cases there are.
    return min(1.0, 2 * tail / (1 << n))


def proportion(outcomes: Sequence[float | bool]) -> Estimate | None:
    """Share of ``outcomes`` (each 0 or 1) with its exact interval; ``None`` if there are none."""
    successes = sum(1 for outcome in outcomes if outcome)
    interval = binomial_interval(successes, len(outcomes))
    if interval is None:
        return None
    return Estimate(successes / len(outcomes), len(outcomes), interval, EXACT)


def average(values: Sequence[float], *, seed: int = SEED) -> Estimate | None:
    """Mean of ``values`` with its bootstrap interval; ``None`` if there are none."""
    interval = bootstrap(values, seed=seed)
    return None if interval is None else Estimate(mean(values), len(values), interval, BOOTSTRAP)


def estimates(
    scores: Iterable[CaseScore],
    names: Iterable[str] | None = None,
    *,
    seed: int = SEED,
) -> dict[str, Estimate]:
    """Every mean and rate of a summary with its interval, over cases.

    Measures that apply to no case are left out. Cases are taken as independent;
    turns of one session are not quite, so their intervals are too narrow.

    Args:
        scores: The cases of one part, or of one category.
        names: Which measures, as they are called in a summary; all if ``None``.
        seed: Seed of the resampling.

    Raises:
        ValueError: If a name is no mean or rate.
    """
    rows = list(scores)
    known = {**_PROPORTIONS, **_MEANS}
    wanted = list(known) if names is None else list(names)
    found = {}
    for name in wanted:
        if name not in known:
            raise ValueError(f"{name!r} is no mean or rate; choose from: {', '.join(known)}")
        column = [getattr(row, known[name]) for row in rows]
        values = [value for value in column if value is not None]
        made = proportion(values) if name in _PROPORTIONS else average(values, seed=seed)
        if made is not None:
            found[name] = made
    return found
