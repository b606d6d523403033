"""The doctor and services that keep to nothing: it ends, and tells what is wrong in sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import pmb
from servers import ATTACKS, SLOW, Hostile, hostile

from pmb_hf.doctor import CHECKS, Check, examine, exit_code

QUICK = [name for name in ATTACKS if name not in SLOW]


def sentences(checks: list[Check]) -> list[Check]:
    """Every check was made or left out, and what it tells is fit to be shown."""
    assert [check.name for check in checks] == [plan.name for plan in CHECKS]
    for check in checks:
        assert check.detail
        assert check.detail.isprintable()
        assert len(check.detail) < 400
        assert check.ok is not False or check.advice or not check.required
    assert exit_code(checks) == 1
    return [check for check in checks if check.ok is False]


def examined(server: Hostile, timeout_s: float = 5.0) -> list[Check]:
    return examine(server.url, allow_reset=True, timeout_s=timeout_s, ready_timeout_s=0.05)


@pytest.mark.parametrize("attack", QUICK)
def test_a_service_that_always_does_this_is_no_service(attack: str) -> None:
    with hostile() as server:
        server.always["*"] = ATTACKS[attack][1]
        bad = sentences(examined(server))
    assert bad
    assert server.requests < 1000


@pytest.mark.parametrize("attack", QUICK)
def test_a_search_that_always_does_this_is_told(attack: str) -> None:
    with hostile() as server:
        server.always["/search"] = ATTACKS[attack][1]
        bad = sentences(examined(server))
    assert "round_trip" in {check.name for check in bad}
    assert server.requests < 1000


@pytest.mark.parametrize("attack", SLOW)
def test_a_service_that_is_slow_for_ever_costs_a_time_out_a_call(attack: str) -> None:
    with hostile() as server:
        server.always["*"] = ATTACKS[attack][1]
        bad = sentences(examined(server, timeout_s=0.1))
    assert [check.name for check in bad] == ["reachable"]
    assert "within 0.1 s" in bad[0].detail
    assert server.requests < 10


@pytest.mark.parametrize("attack", SLOW)
def test_a_search_that_is_slow_for_ever_is_told(attack: str) -> None:
    with hostile() as server:
        server.always["/search"] = ATTACKS[attack][1]
        bad = sentences(examined(server, timeout_s=0.1))
    assert any("within 0.1 s" in check.detail for check in bad)
    assert server.requests < 100


@pytest.mark.parametrize("attack", ["is HTML", "is a gzip bomb", "sends elsewhere"])
def test_on_the_command_line_it_is_1_and_a_table(attack: str, tmp_path: Path) -> None:
    with hostile() as server:
        server.always["*"] = ATTACKS[attack][1]
        done = pmb("doctor", server.url, "--timeout", "5", "--ready-timeout", "0")
    assert done.code == 1
    assert "bad" in done.out
    assert done.err == ""
