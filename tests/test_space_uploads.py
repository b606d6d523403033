"""What visitors hand in to a served Space, as a program sends it: no browser is needed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from space_kit import report, tree, write

from pmb_hf.board.local import load_app
from pmb_hf.board.upload import MOST_BYTES
from pmb_hf.board.visitors import GONE
from pmb_hf.corpus import load_corpus
from pmb_hf.report_json import report_json

OLD_S = 100_000.0


class Served(NamedTuple):
    """A Space that `pmb space` serves, whose uploads lie in a folder that others use."""

    address: str
    shared: Path
    process: subprocess.Popen[bytes]
    event: int

    def put(self, name: str, content: bytes) -> str:
        """Upload a file; returns where the server says that it lies."""
        sent = httpx.post(
            f"{self.address}gradio_api/upload", files={"files": (name, content)}, timeout=60
        )
        sent.raise_for_status()
        path: str = sent.json()[0]
        return path

    def score(self, path: str, rules: str | None = "spec", **headers: str) -> dict[str, Any]:
        """What the page would tell."""
        session = uuid.uuid4().hex
        file = {"path": path, "orig_name": "a.json", "meta": {"_type": "gradio.FileData"}}
        body = {"data": [file, rules, False], "fn_index": self.event, "session_hash": session}
        httpx.post(
            f"{self.address}gradio_api/queue/join", json=body, headers=headers, timeout=60
        ).raise_for_status()
        with httpx.stream(
            "GET",
            f"{self.address}gradio_api/queue/data",
            params={"session_hash": session},
            timeout=60,
        ) as stream:
            for line in stream.iter_lines():
                told = json.loads(line[5:]) if line.startswith("data:") else {}
                if told.get("msg") == "process_completed":
                    if not told["success"]:
                        return {"failed": told["output"]}
                    found: dict[str, Any] = told["output"]["data"][0]
                    return found
        raise AssertionError("no answer")


def event_of(config: dict[str, Any]) -> int:
    """The number of what a press of "Score" does."""
    button = next(c["id"] for c in config["components"] if c["props"].get("value") == "Score")
    found = [d["id"] for d in config["dependencies"] if [button, "click"] in d["targets"]]
    return int(found[0])


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("uploads")
    export = write(folder / "export", tree(["bm25"]))
    shared = folder / "shared"
    (shared / "other").mkdir(parents=True)
    for path in (shared / "other" / "thesis.txt", shared / "notes.txt", shared / "other"):
        if not path.is_dir():
            path.write_text("x")
        os.utime(path, (time.time() - OLD_S, time.time() - OLD_S))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "pmb_hf", "space", "--export", export, "--port", port],
            env={**os.environ, "GRADIO_TEMP_DIR": str(shared)},
            stdout=log,
            stderr=log,
        )
    address = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(600):
            assert process.poll() is None, (folder / "log").read_text()
            try:
                config = httpx.get(f"{address}config", timeout=60).json()
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        yield Served(address, shared, process, event_of(config))
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def mine() -> bytes:
    return report_json(report("fts5"), load_corpus("native")).encode()


def test_two_visitors_with_the_same_bytes_are_both_scored(space: Served, mine: bytes) -> None:
    first, second = space.put("mine.json", mine), space.put("mine.json", mine)
    for path in (first, second):
        assert "of 89" in dict(space.score(path)["facts"])["passed"]


def test_naming_a_file_that_is_not_there_deletes_nothing(space: Served, mine: bytes) -> None:
    theirs = Path(space.put("theirs.json", mine))
    for path in (theirs.parent.parent / "x.json", theirs.with_name("x.json")):
        assert space.score(str(path)) == {"errors": [GONE]}
        assert theirs.is_file()
    assert "facts" in space.score(str(theirs))


def test_files_elsewhere_are_refused(space: Served) -> None:
    notes = space.shared / "notes.txt"
    assert "facts" not in space.score(str(notes))
    assert notes.read_text() == "x"


def test_no_rules_are_refused_in_a_sentence(space: Served, mine: bytes) -> None:
    told = space.score(space.put("mine.json", mine), None)
    assert told["errors"][0].startswith("choose the rules to score under: spec")


def test_a_file_that_is_too_large_is_not_kept(space: Served) -> None:
    with pytest.raises(httpx.HTTPStatusError, match="413"):
        space.put("large.json", b" " * (MOST_BYTES + 1))
    kept = [p for p in space.shared.rglob("*") if p.is_file() and p.stat().st_size >= MOST_BYTES]
    assert kept == []


def test_a_made_up_address_does_not_pass_the_limit(space: Served) -> None:
    path = space.put("empty.json", b"[]")
    told = [space.score(path, **{"X-Forwarded-For": f"10.0.0.{n}"}) for n in range(11)]
    assert "files a minute are scored for one address" in told[-1]["errors"][0]


def test_at_the_end_the_uploads_are_gone_and_nothing_else(space: Served) -> None:
    assert any(space.shared.glob("pmb-uploads-*/*/mine.json"))
    space.process.terminate()
    space.process.wait()
    left = sorted(p.name for p in space.shared.rglob("*"))
    assert left == ["notes.txt", "other", "thesis.txt"]


def test_all_visitors_together_are_limited_too() -> None:
    load_app()
    limits = sys.modules["score_tab"].Limits()
    most = sys.modules["score_tab"].USES_OF_ALL
    assert [limits.refusal(str(n)) for n in range(most)] == [None] * most
    assert "for all" in limits.refusal("another")


@pytest.mark.parametrize(
    ("space_id", "sent", "expected"),
    [
        (None, ["1.1.1.1"], "9.9.9.9"),
        ("acme/board", ["1.1.1.1, 2.2.2.2"], "2.2.2.2"),
        ("acme/board", ["1.1.1.1", "3.3.3.3"], "3.3.3.3"),
        ("acme/board", [], "9.9.9.9"),
    ],
)
def test_whose_address_it_is(
    monkeypatch: pytest.MonkeyPatch, space_id: str | None, sent: list[str], expected: str
) -> None:
    import gradio
    from starlette.requests import Request

    load_app()
    monkeypatch.delenv("SPACE_ID", raising=False)
    if space_id:
        monkeypatch.setenv("SPACE_ID", space_id)
    headers = [(b"x-forwarded-for", value.encode()) for value in sent]
    scope = {"type": "http", "headers": headers, "client": ("9.9.9.9", 1)}
    request = gradio.Request(Request(scope))
    assert sys.modules["guard"].address_of(request) == expected
