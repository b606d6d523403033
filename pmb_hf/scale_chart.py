"""Figures against the size of the store, as a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .curve_chart import rendered
from .errors import InputError
from .scale import Point

_Reading = Callable[[Point], float | None]


def _quality(name: str) -> _Reading:
    return lambda point: (point.quality or {}).get(name)


def _pass_rate(point: Point) -> float | None:
    quality = point.quality or {}
    return quality["passed"] / quality["cases"] if quality.get("cases") else None


def _memory(point: Point) -> float | None:
    return None if point.memory_bytes is None else point.memory_bytes / 1e6


_PANELS: tuple[tuple[str, bool, Mapping[str, _Reading]], ...] = (
    (
        "What comes back (0 to 1)",
        False,
        {
            "precision": _quality("mean_precision"),
            "recall": _quality("mean_recall"),
            "pass rate": _pass_rate,
            "drift": lambda point: (point.session or {}).get("mean_drift"),
        },
    ),
    (
        "Time of a search (ms)",
        True,
        {"p50": lambda point: point.search_p50_ms, "p95": lambda point: point.search_p95_ms},
    ),
    ("Beliefs written a second", True, {"ingestion": lambda point: point.ingest_per_second}),
    ("Memory (MB)", True, {"store": _memory}),
)
"""Title, whether the axis is logarithmic, and the lines of each panel."""

_COLORS = ["#0072B2", "#D55E00", "#009E73", "#999999"]
_DASHES = [[1, 0], [6, 3], [8, 3, 2, 3], [1, 3]]


def chart(points: Sequence[Point], title: str) -> dict[str, Any]:
    """A Vega-Lite description: a panel for quality, time, ingestion and memory.

    Raises:
        InputError: If no point has a report.
    """
    panels = [panel for spec in _PANELS if (panel := _panel(points, *spec)) is not None]
    if not panels:
        raise InputError("no size has been measured, so there is nothing to draw")
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {"text": title, "anchor": "start", "fontSize": 16},
        "background": "white",
        "columns": 2,
        "concat": panels,
        "resolve": {"scale": {"color": "independent", "strokeDash": "independent"}},
        "config": {"axis": {"labelFontSize": 12, "titleFontSize": 12}},
    }


def _panel(
    points: Sequence[Point], title: str, log: bool, lines: Mapping[str, _Reading]
) -> dict[str, Any] | None:
    rows = list(_rows(points, lines, log=log))
    if not rows:
        return None
    scale: dict[str, Any] = {"type": "log"} if log else {"domain": [0, 1]}
    named = {"domain": list(lines), "range": _COLORS[: len(lines)]}
    dashed = {"domain": list(lines), "range": _DASHES[: len(lines)]}
    return {
        "title": {"text": title, "fontSize": 13},
        "width": 360,
        "height": 240,
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 36}},
        "encoding": {
            "x": {
                "field": "size",
                "type": "quantitative",
                "title": "beliefs in the store",
                "scale": {"type": "log"},
                "axis": {"format": "~s"},
            },
            "y": {"field": "value", "type": "quantitative", "title": None, "scale": scale},
            "color": {"field": "line", "type": "nominal", "title": None, "scale": named},
            "strokeDash": {"field": "line", "type": "nominal", "title": None, "scale": dashed},
        },
    }


def _rows(
    points: Sequence[Point], lines: Mapping[str, _Reading], *, log: bool
) -> Iterator[dict[str, Any]]:
    for point in points:
        for name, read in lines.items():
            value = read(point)
            if value is not None and (value > 0 or not log):
                yield {"size": point.size, "line": name, "value": value}


def picture(points: Sequence[Point], title: str, suffix: str) -> bytes:
    """The figures as a file of the kind that ``suffix`` names; see ``curve_chart.FORMATS``.

    Raises:
        InputError: If there is nothing to draw.
        MissingDependencyError: If ``vl-convert-python`` is not installed.
    """
    return rendered(chart(points, title), title, suffix)
