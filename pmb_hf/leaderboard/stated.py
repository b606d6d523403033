"""The figures that a report states of itself, for want of its corpus: checked one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ReportError
from ..measures import COUNT_OF, MEASURES
from ..report import Report
from ..summary import Summary
from .ranges import count_fault, fault, shown

_UPSTREAM_NAMES = {
    "meanPrecision": "mean_precision",
    "meanRecall": "mean_recall",
    "meanLatencyMs": "mean_latency_ms",
    "p50LatencyMs": "p50_latency_ms",
    "p95LatencyMs": "p95_latency_ms",
    "totalPassed": "passed",
    "totalCases": "cases",
    "passRate": "pass_rate",
    "activeRetrievalPasses": "passed_active",
}
_KINDS = {
    "activeRetrieval": "passed_active",
    "structural": "passed_structural",
    "triviallyEmpty": "passed_trivially_empty",
}
_SIZES = ("beliefs", "cases", "turns")


def names_in_order() -> list[str]:
    """All measures with their n, in the order of their declaration."""
    names: dict[str, None] = {}
    for name in MEASURES:
        names[name] = None
        if (n := COUNT_OF.get(name)) is not None:
            names[n] = None
    return list(names)


def check_sizes(report: Report) -> None:
    """Refuse a report whose corpus can't be as large as it tells.

    Raises:
        ReportError: Names the field.
    """
    told = report.provenance.get("corpus")
    sizes = told if isinstance(told, Mapping) else {}
    for name in _SIZES:
        if (wrong := count_fault(sizes.get(name))) is not None:
            raise ReportError(f"provenance.corpus.{name} {wrong}")


def stated_numbers(part: str, given: Any) -> Summary | None:
    """The known figures of a part, by our names; ``None`` if there are none.

    Raises:
        ReportError: If one can't be what it states; names the field.
    """
    if given is None:
        return None
    figures = _object(given, part)
    found = _known(figures, _UPSTREAM_NAMES, part)
    found |= _known(_object(figures.get("passTypes"), f"{part}.passTypes"), _KINDS, part)
    own = {name: name for name in names_in_order()}
    found |= _known(_object(figures.get("measures"), f"{part}.measures"), own, f"{part}.measures")
    return found or None


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ReportError(f"{where} must be an object, not {shown(value)}")
    return value


def _known(given: Mapping[str, Any], names: Mapping[str, str], where: str) -> Summary:
    found: Summary = {}
    for theirs, ours in names.items():
        if theirs not in given:
            continue
        if (wrong := fault(ours, given[theirs])) is not None:
            raise ReportError(f"the figure that it states as {where}.{theirs} {wrong}")
        found[ours] = given[theirs]
    return found
