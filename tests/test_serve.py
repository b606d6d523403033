"""The served contract, over a real server on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pmb_hf.serve.run as serve_run
from pmb_hf.corpus import load_corpus
from pmb_hf.errors import InputError, ProviderError, ProviderTimeoutError, UnknownNameError
from pmb_hf.memories import memory_row
from pmb_hf.providers.controls import EverythingProvider, ScriptedProvider
from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.providers.protocol import Hit
from pmb_hf.providers.registry import create
from pmb_hf.report_json import report_json
from pmb_hf.rules import RULES
from pmb_hf.runner import run
from pmb_hf.schema import Belief
from pmb_hf.serve import make_app, running, serve
from pmb_hf.serve.bodies import MAX_TEXT, AddBody, Metadata
from pmb_hf.serve.worker import Worker

ROOT = Path(__file__).resolve().parent.parent
JSON = {"content-type": "application/json"}


class Log(Fts5Provider):
    """A real engine that writes down what it is given, and in which thread."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.threads: set[int] = set()
        self.inside = 0
        self.most_inside = 0

    def add(self, **row: Any) -> None:
        self.threads.add(threading.get_ident())
        self.rows.append(row)
        super().add(**row)

    def search(
        self, *, query: str, user_id: str, scopes: Sequence[str], limit: int
    ) -> Sequence[Hit]:
        self.threads.add(threading.get_ident())
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        self.asked.append({"query": query, "scopes": scopes, "limit": limit})
        try:
            return super().search(query=query, user_id=user_id, scopes=scopes, limit=limit)
        finally:
            self.inside -= 1


class Bare:
    """Nothing but what a provider must have; ``answer`` makes the result of a search."""

    def __init__(self, answer: Callable[[], Any] = list) -> None:
        self.answer = answer

    def reset(self) -> None:
        return

    def add(self, **row: Any) -> None:
        return

    def search(self, **asked: Any) -> Any:
        return self.answer()


def memory(name: str = "b1", text: str = "The mast is spruce.", **metadata: Any) -> dict[str, Any]:
    return {
        "text": text,
        "user_id": "ana",
        "metadata": {"beliefId": name, "scope": "domain:boat", **metadata},
        "aliases": [],
    }


def question(query: str = "mast", **more: Any) -> dict[str, Any]:
    return {"query": query, "user_id": "ana", "limit": 20, "scope": "domain:boat", **more}


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def client(log: Log) -> Iterator[httpx.Client]:
    with running(make_app(log)) as url, httpx.Client(base_url=url) as client:
        yield client


