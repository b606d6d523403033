"""Scores a file that a visitor gives: a report, or predictions. Nothing of it is kept."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import CorpusError, PmbError, PredictionError
from ..leaderboard.facts import facts
from ..leaderboard.figures import figures, figures_row
from ..leaderboard.marks import RETRIEVAL, SESSION
from ..leaderboard.subjects import corpus_id
from ..records import CaseScore
from ..report import Report, judge
from ..report_reader import parse_report
from ..schema import Corpus
from ..summary import summarize, summarize_by_category
from ..tables.text import clean, count_of
from .wire import board_rows

MOST_BYTES = 5_000_000
MOST_ROWS = 2_000
MOST_UNPACKED = 50_000_000
"""Of a Parquet file, whose columns are packed."""
SUFFIXES = (".json", ".jsonl", ".parquet")

_CORPORA = ("native", "official")
_ERROR_LENGTH = 600
_WARNINGS = 5


class Scored(NamedTuple):
    """What came of a file: a row of the board, what to tell, and the corpus it was scored on."""

    row: Mapping[str, Any]
    told: dict[str, Any]
    scored_on: Corpus

    @property
    def corpus(self) -> str:
        """What boards call that corpus."""
        return corpus_id(self.scored_on.name, self.scored_on.sha256)


def score_file(path: Path, rules: str, *, on_missing: str = "error") -> Scored:
    """Score a report or a file of predictions.

    Args:
        path: A ``.json``, ``.jsonl`` or ``.parquet`` file; its name is shown.
        rules: The rules to score under.
        on_missing: ``"error"``, or ``"miss"`` to count a missing case as failed.

    Raises:
        PmbError: If it is too large, can't be read, or does not fit the cases; the
            message names file, case and field.
    """
    name = clean(path.name, 80)
    try:
        _check_size(path, name)
        tree = _report_tree(path)
        if tree is not None:
            return _score_report(parse_report(tree, where=name), name, rules)
        return _score_rows(path, name, rules, on_missing)
    except PmbError as error:
        # The folder that it lies in is nobody's business.
        text = clean(str(error).replace(str(path), name), _ERROR_LENGTH)
        raise PredictionError(text) from error


def _check_size(path: Path, name: str) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise PredictionError(f"{name}: give a {', '.join(SUFFIXES)} file")
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise PredictionError(f"{name} has {size:,} bytes; at most {MOST_BYTES:,} are scored here")
    if path.suffix.lower() == ".parquet":
        _check_parquet(path, name)


def _check_parquet(path: Path, name: str) -> None:
    import pyarrow
    import pyarrow.parquet

    try:
        found = pyarrow.parquet.read_metadata(path)
    except (pyarrow.ArrowException, OSError) as error:
        text = f"{name} is no Parquet file that can be read"
        raise PredictionError(text) from error
    unpacked = sum(found.row_group(n).total_byte_size for n in range(found.num_row_groups))
    _check_rows(found.num_rows, name)
    if unpacked > MOST_UNPACKED:
        raise PredictionError(f"{name} unpacks to {unpacked:,} bytes; it is too large")


def _check_rows(rows: int, name: str) -> None:
    if rows > MOST_ROWS:
        raise PredictionError(f"{name} has {rows:,} rows; at most {MOST_ROWS:,} are scored here")


def _report_tree(path: Path) -> dict[str, Any] | None:
    """The report that a JSON file holds; ``None`` if it is no report."""
    if path.suffix.lower() != ".json":
        return None
    try:
        tree = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        return None  # the reader of rows says what is wrong, and where
    is_report = isinstance(tree, dict) and "provider" in tree and {"cases", "session"} & set(tree)
    return tree if is_report else None


def _score_report(report: Report, name: str, rules: str) -> Scored:
    _check_rows(len(report.records), name)
    corpus = _named_corpus(report)
    evaluation = judge(report, corpus, rules)
    row = _row(name, corpus, rules, figures(report, rules, evaluation), facts(report))
    scores = [j.score for j in (*evaluation.cases, *evaluation.turns)]
    return Scored(row, _told(row, name, corpus, rules, scores, ()), corpus)


def _named_corpus(report: Report) -> Corpus:
    from ..corpus import load_corpus

    name = report.corpus_name
    if name not in _CORPORA:
        raise PredictionError(
            f"the report was made on the corpus {name!r}, which is not here; score it where that "
            "corpus is: pmb rescore REPORT --corpus DIR"
        )
    try:
        return load_corpus(name)
    except (CorpusError, PmbError) as error:
        raise PredictionError(
            f"the report was made on the {name} corpus, which is not here; score it at home: "
            "pmb data fetch, then pmb show REPORT"
        ) from error


def _score_rows(path: Path, name: str, rules: str, on_missing: str) -> Scored:
    from ..dataset_rows import rows as reference_rows
    from ..evaluation import score_cases
    from ..prediction_files import read_rows

    given = read_rows(path)
    _check_rows(len(given), name)
    if not given:
        raise PredictionError(f"{name} holds no rows")
    corpus = _fitting_corpus(given, name)
    parts = {
        RETRIEVAL: [row for row in given if row.get("turn_index") is None],
        SESSION: [row for row in given if row.get("turn_index") is not None],
    }
    configs = {RETRIEVAL: "retrieval", SESSION: "sessions"}
    scores: dict[str, list[CaseScore]] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for part, rows in parts.items():
            if rows:
                wanted = reference_rows(corpus, configs[part])
                scores[part] = score_cases(rows, wanted, rules=rules, on_missing=on_missing)
    views = {part: _part(found) for part, found in scores.items()}
    row = _row(name, corpus, rules, figures_row("scored", [], views), {})
    every = [score for found in scores.values() for score in found]
    told = _told(row, name, corpus, rules, every, [str(warning.message) for warning in caught])
    return Scored(row, told, corpus)


def _fitting_corpus(rows: Sequence[Mapping[str, Any]], name: str) -> Corpus:
    """The corpus that holds most of the case ids."""
    from ..corpus import load_corpus

    ids = {row.get("case_id") for row in rows if isinstance(row.get("case_id"), str)}
    found: list[tuple[int, Corpus]] = []
    for known in _CORPORA:
        try:
            corpus = load_corpus(known)
        except PmbError:
            continue
        cases = {case.case_id for case in corpus.cases}
        cases |= {session.case_id for session in corpus.sessions}
        found.append((len(ids & cases), corpus))
    most, corpus = max(found, key=lambda pair: pair[0])
    if ids and not most:
        first = clean(str(next(iter(sorted(map(str, ids))))), 60)
        names = ", ".join(corpus.name for _, corpus in found)
        raise PredictionError(
            f"{name}: no case_id is of a corpus that is here ({names}); the first is {first!r}"
        )
    return corpus


def _part(scores: Sequence[CaseScore]) -> dict[str, Any]:
    by_category = summarize_by_category(scores)
    return {
        "answered": len(scores),
        "of": len(scores),
        "statuses": dict(Counter(score.status for score in scores)),
        "summary": summarize(scores),
        "categories": by_category,
    }


def _row(
    name: str, corpus: Corpus, rules: str, view: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    wire = {
        "id": "yours",
        "label": f"Your file: {name}",
        "provider": name,
        "source": "your file",
        **{key: value for key, value in known.items() if key not in {"id", "provider", "source"}},
        "corpus": corpus_id(corpus.name, corpus.sha256),
        "scores": {rules: view},
    }
    return board_rows(wire)[0]


def _told(
    row: Mapping[str, Any],
    name: str,
    corpus: Corpus,
    rules: str,
    scores: Sequence[CaseScore],
    warned: Sequence[str],
) -> dict[str, Any]:
    missed = sum(score.status == "missing" for score in scores)
    shown = [*row["marks"], *(clean(text, 300) for text in warned[:_WARNINGS])]
    if missed:
        shown.append(f"{count_of(missed, 'case')} had no prediction and count as failed.")
    passed = sum(score.passed for score in scores)
    return {
        "title": name,
        "warnings": shown,
        "facts": [
            ("passed", f"{passed} of {len(scores)}"),
            ("corpus", f"{corpus.name} {corpus.sha256[:12]}"),
            ("rules", rules),
        ],
        "notes": ["The file was scored and deleted. It stands first in the table, with no rank."],
    }
