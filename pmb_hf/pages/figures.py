"""The tables of the page: at a glance, every measure, categories, times, noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..diagnose import Tally
from ..measures import MEASURES, Measure
from ..records import LOST_KINDS, NOISE_KINDS, PASS_KINDS
from ..stats import Estimate
from ..summary import Summary, mean_or_none, percentile, summarize_by_category
from ..tables.cells import FORMATS, NONE, Number, count, milliseconds, rank, rate
from ..tables.text import count_of
from .data import PARTS, RETRIEVAL, SESSION, Group, Panel
from .markup import Markup, framed, join, name, table, tag

CONTROL_NOTES = {
    "empty": "returns nothing",
    "everything": "returns all of the user's beliefs",
    "oracle": "returns what is needed",
}
LOST_TEXTS = {
    "error": "the search failed",
    "not_asked": "the provider was not asked",
    "cut_off": "returned, but beyond the limit or the budget",
    "pinned_tier": "shown among the pinned facts",
    "not_returned": "not among the results",
    "below_rank": "in the tier, but below the first R, where R is how many are needed",
    "not_in_tier": "not in the tier; why is not known",
}
"""Reasons of ``records.LOST_KINDS`` in words."""

_MEANS = tuple(m for m in MEASURES.values() if m.unit in ("rate", "rank") and m.name != "pass_rate")
_GLANCE = {
    RETRIEVAL: ("mean_precision", "mean_recall", "abstention_rate"),
    SESSION: ("mean_precision", "mean_recall", "mean_drift"),
}


def cell(value: str, *below: str, kind: str = "") -> Markup:
    """A number, and in small print what stands below it."""
    small = [tag("small", line) for line in below if line]
    shown = tag("span", value, class_="none" if value == NONE else None)
    return tag("td", shown, *small, class_=f"num {kind}".strip())


def noise_label(kind: str) -> str:
    """A noise kind in words."""
    return MEASURES[f"noise_{kind}"].kind


def glance(group: Group) -> Markup:
    """One row a report and control, with the figures that matter most."""
    first = tag("th", "", tag("span", "Report", class_="sr"), scope="col", rowspan=2)
    tops, heads = [first], []
    for part in group.parts:
        shown = ["passed", *(_label(MEASURES[m]) for m in _GLANCE[part]), "p50\u00a0ms"]
        tops.append(tag("th", PARTS[part], scope="colgroup", colspan=len(shown), class_="group"))
        heads += [tag("th", head, scope="col", class_="num") for head in shown]
    rows = [
        _glance_row(
            panel.label,
            {part: panel.summary(part) for part in group.parts},
            estimates=panel.estimates,
        )
        for panel in group.panels
    ]
    for baseline in group.baselines:
        found = {RETRIEVAL: baseline.retrieval, SESSION: baseline.session}
        note = CONTROL_NOTES.get(baseline.name, "")
        rows.append(
            _glance_row(baseline.name, {part: found[part] for part in group.parts}, note=note)
        )
    caption = f"At a glance: corpus {group.corpus.name}, rules {group.rules}"
    head = tag("thead", tag("tr", join(tops)), tag("tr", join(heads)))
    return framed(caption, head, tag("tbody", join(rows)), class_="figures glance")


def _glance_row(
    label: str,
    found: Mapping[str, Summary | None],
    note: str = "",
    estimates: Mapping[str, Mapping[str, Estimate]] | None = None,
) -> Markup:
    cells = []
    for part, summary in found.items():
        names = _GLANCE[part]
        if summary is None:
            cells += [cell(NONE)] * (len(names) + 2)
            continue
        known = (estimates or {}).get(part, {})
        cells.append(_passed(summary, known))
        cells += [_mean(MEASURES[name], summary, known) for name in names]
        n = count(summary["n_latency"])
        cells.append(cell(milliseconds(summary["p50_latency_ms"]), f"n {n}" if n != "0" else ""))
    head = tag("th", name(label), tag("small", note) if note else None, scope="row")
    return tag("tr", head, join(cells), class_="control" if note else None)


def measures(group: Group, part: str) -> Markup:
    """Every measure of a part by report, with interval and n, beside floor and ceiling."""
    panels = [panel for panel in group.panels if panel.summary(part)]
    controls = group.controls(part)
    heads = ["Measure", *(panel.label for panel in panels), *(label for label, _ in controls)]
    totals = group.pass_kinds.get(part, {})
    columns: list[tuple[Summary, Mapping[str, Estimate]]] = [
        *((panel.summary(part) or {}, panel.estimates[part]) for panel in panels),
        *((summary, {}) for _, summary in controls),
    ]
    rows: list[list[str]] = [["passed", *(_passed(s, of) for s, of in columns)]]
    for kind in PASS_KINDS:
        key = f"passed_{kind}"
        if totals.get(kind) or any(summary[key] for summary, _ in columns):
            below = f"of {count(totals[kind])}" if totals.get(kind) else ""
            label = f"  passed, {kind.replace('_', ' ')}"
            rows.append([label, *(cell(count(summary[key]), below) for summary, _ in columns)])
    rows += [
        [_label(measure), *(_mean(measure, summary, found) for summary, found in columns)]
        for measure in _MEANS
        if any(summary[measure.name] is not None for summary, _ in columns)
    ]
    title = f"{PARTS[part]}: every measure"
    return table(title, heads, rows, class_="figures measures")


def _label(measure: Measure) -> str:
    return f"{measure.label} ↓" if measure.better == "lower" else measure.label


def _passed(summary: Summary, found: Mapping[str, Estimate]) -> Markup:
    estimate = found.get("pass_rate")
    below = [f"of {count(summary['cases'])}"]
    if estimate is not None:
        low, high = (count(end * estimate.n) for end in estimate.interval)
        below.append(f"{low}–{high}")
    return cell(count(summary["passed"]), *below)


def _mean(measure: Measure, summary: Summary, found: Mapping[str, Estimate]) -> Markup:
    write = FORMATS[measure.unit]
    value, n = summary[measure.name], summary[measure.n or "cases"]
    if value is None:
        return cell(NONE)
    below = [f"n {count(n)}"]
    estimate = found.get(measure.name)
    if estimate is not None:
        below.append(f"{estimate.interval.low:.2f}–{estimate.interval.high:.2f}")
    return cell(write(value), *below)


def definitions() -> Markup:
    """What the measures mean."""
    shown = [MEASURES["passed"], *_MEANS]
    items = [join([tag("dt", _label(measure)), tag("dd", measure.definition)]) for measure in shown]
    return tag(
        "details", tag("summary", "What the measures mean"), tag("dl", join(items)), class_="more"
    )


def heat_map(group: Group) -> Markup:
    """Passes by category and report; the shade says the share, the figures say the rest."""
    tables = [
        summarize_by_category(j.score for j in (*panel.rows(RETRIEVAL), *panel.rows(SESSION)))
        for panel in group.panels
    ]
    categories = list(dict.fromkeys(category for found in tables for category in found))
    rows = [
        [category or "(none)", *(_heat(found.get(category)) for found in tables)]
        for category in categories
    ]
    heads = ["Category", *(panel.label for panel in group.panels)]
    return table("Passed cases by category", heads, rows, class_="heat")


def _heat(summary: Summary | None) -> Markup:
    if summary is None or not summary["cases"]:
        return cell(NONE)
    passed, total = summary["passed"] or 0, summary["cases"]
    share = passed / total
    return tag(
        "td",
        tag("span", count(passed)),
        tag("small", f"of {count(total)}"),
        class_="num",
        style=f"--share:{share:.3f}",
    )


def latencies(group: Group) -> Markup | None:
    """How long searches and writes took; ``None`` if nothing was timed."""
    rows: list[list[str]] = []
    for panel in group.panels:
        for label, values in _timed(panel):
            if values:
                figures = mean_or_none(values, 2), percentile(values, 0.5), percentile(values, 0.95)
                cells = [cell(milliseconds(value)) for value in (*figures, max(values))]
                head = join([name(panel.label), ", ", label])
                rows.append([head, *cells, cell(count(len(values)))])
        if panel.evaluation.latency_ratio is not None:
            head = join([name(panel.label), ", p50 of sessions over single turn"])
            ratio = cell(rank(panel.evaluation.latency_ratio))
            rows.append([head, cell(""), ratio, cell(""), cell(""), cell("")])
    if not rows:
        return None
    return table("Times in ms", ["", "mean", "p50", "p95", "most", "n"], rows, class_="figures")


def _timed(panel: Panel) -> Iterable[tuple[str, list[float]]]:
    for part, title in PARTS.items():
        yield f"search, {title.lower()}", latencies_of(panel, part)
    report = panel.report
    for label, ingestion in (
        ("write a belief", report.ingestion),
        ("write a belief, sessions", report.session_ingestion),
    ):
        yield label, [ms for _, ms in ingestion.per_belief] if ingestion else []
    for label, new in (("write a belief, mid-session", True), ("change a belief", False)):
        found = [c.latency_ms for c in report.changes if (c.action == "add") == new]
        yield label, [ms for ms in found if ms is not None]


def latencies_of(panel: Panel, part: str) -> list[float]:
    """Times of the searches of a part, in ms."""
    found = (j.record.latency_ms for j in panel.rows(part))
    return [ms for ms in found if ms is not None]


def noise(group: Group) -> Markup:
    """Wrong beliefs by kind."""
    heads = ["Kind", *(panel.label for panel in group.panels)]
    tallies = [panel.tally for panel in group.panels]
    wrong = _counts(tallies, NOISE_KINDS, lambda found: found.wrong, noise_label)
    return table("Wrongly returned beliefs by kind", heads, wrong, class_="figures")


def missing(group: Group) -> Markup:
    """Needed beliefs that are missing or stand too low, by reason."""
    heads = ["Reason", *(panel.label for panel in group.panels)]
    tallies = [panel.tally for panel in group.panels]
    lost = _counts(tallies, LOST_KINDS, lambda found: found.lost, LOST_TEXTS.__getitem__)
    title = "Needed beliefs that are missing or too low, by reason"
    return table(title, heads, lost, class_="figures")


def faults_by_category(group: Group) -> Markup:
    """Both by category, a table for each report."""
    return join(_by_category(panel) for panel in group.panels)


def _counts(
    tallies: Sequence[Tally],
    kinds: Sequence[str],
    of: Callable[[Tally], Mapping[str, int]],
    label: Callable[[str], str],
) -> list[list[str]]:
    rows = [
        [label(kind), *(_zero(of(found)[kind]) for found in tallies)]
        for kind in kinds
        if any(of(found)[kind] for found in tallies)
    ]
    total = [_zero(sum(of(found).values())) for found in tallies]
    return [*rows, [tag("strong", "in all"), *total]]


def _zero(number: int) -> Markup:
    return cell(count(number), kind="" if number else "zero")


def _by_category(panel: Panel) -> Markup:
    kinds = [kind for kind in NOISE_KINDS if panel.tally.wrong[kind]]
    reasons = [kind for kind in LOST_KINDS if panel.tally.lost[kind]]
    rows = [
        [
            category or "(none)",
            *(_zero(found.wrong[kind]) for kind in kinds),
            *(_zero(found.lost[kind]) for kind in reasons),
        ]
        for category, found in panel.tally_by_category.items()
    ]
    heads = [
        "Category",
        *map(noise_label, kinds),
        *(f"missing: {kind.replace('_', ' ')}" for kind in reasons),
    ]
    title = f"{panel.label}: what is wrong, by category"
    content = [table(title, heads, rows, class_="figures")] if len(heads) > 1 else []
    content += [_drift_sources(panel)] if panel.tally.drift_from else []
    if not content:
        return tag("p", name(panel.label), ": nothing wrong, nothing missing.", class_="note")
    summary = tag("summary", name(panel.label), ": by category")
    return tag("details", summary, join(content), class_="more")


def _drift_sources(panel: Panel) -> Markup:
    rows = [
        [f"{case_id}, turn {turn}", cell(count(number))]
        for (case_id, turn), number in panel.tally.drift_from.items()
    ]
    return table("Earlier turns that drifted beliefs belong to", ["Turn", "beliefs"], rows)


def causes(group: Group) -> Markup | None:
    """Why failed cases fail, seen from their cuts; ``None`` if none fails."""
    labels = {
        "length": "returns too much: some cut of it passes",
        "ranking": "wrong beliefs stand before or between needed ones",
        "incomplete": "a needed belief is not in the answer",
        "no_answer": "the search failed",
        "elsewhere": "another tier fails",
    }
    rows: list[list[str]] = []
    for panel in group.panels:
        for part in panel.curves:
            failed = sum(part.causes.values())
            if failed:
                head = join([name(panel.label), f", {PARTS[part.part].lower()}"])
                cells = [_zero(part.causes[cause]) for cause in labels]
                rows.append([head, _zero(failed), *cells])
    if not rows:
        return None
    return table(
        "Failed cases by why they fail", ["Report", "failed", *labels.values()], rows, class_="wrap"
    )


def origin(panel: Panel) -> Markup:
    """What was run, by which version, when."""
    report, evaluation = panel.report, panel.evaluation
    facts = report.provenance
    rows = [
        ("provider", report.provider if report.provider.strip() else panel.label),
        ("corpus", f"{report.corpus_name} {(report.corpus_sha256 or '')[:12]}"),
        ("distractors", None if report.among is None else str(report.among.get("count"))),
        ("rules", evaluation.rules.name),
        ("asked under", facts.get("runRules")),
        ("pmb-hf", facts.get("pmbHf")),
        ("started", facts.get("startedAt")),
        ("measured by", "upstream's harness" if panel.upstream else None),
        ("answers", _answers(panel)),
    ]
    pairs = [
        join([tag("dt", label), tag("dd", tag("bdi", value))])
        for label, value in rows
        if isinstance(value, str) and value.strip()
    ]
    return tag("dl", join(pairs), class_="facts")


def _answers(panel: Panel) -> str:
    parts = [
        count_of(len(panel.evaluation.cases), "case"),
        count_of(len(panel.evaluation.turns), "session turn"),
    ]
    return ", ".join(parts)


def rate_cell(value: Number) -> Markup:
    """A share of 1."""
    return cell(rate(value))