def ids(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [row["id"] for row in response.json()["results"]]


# ---- the contract


def test_round_trip(client: httpx.Client) -> None:
    answer = client.post("/add", json=memory())
    assert (answer.status_code, answer.json()) == (200, {"id": "b1"})
    assert client.post("/wait").json() == {"status": "ok"}
    found = client.post("/search", json=question()).json()["results"]
    assert [(row["id"], row["memory"]) for row in found] == [("b1", "The mast is spruce.")]
    assert found[0]["metadata"]["scope"] == ["domain:boat"]
    assert isinstance(found[0]["score"], float)


def test_reset_takes_no_body_and_empties(client: httpx.Client) -> None:
    client.post("/add", json=memory())
    assert client.delete("/reset").status_code == 200
    assert ids(client.post("/search", json=question())) == []
    assert ids(client.post("/search", json=question(scope=None))) == []


def test_update_replaces_and_an_unknown_memory_is_404(client: httpx.Client) -> None:
    client.post("/add", json=memory())
    assert client.put("/update", json=memory(text="The keel is lead.")).json() == {"id": "b1"}
    assert ids(client.post("/search", json=question("keel"))) == ["b1"]
    assert ids(client.post("/search", json=question("mast"))) == []
    unknown = client.put("/update", json=memory("b2"))
    assert unknown.status_code == 404
    assert "'b2'" in unknown.json()["error"]


@pytest.mark.parametrize("place", ["query", "body"])
def test_delete_by_query_or_by_body(client: httpx.Client, place: str) -> None:
    client.post("/add", json=memory("b1"))
    client.post("/add", json=memory("b2"))
    which = {"user_id": "ana", "id": "b1"}
    if place == "query":
        answer = client.delete("/delete", params=which)
    else:
        answer = client.request("DELETE", "/delete", json=which)
    assert answer.status_code == 200
    assert ids(client.post("/search", json=question())) == ["b2"]
    assert client.delete("/delete", params=which).status_code == 200
    assert client.put("/update", json=memory("b1")).status_code == 404


def test_delete_names_what_is_missing(client: httpx.Client) -> None:
    answer = client.delete("/delete", params={"user_id": "ana"})
    assert answer.status_code == 422
    assert answer.json()["fields"] == [{"path": "id", "message": "Field required"}]


def test_health_says_what_the_provider_can_do(client: httpx.Client) -> None:
    said = client.get("/health").json()
    assert said["status"] == "ok"
    assert said["provider"] == "Log"
    assert said["version"].startswith("sqlite")
    assert said["capabilities"] == {"update": True, "delete": True, "wait": True, "scopes": True}


def test_what_a_provider_cannot_do_is_501() -> None:
    with running(make_app(Bare(), name="bare")) as url, httpx.Client(base_url=url) as client:
        assert client.get("/health").json()["capabilities"]["update"] is False
        assert client.put("/update", json=memory()).status_code == 501
        answer = client.delete("/delete", params={"user_id": "ana", "id": "b1"})
        assert answer.status_code == 501
        assert answer.json() == {"error": "provider 'bare' can't delete a memory"}
        assert client.post("/wait").status_code == 200


def test_wait_ends_when_time_is_up() -> None:
    class Slow(Fts5Provider):
        def wait_ready(self, *, belief_id: str, user_id: str, timeout_s: float) -> None:
            if timeout_s < 1:
                super().wait_ready(belief_id="nobody", user_id=user_id, timeout_s=timeout_s)
            super().wait_ready(belief_id=belief_id, user_id=user_id, timeout_s=timeout_s)

    with running(make_app(Slow())) as url, httpx.Client(base_url=url) as client:
        client.post("/add", json=memory())
        late = client.post("/wait", json={"timeout_s": 0})
        assert late.status_code == 504
        assert "nobody" in late.json()["error"]
        assert client.post("/wait", json={"timeout_s": 5}).status_code == 200
        assert client.post("/wait", json={"timeout_s": 0}).status_code == 200  # nothing is new


# ---- what the provider sees


def test_scope_is_a_string_a_list_or_null(client: httpx.Client, log: Log) -> None:
    client.post("/add", json=memory("b1", scope="domain:boat"))
    client.post("/add", json=memory("b2", scope=["domain:car", "user:universal"]))
    assert ids(client.post("/search", json=question(scope="domain:car"))) == ["b2"]
    assert ids(client.post("/search", json=question(scope=["domain:boat", "domain:car"]))) == [
        "b1",
        "b2",
    ]
    everywhere = question(scope=None)
    assert ids(client.post("/search", json=everywhere)) == ["b1", "b2"]
    del everywhere["scope"]
    assert ids(client.post("/search", json=everywhere)) == ["b1", "b2"]
    assert [asked["scopes"] for asked in log.asked] == [
        ("domain:car",),
        ("domain:boat", "domain:car"),
        ("domain:boat", "domain:car", "user:universal"),
        ("domain:boat", "domain:car", "user:universal"),
    ]
    assert ids(client.post("/search", json=question(scope=[]))) == []
    assert log.asked[-1]["scopes"] == ()


def test_all_scopes_are_those_of_the_user(client: httpx.Client, log: Log) -> None:
    client.post("/add", json=memory())
    client.post("/search", json={"query": "mast", "user_id": "ben"})
    assert log.asked[-1] == {"query": "mast", "scopes": (), "limit": 20}


BELIEF = Belief(
    id="b1",
    user_id="ana",
    type="relation",
    canonical_name="spare_mast",
    content="The mast is spruce.",
    scope=("domain:boat",),
    aliases=("spar",),
    superseded_by="b2",
    participants=("b3",),
)


@pytest.mark.parametrize("spelling", ["ours", "upstream's"])
def test_metadata_arrives_as_in_process(client: httpx.Client, log: Log, spelling: str) -> None:
    row = memory_row(BELIEF, user_id="ana")
    metadata = dict(row["metadata"])
    if spelling == "upstream's":
        metadata |= {
            "scope": "domain:boat",
            "superseded_by": metadata.pop("supersededBy"),
            "resolved_at": metadata.pop("resolvedAt"),
            "canonical_name": metadata.pop("canonicalName"),
            "epistemic_status": metadata.pop("epistemicStatus"),
        }
    body = {"text": row["text"], "user_id": "ana", "metadata": metadata, "aliases": row["aliases"]}
    assert client.post("/add", json=body).status_code == 200
    assert log.rows == [row]
    assert list(log.rows[0]["metadata"]) == list(row["metadata"])


def test_metadata_of_upstream_is_completed(client: httpx.Client, log: Log) -> None:
    client.post("/add", json=memory(type="entity", pinned=True, superseded_by=None, own={"a": 1}))
    assert log.rows[0]["metadata"] == {
        "beliefId": "b1",
        "scope": ["domain:boat"],
        "type": "entity",
        "canonicalName": None,
        "pinned": True,
        "supersededBy": None,
        "resolvedAt": None,
        "epistemicStatus": None,
        "participants": [],
        "own": {"a": 1},
    }


@given(
    camel=st.none() | st.text(min_size=1, max_size=3),
    snake=st.none() | st.text(min_size=1, max_size=3),
)
def test_of_two_spellings_the_one_that_says_something_counts(
    camel: str | None, snake: str | None
) -> None:
    given_both = {"beliefId": "b1", "supersededBy": camel, "superseded_by": snake}
    seen = Metadata.model_validate(given_both).normalised()
    assert seen["supersededBy"] == (snake if camel is None else camel)
    assert "superseded_by" not in seen


def test_a_provider_is_called_in_one_thread_one_call_at_a_time(
    client: httpx.Client, log: Log
) -> None:
    client.post("/add", json=memory())
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ids(client.post("/search", json=question())), range(40)))
    assert answers == [["b1"]] * 40
    assert len(log.threads) == 1
    assert threading.get_ident() not in log.threads
    assert log.most_inside == 1


