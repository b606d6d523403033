"""What upstream has published of thirteen systems, in June and September 2026.

The figures are facts and stand in ``published.json``; nobody here has run these systems.
Where upstream published the returned ids, too, the figures under ``spec`` are computed
from those.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..report import Report
from .facts import PUBLISHED, Row, is_from_upstream
from .figures import bare_part, figures_row
from .marks import PARTS, RETRIEVAL, SESSION, Mark
from .subjects import OFFICIAL, OFFICIAL_SHA256, corpus_id

FILE = Path(__file__).with_name("published.json")

_EDITIONS = {"2026-06": "June 2026", "2026-09": "September 2026"}
_STATED = {
    RETRIEVAL: {"totalPassed": "passed", "p50LatencyMs": "p50_latency_ms"},
    SESSION: {"totalPassed": "passed", "p50LatencyMs": "p50_latency_ms"},
}


def entries() -> list[Row]:
    """The published systems as they stand in the file, with ``source``."""
    tree = json.loads(FILE.read_text(encoding="utf-8"))
    return [{**row, "source": tree["source"]} for row in tree["rows"]]


def published_rows(given: Iterable[Report] = ()) -> list[Row]:
    """A row for each published system, without those whose published report is ``given``."""
    known = {entry_id(entry) for report in given if (entry := published_entry(report))}
    return [_row(entry) for entry in entries() if entry_id(entry) not in known]


def published_entry(report: Report) -> Row | None:
    """The entry that a report of upstream's harness is the source of; ``None`` if of none.

    A report is a published one if it states the published passes and latency.
    """
    if not is_from_upstream(report):
        return None
    for entry in entries():
        if entry["provider"] == report.provider and entry["recomputed"]:
            told = [part for part in PARTS if part in report.stated]
            if told and all(_agrees(entry["published"][part], report, part) for part in told):
                return entry
    return None


def _agrees(figures: Mapping[str, Any] | None, report: Report, part: str) -> bool:
    stated = report.stated[part]
    return (
        figures is not None
        and isinstance(stated, Mapping)
        and all(stated.get(name) == figures[key] for name, key in _STATED[part].items())
    )


def entry_id(entry: Mapping[str, Any]) -> str:
    """What rows call a published system."""
    parts = ("published", entry["edition"], entry["provider"])
    extra = entry["embeddingModel"] if entry["recomputed"] is None else None
    return "-".join([*parts, *([extra] if extra and entry["edition"] == "2026-06" else [])])


def published_mark(edition: str) -> Mark:
    """The mark that every published row bears."""
    return Mark("published", f"published by upstream ({_EDITIONS[edition]}), not run by us")


def _row(entry: Row) -> Row:
    scores = {entry["published"]["rules"]: _figures(entry, entry["published"], "published")}
    if entry["recomputed"] is not None:
        text = "computed by us from the ids that upstream recorded"
        scores[entry["recomputed"]["rules"]] = _figures(entry, entry["recomputed"], text)
    evaluated = entry["evaluated"]
    return {
        "id": entry_id(entry),
        "provider": entry["provider"],
        "providerVersion": None,
        "embeddingModel": entry["embeddingModel"],
        "llm": None,
        "options": {},
        "optionsSha256": None,
        "textMode": None,
        "returnCap": None,
        "distractors": None,
        "runRules": entry["published"]["rules"],
        "corpusName": OFFICIAL,
        "corpusSha256": OFFICIAL_SHA256,
        "corpus": corpus_id(OFFICIAL, OFFICIAL_SHA256),
        "source": PUBLISHED,
        "edition": entry["edition"],
        "published": {
            "name": entry["source"]["name"],
            "url": entry["source"]["url"],
            "where": entry["source"]["editions"][entry["edition"]],
            "evaluated": evaluated,
            "sessionEvaluated": entry.get("sessionEvaluated", evaluated),
        },
        "date": evaluated,
        "pmbHf": None,
        "python": None,
        "platform": None,
        "gitCommit": None,
        "stopped": None,
        "canUpdate": None,
        "ingestion": _ingestion(entry["ingestionMs"]),
        "sessionIngestion": None,
        "load": None,
        "file": None,
        "scores": scores,
    }


def _ingestion(total_ms: float | None) -> Row | None:
    return None if total_ms is None else {"totalMs": total_ms}


def _figures(entry: Row, told: Row, basis: str) -> Row:
    found = [published_mark(entry["edition"])]
    if told["rules"] != entry["published"]["rules"]:
        found.append(
            Mark("run rules", f"run under the rules {entry['published']['rules']}; {basis}")
        )
    if "note" in entry:
        found.append(Mark("note", entry["note"], RETRIEVAL, blocks=False))
    if entry["edition"] == "2026-09" and entry["evaluated"] is None:
        found.append(Mark("note", "not evaluated anew: these are June's figures", blocks=False))
    parts = {
        part: bare_part(told[part], told[part]["cases"]) for part in PARTS if told[part] is not None
    }
    return figures_row(basis, found, parts)
