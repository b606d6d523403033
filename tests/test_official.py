"""Fetching upstream's fixtures, against a real server on the loopback interface."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pmb_hf import official
from pmb_hf.errors import CorpusError, FetchError, InputError
from pmb_hf.official import FileInfo

A, B, C = "a.json", "b.json", "c.json"
# The numbers differ along each body, so bytes put at a wrong place are noticed.
BODIES = {
    A: json.dumps(list(range(30_000))).encode(),
    B: b'["small"]\n',
    C: json.dumps([str(n) for n in range(3_000)]).encode(),
}
FILES = {n: FileInfo(hashlib.sha256(b).hexdigest(), len(b)) for n, b in BODIES.items()}
HALF = len(BODIES[A]) // 2
ADVICE = ("pmb data fetch --from DIR", "pmb run --corpus official --fixtures DIR")

Reply = Callable[["Handler", bytes], None]


class Handler(BaseHTTPRequestHandler):
    """Answers from the server's plan, then in the ordinary way."""

    server: Server

    def do_GET(self) -> None:
        name = self.path.rsplit("/", 1)[-1]
        self.server.requests.append((name, self.headers.get("Range")))
        plan = self.server.plan.get(name, [])
        reply = plan.pop(0) if plan else ordinary
        try:
            reply(self, self.server.bodies[name])
        except ConnectionError:
            self.server.hung_up.set()

    def answer(self, status: int, body: bytes = b"", **headers: str | int) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing on stderr."""


class Server(ThreadingHTTPServer):
    """``plan`` holds, by file, the answers that come before the ordinary ones."""

    daemon_threads = True

    def __init__(self, bodies: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies = dict(bodies)
        self.plan: dict[str, list[Reply]] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.hung_up = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}/fixtures"

    def asked(self, name: str) -> list[str | None]:
        """The Range header of each request for a file."""
        return [asked for file, asked in self.requests if file == name]


@contextmanager
def serving(bodies: Mapping[str, bytes]) -> Iterator[Server]:
    with Server(bodies) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ordinary(handler: Handler, body: bytes) -> None:
    asked = handler.headers.get("Range")
    if asked is None:
        handler.answer(200, body, Content_Length=len(body))
        return
    start = int(asked.removeprefix("bytes=").removesuffix("-"))
    if start >= len(body):
        handler.answer(416, Content_Range=f"bytes */{len(body)}", Content_Length=0)
        return
    span = f"bytes {start}-{len(body) - 1}/{len(body)}"
    handler.answer(206, body[start:], Content_Range=span, Content_Length=len(body) - start)


def whole(handler: Handler, body: bytes) -> None:
    """As a server that knows no Range."""
    handler.answer(200, body, Content_Length=len(body))


def half(handler: Handler, body: bytes) -> None:
    """Promise all, break off half-way."""
    handler.answer(200, body[: len(body) // 2], Content_Length=len(body))


def half_unframed(handler: Handler, body: bytes) -> None:
    """Break off half-way, without a length that would show it."""
    handler.answer(200, body[: len(body) // 2])


def altered(handler: Handler, body: bytes) -> None:
    ordinary(handler, body.replace(b"2", b"3"))


def endless(handler: Handler, body: bytes) -> None:
    handler.answer(200)
    while True:
        handler.wfile.write(b"x" * 65_536)


def endless_chunked(handler: Handler, body: bytes) -> None:
    handler.protocol_version = "HTTP/1.1"
    handler.answer(200, Transfer_Encoding="chunked", Connection="close")
    while True:
        handler.wfile.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")


def too_long(handler: Handler, body: bytes) -> None:
    handler.answer(200, body + b"\n", Content_Length=len(body) + 1)


def failing(status: int, **headers: str | int) -> Reply:
    return lambda handler, body: handler.answer(status, b"no", Content_Length=2, **headers)


def redirect(location: str) -> Reply:
    return failing(302, Location=location)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of its own, and none of the machine's settings."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.delenv(official.URL_ENV, raising=False)
    monkeypatch.setenv(official.CACHE_ENV, str(tmp_path / "cache"))


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(BODIES) as running:
        yield running


@pytest.fixture
def fetch(server: Server, tmp_path: Path) -> Callable[..., Path]:
    """``official.fetch`` of the made files into ``tmp_path/here``, without real waits."""

    def run(**options: Any) -> Path:
        defaults: dict[str, Any] = {"directory": tmp_path / "here", "base_url": server.url}
        return official.fetch(**(defaults | {"files": FILES, "backoff_s": 0.0} | options))

    return run


def write(directory: Path, **changed: bytes) -> Path:
    """All files, with some changed: ``write(d, b=b"...")`` changes ``b.json``."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, body in BODIES.items():
        (directory / name).write_bytes(changed.get(name.removesuffix(".json"), body))
    return directory


