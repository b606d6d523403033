"""How long a service is asked again: every share of the time, on a clock that hangs move."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.errors import NotReadyError
from pmb_hf.providers import patience as module
from pmb_hf.providers.http_errors import (
    AnswerError,
    DeadlineError,
    HttpFailure,
    HttpStatusError,
)
from pmb_hf.providers.patience import Patience, wait_until


class Clock:
    """Takes the place of the module ``time``; only sleeping moves it."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def test_each_answer_that_is_late_gets_more_time(clock: Clock) -> None:
    patience = Patience(60.0)
    shares = []
    while True:
        shares.append(round(patience.share(30.0), 1))
        clock.sleep(shares[-1])
        if not patience.pause():
            break
    assert shares == [5.0, 15.0, 30.0, 9.9]
    assert clock.now == pytest.approx(160.0, abs=0.1)


def test_answers_in_time_leave_the_share_as_it_is(clock: Clock) -> None:
    patience = Patience(60.0)
    for _ in range(50):
        assert patience.share(30.0) == 5.0
        clock.sleep(0.1)
        assert patience.pause()


def test_who_waits_for_nothing_asks_once_with_all_the_time_of_a_call(clock: Clock) -> None:
    patience = Patience(0.0)
    assert patience.share(30.0) == 30.0
    assert not patience.pause()
    assert clock.now == 100.0


def test_a_service_known_to_be_slow_is_not_cut_off(clock: Clock) -> None:
    assert Patience(60.0, answer_s=24.0).share(30.0) == 24.0
    assert Patience(60.0, answer_s=80.0).share(30.0) == 30.0


@given(
    st.floats(0.0, 1e6),
    st.floats(0.1, 1e4),
    st.floats(0.0, 100.0),
    st.lists(st.booleans(), max_size=30),
)
def test_waiting_ends_at_most_one_share_late(
    seconds: float, most: float, answer_s: float, hangs: list[bool]
) -> None:
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "time", clock)
        patience = Patience(seconds, answer_s=answer_s)
        share = 0.0
        for number in range(10_000):
            share = patience.share(most)
            assert 0 < share <= most
            clock.sleep(share if number >= len(hangs) or hangs[number] else share / 4)
            if not patience.pause():
                break
        assert clock.now - 100.0 <= seconds + share + 1e-6 * max(seconds, 1)


def _said(seconds: float) -> str:
    return f"not within {seconds:g} s"


def test_what_never_comes_is_an_error_with_what_was_seen_last(clock: Clock) -> None:
    with pytest.raises(NotReadyError, match=r"^not within 2 s; queued$"):
        wait_until(lambda: "; queued", Patience(2.0), _said)
    assert 101.4 < clock.now <= 102.0


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        (AnswerError("no JSON"), 60),
        (DeadlineError("late"), 60),
        (HttpStatusError("unknown user", code=404), 60),
        (HttpStatusError("busy", code=503, passing=True), 60),
        (HttpStatusError("who?", code=401), 5),
        (HttpStatusError("no such call", code=501), 5),
    ],
)
def test_a_refusal_is_doubted_for_5_s_and_any_other_failure_all_the_time(
    clock: Clock, failure: HttpFailure, seconds: int
) -> None:
    def look() -> str | None:
        raise failure

    with pytest.raises(NotReadyError, match=f"^not within {seconds} s .* failed: {failure}"):
        wait_until(look, Patience(60.0), _said)
    assert clock.now == pytest.approx(100 + seconds, abs=0.5)


def test_one_refusal_is_forgotten(clock: Clock) -> None:
    seen = iter([HttpStatusError("who?", code=401), *[None] * 30, HttpStatusError("?", code=403)])

    def look() -> str | None:
        found = next(seen, "there")
        if isinstance(found, HttpFailure):
            raise found
        return None if found == "there" else ""

    wait_until(look, Patience(60.0), _said)
    assert clock.now > 105.0
