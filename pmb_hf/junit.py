"""Writes a scored report as JUnit XML, which CI systems show case by case.

A category is a test suite and a case or turn is a test case. A case that was
answered wrongly is a failure; one that was not answered is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from .files import write_atomically
from .gate import case_name, key_name
from .records import OK
from .report import Evaluation, Judged, Report

NOT_RUN = "not run"
"""The suite of the cases that the corpus has and the report lacks."""

# What XML 1.0 has no way to write: control characters, surrogates, U+FFFE and U+FFFF.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(path: str | Path, report: Report, evaluation: Evaluation) -> None:
    """Write :func:`junit_xml` to ``path``; its directory is made if need be.

    Raises:
        OSError: If it can't be written.
    """
    write_atomically(Path(path), junit_xml(report, evaluation))


def junit_xml(report: Report, evaluation: Evaluation) -> str:
    """The report as JUnit XML: a ``testsuite`` a category, a ``testcase`` a case or turn.

    Times are those of the search call, in seconds; a case without one has no
    ``time``. Characters that XML can't hold are left out.
    """
    root = ET.Element("testsuites", {"name": _text(f"pmb {report.provider}")})
    for category, judged in _by_category((*evaluation.cases, *evaluation.turns)).items():
        suite = _suite(root, category, judged)
        _properties(suite, report, evaluation)
        for one in judged:
            _case(suite, one, category)
    if evaluation.missing:
        _missing(root, evaluation)
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    timed = [one.score.latency_ms for one in (*evaluation.cases, *evaluation.turns)]
    root.set("time", _seconds(timed))
    ET.indent(root)
    body = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _by_category(judged: Iterable[Judged]) -> dict[str, list[Judged]]:
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(one.record.category, []).append(one)
    return groups


def _suite(root: ET.Element, category: str, judged: Sequence[Judged]) -> ET.Element:
    failed = [one for one in judged if not one.score.passed]
    errors = sum(one.record.status != OK for one in judged)
    return ET.SubElement(
        root,
        "testsuite",
        {
            "name": _text(category or "no category"),
            "tests": str(len(judged)),
            "failures": str(sum(one.record.status == OK for one in failed)),
            "errors": str(errors),
            "skipped": "0",
            "time": _seconds([one.score.latency_ms for one in judged]),
        },
    )


def _properties(suite: ET.Element, report: Report, evaluation: Evaluation) -> None:
    started = report.provenance.get("startedAt")
    if isinstance(started, str) and (stamp := _stamp(started)):
        suite.set("timestamp", stamp)
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("provider", report.provider),
        ("rules", evaluation.rules.name),
        ("corpus", report.corpus_name),
        ("corpus_sha256", report.corpus_sha256),
    ):
        if value:
            ET.SubElement(properties, "property", {"name": name, "value": _text(value)})


def _case(suite: ET.Element, judged: Judged, category: str) -> None:
    record, score = judged.record, judged.score
    attributes = {"classname": _text(category or "no category"), "name": _text(case_name(judged))}
    if score.latency_ms is not None:
        attributes["time"] = _seconds([score.latency_ms])
    case = ET.SubElement(suite, "testcase", attributes)
    if record.status != OK:
        message = record.error or "no answer"
        error = ET.SubElement(
            case, "error", {"type": _text(record.status), "message": _text(message)}
        )
        error.text = _text("\n".join((message, *judged.failures)))
    elif not score.passed:
        first = judged.failures[0] if judged.failures else "failed"
        more = f" (and {len(judged.failures) - 1} more)" if len(judged.failures) > 1 else ""
        failure = ET.SubElement(
            case, "failure", {"type": "assertion", "message": _text(first + more)}
        )
        failure.text = _text("\n".join((*judged.failures, *_details(judged))))


def _details(judged: Judged) -> list[str]:
    record, wanted = judged.record, judged.expected
    details = [record.description] if record.description else []
    details.append(f"needed: {_ids(sorted(wanted.gold))}")
    details.append(f"returned: {_ids(record.relevant)}")
    return details


def _ids(ids: Iterable[str]) -> str:
    return ", ".join(ids) or "nothing"


def _missing(root: ET.Element, evaluation: Evaluation) -> None:
    count = str(len(evaluation.missing))
    suite = ET.SubElement(
        root,
        "testsuite",
        {"name": NOT_RUN, "tests": count, "failures": "0", "errors": "0", "skipped": count},
    )
    for key in evaluation.missing:
        name = _text(key_name(*key))
        case = ET.SubElement(suite, "testcase", {"classname": NOT_RUN, "name": name})
        ET.SubElement(case, "skipped", {"message": "the report has no answer for this case"})


def _seconds(latencies_ms: Iterable[float | None]) -> str:
    return f"{sum(ms for ms in latencies_ms if ms is not None) / 1000:.6f}"


def _stamp(text: str) -> str | None:
    """A time as JUnit writes it: ISO 8601 without a zone."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return None


def _text(text: str) -> str:
    return _UNWRITABLE.sub("", text)
