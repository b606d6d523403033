"""Precision and recall at every cut as tables, and what they come to as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ..curves import SCORE, Curve, PartCurves, Point
from ..cuts import HIGHER
from .cells import count, rate
from .layout import BOLD, DIM, GOOD, add_number, add_text, table, value
from .remarks import Remark
from .text import count_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

PART_TITLES = {"retrieval": "Single turn", "session": "Sessions"}
_COLUMNS = {
    "mean_precision": "precision",
    "mean_recall": "recall",
    "mean_f1": "F1",
    "abstention_rate": "abstention",
    "mean_drift": "drift",
}
_ROWS = 25
"""Rows of a table of score thresholds; ``--json`` has all."""

_CAUSES = {
    "length": "would pass if less were kept",
    "ranking": "with all that is needed, but something wrong before or between it",
    "incomplete": "without a needed belief",
    "no_answer": "without an answer",
    "elsewhere": "because of another tier, whatever is returned",
}


def part_tables(part: PartCurves) -> list[RenderableType]:
    """The tables of one part: by k and, where scores are known, by score."""
    title = PART_TITLES[part.part]
    curves = [curve for curve in (part.by_k, part.by_score) if curve is not None]
    return [_table(f"{title}\n{_axis(curve)}", curve) for curve in curves]


def _axis(curve: Curve) -> str:
    if curve.axis != SCORE:
        return "k"
    return "score ≥" if curve.better == HIGHER else "score ≤"


def cut_text(axis: str, cut: float) -> str:
    """A cut as it is shown: k whole, a score with four significant digits."""
    return f"{cut:.4g}" if axis == SCORE else count(cut)


def _table(title: str, curve: Curve) -> Table:
    made = table(title)
    made.columns[0].justify = "right"
    made.columns[0].overflow = "fold"
    shown = [name for name in _COLUMNS if curve.uncut.counts[name]]
    add_number(made, f"passed\nn {count(curve.uncut.cases)}")
    same = {name: len({point.counts[name] for point in curve.points}) == 1 for name in shown}
    for name in shown:
        n = f"\nn {count(curve.uncut.counts[name])}" if same[name] else ""
        add_number(made, _COLUMNS[name] + n)
    add_text(made, "", keep=True)
    for point in _chosen(curve):
        best = point == curve.best
        style = BOLD if best else ""
        made.add_row(
            Text(cut_text(curve.axis, point.cut), style=style),
            Text(count(point.passed), style=style),
            *(_mean(point, name, style, told=same[name]) for name in shown),
            Text("best", style=GOOD) if best else Text("uncut" * (point == curve.uncut), style=DIM),
        )
    return made


def _mean(point: Point, name: str, style: str, *, told: bool) -> Text:
    cell = value(rate(point.means[name]), style)
    return cell if told else cell.append(f" n {count(point.counts[name])}", style=DIM)


def _chosen(curve: Curve) -> list[Point]:
    """All points, or as many as a table can hold, evenly; best and last are among them."""
    last = len(curve.points) - 1
    if last < _ROWS:
        return list(curve.points)
    places = {round(n * last / (_ROWS - 1)) for n in range(_ROWS)}
    places.add(curve.points.index(curve.best))
    return [curve.points[place] for place in sorted(places)]


def part_remarks(part: PartCurves) -> list[Remark]:
    """Length or ranking, the best cuts and what they would give, in sentences."""
    return [Remark(f"{PART_TITLES[part.part]}: {text}") for text in _sentences(part)]


def _sentences(part: PartCurves) -> Iterator[str]:
    failed = sum(part.causes.values())
    if failed:
        causes = "; ".join(f"{n} {_CAUSES[cause]}" for cause, n in part.causes.items() if n)
        yield f"of {count_of(failed, 'failed case')}: {causes}."
    else:
        yield "no case fails."
    if part.by_k is None:
        yield "nothing was returned, so there is nothing to cut."
        return
    whole = part.by_k.uncut
    if n := whole.counts["mean_r_precision"]:
        hit, share = whole.means["mean_hit_at_1"], whole.means["mean_r_precision"]
        yield (
            f"hit@1 is {rate(hit)} and R-precision {rate(share)} (n {n}); they ask for ranking "
            "alone, whatever the length."
        )
    for curve in (part.by_k, part.by_score):
        if curve is not None:
            yield _best(curve)
            if curve.disorder:
                number = count_of(curve.disorder, "case")
                yield f"in {number} the scores do not follow the order of the results."
    if part.no_scores is not None:
        yield f"no score threshold can be tried: {part.no_scores}."
    if not part.of_results:
        yield (
            "where raw results are not known, the relevant tier was cut instead: what the "
            "provider returned beside it can't be told."
        )


def _best(curve: Curve) -> str:
    best, uncut = curve.best, curve.uncut
    name = "score" if curve.axis == SCORE else "k"
    sign = "=" if curve.axis != SCORE else "≥" if curve.better == HIGHER else "≤"
    cut = f"{name} {sign} {cut_text(curve.axis, best.cut)}"
    if best == uncut:
        text = f"no cut by {name} is better than none ({_figures(uncut)})"
    else:
        text = f"the best cut by {name} is {cut}: {_figures(best)}, rather than {_figures(uncut)}"
    judged = curve.cross_validated
    if judged is None:
        return f"{text}. There are too few cases or sessions to cross-validate it."
    chosen = _range(curve.axis, judged.chosen)
    return (
        f"{text}. Chosen on the other folds and judged on each of {len(judged.chosen)}: "
        f"{_figures(judged.point)}, with {name} {chosen}."
    )


def _figures(point: Point) -> str:
    passes = f"{count(point.passed)} of {count(point.cases)} pass"
    precision, recall = point.means["mean_precision"], point.means["mean_recall"]
    if precision is None:
        return passes
    return f"{passes}, precision {rate(precision)}, recall {rate(recall)}"


def _range(axis: str, cuts: Sequence[float]) -> str:
    low, high = (cut_text(axis, cut) for cut in (min(cuts), max(cuts)))
    return low if low == high else f"{low} to {high}"
