"""Puts a board together from reports: rows, answers, and the corpora that they are about.

The same reports give the same board, in whatever order they come; no clock is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..baselines import baselines
from ..measures import MEASURES
from ..report import Evaluation, Report, judge
from ..rules import RULES, SPEC
from ..schema import Corpus
from .answers import answer_rows
from .facts import CONTROL, PUBLISHED, SOURCES, Row, facts
from .figures import RANKED_BY, figures, figures_row, note_repeats, rank, scored_part
from .marks import RETRIEVAL, SESSION, Mark
from .published import published_entry, published_mark, published_rows
from .subjects import (
    NATIVE,
    OFFICIAL,
    OFFICIAL_COUNTS,
    OFFICIAL_SHA256,
    corpus_id,
    corpus_row,
    may_show,
    unknown_corpus_row,
)
from .traits import label_rows

SCHEMA_VERSION = 1
KIND = "pmb-hf leaderboard"


class Run(NamedTuple):
    """A report that goes on the board.

    Attributes:
        report: The report.
        corpus: The corpus that it was made on; ``None`` if that is not here. Then its
            own figures are shown, and marked.
        file: Where the report itself lies beside the board.
        raw: The report's file, if it was published before and can't be written anew.
    """

    report: Report
    corpus: Corpus | None
    file: str | None = None
    raw: bytes | None = None


def board(
    runs: Iterable[Run],
    *,
    corpora: Sequence[Corpus] = (),
    own_texts: bool = False,
    published: bool = True,
) -> Row:
    """The board as a JSON-ready mapping; its fields are told in design/leaderboard.md.

    Args:
        runs: The reports; one that is there twice counts once.
        corpora: Corpora to show though no report may be on them.
        own_texts: Whether texts of corpora other than native may be shown. Those of
            the official corpus never are.
        published: Whether to add what upstream has published.
    """
    chosen = _once(runs)
    known = {corpus_id(c.name, c.sha256): c for c in corpora}
    known |= {corpus_id(r.corpus.name, r.corpus.sha256): r.corpus for r in chosen if r.corpus}
    shown = {key for key, corpus in known.items() if may_show(corpus, own_texts=own_texts)}
    rows: list[Row] = []
    answers: list[Row] = []
    for run in chosen:
        row, given = run_row(run, texts=_id_of(run) in shown)
        rows.append(row)
        answers += given
    if published:
        rows += published_rows(run.report for run in chosen)
    for key, corpus in known.items():
        rows += control_rows(key, corpus)
    rows.sort(key=_order)
    label_rows(rows)
    note_repeats(rows)
    for key in dict.fromkeys(row["corpus"] for row in rows):
        rank([row for row in rows if row["corpus"] == key])
    return {
        "schemaVersion": SCHEMA_VERSION,
        "kind": KIND,
        "updated": max((row["date"] for row in rows if row["date"]), default=None),
        "defaultRules": SPEC.name,
        "rankedBy": {part: list(names) for part, names in RANKED_BY.items()},
        "rules": [_rules(name) for name in RULES],
        "measures": [measure._asdict() for measure in MEASURES.values()],
        "corpora": _corpora(rows, chosen, known, shown),
        "rows": rows,
        "answers": sorted(answers, key=_places(rows)),
    }


def _once(runs: Iterable[Run]) -> list[Run]:
    found: dict[str, Run] = {}
    for run in sorted(runs, key=lambda run: (run.report.rules, run.file or "")):
        found.setdefault(facts(run.report)["id"], run)
    return list(found.values())


def _id_of(run: Run) -> str:
    """The corpus of a run; the one that it is scored on tells the hash that it may lack."""
    if run.corpus is not None:
        return corpus_id(run.corpus.name, run.corpus.sha256)
    return corpus_id(run.report.corpus_name, run.report.corpus_sha256)


def run_row(run: Run, *, texts: bool = False) -> tuple[Row, list[Row]]:
    """A run's row and its answers; neither label nor ranks, which depend on the other rows.

    Raises:
        ReportError: If the report is not of its corpus.
    """
    report, corpus = run.report, run.corpus
    entry = published_entry(report)
    row = facts(report) | {"corpus": _id_of(run), "file": run.file}
    if entry is not None:
        row |= {"source": PUBLISHED, "edition": entry["edition"]}
        row["embeddingModel"] = row["embeddingModel"] or entry["embeddingModel"]
    evaluations: dict[str, Evaluation | None] = {report.rules: None}
    answers: list[Row] = []
    if corpus is not None:
        made = {name: judge(report, corpus, name) for name in RULES}
        answers = answer_rows(row["id"], made, corpus, texts=texts)
        evaluations = dict(made)
    extra = [] if entry is None else [published_mark(entry["edition"])]
    row["scores"] = {
        name: figures(report, name, evaluation, extra) for name, evaluation in evaluations.items()
    }
    return row, answers


def control_rows(key: str, corpus: Corpus) -> list[Row]:
    """Floor and ceiling of a corpus: what returning nothing, everything, or the gold comes to."""
    found: dict[str, dict[str, Row]] = {}
    mark = Mark("control", "floor or ceiling, computed and not run")
    for name, rules in RULES.items():
        for made in baselines(corpus, rules):
            parts = {
                part: scored_part(summary)
                for part, summary in ((RETRIEVAL, made.retrieval), (SESSION, made.session))
                if summary is not None
            }
            found.setdefault(made.name, {})[name] = figures_row("computed", [mark], parts)
    empty = dict.fromkeys(facts(Report(provider="", rules=SPEC.name, records=())))
    return [
        empty
        | {
            "id": f"control-{name}-{key}",
            "provider": name,
            "options": {},
            "corpusName": corpus.name,
            "corpusSha256": corpus.sha256 or None,
            "corpus": key,
            "source": CONTROL,
            "file": None,
            "scores": scores,
        }
        for name, scores in found.items()
    ]


def _order(row: Row) -> tuple[object, ...]:
    names = (row["corpus"], SOURCES.index(row["source"]), row["provider"])
    told = (row["providerVersion"], row["optionsSha256"], row["date"])
    return (*names, *(value or "" for value in told), row["id"])


def _places(rows: Sequence[Row]) -> _Place:
    return _Place({row["id"]: place for place, row in enumerate(rows)})


class _Place:
    """Answers in the order of their rows; within a run they keep theirs."""

    def __init__(self, places: Mapping[str, int]) -> None:
        self.places = places

    def __call__(self, answer: Row) -> int:
        return self.places[answer["run"]]


def _corpora(
    rows: Sequence[Row],
    runs: Sequence[Run],
    known: Mapping[str, Corpus],
    shown: Iterable[str],
) -> list[Row]:
    texts = set(shown)
    found = {key: corpus_row(corpus, texts=key in texts) for key, corpus in known.items()}
    for run in runs:
        counts = run.report.provenance.get("corpus")
        key = _id_of(run)
        if key not in found:
            found[key] = unknown_corpus_row(
                run.report.corpus_name,
                run.report.corpus_sha256,
                counts if isinstance(counts, Mapping) else {},
            )
    if any(row["corpusSha256"] == OFFICIAL_SHA256 for row in rows):
        key = corpus_id(OFFICIAL, OFFICIAL_SHA256)
        if key not in found:
            found[key] = unknown_corpus_row(OFFICIAL, OFFICIAL_SHA256, OFFICIAL_COUNTS)
    first = {NATIVE: 0, OFFICIAL: 1}
    return sorted(found.values(), key=lambda c: (first.get(c["name"], 2), not c["here"], c["id"]))


def _rules(name: str) -> Row:
    rules = RULES[name]
    return {field: getattr(rules, field) for field in rules.__slots__}
