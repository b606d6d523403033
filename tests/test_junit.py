"""JUnit XML of a report: counts that add up, failures against errors, hostile texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from corpora import parsed
from gate_kit import ANCHOR, MOORING, report_of
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.corpus import load_corpus
from pmb_hf.junit import junit_xml, write_junit
from pmb_hf.report import Report, judge
from pmb_hf.report_reader import read_report

BROKEN = {MOORING: ["t-berth", "t-engine"], ANCHOR: RuntimeError("out of rum\x00\x1b[31m")}


def tree(report: Report, corpus: Any = None) -> ET.Element:
    corpus = corpus or parsed()
    text = junit_xml(report, judge(report, corpus))
    return ET.fromstring(text.encode())  # noqa: S314 - made here


def test_counts_of_suites_and_cases_add_up() -> None:
    root = tree(report_of(BROKEN))
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "11",
        "failures": "1",
        "errors": "1",
        "skipped": "0",
    }
    for suite in root:
        cases = suite.findall("testcase")
        assert len(cases) == int(suite.get("tests", ""))
        assert sum(c.find("failure") is not None for c in cases) == int(suite.get("failures", ""))
        assert sum(c.find("error") is not None for c in cases) == int(suite.get("errors", ""))


def test_suite_is_a_category_and_says_what_was_run() -> None:
    report = report_of()
    root = tree(report)
    assert root.get("name") == "pmb scripted"
    names = [suite.get("name") for suite in root]
    assert names[0] == "Alias resolution"
    assert names[-1] == "Session-level noise isolation"
    said = {p.get("name"): p.get("value") for p in root[0].findall("properties/property")}
    assert said == {"provider": "scripted", "rules": "spec", "corpus": "tiny"}
    assert root[0].get("timestamp") == report.provenance["startedAt"].removesuffix("Z")
    turns = [case.get("name") for case in root[-1].findall("testcase")]
    assert turns == ["s-refit turn 0", "s-refit turn 1", "s-refit turn 2"]


def test_failure_says_what_was_needed_and_returned() -> None:
    failure = tree(report_of(BROKEN)).find(".//failure")
    assert failure is not None
    assert "t-engine" in failure.get("message", "")
    assert "needed: t-berth\nreturned: t-berth, t-engine" in (failure.text or "")


def test_failure_to_answer_is_an_error_without_what_xml_can_not_hold() -> None:
    case = next(c for c in tree(report_of(BROKEN)).iter("testcase") if c.get("name") == "c-anchor")
    error = case.find("error")
    assert error is not None
    assert error.get("type") == "error"
    assert "out of rum[31m" in error.get("message", "")
    assert case.find("failure") is None


def test_time_is_in_seconds_and_absent_where_nothing_was_timed() -> None:
    report = report_of()
    report = replace(
        report,
        records=tuple(
            replace(r, latency_ms=None if r.case_id == "c-mooring" else 250.0)
            for r in report.records
        ),
    )
    cases = {case.get("name"): case.get("time") for case in tree(report).iter("testcase")}
    assert cases["c-mooring"] is None
    assert cases["c-anchor"] == "0.250000"
    assert tree(report).get("time") == "2.500000"


def test_case_that_was_not_run_is_skipped() -> None:
    report = report_of()
    root = tree(replace(report, records=report.records[1:]))
    assert root[-1].get("name") == "not run"
    assert root.get("skipped") == "1"
    assert root[-1][0].get("name") == "c-mooring"
    assert root[-1][0].find("skipped") is not None


def test_file_is_written_with_its_directory(tmp_path: Path) -> None:
    report = report_of()
    write_junit(tmp_path / "deep" / "pmb.xml", report, judge(report, parsed()))
    text = (tmp_path / "deep" / "pmb.xml").read_text(encoding="utf-8")
    assert text.startswith('<?xml version="1.0" encoding="utf-8"?>\n<testsuites ')
    assert text == junit_xml(report, judge(report, parsed()))


@given(st.text(st.characters()))
def test_any_text_gives_xml_that_can_be_read(text: str) -> None:
    report = report_of()
    first = replace(report.records[0], category=text, description=text, status="error", error=text)
    root = tree(replace(report, provider=text, records=(first, *report.records[1:])))
    assert root.get("tests") == "11"


def test_published_reports_can_be_written(upstream_dir: Path) -> None:
    corpus = load_corpus("official", fixtures=upstream_dir / "fixtures")
    for path in sorted((upstream_dir / "reports").rglob("*.json"))[:4]:
        report = read_report(path)
        root = tree(report, corpus)
        assert int(root.get("tests", "0")) == len(report.records)


@pytest.mark.parametrize("text", ["<script>", '"&', "]]>"])
def test_markup_is_escaped(text: str) -> None:
    report = replace(report_of(), provider=text)
    assert tree(report).get("name") == f"pmb {text}"
