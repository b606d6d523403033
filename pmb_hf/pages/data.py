"""What the page shows, gathered: reports that can be compared stand in one group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..baselines import Baseline, baselines
from ..curves import PartCurves, curves
from ..diagnose import Diagnosis, Tally, diagnoses, tally, tally_by_category
from ..expectations import RetrievalKey
from ..explain import Subject, subjects
from ..report import Evaluation, Judged, Report, judge
from ..schema import Corpus
from ..stats import Estimate, estimates
from ..summary import Summary
from ..tables.remarks import Remark, from_upstream, remarks
from ..tables.text import clean, numbered

LABEL_LENGTH = 40

RETRIEVAL, SESSION = "retrieval", "session"
PARTS = {RETRIEVAL: "Single turn", SESSION: "Sessions"}
"""The parts of a report and their titles."""


@dataclass(frozen=True)
class Panel:
    """One report, with everything that is computed from it.

    Attributes:
        label: The provider's name, made safe and short, and unique on the page.
        estimates: Intervals of the means, by part.
        diagnoses: What is wrong with each answer.
    """

    label: str
    report: Report
    evaluation: Evaluation
    judged: Mapping[RetrievalKey, Judged]
    estimates: Mapping[str, Mapping[str, Estimate]]
    diagnoses: Mapping[RetrievalKey, Diagnosis]
    curves: Sequence[PartCurves]
    remarks: Sequence[Remark]

    @property
    def upstream(self) -> bool:
        """Whether upstream's harness measured it."""
        return from_upstream(self.report)

    def rows(self, part: str) -> tuple[Judged, ...]:
        """The judged cases of a part."""
        return self.evaluation.turns if part == SESSION else self.evaluation.cases

    def summary(self, part: str) -> Summary | None:
        """The figures of a part; ``None`` if the report lacks it."""
        return self.evaluation.session if part == SESSION else self.evaluation.retrieval

    @cached_property
    def tally(self) -> Tally:
        """What is wrong, counted."""
        return tally(self.diagnoses.values())

    @cached_property
    def tally_by_category(self) -> Mapping[str, Tally]:
        """The same by category."""
        return tally_by_category(self.diagnoses.values())


@dataclass(frozen=True)
class Group:
    """Reports on one corpus under the same rules, so that they can be compared.

    Attributes:
        number: Its place on the page, from 0 on.
        subjects: The cases and turns that one of the reports answers.
        pass_kinds: For each part, how many cases there are of each pass kind;
            empty if the rules make that depend on the answer.
    """

    number: int
    corpus: Corpus
    rules: str
    panels: Sequence[Panel]
    baselines: Sequence[Baseline]
    subjects: Sequence[Subject]
    pass_kinds: Mapping[str, Mapping[str, int]]

    @property
    def parts(self) -> list[str]:
        """The parts that some report has."""
        return [part for part in PARTS if any(panel.rows(part) for panel in self.panels)]

    def controls(self, part: str) -> list[tuple[str, Summary]]:
        """Floor and ceiling of a part."""
        found = [(b.name, b.session if part == SESSION else b.retrieval) for b in self.baselines]
        return [(name, summary) for name, summary in found if summary is not None]


def gather(given: Iterable[tuple[Report, Corpus]], rules: str | None = None) -> list[Group]:
    """Judge reports and group those that can be compared, in the order given.

    Args:
        given: Each report with the corpus that it was made on.
        rules: Rules to score all of them under; ``None`` for each report's own.

    Raises:
        ReportError: If a report is not of its corpus.
        ValueError: If there are no such rules.
    """
    pairs = list(given)
    labels = _labels([report for report, _ in pairs])
    groups: dict[tuple[str, str], list[tuple[Panel, Corpus]]] = {}
    cases: dict[str, list[Subject]] = {}
    for (report, corpus), label in zip(pairs, labels, strict=True):
        identity = corpus.sha256 or corpus.name
        if identity not in cases:
            cases[identity] = list(subjects(corpus))
        panel = _panel(report, corpus, label, cases[identity], rules)
        key = identity, panel.evaluation.rules.name
        groups.setdefault(key, []).append((panel, corpus))
    return [
        _group(number, [panel for panel, _ in found], found[0][1], cases[identity])
        for number, ((identity, _), found) in enumerate(groups.items())
    ]


def _labels(reports: Sequence[Report]) -> list[str]:
    names = (clean(report.provider, LABEL_LENGTH).strip() for report in reports)
    return numbered([name or "(no name)" for name in names])


def _panel(
    report: Report, corpus: Corpus, label: str, cases: Sequence[Subject], rules: str | None
) -> Panel:
    evaluation = judge(report, corpus, rules)
    judged = (*evaluation.cases, *evaluation.turns)
    found = diagnoses(evaluation, corpus)
    parts = {RETRIEVAL: evaluation.cases, SESSION: evaluation.turns}
    return Panel(
        label=label,
        report=report,
        evaluation=evaluation,
        judged={j.record.key: j for j in judged},
        estimates={part: estimates(j.score for j in rows) for part, rows in parts.items()},
        diagnoses={(d.case_id, d.turn_index): d for d in found},
        curves=curves(report, evaluation, corpus),
        remarks=remarks(report, evaluation, cases),
    )


def _group(number: int, panels: Sequence[Panel], corpus: Corpus, cases: Sequence[Subject]) -> Group:
    rules = panels[0].evaluation.rules
    names = {RETRIEVAL: "retrieval", SESSION: "sessions"}
    parts = [names[part] for part in PARTS if any(panel.rows(part) for panel in panels)]
    answered = {key for panel in panels for key in panel.judged}
    shown = [subject for subject in cases if subject.key in answered]
    kinds: dict[str, Counter[str]] = {part: Counter() for part in PARTS}
    if rules.pass_kind == "assertion":
        for subject in shown:
            part = RETRIEVAL if subject.turn_index is None else SESSION
            kinds[part][subject.expected.pass_kind] += 1
    return Group(
        number=number,
        corpus=corpus,
        rules=rules.name,
        panels=panels,
        baselines=baselines(corpus, rules, parts),
        subjects=shown,
        pass_kinds=kinds,
    )
