"""The board as flat tables: the columns of the dataset configs ``leaderboard`` and ``results``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..dataset_rows import BOOL, FLOAT, INT, STRING, STRINGS, Column, Config
from ..measures import MEASURES, Measure
from ..report import Judged
from .facts import Row
from .marks import PARTS

_HEAD = (
    Column("id", STRING, "A hash of what was measured; `results` rows name it."),
    Column("label", STRING, "The provider with what tells it from other rows of that name."),
    Column("provider", STRING, "The memory system."),
    Column("provider_version", STRING, "Its version, if known."),
    Column("embedding_model", STRING, "Its embedding model, if known."),
    Column("llm", STRING, "Its language model, if known."),
    Column("options", STRING, "Its options, as a JSON object."),
    Column("options_sha256", STRING, "Hash of the options; null if they are not known."),
    Column("source", STRING, "`run`, `upstream's harness`, `published by upstream` or `control`."),
    Column("date", STRING, "When it was run, or evaluated; UTC."),
    Column("corpus", STRING, "Name and first digits of the hash of the corpus."),
    Column("corpus_name", STRING, "The corpus."),
    Column("corpus_sha256", STRING, "Its hash, as the run tells it; null if it doesn't."),
    Column("rules", STRING, "The rules that the figures are by; `spec` where that can be."),
    Column("run_rules", STRING, "The rules that it was run under."),
    Column("marks", STRINGS, "What must be said of it, and why it is not ranked, in sentences."),
    Column("file", STRING, "The report, in this dataset; null if it is not there."),
    Column("ingestion_ms", FLOAT, "Time to write the seed."),
    Column("latency_ratio", FLOAT, MEASURES["latency_ratio"].definition),
)
_PART = (
    ("rank", INT, "Its place; null if it is not ranked."),
    ("ranked", BOOL, "Whether nothing speaks against ranking it; null if the part is not there."),
    ("answered", INT, "Cases that are in the report."),
    ("of", INT, "Cases that should be."),
)
_TITLES = {"retrieval": "Single turn", "session": "Sessions"}


def _summary_columns(part: str) -> Iterator[Column]:
    done: set[str] = set()
    for measure in MEASURES.values():
        if measure.name == "latency_ratio" or measure.name in done:
            continue
        done.add(measure.name)
        told = f"{_TITLES[part]}: {measure.definition}"
        yield Column(f"{part}_{measure.name}", _type(measure), told)
        if measure.n is not None and measure.n not in {*MEASURES, *done}:
            done.add(measure.n)
            yield Column(f"{part}_{measure.n}", INT, f"{_TITLES[part]}: n of {measure.label}.")


def _type(measure: Measure) -> str:
    return INT if measure.unit == "count" else FLOAT


LEADERBOARD = (
    *_HEAD,
    *(
        column
        for part in PARTS
        for column in (
            *(Column(f"{part}_{name}", kind, f"{_TITLES[part]}: {t}") for name, kind, t in _PART),
            *_summary_columns(part),
        )
    ),
)

RESULTS = (
    Column("run", STRING, "The `id` of the run in `leaderboard`."),
    Column("provider", STRING, "The memory system."),
    Column("corpus", STRING, "Name and first digits of the hash of the corpus."),
    Column("case_id", STRING, "The case; predictions are joined by it."),
    Column("turn_index", INT, "The turn of a session; null for a single turn."),
    Column("category", STRING, "What the case tests."),
    Column("relevant_beliefs", STRINGS, "The relevant tier, best first. May be scored again."),
    Column("pinned_facts", STRINGS, "The pinned tier; null if it is not known."),
    Column("open_questions", STRINGS, "The question tier; null if it is not known."),
    Column("persona_prelude", STRING, "The prelude; null if it is not known, or not ours to show."),
    Column("returned_beliefs", STRINGS, "Ids as they were returned; null if that is not known."),
    Column("limit", INT, "How many results were asked for; null if none or if not known."),
    Column("latency_ms", FLOAT, "Time of the search call; null if none was made."),
    Column("status", STRING, "`ok`, or why there is no answer."),
    Column("rules", STRING, "The rules that the figures below are by."),
    Column("passed", BOOL, "Whether every assertion of the case holds."),
    Column("pass_kind", STRING, "`active`, `structural` or `trivially_empty`."),
    Column("precision", FLOAT, "Needed beliefs among those returned; null if it does not apply."),
    Column("recall", FLOAT, "Needed beliefs that were returned; null if it does not apply."),
    Column("drift", FLOAT, "Of turns: share that drifted; null if it does not apply."),
    Column("kinds", STRINGS, "What each relevant belief is: needed, or a kind of noise."),
    Column("missing", STRINGS, "Needed beliefs that are not there."),
    Column("failures", STRINGS, "Why the case failed."),
)

CONFIGS: Mapping[str, Config] = {
    config.name: config
    for config in (
        Config("leaderboard", "a row a run, with floors, ceilings and published rows", LEADERBOARD),
        Config("results", "a row a case and run, which can be scored again", RESULTS),
    )
}
"""The configs that an export has beside those of the dataset."""


def leaderboard_rows(board: Row) -> list[Row]:
    """One row for each of the board, under ``spec`` or else under the rules that it has."""
    return [_flat(row, board["defaultRules"]) for row in board["rows"]]


def shown_rules(row: Mapping[str, Any], wanted: str) -> str:
    """The rules that a row is shown under where there is room for one set only."""
    return wanted if wanted in row["scores"] else str(next(iter(row["scores"])))


def _flat(row: Row, wanted: str) -> Row:
    rules = shown_rules(row, wanted)
    figures = row["scores"][rules]
    ingestion = row["ingestion"] or row["sessionIngestion"] or {}
    flat: Row = dict.fromkeys(column.name for column in LEADERBOARD)
    flat |= {
        "id": row["id"],
        "label": row["label"],
        "provider": row["provider"],
        "provider_version": row["providerVersion"],
        "embedding_model": row["embeddingModel"],
        "llm": row["llm"],
        "options": json.dumps(row["options"], ensure_ascii=False, allow_nan=False, sort_keys=True),
        "options_sha256": row["optionsSha256"],
        "source": row["source"],
        "date": row["date"],
        "corpus": row["corpus"],
        "corpus_name": row["corpusName"],
        "corpus_sha256": row["corpusSha256"],
        "rules": rules,
        "run_rules": row["runRules"],
        "marks": [_told(mark) for mark in figures["marks"]],
        "file": row["file"],
        "ingestion_ms": ingestion.get("totalMs"),
        "latency_ratio": figures["latencyRatio"],
    }
    for part in PARTS:
        view = figures[part] or {}
        found = {name: view.get(name) for name, _, _ in _PART} | (view.get("summary") or {})
        known = {f"{part}_{name}": value for name, value in found.items()}
        flat |= {name: value for name, value in known.items() if name in flat}
    return flat


def _told(mark: Mapping[str, Any]) -> str:
    where = f"{mark['part']}: " if mark["part"] else ""
    return f"{where}{mark['text']}"


def result_rows(
    row: Row, rules: str, judged: Iterable[Judged], answers: Iterable[Row], *, texts: bool
) -> list[Row]:
    """One row a case of a run: a prediction of the metric, with its scores under ``rules``.

    ``answers`` are the rows of ``answers.answer_rows`` for the same run, in any order.
    """
    known = {(answer["caseId"], answer["turnIndex"]): answer for answer in answers}
    return [_result(row, rules, j, known[j.record.key], texts) for j in judged]


def _result(row: Row, rules: str, judged: Judged, answer: Row, texts: bool) -> Row:
    scores = answer["scores"][rules]
    return {
        "run": row["id"],
        "provider": row["provider"],
        "corpus": row["corpus"],
        "case_id": answer["caseId"],
        "turn_index": answer["turnIndex"],
        "category": answer["category"],
        "relevant_beliefs": answer["returned"],
        "pinned_facts": answer["pinned"],
        "open_questions": answer["questions"],
        "persona_prelude": judged.record.prelude if texts else None,
        "returned_beliefs": None
        if judged.record.results is None
        else [result.id for result in judged.record.results],
        "limit": answer["limit"],
        "latency_ms": answer["latencyMs"],
        "status": answer["status"],
        "rules": rules,
        "passed": answer["passed"],
        "pass_kind": scores["passKind"],
        "precision": scores["precision"],
        "recall": scores["recall"],
        "drift": scores["drift"],
        "kinds": answer["kinds"],
        "missing": [belief for belief, _ in answer["missing"]],
        "failures": answer["failures"],
    }
