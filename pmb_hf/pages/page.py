"""Puts the page together: one file, nothing loaded, the same bytes for the same reports."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from string import Template
from typing import NamedTuple

from .._version import __version__
from ..report import Report
from ..schema import Corpus
from . import charts, cut_charts, figures
from .cases import cases
from .data import PARTS, Group, Panel, gather
from .markup import Markup, join, json_script, name, tag, text

ASSETS = Path(__file__).resolve().parent / "assets"
PLOTLY = "plotly-basic.min.js"
_TITLED = 4
_BELOW = (
    "Below each figure: its n, and the interval that holds the true value in 95 of 100 samples "
    "of cases (bootstrap; exact binomial for shares of cases). ↓ marks where lower is better."
)


class Section(NamedTuple):
    """A part of the page: its id, its title, and what it holds."""

    id: str
    title: str
    content: Markup


class _Page:
    """Collects the figures while the sections are made."""

    def __init__(self) -> None:
        self.figures: dict[str, object] = {}

    def chart(self, chart: charts.Chart | None) -> Markup | None:
        if chart is None:
            return None
        self.figures[chart.id] = chart.figure
        return chart.markup()

    def row(self, made: Iterable[charts.Chart | None]) -> Markup:
        return tag("div", join(self.chart(chart) for chart in made), class_="charts")


def render(given: Iterable[tuple[Report, Corpus]], rules: str | None = None) -> str:
    """The page of some reports, each with the corpus that it was made on.

    Args:
        given: What to show, in this order. Reports on the same corpus under the
            same rules are shown side by side.
        rules: Rules to score all of them under; ``None`` for each report's own.

    Raises:
        ReportError: If a report is not of its corpus.
        ValueError: If there is no report, or there are no such rules.
    """
    groups = gather(given, rules)
    if not groups:
        raise ValueError("a page needs at least one report")
    page = _Page()
    content = [_group(page, group, alone=len(groups) == 1) for group in groups]
    plotly, script = _asset(PLOTLY), _asset("page.js")
    return Template(_asset("page.html")).substitute(
        policy=_policy(plotly, script),
        title=text(_title(groups)),
        style=_asset("page.css"),
        heading=_heading(groups),
        content=join(content),
        version=text(__version__),
        figures=json_script("figures", page.figures),
        plotly=plotly,
        script=script,
    )


def _asset(file: str) -> str:
    return (ASSETS / file).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """Nothing may be loaded, and no script may run but those that are ours, by their hash."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(d).decode()}'" for d in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _names(groups: Sequence[Group]) -> list[str]:
    return [panel.label for group in groups for panel in group.panels]


def _title(groups: Sequence[Group]) -> str:
    names = _names(groups)
    shown = ", ".join(names[:_TITLED])
    if len(names) > _TITLED:
        shown += f" and {len(names) - _TITLED} more"
    return f"{shown} · PrecisionMemBench"


def _heading(groups: Sequence[Group]) -> Markup:
    names = _names(groups)
    shown = join((name(label) for label in names[:_TITLED]), ", ")
    more = f" and {len(names) - _TITLED} more" if len(names) > _TITLED else ""
    on = list(dict.fromkeys(group.corpus.name for group in groups))
    rules = list(dict.fromkeys(group.rules for group in groups))
    below = f"Corpus {', '.join(on)}, rules {', '.join(rules)}"
    return join([tag("h1", shown, more), tag("p", below, class_="note")])


def _group(page: _Page, group: Group, *, alone: bool) -> Markup:
    sections = list(_sections(page, group))
    links = [tag("li", tag("a", s.title, href=f"#{s.id}")) for s in sections]
    label = f"Corpus {group.corpus.name}, rules {group.rules}"
    nav = tag("nav", tag("ul", join(links)), aria_label="Sections" if alone else label)
    blocks = [
        tag("section", tag("h2", s.title, id=f"{s.id}-title"), s.content, id=s.id) for s in sections
    ]
    heading = None if alone else tag("h2", label, class_="banner")
    return tag("div", heading, nav, join(blocks), class_="group", id=f"g{group.number}")


