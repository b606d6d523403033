"""Scores a file that a visitor gives: a report, or predictions."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import CorpusError, PmbError, PredictionError
from ..leaderboard.facts import facts
from ..leaderboard.figures import figures, figures_row
from ..leaderboard.marks import RETRIEVAL, SESSION
from ..leaderboard.subjects import corpus_id
from ..prediction_files import PlacedRow, place_of, read_rows
from ..records import CaseScore, MissingError, RowError
from ..report import Report, judge
from ..report_reader import parse_report
from ..rows import KIND_COLUMNS
from ..rules import RULES
from ..schema import Corpus
from ..summary import summarize, summarize_by_category
from ..tables.text import clean, count_of
from .parquet_rows import UnreadableError, read_parquet
from .wire import board_rows

MOST_BYTES = 5_000_000
MOST_ROWS = 2_000
LONGEST_ID = 200
SUFFIXES = (".json", ".jsonl", ".parquet")

_CORPORA = ("native", "official")
_ERROR_LENGTH = 600
_WARNINGS = 5
_NAMED = 3
MISS = "Count cases that are missing as failed"
"""What the page calls ``on_missing="miss"``."""


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
        rules: The name of the rules to score under.
        on_missing: ``"error"``, or ``"miss"`` to count a missing case as failed.

    Raises:
        PmbError: If it is too large, can't be read, or does not fit the cases; the
            message names file, case and field.
    """
    name = clean(path.name, 80)
    if rules not in RULES:
        raise PredictionError(f"choose the rules to score under: {', '.join(RULES)}")
    try:
        _check_size(path, name)
        tree = _report_tree(path)
        if tree is not None:
            return _score_report(parse_report(tree, where=name), name, rules)
        return _score_rows(path, name, rules, on_missing)
    except OSError as error:
        raise PredictionError(f"{name} can't be read; choose it again") from error
    except (PmbError, UnreadableError) as error:
        # The folder that it lies in is nobody's business.
        text = clean(_said(error, name).replace(str(path), name), _ERROR_LENGTH)
        raise PredictionError(text) from error


def _said(error: Exception, name: str) -> str:
    """What is wrong, with the place in the file, and as the page calls things."""
    cause = error.__cause__
    if isinstance(cause, MissingError):
        return f"{name}: no prediction for {cause.cases}; add it, or tick “{MISS}”"
    if not isinstance(cause, RowError):
        return str(error)
    place, first = place_of(cause.row), place_of(cause.first)
    said = str(error) if place is None else f"{place}: {error}"
    return said if first is None else f"{said}; the first is in {first}"


def _check_size(path: Path, name: str) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise PredictionError(f"{name}: give a {', '.join(SUFFIXES)} file")
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise PredictionError(f"{name} has {size:,} bytes; at most {MOST_BYTES:,} are scored here")


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
    _check_ids(((r.case_id, *r.relevant) for r in report.records), name)
    corpus = _named_corpus(report)
    evaluation = judge(report, corpus, rules)
    row = _row(name, corpus, rules, figures(report, rules, evaluation), facts(report))
    scores = [j.score for j in (*evaluation.cases, *evaluation.turns)]
    known = _beliefs_of(corpus) | {belief.id for belief in report.distractors}
    warned = _unknown((i for r in report.records for i in r.relevant), known, corpus)
    lacking = len(evaluation.missing)
    return Scored(row, _told(row, name, corpus, rules, scores, warned, lacking), corpus)


def _named_corpus(report: Report) -> Corpus:
    from ..corpus import load_corpus

    name = clean(report.corpus_name, 60)
    if not report.upstream and not report.provenance.get("corpus"):
        raise PredictionError(
            "the report doesn't say which corpus it was made on (provenance.corpus is missing); "
            "give it as `pmb run` wrote it"
        )
    if name not in _CORPORA:
        raise PredictionError(
            f"the report was made on the corpus {name!r}, which is not here; score it where that "
            "corpus is"
        )
    try:
        corpus = load_corpus(name)
    except (CorpusError, PmbError) as error:
        raise PredictionError(
            f"the report was made on the {name} corpus, which is not here; score it at home"
        ) from error
    made_on = report.corpus_sha256
    if made_on is not None and made_on != corpus.sha256:
        raise PredictionError(
            f"the report was made on another version of the {name} corpus (SHA-256 "
            f"{made_on[:12]}…) than the one here ({corpus.sha256[:12]}…); run again on this one"
        )
    return corpus


def _check_ids(rows: Iterable[Iterable[object]], name: str) -> None:
    """Refuse ids that are too long to show: each row gives its own."""
    for number, ids in enumerate(rows, 1):
        for found in ids:
            if isinstance(found, str) and len(found) > LONGEST_ID:
                raise PredictionError(
                    f"{name} row {number}: an id of {len(found):,} characters, which begins "
                    f"{clean(found, 40)!r}; an id has at most {LONGEST_ID}"
                )


def _beliefs_of(corpus: Corpus) -> set[str]:
    from ..dataset_rows import rows

    wanted = [row for config in ("retrieval", "sessions") for row in rows(corpus, config)]
    return {i for row in wanted for column in KIND_COLUMNS.values() for i in row[column]}


def _unknown(ids: Iterable[str], known: set[str], corpus: Corpus) -> list[str]:
    """A sentence on ids that are of no belief, if there are any."""
    found = list(dict.fromkeys(i for i in ids if i not in known))
    if not found:
        return []
    names = ", ".join(repr(clean(i, 60)) for i in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    count = count_of(len(found), "id")
    return [f"The answers hold {count} of no belief in the {corpus.name} corpus: {names}{more}."]


def _score_rows(path: Path, name: str, rules: str, on_missing: str) -> Scored:
    from ..dataset_rows import rows as reference_rows
    from ..evaluation import score_cases

    given = _rows_of(path, name)
    _check_rows(len(given), name)
    _check_ids(map(_ids_of, given), name)
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
    warned = _unknown((i for r in given for i in _ids_of(r)[1:]), _beliefs_of(corpus), corpus)
    warned += [str(warning.message) for warning in caught]
    return Scored(row, _told(row, name, corpus, rules, every, warned, 0), corpus)


def _rows_of(path: Path, name: str) -> list[dict[str, Any]]:
    if path.suffix.lower() != ".parquet":
        return read_rows(path)
    rows = read_parquet(path, MOST_ROWS)
    return [PlacedRow(row, f"{name} row {number}") for number, row in enumerate(rows, 1)]


def _ids_of(row: Mapping[str, Any]) -> list[Any]:
    """The case and what was returned for it, whatever that is."""
    returned = row.get("relevant_beliefs")
    return [row.get("case_id"), *(returned if isinstance(returned, list) else ())]


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
    lacking: int,
) -> dict[str, Any]:
    missed = sum(score.status == "missing" for score in scores)
    shown = [*row["marks"], *(clean(text, 300) for text in warned[:_WARNINGS])]
    if missed:
        shown.append(f"{count_of(missed, 'case')} had no prediction and count as failed.")
    passed = f"{sum(score.passed for score in scores)} of {len(scores)}"
    if lacking:
        shown.append(f"{count_of(lacking, 'case')} of the corpus are lacking in the file.")
        passed += f" in the file; {lacking:,} of {len(scores) + lacking:,} are lacking"
    return {
        "title": name,
        "warnings": shown,
        "facts": [
            ("passed", passed),
            ("corpus", f"{corpus.name} {corpus.sha256[:12]}"),
            ("rules", rules),
        ],
        "notes": ["Your file stands first in the table, with no rank. It is not published."],
    }
