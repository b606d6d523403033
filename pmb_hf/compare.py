"""Whether one report really beats another: pairs by case, and tables of many reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .comparability import Entry, Mark, comparable, marks
from .diagnose import is_wrong
from .errors import InputError
from .expectations import RetrievalKey
from .measures import MEASURES
from .records import Expectation
from .report import Judged
from .stats import SEED, Estimate, Interval, bootstrap, estimates, mean, sign_test
from .summary import round_half_up

FIELDS = {
    "pass_rate": "passed",
    "mean_precision": "precision",
    "mean_recall": "recall",
    "mean_drift": "drift",
    "mean_hit_at_1": "hit_at_1",
    "mean_r_precision": "r_precision",
    "abstention_rate": "abstained",
}
"""Measures that are compared, and the field of a case's score that they are the mean of."""

TABLE = ("pass_rate", "mean_precision", "mean_recall", "mean_drift", "mean_hit_at_1")
"""Measures of a table of many reports."""

PARTS = ("retrieval", "session")


class Difference(NamedTuple):
    """One measure over the cases where both reports have it.

    Attributes:
        name: The measure's name in a summary.
        n: How many pairs.
        a, b: The means over the pairs.
        difference: ``b - a``.
        interval: Paired bootstrap interval of the difference.
        wins, losses, ties: Cases where ``b`` is better than, worse than or as good as ``a``.
        p: Two-sided sign test on wins and losses.
    """

    name: str
    n: int
    a: float
    b: float
    difference: float
    interval: Interval
    wins: int
    losses: int
    ties: int
    p: float

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping; figures rounded half up to four digits, p to six."""
        return {
            "measure": self.name,
            "n": self.n,
            "a": round_half_up(self.a),
            "b": round_half_up(self.b),
            "difference": round_half_up(self.difference),
            "low": round_half_up(self.interval.low),
            "high": round_half_up(self.interval.high),
            "wins": self.wins,
            "losses": self.losses,
            "ties": self.ties,
            "p": round_half_up(self.p, 6),
        }


class Moved(NamedTuple):
    """A belief that only one of two answers holds; ``mark`` as in :mod:`pmb_hf.explain`."""

    belief_id: str
    mark: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A case that passes in one report and fails in the other.

    Attributes:
        now_passes: Whether ``b`` is the one that passes.
        gained: Beliefs in the relevant tier of ``b`` alone, in its order.
        lost: Beliefs in the relevant tier of ``a`` alone, in its order.
        failures: Why the one that fails does.
    """

    key: RetrievalKey
    category: str
    now_passes: bool
    gained: tuple[Moved, ...]
    lost: tuple[Moved, ...]
    failures: tuple[str, ...]

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "caseId": self.key[0],
            "turnIndex": self.key[1],
            "category": self.category,
            "nowPasses": self.now_passes,
            "gained": [moved._asdict() for moved in self.gained],
            "lost": [moved._asdict() for moved in self.lost],
            "failures": list(self.failures),
        }


