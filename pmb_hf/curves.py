"""Precision and recall at every cut, the best cut, and what it is worth on other cases.

Everything is computed from what a report holds; nothing is run again. A cut is
either a number of results (k) or a score threshold. See ``design/diagnosis.md``.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

from .cuts import CAUSES, HIGHER, Answer, Outcome, Steps, answers, direction, no_scores
from .report import Evaluation, Report
from .schema import Corpus
from .summary import round_half_up

K, SCORE = "k", "score"
FOLDS = 5
SEED = 0

RATES = {
    "precision": "mean_precision",
    "recall": "mean_recall",
    "f1": "mean_f1",
    "drift": "mean_drift",
    "abstained": "abstention_rate",
    "hit_at_1": "mean_hit_at_1",
    "r_precision": "mean_r_precision",
}
"""Fields of a case's outcome that are averaged, and the names of their means."""


class Point(NamedTuple):
    """What a set of cases is worth at one cut.

    Attributes:
        cut: k, or the score that a result must reach.
        means: Means by the names of ``RATES``, ``None`` where they apply to no
            case, with their n in ``counts``.
        returned: Beliefs in the relevant tier, summed over the cases.
    """

    cut: float
    cases: int
    passed: int
    means: Mapping[str, float | None]
    counts: Mapping[str, int]
    returned: int

    @property
    def merit(self) -> tuple[int, float]:
        """What cuts are chosen by: passes first, then mean F1."""
        return self.passed, self.means["mean_f1"] or 0.0

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping; means rounded half up to four digits."""
        wire: dict[str, Any] = {
            "cut": self.cut,
            "cases": self.cases,
            "passed": self.passed,
            "returned": self.returned,
        }
        for name, value in self.means.items():
            wire[name] = None if value is None else round_half_up(value)
            wire[_n(name)] = self.counts[name]
        return wire


def _n(name: str) -> str:
    return "n_" + name.removeprefix("mean_").removesuffix("_rate")


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """What a cut is worth on cases that it was not chosen on.

    Attributes:
        point: Every case judged at the cut that the other folds chose; its ``cut``
            is their median.
        chosen: The cut of each fold.
    """

    point: Point
    chosen: tuple[float, ...]

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {"folds": len(self.chosen), "chosen": list(self.chosen), **self.point.to_wire()}


@dataclass(frozen=True, slots=True)
class Curve:
    """A part of a report at every cut along one axis.

    Attributes:
        axis: ``k`` or ``score``.
        points: From the tightest cut to the loosest, which is the report as it is.
        best: The cut with most passes, then highest mean F1, then the loosest.
        cross_validated: The same without choosing on the cases that it is judged
            by; ``None`` if there are too few to divide.
        better: On a score axis, whether higher or lower scores are better.
        disorder: Cases whose scores do not fall (or rise) with rank.
    """

    axis: str
    points: tuple[Point, ...]
    best: Point
    cross_validated: CrossValidation | None
    better: str | None = None
    disorder: int = 0

    @property
    def uncut(self) -> Point:
        """The report as it is."""
        return self.points[-1]

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "axis": self.axis,
            "better": self.better,
            "casesOutOfOrder": self.disorder if self.axis == SCORE else None,
            "points": [point.to_wire() for point in self.points],
            "best": self.best.to_wire(),
            "crossValidated": self.cross_validated and self.cross_validated.to_wire(),
        }


@dataclass(frozen=True, slots=True)
class PartCurves:
    """The curves of one part of a report.

    Attributes:
        part: ``retrieval`` or ``session``.
        by_k: Cut by number of results; ``None`` if no case has any.
        by_score: Cut by score; ``None`` if it can't be, and then ``no_scores`` says why.
        of_results: Whether raw results were cut; if not, the relevant tier was.
        causes: Failed cases by why they fail, in the order of ``cuts.CAUSES``.
    """

    part: str
    by_k: Curve | None
    by_score: Curve | None
    no_scores: str | None
    of_results: bool
    causes: Mapping[str, int] = field(default_factory=dict)

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "part": self.part,
            "cutOf": "results" if self.of_results else "relevant tier",
            "byK": self.by_k and self.by_k.to_wire(),
            "byScore": self.by_score and self.by_score.to_wire(),
            "noScores": self.no_scores,
            "failedBy": dict(self.causes),
        }


def curves(
    report: Report,
    evaluation: Evaluation,
    corpus: Corpus,
    *,
    folds: int = FOLDS,
    seed: int = SEED,
) -> list[PartCurves]:
    """The curves of each part of a report.

    Args:
        report: What was run.
        evaluation: The same, judged; its rules are those of the curves.
        corpus: The corpus of the run.
        folds: How many parts cross-validation divides the cases into; turns of
            one session stay together.
        seed: Seed of that division.

    Raises:
        ValueError: If ``folds`` is below 2.
    """
    if folds < 2:
        raise ValueError(f"folds must be 2 or more, not {folds}")
    found = list(answers(report, evaluation, corpus))
    parts = {
        "retrieval": [a for a in found if a.key[1] is None],
        "session": [a for a in found if a.key[1] is not None],
    }
    return [_part(part, rows, folds, seed) for part, rows in parts.items() if rows]


def _part(part: str, found: Sequence[Answer], folds: int, seed: int) -> PartCurves:
    by_length = [answer.by_length() for answer in found]
    causes = Counter(
        cause
        for answer, steps in zip(found, by_length, strict=True)
        if (cause := answer.cause(steps)) is not None
    )
    by_k = by_score = None
    longest = max(len(answer.results) for answer in found)
    if longest:
        by_k = _curve(K, by_length, range(1, longest + 1), folds, seed)
    reason = no_scores(found)
    if reason is None:
        better = direction(found)
        steps = [answer.by_score(better) for answer in found]
        by_score = _curve(SCORE, steps, (), folds, seed, better, _disorder(found, better))
    return PartCurves(
        part=part,
        by_k=by_k,
        by_score=by_score,
        no_scores=reason,
        of_results=all(answer.assembled for answer in found),
        causes={cause: causes[cause] for cause in CAUSES},
    )


def _disorder(found: Sequence[Answer], better: str) -> int:
    count = 0
    for answer in found:
        scores = [result.score or 0.0 for result in answer.results]
        count += scores != sorted(scores, reverse=better == HIGHER)
    return count


def _curve(
    axis: str,
    steps: Sequence[Steps],
    at: Iterable[float],
    folds: int,
    seed: int,
    better: str | None = None,
    disorder: int = 0,
) -> Curve:
    sign = -1.0 if better == HIGHER else 1.0
    points = tuple(sweep(steps, at, sign=sign))
    return Curve(
        axis=axis,
        points=points,
        best=best_of(points),
        cross_validated=cross_validate(steps, folds=folds, seed=seed, sign=sign),
        better=better,
        disorder=disorder,
    )


class _Sums:
    """Running sums over cases. Fractions: exact, so that the last point is the report's own."""

    def __init__(self, outcomes: Iterable[Outcome] = ()) -> None:
        self.cases = self.passed = self.returned = 0
        self.sums = dict.fromkeys(RATES, Fraction())
        self.counts = dict.fromkeys(RATES, 0)
        for outcome in outcomes:
            self.cases += 1
            self.add(outcome)

    def add(self, outcome: Outcome, times: int = 1) -> None:
        """Count ``outcome`` once, or take it out with ``times=-1``."""
        self.passed += times * outcome.passed
        self.returned += times * outcome.returned
        for name in RATES:
            value = getattr(outcome, name)
            if value is not None:
                self.counts[name] += times
                if value:
                    self.sums[name] += times * Fraction(value)

    def point(self, cut: float) -> Point:
        counts = {mean: self.counts[name] for name, mean in RATES.items()}
        means = {
            mean: float(self.sums[name]) / self.counts[name] if self.counts[name] else None
            for name, mean in RATES.items()
        }
        return Point(cut, self.cases, self.passed, means, counts, self.returned)


