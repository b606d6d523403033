"""Aggregates case scores: pure functions, standard library only.

Every mean comes with its n. A mean of nothing is ``None``. Means are rounded
half up to four digits and latencies to two, as upstream prints them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, compress, repeat
from typing import Any

from .records import NOISE_KINDS, OK, OTHER_USER, PASS_KINDS, UNKNOWN, CaseScore

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
_PASSED = {f"passed_{kind}": kind for kind in PASS_KINDS}
_NOISE = {f"noise_{kind}": kind for kind in NOISE_KINDS}


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
    rows = list(scores)
    columns = zip(*rows, strict=True) if rows else repeat(())
    of: dict[str, tuple[Any, ...]] = dict(zip(CaseScore._fields, columns, strict=False))
    passed = sum(of["passed"])
    out: Summary = {
        "cases": len(rows),
        "passed": passed,
        "pass_rate": round_half_up(passed / len(rows)) if rows else None,
        "active_cases": sum(of["is_active"]),
        "errors": len(rows) - of["status"].count(OK),
    }
    kinds = list(compress(of["pass_kind"], of["passed"]))
    for name, kind in _PASSED.items():
        out[name] = kinds.count(kind)
    for mean, n, field in _AVERAGED:
        out[mean], out[n] = _mean(of[field])
    noise = Counter(chain.from_iterable(of["noise"]))
    for name, kind in _NOISE.items():
        out[name] = noise.get(kind, 0)
    if any(of["dropped"]):
        noise.update(chain.from_iterable(of["dropped"]))
    out["leaks"] = noise[OTHER_USER]
    out["unknown_ids"] = noise[UNKNOWN]
    for name in ("returned", "duplicates", "over_limit"):
        out[name] = sum(of[name])
    covered = of["limit_covers_eligible"]
    out["limit_covers_eligible"] = covered.count(True)
    out["n_limit_covers_eligible"] = len(covered) - covered.count(None)
    return out | _latencies([value for value in of["latency_ms"] if value is not None])


def _mean(column: Sequence[float | None]) -> tuple[float | None, int]:
    """The mean of what is not null, and its n. Zeros add nothing to a sum."""
    n = len(column) - column.count(None)
    if not n:
        return None, 0
    return round_half_up(math.fsum(filter(None, column)) / n), n


def _latencies(values: list[float]) -> Summary:
    return {
        "mean_latency_ms": mean_or_none(values, 2),
        "p50_latency_ms": percentile(values, 0.5),
        "p95_latency_ms": percentile(values, 0.95),
        "n_latency": len(values),
    }


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