def assert_whole(directory: Path) -> None:
    official.verify(directory, files=FILES)
    assert not list(directory.glob("*.part"))


# What there is.


def test_the_table_names_the_upstream_files(upstream_dir: Path) -> None:
    for name, want in official.FILES.items():
        data = (upstream_dir / "fixtures" / name).read_bytes()
        assert want == (hashlib.sha256(data).hexdigest(), len(data))


def test_upstream_files_come_over_http(upstream_dir: Path) -> None:
    bodies = {name: (upstream_dir / "fixtures" / name).read_bytes() for name in official.FILES}
    with serving(bodies) as server:
        where = official.fetch(base_url=server.url)
    assert where == official.fixtures_dir() == official.locate()
    assert {name: (where / name).read_bytes() for name in official.FILES} == bodies


def test_upstream_files_from_a_checkout(upstream_dir: Path) -> None:
    where = official.import_from(upstream_dir)
    assert where == official.fixtures_dir()
    assert official.installed()
    assert official.locate(upstream_dir) == upstream_dir / "fixtures"
    assert official.locate(upstream_dir / "fixtures") == upstream_dir / "fixtures"


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert official.fixtures_dir() == tmp_path / "cache" / "official" / official.COMMIT
    monkeypatch.delenv(official.CACHE_ENV)
    assert official.fixtures_dir().parts[-2:] == ("official", official.COMMIT)
    assert "pmb-hf" in official.fixtures_dir().parts


def test_locate_says_what_to_do_when_nothing_is_there(tmp_path: Path) -> None:
    with pytest.raises(CorpusError) as caught:
        official.locate()
    assert all(
        text in str(caught.value)
        for text in (str(official.fixtures_dir()), "`pmb data fetch`", *ADVICE)
    )
    with pytest.raises(CorpusError, match=re.escape(str(tmp_path / "none"))):
        official.locate(tmp_path / "none")


@pytest.mark.parametrize("broken", [None, b"other"])
def test_verify_names_the_file_and_both_hashes(tmp_path: Path, broken: bytes | None) -> None:
    write(tmp_path, b=b"" if broken is None else broken)
    if broken is None:
        (tmp_path / B).unlink()
    found = "no readable file" if broken is None else hashlib.sha256(broken).hexdigest()
    assert not official.installed(tmp_path, files=FILES)
    with pytest.raises(CorpusError) as caught:
        official.verify(tmp_path, files=FILES)
    assert all(text in str(caught.value) for text in (B, FILES[B].sha256, found))


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / B).unlink()
    (tmp_path / B).mkdir()
    assert not official.installed(tmp_path, files=FILES)


# Fetching.


def test_fetch_asks_once_for_each_file(server: Server, fetch: Callable[..., Path]) -> None:
    seen: list[tuple[str, int, int]] = []
    where = fetch(progress=lambda *step: seen.append(step))
    assert_whole(where)
    assert server.requests == [(A, None), (B, None), (C, None)]
    for name, want in FILES.items():
        steps = [step for step in seen if step[0] == name]
        assert steps == sorted(steps)
        assert steps[-1] == (name, want.size, want.size)


