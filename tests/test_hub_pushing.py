"""Pushing to a real server on the loopback: one commit, nothing half-published, no token shown."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import pmb
from hub import TOKEN, Hub, serve
from hub_kit import REPO, everything_of, folder, sign_in

from pmb_hf.errors import HubError, InputError, PmbError
from pmb_hf.hub.changes import MANIFEST
from pmb_hf.hub.names import names
from pmb_hf.hub.pushing import ATTEMPTS, Pushed, plan, push

NAMES = names(REPO)
COMMIT, PUT = r"POST .*/commit/", r"PUT /lfs/"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serve() as started:
        sign_in(monkeypatch, started)
        yield started


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return folder(tmp_path / "hf_export")


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library waits up to 23 s between its attempts; that clock is stopped."""
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)


def dataset(hub: Hub, export: Path, **options: Any) -> Pushed:
    (done,) = push(export, NAMES, parts=["dataset"], endpoint=hub.url, **options)
    return done


def kinds(pushed: Pushed) -> dict[str, str]:
    return {change.path: change.kind for change in pushed.plan.changes}


@pytest.mark.parametrize("regular", [False, True], ids=["lfs", "regular"])
def test_all_files_go_in_one_commit(hub: Hub, export: Path, regular: bool) -> None:
    hub.everything_regular = regular
    done = dataset(hub, export)
    repo = hub.repo("dataset", REPO)
    assert done.created
    assert len(repo.log) == 2
    assert done.commit == repo.log[-1].oid
    files = dict(repo.files)
    assert json.loads(files.pop(MANIFEST))["files"] == sorted(
        path.relative_to(export).as_posix() for path in export.rglob("*") if path.is_file()
    )
    del files[".gitattributes"]
    assert files == {
        path.relative_to(export).as_posix(): path.read_bytes()
        for path in export.rglob("*")
        if path.is_file()
    }
    assert hub.count(COMMIT) == 1
    assert hub.count(PUT) == (0 if regular else 1)


@pytest.mark.parametrize("regular", [False, True], ids=["lfs", "regular"])
def test_a_second_push_commits_nothing(hub: Hub, export: Path, regular: bool) -> None:
    hub.everything_regular = regular
    dataset(hub, export)
    hub.requests.clear()
    again = dataset(hub, export)
    assert again.commit is None
    assert set(kinds(again).values()) == {"unchanged"}
    assert not hub.count("POST|PUT|DELETE")


def test_only_what_changed_is_sent(hub: Hub, export: Path) -> None:
    dataset(hub, export)
    (export / "reports" / "a.json").write_text('{"a": 2}\n')
    (export / "reports" / "b.json").unlink()
    (export / "reports" / "c.json").write_text("{}\n")
    hub.requests.clear()
    done = dataset(hub, export)
    assert {p: k for p, k in kinds(done).items() if k != "unchanged"} == {
        "reports/a.json": "changed",
        "reports/b.json": "deleted",
        "reports/c.json": "added",
        MANIFEST: "changed",
    }
    files = hub.repo("dataset", REPO).files
    assert "reports/b.json" not in files
    assert files["reports/a.json"] == b'{"a": 2}\n'
    assert hub.count(COMMIT) == 1
    assert not hub.count(PUT)


def test_files_of_others_are_never_deleted(hub: Hub, export: Path) -> None:
    dataset(hub, export)
    hub.repo("dataset", REPO).write({"NOTES.md": b"mine", "reports/theirs.json": b"{}"})
    (export / "reports" / "a.json").unlink()
    dataset(hub, export)
    files = hub.repo("dataset", REPO).files
    assert {"NOTES.md", "reports/theirs.json", ".gitattributes"} <= set(files)
    assert "reports/a.json" not in files


@pytest.mark.parametrize("broken", [b"{", b"[]", b'{"files": 3}', b'{"files": [3, "README.md"]}'])
def test_a_broken_list_of_files_deletes_nothing(hub: Hub, export: Path, broken: bytes) -> None:
    dataset(hub, export)
    hub.repo("dataset", REPO).write({MANIFEST: broken})
    (export / "reports" / "a.json").unlink()
    dataset(hub, export)
    assert "reports/a.json" in hub.repo("dataset", REPO).files


