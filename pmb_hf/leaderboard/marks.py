"""Why a row can't be ranked, and what else must be said beside its figures. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..baselines import CONTROLS
from ..context import DEFAULT_MAX_BELIEFS
from ..cuts import run_rules_of
from ..measured import Record
from ..records import OK
from ..report import Evaluation, Report
from .facts import config_of, is_from_upstream, options_of

RETRIEVAL, SESSION = PARTS = ("retrieval", "session")
"""The parts of a report, as its figures are kept."""

CAP_OPTIONS = ("top_k", "limit", "max_results", "num_results", "return_cap")
CUT_OPTIONS = ("min_score", "threshold", "score_threshold", "similarity_threshold", "cutoff")
"""Options that cut every answer to a fixed length, or at a fixed score.

``k`` is none of them: it is the constant of reciprocal rank fusion.
"""


class Mark(NamedTuple):
    """Something that must be said of a row.

    Attributes:
        what: A short word: ``run rules``, ``corpus``, ``return cap``, ``statuses``,
            ``incomplete``, ``published``, ``control``, ``not scored``, ``not known``,
            ``changes``, ``distractors``, ``cut``, ``text mode``, ``stopped`` or ``note``.
        text: A sentence for the reader.
        part: The part that it is about; ``None`` for the whole row.
        blocks: Whether the row, or its part, is not ranked because of it.
    """

    what: str
    text: str
    part: str | None = None
    blocks: bool = True

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return self._asdict()


def marks(report: Report, rules: str, evaluation: Evaluation | None) -> list[Mark]:
    """Every mark of a report under ``rules``; without an evaluation it can't be scored here."""
    found = [*_whole(report, rules)]
    if evaluation is None:
        found.append(
            Mark(
                "not scored",
                "figures as the report states them: its corpus is not here, so it was not "
                "scored again",
            )
        )
    for part, rows in ((RETRIEVAL, report.cases), (SESSION, report.turns)):
        found += _of_part(report, part, rows, missing(report, evaluation, part))
    return found


def missing(report: Report, evaluation: Evaluation | None, part: str) -> int:
    """How many cases of its part a report lacks, by the corpus or else by what it tells of it."""
    if evaluation is not None:
        return sum((turn is not None) == (part == SESSION) for _, turn in evaluation.missing)
    told = report.provenance.get("corpus")
    name, rows = ("turns", report.turns) if part == SESSION else ("cases", report.cases)
    of = told.get(name) if isinstance(told, Mapping) else None
    return max(0, of - len(rows)) if isinstance(of, int) else 0


def _whole(report: Report, rules: str) -> Iterator[Mark]:
    run_rules = run_rules_of(report).name
    if run_rules != rules:
        yield Mark(
            "run rules",
            f"run under the rules {run_rules} and scored under {rules}: scopes were sent and "
            "contexts put together in another way",
        )
    if report.among is not None:
        yield Mark("distractors", f"made among {_number(report.among)} distractors: a harder task")
    if report.provider in CONTROLS:
        yield Mark("control", "a control, no memory system")
    if is_from_upstream(report) or not config_of(report):
        yield Mark("not known", "corpus hash, return cap and failures to answer are not known")
    yield from _settings(report)


def _number(recipe: Mapping[str, Any]) -> str:
    count = recipe.get("count")
    return f"{count:,}" if isinstance(count, int) else "added"


def _settings(report: Report) -> Iterator[Mark]:
    config, options = config_of(report), options_of(report)
    cap = config.get("returnCap", DEFAULT_MAX_BELIEFS)
    if isinstance(cap, int) and cap != DEFAULT_MAX_BELIEFS:
        yield Mark("return cap", f"asked for {cap} results, not for {DEFAULT_MAX_BELIEFS}")
    asked = max((r.limit for r in report.records if r.limit is not None), default=None)
    for name in _set(options, CAP_OPTIONS):
        if asked is not None and options[name] >= asked:
            continue  # never reached
        yield Mark(
            "return cap",
            f"every answer is cut to {name}={options[name]}: a fixed length is set by the user, "
            "not found by the system",
        )
    for name in _set(options, CUT_OPTIONS):
        yield Mark("cut", f"answers are cut at {name}={options[name]}", blocks=False)
    text_mode = config.get("textMode", "all")
    if text_mode != "all":
        yield Mark("text mode", f"memories were stored as {text_mode}, not whole", blocks=False)
    if report.provenance.get("stopped"):
        yield Mark("stopped", "the run stopped early", blocks=False)


def _set(options: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    numbers = {
        name
        for name, value in options.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return [name for name in names if name in numbers]


def _of_part(report: Report, part: str, rows: Sequence[Record], lacking: int) -> Iterator[Mark]:
    if not rows:
        return
    if lacking:
        total = len(rows) + lacking
        yield Mark("incomplete", f"{len(rows)}/{total} cases: no figures are given", part)
    bad = Counter(record.status for record in rows if record.status != OK)
    if bad:
        kinds = ", ".join(f"{number} {status}" for status, number in sorted(bad.items()))
        yield Mark(
            "statuses",
            f"{bad.total()} of {len(rows)} cases got no answer ({kinds}): no figures are given",
            part,
        )
    failed = sum(change.status != OK for change in report.changes)
    if part == SESSION and failed:
        yield Mark("changes", f"{failed} of {len(report.changes)} changes of beliefs failed", part)