# ---- what is turned away


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({}, ["text", "user_id", "metadata"]),
        ({**memory(), "text": 5}, ["text"]),
        ({**memory(), "user_id": ""}, ["user_id"]),
        ({**memory(), "metadata": {"scope": 3}}, ["metadata.beliefId", "metadata.scope"]),
        ({**memory(), "metadata": {"beliefId": "b", "scope": [1]}}, ["metadata.scope"]),
        (memory(pinned="yes"), ["metadata.pinned"]),
        ({**memory(), "aliases": ["a", 2]}, ["aliases.1"]),
        ([], [""]),
    ],
)
def test_a_bad_body_is_422_and_names_the_field(
    client: httpx.Client, log: Log, body: Any, paths: list[str]
) -> None:
    for method, path in (("POST", "/add"), ("PUT", "/update")):
        answer = client.request(method, path, json=body)
        assert answer.status_code == 422
        told = [fault["path"].removesuffix(".0") for fault in answer.json()["fields"]]
        assert list(dict.fromkeys(told)) == paths
        assert all((path or "body") in answer.json()["error"] for path in paths)
    assert log.rows == []


@pytest.mark.parametrize("limit", [-1, 1001, 2.5, "3", True, None])
def test_limit_is_a_number_of_0_to_1000(client: httpx.Client, limit: Any) -> None:
    answer = client.post("/search", json=question(limit=limit))
    assert answer.status_code == 422
    assert [fault["path"] for fault in answer.json()["fields"]] == ["limit"]


@pytest.mark.parametrize("limit", [0, 1, 20.0, 1000])
def test_limit_reaches_the_provider(client: httpx.Client, log: Log, limit: float) -> None:
    assert client.post("/search", json=question(limit=limit)).status_code == 200
    assert log.asked[-1]["limit"] == limit
    assert isinstance(log.asked[-1]["limit"], int)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{", "JSON"),
        (b"\xff", "UTF-8"),
        (b'{"limit": NaN}', "NaN"),
        (b'{"limit": 1e999}', "too long"),
        (b'{"limit": ' + b"9" * 5000 + b"}", "too long"),
        (b"[" * 100_000, "deep"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "deep"),
        (b"", "required"),
    ],
)
def test_what_is_no_strict_json_is_422(client: httpx.Client, content: bytes, told: str) -> None:
    answer = client.post("/search", content=content, headers=JSON)
    assert answer.status_code == 422
    assert told in answer.json()["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/json", "content-encoding": "gzip"},
    ],
)
def test_only_plain_json_is_taken(client: httpx.Client, log: Log, headers: dict[str, str]) -> None:
    content = json.dumps(memory()).encode()
    answer = client.post("/add", content=content, headers=headers)
    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]
    assert log.rows == []


