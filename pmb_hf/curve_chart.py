"""Curves as a picture: a Vega-Lite description, and the file that is made of it.

The description is plain data. ``vl-convert-python`` turns it into SVG or PNG
without a browser and without a network.
"""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .curves import SCORE, Curve, PartCurves
from .cuts import HIGHER
from .errors import InputError, MissingDependencyError

FORMATS = (".svg", ".png", ".html")
PIP_LINE = "pip install 'pmb-hf[charts]'"

_SERIES = {
    "precision": ("mean_precision", "#0072B2"),
    "recall": ("mean_recall", "#D55E00"),
    "F1": ("mean_f1", "#999999"),
    "pass rate": ("", "#009E73"),
}
"""Name, mean and colour of each line; Okabe and Ito's palette, safe for colour-blind eyes."""
_DASHES = [[1, 0], [6, 3], [1, 3], [8, 3, 2, 3]]
_TITLES = {"retrieval": "Single turn", "session": "Sessions"}
_SCALE = 2.0  # pixels of a PNG for each of the SVG, so that text is sharp

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ margin: 1rem; font: 1rem system-ui, sans-serif; background: #fff; color: #111 }}
svg {{ max-width: 100%; height: auto }}</style>
</head>
<body>
<h1>{title}</h1>
{svg}
</body>
</html>
"""


def chart(parts: Sequence[PartCurves], title: str) -> dict[str, Any]:
    """A Vega-Lite description: one panel a part and axis, the best cut marked.

    Raises:
        InputError: If there is nothing to draw.
    """
    panels = [
        _panel(f"{_TITLES[part.part]}, by {'score threshold' if c.axis == SCORE else 'k'}", c)
        for part in parts
        for c in (part.by_k, part.by_score)
        if c is not None
    ]
    if not panels:
        raise InputError("nothing was returned in any case, so there is no curve to draw")
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {"text": title, "anchor": "start", "fontSize": 16},
        "background": "white",
        "columns": 2,
        "concat": panels,
        "config": {"axis": {"labelFontSize": 12, "titleFontSize": 12}},
    }


def _panel(title: str, curve: Curve) -> dict[str, Any]:
    name = "k" if curve.axis != SCORE else f"score ({curve.better} is better)"
    x = {"field": "cut", "type": "quantitative", "title": name, "scale": {"zero": False}}
    color = {
        "field": "measure",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(_SERIES), "range": [c for _, c in _SERIES.values()]},
    }
    dash = {
        "field": "measure",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(_SERIES), "range": _DASHES},
    }
    y = {
        "field": "value",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [0, 1]},
    }
    # What a threshold keeps changes at scores alone, so it is drawn as steps.
    step = "step-before" if curve.better == HIGHER else "step-after"
    line: dict[str, Any] = {"type": "line", "strokeWidth": 2}
    line |= {"interpolate": step} if curve.axis == SCORE else {"point": {"size": 18}}
    best = {
        "data": {"values": [{"cut": curve.best.cut, "label": f"best: {curve.best.cut:.4g}"}]},
        "encoding": {"x": x},
        "layer": [
            {"mark": {"type": "rule", "color": "#555555", "strokeDash": [2, 2]}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "y": 8, "color": "#333333"},
                "encoding": {"text": {"field": "label", "type": "nominal"}},
            },
        ],
    }
    return {
        "title": {"text": title, "fontSize": 13},
        "width": 360,
        "height": 260,
        "layer": [
            {
                "data": {"values": list(_rows(curve))},
                "mark": line,
                "encoding": {"x": x, "y": y, "color": color, "strokeDash": dash},
            },
            best,
        ],
    }


def _rows(curve: Curve) -> Iterator[dict[str, Any]]:
    for point in curve.points:
        for name, (mean, _) in _SERIES.items():
            value = point.means[mean] if mean else point.passed / point.cases
            if value is not None:
                yield {"cut": point.cut, "measure": name, "value": value}


def check_format(path: Path) -> None:
    """Refuse a picture that can't be written, before anything is computed.

    Raises:
        InputError: If the file's ending is not one of ``FORMATS``.
        MissingDependencyError: If ``vl-convert-python`` is not installed.
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: a picture ends in one of {', '.join(FORMATS)}")
    _converter()


def picture(parts: Sequence[PartCurves], title: str, suffix: str) -> bytes:
    """The curves as a file of the kind that ``suffix``, one of ``FORMATS``, names.

    The HTML page holds the SVG itself and no script.

    Raises:
        InputError: If there is nothing to draw.
        MissingDependencyError: If ``vl-convert-python`` is not installed.
    """
    return rendered(chart(parts, title), title, suffix)


def rendered(spec: dict[str, Any], title: str, suffix: str) -> bytes:
    """A Vega-Lite description as a file of the kind that ``suffix`` names.

    Raises:
        MissingDependencyError: If ``vl-convert-python`` is not installed.
    """
    convert = _converter()
    if suffix.lower() == ".png":
        return bytes(convert.vegalite_to_png(spec, scale=_SCALE, allowed_base_urls=[]))
    svg: str = convert.vegalite_to_svg(spec, allowed_base_urls=[])
    if suffix.lower() == ".html":
        svg = _PAGE.format(title=html.escape(title), svg=svg)
    return svg.encode("utf-8", "replace")


def _converter() -> Any:
    try:
        return importlib.import_module("vl_convert")
    except ImportError as error:
        raise MissingDependencyError(
            f"a picture needs vl-convert-python: {PIP_LINE}; without a picture the table is printed"
        ) from error