def test_the_tree_is_read_page_by_page(hub: Hub, export: Path) -> None:
    hub.page = 2
    dataset(hub, export)
    assert dataset(hub, export).commit is None
    assert hub.count("cursor=") >= 2


# ---------------------------------------------------------------- others at the same time


def test_a_commit_in_between_is_kept(hub: Hub, export: Path) -> None:
    dataset(hub, export)
    (export / "reports" / "a.json").write_text("{}\n")
    (export / "reports" / "b.json").unlink()

    def race(hub: Hub) -> None:
        files = {"reports/new.json": b"{}", "leaderboard.json": b"theirs"}
        hub.repo("dataset", REPO).write(files)

    hub.fail(COMMIT, do=race)
    done = dataset(hub, export)
    repo = hub.repo("dataset", REPO)
    assert done.attempts == 2
    assert [c.message.startswith("Publish") for c in repo.log[1:]] == [True, False, True]
    assert repo.files["reports/new.json"] == b"{}"
    assert repo.files["leaderboard.json"] == b"{}\n"
    assert "reports/b.json" not in repo.files
    told = " ".join(done.notes)
    assert "reports/new.json, which stays" in told
    assert "leaderboard.json is replaced" in told


def test_a_report_that_another_push_brought_is_not_deleted(hub: Hub, export: Path) -> None:
    dataset(hub, export)
    (export / "reports" / "a.json").write_text("{}\n")

    def race(hub: Hub) -> None:
        repo = hub.repo("dataset", REPO)
        listed = [*json.loads(repo.files[MANIFEST])["files"], "reports/new.json"]
        manifest = json.dumps({"files": listed}).encode()
        repo.write({"reports/new.json": b"{}", MANIFEST: manifest})

    hub.fail(COMMIT, do=race)
    dataset(hub, export)
    files = hub.repo("dataset", REPO).files
    assert "reports/new.json" in files
    assert "reports/new.json" in json.loads(files[MANIFEST])["files"]


def test_what_somebody_changed_meanwhile_is_not_deleted(hub: Hub, export: Path) -> None:
    dataset(hub, export)
    (export / "reports" / "b.json").unlink()
    hub.fail(COMMIT, do=lambda hub: hub.repo("dataset", REPO).write({"reports/b.json": b"new"}))
    dataset(hub, export)
    files = hub.repo("dataset", REPO).files
    assert files["reports/b.json"] == b"new"
    assert "reports/b.json" in json.loads(files[MANIFEST])["files"]


def test_whoever_published_the_same_leaves_nothing_to_do(hub: Hub, export: Path) -> None:
    dataset(hub, export)
    (export / "reports" / "a.json").write_text("{}\n")
    hub.fail(COMMIT, do=lambda hub: hub.repo("dataset", REPO).write({"reports/a.json": b"{}\n"}))
    done = dataset(hub, export)
    assert (done.commit, done.attempts) == (None, 1)
    assert len(hub.repo("dataset", REPO).log) == 3


@pytest.mark.parametrize("status", [409, 412])
def test_endless_conflicts_end(hub: Hub, export: Path, status: int) -> None:
    hub.fail(COMMIT, status=status, body={"error": "try later"}, times=100)
    with pytest.raises(HubError, match="somebody else is writing to it") as caught:
        dataset(hub, export)
    assert caught.value.status == status
    assert hub.count(COMMIT) == ATTEMPTS
    assert len(hub.repo("dataset", REPO).log) == 1


# ---------------------------------------------------------------- cut off


def unpublished(hub: Hub) -> None:
    assert set(hub.repo("dataset", REPO).files) == {".gitattributes"}
    assert hub.commits() == 0


@pytest.mark.parametrize("at", [0, 100, 2000])
def test_a_commit_cut_off_publishes_nothing(hub: Hub, export: Path, at: int) -> None:
    hub.fail(COMMIT, cut=at)
    with pytest.raises(HubError, match=r"no answer from http://127.0.0.1.* nothing was published"):
        dataset(hub, export)
    unpublished(hub)
    assert dataset(hub, export).commit
    assert hub.commits() == 1


