"""Whether two reports can be compared, and what must be said if they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .cuts import run_rules_of
from .expectations import RetrievalKey
from .report import Evaluation, Judged, Report
from .tables.text import count_of

RULES, CORPUS, DISTRACTORS, RUN_RULES, RETURN_CAP, STATUSES, CASES, STOPPED = MARKS = (
    "rules",
    "corpus",
    "distractors",
    "run rules",
    "return cap",
    "statuses",
    "cases",
    "stopped",
)
"""In what two reports can differ. The first two make their figures incomparable."""

_FATAL = (RULES, CORPUS)
_UPSTREAM_UNKNOWN = "corpus hash, return cap and statuses"


class Entry(NamedTuple):
    """A report that is compared: what it is called, and how it was judged."""

    name: str
    report: Report
    evaluation: Evaluation

    @property
    def judged(self) -> Mapping[RetrievalKey, Judged]:
        """Its cases and turns by key, in their order."""
        rows = (*self.evaluation.cases, *self.evaluation.turns)
        return {judged.record.key: judged for judged in rows}


class Mark(NamedTuple):
    """One way in which two reports differ; ``what`` is one of ``MARKS``."""

    what: str
    text: str

    @property
    def fatal(self) -> bool:
        """Whether it makes the figures incomparable."""
        return self.what in _FATAL


def comparable(a: Entry, b: Entry) -> bool:
    """Whether both are of the same corpus under the same rules."""
    return not any(mark.fatal for mark in (*_rules(a, b), *_corpus(a.report, b.report)))


def marks(a: Entry, b: Entry) -> list[Mark]:
    """In what two reports differ beside their answers, the most serious first."""
    return [
        *_rules(a, b),
        *_corpus(a.report, b.report),
        *_distractors(a.report, b.report),
        *_caps(a, b),
        *_statuses(a, b),
        *_cases(a, b),
        *_stopped(a, b),
    ]


def not_known(entries: list[Entry]) -> list[str]:
    """What can't be checked, in sentences: reports of upstream do not hold it."""
    names = [entry.name for entry in entries if entry.report.upstream]
    if not names:
        return []
    whose = "any of them" if len(names) == len(entries) else ", ".join(names)
    return [f"Not known of {whose}: {_UPSTREAM_UNKNOWN}."]


def _rules(a: Entry, b: Entry) -> Iterator[Mark]:
    first, second = a.evaluation.rules.name, b.evaluation.rules.name
    if first != second:
        yield Mark(
            RULES, f"scored under the rules {first} and {second}; give the same ones by --rules"
        )
        return
    first, second = run_rules_of(a.report).name, run_rules_of(b.report).name
    if first != second:
        yield Mark(
            RUN_RULES,
            f"run under the rules {first} and {second}: scopes were sent and contexts put "
            "together in different ways",
        )


def _corpus(a: Report, b: Report) -> Iterator[Mark]:
    first, second = a.corpus_sha256, b.corpus_sha256
    names = f"{a.corpus_name} and {b.corpus_name}"
    if first is not None and second is not None:
        if first != second:
            yield Mark(
                CORPUS, f"made on different corpora, {names} ({first[:12]}… and {second[:12]}…)"
            )
    elif a.corpus_name != b.corpus_name:
        yield Mark(CORPUS, f"made on different corpora, {names}")


def _distractors(a: Report, b: Report) -> Iterator[Mark]:
    """Cases and right answers are the same, so that the figures tell what the store does."""
    if a.among != b.among:
        first, second = (_told_distractors(report) for report in (a, b))
        yield Mark(DISTRACTORS, f"asked of stores of different size: {first} and {second}")


def _told_distractors(report: Report) -> str:
    if report.among is None:
        return "no distractors"
    number = report.among.get("count")
    noun = "distractor" if number == 1 else "distractors"
    return f"{number} {noun} of seed {report.among.get('seed')}"


def _caps(a: Entry, b: Entry) -> Iterator[Mark]:
    first, second = a.judged, b.judged
    caps: Counter[tuple[int, int]] = Counter()
    for key in first.keys() & second.keys():
        one, other = first[key].record.limit, second[key].record.limit
        if one is not None and other is not None and one != other:
            caps[one, other] += 1
    if caps:
        (one, other), _ = caps.most_common(1)[0]
        yield Mark(
            RETURN_CAP,
            f"asked for different numbers of results in {count_of(sum(caps.values()), 'case')}, "
            f"{one} and {other} for the most part",
        )


def _statuses(a: Entry, b: Entry) -> Iterator[Mark]:
    first, second = (Counter(j.record.status for j in e.judged.values()) for e in (a, b))
    names = sorted({*first, *second} - {"ok"})
    if any(first[name] != second[name] for name in names):
        told = ", ".join(f"{first[name]} and {second[name]} × {name}" for name in names)
        yield Mark(STATUSES, f"failures to answer differ: {told}")


def _cases(a: Entry, b: Entry) -> Iterator[Mark]:
    first, second = a.judged.keys(), b.judged.keys()
    if first != second:
        yield Mark(
            CASES,
            f"{count_of(len(first - second), 'case')} only in {a.name}, "
            f"{len(second - first)} only in {b.name}",
        )


def _stopped(a: Entry, b: Entry) -> Iterator[Mark]:
    for entry in (a, b):
        if entry.report.provenance.get("stopped"):
            yield Mark(STOPPED, f"the run of {entry.name} stopped early")
