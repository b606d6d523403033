"""A gate: limits that a report must meet, and how much worse a new one may be.

``precision=0.8`` is a limit, read in the direction in which the measure is
better; ``passes=0`` as an allowance says how much worse than a baseline it may
get. What is not met is a :class:`Violation` that names the cases behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from .diagnose import diagnose
from .errors import GateFailed, InputError
from .limits import (
    BOTH_PARTS,
    LOST,
    RETRIEVAL,
    SESSION,
    UNITS,
    WORDS,
    Allowance,
    Limit,
    number,
    parse_allowance,
    parse_limit,
)
from .measures import Measure
from .records import OK, OTHER_USER, PINNED, UNKNOWN, CaseScore
from .report import Evaluation, Judged
from .summary import round_half_up
from .tables.text import listed

__all__ = [
    "Allowance",
    "CaseValue",
    "Limit",
    "Violation",
    "case_name",
    "case_value",
    "check",
    "demand",
    "key_name",
    "parse_allowance",
    "parse_limit",
    "regressions",
]

_SHOWN_CASES, _SHOWN_IDS = 20, 8


class CaseValue(NamedTuple):
    """A case or turn behind a violation, its value if it has one, and why it failed."""

    name: str
    value: float | None
    failures: tuple[str, ...] = ()


class Violation(NamedTuple):
    """A limit or an allowance that is not met.

    Attributes:
        limit: What was asked for, as it would be written.
        measure: The measure.
        part: ``retrieval`` or ``session``.
        value: The measured value; ``None`` if there is none.
        n: Over how many cases, or ``None`` if that is not known.
        reason: One sentence: the measure, its value, n and what was asked for.
        cases: The cases that brought it about, the worst first.
    """

    limit: str
    measure: Measure
    part: str
    value: float | None
    n: int | None
    reason: str
    cases: tuple[CaseValue, ...]

    def __str__(self) -> str:
        """The reason, then a line a case; of more than twenty only the first."""
        lines = [self.reason]
        for case in self.cases[:_SHOWN_CASES]:
            why = f": {case.failures[0]}" if case.failures else ""
            value = "" if case.value is None else f" ({number(round_half_up(case.value))})"
            lines.append(f"  {case.name}{value}{why}")
        if len(self.cases) > _SHOWN_CASES:
            lines.append(f"  and {len(self.cases) - _SHOWN_CASES} more")
        return "\n".join(lines)


def check(limits: Iterable[Limit | str], evaluation: Evaluation) -> list[Violation]:
    """The limits that ``evaluation`` does not meet, in their order.

    A value that is null fails every limit, and so does a part of which cases
    are missing: what was not measured was not met.
    """
    found = []
    parts = _Parts(evaluation)
    for given in limits:
        limit = parse_limit(given) if isinstance(given, str) else given
        violation = _check(limit, parts)
        if violation is not None:
            found.append(violation)
    return found


def _check(limit: Limit, parts: _Parts) -> Violation | None:
    measure, part = limit.measure, limit.part
    value, n = parts.value(measure, part), parts.n(measure, part)
    wanted = f"{WORDS[limit.op]} {number(limit.bound)}{UNITS[measure.unit]}"
    missing = parts.missing(part)
    if value is None:
        reason = f"{_name(measure, part)} is null: {parts.why_null(measure, part)}"
        reason += f"; it must be {wanted}"
        return Violation(str(limit), measure, part, None, n, reason, ())
    if missing:
        reason = (
            f"{_name(measure, part)} can't be told: the report lacks {len(missing)} of its cases"
        )
        return Violation(str(limit), measure, part, value, n, reason, missing)
    if limit.holds(value):
        return None
    over = "" if n is None else f" (n={n})"
    reason = (
        f"{_name(measure, part)} is {number(value)}{UNITS[measure.unit]}{over}; it must be {wanted}"
    )
    return Violation(str(limit), measure, part, value, n, reason, _culprits(limit, parts))


def _culprits(limit: Limit, parts: _Parts) -> tuple[CaseValue, ...]:
    """The cases that are on the wrong side by themselves, the worst first."""
    measure = limit.measure
    found: list[tuple[float, CaseValue]] = []
    for judged in parts.judged(limit.part):
        value = case_value(measure, judged.score)
        if value is None or _is_good(measure, limit, value):
            continue
        # "1 error" or "0 passes" of one case says nothing; what it failed by says nothing of time.
        shown = None if measure.unit == "count" and value in (0, 1) else value
        why = () if measure.unit == "ms" else _evidence(measure, judged) or _why(judged)
        sign = 1.0 if measure.better == "higher" else -1.0
        found.append((sign * value, CaseValue(case_name(judged), shown, why)))
    return tuple(case for _, case in sorted(found, key=lambda pair: pair[0]))


def _evidence(measure: Measure, judged: Judged) -> tuple[str, ...]:
    """The beliefs that a measure of wrong ones counts; empty if it is of something else."""
    record, name = judged.record, measure.name
    if record.status != OK:
        return ()
    returned = record.relevant if record.results is None else [r.id for r in record.results]
    if name == "duplicates":
        counts = Counter(returned)
        return _named("returned twice or more", [b for b in counts if counts[b] > 1])
    if name == "over_limit":
        return _named("over the limit", returned[record.limit :] if record.limit else [])
    found = diagnose(judged)
    if name == "mean_drift":
        drifts = [wrong.belief_id for wrong in found.wrong if wrong.drifts]
        # Under the rules where drift is one minus precision, every wrong belief is one.
        return _named("drift", drifts or [wrong.belief_id for wrong in found.wrong])
    if name in ("leaks", "unknown_ids"):
        kind = OTHER_USER if name == "leaks" else UNKNOWN
        kinds = judged.expected.kinds
        return _named(measure.label, [b for b in (*record.relevant, *returned) if kinds[b] == kind])
    if name.startswith("noise_"):
        kind = name.removeprefix("noise_")
        return _named(measure.kind, [w.belief_id for w in found.wrong if w.kind == kind])
    if name.startswith("lost_"):
        why = name.removeprefix("lost_")
        return _named(measure.kind, [item.belief_id for item in found.lost if item.why == why])
    if name == "pinned_dropped":
        kept = [w.belief_id for w in found.kept_out or () if w.kind == PINNED]
        return _named("pinned already", kept)
    return ()


def _named(what: str, beliefs: Iterable[str]) -> tuple[str, ...]:
    ids = list(dict.fromkeys(beliefs))
    return (f"{what}: {listed(ids, _SHOWN_IDS)}",) if ids else ()


def _is_good(measure: Measure, limit: Limit, value: float) -> bool:
    if measure.name == "pass_rate" or measure.unit == "count":
        return value > 0 if measure.better == "higher" else value == 0
    return limit.holds(value)


def regressions(
    base: Evaluation, new: Evaluation, limits: Iterable[Allowance | str]
) -> list[Violation]:
    """The allowances that ``new`` exceeds against ``base``, in their order.

    A violation names the cases of its part that passed in ``base`` and do not
    pass in ``new``. A value that is null on either side is a violation.

    Raises:
        InputError: If the two were scored under different rules.
    """
    if base.rules.name != new.rules.name:
        raise InputError(
            f"the baseline is scored under {base.rules.name!r} and the new report under "
            f"{new.rules.name!r}; score both alike (--rules, or `pmb rescore`)"
        )
    found = []
    old_parts, new_parts = _Parts(base), _Parts(new)
    for given in limits:
        allowance = parse_allowance(given) if isinstance(given, str) else given
        violation = _regression(allowance, old_parts, new_parts)
        if violation is not None:
            found.append(violation)
    return found


def _regression(allowance: Allowance, base: _Parts, new: _Parts) -> Violation | None:
    measure, part = allowance.measure, allowance.part
    before, after = base.value(measure, part), new.value(measure, part)
    cases: tuple[CaseValue, ...] = ()
    if before is None or after is None:
        side, parts = ("baseline", base) if before is None else ("new report", new)
        reason = f"can't be compared: it is null in the {side}: {parts.why_null(measure, part)}"
    elif cases := _absent(base, new, part):
        reason = "can't be compared: the new report lacks cases"
    elif cases := _absent(new, base, part):
        reason = "can't be compared: the baseline lacks cases"
    else:
        cases = _lost(base, new, part)
        after = float(len(cases)) if measure is LOST else after
        reason = _worse(allowance, before, after)
    if not reason:
        return None
    n = new.n(measure, part)
    over = "" if n is None else f" (n={n})"
    reason = f"{_name(measure, part)}{over} {reason}"
    return Violation(str(allowance), measure, part, after, n, reason, cases)


def _worse(allowance: Allowance, before: float, after: float) -> str:
    """What is to be said of the change, or nothing if it is allowed."""
    measure, amount = allowance.measure, allowance.amount
    worse = before - after if measure.better == "higher" else after - before
    # Rounded, because 0.8 - 0.7 is a little more than 0.1.
    if round(worse, 10) <= amount:
        return ""
    unit = UNITS[measure.unit]
    if measure is LOST:
        return f"come to {number(after)}; at most {number(amount)} are allowed"
    change = f"went from {number(before)} to {number(after)}{unit}"
    if not amount:
        return f"{change}; it must not get worse"
    return f"{change}; at most {number(amount)}{unit} worse is allowed"


def _lost(base: _Parts, new: _Parts, part: str) -> tuple[CaseValue, ...]:
    passed = {j.record.key for j in base.judged(part) if j.score.passed}
    return tuple(
        CaseValue(case_name(judged), None, _why(judged))
        for judged in new.judged(part)
        if judged.record.key in passed and not judged.score.passed
    )


def _absent(these: _Parts, those: _Parts, part: str) -> tuple[CaseValue, ...]:
    """The cases that these have and those have not."""
    there = {j.record.key for j in those.judged(part)}
    return tuple(
        CaseValue(case_name(j), None) for j in these.judged(part) if j.record.key not in there
    )


def case_name(judged: Judged) -> str:
    """``CASE``, or ``CASE turn N``."""
    return key_name(*judged.record.key)


def key_name(case_id: str, turn_index: int | None) -> str:
    """``CASE``, or ``CASE turn N``."""
    return case_id if turn_index is None else f"{case_id} turn {turn_index}"


def _why(judged: Judged) -> tuple[str, ...]:
    record = judged.record
    # A turn's failures start with its number, which stands in its name already.
    own = "" if record.turn_index is None else f"turn {record.turn_index}: "
    failures = tuple(text.removeprefix(own) for text in judged.failures)
    if record.status == OK:
        return failures
    return (f"{record.status}: {record.error or 'no answer'}", *failures)


_FIELDS: Mapping[str, Callable[[CaseScore], float | None]] = {
    "passed": lambda s: float(s.passed),
    "pass_rate": lambda s: float(s.passed),
    "errors": lambda s: float(s.status != OK),
    "abstention_rate": lambda s: None if s.abstained is None else float(s.abstained),
    "mutability_rate": lambda s: None if s.mutated is None else float(s.mutated),
}


def case_value(measure: Measure, score: CaseScore) -> float | None:
    """What one case adds to ``measure``; ``None`` if it does not count for it."""
    name = measure.name
    if name in _FIELDS:
        return _FIELDS[name](score)
    if name.startswith("noise_"):
        return float(score.noise.count(name.removeprefix("noise_")))
    if name.startswith("lost_"):
        return float(score.lost.count(name.removeprefix("lost_")))
    if name.startswith("passed_"):
        return float(score.passed) if score.pass_kind == name.removeprefix("passed_") else None
    if name.endswith("latency_ms"):
        return score.latency_ms
    value = getattr(score, name.removeprefix("mean_"), None)
    return None if value is None else float(value)


class _Parts:
    """The summaries of an evaluation, each made once."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._summaries = {RETRIEVAL: evaluation.retrieval, SESSION: evaluation.session}

    def judged(self, part: str) -> Sequence[Judged]:
        return self._evaluation.cases if part == RETRIEVAL else self._evaluation.turns

    def value(self, measure: Measure, part: str) -> float | None:
        if measure.name == BOTH_PARTS:
            return self._evaluation.latency_ratio
        summary = self._summaries[part]
        if summary is None:
            return None
        return 0.0 if measure is LOST else summary[measure.name]

    def n(self, measure: Measure, part: str) -> int | None:
        summary = self._summaries[part]
        if summary is None or measure.name == BOTH_PARTS:
            return None
        value = summary[measure.n or "cases"]
        return None if value is None else int(value)

    def missing(self, part: str) -> tuple[CaseValue, ...]:
        turns = part == SESSION
        missing = self._evaluation.missing
        return tuple(CaseValue(key_name(*k), None) for k in missing if (k[1] is not None) == turns)

    def why_null(self, measure: Measure, part: str) -> str:
        if measure.name == BOTH_PARTS:
            return measure.null
        if self._summaries[part] is None:
            return f"the {part} part was not run"
        return f"n=0, because {measure.null}"


def _name(measure: Measure, part: str) -> str:
    if measure.name == BOTH_PARTS:
        return measure.label
    return f"{part} {measure.label}"


def demand(violations: Sequence[Violation], what: str = "the gate failed") -> None:
    """End in an error if there is a violation.

    Raises:
        GateFailed: With every violation and the cases behind it.
    """
    if violations:
        raise GateFailed("\n".join([what + ":", *map(str, violations)]))
