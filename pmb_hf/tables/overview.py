"""A report at a glance: its figures beside floor and ceiling, by category, and its times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from ..baselines import Baseline
from ..measured import Ingestion
from ..measures import MEASURES
from ..records import OK, PASS_KINDS, CaseScore
from ..report import Evaluation, Judged, Report
from ..summary import Summary, percentile, summarize_by_category
from .cells import FORMATS, NONE, count, milliseconds, rank, rate
from .layout import BAD, BOLD, DIM, Id, add_number, add_text, plain, table, value, with_n
from .remarks import from_upstream
from .text import clean

if TYPE_CHECKING:
    from rich.table import Table

_NAME_LENGTH = 14
_MEANS = tuple(m for m in MEASURES.values() if m.unit in ("rate", "rank") and m.name != "pass_rate")


class _System(NamedTuple):
    """A column: its name and its figures, the provider's or a control's."""

    name: str
    figures: Summary
    is_control: bool = False


def headline(report: Report, evaluation: Evaluation) -> Group:
    """What was run, on what, under which rules, and by which version."""
    title = Text(clean(report.provider, 40), style=BOLD)
    title.append(f" on {clean(report.corpus_name, 40)}, rules {evaluation.rules.name}", style="")
    facts = _facts(report)
    return Group(title, Text(" · ".join(facts), style=DIM)) if facts else Group(title)


def _facts(report: Report) -> list[str]:
    origin = report.provenance
    facts = []
    if report.corpus_sha256:
        facts.append(f"corpus {clean(report.corpus_sha256, 9)}")
    if report.among is not None:
        number = clean(str(report.among.get("count")), 12)
        facts.append(f"among {number} {'distractor' if number == '1' else 'distractors'}")
    if isinstance(origin.get("pmbHf"), str):
        facts.append(f"pmb-hf {clean(origin['pmbHf'], 20)}")
    if isinstance(origin.get("startedAt"), str):
        facts.append(clean(origin["startedAt"], 20).replace("T", " ").replace("Z", " UTC"))
    if isinstance(origin.get("runRules"), str):
        facts.append(f"asked under {clean(origin['runRules'], 24)}")
    if from_upstream(report):
        facts.append("measured by upstream's harness")
    return facts


def figures(
    report: Report, evaluation: Evaluation, baselines: Sequence[Baseline] = ()
) -> list[RenderableType]:
    """One table a part: the provider's figures and, beside them, those of the controls."""
    made: list[RenderableType] = []
    for title, judged, summary, controls in (
        (
            "Single turn",
            evaluation.cases,
            evaluation.retrieval,
            [(b.name, b.retrieval) for b in baselines],
        ),
        (
            "Sessions",
            evaluation.turns,
            evaluation.session,
            [(b.name, b.session) for b in baselines],
        ),
    ):
        if summary is None:
            continue
        systems = [_System(report.provider, summary)]
        systems += [_System(name, control, True) for name, control in controls if control]
        kinds = Counter(j.score.pass_kind for j in judged)
        # Under the other rules the kind of a pass depends on the answer: there is no "of how many".
        totals = kinds if evaluation.rules.pass_kind == "assertion" else {}
        made.append(_part(title, systems, totals))
    return made


def summary_table(title: str, summary: Summary) -> Table:
    """The figures of one summary alone."""
    return _part("", [_System(title, summary)], {})


def _part(title: str, systems: Sequence[_System], totals: Mapping[str, int]) -> Table:
    width = max(len(count(system.figures["cases"])) for system in systems)
    made = table(title)
    for system in systems:
        name = plain(system.name, "" if system.is_control else BOLD, _NAME_LENGTH)
        add_number(made, Text.assemble(name, (" " + "n".rjust(width), DIM)))

    def row(label: str, cells: Sequence[tuple[str, float | int | None]]) -> None:
        styles = ("" if system.is_control else BOLD for system in systems)
        made.add_row(
            label,
            *(
                with_n(text, n, width, style)
                for (text, n), style in zip(cells, styles, strict=True)
            ),
        )

    rows = [s.figures for s in systems]
    row("passed", [(count(f["passed"]), f["cases"]) for f in rows])
    for kind in PASS_KINDS:
        if totals.get(kind) or any(f[f"passed_{kind}"] for f in rows):
            label = "  " + kind.replace("_", " ")
            row(label, [(count(f[f"passed_{kind}"]), totals.get(kind)) for f in rows])
    for measure in _MEANS:
        if any(f[measure.name] is not None for f in rows):
            write = FORMATS[measure.unit]
            row(measure.label, [(write(f[measure.name]), f[measure.n or ""]) for f in rows])
    return made


