"""Aggregates case scores: pure functions, standard library only.

Every mean comes with its n. A mean of nothing is ``None``. Means are rounded
half up to four digits and latencies to two, as upstream prints them.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, chain, compress
from typing import Any

from .records import (
    LOST_KINDS,
    NOISE_KINDS,
    OK,
    OTHER_USER,
    PASS_KINDS,
    PINNED,
    UNKNOWN,
    CaseScore,
)

Summary = dict[str, float | int | None]
"""Summary name to value; the names are those of ``measures.MEASURES``."""

MEANS = {
    "precision": "precision",
    "recall": "recall",
    "pinned_coverage": "pinned_coverage",
    "question_precision": "question_precision",
    "question_recall": "question_recall",
    "drift": "drift",
    "hit_at_1": "hit_at_1",
    "r_precision": "r_precision",
    "first_relevant_rank": "first_relevant_rank",
}
"""Measures that are summarised as ``mean_NAME`` with ``n_NAME``, and their field."""

_AVERAGED = (
    *((f"mean_{name}", f"n_{name}", field) for name, field in MEANS.items()),
    ("abstention_rate", "n_abstention", "abstained"),
    ("mutability_rate", "n_mutability", "mutated"),
)
_SUMMED = ("returned", "duplicates", "over_limit")
_COVERED = ("limit_covers_eligible", "n_limit_covers_eligible")
_LOOSE = 4096
_PASSED = {f"passed_{kind}": kind for kind in PASS_KINDS}
_NOISE = {f"noise_{kind}": kind for kind in NOISE_KINDS}
_LOST = {f"lost_{kind}": kind for kind in LOST_KINDS}
_COUNTS = dict.fromkeys(
    ("cases", "passed", "active_cases", "errors", *_PASSED, *_LOST, *_SUMMED, *_COVERED), 0
)
_FIELDS = tuple(field for _, _, field in _AVERAGED)


def round_half_up(value: float, digits: int = 4) -> float:
    """Round as upstream's JavaScript does: halves go up, also for negative values.

    >>> round_half_up(0.00005), round_half_up(0.12345), round_half_up(2.5, 0)
    (0.0001, 0.1235, 3.0)
    """
    scale = 10.0**digits
    return math.floor(value * scale + 0.5) / scale


def mean_or_none(values: Sequence[float], digits: int = 4) -> float | None:
    """The mean of ``values``, rounded half up; ``None`` if there are none.

    >>> mean_or_none([1, 0, 0]), mean_or_none([])
    (0.3333, None)
    """
    return round_half_up(math.fsum(values) / len(values), digits) if values else None


def percentile(values: Iterable[float], share: float) -> float | None:
    """The nearest-rank percentile: the smallest value with ``share`` of all at or below it.

    >>> percentile([15, 20, 35, 40, 50], 0.4), percentile([], 0.5)
    (20, None)
    """
    ordered = sorted(values)
    if not ordered:
        return None
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]


def summarize(scores: Iterable[CaseScore]) -> Summary:
    """Aggregate the scores of any set of cases or turns into a flat mapping."""
    tally = Tally()
    tally.add(scores)
    return tally.summary()


class Tally:
    """A summary in the making: the parts of a set of scores can be added up apart.

    The summary of parts that were merged equals the summary of the whole, to the last digit:
    counts are whole numbers, and sums and percentiles are taken over the values themselves.
    Memory grows with the number of different values, not with that of scores.
    """

    def __init__(self) -> None:
        """Start with no scores."""
        self._counts = _COUNTS.copy()
        self._noise: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._values = {field: _Values() for field in _FIELDS}
        self._latencies = _Values()

    def add(self, scores: Iterable[CaseScore]) -> None:
        """Take in more scores."""
        rows = list(scores)
        if not rows:
            return
        columns = zip(*rows, strict=True)
        of: dict[str, tuple[Any, ...]] = dict(zip(CaseScore._fields, columns, strict=True))
        counts = self._counts
        counts["cases"] += len(rows)
        counts["passed"] += sum(of["passed"])
        counts["active_cases"] += sum(of["is_active"])
        counts["errors"] += len(rows) - of["status"].count(OK)
        kinds = list(compress(of["pass_kind"], of["passed"]))
        for name, kind in _PASSED.items():
            counts[name] += kinds.count(kind)
        for field, values in self._values.items():
            column = of[field]
            if n := len(column) - column.count(None):
                values.add(filter(None, column), n)
        self._noise.update(chain.from_iterable(of["noise"]))
        if any(of["dropped"]):
            self._dropped.update(chain.from_iterable(of["dropped"]))
        lost = list(chain.from_iterable(of["lost"]))
        if lost:
            for name, why in _LOST.items():
                counts[name] += lost.count(why)
        for name in _SUMMED:
            counts[name] += sum(of[name])
        covered = of["limit_covers_eligible"]
        if n := len(covered) - covered.count(None):
            counts["limit_covers_eligible"] += covered.count(True)
            counts["n_limit_covers_eligible"] += n
        latencies = [value for value in of["latency_ms"] if value is not None]
        self._latencies.add(latencies, len(latencies))

    def merge(self, other: Tally) -> None:
        """Take in what another tally holds."""
        for name, count in other._counts.items():
            self._counts[name] += count
        self._noise.update(other._noise)
        self._dropped.update(other._dropped)
        for field, values in self._values.items():
            values.merge(other._values[field])
        self._latencies.merge(other._latencies)

    def summary(self) -> Summary:
        """The summary of all scores so far."""
        counts, noise, dropped = self._counts, self._noise, self._dropped
        cases, passed = counts["cases"], counts["passed"]
        out: Summary = {
            "cases": cases,
            "passed": passed,
            "pass_rate": round_half_up(passed / cases) if cases else None,
            "active_cases": counts["active_cases"],
            "errors": counts["errors"],
        }
        out |= {name: counts[name] for name in _PASSED}
        for mean, n, field in _AVERAGED:
            values = self._values[field]
            out[mean], out[n] = values.mean(), values.n
        out |= {name: noise.get(kind, 0) for name, kind in _NOISE.items()}
        out |= {name: counts[name] for name in _LOST}
        out["leaks"] = noise[OTHER_USER] + dropped[OTHER_USER]
        out["unknown_ids"] = noise[UNKNOWN] + dropped[UNKNOWN]
        out["pinned_dropped"] = dropped[PINNED]
        out |= {name: counts[name] for name in (*_SUMMED, *_COVERED)}
        latencies = self._latencies
        return out | {
            "mean_latency_ms": latencies.mean(2),
            "p50_latency_ms": latencies.percentile(0.5),
            "p95_latency_ms": latencies.percentile(0.95),
            "n_latency": latencies.n,
        }


class _Values:
    """The values of one measure, kept as they come and, once there are many, counted by value.

    Zeros may be left out of what is added, as they add nothing to a sum; ``n`` counts them.
    """

    __slots__ = ("counted", "loose", "n")

    def __init__(self) -> None:
        self.n = 0
        self.loose: list[float] = []
        self.counted: Counter[float] | None = None

    def add(self, values: Iterable[float], n: int) -> None:
        self.n += n
        self.loose.extend(values)
        if len(self.loose) > _LOOSE:
            self._count()

    def merge(self, other: _Values) -> None:
        if other.counted is not None:
            self._count().update(other.counted)
        self.add(other.loose, other.n)

    def mean(self, digits: int = 4) -> float | None:
        """The correctly rounded sum over n: by `math.fsum`, or by fractions of what is counted."""
        if not self.n:
            return None
        if self.counted is None:
            return round_half_up(math.fsum(self.loose) / self.n, digits)
        total = sum(Fraction(value) * times for value, times in self._count().items())
        return round_half_up(float(total) / self.n, digits)

    def percentile(self, share: float) -> float | None:
        if self.counted is None:
            return percentile(self.loose, share)
        counted = self._count()
        rank = max(1, math.ceil(share * counted.total()))
        ordered = sorted(counted)
        ranks = list(accumulate(map(counted.__getitem__, ordered)))
        return ordered[bisect_left(ranks, rank)]

    def _count(self) -> Counter[float]:
        """Count what is still loose."""
        self.counted = Counter() if self.counted is None else self.counted
        self.counted.update(self.loose)
        self.loose.clear()
        return self.counted


def summarize_by_category(scores: Iterable[CaseScore]) -> dict[str, Summary]:
    """Summaries by category, in the order in which the categories first appear."""
    groups: dict[str, list[CaseScore]] = {}
    for score in scores:
        groups.setdefault(score.category, []).append(score)
    return {category: summarize(group) for category, group in groups.items()}


def latency_ratio(session: Summary, single_turn: Summary) -> float | None:
    """Session p50 over single-turn p50; ``None`` if either is missing or zero."""
    slow, base = session["p50_latency_ms"], single_turn["p50_latency_ms"]
    return round_half_up(slow / base, 2) if slow is not None and base else None
