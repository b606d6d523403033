"""Limits and allowances as text: what is read, what is refused, and by which names."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.errors import InputError, UnknownNameError
from pmb_hf.limits import LOST, aliases, find_measure, number, parse_allowance, parse_limit
from pmb_hf.measures import MEASURES

DIRECTED = [m for m in MEASURES.values() if m.better != "none"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("precision=0.8", ("mean_precision", "retrieval", ">=", 0.8)),
        ("drift<=0.1", ("mean_drift", "session", "<=", 0.1)),
        ("drift=0.1", ("mean_drift", "session", "<=", 0.1)),
        ("drift<0.1", ("mean_drift", "session", "<", 0.1)),
        ("passes>=60", ("passed", "retrieval", ">=", 60.0)),
        ("errors=0", ("errors", "retrieval", "<=", 0.0)),
        ("session.precision=0.5", ("mean_precision", "session", ">=", 0.5)),
        ("sessions.passes = 3", ("passed", "session", ">=", 3.0)),
        ("retrieval.pass_rate>0.9", ("pass_rate", "retrieval", ">", 0.9)),
        ("hit@1=0.5", ("mean_hit_at_1", "retrieval", ">=", 0.5)),
        ("R-precision=0.5", ("mean_r_precision", "retrieval", ">=", 0.5)),
        ("abstention=1", ("abstention_rate", "retrieval", ">=", 1.0)),
        ("mutability=1", ("mutability_rate", "session", ">=", 1.0)),
        ("p95=50", ("p95_latency_ms", "retrieval", "<=", 50.0)),
        ("leaks=0", ("leaks", "retrieval", "<=", 0.0)),
        ("noise_superseded=0", ("noise_superseded", "retrieval", "<=", 0.0)),
        ("cases>=77", ("cases", "retrieval", ">=", 77.0)),
        ("latency_ratio=2", ("latency_ratio", "retrieval", "<=", 2.0)),
        (" precision = 8e-1 ", ("mean_precision", "retrieval", ">=", 0.8)),
    ],
)
def test_limit_is_read_in_the_direction_of_its_measure(text: str, expected: Any) -> None:
    limit = parse_limit(text)
    assert (limit.measure.name, limit.part, limit.op, limit.bound) == expected


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("precison=0.8", UnknownNameError, "did you mean 'precision'"),
        ("zzz=1", UnknownNameError, "pmb measures"),
        ("sesion.precision=1", UnknownNameError, "retrieval, session"),
        ("precision<=0.8", InputError, "write >="),
        ("drift>=0.1", InputError, "write <="),
        ("precision=80", InputError, "from 0 to 1; 80"),
        ("passes=-1", InputError, "out of that range"),
        ("cases=3", InputError, "neither"),
        ("precision==0.8", InputError, "not '=='"),
        ("precision", InputError, "no limit"),
        ("", InputError, "no limit"),
        ("precision=nan", InputError, "no number"),
        ("precision=inf", InputError, "no number"),
        ("precision=80%", InputError, "no number"),
        ("session.latency_ratio=2", InputError, "both parts"),
        ("lost=0", UnknownNameError, "no measure"),
    ],
)
def test_what_would_not_mean_what_was_meant_is_refused(
    text: str, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind) as raised:
        parse_limit(text)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("passes=0", ("passed", "retrieval", 0.0)),
        ("precision=0.02", ("mean_precision", "retrieval", 0.02)),
        ("drift<=0.1", ("mean_drift", "session", 0.1)),
        ("session.lost=0", ("lost", "session", 0.0)),
    ],
)
def test_allowance(text: str, expected: Any) -> None:
    allowance = parse_allowance(text)
    assert (allowance.measure.name, allowance.part, allowance.amount) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [("passes>=1", "passed=N"), ("passes=-1", "less than 0"), ("cases=0", "can't get worse")],
)
def test_allowance_that_allows_nothing_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_allowance(text)


@pytest.mark.parametrize("measure", DIRECTED, ids=lambda m: m.name)
def test_every_measure_with_a_direction_can_be_a_limit(measure: Any) -> None:
    limit = parse_limit(f"{measure.name}={number(measure.low)}")
    assert limit.measure is measure
    assert parse_limit(str(limit)) == limit
    allowance = parse_allowance(f"{measure.name}=1")
    assert parse_allowance(str(allowance)) == allowance


def test_no_alias_hides_a_measure() -> None:
    names = aliases()
    assert LOST.name not in names
    assert all(names[name] == name for name in MEASURES)
    assert set(names.values()) == set(MEASURES)
    assert all(find_measure(m.label) is m for m in MEASURES.values())


@given(st.floats(min_value=0, max_value=1))
def test_limit_holds_from_its_bound_on(bound: float) -> None:
    limit = parse_limit(f"precision={bound!r}")
    assert limit.holds(bound)
    assert limit.holds(1.0)
    assert bound == 0 or not limit.holds(0.0)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_limit, parse_allowance):
        with suppress(InputError):
            parse(text)
