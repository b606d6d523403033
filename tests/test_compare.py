"""Pairs by case: nothing changes against itself, and what can't be compared is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from pmb_hf.comparability import Entry, marks, not_known
from pmb_hf.compare import FIELDS, TABLE, compare, standings
from pmb_hf.corpus import load_corpus
from pmb_hf.errors import InputError
from pmb_hf.measures import MEASURES
from pmb_hf.report import Report, judge, merge
from pmb_hf.report_reader import read_report
from pmb_hf.runner import run

NATIVE = load_corpus("native")
PROVIDERS = ("bm25", "fts5", "oracle", "empty", "everything")


@cache
def report_of(provider: str) -> Report:
    return run(provider, NATIVE)


def entry_of(report: Report, name: str = "", rules: str | None = None) -> Entry:
    return Entry(name or report.provider, report, judge(report, NATIVE, rules))


@cache
def entry(provider: str) -> Entry:
    return entry_of(report_of(provider))


@pytest.fixture(scope="module")
def upstream(upstream_dir: Path) -> list[Entry]:
    corpus = load_corpus("official", fixtures=upstream_dir / "fixtures")
    made = []
    for path in sorted((upstream_dir / "reports").glob("retrieval-report-*.json")):
        report = merge([read_report(path), read_report(path.with_name(f"session-{path.name}"))])
        made.append(Entry(report.provider, report, judge(report, corpus, "spec")))
    return made


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_report_against_itself_is_all_ties(provider: str) -> None:
    (found,) = compare(entry(provider), entry(provider))
    assert found.comparable
    assert found.marks == ()
    assert found.changed == found.regressed == ()
    for part in found.parts:
        assert part.passes.name == "pass_rate"
        for difference in part.differences:
            assert (difference.wins, difference.losses) == (0, 0)
            assert difference.ties == difference.n
            assert difference.difference == 0
            assert tuple(difference.interval) == (0, 0)
            assert difference.p == 1


@pytest.mark.parametrize(("one", "other"), list(combinations(PROVIDERS, 2)))
def test_the_other_way_round_all_signs_turn(one: str, other: str) -> None:
    (there,) = compare(entry(one), entry(other))
    (back,) = compare(entry(other), entry(one))
    for part, mirrored in zip(there.parts, back.parts, strict=True):
        for d, m in zip(part.differences, mirrored.differences, strict=True):
            assert (d.name, d.n, d.a, d.b) == (m.name, m.n, m.b, m.a)
            assert d.difference == -m.difference
            assert (d.wins, d.losses, d.ties, d.p) == (m.losses, m.wins, m.ties, m.p)
            assert tuple(d.interval) == (-m.interval.high, -m.interval.low)
            assert d.interval.low <= d.difference <= d.interval.high
        for case, same in zip(part.changed, mirrored.changed, strict=True):
            assert case.key == same.key
            assert case.now_passes is not same.now_passes
            assert (case.gained, case.lost) == (same.lost, same.gained)


def test_the_means_are_those_of_the_reports() -> None:
    a, b = entry("bm25"), entry("oracle")
    (found,) = compare(a, b)
    summary, other = a.evaluation.retrieval, b.evaluation.retrieval
    assert summary is not None
    assert other is not None
    wires = {d["measure"]: d for d in found.parts[0].to_wire()["measures"]}
    assert set(wires) == set(FIELDS) - {"mean_drift"}
    for name, wire in wires.items():
        assert (wire["a"], wire["b"]) == (summary[name], other[name])
        n = MEASURES[name].n
        assert n is not None
        assert wire["n"] == summary[n]
    passed = sum(j.score.passed for j in a.judged.values())
    assert len(found.changed) == len(a.judged) - passed
    assert all(case.now_passes for case in found.changed)


def test_less_drift_is_a_win() -> None:
    (found,) = compare(entry("bm25"), entry("oracle"))
    drift = next(d for d in found.parts[1].differences if d.name == "mean_drift")
    assert drift.difference < 0
    assert drift.wins > drift.losses == 0


def test_a_case_that_changed_sides_says_what_changed() -> None:
    good = report_of("oracle")
    first = next(r for r in good.records if len(r.relevant) > 0)
    wrong = next(b.id for b in NATIVE.beliefs if b.user_id != NATIVE.user_id)
    bad = replace(first, relevant=(*first.relevant[1:], wrong))
    spoilt = replace(good, records=tuple(bad if r is first else r for r in good.records))
    (found,) = compare(entry_of(good, "a"), entry_of(spoilt, "b"))
    (case,) = found.regressed
    assert case.key == first.key
    assert [tuple(moved) for moved in case.gained] == [(wrong, "other_user")]
    assert [tuple(moved) for moved in case.lost] == [(first.relevant[0], "needed")]
    assert any(first.relevant[0] in text for text in case.failures)
    assert found.parts[0].passes.losses == 1
    assert found.parts[0].passes.p == 1


def test_other_rules_or_another_corpus_are_refused(upstream: list[Entry]) -> None:
    a, b = entry("bm25"), entry_of(report_of("bm25"), "september", "upstream-2026-09")
    with pytest.raises(InputError, match=r"rules spec and upstream-2026-09.*--force"):
        compare(a, b)
    (found,) = compare(a, b, force=True)
    assert not found.comparable
    assert [mark.what for mark in found.marks] == ["rules"]
    with pytest.raises(InputError, match="different corpora, native and official"):
        compare(a, upstream[0])
    with pytest.raises(InputError, match="no case in common"):
        compare(a, upstream[0], force=True)
    other = dict(a.report.provenance, corpus={"name": "native", "sha256": "0" * 64})
    with pytest.raises(InputError, match="different corpora"):
        compare(a, a._replace(report=replace(a.report, provenance=other)))


def test_what_differs_beside_the_answers_is_marked() -> None:
    report = report_of("fts5")
    first, second, *rest = report.records
    other = replace(
        report,
        records=(replace(second, limit=5, status="timeout", relevant=(), results=None), *rest),
        provenance={**report.provenance, "stopped": "no more", "runRules": "upstream-2026-06"},
    )
    found = {mark.what: mark for mark in marks(entry_of(report, "a"), entry_of(other, "b"))}
    assert set(found) == {"run rules", "return cap", "statuses", "cases", "stopped"}
    assert not any(mark.fatal for mark in found.values())
    assert "in 1 case, 20 and 5" in found["return cap"].text
    assert "0 and 1 × timeout" in found["statuses"].text
    assert found["cases"].text == "1 case only in a, 0 only in b"
    assert first.key not in entry_of(other).judged


def test_upstream_reports_are_compared_and_what_they_lack_is_said(upstream: list[Entry]) -> None:
    assert len(upstream) == 8
    found = compare(*upstream)
    assert len(found) == 7
    assert all(comparison.comparable for comparison in found)
    assert not_known(upstream) == [
        "Not known of any of them: corpus hash, return cap and statuses."
    ]
    assert not_known([upstream[0], entry("bm25")])[0].startswith(f"Not known of {upstream[0].name}")
    assert not_known([entry("bm25")]) == []
    for part in ("retrieval", "session"):
        rows = standings(upstream, part)
        assert len(rows) == 8
        assert [row.passed for row in rows] == sorted((r.passed for r in rows), reverse=True)
        assert all(set(row.figures) <= set(TABLE) for row in rows)
        assert all(row.comparable for row in rows)


def test_a_table_of_many_marks_what_does_not_fit_and_puts_it_last(upstream: list[Entry]) -> None:
    entries = [entry("oracle"), *upstream, entry("bm25")]
    rows = standings(entries)
    assert len(rows) == 10
    assert [row.name for row in rows[-2:]] == ["oracle", "bm25"]
    assert [row.comparable for row in rows] == [True] * 8 + [False] * 2
    assert {row.against for row in rows} == {upstream[0].name}
    json.dumps([row.to_wire() for row in rows], allow_nan=False)
    assert standings([], "session") == []


def test_comparisons_are_strict_json_and_reproducible() -> None:
    def wire(seed: int) -> Any:
        return [c.to_wire() for c in compare(entry("bm25"), entry("oracle"), seed=seed)]

    text = json.dumps(wire(0), allow_nan=False)
    assert json.dumps(wire(0), allow_nan=False) == text
    assert json.dumps(wire(1), allow_nan=False) != text