def test_a_charset_is_no_fault(client: httpx.Client) -> None:
    content = json.dumps(memory()).encode()
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    assert client.post("/add", content=content, headers=headers).status_code == 200


@pytest.mark.parametrize("declared", [True, False])
def test_a_large_body_is_413_whatever_it_declares(log: Log, declared: bool) -> None:
    content = json.dumps(memory(text="x" * 5000)).encode()
    with (
        running(make_app(log, body_limit=4096)) as url,
        httpx.Client(base_url=url) as client,
    ):
        sent = content if declared else iter([content[:3000], content[3000:]])
        answer = client.post("/add", content=sent, headers=JSON)
        assert (answer.status_code, answer.json()) == (
            413,
            {"error": "the body is larger than 4096 bytes"},
        )
        assert client.post("/add", json=memory()).status_code == 200
    assert len(log.rows) == 1


def test_an_endless_body_is_cut_off(log: Log) -> None:
    head = (
        b"POST /add HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"400\r\n" + b"x" * 1024 + b"\r\n"
    with running(make_app(log, body_limit=4096)) as url:
        port = httpx.URL(url).port
        with socket.create_connection(("127.0.0.1", port or 0), timeout=20) as sock:
            sock.sendall(head + chunk * 17)  # more than four limits, and no end
            assert sock.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_body_of_exactly_the_limit_is_taken(log: Log) -> None:
    content = json.dumps(memory()).encode()
    with (
        running(make_app(log, body_limit=len(content))) as url,
        httpx.Client(base_url=url) as client,
    ):
        assert client.post("/add", content=content, headers=JSON).status_code == 200
        assert client.post("/add", content=content + b" ", headers=JSON).status_code == 413


def test_a_text_may_have_a_mebibyte_of_utf8(client: httpx.Client) -> None:
    fits = "é" * (MAX_TEXT // 2)
    assert client.post("/add", json=memory(text=fits)).status_code == 200
    escaped = json.dumps(memory(text="\x01" * MAX_TEXT)).encode()  # six bytes for each
    assert client.post("/add", content=escaped, headers=JSON).status_code == 200
    answer = client.post("/add", json=memory(text=fits + "x"))
    assert answer.status_code == 422
    assert answer.json()["fields"][0]["path"] == "text"


def test_other_paths_and_methods(client: httpx.Client) -> None:
    missing = client.get("/nothing")
    assert missing.status_code == 404
    assert missing.json() == {"error": "GET /nothing: Not Found; see /docs"}
    wrong = client.get("/search")
    assert wrong.status_code == 405
    assert wrong.headers["allow"] == "POST"


# ---- what a provider does wrong


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (RuntimeError("the index is gone\nsecond line"), "RuntimeError: the index is gone"),
        (ProviderError("no connection to the vendor"), "no connection to the vendor"),
        (StopIteration(), "StopIteration"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyError("x"), "KeyError: 'x'"),
    ],
)
def test_an_exception_is_500_with_its_first_line(error: BaseException, line: str) -> None:
    def fail() -> Any:
        raise error

    with running(make_app(Bare(fail))) as url, httpx.Client(base_url=url) as client:
        for _ in range(2):  # it stops nothing
            answer = client.post("/search", json=question())
            assert (answer.status_code, answer.json()) == (500, {"error": line})


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("nothing", "list of hits, not str"),
        (None, "list of hits, not NoneType"),
        ({"b1": 1.0}, "list of hits, not dict"),
        (["b1"], "result 1 must be a Hit, not str"),
        ([Hit("b1"), Hit(5)], "result 2 has the id 5"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_list_of_hits_is_500(answer: Any, told: str) -> None:
    with running(make_app(Bare(lambda: answer))) as url, httpx.Client(base_url=url) as client:
        got = client.post("/search", json=question())
        assert got.status_code == 500
        assert told in got.json()["error"]


def test_what_json_cannot_hold_becomes_null_or_text() -> None:
    odd = {"nan": float("nan"), "path": Path("x"), "pair": (1, {2}), 3: None, "lone": "\ud800"}
    hits = [Hit("b1", float("inf"), None, odd), Hit(None, True, "t"), Hit("b2", 1, "\ud800")]
    with running(make_app(Bare(lambda: hits))) as url, httpx.Client(base_url=url) as client:
        response = client.post("/search", json=question())
    results = json.loads(response.content, parse_constant=pytest.fail)["results"]
    assert results[0]["metadata"] == {
        "nan": None,
        "path": "x",
        "pair": [1, [2]],
        "3": None,
        "lone": "\ud800",
    }
    assert [row["score"] for row in results] == [None, None, 1.0]
    assert [row["memory"] for row in results] == [None, "t", "\ud800"]
    assert [row["id"] for row in results] == ["b1", None, "b2"]


def test_more_than_the_limit_is_passed_on() -> None:
    # A run in process would see it, too, and count it.
    player = ScriptedProvider({"mast": ["b1", "b1", "b2"]}, honour_limit=False)
    with running(make_app(player)) as url, httpx.Client(base_url=url) as client:
        assert ids(client.post("/search", json=question(limit=1))) == ["b1", "b1", "b2"]


# ---- the page


def test_the_page_loads_nothing_and_names_every_call(client: httpx.Client) -> None:
    page = client.get("/docs")
    assert page.status_code == 200
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert not re.search(r"<(script|link|img|iframe|object)\b|\bsrc=|https?:|@import", page.text)
    assert re.findall(r'href="([^"]*)"', page.text) == ["openapi.json"]
    schema = client.get("/openapi.json").json()
    for path, operations in schema["paths"].items():
        for method in operations:
            assert f"{method.upper()} {path}" in page.text
    assert {"/add", "/search", "/reset", "/update", "/delete", "/wait", "/health"} == set(
        schema["paths"]
    )
    assert client.get("/redoc").status_code == 404


# ---- the same results in process and over HTTP


def untimed(node: Any) -> Any:
    """A report without its times and without what tells the two providers apart."""
    if isinstance(node, list):
        return [untimed(item) for item in node]
    if not isinstance(node, dict):
        return node
    timed = re.compile("latency|Ms$|^provider$|^provenance$", re.IGNORECASE)
    return {key: untimed(item) for key, item in node.items() if not timed.search(key)}


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        *((name, rules) for name in ("bm25", "fts5", "everything") for rules in RULES),
        *((name, "spec") for name in ("vector", "hybrid", "structured")),
    ],
)
def test_over_http_the_results_are_those_in_process(name: str, rules: str) -> None:
    corpus = load_corpus("native")
    inside = run(name, corpus, rules=rules)
    with running(make_app(create(name), name=name)) as url:
        over = run(url, corpus, rules=rules)
    texts = [
        json.dumps(untimed(json.loads(report_json(report, corpus)))) for report in (inside, over)
    ]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 50_000
    assert [record.error for record in over.records] == [None] * 89


