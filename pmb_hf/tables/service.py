"""What a service showed beside its answers: how ids were told, retries, repeats, load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..measured import Record
from ..report import Report
from ..summary import percentile
from .text import clean, count_of, listed

_SHOWN = 6


def service_sentences(report: Report) -> Iterable[tuple[str, bool]]:
    """Sentences with whether a reader must not miss them."""
    calls = report.provenance.get("calls")
    if isinstance(calls, Mapping):
        yield from _calls(calls)
    yield from _repeats([r for r in report.records if r.stable is not None])
    if report.load is not None:
        yield _load(report.load)


def _calls(calls: Mapping[str, Any]) -> Iterable[tuple[str, bool]]:
    retries = _whole(calls.get("retries"))
    if retries:
        yield f"{count_of(retries, 'call')} had to be made again.", True
    resolved = calls.get("resolved")
    if not isinstance(resolved, Mapping):
        return
    names = {"id": "by id", "metadata": "by metadata", "stored": "by the id that add gave"}
    counts = {key: _whole(resolved.get(key)) for key in (*names, "none")}
    told = [f"{counts[key]:,} {name}" for key, name in names.items() if counts[key]]
    if told:
        yield f"Results were told apart {', '.join(told)}.", False
    if counts["none"]:
        yield f"{count_of(counts['none'], 'result')} came without an id that is known.", True


def _whole(value: object) -> int:
    """A count as a provider told it; 0 for what is no count."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _repeats(records: Sequence[Record]) -> Iterable[tuple[str, bool]]:
    if not records:
        return
    times = max(len(record.repeats_ms) for record in records) + 1
    unstable = [clean(record.case_id, 60) for record in records if not record.stable]
    spreads = [
        max(all_ms) - min(all_ms)
        for record in records
        if record.latency_ms is not None
        for all_ms in [(record.latency_ms, *record.repeats_ms)]
    ]
    spread = percentile(spreads, 0.5)
    shown = "" if spread is None else f" Times of one query spread by {spread:.2f} ms (median)."
    cases = count_of(len(records), "case")
    if unstable:
        changed = f"the list changed in {len(unstable)} of {cases}: {listed(unstable, _SHOWN)}"
        yield f"Asked {times} times, {changed}.{shown}", True
    else:
        yield f"Asked {times} times, the list was the same in all {cases}.{shown}", False


def _load(load: Mapping[str, Any]) -> tuple[str, bool]:
    errors = load.get("errors") or 0
    rate, p95 = load.get("perSecond"), load.get("p95Ms")
    figures = "nothing answered"
    if rate is not None and p95 is not None:
        figures = f"{rate:,.0f} searches a second, p95 {p95:.2f} ms"
    failed = f", {count_of(errors, 'error')}" if errors else ""
    return f"{load.get('concurrency')} at a time: {figures}{failed}.", bool(errors)
