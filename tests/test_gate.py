"""The gate: what fails it, what it says, and which cases it names."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corpora import parsed
from gate_kit import ANCHOR, FIRST_TURN, LAST_TURN, MOORING, evaluated, report_of

from pmb_hf.errors import GateFailed, InputError
from pmb_hf.gate import LOST, case_value, check, demand, regressions
from pmb_hf.measures import MEASURES
from pmb_hf.report import judge

NOISE = {MOORING: ["t-berth", "t-engine"]}


def test_right_answers_meet_every_limit() -> None:
    limits = ["precision=1", "recall=1", "drift<=0", "session.passes=3", "errors=0", "leaks=0"]
    assert check([*limits, "passes=8", "mutability=1", "abstention=1"], evaluated()) == []


def test_violation_says_measure_value_n_and_cases() -> None:
    (found,) = check(["precision=0.9"], evaluated(NOISE))
    assert found.measure.name == "mean_precision"
    assert (found.part, found.value, found.n) == ("retrieval", 0.875, 4)
    assert found.reason == "retrieval precision is 0.875 (n=4); it must be at least 0.9"
    assert [(case.name, case.value) for case in found.cases] == [("c-mooring", 0.5)]
    assert "t-engine" in str(found)
    assert str(found).splitlines()[1].startswith("  c-mooring (0.5): ")


def test_order_is_that_of_the_limits_and_worst_cases_stand_first() -> None:
    answers = {**NOISE, ANCHOR: ["t-old-anchor"]}
    first, second = check(["precision=0.9", "passes=8"], evaluated(answers))
    assert [case.name for case in first.cases] == ["c-anchor", "c-mooring"]
    assert (second.value, [case.name for case in second.cases]) == (6, ["c-mooring", "c-anchor"])


def test_session_limits_name_turns_without_saying_the_number_twice() -> None:
    answers = {LAST_TURN: ["t-berth", "t-big-anchor", "t-engine"]}
    drift, passes = check(["drift=0.1", "session.passes=3"], evaluated(answers))
    assert [case.name for case in drift.cases] == ["s-refit turn 2"]
    assert drift.cases[0].value == pytest.approx(1 / 3)
    assert not passes.cases[0].failures[0].startswith("turn 2")


def test_failure_to_answer_is_named_by_its_status() -> None:
    (found,) = check(["errors=0"], evaluated({MOORING: RuntimeError("out of rum")}))
    assert (found.value, found.n) == (1, 8)
    assert found.cases[0].name == "c-mooring"
    assert "error: " in found.cases[0].failures[0]
    assert "out of rum" in found.cases[0].failures[0]


def test_counts_of_noise_are_limits_too() -> None:
    answers = {ANCHOR: ["t-anchor", "t-old-anchor"], MOORING: ["t-berth", "t-otto-berth", "x"]}
    limits = ["noise_superseded=0", "leaks=0", "unknown_ids=0", "noise_drift=0"]
    superseded, leaks, unknown = check(limits, evaluated(answers))
    assert [case.name for case in superseded.cases] == ["c-anchor"]
    assert [case.name for case in leaks.cases] == ["c-mooring"]
    assert [case.name for case in unknown.cases] == ["c-mooring"]


def test_limits_on_wrong_beliefs_name_those_that_they_count() -> None:
    answers = {
        ANCHOR: ["t-old-anchor", "t-engine"],
        MOORING: ["t-otto-berth", "x", "x"],
        LAST_TURN: ["t-engine", "t-otto-berth"],
    }
    limits = {
        "noise_superseded=0": ["  c-anchor: superseded: t-old-anchor"],
        "noise_unrelated=0": ["  c-anchor: unrelated: t-engine"],
        "leaks=0": ["  c-mooring: leaks: t-otto-berth"],
        "unknown_ids=0": ["  c-mooring: unknown ids: x"],
        "duplicates=0": ["  c-mooring: returned twice or more: x"],
        "drift=0": ["  s-refit turn 2 (0.5): drift: t-engine"],
        "lost_not_returned=0": [
            "  c-mooring: not returned: t-berth",
            "  c-anchor: not returned: t-anchor",
        ],
        "session.leaks=0": ["  s-refit turn 2: leaks: t-otto-berth"],
    }
    for found, lines in zip(check(limits, evaluated(answers)), limits.values(), strict=True):
        assert str(found).splitlines()[1:] == lines
    (all_wrong,) = check(["drift=0"], evaluated(answers, rules="upstream-2026-06"))
    assert "t-engine" in str(all_wrong)


def test_null_fails_and_says_why() -> None:
    limits = ["drift=1", "retrieval.drift=1", "latency_ratio=1000000"]
    alone = evaluated(parts=["retrieval"])
    not_run, never, ratio = check(limits, alone)
    assert "the session part was not run" in not_run.reason
    assert (not_run.value, not_run.n) == (None, None)
    assert "retrieval drift is null: n=0, because it is no session turn" in never.reason
    assert never.n == 0
    assert "a part was not run" in ratio.reason


def test_latency_names_cases_with_their_time_and_no_other_fault() -> None:
    (found,) = check(["p95<0"], evaluated(NOISE))
    assert found.cases
    assert all(case.value is not None and not case.failures for case in found.cases)


def test_report_that_lacks_cases_fails_though_its_value_is_good() -> None:
    report = report_of()
    short = judge(replace(report, records=report.records[1:]), parsed())
    (found,) = check(["precision=0.1"], short)
    assert "the report lacks 1 of its cases" in found.reason
    assert [case.name for case in found.cases] == ["c-mooring"]
    assert check(["session.precision=1"], short) == []


def test_long_lists_are_cut_in_text_alone() -> None:
    (found,) = check(["precision=0.9"], evaluated(NOISE))
    many = found._replace(cases=found.cases * 23)
    assert str(many).splitlines()[-1] == "  and 3 more"
    assert len(str(many).splitlines()) == 22


@pytest.mark.parametrize("name", MEASURES)
def test_cases_add_up_to_the_summary(name: str) -> None:
    evaluation = evaluated({**NOISE, ANCHOR: ["t-old-anchor"], FIRST_TURN: TimeoutError()})
    measure = MEASURES[name]
    for summary, judged in (
        (evaluation.retrieval, evaluation.cases),
        (evaluation.session, evaluation.turns),
    ):
        values = [case_value(measure, j.score) for j in judged]
        known = [value for value in values if value is not None]
        assert summary is not None
        if measure.unit == "rate" and summary[name] is not None:
            assert sum(known) / len(known) == pytest.approx(summary[name], abs=1e-4)
        elif measure.better != "none" and measure.unit == "count":
            assert sum(known) == summary[name]


def test_what_stays_the_same_is_no_regression() -> None:
    worse = evaluated(NOISE)
    limits = ["passes=0", "lost=0", "precision=0", "drift=0", "session.passes=0"]
    assert regressions(worse, worse, limits) == []
    assert regressions(worse, evaluated(), limits) == []


def test_regression_names_the_cases_that_were_lost() -> None:
    passes, precision = regressions(evaluated(), evaluated(NOISE), ["passes=0", "precision=0.1"])
    assert "went from 8 to 7; it must not get worse" in passes.reason
    assert (passes.value, passes.n) == (7, 8)
    assert [case.name for case in passes.cases] == ["c-mooring"]
    assert "went from 1 to 0.875; at most 0.1 worse is allowed" in precision.reason
    assert regressions(evaluated(), evaluated(NOISE), ["passes=1", "precision=0.125"]) == []


def test_passes_is_net_and_lost_is_not() -> None:
    base, new = evaluated({ANCHOR: []}), evaluated(NOISE)
    (found,) = regressions(base, new, ["passes=0", "lost=0"])
    assert found.measure is LOST
    assert (found.value, [case.name for case in found.cases]) == (1, ["c-mooring"])
    assert "retrieval lost passes (n=8) come to 1; at most 0 are allowed" in found.reason


def test_amounts_are_compared_without_binary_dust() -> None:
    base, new = evaluated(), evaluated({MOORING: ["t-berth", "t-engine"]})
    assert regressions(base, new, ["precision=0.125"]) == []


def test_what_can_not_be_compared_is_no_pass() -> None:
    both, alone = evaluated(), evaluated(parts=["retrieval"])
    assert "null in the new report" in regressions(both, alone, ["drift=1"])[0].reason
    assert "null in the baseline" in regressions(alone, both, ["drift=1"])[0].reason
    assert "the session part was not run" in regressions(both, alone, ["session.lost=9"])[0].reason
    report = report_of()
    short = judge(replace(report, records=report.records[1:]), parsed())
    (found,) = regressions(both, short, ["passes=5"])
    assert "the new report lacks cases" in found.reason
    assert [case.name for case in found.cases] == ["c-mooring"]
    assert "the baseline lacks cases" in regressions(short, both, ["passes=5"])[0].reason


def test_reports_under_different_rules_are_not_compared() -> None:
    with pytest.raises(InputError, match="score both alike"):
        regressions(evaluated(), evaluated(rules="upstream-2026-06"), ["passes=0"])


def test_demand_is_silent_or_lists_everything() -> None:
    demand([])
    violations = check(["precision=0.9", "passes=8"], evaluated(NOISE))
    with pytest.raises(GateFailed) as raised:
        demand(violations, "scripted does not pass")
    assert raised.value.exit_code == 1
    assert str(raised.value).startswith("scripted does not pass:\nretrieval precision")
    assert "retrieval passed is 7" in str(raised.value)