@pytest.mark.usefixtures("no_waiting")
def test_an_upload_cut_off_for_good_publishes_nothing(hub: Hub, export: Path) -> None:
    hub.fail(PUT, cut=1000, times=50)
    with pytest.raises(HubError, match="no answer from"):
        dataset(hub, export)
    unpublished(hub)
    hub.faults.clear()
    assert dataset(hub, export).commit
    assert hub.commits() == 1


@pytest.mark.usefixtures("no_waiting")
def test_an_upload_cut_off_once_is_tried_again(hub: Hub, export: Path) -> None:
    hub.fail(PUT, cut=1000)
    assert dataset(hub, export).commit
    assert hub.commits() == 1


def test_a_lost_answer_is_no_failure(hub: Hub, export: Path) -> None:
    hub.fail(COMMIT, lose=True)
    done = dataset(hub, export)
    assert done.commit == hub.repo("dataset", REPO).log[-1].oid
    assert "answer was lost" in done.notes[-1]
    assert hub.commits() == 1


# ---------------------------------------------------------------- pull requests and privacy


def test_a_pull_request_leaves_main_alone(hub: Hub, export: Path) -> None:
    dataset(hub, export)
    (export / "reports" / "a.json").write_text("{}\n")
    done = dataset(hub, export, create_pr=True)
    repo = hub.repo("dataset", REPO)
    assert done.url.endswith("/discussions/1")
    assert len(repo.log) == 2
    assert repo.refs["refs/pr/1"][-1].files["reports/a.json"].data == b"{}\n"
    hub.requests.clear()
    assert dataset(hub, folder(export), create_pr=True).commit is None
    assert not hub.count("POST")


def test_a_pull_request_needs_a_repository(hub: Hub, export: Path) -> None:
    with pytest.raises(InputError, match="there is no dataset org/precisionmembench to change"):
        dataset(hub, export, create_pr=True)
    assert not hub.repos


def test_private(hub: Hub, export: Path) -> None:
    dataset(hub, export, private=True)
    assert hub.repo("dataset", REPO).private
    assert dataset(hub, export).commit is None


def test_private_is_not_promised_of_a_public_repository(hub: Hub, export: Path) -> None:
    hub.create("dataset", REPO)
    with pytest.raises(InputError, match=r"is public already.*/settings"):
        dataset(hub, export, private=True)
    unpublished(hub)


# ---------------------------------------------------------------- a dry run


def test_a_dry_run_shows_all_and_writes_nothing(hub: Hub, export: Path) -> None:
    (found,) = plan(export, NAMES, parts=["dataset"], endpoint=hub.url)
    assert found.head is None
    assert {change.kind for change in found.changes} == {"added"}
    assert not hub.repos
    dataset(hub, export)
    (export / "reports" / "b.json").unlink()
    hub.requests.clear()
    (found,) = plan(export, NAMES, parts=["dataset"], endpoint=hub.url)
    by_path = {change.path: change for change in found.changes}
    assert by_path["reports/b.json"][1:] == ("deleted", None, 9)
    assert by_path["reports/a.json"][1:] == ("unchanged", 9, 9)
    assert not hub.count("POST|PUT")