def categories(judged: Sequence[Judged]) -> Table:
    """Passes, precision and recall by category, in the order of the corpus."""
    made = table("Category")
    parts = summarize_by_category(j.score for j in judged)
    width = max((len(count(part["cases"])) for part in parts.values()), default=1)
    for head in ("passed", "precision", "recall"):
        add_number(made, f"{head} {'n'.rjust(width)}")
    for category, part in parts.items():
        made.add_row(
            plain(category or NONE),
            with_n(count(part["passed"]), part["cases"], width),
            with_n(rate(part["mean_precision"]), part["n_precision"], width),
            with_n(rate(part["mean_recall"]), part["n_recall"], width),
        )
    return made


def turns(judged: Sequence[Judged]) -> Table:
    """Every session turn with its figures; a session's id stands above its turns."""
    made = table("Session turn")
    add_text(made, "", keep=True)
    for head in ("precision", "recall", "drift", "mutated"):
        add_number(made, head)
    last = None
    for record, _, score, _ in judged:
        if record.case_id != last:
            made.add_row(plain(record.case_id, DIM))
            last = record.case_id
        made.add_row(
            plain(f"{record.turn_index:>3} {record.label}"),
            Text("passed") if score.passed else Text("failed", style=BAD),
            *(value(rate(v)) for v in (score.precision, score.recall, score.drift)),
            value(NONE if score.mutated is None else "yes" if score.mutated else "no"),
        )
    return made


def times(report: Report, evaluation: Evaluation) -> Table | None:
    """How long searches and writes took, in ms; ``None`` if nothing was timed."""
    rows: list[tuple[str, Sequence[float]]] = []
    for label, judged in (
        ("search, single turn", evaluation.cases),
        ("search, sessions", evaluation.turns),
    ):
        found = [j.record.latency_ms for j in judged]
        rows.append((label, [ms for ms in found if ms is not None]))
    for label, ingestion in (
        ("write a belief", report.ingestion),
        ("write a belief, sessions", report.session_ingestion),
    ):
        rows.append((label, [ms for _, ms in ingestion.per_belief] if ingestion else []))
    for label, new in (("write a belief, mid-session", True), ("change a belief", False)):
        found = [c.latency_ms for c in report.changes if (c.action == "add") == new]
        rows.append((label, [ms for ms in found if ms is not None]))
    timed = [row for row in rows if row[1]]
    if not timed:
        return None
    made = table("Time in ms")
    for head in ("mean", "p50", "p95", "n"):
        add_number(made, head)
    for label, values in timed:
        middle, high = percentile(values, 0.5), percentile(values, 0.95)
        made.add_row(
            label,
            *(value(milliseconds(v)) for v in (fsum(values) / len(values), middle, high)),
            Text(count(len(values)), style=DIM),
        )
    _seen(made, "until writes show", report.ingestion or report.session_ingestion)
    if evaluation.latency_ratio is not None:
        made.add_row("sessions / single turn", "", Text(rank(evaluation.latency_ratio)))
    return made


def _seen(made: Table, label: str, ingestion: Ingestion | None) -> None:
    if ingestion is not None and ingestion.visible_ms is not None:
        made.add_row(label, Text(milliseconds(ingestion.visible_ms)))


def case_scores(scores: Sequence[CaseScore]) -> Table:
    """One row a case: whether it passed, and its main figures."""
    made = table("Case")
    add_text(made, "", keep=True)
    for head in ("precision", "recall", "returned", "wrong"):
        add_number(made, head)
    for score in scores:
        turn = "" if score.turn_index is None else f" {score.turn_index}"
        status = "passed" if score.passed else "failed" if score.status == OK else score.status
        made.add_row(
            Id(score.case_id + turn),
            plain(status, "" if score.passed else BAD, 12),
            *(value(rate(v)) for v in (score.precision, score.recall)),
            count(score.returned),
            count(len(score.noise)),
        )
    return made
