"""The doctor finds nothing wrong with what is right, and names exactly what is wrong."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from cli_kit import pmb

from pmb_hf.doctor import CHECKS, Check, examine, exit_code
from pmb_hf.errors import InputError
from pmb_hf.providers.controls import EverythingProvider
from pmb_hf.providers.registry import create
from pmb_hf.serve import make_app, running

OPTIONAL = {"reset", "health", "wait", "update", "update_unknown", "delete"}


class Refused(Exception):
    """An answer with an error code."""


class Kept(NamedTuple):
    user: str
    id: str
    text: str
    scope: Any
    at: float


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def as_set(scope: Any) -> set[str]:
    return {scope} if isinstance(scope, str) else set(scope or ())


class Wrapper:
    """A sound service around a list; each subclass breaks one thing."""

    delay_s = 0.0
    health: Any = {"status": "ok"}  # noqa: RUF012 - never changed

    def __init__(self) -> None:
        self.kept: list[Kept] = []
        self.calls: list[str] = []

    def do(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        self.calls.append(f"{method} {path}")
        if (method, path) == ("GET", "/health"):
            return self.health
        if (method, path) == ("DELETE", "/delete"):
            return self.delete(query["user_id"], query["id"])
        if (method, path) == ("DELETE", "/reset"):
            return self.reset()
        calls = {
            ("POST", "/add"): self.add,
            ("POST", "/search"): self.search,
            ("PUT", "/update"): self.update,
            ("POST", "/wait"): self.wait,
        }
        return calls[method, path](body)

    def reset(self) -> Any:
        self.kept = []
        return {}

    def checked(self, body: Any, *names: str) -> None:
        for name in names:
            if name not in body:
                raise Refused(422, f"{name} is missing")

    def put(self, body: Any) -> None:
        belief_id = body["metadata"]["beliefId"]
        self.forget(body["user_id"], belief_id)
        scope = body["metadata"]["scope"]
        self.kept.append(
            Kept(body["user_id"], belief_id, body["text"], scope, time.monotonic() + self.delay_s)
        )

    def forget(self, user: str, belief_id: str) -> None:
        self.kept = [k for k in self.kept if (k.user, k.id) != (user, belief_id)]

    def add(self, body: Any) -> Any:
        self.checked(body, "text", "user_id", "metadata")
        self.put(body)
        return {}

    def update(self, body: Any) -> Any:
        belief_id = body["metadata"]["beliefId"]
        if not any((k.user, k.id) == (body["user_id"], belief_id) for k in self.kept):
            raise Refused(404, "no such memory")
        self.put(body)
        return {}

    def delete(self, user: str, belief_id: str) -> Any:
        self.forget(user, belief_id)
        return {}

    def wait(self, body: Any) -> Any:
        until = max((k.at for k in self.kept), default=0.0)
        time.sleep(max(until - time.monotonic(), 0.0))
        return {}

    def matches(self, kept: Kept, body: Any) -> bool:
        scope = as_set(body.get("scope"))
        return (
            kept.user == body["user_id"]
            and (not scope or bool(scope & as_set(kept.scope)))
            and bool(words(body["query"]) & words(kept.text))
            and kept.at <= time.monotonic()
        )

    def search(self, body: Any) -> Any:
        self.checked(body, "query", "user_id")
        found = [kept for kept in self.kept if self.matches(kept, body)]
        found.sort(key=lambda kept: -len(words(body["query"]) & words(kept.text)))
        return {"results": self.cut([self.row(kept) for kept in found], body["limit"])}

    def cut(self, rows: list[Any], limit: int) -> list[Any]:
        return rows[:limit]

    def row(self, kept: Kept) -> Any:
        return {"id": kept.id, "memory": kept.text}


class OnlyWhatMustBe(Wrapper):
    def do(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        if path not in {"/add", "/search", "/reset"}:
            raise Refused(404, "no such path")
        return super().do(method, path, query, body)


class IdInMetadata(Wrapper):
    def row(self, kept: Kept) -> Any:
        return {"id": "m-" + kept.id[::-1], "metadata": {"beliefId": kept.id}, "memory": kept.text}


class IdOfItsOwn(Wrapper):
    def add(self, body: Any) -> Any:
        return {**super().add(body), "id": "m-" + body["metadata"]["beliefId"]}

    def delete(self, user: str, belief_id: str) -> Any:
        return super().delete(user, belief_id.removeprefix("m-"))

    def row(self, kept: Kept) -> Any:
        return {"id": "m-" + kept.id, "memory": kept.text}


class Slow(Wrapper):
    delay_s = 0.3


class NoText(Wrapper):
    def row(self, kept: Kept) -> Any:
        return {"id": kept.id}


@contextmanager
def served(wrapper: Wrapper, *, password: str | None = None) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            try:
                if password is not None and self.headers.get("authorization") != password:
                    raise Refused(401, "who are you?")
                query = {key: values[0] for key, values in parse_qs(url.query).items()}
                code, said = (
                    200,
                    wrapper.do(self.command, url.path, query, json.loads(body) if body else None),
                )
            except Refused as refused:
                code, said = refused.args[0], {"error": refused.args[1]}
            except Exception as error:  # noqa: BLE001 - a server goes on, whatever fails
                code, said = 500, {"error": repr(error)}
            data = said.encode() if isinstance(said, str) else json.dumps(said).encode()
            self.send_response(code)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - http.server's names

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def wrong(checks: list[Check]) -> dict[str, str]:
    return {check.name: check.detail for check in checks if check.ok is False}


def left_out(checks: list[Check]) -> set[str]:
    return {check.name for check in checks if check.ok is None}


# ---- sound services


@pytest.mark.parametrize("name", ["bm25", "fts5"])
def test_nothing_is_wrong_with_what_we_serve(name: str) -> None:
    with running(make_app(create(name), name=name)) as url:
        checks = examine(url, allow_reset=True)
    assert [check.name for check in checks] == [plan.name for plan in CHECKS]
    assert {check.name: check.detail for check in checks if check.ok is not True} == {}
    assert exit_code(checks) == 0
    assert checks[1].detail.startswith(name + " ")


@pytest.mark.parametrize("kind", [Wrapper, IdInMetadata, IdOfItsOwn, Slow])
def test_nothing_is_wrong_with_a_sound_service(kind: type[Wrapper]) -> None:
    with served(kind()) as url:
        checks = examine(url, allow_reset=True)
    assert wrong(checks) == {}
    assert left_out(checks) == set()
    told = {check.name: check.detail for check in checks}["ids"]
    assert told.partition(" is")[0] == (
        "results[].metadata.beliefId" if kind is IdInMetadata else "results[].id"
    )
    assert told.endswith("POST /add answered") == (kind is IdOfItsOwn)


def test_a_service_need_not_give_texts_back() -> None:
    with served(NoText()) as url:
        checks = examine(url, allow_reset=True)
    assert wrong(checks) == {}


def test_what_is_optional_may_be_left_out() -> None:
    with served(OnlyWhatMustBe()) as url:
        checks = examine(url, allow_reset=True)
    assert wrong(checks) == {}
    assert left_out(checks) == OPTIONAL - {"reset"}
    assert exit_code(checks) == 0


def test_how_long_a_write_takes_is_told() -> None:
    with served(Slow()) as url:
        checks = {check.name: check for check in examine(url)}
    assert re.search(r"after \d+ ms", checks["visibility"].detail)


def test_everything_is_no_fault_of_the_contract() -> None:
    # Bad at the benchmark, but a run can rely on it.
    with running(make_app(EverythingProvider())) as url:
        assert exit_code(examine(url, allow_reset=True)) == 0


# ---- one fault each


class KeepsOnReset(Wrapper):
    def reset(self) -> Any:
        return {}


class KeepsOneUserOnReset(Wrapper):
    def reset(self) -> Any:
        self.kept = [kept for kept in self.kept if kept.user.endswith("-b")]
        return {}


class Forgets(Wrapper):
    def put(self, body: Any) -> None:
        return


class NoList(Wrapper):
    def search(self, body: Any) -> Any:
        return super().search(body)["results"]


class NumberIds(Wrapper):
    def row(self, kept: Kept) -> Any:
        return {"id": 7, "memory": kept.text}


class ErrorWith200(Wrapper):
    def search(self, body: Any) -> Any:
        return {"error": "the index is gone"}


class UnknownIds(Wrapper):
    def row(self, kept: Kept) -> Any:
        return {"id": "m-" + kept.id, "memory": kept.text}


class OneUser(Wrapper):
    def matches(self, kept: Kept, body: Any) -> bool:
        return super().matches(kept, {**body, "user_id": kept.user})


class NoLimit(Wrapper):
    def cut(self, rows: list[Any], limit: int) -> list[Any]:
        return rows


class ZeroIsAll(Wrapper):
    def cut(self, rows: list[Any], limit: int) -> list[Any]:
        return rows[: limit or None]


class Ascii(Wrapper):
    def row(self, kept: Kept) -> Any:
        return {"id": kept.id, "memory": kept.text.encode("ascii", "ignore").decode()}


class AsciiCrash(Wrapper):
    def add(self, body: Any) -> Any:
        body["text"].encode("ascii")
        return super().add(body)


class ShortTexts(Wrapper):
    def add(self, body: Any) -> Any:
        if len(body.get("text", "")) > 8000:
            raise Refused(413, "too long")
        return super().add(body)


class EmptyQueryCrash(Wrapper):
    def search(self, body: Any) -> Any:
        if body.get("query") == "":
            raise ZeroDivisionError
        return super().search(body)


class StringScopeOnly(Wrapper):
    def search(self, body: Any) -> Any:
        if isinstance(body.get("scope"), list):
            raise Refused(422, "scope must be a string")
        return super().search(body)


class SameScopeOnly(Wrapper):
    def matches(self, kept: Kept, body: Any) -> bool:
        same = body.get("scope") is None or body["scope"] == kept.scope
        return same and super().matches(kept, body)


class NullScopeIsNone(Wrapper):
    def matches(self, kept: Kept, body: Any) -> bool:
        return body.get("scope") is not None and super().matches(kept, body)


class WaitLies(Wrapper):
    def put(self, body: Any) -> None:
        self.delay_s = 60.0 if "pilot" in body["text"] else 0.0
        super().put(body)

    def wait(self, body: Any) -> Any:
        return {}


class WaitFails(Wrapper):
    def wait(self, body: Any) -> Any:
        raise RuntimeError("no queue")


class UpdateDoesNothing(Wrapper):
    def put(self, body: Any) -> None:
        if "update" not in self.calls[-1]:
            super().put(body)


class UpdateAppends(Wrapper):
    def forget(self, user: str, belief_id: str) -> None:
        if "update" not in self.calls[-1]:
            super().forget(user, belief_id)


class Upserts(Wrapper):
    def update(self, body: Any) -> Any:
        return self.add(body)


class DeleteDoesNothing(Wrapper):
    def delete(self, user: str, belief_id: str) -> Any:
        return {}


class DeletesOneMore(Wrapper):
    def delete(self, user: str, belief_id: str) -> Any:
        self.kept = [k for k in self.kept if k.id != belief_id and "lighthouse" not in k.text]
        return {}


class MergesTexts(Wrapper):
    def put(self, body: Any) -> None:
        if all(k.text != body["text"] or k.user != body["user_id"] for k in self.kept):
            super().put(body)


class Appends(Wrapper):
    def forget(self, user: str, belief_id: str) -> None:
        if "/add" not in self.calls[-1]:
            super().forget(user, belief_id)


class TakesAnything(Wrapper):
    def search(self, body: Any) -> Any:
        return super().search({"query": "", "user_id": "", "limit": 1, **body})


def linger(body: Any) -> None:
    """Give the searches that come at the same time the time to meet."""
    if "berth" in body.get("query", ""):
        time.sleep(0.3)


class OneAtATime(Wrapper):
    def __init__(self) -> None:
        super().__init__()
        self.busy = threading.Lock()

    def search(self, body: Any) -> Any:
        if not self.busy.acquire(blocking=False):
            raise Refused(500, "busy")
        try:
            linger(body)
            return super().search(body)
        finally:
            self.busy.release()


class SharedQuery(Wrapper):
    def search(self, body: Any) -> Any:
        self.query = body.get("query", "")
        linger(body)
        return super().search({**body, "query": self.query} if "query" in body else body)


class HtmlHealth(Wrapper):
    health = "<!doctype html><h1>It works!</h1>"


FAULTS: list[tuple[type[Wrapper], set[str], str]] = [
    (HtmlHealth, {"health"}, "no JSON"),
    (KeepsOnReset, {"reset"}, "still finds"),
    (KeepsOneUserOnReset, {"reset"}, "-b' still finds"),
    (Forgets, {"round_trip"}, "missed it"),
    (NoList, {"round_trip", "reset"}, 'no object with a list "results"'),
    (NumberIds, {"round_trip", "reset"}, "results[0].id is a number, not a string"),
    (ErrorWith200, {"round_trip", "reset", "bad_body"}, 'no object with a list "results"'),
    (UnknownIds, {"ids"}, "which nobody knows"),
    (OneUser, {"user_isolation"}, "finds a memory of"),
    (NoLimit, {"limit", "limit_zero"}, "limit 1 gives"),
    (ZeroIsAll, {"limit_zero"}, "limit 0 gives"),
    (Ascii, {"unicode"}, "without its letters"),
    (AsciiCrash, {"unicode"}, "500"),
    (ShortTexts, {"long_text"}, "too long"),
    (EmptyQueryCrash, {"empty_query"}, "500"),
    (StringScopeOnly, {"scope_forms"}, "scope must be a string"),
    (SameScopeOnly, {"scope_forms"}, "misses it"),
    (NullScopeIsNone, {"scope_null"}, "misses a memory"),
    (WaitLies, {"wait"}, "right after it misses"),
    (WaitFails, {"wait"}, "no queue"),
    (UpdateDoesNothing, {"update"}, "does not show the new text"),
    (UpdateAppends, {"update"}, "left the old version"),
    (Upserts, {"update_unknown"}, "was accepted"),
    (DeleteDoesNothing, {"delete"}, "still finds the memory"),
    (DeletesOneMore, {"delete"}, "took another one"),
    (MergesTexts, {"same_text_twice"}, "finds one"),
    (Appends, {"same_id_twice"}, "is found twice"),
    (TakesAnything, {"bad_body"}, "answered with 200"),
    (OneAtATime, {"concurrency"}, "busy"),
    (SharedQuery, {"concurrency"}, "got another answer"),
]


@pytest.mark.parametrize(
    ("kind", "names", "told"), FAULTS, ids=[kind.__name__ for kind, _, _ in FAULTS]
)
def test_one_fault_is_named_and_nothing_else(
    kind: type[Wrapper], names: set[str], told: str
) -> None:
    with served(kind()) as url:
        checks = examine(url, allow_reset=True, ready_timeout_s=1.5)
    assert set(wrong(checks)) == names, wrong(checks)
    assert any(told in detail for detail in wrong(checks).values()), wrong(checks)
    for check in checks:
        assert bool(check.advice) == (check.ok is False), check
    required = any(check.required for check in checks if check.ok is False)
    assert exit_code(checks) == int(required)


def test_taking_a_bad_body_is_no_failure() -> None:
    with served(TakesAnything()) as url:
        done = pmb("doctor", url, "--allow-reset")
    assert done.code == 0
    (row,) = [line for line in done.out.splitlines() if " bad_body " in line]
    assert row.startswith("advice ")


def test_every_check_that_can_fail_is_broken_by_a_fault() -> None:
    broken = {name for _, names, _ in FAULTS for name in names} | {"reachable"}
    assert broken == {plan.name for plan in CHECKS if plan.advice}
    assert [plan.name for plan in CHECKS if not plan.advice] == ["visibility"]


# ---- services that are not there, or no services


def test_nobody_there_is_one_fault() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    checks = examine(f"http://127.0.0.1:{port}")
    assert list(wrong(checks)) == ["reachable"]
    assert left_out(checks) == {plan.name for plan in CHECKS} - {"reachable"}
    assert exit_code(checks) == 1


def test_a_service_that_never_answers_is_one_fault() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        checks = examine(f"http://127.0.0.1:{sock.getsockname()[1]}", timeout_s=0.3)
    assert list(wrong(checks)) == ["reachable"]


@pytest.mark.parametrize("said", ["<h1>Hello</h1>", "", [], {}, {"results": {"id": "b"}}])
def test_what_is_no_memory_system_gets_a_diagnosis(said: Any) -> None:
    class Same(Wrapper):
        def do(self, *_: Any) -> Any:
            return said

    with served(Same()) as url:
        checks = examine(url, allow_reset=True, ready_timeout_s=0.1)
    assert "round_trip" in wrong(checks)
    assert exit_code(checks) == 1


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x", "http://u:p@x", ""])
def test_what_is_no_url_is_an_input_error(url: str) -> None:
    with pytest.raises(InputError):
        examine(url)


def test_a_password_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(Wrapper(), password="Bearer open-sesame") as url:
        monkeypatch.delenv("PMB_HTTP_AUTHORIZATION", raising=False)
        shut = examine(url)
        assert list(wrong(shut)) == ["reachable"]
        assert "PMB_HTTP_AUTHORIZATION" in shut[0].advice
        monkeypatch.setenv("PMB_HTTP_AUTHORIZATION", "Bearer open-sesame")
        checks = examine(url)
    assert wrong(checks) == {}
    assert "sesame" not in repr(checks)


# ---- what it does to the store


def test_without_leave_it_resets_nothing_and_takes_its_memories_with_it() -> None:
    wrapper = Wrapper()
    with served(wrapper) as url:
        mine = {
            "text": "The lighthouse is mine.",
            "user_id": "ana",
            "metadata": {"beliefId": "b1", "scope": []},
        }
        httpx.post(url + "/add", json=mine)
        checks = examine(url)
    assert "DELETE /reset" not in wrapper.calls
    assert [kept.id for kept in wrapper.kept] == ["b1"]
    assert left_out(checks) == {"reset"}
    assert exit_code(checks) == 0


def test_what_it_cannot_take_away_is_told() -> None:
    wrapper = OnlyWhatMustBe()
    with served(wrapper) as url:
        checks = {check.name: check for check in examine(url)}
    assert f"{len(wrapper.kept)} memories of users pmb-doctor-" in checks["reset"].detail
    assert checks["reset"].ok is None


def test_with_leave_it_leaves_an_empty_store() -> None:
    wrapper = Wrapper()
    with served(wrapper) as url:
        examine(url, allow_reset=True)
    assert wrapper.calls[-1] == "DELETE /reset"
    assert wrapper.kept == []


def test_checks_are_told_as_they_are_done() -> None:
    told: list[Check] = []
    with served(Wrapper()) as url:
        assert examine(url, on_check=told.append) == told


def test_two_doctors_at_once_do_not_disturb_each_other() -> None:
    results: list[list[Check]] = []
    with served(Wrapper()) as url:
        threads = [threading.Thread(target=lambda: results.append(examine(url))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [wrong(checks) for checks in results] == [{}, {}, {}]