def _sections(page: _Page, group: Group) -> Iterator[Section]:
    base = f"g{group.number}"
    yield Section(f"{base}-summary", "Summary", _summary(group))
    plots = page.row(charts.precision_recall(group, part) for part in group.parts)
    yield Section(f"{base}-precision-recall", "Precision and recall", plots)
    yield Section(f"{base}-cuts", "Length and threshold", _cuts(page, group))
    yield Section(f"{base}-categories", "Categories", figures.heat_map(group))
    yield Section(f"{base}-noise", "What is wrong", _noise(page, group))
    yield Section(f"{base}-latency", "Latency", _latency(page, group))
    tables = join(figures.measures(group, part) for part in group.parts)
    every = join([tag("p", _BELOW, class_="note"), tables, figures.definitions()])
    yield Section(f"{base}-measures", "Every measure", every)
    yield Section(f"{base}-cases", "Every case", cases(group))


def _summary(group: Group) -> Markup:
    about = [
        tag(
            "section",
            tag("h3", name(panel.label)) if len(group.panels) > 1 else None,
            figures.origin(panel),
            _remarks(panel),
            class_="about",
        )
        for panel in group.panels
    ]
    top = join([figures.glance(group), tag("p", _BELOW, class_="note")])
    if len(about) == 1:
        return join([top, *about])
    shown = tag("details", tag("summary", "About each report"), join(about), class_="more")
    serious = [
        tag("li", name(panel.label), ": ", remark)
        for panel in group.panels
        for remark in panel.remarks
        if remark.serious
    ]
    warned = tag("ul", join(serious), class_="remarks serious") if serious else None
    return join([top, warned, shown])


def _remarks(panel: Panel) -> Markup:
    items = [
        tag("li", remark, class_="serious" if remark.serious else None) for remark in panel.remarks
    ]
    return tag("ul", join(items), class_="remarks")


def _cuts(page: _Page, group: Group) -> Markup:
    note = tag(
        "p",
        "What the stored answers would have been worth, had fewer results been kept: by their "
        "number (k), and by a threshold on their score. Nothing was run again. "
        "“Cross-validated” judges each case at the cut that the other cases choose.",
        class_="note",
    )
    blocks: list[Markup | None] = [note]
    if len(group.panels) > 1:
        blocks.append(page.row(cut_charts.passes_by_k(group, part) for part in group.parts))
    blocks += [cut_charts.best_cuts(group), figures.causes(group)]
    for number, panel in enumerate(group.panels):
        content = join(_part_cuts(page, group, number, panel))
        summary = tag("summary", name(panel.label), ": curves")
        alone = len(group.panels) == 1
        blocks.append(content if alone else tag("details", summary, content, class_="more"))
    return join(blocks)


def _part_cuts(page: _Page, group: Group, number: int, panel: Panel) -> Iterator[Markup]:
    for part in panel.curves:
        title = PARTS[part.part]
        if part.by_k is None:
            yield tag("p", f"{title}: nothing was returned, so there is no curve.", class_="note")
        else:
            yield page.row(cut_charts.cuts(group, number, part))
        if part.no_scores is not None:
            why = f"{title}: no threshold can be tried: {part.no_scores}."
            yield tag("p", why, class_="note")
        elif part.by_score is not None and part.by_score.disorder:
            many = part.by_score.disorder
            yield tag(
                "p",
                f"{title}: in {many} answers the scores do not follow the order.",
                class_="note",
            )
        if not part.of_results:
            yield tag(
                "p",
                f"{title}: the relevant tier is cut, for raw results are not known.",
                class_="note",
            )


def _noise(page: _Page, group: Group) -> Markup:
    chart = page.chart(charts.noise_bars(group, figures.noise(group)))
    if chart is None:
        chart = tag("p", "Nothing wrong was returned.", class_="note")
    return join([chart, figures.missing(group), figures.faults_by_category(group)])


def _latency(page: _Page, group: Group) -> Markup:
    chart, made = charts.latency(group), figures.latencies(group)
    if chart is None:
        return join([tag("p", "No search was timed.", class_="note"), made])
    return join([page.row([chart]), made])