def test_bodies_are_asked_for_as_they_are(server: Server, fetch: Callable[..., Path]) -> None:
    codings: list[str | None] = []

    def note(handler: Handler, body: bytes) -> None:
        codings.append(handler.headers.get("Accept-Encoding"))
        half(handler, body)

    server.plan[A] = [note, note]
    assert_whole(fetch())
    assert codings == ["identity", "identity"]


def test_the_address_may_come_from_the_environment(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(official.URL_ENV, server.url + "/")
    assert_whole(official.fetch(directory=tmp_path / "here", files=FILES))
    assert len(server.requests) == 3


def test_a_proxy_of_the_environment_is_used(
    server: Server, fetch: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.server_port}")
    assert_whole(fetch(base_url="http://fixtures.invalid/at"))


def test_what_is_there_is_not_asked_for(
    server: Server, fetch: Callable[..., Path], tmp_path: Path
) -> None:
    write(tmp_path / "here")
    assert_whole(fetch())
    assert server.requests == []
    assert_whole(fetch(force=True))
    assert len(server.requests) == 3


def test_an_altered_local_file_is_fetched_again(
    server: Server, fetch: Callable[..., Path], tmp_path: Path
) -> None:
    write(tmp_path / "here", b=b"spoilt")
    assert_whole(fetch())
    assert server.requests == [(B, None)]


# Breaks and partial files.


@pytest.mark.parametrize("broken", [half, half_unframed])
def test_a_break_is_resumed(server: Server, fetch: Callable[..., Path], broken: Reply) -> None:
    server.plan[A] = [broken]
    assert_whole(fetch())
    assert server.asked(A) == [None, f"bytes={HALF}-"]


def test_a_later_call_resumes(server: Server, fetch: Callable[..., Path], tmp_path: Path) -> None:
    server.plan[A] = [half]
    with pytest.raises(FetchError, match=rf"{A}.*tries: 1"):
        fetch(retries=0)
    assert (tmp_path / "here" / f"{A}.part").stat().st_size == HALF
    assert_whole(fetch())
    assert server.asked(A) == [None, f"bytes={HALF}-"]


def test_a_range_may_come_in_parts(server: Server, fetch: Callable[..., Path]) -> None:
    def some(handler: Handler, body: bytes) -> None:
        span = f"bytes {HALF}-{HALF + 9}/{len(body)}"
        handler.answer(206, body[HALF : HALF + 10], Content_Range=span, Content_Length=10)

    server.plan[A] = [half, some]
    assert_whole(fetch())
    assert server.asked(A) == [None, f"bytes={HALF}-", f"bytes={HALF + 10}-"]


def test_a_server_without_ranges_sends_all(server: Server, fetch: Callable[..., Path]) -> None:
    server.plan[A] = [half, whole]
    assert_whole(fetch())
    assert server.asked(A) == [None, f"bytes={HALF}-"]


@pytest.mark.parametrize(
    "odd",
    [
        failing(416),
        failing(206),
        failing(206, Content_Range=f"bytes 0-1/{len(BODIES[A])}"),
        failing(206, Content_Range=f"bytes {HALF}-{HALF + 1}/{HALF + 2}"),
        failing(206, Content_Range="nonsense"),
    ],
    ids=["416", "no range", "other start", "other total", "nonsense"],
)
def test_a_part_that_cannot_be_continued_starts_over(
    server: Server, fetch: Callable[..., Path], odd: Reply
) -> None:
    server.plan[A] = [half, odd]
    assert_whole(fetch(retries=1))
    assert server.asked(A) == [None, f"bytes={HALF}-", None]


@pytest.mark.parametrize(
    ("old", "asked"),
    [
        (b"x" * 100, ["bytes=100-", None]),
        (b"x" * len(BODIES[A]), [None]),
        (b"x" * (len(BODIES[A]) + 1), [None]),
        (BODIES[A], []),
    ],
    ids=["short", "full", "too long", "right"],
)
def test_an_old_part_is_trusted_only_by_its_hash(
    server: Server, fetch: Callable[..., Path], tmp_path: Path, old: bytes, asked: list[str | None]
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / f"{A}.part").write_bytes(old)
    assert_whole(fetch(retries=0))
    assert server.asked(A) == asked


# Answers that are not the file.


@pytest.mark.parametrize("status", [403, 404, 410, 204, 304, 206])
def test_some_statuses_are_final(server: Server, fetch: Callable[..., Path], status: int) -> None:
    server.plan[B] = [lambda handler, body: handler.answer(status)]
    with pytest.raises(FetchError, match=rf"{B} from 127\.0\.0\.1: HTTP {status}"):
        fetch()
    assert server.requests == [(A, None), (B, None)]


@pytest.mark.parametrize(
    "busy",
    [
        failing(503),
        failing(500),
        failing(429, Retry_After=0),
        failing(429),
        failing(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
    ],
    ids=["503", "500", "429 after 0", "429", "503 after a date"],
)
def test_a_busy_server_is_asked_again(
    server: Server, fetch: Callable[..., Path], busy: Reply
) -> None:
    server.plan[A] = [busy, busy]
    assert_whole(fetch(retries=2))
    assert server.asked(A) == [None] * 3


def test_it_gives_up_in_the_end(server: Server, fetch: Callable[..., Path]) -> None:
    server.plan[A] = [failing(503)] * 9
    with pytest.raises(FetchError, match=r"HTTP 503 \(tries: 3\)"):
        fetch(retries=2)
    assert server.asked(A) == [None] * 3


def test_waits_grow_and_are_capped(
    server: Server, fetch: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("pmb_hf.official.time.sleep", waits.append)
    server.plan[A] = [
        failing(503),
        failing(503),
        failing(429, Retry_After=7),
        failing(429, Retry_After="9" * 400),
    ]
    assert_whole(fetch(retries=4, backoff_s=1.0))
    assert 0.5 <= waits[0] <= 1.0 <= waits[1] <= 2.0
    assert waits[2:] == [7.0, official.MAX_WAIT_S]


@pytest.mark.parametrize("resumed", [False, True])
def test_altered_bytes_are_refused(
    server: Server, fetch: Callable[..., Path], tmp_path: Path, resumed: bool
) -> None:
    server.plan[A] = [half, altered, altered] if resumed else [altered]
    found = hashlib.sha256(BODIES[A].replace(b"2", b"3")).hexdigest()
    with pytest.raises(FetchError) as caught:
        fetch()
    assert all(text in str(caught.value) for text in (A, FILES[A].sha256, found, *ADVICE))
    assert not list((tmp_path / "here").glob(f"{A}*"))


def test_a_shorter_file_is_refused_by_its_hash(
    server: Server, fetch: Callable[..., Path], tmp_path: Path
) -> None:
    server.bodies[B] = b"[]"
    with pytest.raises(FetchError, match=hashlib.sha256(b"[]").hexdigest()):
        fetch()
    # The file before it was right and stays; the next call needs only the others.
    assert (tmp_path / "here" / A).read_bytes() == BODIES[A]
    server.bodies[B] = BODIES[B]
    assert_whole(fetch())
    assert server.asked(A) == [None]


def test_a_compressed_body_is_not_the_file(server: Server, fetch: Callable[..., Path]) -> None:
    server.plan[B] = [
        lambda handler, body: handler.answer(200, b"\x1f\x8b", Content_Encoding="gzip")
    ] * 9
    with pytest.raises(FetchError, match=B):
        fetch(retries=1)


@pytest.mark.parametrize("long", [too_long, endless, endless_chunked])
def test_a_body_longer_than_the_file_is_cut_off(
    server: Server, fetch: Callable[..., Path], tmp_path: Path, long: Reply
) -> None:
    server.plan[A] = [long]
    with pytest.raises(FetchError, match=f"{A}.*longer than the {len(BODIES[A])} bytes"):
        fetch()
    assert server.asked(A) == [None]
    assert not list((tmp_path / "here").glob(f"{A}*"))
    if long is not too_long:
        assert server.hung_up.wait(30)


# Redirects.


def test_a_redirect_on_the_same_host_is_followed(
    server: Server, fetch: Callable[..., Path]
) -> None:
    server.plan[A] = [half, redirect(f"/elsewhere/{A}")]
    assert_whole(fetch())
    assert server.asked(A) == [None, f"bytes={HALF}-", f"bytes={HALF}-"]


@pytest.mark.parametrize("where", ["http://localhost:{port}/a.json", "ftp://127.0.0.1/a.json"])
def test_a_redirect_elsewhere_is_refused(
    server: Server, fetch: Callable[..., Path], where: str
) -> None:
    server.plan[A] = [redirect(where.format(port=server.server_port))]
    with pytest.raises(FetchError, match=f"{A}.*redirects to .*refused"):
        fetch()
    assert server.requests == [(A, None)]


def test_redirects_end(server: Server, fetch: Callable[..., Path]) -> None:
    server.plan[A] = [redirect(A)] * 99
    with pytest.raises(FetchError, match="redirects more than 5 times"):
        fetch()
    assert len(server.requests) == official.MAX_REDIRECTS + 1


# No network, wrong options, no place to write.


def test_a_refused_connection_says_what_to_do(tmp_path: Path) -> None:
    with serving(BODIES) as gone:
        url = gone.url
    with pytest.raises(FetchError) as caught:
        official.fetch(directory=tmp_path, base_url=url, files=FILES, retries=1, backoff_s=0.0)
    assert all(text in str(caught.value) for text in ("127.0.0.1", "tries: 2", *ADVICE))
    assert caught.value.exit_code == 2


def test_a_silent_server_is_left(server: Server, fetch: Callable[..., Path]) -> None:
    over = threading.Event()

    def silent(handler: Handler, body: bytes) -> None:
        over.wait(30)

    server.plan[A] = [silent, silent]
    try:
        with pytest.raises(FetchError, match="ReadTimeout"):
            fetch(retries=1, timeout_s=0.05)
    finally:
        over.set()


@pytest.mark.parametrize("url", ["ftp://host/x", "host/x", "http://", "http://host:port", "/"])
def test_an_address_must_be_http(fetch: Callable[..., Path], url: str) -> None:
    with pytest.raises(FetchError, match=official.URL_ENV):
        fetch(base_url=url)


def test_a_password_in_the_address_is_not_shown(server: Server, fetch: Callable[..., Path]) -> None:
    server.plan[A] = [failing(404)]
    with pytest.raises(FetchError) as caught:
        fetch(base_url=server.url.replace("//", "//user:s3cret@"))
    assert "s3cret" not in str(caught.value)
    with pytest.raises(FetchError) as caught:
        fetch(base_url="ftp://user:s3cret@host")
    assert "s3cret" not in str(caught.value)


def test_a_proxy_that_is_none_is_named(
    fetch: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://127.0.0.1:1")
    with pytest.raises(FetchError, match="prox"):
        fetch()


@pytest.mark.parametrize("options", [{"retries": -1}, {"timeout_s": 0.0}])
def test_options_out_of_range(fetch: Callable[..., Path], options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        fetch(**options)


def test_a_directory_that_cannot_be_made(fetch: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FetchError, match=official.CACHE_ENV):
        fetch(directory=tmp_path / "file" / "here")
    with pytest.raises(FetchError, match=official.CACHE_ENV):
        official.import_from(
            write(tmp_path / "src"), directory=tmp_path / "file" / "here", files=FILES
        )


# From a local copy.


@pytest.mark.parametrize("inside", [".", "fixtures"])
def test_import_from(tmp_path: Path, inside: str) -> None:
    write(tmp_path / "src" / inside)
    where = official.import_from(tmp_path / "src", directory=tmp_path / "here", files=FILES)
    assert where == tmp_path / "here"
    assert_whole(where)
    # Once more, onto itself.
    assert_whole(official.import_from(where, directory=where, files=FILES))


def test_import_of_altered_files_copies_nothing(tmp_path: Path) -> None:
    write(tmp_path / "src", c=b"other")
    with pytest.raises(CorpusError) as caught:
        official.import_from(tmp_path / "src", directory=tmp_path / "here", files=FILES)
    found = hashlib.sha256(b"other").hexdigest()
    where = str(tmp_path / "src" / C)
    assert all(text in str(caught.value) for text in (where, FILES[C].sha256, found))
    assert not (tmp_path / "here").exists()


def test_import_of_missing_files(tmp_path: Path) -> None:
    write(tmp_path / "src")
    (tmp_path / "src" / B).unlink()
    for source in (tmp_path / "src", tmp_path / "none"):
        with pytest.raises(CorpusError) as caught:
            official.import_from(source, directory=tmp_path / "here", files=FILES)
        assert str(source) in str(caught.value)
        assert B in str(caught.value)


# More than one process.

FETCH_SCRIPT = """
import json, sys
from pathlib import Path
from pmb_hf.official import FileInfo, fetch
files = {name: FileInfo(*info) for name, info in json.loads(sys.argv[3]).items()}
print("ready", flush=True)
fetch(directory=Path(sys.argv[1]), base_url=sys.argv[2], files=files)
"""


@contextmanager
def fetching(directory: Path, server: Server) -> Iterator[subprocess.Popen[str]]:
    """A process that fetches into ``directory``; it has started when this returns."""
    root = str(Path(official.__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", FETCH_SCRIPT, str(directory), server.url, json.dumps(FILES)],
        env=os.environ | {"PYTHONPATH": root},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


class Held:
    """Sends half of a body, then waits to be let go."""

    def __init__(self) -> None:
        self.sent, self.go = threading.Event(), threading.Event()

    def __call__(self, handler: Handler, body: bytes) -> None:
        handler.answer(200, body[: len(body) // 2], Content_Length=len(body))
        handler.wfile.flush()
        self.sent.set()
        self.go.wait(30)
        handler.wfile.write(body[len(body) // 2 :])


def test_two_processes_take_turns(server: Server, tmp_path: Path) -> None:
    held = Held()
    server.plan[A] = [held]
    here = tmp_path / "here"
    with fetching(here, server) as first:
        assert held.sent.wait(30)
        with fetching(here, server) as second:
            # Time for the second to do harm, if it could: a request, or a changed part.
            with pytest.raises(subprocess.TimeoutExpired):
                second.wait(1.0)
            assert server.requests == [(A, None)]
            held.go.set()
            assert (first.wait(60), second.wait(60)) == (0, 0)
    assert_whole(here)
    assert server.requests == [(A, None), (B, None), (C, None)]


def test_a_killed_process_leaves_no_lock_and_a_part_to_resume(
    server: Server, fetch: Callable[..., Path], tmp_path: Path
) -> None:
    held = Held()
    server.plan[B] = [held]
    part, size = tmp_path / "here" / f"{B}.part", len(BODIES[B]) // 2
    with fetching(tmp_path / "here", server) as process:
        assert held.sent.wait(30)
        deadline = time.monotonic() + 30
        while not part.exists() or part.stat().st_size < size:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
        process.wait()
    held.go.set()
    assert_whole(fetch())
    assert server.asked(A) == [None]
    assert server.asked(B) == [None, f"bytes={size}-"]


def test_a_lock_held_too_long_is_reported(
    fetch: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from filelock import FileLock

    monkeypatch.setattr(official, "LOCK_TIMEOUT_S", 0.01)
    (tmp_path / "here").mkdir()
    with (
        FileLock(tmp_path / "here" / ".lock"),
        pytest.raises(FetchError, match=r"\.lock"),
    ):
        fetch()