def sweep(
    steps: Sequence[Steps], at: Iterable[float] = (), *, sign: float = 1.0
) -> Iterator[Point]:
    """A point for each looseness at which a case changes, and each of ``at``, ascending.

    ``sign`` turns a looseness into the cut that is shown.
    """
    sums = _Sums(case.start for case in steps)
    now = [case.start for case in steps]
    events = heapq.merge(
        ((place, -1, 0) for place in sorted(at)),
        *(_events(case, number) for number, case in enumerate(steps)),
    )
    last: float | None = None
    for place, number, step in events:
        if last is not None and place != last:
            yield sums.point(sign * last)
        last = place
        if number >= 0:
            outcome = steps[number].outcomes[step]
            if outcome != now[number]:
                sums.add(now[number], -1)
                sums.add(outcome)
                now[number] = outcome
    if last is not None:
        yield sums.point(sign * last)


def _events(case: Steps, number: int) -> Iterator[tuple[float, int, int]]:
    for step, place in enumerate(case.at):
        yield place, number, step


def best_of(points: Sequence[Point]) -> Point:
    """The point with most passes, then highest mean F1, then the loosest.

    Raises:
        ValueError: If there are none.
    """
    return max(reversed(points), key=lambda point: point.merit)


def cross_validate(
    steps: Sequence[Steps], *, folds: int = FOLDS, seed: int = SEED, sign: float = 1.0
) -> CrossValidation | None:
    """Judge each case at the cut that is best on the other folds.

    Cases are divided at random, but the same way for the same ``seed``; turns of
    a session are not torn apart. ``None`` if there are fewer than two to divide,
    or if the others hold nothing to cut.
    """
    groups = list(dict.fromkeys(case.key[0] for case in steps))
    if len(groups) < 2:
        return None
    Random(seed).shuffle(groups)
    folds = min(folds, len(groups))
    fold_of = {name: place % folds for place, name in enumerate(groups)}
    outcomes: list[Outcome] = []
    chosen: list[float] = []
    for fold in range(folds):
        points = list(sweep([case for case in steps if fold_of[case.key[0]] != fold]))
        if not points:
            return None
        cut = best_of(points).cut
        chosen.append(cut)
        outcomes += [case.outcome(cut) for case in steps if fold_of[case.key[0]] == fold]
    middle = sorted(chosen)[len(chosen) // 2]
    return CrossValidation(_Sums(outcomes).point(sign * middle), tuple(sign * c for c in chosen))