@dataclass(frozen=True, slots=True)
class PartComparison:
    """One part of two reports, case by case.

    ``differences`` hold the passes first; measures that apply to no pair are left out.
    """

    part: str
    differences: tuple[Difference, ...]
    changed: tuple[Changed, ...]

    @property
    def passes(self) -> Difference:
        """Wins, losses and ties on whether cases pass."""
        return self.differences[0]

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "part": self.part,
            "measures": [difference.to_wire() for difference in self.differences],
            "changed": [case.to_wire() for case in self.changed],
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two reports, case by case; ``marks`` are in what they differ beside their answers."""

    a: str
    b: str
    parts: tuple[PartComparison, ...]
    marks: tuple[Mark, ...]

    @property
    def comparable(self) -> bool:
        """Whether both are of the same corpus under the same rules."""
        return not any(mark.fatal for mark in self.marks)

    @property
    def changed(self) -> tuple[Changed, ...]:
        """The cases of all parts that changed sides."""
        return tuple(case for part in self.parts for case in part.changed)

    @property
    def regressed(self) -> tuple[Changed, ...]:
        """The cases that pass in ``a`` and fail in ``b``."""
        return tuple(case for case in self.changed if not case.now_passes)

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "a": self.a,
            "b": self.b,
            "comparable": self.comparable,
            "marks": _marks_wire(self.marks),
            "parts": [part.to_wire() for part in self.parts],
        }


class Standing(NamedTuple):
    """A row of a table: one part of one report.

    Attributes:
        figures: The measures of ``TABLE`` with n and interval, where they apply.
        against: The report that the table is about.
        marks: In what this report differs from that one.
    """

    name: str
    passed: int
    cases: int
    figures: Mapping[str, Estimate]
    against: str
    marks: tuple[Mark, ...]

    @property
    def comparable(self) -> bool:
        """Whether it is of the same corpus under the same rules as the others."""
        return not any(mark.fatal for mark in self.marks)

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "name": self.name,
            "passed": self.passed,
            "cases": self.cases,
            "comparable": self.comparable,
            "against": self.against,
            "marks": _marks_wire(self.marks),
            "measures": {name: figure.to_wire() for name, figure in self.figures.items()},
        }


def _marks_wire(found: Sequence[Mark]) -> list[dict[str, Any]]:
    return [{"what": m.what, "text": m.text, "fatal": m.fatal} for m in found]


def compare(
    first: Entry, *others: Entry, force: bool = False, seed: int = SEED
) -> list[Comparison]:
    """Compare each of ``others`` with ``first``, case by case.

    Args:
        first: The report that the others are measured against.
        others: One report or more.
        force: Compare, and mark, reports under other rules or of another corpus.
        seed: Seed of the bootstrap.

    Raises:
        InputError: If rules or corpus differ and ``force`` is not set, or if two
            reports have no case in common.
    """
    return [_compare(first, other, force, seed) for other in others]


def _compare(a: Entry, b: Entry, force: bool, seed: int) -> Comparison:
    found = marks(a, b)
    fatal = [mark.text for mark in found if mark.fatal]
    if fatal and not force:
        raise InputError(
            f"{a.name} and {b.name} can't be compared: {'; '.join(fatal)}. "
            "--force compares them all the same, and marks it"
        )
    mine, theirs = a.judged, b.judged
    pairs = [(judged, theirs[key]) for key, judged in mine.items() if key in theirs]
    if not pairs:
        raise InputError(f"{a.name} and {b.name} have no case in common: there is nothing to pair")
    halves = [[p for p in pairs if (p[0].record.turn_index is not None) == own] for own in (0, 1)]
    parts = tuple(_part(name, half, seed) for name, half in zip(PARTS, halves, strict=True) if half)
    return Comparison(a.name, b.name, parts, tuple(found))


def _part(name: str, pairs: Sequence[tuple[Judged, Judged]], seed: int) -> PartComparison:
    differences = (_difference(measure, pairs, seed) for measure in FIELDS)
    changed = (_changed(a, b) for a, b in pairs if a.score.passed != b.score.passed)
    return PartComparison(
        part=name,
        differences=tuple(d for d in differences if d is not None),
        changed=tuple(changed),
    )


def _difference(
    measure: str, pairs: Sequence[tuple[Judged, Judged]], seed: int
) -> Difference | None:
    field = FIELDS[measure]
    both = [(getattr(a.score, field), getattr(b.score, field)) for a, b in pairs]
    values = [(float(a), float(b)) for a, b in both if a is not None and b is not None]
    changes = [b - a for a, b in values]
    interval = bootstrap(changes, seed=seed)
    if interval is None:
        return None
    sign = -1 if MEASURES[measure].better == "lower" else 1
    wins = sum(sign * change > 0 for change in changes)
    losses = sum(sign * change < 0 for change in changes)
    return Difference(
        name=measure,
        n=len(values),
        a=mean([a for a, _ in values]),
        b=mean([b for _, b in values]),
        difference=mean(changes),
        interval=interval,
        wins=wins,
        losses=losses,
        ties=len(values) - wins - losses,
        p=sign_test(wins, losses),
    )


def _changed(a: Judged, b: Judged) -> Changed:
    before, after = dict.fromkeys(a.record.relevant), dict.fromkeys(b.record.relevant)
    return Changed(
        key=b.record.key,
        category=b.record.category,
        now_passes=b.score.passed,
        gained=tuple(Moved(x, _mark(b.expected, x)) for x in after if x not in before),
        lost=tuple(Moved(x, _mark(a.expected, x)) for x in before if x not in after),
        failures=a.failures if b.score.passed else b.failures,
    )


def _mark(expected: Expectation, belief: str) -> str:
    if belief in expected.gold:
        return "needed"
    return expected.kinds[belief] if is_wrong(expected, belief) else "not asked for"


def standings(
    entries: Sequence[Entry], part: str = "retrieval", *, seed: int = SEED
) -> list[Standing]:
    """One row a report that has ``part``, by passes; what can't be compared is marked and last.

    The table is about the rules and corpus that most of the reports have (of the
    first of them, on a tie). Reports that differ from it in those two are last.
    """
    rows = [entry for entry in entries if _judged(entry, part)]
    if not rows:
        return []
    usual = _usual(rows)
    found = [_standing(entry, usual, part, seed) for entry in rows]
    return sorted(found, key=lambda row: (not row.comparable, -row.passed))


def _judged(entry: Entry, part: str) -> tuple[Judged, ...]:
    return entry.evaluation.cases if part == PARTS[0] else entry.evaluation.turns


def _usual(entries: Sequence[Entry]) -> Entry:
    """The first of the entries that most others can be compared with."""
    return max(entries, key=lambda e: sum(comparable(e, other) for other in entries))


def _standing(entry: Entry, usual: Entry, part: str, seed: int) -> Standing:
    scores = [judged.score for judged in _judged(entry, part)]
    return Standing(
        name=entry.name,
        passed=sum(score.passed for score in scores),
        cases=len(scores),
        figures=estimates(scores, TABLE, seed=seed),
        against=usual.name,
        marks=tuple(marks(usual, entry)),
    )
