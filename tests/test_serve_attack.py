"""A served provider under attack: it turns away what is wrong, and serves everybody else."""

from __future__ import annotations

import itertools
import json
import random
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.serve import make_app, running
from pmb_hf.serve.run import HEAD_LIMIT

JSON = {"content-type": "application/json"}
MEMORY = {
    "text": "The mast is spruce.",
    "user_id": "u",
    "metadata": {"beliefId": "b1", "scope": ["domain:boat"]},
    "aliases": [],
}
QUESTION = {"query": "mast", "user_id": "u", "limit": 5, "scope": "domain:boat"}


@pytest.fixture
def url() -> Iterator[str]:
    with running(make_app(Fts5Provider(), body_limit=4096)) as served:
        yield served


def works(url: str) -> None:
    """It stores and finds, for somebody who behaves."""
    with httpx.Client(base_url=url, timeout=20) as client:
        assert client.post("/add", json=MEMORY).status_code == 200
        answer = client.post("/search", json=QUESTION)
    assert [row["id"] for row in answer.json()["results"]] == ["b1"]


def connected(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0), timeout=20)


def answered(sock: socket.socket) -> bytes:
    """What comes until the other side closes or has said something whole."""
    said = b""
    try:
        while b"\r\n\r\n" not in said and (part := sock.recv(65536)):
            said += part
    except ConnectionError:
        pass
    return said


def test_many_heads_that_never_end_keep_nobody_waiting(url: str) -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    many = min(200, soft // 4)  # both ends are in this process
    with ExitStack() as stack:
        socks = [stack.enter_context(connected(url)) for _ in range(many)]
        for number, sock in enumerate(socks):
            sock.sendall(b"POST /add HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"a" * (number % 50))
        works(url)
        for sock in socks:
            sock.sendall(b"a")
        works(url)
    works(url)


def test_many_bodies_that_never_end_keep_nobody_waiting(url: str) -> None:
    head = (
        b"POST /add HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: 4000\r\n\r\n{"
    )
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(connected(url)).sendall(head)
        works(url)
    works(url)


@pytest.mark.parametrize(
    "line",
    [b"X-Big: " + b"a" * 1000 + b"\r\n", b"a" * 1000, b"X: 1\r\n" * 100],
    ids=["many headers", "one header without end", "small headers without end"],
)
def test_a_head_without_end_is_cut_off(url: str, line: bytes) -> None:
    with connected(url) as sock:
        sent = 0
        try:
            sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX-First: ")
            while sent < 200 * HEAD_LIMIT:
                sock.sendall(line)
                sent += len(line)
        except ConnectionError:
            pass
        assert answered(sock).startswith((b"HTTP/1.1 400", b""))
    assert sent < 200 * HEAD_LIMIT
    works(url)


def test_a_chunked_body_without_end_is_cut_off(url: str) -> None:
    head = (
        b"POST /add HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"400\r\n" + b"x" * 1024 + b"\r\n"
    for _ in range(5):
        with connected(url) as sock:
            sock.sendall(head)
            try:
                for _ in range(100_000):
                    sock.sendall(chunk)
                pytest.fail("it took 100 MB")
            except ConnectionError:
                pass
    works(url)


def test_a_thousand_bad_bodies(url: str) -> None:
    random.seed(7)
    whole = json.dumps(MEMORY).encode()
    kinds = itertools.cycle(
        [
            lambda: b"{",
            lambda: b"[" * 2000,
            lambda: b'["text"]',
            lambda: b"\xff\xfe" * 9,
            lambda: b'{"text": NaN}',
            lambda: b'{"text": ' + b"9" * 4000 + b"}",
            lambda: b"x" * 5000,
            lambda: whole[: random.randrange(1, len(whole) - 1)],
            lambda: json.dumps({**MEMORY, "text": 5}).encode(),
            lambda: json.dumps({**MEMORY, "metadata": [1]}).encode(),
        ]
    )
    codes = set()
    with httpx.Client(base_url=url, timeout=20) as client:
        for number in range(1000):
            path = ("/add", "/search", "/update")[number % 3]
            method = "PUT" if path == "/update" else "POST"
            answer = client.request(method, path, content=next(kinds)(), headers=JSON)
            codes.add(answer.status_code)
            assert answer.headers["content-type"] == "application/json"
            assert len(answer.content) < 5000
    assert codes == {413, 422}
    works(url)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00" * 1000,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\n\r\n",
        b"POST /add HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /add HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
        b"POST /add HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /add HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    ],
    ids=range(9),
)
def test_what_is_no_http_is_turned_away(url: str, raw: bytes) -> None:
    with connected(url) as sock:
        try:
            sock.sendall(raw)
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        said = answered(sock)
    assert said == b"" or said.startswith((b"HTTP/1.1 4", b"HTTP/1.1 501"))
    works(url)
