"""The look that Space, static page and report page share: colours, marks, files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..assets import find
from ..measures import MEASURES
from ..pages import charts
from ..pages.page import ASSETS, PLOTLY
from ..records import NOISE_KINDS

_LIGHT = re.compile(r"^:root \{(.*?)^\}", re.DOTALL | re.MULTILINE)
_DARK = re.compile(r":root:not\(\.printing\) \{(.*?)\}", re.DOTALL)


def palette() -> str:
    """The report page's colours as custom properties, for light and for ``.dark``."""
    sheet = (ASSETS / "page.css").read_text(encoding="utf-8")
    light, dark = _LIGHT.search(sheet), _DARK.search(sheet)
    if light is None or dark is None:
        raise AssertionError("page.css must begin with the colours of both modes")
    return f":root {{{light[1]}}}\n.dark {{{dark[1]}}}\n"


def plotly_file() -> Path:
    """The copy of plotly.js that draws the charts."""
    return ASSETS / PLOTLY


def shared(name: str) -> str:
    """A file of ``space/static/``, which Space and static page share."""
    return (find("space") / "static" / name).read_text(encoding="utf-8")


def marks() -> dict[str, Any]:
    """How systems and kinds are told apart in charts."""
    return {
        "colours": charts.COLOURS,
        "symbols": list(charts.SYMBOLS),
        "dashes": list(charts.DASHES),
        "patterns": list(charts.PATTERNS),
    }


def noise_labels() -> dict[str, str]:
    """Kinds of wrong beliefs in words, the order in which charts show them."""
    return {k: MEASURES[f"noise_{k}"].kind for k in NOISE_KINDS}
