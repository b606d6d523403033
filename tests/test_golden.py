"""Upstream's sixteen published reports, reproduced to the last digit from the ids they hold."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pmb_hf.corpus import load_corpus
from pmb_hf.expectations import RetrievalKey, expectations
from pmb_hf.records import PASS_KINDS, CaseScore, Expectation, Retrieval
from pmb_hf.rules import RULES
from pmb_hf.scoring import failures, score_case
from pmb_hf.summary import Summary, round_half_up, summarize, summarize_by_category

UPSTREAM = ("upstream-2026-06", "upstream-2026-09")  # they score alike
SESSION = "session-"


def _names() -> list[str]:
    """The reports; one empty name where they are not here, so that the skip is seen."""
    root = os.environ.get("PMB_UPSTREAM_DIR")
    found = sorted(path.stem for path in Path(root, "reports").glob("*.json")) if root else []
    return found or [""]


every_report = pytest.mark.parametrize("name", _names())


@cache
def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@cache
def _expectations(fixtures: Path) -> dict[RetrievalKey, Expectation]:
    return expectations(load_corpus("official", fixtures=fixtures))


@pytest.fixture
def report(upstream_dir: Path, name: str) -> dict[str, Any]:
    return _read(upstream_dir / "reports" / f"{name}.json")


@pytest.fixture
def published(upstream_dir: Path, name: str) -> dict[str, Any]:
    return _read(upstream_dir / "expected.json")[name]


@pytest.fixture
def pairs(upstream_dir: Path, report: dict[str, Any]) -> list[tuple[Expectation, Retrieval]]:
    wanted = _expectations(upstream_dir / "fixtures")
    return [_pair(wanted, case) for case in report["cases"]]


def _pair(
    wanted: dict[RetrievalKey, Expectation], case: dict[str, Any]
) -> tuple[Expectation, Retrieval]:
    """What a case asks for, in the category that the report gives it, and what came back."""
    turn = case.get("turnIndex")
    questions = case.get("retrievedQuestions")
    got = Retrieval(
        relevant=tuple(case["relevantBeliefs" if turn is None else "retrievedBeliefIds"]),
        pinned=tuple(case["pinnedBeliefs" if turn is None else "pinnedBeliefIds"]),
        questions=None if questions is None else tuple(questions),
        prelude=None,  # no report holds it
        latency_ms=case["retrievalLatencyMs"],
    )
    return replace(wanted[case["caseId"], turn], category=case["category"]), got


def _scores(pairs: list[tuple[Expectation, Retrieval]], rules: str) -> list[CaseScore]:
    return [score_case(expected, got, RULES[rules]) for expected, got in pairs]


def _passes(summary: Summary) -> list[float | int | None]:
    return [summary[f"passed_{kind}"] for kind in PASS_KINDS]


def test_there_are_eight_systems_with_two_reports_each(upstream_dir: Path) -> None:
    names = _names()
    assert (len(names), sum(name.startswith(SESSION) for name in names)) == (16, 8)
    assert {*_read(upstream_dir / "expected.json")} == {*names, "counts"}


@every_report
def test_each_case_is_reported_once(upstream_dir: Path, name: str, report: dict[str, Any]) -> None:
    keys = [(case["caseId"], case.get("turnIndex")) for case in report["cases"]]
    wanted = _expectations(upstream_dir / "fixtures")
    part = [key for key in wanted if (key[1] is not None) == name.startswith(SESSION)]
    assert sorted(keys) == sorted(part)


@every_report
def test_why_each_case_fails(report: dict[str, Any], pairs: Any) -> None:
    for case, (expected, got) in zip(report["cases"], pairs, strict=True):
        said = [reason.removeprefix("[vector] ") for reason in case["failures"]]
        assert failures(expected, got) == said, case["caseId"]


@pytest.mark.parametrize("rules", UPSTREAM)
@every_report
def test_each_case(report: dict[str, Any], pairs: Any, rules: str) -> None:
    fields = {
        "passed": "passed",
        "retrievalPrecision": "precision",
        "retrievalRecall": "recall",
        "pinnedCoverage": "pinned_coverage",
        "questionPrecision": "question_precision",
        "questionRecall": "question_recall",
        "driftScore": "drift",
        "retrievalLatencyMs": "latency_ms",
    }
    compared: Counter[str] = Counter()
    for case, score in zip(report["cases"], _scores(pairs, rules), strict=True):
        for theirs in fields.keys() & case.keys():
            assert getattr(score, fields[theirs]) == case[theirs], (case["caseId"], theirs)
            compared[theirs] += 1
    # Newer reports say more: questions in two of them, drift where there are turns.
    assert {*compared.values()} == {len(pairs)}
    everywhere = {"passed", "retrievalPrecision", "retrievalRecall", "retrievalLatencyMs"}
    extra = {"driftScore"} if "turnCount" in report["retrieval"] else {"pinnedCoverage"}
    assert everywhere | extra <= {*compared}


@pytest.mark.parametrize("rules", UPSTREAM)
@every_report
def test_upstreams_own_summary(report: dict[str, Any], pairs: Any, rules: str) -> None:
    scores = _scores(pairs, rules)
    stated, summary = report["retrieval"], summarize(scores)
    assert stated["meanPrecision"] == summary["mean_precision"]
    assert stated["meanRecall"] == summary["mean_recall"]
    assert stated["meanLatencyMs"] == summary["mean_latency_ms"]
    assert stated["p50LatencyMs"] == summary["p50_latency_ms"]
    assert stated["p95LatencyMs"] == summary["p95_latency_ms"]
    assert stated["passRate"] == summary["pass_rate"]
    assert (stated["totalPassed"], stated["totalCases"]) == (summary["passed"], summary["cases"])
    assert stated["activeRetrievalPasses"] == summary["passed_active"]
    assert [*stated["passTypes"].values()] == _passes(summary)


def _by_category(scores: list[CaseScore]) -> dict[str, list[Any]]:
    """Summaries by category, as upstream states them."""
    return {
        category: [
            *(group["cases"], group["passed"], (group["cases"] or 0) - (group["passed"] or 0)),
            *(group["mean_precision"], group["mean_recall"]),
        ]
        for category, group in summarize_by_category(scores).items()
    }


def _moved(directory: Path) -> dict[str, str]:
    """Cases that some report puts into another category than most do, and that category."""
    seen: dict[str, Counter[str]] = {}
    for path in directory.glob("*.json"):
        for case in _read(path)["cases"]:
            seen.setdefault(case["caseId"], Counter())[case["category"]] += 1
    return {case: count.most_common()[-1][0] for case, count in seen.items() if len(count) > 1}


@pytest.mark.parametrize("rules", UPSTREAM)
@every_report
def test_categories(
    upstream_dir: Path, name: str, report: dict[str, Any], pairs: Any, rules: str
) -> None:
    keys = ("caseCount", "passed", "failed", "meanPrecision", "meanRecall")
    rows = report["retrieval"]["categories"]
    stated = {row["category"]: [row[key] for key in keys] for row in rows}
    scores = _scores(pairs, rules)
    if _by_category(scores) == stated:
        return
    # One report names a category in its cases and counts them in another, as two others do.
    moved = _moved(upstream_dir / "reports")
    scores = [score._replace(category=moved.get(score.case_id, score.category)) for score in scores]
    assert _by_category(scores) == stated
    assert (len(moved), name) == (1, "retrieval-report-mem0")


@pytest.mark.parametrize("rules", UPSTREAM)
@every_report
def test_published_figures(published: dict[str, Any], pairs: Any, rules: str) -> None:
    summary, figures = summarize(_scores(pairs, rules)), published["upstream"]
    keys = {
        "meanPrecision": "mean_precision",
        "meanRecall": "mean_recall",
        "meanDrift": "mean_drift",
        "meanLatencyMs": "mean_latency_ms",
        "p50LatencyMs": "p50_latency_ms",
        "p95LatencyMs": "p95_latency_ms",
    }
    assert {key: summary[keys[key]] for key in figures if key in keys} == {
        key: value for key, value in figures.items() if key in keys
    }
    assert {*figures} <= {*keys, "passTypes"}
    if "passTypes" in figures:
        assert [*figures["passTypes"].values()] == _passes(summary)
    totals = ("passed", "cases") if "passed" in published else ("turns_passed", "turns")
    assert [published[key] for key in totals] == [summary["passed"], summary["cases"]]


@every_report
def test_figures_under_spec(published: dict[str, Any], pairs: Any) -> None:
    summary, figures = summarize(_scores(pairs, "spec")), dict(published["spec"])
    kinds = figures.pop("pass_kinds", None)
    assert kinds is None or kinds == {kind: summary[f"passed_{kind}"] for kind in PASS_KINDS}
    if figures.get("abstention_rate") == 0.2812:  # 9/32 = 0.28125, there rounded half to even
        figures["abstention_rate"] = 0.2813
    n = figures.pop("n")
    assert (summary["n_precision"], summary["n_recall"]) == (n, n)
    assert {name: summary[name] for name in figures} == figures


def test_what_the_cases_ask_for(upstream_dir: Path) -> None:
    counts = _read(upstream_dir / "expected.json")["counts"]
    cases = [e for (_, turn), e in _expectations(upstream_dir / "fixtures").items() if turn is None]
    assert len(cases) == counts["cases"]
    assert sum(bool(expected.gold) for expected in cases) == counts["active"]
    assert Counter(expected.pass_kind for expected in cases) == counts["kinds"]


@every_report
def test_means_are_rounded_once(pairs: Any, name: str) -> None:
    for rules in RULES:
        scores = _scores(pairs, rules)
        values = [score.precision for score in scores if score.precision is not None]
        mean = summarize(scores)["mean_precision"]
        assert mean == (round_half_up(sum(values) / len(values)) if values else None)