# ---- worker


def test_a_worker_does_jobs_in_order_and_leaves_out_the_cancelled() -> None:
    worker, done, go = Worker(), [], threading.Event()
    first = worker.submit(go.wait)
    second = worker.submit(lambda: done.append("second"))
    third = worker.submit(lambda: done.append("third"))
    assert second.cancel()
    go.set()
    assert first.result(timeout=20) is True
    third.result(timeout=20)
    assert done == ["third"]


@settings(max_examples=20)
@given(values=st.lists(st.integers(), max_size=20))
def test_a_worker_gives_each_caller_its_own_result(values: list[int]) -> None:
    worker = Worker()
    futures = [worker.submit(lambda value=value: value * 2) for value in values]
    assert [future.result(timeout=20) for future in futures] == [value * 2 for value in values]


# ---- the process


PROGRAM = """
import sys
from pmb_hf.providers.registry import BUILT_IN
import pmb_hf.providers.fts5 as fts5
import pmb_hf.serve as serving

class Told(fts5.Fts5Provider):
    def close(self):
        super().close()
        print("closed", flush=True)

fts5.Fts5Provider = Told
serving.serve("fts5", {}, port=0)
print("after", flush=True)
"""


def start(program: str = PROGRAM) -> tuple[subprocess.Popen[str], Mapping[str, Any]]:
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_with_code_0_and_closes_the_provider(number: signal.Signals) -> None:
    process, told = start()
    try:
        assert told == {
            "event": "listening",
            "provider": "fts5",
            "url": f"http://127.0.0.1:{told['port']}",
            "host": "127.0.0.1",
            "port": told["port"],
        }
        with httpx.Client(base_url=told["url"]) as client:
            assert client.post("/add", json=memory()).status_code == 200
            process.send_signal(number)  # while a connection is open
            out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, "closed\nafter\n", "")