def test_a_dry_run_needs_no_token(hub: Hub, export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_in(monkeypatch, hub, None)
    hub.create("dataset", REPO)
    (found,) = plan(export, NAMES, parts=["dataset"], endpoint=hub.url)
    assert found.head is not None
    hub.repos.clear()
    (found,) = plan(export, NAMES, parts=["dataset"], endpoint=hub.url)
    assert found.head is None


def test_a_dry_run_without_the_hub_compares_nothing(
    hub: Hub, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    with_hub = plan(export, NAMES, parts=["dataset"], endpoint=hub.url)
    without = plan(export, NAMES, parts=["dataset"], endpoint="http://127.0.0.1:9")
    sent = [[(c.path, c.size) for c in found.changes] for (found,) in (with_hub, without)]
    assert sent[0] == sent[1]
    assert without[0].away is not None
    options = ("push", "--repo", REPO, "--what", "dataset", "--export", export, "--dry-run")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    shown = pmb(*options)
    assert shown.code == 0, shown
    assert "HF_HUB_OFFLINE is set" in shown.err
    assert shown.err.endswith("so the files were compared with nothing\n")
    assert "(not known whether it is there)" in shown.out
    assert "  ? reports/a.json                    9 B, not compared\n" in shown.out
    (view,) = pmb(*options, "--json").json["repositories"]
    assert (view["exists"], view["compared"]) == (None, False)
    assert {change["kind"] for change in view["files"]} == {"not compared"}


def test_a_dry_run_that_the_hub_refuses_is_an_error(hub: Hub, export: Path) -> None:
    hub.fail(INFO, status=403)
    with pytest.raises(HubError, match="403"):
        plan(export, NAMES, parts=["dataset"], endpoint=hub.url)


# ---------------------------------------------------------------- refusals of the Hub

CREATE, INFO = r"POST /api/repos/create", r"GET /api/(datasets|spaces)/"
REFUSALS: list[tuple[str, int, dict[str, str], str]] = [
    (CREATE, 401, {}, "does not accept the token.*/settings/tokens.*HF_TOKEN.*hf auth login"),
    (CREATE, 403, {}, "write access to 'org'.*--create-pr"),
    (CREATE, 402, {}, "paid plan.*billing.*without --private"),
    (CREATE, 429, {"Retry-After": "77"}, "wait 77 s and push again"),
    (CREATE, 500, {}, "status.huggingface.co"),
    (CREATE, 418, {}, "refused"),
    (COMMIT, 401, {}, "does not accept the token"),
    (COMMIT, 403, {}, "write access"),
    (COMMIT, 404, {"X-Error-Code": "RepoNotFound"}, "there is no dataset org/precisionmembench"),
    (COMMIT, 413, {}, "too large"),
    (COMMIT, 429, {"RateLimit": '"api";r=0;t=41'}, "wait 41 s"),
    (COMMIT, 429, {}, "wait some minutes"),
    (COMMIT, 503, {}, "the Hub failed .503"),
    (COMMIT, 400, {}, "refused .400: it says no"),
    (r"validate-yaml", 400, {}, "would not take it|refused"),
]


@pytest.mark.parametrize(("match", "status", "headers", "words"), REFUSALS)
def test_a_refusal_is_a_sentence_without_the_token(
    hub: Hub, export: Path, match: str, status: int, headers: dict[str, str], words: str
) -> None:
    # The server is so unkind as to echo the token.
    body = {"error": f"it says no to {TOKEN}"}
    hub.fail(match, status=status, headers=headers, body=body, times=50)
    with pytest.raises(PmbError) as caught:
        dataset(hub, export)
    text = str(caught.value)
    assert re.search(words, text), text
    assert "\n" not in text
    assert caught.value.exit_code == 2
    assert TOKEN not in everything_of(caught.value)
    assert hub.commits() == 0


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("status", [429, 502])
def test_a_refusal_that_stays(hub: Hub, export: Path, status: int) -> None:
    hub.fail("preupload", status=status, times=50)
    with pytest.raises(HubError) as caught:
        dataset(hub, export)
    assert caught.value.status == status
    unpublished(hub)


def test_a_token_that_is_wrong(hub: Hub, export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_in(monkeypatch, hub, "hf_" + "w" * 30)
    with pytest.raises(HubError, match="does not accept the token"):
        dataset(hub, export)


def test_no_token(hub: Hub, export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_in(monkeypatch, hub, None)
    with pytest.raises(HubError, match="needs a token: make a token with write access"):
        dataset(hub, export)
    assert not hub.requests


def test_nobody_answers(export: Path, hub: Hub) -> None:
    with pytest.raises(HubError, match=r"no answer from http://127.0.0.1:9 .*check the network"):
        push(export, NAMES, parts=["dataset"], endpoint="http://127.0.0.1:9")


def test_offline(hub: Hub, export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(HubError, match="HF_HUB_OFFLINE is set"):
        dataset(hub, export)


def test_the_token_is_in_no_log(
    hub: Hub, export: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    dataset(hub, export)
    hub.fail(COMMIT, status=403)
    (export / "reports" / "a.json").write_text("{}\n")
    with pytest.raises(HubError):
        dataset(hub, export)
    out = capfd.readouterr()
    assert TOKEN not in caplog.text + out.out + out.err
    assert any(headers.get("authorization") == f"Bearer {TOKEN}" for headers in hub.headers)


# ---------------------------------------------------------------- what is never published


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: (d / "precisionmembench.py").write_text("x"), "refuses to load.*remove it"),
        (lambda d: (d / "README.md").unlink(), "has no README.md"),
        (lambda d: (d / "README.md").write_text("# no head"), "must start with YAML"),
        (lambda d: (d / "README.md").write_text("---\na: [\n---\n"), "is no YAML"),
        (lambda d: (d / "README.md").write_text("---\n- a\n---\n"), "`name: value` pairs"),
        (lambda d: (d / "README.md").write_bytes(b"\xff"), "is not UTF-8"),
        (lambda d: (d / "runs" / "test-00000-of-00001.parquet").unlink(), "names runs/\\*.parquet"),
        (lambda d: (d / "passwd").symlink_to("/etc/passwd"), "leads out of"),
        (lambda d: (d / "more").symlink_to("/etc"), "link to a folder"),
        (
            lambda d: (d / "reports" / "a.json").write_text(f'{{\n"key": "{TOKEN}"}}'),
            "reports/a.json line 2 holds a Hugging Face token.*revoke",
        ),
        (
            lambda d: (d / "reports" / "a.json").write_text("hf_" + "Q" * 34),
            "reports/a.json line 1 holds a Hugging Face token",
        ),
    ],
)
def test_a_folder_that_must_not_be_published(
    hub: Hub, export: Path, change: Callable[[Path], object], words: str
) -> None:
    change(export)
    with pytest.raises(InputError, match=words) as caught:
        dataset(hub, export)
    assert TOKEN not in everything_of(caught.value)
    assert not hub.requests


def test_no_folder(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder; `pmb export REPORTS"):
        dataset(hub, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is empty"):
        dataset(hub, tmp_path / "empty")


def test_what_tools_leave_behind_stays_here(hub: Hub, export: Path) -> None:
    folder(export, **{".DS_Store": "x", "__pycache__/a.pyc": "x", ".git/config": "x"})
    assert not [p for p in kinds(dataset(hub, export)) if "pyc" in p or "DS_" in p or ".git" in p]


# ---------------------------------------------------------------- the command


def test_the_command(hub: Hub, export: Path) -> None:
    options = ("push", "--repo", REPO, "--what", "dataset", "--export", export)
    shown = pmb(*options, "--dry-run")
    assert shown.code == 0, shown
    assert "  + reports/a.json                    9 B, added\n" in shown.out
    assert shown.out.endswith("nothing was written\n")
    assert not hub.repos
    done = pmb(*options)
    assert done.out.startswith("dataset: published 6 added  http://127.0.0.1")
    assert pmb(*options).out.startswith("dataset: nothing to do, no commit made")
    (export / "reports" / "b.json").unlink()
    (view,) = pmb(*options, "--dry-run", "--json").json["repositories"]
    assert view["exists"]
    gone = {"path": "reports/b.json", "kind": "deleted", "size": None, "old_size": 9}
    assert gone in view["files"]
    (view,) = pmb(*options, "--json").json["repositories"]
    assert view["commit"] == hub.repo("dataset", REPO).log[-1].oid


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--repo", "precisionmembench"], "named ORG/NAME"),
        (["--repo", "a/b/c"], "named ORG/NAME"),
        (["--repo", "org/na me"], "takes no repository named"),
        (["--repo", REPO, "--what", "metrics"], "did you mean 'metric'"),
        (["--repo", REPO, "--sdk", "docker"], "--sdk 'docker' is unknown"),
        (["--repo", REPO, "--metric-repo", "org/a-b"], "a-b.py could not be imported"),
        (["--repo", REPO, "--space-repo", REPO], "can't both be the Space"),
    ],
)
def test_wrong_use(hub: Hub, export: Path, arguments: list[str], words: str) -> None:
    done = pmb("push", *arguments, "--export", export)
    assert done.code == 2
    assert words in done.err
    assert not hub.requests


@pytest.mark.parametrize(
    ("repo", "metric", "space"),
    [
        (REPO, REPO, REPO + "-leaderboard"),
        ("me/my-bench.v2", "me/my_bench_v2", "me/my-bench.v2-leaderboard"),
    ],
)
def test_names(repo: str, metric: str, space: str) -> None:
    assert names(repo) == (repo, metric, space)
