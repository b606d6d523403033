"""A server that keeps to nothing: every answer gets its status, and none does harm."""

from __future__ import annotations

import itertools
import threading
import tracemalloc
from collections.abc import Iterator

import pytest
from servers import ATTACKS, SLOW, Hostile, Wire, hostile

from pmb_hf.asking import Asker, Query
from pmb_hf.errors import ProviderError
from pmb_hf.measured import Record
from pmb_hf.providers.http import HttpProvider
from pmb_hf.providers.http_config import HttpConfig
from pmb_hf.providers.http_errors import HttpFailure
from pmb_hf.providers.http_secrets import Secrets
from pmb_hf.rules import get_rules

LIMIT = 256 * 1024


def provider(url: str, timeout: float = 10.0, retries: int = 0) -> HttpProvider:
    config = HttpConfig(url=url, timeout=timeout, retries=retries, body_limit=LIMIT)
    made = HttpProvider(config, Secrets({}))
    made.add(belief_id="b-1", user_id="ana", text="fine", aliases=(), metadata={"beliefId": "b-1"})
    return made


@pytest.fixture(scope="module")
def server() -> Iterator[Hostile]:
    with hostile() as running:
        yield running


def ask(system: HttpProvider, query: str) -> Record:
    return Asker(system, get_rules("spec")).ask(
        Query("case", "category", "ana", ("domain:home",), query), {}
    )


@pytest.mark.parametrize("attack", ATTACKS)
def test_each_kind_of_answer_has_its_status(server: Hostile, attack: str) -> None:
    system = provider(server.url, timeout=0.5 if attack in SLOW else 10.0)
    record = ask(system, attack)
    assert record.status == ATTACKS[attack][0], record.error
    assert record.error is not None
    assert record.error.startswith("POST /search: ")
    assert record.error.isprintable()
    assert len(record.error) <= 300
    assert record.relevant == ()
    assert record.results is None
    assert record.latency_ms is None
    # And the next one is answered as if nothing had happened.
    after = ask(system, "an honest question")
    assert (after.status, after.relevant) == ("ok", ("b-1",)), after.error
    system.close()


@pytest.mark.parametrize("attack", ATTACKS)
def test_failures_are_ours_and_hold_on_to_no_foreign_exception(
    server: Hostile, attack: str
) -> None:
    system = provider(server.url, timeout=0.1 if attack in SLOW else 10.0)
    with pytest.raises(HttpFailure) as caught:
        system.search(query=attack, user_id="ana", scopes=("s",), limit=5)
    assert isinstance(caught.value, ProviderError)
    assert isinstance(caught.value, TimeoutError) == (caught.value.status == "timeout")
    # What httpx raises knows the request, and with it the secret headers.
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    system.close()


def test_a_thousand_hostile_answers(server: Hostile) -> None:
    system, hasty = provider(server.url), provider(server.url, timeout=0.1)
    quick = itertools.cycle(name for name in ATTACKS if name not in SLOW)
    attacks = [name for name in SLOW for _ in range(3)]
    attacks += itertools.islice(quick, 1000 - len(attacks))
    threads = threading.active_count()
    tracemalloc.start()
    try:
        statuses = [(name, ask(hasty if name in SLOW else system, name).status) for name in attacks]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(statuses) == 1000
    assert {(name, status) for name, status in statuses} == {
        (name, ATTACKS[name][0]) for name in ATTACKS
    }
    # The server's own buffers are in it as well.
    assert peak < 32 * LIMIT
    assert ask(system, "an honest question").status == "ok"
    assert threading.active_count() <= threads + 20
    system.close()
    hasty.close()


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next(server: Hostile) -> None:
    system = provider(server.url, retries=1)
    for _ in range(5):
        assert ask(system, "two answers").status == "ok"
        record = ask(system, "fails")
        assert record.status == "http_error", record.error
        assert ask(system, "two answers").status == "ok"
        record = ask(system, "an honest question")
        assert record.status == "ok", record.error
    system.close()


def test_message_names_call_code_and_first_line(server: Hostile) -> None:
    system = provider(server.url)
    said = {name: ask(system, name).error for name in ATTACKS if name not in SLOW}
    assert said["fails"] == 'POST /search: answered 500: {"error": "x"}'
    assert said["fails with escapes"] == "POST /search: answered 418: [31mred [0m"
    assert said["is HTML"] == (
        "POST /search: answered 200, but the body is no JSON (text/html): <!doctype html>"
    )
    assert said["has an id that is a number"] == (
        "POST /search: answered 200, but results[1].id is a number, not a string"
    )
    assert said["has a score in words"] == (
        "POST /search: answered 200, but results[1].score is a string, not a number"
    )
    assert "results[1] is a string, not an object" in (said["has a row in words"] or "")
    assert "192.0.2.1" in (said["sends elsewhere"] or "")
    assert "make it the URL of the provider" in (said["sends elsewhere"] or "")
    system.close()


@pytest.mark.parametrize(
    "attack", ["is HTML", "has an error in a 200", "says nothing", "fails", "closes in its body"]
)
def test_a_hostile_answer_to_a_write_ends_it(server: Hostile, attack: str) -> None:
    system = provider(server.url, timeout=0.1 if attack in SLOW else 10.0, retries=2)
    asked: list[str] = []

    def answer(wire: Wire) -> None:
        asked.append(wire.path)
        ATTACKS[attack][1](wire)

    server.answers[""] = answer
    try:
        with pytest.raises(HttpFailure, match="POST /add: ") as caught:
            system.add(belief_id="b-2", user_id="ana", text="t", aliases=(), metadata={})
    finally:
        del server.answers[""]
    assert caught.value.status == ATTACKS[attack][0]
    # The memory may have been taken, so it is not sent again.
    assert asked == ["/add"]
    system.close()
