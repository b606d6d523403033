"""Answers of a Hub that make no sense, or echo the token: one sentence, exit code 2, no token."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import pmb
from hub import TOKEN, Hub, serve
from hub_kit import REPO, everything_of, folder, sign_in

from pmb_hf.errors import HubError
from pmb_hf.hub.failures import Doing, failure_of
from pmb_hf.parquet_sets import ParquetSet, Source

ADDRESS = f"hf://datasets/{REPO}/results"
ODD: dict[str, Any] = {
    "html": b"<html><h1>Gateway</h1></html>",
    "empty": b"",
    "half": b'{"sha": "12',
    "bytes": b"\xff\xfe\x00",
    "null": b"null",
    "number": 5,
    "text": TOKEN,
    "list": [1, 2],
    "other keys": {"url": 1, "x": TOKEN},
    "other types": {"id": 5, "sha": 5, "commitOid": 5, "commitUrl": None, "siblings": {"a": 1}},
    "other items": [{"path": 5, "size": "x", "type": "file", "oid": None}],
    "deep": b"[" * 100_000,
}
INFO, TREE = rf"GET /api/datasets/{REPO}(/revision/[^/]+)?$", r"GET /api/datasets/.*/tree/"
PUSH, PULL = ("push", "--repo", REPO, "--what", "dataset"), ("export", "--from-hub", REPO)
BOARD, SCORE = ("leaderboard", "--repo", REPO), ("score", ADDRESS)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from huggingface_hub import HfFileSystem

    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    monkeypatch.chdir(folder(tmp_path / "hf_export").parent)
    HfFileSystem.clear_instance_cache()
    file = io.BytesIO()
    pq.write_table(pa.table({"case_id": ["a"], "relevant_beliefs": [["x"]]}), file)
    with serve() as started:
        sign_in(monkeypatch, started)
        there = {"reports/a.json": b"{}", "leaderboard.json": b"{}"}
        repo = started.create("dataset", REPO)
        repo.write({**there, "results/a.parquet": file.getvalue()})
        yield started
    HfFileSystem.clear_instance_cache()


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    ("command", "request_"),
    [
        (PUSH, INFO),
        (PUSH, TREE),
        (PUSH, "POST /api/validate-yaml"),
        (PUSH, "POST .*/preupload/"),
        (PUSH, "POST .*/commit/"),
        (PULL, INFO),
        (PULL, TREE),
        (BOARD, INFO),
        (BOARD, r"(GET|HEAD) /.*/resolve/"),
        (SCORE, INFO),
        (SCORE, TREE),
        (SCORE, r"GET /.*/resolve/"),
    ],
)
def test_an_odd_answer_is_one_sentence(
    hub: Hub, command: tuple[str, ...], request_: str, odd: str
) -> None:
    hub.fail(request_, status=200, body=ODD[odd] or None, times=99)
    done = pmb(*command)
    assert done.code in (0, 2), done  # some of them are an answer: nothing there
    assert TOKEN[:12] not in done.out + done.err
    assert done.err.count("error:") == (done.code == 2), done
    assert "bug in pmb-hf" not in done.err


@pytest.mark.parametrize("filler", range(255, 320, 8))
@pytest.mark.parametrize("command", [PUSH, PULL, BOARD, SCORE])
def test_an_echo_of_the_token_is_masked_before_it_is_cut(
    hub: Hub, command: tuple[str, ...], filler: int
) -> None:
    said = f"{'.' * filler} {TOKEN}"
    for header in ({}, {"X-Error-Message": said}):
        hub.fail("GET /", status=403, body={"error": said}, headers=header, times=99)
        done = pmb(*command)
        hub.faults.clear()
        assert done.code == 2
        assert TOKEN[:8] not in done.out + done.err


def test_what_the_hub_warns_of_shows_no_token(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    warning = {"X-HF-Warning": f"told; {TOKEN} is old"}
    body = {"id": REPO, "sha": hub.repo("dataset", REPO).log[-1].oid, "private": False}
    hub.fail(INFO, status=200, body=body, headers=warning)
    done = pmb(*PUSH, "--dry-run")
    assert done.code == 0
    assert TOKEN[:8] not in done.out + done.err
    del caplog


@pytest.mark.parametrize("status", [200, 401, 403, 404, 500])
def test_an_error_of_a_set_on_the_hub_holds_no_token(hub: Hub, status: int) -> None:
    hub.fail("GET /api/", status=status, body={"error": f"no to {TOKEN}"}, times=99)
    with pytest.raises(HubError) as caught:
        ParquetSet(Source(ADDRESS, {}))
    assert TOKEN not in everything_of(caught.value)
    assert caught.value.exit_code == 2


def test_a_place_that_is_not_there(hub: Hub) -> None:
    done = pmb("score", f"hf://datasets/{REPO}/nothing")
    assert (done.code, "there is no such place on the Hub" in done.err) == (2, True)
    done = pmb("score", "hf://datasets/org/nobody/results")
    assert (done.code, "or the token may not see it" in done.err) == (2, True)


def test_names_of_pulled_files_are_those_of_the_hub(hub: Hub) -> None:
    name = f"reports/{TOKEN}.json"
    hub.repo("dataset", REPO).write({name: b'{"provider": 5}'})
    done = pmb(*PULL)
    assert done.code == 2
    assert f"skipped {REPO}/reports/a.json: " in done.err
    assert TOKEN[:8] not in done.out + done.err
    done = pmb(*BOARD)
    assert f"{REPO}/leaderboard.json is no leaderboard" in done.err


def test_a_name_that_looks_like_a_token_is_left_alone() -> None:
    doing = Doing("read org/hf_leaderboards", "org/hf_leaderboards", "dataset", False, "", None)
    assert "org/hf_leaderboards" in str(failure_of(KeyError("x"), doing))


@pytest.mark.parametrize(
    "board",
    [
        {"corpora": [5, None, {}], "rows": [], "answers": []},
        {"corpora": [{"id": "a", "name": 5, "sha256": []}], "rows": [5, {}], "answers": [7]},
        {"corpora": [{"id": "a"}], "rows": [{"corpus": "a", "source": []}], "answers": []},
        {
            "corpora": [{"id": "a", "name": "a", "sha256": None}],
            "rows": [{"corpus": "a", "source": "run", "label": "x", "scores": {"spec": 5}}],
            "answers": [],
        },
    ],
)
@pytest.mark.parametrize("more", [(), ("--json",), ("--corpus", "a")])
def test_a_board_of_the_hub_with_junk_in_it(
    hub: Hub, board: dict[str, Any], more: tuple[str, ...]
) -> None:
    tree = {"schemaVersion": 1, "kind": "pmb-hf leaderboard", **board}
    hub.repo("dataset", REPO).write({"leaderboard.json": json.dumps(tree).encode()})
    done = pmb(*BOARD, *more)
    assert done.code in (0, 2), done
