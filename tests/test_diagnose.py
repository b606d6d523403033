"""Every wrong belief has a kind and every missing one a reason; nothing is invented."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pmb_hf.corpus import load_corpus
from pmb_hf.diagnose import (
    MISSING_KINDS,
    Source,
    diagnose,
    diagnoses,
    noise_table,
    origins,
    tally,
    tally_by_category,
)
from pmb_hf.measured import Record, Result
from pmb_hf.records import BELOW_RANK, LOST_KINDS, NOISE_KINDS, Expectation, Kinds
from pmb_hf.report import Evaluation, Judged, Report, judge, merge
from pmb_hf.report_reader import read_report
from pmb_hf.rules import SPEC
from pmb_hf.runner import run
from pmb_hf.scoring import failures, score_case
from pmb_hf.states import moments
from pmb_hf.tables.diagnosis import (
    _Kinds,
    diagnosis_remarks,
    drift_note,
    drift_table,
    lost_table,
    wrong_table,
)

KINDS = Kinds(
    {
        "need-1": "unrelated",
        "need-2": "unrelated",
        "old": "superseded",
        "done": "resolved",
        "theirs": "other_user",
        "far": "other_scope",
        "ask": "open_question",
        "pin": "pinned",
        "other": "unrelated",
    }
)
EXPECTED = Expectation(
    "case",
    category="a category",
    relevant_must_include=("need-1", "need-2"),
    relevant_only=("need-1", "need-2"),
    kinds=KINDS,
)


def judged(expected: Expectation = EXPECTED, **fields: Any) -> Judged:
    record = Record(expected.case_id, expected.category, expected.turn_index, **fields)
    got = record.retrieval()
    return Judged(record, expected, score_case(expected, got, SPEC), tuple(failures(expected, got)))


def results(*ids: str) -> tuple[Result, ...]:
    return tuple(Result(belief, 1 - n / 10) for n, belief in enumerate(ids))


def reasons(found: Judged) -> dict[str, str]:
    return {lost.belief_id: lost.why for lost in diagnose(found).lost}


def test_every_kind_of_noise_is_named_with_rank_and_score() -> None:
    ids = ("theirs", "need-1", "old", "done", "far", "ask", "other", "made-up", "need-2")
    found = diagnose(judged(relevant=ids, pinned=("pin",), results=results("pin", *ids), limit=20))
    assert [(w.belief_id, w.kind) for w in found.wrong] == [
        ("theirs", "other_user"),
        ("old", "superseded"),
        ("done", "resolved"),
        ("far", "other_scope"),
        ("ask", "open_question"),
        ("other", "unrelated"),
        ("made-up", "unknown"),
    ]
    assert (found.wrong[0].place, found.wrong[0].rank, found.wrong[0].score) == (1, 2, 0.9)
    assert found.kept_out is not None
    assert [(w.belief_id, w.kind, w.place) for w in found.kept_out] == [("pin", "pinned", None)]
    assert [(lost.belief_id, lost.why, lost.place) for lost in found.lost] == [
        ("need-2", BELOW_RANK, 9)
    ]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"status": "timeout", "error": "late", "limit": 20}, "error"),
        ({"results": (), "limit": None}, "not_asked"),
        ({"results": (), "limit": 20}, "not_returned"),
        ({"results": results("old", "need-1", "need-2"), "limit": 1}, "cut_off"),
        ({"results": results("need-1", "need-2"), "pinned": ("need-1", "need-2")}, "pinned_tier"),
        ({"results": None}, "not_in_tier"),
    ],
)
def test_a_missing_belief_has_its_reason(fields: dict[str, Any], why: str) -> None:
    assert reasons(judged(**fields)) == {"need-1": why, "need-2": why}


def test_beyond_the_budget_is_cut_off_with_its_rank() -> None:
    found = diagnose(judged(relevant=("need-1",), results=results("need-1", "need-2"), limit=2))
    (lost,) = found.lost
    assert (lost.belief_id, lost.why, lost.rank, lost.score) == ("need-2", "cut_off", 2, 0.9)


def test_what_a_case_lets_pass_is_no_noise() -> None:
    loose = Expectation("case", relevant_must_include=("need-1",), kinds=KINDS)
    found = diagnose(judged(loose, relevant=("other", "theirs", "need-1")))
    assert [w.belief_id for w in found.wrong] == ["theirs"]


def test_without_raw_results_nothing_is_invented() -> None:
    found = diagnose(judged(relevant=("old",)))
    assert not found.results_known
    assert found.kept_out is None
    assert (found.wrong[0].rank, found.wrong[0].score) == (None, None)
    assert {lost.why for lost in found.lost} == {"not_in_tier"}
    assert found.to_wire()["keptOut"] is None
    counts = tally([found])
    assert counts.to_wire()["keptOut"] is None
    assert diagnosis_remarks([found])


@pytest.fixture(scope="module")
def native() -> tuple[Report, Any, Evaluation]:
    corpus = load_corpus("native")
    report = run("everything", corpus)
    return report, corpus, judge(report, corpus)


def check_counts(evaluation: Evaluation, corpus: Any) -> None:
    found = diagnoses(evaluation, corpus)
    for row, j in zip(found, (*evaluation.cases, *evaluation.turns), strict=True):
        assert Counter(w.kind for w in row.wrong) == Counter(j.score.noise)
        assert Counter(lost.why for lost in row.lost) == Counter(j.score.lost)
        missing = [lost for lost in row.lost if lost.why != BELOW_RANK]
        gold, shown = j.expected.gold, set(j.record.relevant)
        assert {lost.belief_id for lost in missing} == gold - shown
    whole = tally(found)
    assert list(whole.wrong) == list(NOISE_KINDS)
    assert list(whole.lost) == list(LOST_KINDS)
    parts = tally_by_category(found).values()
    for kind in NOISE_KINDS:
        assert whole.wrong[kind] == sum(part.wrong[kind] for part in parts)
    summaries = [s for s in (evaluation.retrieval, evaluation.session) if s is not None]
    for kind in NOISE_KINDS:
        assert whole.wrong[kind] == sum(int(s[f"noise_{kind}"] or 0) for s in summaries)
    for kind in LOST_KINDS:
        assert whole.lost[kind] == sum(int(s[f"lost_{kind}"] or 0) for s in summaries)


@pytest.mark.parametrize("provider", ["bm25", "everything", "empty", "oracle"])
def test_counts_are_those_of_the_scores(provider: str) -> None:
    corpus = load_corpus("native")
    evaluation = judge(run(provider, corpus), corpus)
    check_counts(evaluation, corpus)
    missing = tally(diagnoses(evaluation)).lost
    assert provider != "oracle" or not any(missing[kind] for kind in MISSING_KINDS)


def test_upstream_reports_are_counted_and_what_they_lack_is_not(upstream_dir: Path) -> None:
    corpus = load_corpus("official", fixtures=upstream_dir / "fixtures")
    files = sorted((upstream_dir / "reports").glob("*.json"))
    assert len(files) == 16
    for path in files:
        evaluation = judge(read_report(path), corpus, "spec")
        check_counts(evaluation, corpus)
        counts = tally(diagnoses(evaluation, corpus))
        assert counts.results_known == 0
        assert {why for why, n in counts.lost.items() if n} <= {
            "not_in_tier", "below_rank", "pinned_tier",
        }  # fmt: skip


def test_drift_names_the_turns_that_it_comes_from(native: Any) -> None:
    _, corpus, evaluation = native
    sources = origins(corpus)
    turns = {(m.session.case_id, m.turn.turn_index): m for m in moments(corpus)}
    assert any(sources.values())
    for key, beliefs in sources.items():
        moment = turns[key[0], key[1] or 0]
        for belief, froms in beliefs.items():
            for source in froms:
                assert source.turn_index < moment.turn.turn_index
                other = turns[key[0], source.turn_index].turn
                assert set(other.topics).isdisjoint(moment.turn.topics)
                created = [c.create.id for c in other.changes if c.create is not None]
                tier = other.expect.relevant
                assert belief in {*tier.must_include, *(tier.only or ()), *created}
    drifted = [w for d in diagnoses(evaluation, corpus) for w in d.wrong if w.kind == "drift"]
    assert drifted
    assert all(w.drifts for w in drifted)
    assert any(w.drift_from for w in drifted)
    assert not any(w.drift_from for d in diagnoses(evaluation) for w in d.wrong)


def test_drift_is_told_in_words() -> None:
    wrong = diagnose(judged(relevant=("other",))).wrong[0]
    assert drift_note(wrong) == ""
    wrong = wrong._replace(drifts=True)
    assert drift_note(wrong) == "drift"
    wrong = wrong._replace(drift_from=(Source(1, "one"), Source(3, "th\x1bree")))
    assert drift_note(wrong) == "drift of turns 1 (one), 3 (th␛ree)"


def test_the_table_of_a_report_is_strict_json(native: Any) -> None:
    _, corpus, evaluation = native
    tree = noise_table(evaluation, corpus)
    assert json.loads(json.dumps(tree, allow_nan=False)) == tree
    total = tree["total"]["wrong"]
    assert set(tree["parts"]) == {"retrieval", "session"}
    for kind in NOISE_KINDS:
        assert total[kind] == sum(part["wrong"][kind] for part in tree["parts"].values())
    json.dumps([d.to_wire() for d in diagnoses(evaluation, corpus)], allow_nan=False)


def test_tables_show_what_there_is(native: Any) -> None:
    from rich.console import Console

    _, corpus, evaluation = native
    found = diagnoses(evaluation, corpus)
    console = Console(width=120, record=True, file=None, quiet=False)
    with console.capture() as capture:
        for made in (wrong_table(found), lost_table(found), drift_table(found)):
            assert made is not None
            console.print(made)
    text = capture.get()
    assert "superseded" in text
    assert "in all" in text
    assert "Drift from turn" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_kinds_beyond_the_width_stand_in_a_table_below(native: Any, width: int) -> None:
    from rich.console import Console

    kinds = {kind: 7000 + place for place, kind in enumerate(NOISE_KINDS)}
    made = _Kinds("Wrong beliefs", {"Scope disambiguation": kinds}, kinds)
    console = Console(width=width)
    with console.capture() as capture:
        console.print(made)
    text = capture.get()
    assert text.count("Scope disambiguation") == text.count("─\n")
    for number in (*kinds.values(), sum(kinds.values())):
        assert text.count(f"{number:,}") == 2
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width


def test_a_table_of_nothing_is_none() -> None:
    perfect = [diagnose(judged(relevant=("need-1", "need-2")))]
    assert wrong_table(perfect) is lost_table(perfect) is drift_table(perfect) is None
    assert diagnosis_remarks(perfect) == []


def test_merged_parts_are_diagnosed_together(native: Any) -> None:
    report, corpus, evaluation = native
    halves = [replace(report, records=report.cases), replace(report, records=report.turns)]
    again = judge(merge(halves), corpus)
    assert noise_table(again, corpus) == noise_table(evaluation, corpus)
