"""What answers would have been worth, had less been kept: curves and best cuts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..curves import SCORE, Curve, PartCurves, Point
from ..tables.cells import NONE, count
from .charts import Chart, plain, style
from .data import PARTS, Group, Panel
from .figures import cell, rate_cell
from .markup import Markup, join, table, tag

_DRAWN = 240
"""At most so many points of a curve are drawn; neighbours can't be told apart anyway."""
_TABLED = 20
_CURVES = {
    "passed": ("$ink", "solid", "circle"),
    "mean_precision": ("$0", "solid", "square"),
    "mean_recall": ("$1", "dash", "diamond"),
    "mean_f1": ("$2", "dot", "triangle-up"),
}


def passes_by_k(group: Group, part: str) -> Chart | None:
    """The pass rate by number of results, a line for each report."""
    traces: list[dict[str, Any]] = []
    rows: list[list[str]] = []
    for number, panel in enumerate(group.panels):
        found = [c.by_k for c in panel.curves if c.part == part and c.by_k is not None]
        for curve in found:
            colour, symbol, dash = style(number)
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": plain(panel.label),
                    "x": [point.cut for point in curve.points],
                    "y": [_value(point, "passed") for point in curve.points],
                    "line": {"color": colour, "dash": dash, "width": 2},
                    "marker": {"color": colour, "symbol": symbol, "size": 6},
                    "hovertemplate": "k = %{x}: %{y:.4f}",
                }
            )
            best, uncut = _value(curve.best, "passed"), _value(curve.uncut, "passed")
            first = _value(curve.points[0], "passed")
            rows.append([panel.label, *map(rate_cell, (first, best, uncut))])
    if not traces:
        return None
    title = f"{PARTS[part]}: pass rate by number of results"
    layout = {
        "xaxis": _k_axis(max(trace["x"][-1] for trace in traces)),
        "yaxis": {"range": [-0.03, 1.06], "tickformat": ".1f"},
    }
    return Chart(
        f"g{group.number}-passes-{part}",
        title,
        f"{title}, a line for each report.",
        {"data": traces, "layout": layout},
        table(title, ["", "k = 1", "best", "as it is"], rows, class_="figures"),
    )


def cuts(group: Group, number: int, part: PartCurves) -> Iterator[Chart]:
    """The k and threshold curves of one part of one report."""
    label = group.panels[number].label
    for curve in (part.by_k, part.by_score):
        if curve is not None:
            yield _cut(f"g{group.number}-r{number}-{part.part}-{curve.axis}", label, part, curve)


def _cut(identity: str, label: str, part: PartCurves, curve: Curve) -> Chart:
    score = curve.axis == SCORE
    points = _thinned(curve, _DRAWN)
    traces = []
    for key, (colour, dash, symbol) in _CURVES.items():
        values = [_value(point, key) for point in points]
        if any(value is not None for value in values):
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines" if score else "lines+markers",
                    "name": _curve_name(key),
                    "x": [point.cut for point in points],
                    "y": values,
                    "line": {"color": colour, "dash": dash, "width": 2},
                    "marker": {"color": colour, "symbol": symbol, "size": 6},
                    "hovertemplate": "%{y:.4f}",
                }
            )
    best = curve.best.cut
    layout = {
        "xaxis": _cut_axis(curve),
        "yaxis": {"range": [-0.03, 1.06], "tickformat": ".1f"},
        "hovermode": "x unified",
        "shapes": [_upright(best)],
        "annotations": [_note_above(best, f"best: {cut_text(curve, best)}")],
    }
    what = "score threshold" if score else "number of results"
    title = f"{PARTS[part.part]}: by {what}"
    spoken = f"{label}, {title}. Best cut: {cut_text(curve, best)}, {_passes(curve.best)}."
    return Chart(
        identity, title, spoken, {"data": traces, "layout": layout}, _cut_table(title, curve)
    )


def _cut_axis(curve: Curve) -> dict[str, Any]:
    if curve.axis == SCORE:
        lower = curve.better == "lower"
        title = "highest score that is kept" if lower else "lowest score that is kept"
        return {"title": {"text": title}}
    return _k_axis(curve.points[-1].cut)


def _k_axis(last: float) -> dict[str, Any]:
    span = [0.5, max(last, 2) + 0.5]
    return {"title": {"text": "k: results kept"}, "range": span, "tickformat": "d"}


def _upright(x: float) -> dict[str, Any]:
    line = {"color": "$muted", "dash": "dot", "width": 1.5}
    place = {"x0": x, "x1": x, "y0": 0, "y1": 1}
    return {"type": "line", "xref": "x", "yref": "paper", "line": line, **place}


def _note_above(x: float, text: str) -> dict[str, Any]:
    place = {"x": x, "y": 1, "xref": "x", "yref": "paper", "yanchor": "bottom"}
    return {"text": text, "showarrow": False, **place}


def _curve_name(key: str) -> str:
    return {"passed": "pass rate", "mean_f1": "F1"}.get(key, key.removeprefix("mean_"))


def _value(point: Point, key: str) -> float | None:
    value = point.passed / point.cases if key == "passed" else point.means[key]
    return None if value is None else round(value, 4)


def _thinned(curve: Curve, most: int) -> list[Point]:
    """At most about ``most`` points, evenly chosen, with the best and both ends."""
    points = curve.points
    if len(points) <= most:
        return list(points)
    step = (len(points) - 1) / (most - 1)
    kept = {round(place * step) for place in range(most)} | {points.index(curve.best)}
    return [points[place] for place in sorted(kept)]


def cut_text(curve: Curve, cut: float) -> str:
    """A cut in words."""
    if curve.axis != SCORE:
        return f"k = {cut:g}"
    return f"score {'≤' if curve.better == 'lower' else '≥'} {cut:.3g}"


def _passes(point: Point) -> str:
    return f"{count(point.passed)} of {count(point.cases)} passed"


def _cut_table(title: str, curve: Curve) -> Markup:
    rows = []
    for point in _thinned(curve, _TABLED):
        head = f"{point.cut:.3g}" + (" (best)" if point.cut == curve.best.cut else "")
        means = (rate_cell(point.means[key]) for key in _CURVES if key != "passed")
        rows.append([head, cell(count(point.passed)), *means, cell(count(point.returned))])
    first = "score" if curve.axis == SCORE else "k"
    heads = [first, "passed", "precision", "recall", "F1", "returned"]
    return table(title, heads, rows, class_="figures")


def best_cuts(group: Group) -> Markup | None:
    """The best cut of each report, what it gives, and what it is worth on other cases."""
    rows: list[list[str]] = []
    for panel in group.panels:
        for part in panel.curves:
            made = (curve for curve in (part.by_k, part.by_score) if curve is not None)
            rows += [_best_row(panel, part, curve) for curve in made]
    if not rows:
        return None
    heads = [
        "Report",
        "best cut",
        "as it is",
        "at the cut",
        "cross-validated",
        "of",
        "F1 there",
    ]
    return table("The best cut of each report: passed cases", heads, rows, class_="figures")


def _best_row(panel: Panel, part: PartCurves, curve: Curve) -> list[str]:
    head = join([tag("bdi", panel.label), f", {PARTS[part.part].lower()}"])
    across = curve.cross_validated
    return [
        head,
        cell(cut_text(curve, curve.best.cut)),
        cell(count(curve.uncut.passed)),
        cell(count(curve.best.passed)),
        cell(NONE if across is None else count(across.point.passed)),
        cell(count(curve.best.cases)),
        rate_cell(curve.best.means["mean_f1"]),
    ]