def test_a_request_that_is_running_is_answered_before_it_stops() -> None:
    slow = PROGRAM.replace(
        "    def close(self):",
        """    def search(self, **asked):
        print("searching", flush=True)
        import time; time.sleep(0.5)
        return super().search(**asked)

    def close(self):""",
    )
    process, told = start(slow)
    assert process.stdout is not None
    try:
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(httpx.post, told["url"] + "/search", json=question(), timeout=20)
            assert process.stdout.readline() == "searching\n"
            process.send_signal(signal.SIGTERM)
            assert answer.result().status_code == 200
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "closed\nafter\n")


def test_a_hanging_provider_does_not_keep_it_alive() -> None:
    hang = PROGRAM.replace(
        "    def close(self):",
        """    def search(self, **asked):
        print("searching", flush=True)
        import time; time.sleep(600)

    def close(self):""",
    ).replace("serving.serve(", "serving.run.STOP_S = 1; serving.run.CLOSE_S = 0.2; serving.serve(")
    process, told = start(hang)
    assert process.stdout is not None
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(httpx.post, told["url"] + "/search", json=question(), timeout=20)
            assert process.stdout.readline() == "searching\n"
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 1  # the error has reached the top, where the cli prints it
    assert ProviderTimeoutError.__name__ in err
    assert "still busy" in err


def test_a_port_in_use_is_an_input_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} .*0 for a free one"):
            serve("fts5", port=port)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_is_none_is_an_input_error(port: int) -> None:
    with pytest.raises(InputError, match="can't listen"):
        serve("fts5", port=port)


def test_an_unknown_provider_or_option_is_told_before_it_listens() -> None:
    lines: list[str] = []
    with pytest.raises(UnknownNameError, match="fts6"):
        serve("fts6", announce=lines.append)
    with pytest.raises(InputError, match="top_k"):
        serve("fts5", {"top_k": 0}, announce=lines.append)
    assert lines == []


def test_a_store_bound_to_its_thread_can_be_served(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bound(EverythingProvider):
        def __init__(self) -> None:
            super().__init__()
            self.thread = threading.get_ident()
            self.closed_in: int | None = None

        def reset(self) -> None:
            assert threading.get_ident() == self.thread
            super().reset()

        def close(self) -> None:
            self.closed_in = threading.get_ident()

    made: list[Bound] = []

    def bound(name: str, options: object) -> Bound:
        made.append(Bound())
        return made[0]

    def ask(line: str) -> None:
        # The server starts once this returns, so the call goes out from another thread.
        url = json.loads(line)["url"]
        pool.submit(
            lambda: answers.append(httpx.delete(url + "/reset").status_code)
        ).add_done_callback(lambda _: os.kill(os.getpid(), signal.SIGTERM))

    answers: list[int] = []
    monkeypatch.setattr(serve_run, "create", bound)
    with ThreadPoolExecutor(1) as pool:
        serve("bound", port=0, announce=ask)
    assert answers == [200]
    assert made[0].closed_in == made[0].thread


def test_ipv6_is_written_in_brackets() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return  # this machine has none
    with running(make_app(Fts5Provider()), host="::1") as url:
        assert url.startswith("http://[::1]:")
        assert httpx.get(url + "/health").status_code == 200


def test_without_its_packages_the_pip_line_is_told() -> None:
    code = """
import sys
sys.modules["fastapi"] = None
from pmb_hf.errors import MissingDependencyError
try:
    import pmb_hf.serve
except MissingDependencyError as error:
    assert "pip install 'pmb-hf[serve]'" in str(error), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@given(body=st.fixed_dictionaries({"text": st.text(), "user_id": st.text(min_size=1)}))
def test_add_body_keeps_any_text(body: dict[str, Any]) -> None:
    parsed = AddBody.model_validate(body | {"metadata": {"beliefId": "b"}})
    assert (parsed.text, parsed.user_id) == (body["text"], body["user_id"])
