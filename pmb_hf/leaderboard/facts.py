"""What a run is: its identity, its system and where its figures come from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..cuts import run_rules_of
from ..measured import Ingestion, Record
from ..provenance import config_hash
from ..report import Report

Row = dict[str, Any]

RUN, HARNESS, PUBLISHED, CONTROL = SOURCES = (
    "run",
    "upstream's harness",
    "published by upstream",
    "control",
)
"""Where a row's figures come from."""

EMBEDDING_KEYS = ("embedding_model", "embeddingModel", "embedder", "embedding", "embed_model")
LLM_KEYS = ("llm", "llm_model", "llmModel", "chat_model")
"""Options and configuration keys that name the models of a system, the first one wins."""

_ID_LENGTH = 12
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}Z)?")


def run_id(report: Report) -> str:
    """A short hash of what was measured; texts of cases, beliefs and errors don't matter.

    A report keeps its id when it is scored under other rules.
    """
    parts = {
        "provider": report.provider,
        "config": config_of(report),
        # Scored again, a report of upstream's knows the hash of its corpus.
        "corpus": (None if is_from_upstream(report) else report.corpus_sha256)
        or report.corpus_name,
        "times": [report.provenance.get(key) for key in ("startedAt", "finishedAt")],
        "records": [_measured(record) for record in report.records],
    }
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_ID_LENGTH]


def _measured(record: Record) -> list[Any]:
    results = None if record.results is None else [list(result) for result in record.results]
    tiers = (record.relevant, record.pinned, record.questions)
    return [*record.key, *tiers, results, record.limit, record.latency_ms, record.status]


def config_of(report: Report) -> Mapping[str, Any]:
    """The run's configuration; empty if the report does not hold it."""
    config = report.provenance.get("config")
    return config if isinstance(config, dict) else {}


def options_of(report: Report) -> Row:
    """The provider's options; empty if the report does not hold them."""
    options = config_of(report).get("options")
    return dict(options) if isinstance(options, dict) else {}


def is_from_upstream(report: Report) -> bool:
    """Whether upstream's harness measured it, also if it has been scored again since."""
    return report.upstream or report.provenance.get("source") == "upstream"


def facts(report: Report) -> Row:
    """The columns of a row that do not depend on rules or corpus."""
    config, options, provenance = config_of(report), options_of(report), report.provenance
    return {
        "id": run_id(report),
        "provider": report.provider,
        "providerVersion": _text(config.get("providerVersion")),
        "embeddingModel": _model(EMBEDDING_KEYS, options, config),
        "llm": _model(LLM_KEYS, options, config),
        "options": options,
        "optionsSha256": config_hash(options) if config else None,
        "textMode": _text(config.get("textMode")),
        "returnCap": _whole(config.get("returnCap")),
        "runRules": run_rules_of(report).name,
        "distractors": None if report.among is None else dict(report.among),
        "corpusName": report.corpus_name,
        "corpusSha256": None if is_from_upstream(report) else report.corpus_sha256,
        "source": HARNESS if is_from_upstream(report) else RUN,
        "date": _date(provenance.get("finishedAt")) or _date(provenance.get("startedAt")),
        "pmbHf": _text(provenance.get("pmbHf")),
        "python": _text(provenance.get("python")),
        "platform": _text(provenance.get("platform")),
        "gitCommit": _text(provenance.get("gitCommit")),
        "stopped": _text(provenance.get("stopped")),
        "canUpdate": report.can_update,
        "ingestion": _ingestion(report.ingestion),
        "sessionIngestion": _ingestion(report.session_ingestion),
        "load": None if report.load is None else dict(report.load),
    }


def _model(keys: Sequence[str], *places: Mapping[str, Any]) -> str | None:
    for place in places:
        for key in keys:
            if (name := _text(place.get(key))) is not None:
                return name
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _date(value: Any) -> str | None:
    return value if isinstance(value, str) and _DATE.fullmatch(value) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _ingestion(ingestion: Ingestion | None) -> Row | None:
    if ingestion is None:
        return None
    wire = ingestion.to_wire()
    del wire["perBelief"]
    return wire
