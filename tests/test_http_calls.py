"""One call: repeated where that does no harm, and silent about its secrets."""

from __future__ import annotations

import base64
import json
import logging
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from servers import Hostile, Wire, hostile, standin

from pmb_hf.errors import InputError, ProviderError
from pmb_hf.providers import http_calls
from pmb_hf.providers.http import HttpProvider
from pmb_hf.providers.http_calls import Call, Caller
from pmb_hf.providers.http_config import HttpConfig
from pmb_hf.providers.http_errors import (
    AnswerError,
    BrokenConnectionError,
    DeadlineError,
    HttpStatusError,
    RedirectError,
)
from pmb_hf.providers.http_secrets import AUTHORIZATION_ENV, HEADERS_ENV, Secrets
from pmb_hf.providers.registry import create
from pmb_hf.runner import run


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, which take no time here."""
    waited: list[float] = []
    monkeypatch.setattr("pmb_hf.providers.http_calls.time.sleep", waited.append)
    return waited


@pytest.fixture
def server() -> Iterator[Hostile]:
    with hostile() as running:
        yield running


def caller(url: str, **options: Any) -> Caller:
    return Caller(HttpConfig(url=url, **{"timeout": 10.0, **options}), Secrets({}))


def answers(server: Hostile, *codes: str) -> list[str]:
    """Let a query "x" be answered with these codes in turn, then well; returns the paths asked."""
    asked: list[str] = []

    def attack(wire: Wire) -> None:
        asked.append(wire.path)
        code, _, header = (codes[len(asked) - 1] if len(asked) <= len(codes) else "200").partition(
            "|"
        )
        if code == "hang up":
            wire.close()
        extra = [header] if header else []
        wire.answer(b'{"results": []}', f"{code} X", "application/json", *extra)

    server.answers["x"] = attack
    return asked


SEARCH = Call("POST", "/search", {"query": "x"})
ADD = Call("POST", "/add", {"query": "x"}, repeat=False)


@pytest.mark.parametrize("code", ["429", "500", "502", "503", "504", "hang up"])
def test_a_passing_failure_is_tried_again(server: Hostile, waits: list[float], code: str) -> None:
    asked = answers(server, code, code)
    made = caller(server.url)
    assert made.call(SEARCH).json == {"results": []}
    assert len(asked) == 3
    assert made.counts == {"calls": 1, "retries": 2}
    assert len(waits) == 2
    assert 0 < waits[0] < waits[1] < 1
    made.close()


@pytest.mark.parametrize("code", ["400", "401", "403", "404", "409", "422", "501", "505"])
def test_a_lasting_failure_is_not(server: Hostile, waits: list[float], code: str) -> None:
    asked = answers(server, code)
    made = caller(server.url)
    with pytest.raises(HttpStatusError, match=f"POST /search: answered {code}"):
        made.call(SEARCH)
    assert (len(asked), waits) == (1, [])
    made.close()


def test_attempts_are_bounded(server: Hostile, waits: list[float]) -> None:
    asked = answers(server, *["503"] * 100)
    made = caller(server.url, retries=4)
    with pytest.raises(HttpStatusError, match="503") as caught:
        made.call(SEARCH)
    assert caught.value.code == 503
    assert (len(asked), len(waits)) == (5, 4)
    made.close()


@pytest.mark.parametrize(
    ("code", "attempts"),
    [("429", 2), ("503", 2), ("500", 1), ("502", 1), ("504", 1), ("hang up", 1)],
)
def test_a_write_is_repeated_only_if_it_was_not_taken(
    server: Hostile, waits: list[float], code: str, attempts: int
) -> None:
    asked = answers(server, code)
    made = caller(server.url)
    if attempts == 1:
        with pytest.raises(ProviderError):
            made.call(ADD)
    else:
        made.call(ADD)
    assert len(asked) == attempts
    made.close()


def test_a_write_is_repeated_if_there_was_no_connection(waits: list[float]) -> None:
    with hostile() as gone:
        url = gone.url
    with pytest.raises(BrokenConnectionError, match="can't connect") as caught:
        caller(url).call(ADD)
    assert caught.value.status == "connection_error"
    assert len(waits) == 2


def test_time_outs_and_bad_answers_are_not_repeated(server: Hostile, waits: list[float]) -> None:
    made = caller(server.url, timeout=0.1)
    with pytest.raises(DeadlineError, match=r"no whole answer within 0\.1 s"):
        made.call(Call("POST", "/search", {"query": "says nothing"}))
    made = caller(server.url)
    with pytest.raises(AnswerError):
        made.call(Call("POST", "/search", {"query": "is HTML"}))
    assert waits == []


def test_silence_within_a_call_can_be_bounded_as_well(server: Hostile) -> None:
    made = caller(server.url, timeout=30.0, read_timeout=0.05)
    with pytest.raises(DeadlineError):
        made.call(Call("POST", "/search", {"query": "says nothing"}))
    made.close()


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        ("0", 0, 0),
        ("3", 3, 3),
        (" 7 ", 7, 7),
        ("31", 30, 30),
        ("60", 30, 30),
        (format_datetime(datetime(2020, 1, 2, tzinfo=UTC), usegmt=True), 0, 0),
        ("soon", 0.01, 0.2),
        ("-5", 0.01, 0.2),
        ("Tue, 99 Foo 2020", 0.01, 0.2),
    ],
)
def test_retry_after_is_kept_up_to_a_cap(
    server: Hostile, waits: list[float], value: str, least: float, most: float
) -> None:
    answers(server, f"429|Retry-After: {value}")
    made = caller(server.url)
    made.call(SEARCH)
    assert len(waits) == 1
    assert least <= waits[0] <= most
    made.close()


@pytest.mark.parametrize(
    "value",
    ["61", "86400", "9" * 400, format_datetime(datetime(2999, 1, 2, tzinfo=UTC), usegmt=True)],
)
def test_what_no_attempt_could_outwait_is_not_tried_again(
    server: Hostile, waits: list[float], value: str
) -> None:
    asked = answers(server, *[f"429|Retry-After: {value}"] * 9)
    made = caller(server.url)
    with pytest.raises(HttpStatusError, match=r"answered 429.* takes no call for \d+ s, so it was"):
        made.call(SEARCH)
    assert (len(asked), waits) == (1, [])
    made.close()


def test_redirects_within_the_service_are_followed(server: Hostile) -> None:
    asked = answers(server, "307|Location: /there", "308|Location: ./here", "302|Location: /x")
    made = caller(server.url)
    assert made.call(SEARCH).json == {"results": []}
    assert asked == ["/search", "/there", "/here", "/x"]
    asked = answers(server, *["307|Location: /there"] * 4)
    with pytest.raises(RedirectError, match="more than 3 redirects"):
        made.call(SEARCH)
    assert len(asked) == 4
    answers(server, f"307|Location: http://localhost:{server.port}/")
    with pytest.raises(RedirectError, match="another host"):
        made.call(SEARCH)
    assert server.accepted == 1
    made.close()


def test_an_idle_connection_that_was_closed_is_not_used(server: Hostile) -> None:
    made = caller(server.url, retries=0)
    for _ in range(3):
        answers(server)
        made.call(SEARCH)
    assert server.accepted == 1
    with pytest.raises(BrokenConnectionError):
        made.call(Call("POST", "/search", {"query": "closes in its body"}))
    made.call(SEARCH)
    assert server.accepted == 2
    made.close()
    made.call(SEARCH)
    assert server.accepted == 3
    made.close()


def test_cookies_are_not_kept(server: Hostile) -> None:
    answers(server, "200|Set-Cookie: session=1")
    made = caller(server.url)
    made.call(SEARCH)
    assert made._client is not None
    assert not made._client.cookies
    made.close()


# --- secrets -----------------------------------------------------------------------------------

PASSWORD, KEY = "correct-horse/battery", 'key-7f3a9c"quoted'
BASIC = "Basic " + base64.b64encode(f"ana:{PASSWORD}".encode()).decode()
HIDDEN = (PASSWORD, KEY, KEY.replace('"', '\\"'), BASIC.split()[1])


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AUTHORIZATION_ENV, BASIC)
    monkeypatch.setenv(HEADERS_ENV, json.dumps({"X-Api-Key": KEY}))
    # Neither comes from anywhere else.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")


def clean(text: str) -> bool:
    return not any(word in text for word in HIDDEN)


@pytest.mark.usefixtures("secret")
def test_secrets_are_sent(tmp_path: Path) -> None:
    with standin(authorization=BASIC) as service:
        report = run(service.url, "native", parts=["retrieval"], out=tmp_path / "report.json")
    assert {record.status for record in report.records} == {"ok"}
    assert clean((tmp_path / "report.json").read_text(encoding="utf-8"))


@pytest.mark.usefixtures("secret")
def test_secrets_are_never_shown(
    server: Hostile,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    spelled = [
        BASIC,
        KEY,
        json.dumps({"error": f"bad key {KEY}", "auth": BASIC}),
        f"user ana:{PASSWORD}",
        PASSWORD.replace("/", "\\/"),
        "x" * 190 + PASSWORD,
        PASSWORD[:5] + "\x00" + PASSWORD[5:],
    ]

    def fault(text: str) -> Any:
        def attack(wire: Wire) -> None:
            if wire.path == "/search":
                wire.answer(text.encode(), "500 X", "text/plain")
            else:
                wire.answer(b"{}")

        return attack

    provider = create(server.url, {"retries": 0})
    for number, text in enumerate(spelled):
        server.answers[f"q{number}"] = fault(text)
        with pytest.raises(HttpStatusError) as caught:
            provider.search(query=f"q{number}", user_id="u", scopes=("s",), limit=3)
        told = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        assert told.__context__ is None
        told.stack = traceback.StackSummary.from_list(told.stack[1:])  # this test knows them
        shown = "".join(told.format())
        assert "in _attempt" in shown or "in call" in shown
        assert clean(shown)
        assert clean(repr(caught.value) + repr(vars(caught.value)))
    server.answers["row"] = lambda wire: wire.answer(
        json.dumps({"results": [{"metadata": {"beliefId": f"b {BASIC}"}}, {"id": KEY}]}).encode()
    )
    hits = provider.search(query="row", user_id="u", scopes=("s",), limit=3)
    assert [hit.id for hit in hits] == ["b ***", None]
    assert isinstance(provider, HttpProvider)
    assert clean(repr(provider) + json.dumps(dict(provider.options)) + json.dumps(provider.counts))
    out, err = capfd.readouterr()
    assert clean(out + err + caplog.text)


@pytest.mark.usefixtures("secret")
def test_secrets_reach_neither_report_nor_journal(tmp_path: Path) -> None:
    with standin(health={"version": f"1 {KEY}"}) as service:
        for number in range(12, 200):
            service.traits.fail[number] = (500, {"X-Echo": KEY}, f"{BASIC} {KEY}")
        out = tmp_path / "report.json"
        report = run(service.url, "native", out=out, options={"retries": 0}, max_failures=5)
    assert report.provenance["stopped"]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".journal"}
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert clean(text)
        assert "answered 500: *** ***" in text
        assert '"1 ***"' in text


def test_a_refused_key_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AUTHORIZATION_ENV, "Bearer wrong-key-123")
    with (
        standin(authorization="Bearer right") as service,
        pytest.raises(ProviderError, match=r"DELETE /reset: answered 401.*refused: \*\*\*"),
    ):
        run(service.url, "native")


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        (HEADERS_ENV, "X-Api-Key: s3cret", "must be JSON"),
        (HEADERS_ENV, '{"X-Api-Key": 5, "y": "s3cret"}', "must be JSON"),
        (HEADERS_ENV, '{"X Api": "s3cret"}', "can't be set as a header"),
        (HEADERS_ENV, '{"Host": "s3cret"}', "can't be set as a header"),
        (HEADERS_ENV, '{"X-Api-Key": "s3cret\\r\\nX: 1"}', "printable ASCII"),
        (AUTHORIZATION_ENV, "Bearer s3cret\n\nX: 1", "printable ASCII"),
        (AUTHORIZATION_ENV, "Bearer s3créte", "printable ASCII"),
    ],
)
def test_a_header_that_cannot_be_sent(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, match: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=match) as caught:
        create("http://127.0.0.1:1")
    text = "".join(traceback.format_exception(caught.value))
    assert "s3cret" not in text
    assert name in text


def test_pause_grows_and_is_bounded() -> None:
    tops = [max(http_calls._pause(attempt, None) for _ in range(50)) for attempt in range(10)]
    assert tops[0] < 0.11
    assert max(tops) <= 5.0
    assert http_calls._pause(0, 1e9) == 30.0
