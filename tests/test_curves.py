"""Cut curves: the loosest cut is the report itself, and no cut is chosen on its own judges."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.corpus import load_corpus
from pmb_hf.curve_chart import chart, check_format, picture
from pmb_hf.curves import (
    K,
    Point,
    best_of,
    cross_validate,
    curves,
    sweep,
)
from pmb_hf.cuts import HIGHER, LOWER, Answer, Outcome, Steps, answers, direction, no_scores
from pmb_hf.errors import InputError, MissingDependencyError
from pmb_hf.measured import Result
from pmb_hf.report import Evaluation, Report, judge, rescore
from pmb_hf.report_reader import read_report
from pmb_hf.rules import RULES
from pmb_hf.runner import run
from pmb_hf.schema import RELATION
from pmb_hf.summary import Summary, round_half_up

NATIVE = load_corpus("native")


@pytest.fixture(scope="module")
def bm25() -> Report:
    return run("bm25", NATIVE)


def summaries(evaluation: Evaluation) -> list[Summary]:
    return [s for s in (evaluation.retrieval, evaluation.session) if s is not None]


def same(point: Point, summary: Summary) -> None:
    wire = point.to_wire()
    names = ("passed", "cases", "returned", "mean_precision", "n_precision", "mean_recall")
    more = ("n_recall", "mean_drift", "n_drift", "abstention_rate", "n_abstention")
    for name in (*names, *more, "mean_hit_at_1", "mean_r_precision"):
        assert wire[name] == summary[name], name


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("provider", ["bm25", "fts5", "oracle", "everything"])
def test_the_loosest_cut_is_the_report(provider: str, rules: str) -> None:
    report = run(provider, NATIVE, rules=rules)
    evaluation = judge(report, NATIVE)
    parts = curves(report, evaluation, NATIVE)
    for part, summary in zip(parts, summaries(evaluation), strict=True):
        assert part.of_results
        assert part.by_k is not None
        same(part.by_k.uncut, summary)
        if part.by_score is not None:
            same(part.by_score.uncut, summary)
        failed = (summary["cases"] or 0) - (summary["passed"] or 0)
        assert sum(part.causes.values()) == failed


def test_a_report_scored_under_other_rules_is_cut_as_it_was_run(bm25: Report) -> None:
    other = rescore(bm25, NATIVE, "upstream-2026-09")
    evaluation = judge(other, NATIVE)
    for part, summary in zip(curves(other, evaluation, NATIVE), summaries(evaluation), strict=True):
        assert part.by_k is not None
        assert part.of_results
        same(part.by_k.uncut, summary)


def test_upstream_reports_are_cut_by_their_tier(upstream_dir: Path) -> None:
    corpus = load_corpus("official", fixtures=upstream_dir / "fixtures")
    files = sorted((upstream_dir / "reports").glob("*.json"))
    assert len(files) == 16
    for path in files:
        report = read_report(path)
        for rules in ("upstream-2026-06", "spec"):
            evaluation = judge(report, corpus, rules)
            (part,) = curves(report, evaluation, corpus)
            (summary,) = summaries(evaluation)
            assert part.no_scores == "the report holds no raw results"
            assert part.by_score is None
            assert not part.of_results
            if part.by_k is not None:
                same(part.by_k.uncut, summary)
                assert [p.cut for p in part.by_k.points] == list(
                    range(1, len(part.by_k.points) + 1)
                )


def test_cutting_is_what_a_run_with_that_cap_gives(bm25: Report) -> None:
    evaluation = judge(bm25, NATIVE)
    part = curves(bm25, evaluation, NATIVE)[0]
    assert part.by_k is not None
    for k in (1, 3):
        capped = run("bm25", NATIVE, options={"top_k": k}, parts=["retrieval"])
        summary = judge(capped, NATIVE).retrieval
        assert summary is not None
        point = part.by_k.points[k - 1].to_wire()
        assert point["cut"] == k
        for name in ("passed", "mean_precision", "mean_recall", "abstention_rate"):
            assert point[name] == summary[name]


def test_a_threshold_is_what_a_run_with_it_gives(bm25: Report) -> None:
    part = curves(bm25, judge(bm25, NATIVE), NATIVE)[0]
    assert part.by_score is not None
    assert part.by_score.better == HIGHER
    best = part.by_score.best
    run_again = run("bm25", NATIVE, options={"min_score": best.cut}, parts=["retrieval"])
    summary = judge(run_again, NATIVE).retrieval
    assert summary is not None
    wire = best.to_wire()
    for name in ("passed", "mean_precision", "mean_recall", "abstention_rate"):
        assert wire[name] == summary[name]


def test_recall_rises_with_k_where_no_relation_brings_others(bm25: Report) -> None:
    relations = {b.id for b in NATIVE.beliefs if b.type == RELATION}
    checked = 0
    for answer in answers(bm25, judge(bm25, NATIVE), NATIVE):
        if relations.isdisjoint(result.id for result in answer.results):
            recalls = [o.recall for o in answer.by_length().outcomes if o.recall is not None]
            assert recalls == sorted(recalls)
            checked += 1
    assert checked


def test_distances_are_cut_from_below(bm25: Report) -> None:
    def flip(results: tuple[Result, ...] | None) -> tuple[Result, ...] | None:
        if results is None:
            return None
        return tuple(Result(r.id, -(r.score or 0.0)) for r in results)

    flipped = replace(
        bm25, records=tuple(replace(r, results=flip(r.results)) for r in bm25.records)
    )
    plain = curves(bm25, judge(bm25, NATIVE), NATIVE)
    for part, other in zip(plain, curves(flipped, judge(flipped, NATIVE), NATIVE), strict=True):
        assert part.by_score is not None
        assert other.by_score is not None
        assert other.by_score.better == LOWER
        assert other.by_score.best.cut == -part.by_score.best.cut
        assert [p.means for p in other.by_score.points] == [p.means for p in part.by_score.points]


@pytest.mark.parametrize("score", [None, "0.5", True, float("inf")])
def test_a_missing_score_rules_thresholds_out(bm25: Report, score: Any) -> None:
    first = next(r for r in bm25.records if r.results)
    assert first.results is not None
    bare = replace(first, results=(Result(first.results[0].id, score), *first.results[1:]))
    report = replace(bm25, records=tuple(bare if r is first else r for r in bm25.records))
    part = curves(report, judge(report, NATIVE), NATIVE)[0]
    assert part.by_score is None
    assert part.no_scores is not None
    assert part.no_scores.startswith("1 of ")


def test_a_tier_that_the_results_do_not_give_is_cut_itself(bm25: Report) -> None:
    first = next(r for r in bm25.records if len(r.relevant) > 2)
    other = replace(first, relevant=first.relevant[::-1])
    report = replace(bm25, records=tuple(other if r is first else r for r in bm25.records))
    evaluation = judge(report, NATIVE)
    part = curves(report, evaluation, NATIVE)[0]
    assert not part.of_results
    assert part.by_k is not None
    assert evaluation.retrieval is not None
    same(part.by_k.uncut, evaluation.retrieval)


def test_causes_tell_length_from_ranking_and_from_what_is_missing(bm25: Report) -> None:
    def causes(provider: str, **options: Any) -> dict[str, int]:
        report = run(provider, NATIVE, options=options, parts=["retrieval"])
        (part,) = curves(report, judge(report, NATIVE), NATIVE)
        return dict(part.causes)

    assert not any(causes("oracle").values())
    empty = causes("empty")
    assert empty["incomplete"] == sum(empty.values())
    assert causes("bm25")["length"] > 0
    broken = replace(
        bm25,
        records=tuple(
            replace(r, status="error", error="no", relevant=(), results=None) for r in bm25.records
        ),
    )
    for part in curves(broken, judge(broken, NATIVE), NATIVE):
        assert part.causes["no_answer"] == sum(part.causes.values())
        assert part.by_k is None
        assert part.no_scores == "nothing was returned"
        assert part.to_wire()["byK"] is None
    with pytest.raises(InputError, match="no curve to draw"):
        chart(curves(broken, judge(broken, NATIVE), NATIVE), "broken")


def test_the_same_seed_gives_the_same_curves_and_json(bm25: Report) -> None:
    evaluation = judge(bm25, NATIVE)
    wires = [
        [part.to_wire() for part in curves(bm25, evaluation, NATIVE, seed=seed)]
        for seed in (0, 0, 7)
    ]
    assert wires[0] == wires[1]
    assert wires[0] != wires[2]
    assert json.loads(json.dumps(wires[0], allow_nan=False)) == wires[0]
    with pytest.raises(ValueError, match="folds must be 2 or more"):
        curves(bm25, evaluation, NATIVE, folds=1)


def outcome(passed: bool, right: float) -> Outcome:
    return Outcome(passed, right, right, right, None, None, right, right, 1)


def steps_of(rows: list[list[tuple[int, bool, int]]]) -> list[Steps]:
    made = []
    for number, row in enumerate(rows):
        places = dict(sorted((place, (passed, right)) for place, passed, right in row))
        made.append(
            Steps(
                (f"case {number}", None),
                outcome(False, 0.0),
                tuple(map(float, places)),
                tuple(outcome(passed, right / 8) for passed, right in places.values()),
            )
        )
    return made


some_steps = st.lists(
    st.lists(st.tuples(st.integers(1, 6), st.booleans(), st.integers(0, 8)), max_size=4),
    min_size=1,
    max_size=8,
).map(steps_of)


@given(some_steps)
def test_a_sweep_is_every_case_at_every_cut(steps: list[Steps]) -> None:
    points = list(sweep(steps, range(1, 7)))
    assert [point.cut for point in points] == list(range(1, 7))
    for point in points:
        there = [case.outcome(point.cut) for case in steps]
        assert point.passed == sum(o.passed for o in there)
        right = sum(o.precision or 0 for o in there) / len(there)
        assert point.means["mean_precision"] == pytest.approx(right)
        assert point.counts["mean_precision"] == len(steps)
    best = best_of(points)
    assert best.merit == max(point.merit for point in points)
    assert not any(p.merit == best.merit for p in points if p.cut > best.cut)


@given(some_steps, st.integers(2, 5), st.integers(0, 3))
def test_no_case_is_judged_at_a_cut_that_it_helped_to_choose(
    steps: list[Steps], folds: int, seed: int
) -> None:
    found = cross_validate(steps, folds=folds, seed=seed)
    if found is None:
        return
    assert found.point.cases == len(steps)
    assert len(found.chosen) == min(folds, len(steps))
    if folds >= len(steps):  # each case is a fold of its own
        expected = 0
        cuts = set()
        for case in steps:
            cut = best_of(list(sweep([other for other in steps if other is not case]))).cut
            cuts.add(cut)
            expected += case.outcome(cut).passed
        assert found.point.passed == expected
        assert set(found.chosen) == cuts


def test_turns_of_a_session_stay_in_one_fold() -> None:
    row = outcome(True, 1.0)
    steps = [Steps((name, n), row, (1.0,), (row,)) for name in "ab" for n in range(5)]
    found = cross_validate(steps, folds=5)
    assert found is not None
    assert len(found.chosen) == 2
    assert cross_validate(steps[:5], folds=5) is None


def test_direction_and_scores_of_nothing() -> None:
    nothing: list[Answer] = []
    assert direction(nothing) == HIGHER
    assert no_scores(nothing) == "nothing was returned"


def test_pictures_are_made_without_a_browser(bm25: Report) -> None:
    pytest.importorskip("vl_convert", reason="pip install 'pmb-hf[charts]'")
    parts = curves(bm25, judge(bm25, NATIVE), NATIVE)
    title = "</script><script>alert(1)</script>"
    svg = picture(parts, title, ".svg").decode()
    assert svg.startswith("<svg")
    page = picture(parts, title, ".html").decode()
    for text in (svg, page):
        assert "<script" not in text
        assert "Single turn, by score threshold" in text
    assert picture(parts, title, ".PNG").startswith(b"\x89PNG")


def test_a_chart_is_plain_data(bm25: Report) -> None:
    parts = curves(bm25, judge(bm25, NATIVE), NATIVE)
    spec = chart(parts, "bm25")
    json.dumps(spec, allow_nan=False)
    assert len(spec["concat"]) == 4
    values = spec["concat"][0]["layer"][0]["data"]["values"]
    curve = parts[0].by_k
    assert curve is not None
    assert curve.axis == K
    last = {row["measure"]: row["value"] for row in values if row["cut"] == curve.uncut.cut}
    assert round_half_up(last["recall"]) == curve.uncut.to_wire()["mean_recall"]


def test_a_picture_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"ends in one of \.svg, \.png, \.html"):
        check_format(Path("curve.gif"))
    # None in sys.modules is how Python itself marks a package that can't be imported.
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'pmb-hf\[charts\]'"):
        check_format(Path("curve.svg"))
