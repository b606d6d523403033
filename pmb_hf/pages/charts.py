"""The charts as figures for plotly.js, each with a table that says the same.

Colours are tokens such as ``$0``, ``$ink``: the page's style sheet gives them
their values, for light and dark. Foreign names are escaped for plotly's own markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from ..records import NOISE_KINDS
from ..summary import Summary, percentile
from ..tables.cells import count, milliseconds
from ..tables.text import clean
from .data import PARTS, Group, Panel
from .figures import cell, latencies_of, noise_label, rate_cell
from .markup import Markup, join, table, tag

COLOURS = 7
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down")
DASHES = ("solid", "dash", "dot", "dashdot")
PATTERNS = ("", "/", "", "x", "", "\\", "", "+", ".")
_NAME_LENGTH, _NAME_HEAD = 24, 13


class Chart(NamedTuple):
    """A chart of the page; ``alternative`` says in words what it shows."""

    id: str
    title: str
    alternative: str
    figure: dict[str, Any]
    table: Markup

    def markup(self) -> Markup:
        """The place where the chart is drawn, its title, and its table."""
        return tag(
            "figure",
            tag("figcaption", self.title),
            tag("div", class_="plot", data_chart=self.id, role="img", aria_label=self.alternative),
            tag("details", tag("summary", "The same as a table"), self.table, class_="more"),
            class_="chart",
        )


def plain(name: str) -> str:
    """A foreign name as plotly shows it as it is: short, and no tag of it is one.

    Both ends are kept, since names of similar reports often differ in the last letters.

    >>> plain("<b>&amp;"), plain("a-name-that-is-rather-long-v2")
    ('&lt;b&gt;&amp;amp;', 'a-name-that-i…er-long-v2')
    """
    shown = clean(name)
    if len(shown) > _NAME_LENGTH:
        tail = _NAME_LENGTH - _NAME_HEAD - 1
        shown = f"{shown[:_NAME_HEAD]}…{shown[-tail:]}"
    return escape(shown, quote=False)


def style(number: int) -> tuple[str, str, str]:
    """Colour, symbol and dash of a report."""
    dash = DASHES[number // COLOURS % len(DASHES)]
    return f"${number % COLOURS}", SYMBOLS[number % len(SYMBOLS)], dash


def precision_recall(group: Group, part: str) -> Chart:
    """Precision against recall, a point for each report and control."""
    traces, rows = [], []
    for number, panel in enumerate(group.panels):
        summary = panel.summary(part)
        if summary is not None:
            colour, symbol, _ = style(number)
            # Open marks: two at one spot are both seen.
            line = {"width": 2.5, "color": colour}
            marker = {"color": colour, "symbol": f"{symbol}-open", "size": 13, "line": line}
            traces += _spot(panel.label, summary, marker)
            rows.append(_spot_row(panel.label, summary))
    for number, (label, summary) in enumerate(group.controls(part)):
        marker = {"color": "$muted", "symbol": SYMBOLS[number], "size": 7}
        traces += _spot(label, summary, marker)
        rows.append(_spot_row(label, summary))
    axis = {"range": [-0.04, 1.06], "dtick": 0.2, "tickformat": ".1f"}
    layout = {
        "xaxis": {**axis, "title": {"text": "recall"}},
        "yaxis": {**axis, "title": {"text": "precision"}},
    }
    title = f"{PARTS[part]}: precision against recall"
    return Chart(
        f"g{group.number}-precision-recall-{part}",
        title,
        f"{title}, a point for each report and for floor and ceiling; up and right is better.",
        {"data": traces, "layout": layout},
        table(title, ["", "precision", "recall"], rows),
    )


def _spot(label: str, summary: Summary, marker: dict[str, Any]) -> list[dict[str, Any]]:
    if summary["mean_precision"] is None or summary["mean_recall"] is None:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": plain(label),
            "x": [summary["mean_recall"]],
            "y": [summary["mean_precision"]],
            "marker": marker,
            "hovertemplate": "precision %{y:.4f}<br>recall %{x:.4f}",
        }
    ]


def _spot_row(label: str, summary: Summary) -> list[str]:
    return [label, rate_cell(summary["mean_precision"]), rate_cell(summary["mean_recall"])]


def latency(group: Group) -> Chart | None:
    """The share of searches that took no longer than so many ms."""
    traces, rows = [], []
    for number, panel in enumerate(group.panels):
        for place, (part, title) in enumerate(PARTS.items()):
            values = sorted(latencies_of(panel, part))
            if not values:
                continue
            colour, _, _ = style(number)
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": f"{plain(panel.label)}, {title.lower()}",
                    "x": [max(value, 0.001) for value in values],
                    "y": [round(n / len(values), 4) for n in range(1, len(values) + 1)],
                    "line": {"color": colour, "dash": DASHES[place], "shape": "hv", "width": 2},
                    "hovertemplate": "%{y:.0%} within %{x:.3g} ms",
                }
            )
            shares = [milliseconds(percentile(values, share / 100)) for share in _SHARES]
            head = join([tag("bdi", panel.label), f", {title.lower()}"])
            rows.append([head, *map(cell, shares)])
    if not traces:
        return None
    title = "Latency: share of searches that took no longer"
    layout = {
        "xaxis": {"type": "log", "title": {"text": "ms (logarithmic)"}, "dtick": "D2"},
        "yaxis": {"range": [0, 1.03], "tickformat": ".0%"},
    }
    heads = ["ms", *(f"{share} %" for share in _SHARES)]
    return Chart(
        f"g{group.number}-latency",
        title,
        f"{title}; a line for each report and part, further left is faster.",
        {"data": traces, "layout": layout},
        table(title, heads, rows, class_="figures"),
    )


_SHARES = (10, 25, 50, 75, 90, 95, 100)


def noise_bars(group: Group, alternative: Markup) -> Chart | None:
    """Wrongly returned beliefs by kind: a bar for each report."""
    kinds = [k for k in NOISE_KINDS if any(panel.tally.wrong[k] for panel in group.panels)]
    if not kinds:
        return None
    # Reports from top to bottom; plotly counts from below.
    panels = list(reversed(group.panels))
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": noise_label(kind),
            # Axis labels by position: two names that are cut to the same text stay apart.
            "y": list(range(len(panels))),
            "x": [panel.tally.wrong[kind] for panel in panels],
            "marker": {
                "color": f"${place % COLOURS}",
                "line": {"color": "$paper", "width": 1},
                "pattern": {
                    "shape": PATTERNS[NOISE_KINDS.index(kind)],
                    "fillmode": "overlay",
                    "fgcolor": "$paper",
                    "size": 8,
                    "solidity": 0.2,
                },
            },
            "hovertemplate": "%{x} " + noise_label(kind),
        }
        for place, kind in enumerate(kinds)
    ]
    layout = {
        "barmode": "stack",
        "height": 100 + 34 * len(panels),
        "xaxis": {"title": {"text": "wrongly returned beliefs"}, "rangemode": "tozero"},
        "yaxis": {
            "tickvals": list(range(len(panels))),
            "ticktext": [plain(panel.label) for panel in panels],
            "automargin": True,
        },
    }
    title = "Noise by kind"
    return Chart(
        f"g{group.number}-noise",
        title,
        f"{title}: {_noise_words(group.panels, kinds)}.",
        {"data": traces, "layout": layout},
        alternative,
    )


def _noise_words(panels: Sequence[Panel], kinds: Sequence[str]) -> str:
    words = []
    for panel in panels:
        wrong = panel.tally.wrong
        most = max(kinds, key=lambda kind: wrong[kind])
        total = sum(wrong.values())
        words.append(
            f"{panel.label} {count(total)}, most of them {noise_label(most)}"
            if total
            else f"{panel.label} none"
        )
    return "; ".join(words)
