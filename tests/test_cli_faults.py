"""The command line against broken bytes, places that hold nothing, and full disks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import corpora
import pytest
from cli_kit import environment, good, pmb, program

from pmb_hf.corpus import load_corpus
from pmb_hf.providers.controls import ScriptedProvider
from pmb_hf.report_reader import read_report
from pmb_hf.runner import run
from pmb_hf.states import keys_of

BROKEN = os.fsdecode(b"\xff")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- broken bytes


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--provider", "bm25", "--name", BROKEN],
        ["run", "--provider", "bm25", "--namespace", f"a{BROKEN}"],
        ["run", "--provider", BROKEN],
        ["run", "--provider", "bm25", "--option", f"path={BROKEN}"],
        ["run", "--provider", "bm25", "--option", f"{BROKEN}=1"],
        ["run", "--provider", "bm25", "--config", BROKEN],
        ["run", "--provider", "bm25", "--corpus", BROKEN],
        ["run", "--provider", "bm25", "--parts", BROKEN],
        ["run", "--provider", "bm25", "--rules", BROKEN],
        ["run", "--provider", "bm25", "--fail-under", f"{BROKEN}=1"],
        ["show", BROKEN],
        ["explain", BROKEN],
        ["score", f"{BROKEN}.json"],
        ["compare", BROKEN, BROKEN],
        ["curve", BROKEN],
        ["report", BROKEN],
        ["rescore", BROKEN],
        ["doctor", f"http://{BROKEN}"],
        ["doctor", f"http://127.0.0.1:1/{BROKEN}"],
        ["serve", BROKEN],
        ["serve", "bm25", "--host", BROKEN],
        ["data", "from-log", BROKEN, "--beliefs", BROKEN, "-o", "x"],
        ["data", "fetch", "--from", BROKEN],
    ],
    ids=lambda arguments: " ".join(arguments).replace(BROKEN, "?"),
)
def test_broken_bytes_are_wrong_use_and_no_bug(here: Path, arguments: list[str]) -> None:
    done = pmb(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "bug" not in done.err
    assert not list(here.iterdir())


def test_broken_bytes_of_a_real_command_line(tmp_path: Path) -> None:
    done = program("run", "--provider", "bm25", "--name", BROKEN, cwd=tmp_path)
    assert done.code == 2
    assert "--name holds what is no valid text ('\\udcff'); write it in UTF-8" in done.err


def test_a_file_may_have_any_name(here: Path) -> None:
    good("run", "--provider", "bm25", "--out", f"{BROKEN}.json", "--quiet")
    assert read_report(here / f"{BROKEN}.json").records


# --- places and numbers


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("r1.json/x.json", "r1.json/x.json can't be written: r1.json is no directory"),
        ("r1.json/a/x.json", "r1.json/a/x.json can't be written: r1.json is no directory"),
        ("r1.json/folder", "r1.json is no directory; choose another place"),
        (f"{'n' * 300}.json", "File name too long"),
    ],
)
def test_a_place_that_holds_no_file_is_told_before_anything_runs(
    here: Path, out: str, says: str
) -> None:
    (here / "r1.json").write_text("{}")
    done = pmb("run", "--provider", "bm25", "--out", out)
    assert done.code == 2
    assert says in done.err
    assert ".part" not in done.err
    assert [p.name for p in here.iterdir()] == ["r1.json"]


@pytest.mark.parametrize("command", ["rescore", "curve", "report"])
def test_what_can_not_be_written_is_named_and_no_helper(here: Path, command: str) -> None:
    good("run", "--provider", "bm25", "--out", "r.json", "--quiet")
    before = (here / "r.json").read_bytes()
    end = {"rescore": ".json", "curve": ".svg", "report": ".html"}[command]
    for out, says in (
        (f"r.json/x{end}", "r.json is no directory"),
        (f"{'n' * 300}{end}", "File name too long"),
    ):
        done = pmb(command, "r.json", "-o", out)
        assert done.code == 2
        assert says in done.err
        assert ".part" not in done.err
    (here / f"folder{end}").mkdir()
    done = pmb(command, "r.json", "-o", f"folder{end}")
    assert done.code == 2
    assert f"folder{end} is no regular file" in done.err
    assert (here / "r.json").read_bytes() == before
    assert sorted(p.name for p in here.iterdir()) == [f"folder{end}", "r.json"]


def test_a_picture_follows_a_link_and_leaves_no_part(here: Path) -> None:
    good("run", "--provider", "bm25", "--out", "r.json", "--quiet")
    (here / "target.svg").write_text("old")
    (here / "link.svg").symlink_to("target.svg")
    good("curve", "r.json", "-o", "link.svg")
    assert (here / "link.svg").is_symlink()
    assert (here / "target.svg").read_text().startswith("<svg")
    assert sorted(p.name for p in here.iterdir()) == ["link.svg", "r.json", "target.svg"]


@pytest.mark.parametrize("option", ["--run-timeout", "--ready-timeout", "--timeout"])
@pytest.mark.parametrize("value", ["nan", "-1"])
def test_what_is_no_number_of_seconds_is_told(here: Path, option: str, value: str) -> None:
    done = pmb("run", "--provider", "bm25", option, value)
    assert done.code == 2
    said = f"error: Invalid value for '{option}': {value} is no number of seconds, 0 or more\n"
    assert done.err.startswith(said)
    assert not list(here.iterdir())


# --- who is judged, and who added it


def test_a_run_judges_its_report_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pmb_hf.report
    import pmb_hf.runner

    calls = []
    real = pmb_hf.report.judge

    def judge(*arguments: Any) -> Any:
        calls.append(arguments)
        return real(*arguments)

    monkeypatch.setattr("pmb_hf.report.judge", judge)
    monkeypatch.setattr("pmb_hf.runner.judge", judge)
    monkeypatch.setattr("pmb_hf.report_json.judge", judge)
    done = good("run", "--provider", "bm25", "--out", "r.json", "--json", "--junit", "j.xml")
    assert len(calls) == 1
    stored = json.loads((here / "r.json").read_text())
    assert done.json["retrieval"] == stored["retrieval"]["measures"]


def test_what_the_harness_added_is_told(tmp_path: Path) -> None:
    corpus = corpora.load(tmp_path / "corpus")
    path = tmp_path / "r.json"
    run(ScriptedProvider(default=["t-spare-impeller"]), corpus, name="x", out=path)
    where = ("--corpus", tmp_path / "corpus")
    told = "participant of t-spare-impeller, added by the harness"
    done = good("explain", "c-mooring", path, *where)
    assert done.out.count("added by") == 2
    (view,) = good("explain", "c-mooring", path, *where, "--json").json["cases"]
    lines = {line["beliefId"]: line for line in view["answers"][0]["relevant"]}
    assert lines["t-engine"]["addedBy"] == "t-spare-impeller"
    assert lines["t-engine"]["fate"] == told
    assert lines["t-spare-impeller"]["addedBy"] is None
    assert told in " ".join(good("show", path, *where, "--failures", "all").out.split())
    good("report", path, *where, "-o", tmp_path / "page.html")
    assert told in (tmp_path / "page.html").read_text(encoding="utf-8")


# --- lists


def test_all_cases_are_listed_without_a_case(tmp_path: Path) -> None:
    corpus = load_corpus("native")
    view = good("explain", "--json").json
    assert view["corpus"] == "native"
    assert [(row["caseId"], row["turnIndex"]) for row in view["cases"]] == keys_of(corpus)
    assert view["cases"][0]["query"] == corpus.cases[0].query
    shown = good("explain", columns=160).out
    for case in corpus.cases:
        assert f"{case.case_id} " in shown
    assert "--turn 3" in shown
    assert "(blank)" in shown
    corpora.write(tmp_path)
    own = good("explain", "--corpus", tmp_path, "--json").json["cases"]
    assert [row["caseId"] for row in own][:2] == ["c-mooring", "c-impeller"]


@pytest.mark.parametrize(
    ("host", "warned"),
    [
        ("0.0.0.0", True),  # noqa: S104 - that is what is warned of
        ("::", True),
        ("127.0.0.1", False),
        ("localhost", False),
        ("::1", False),
    ],
)
def test_serving_for_everyone_is_warned_of(
    host: str, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pmb_hf.serve.serve", lambda *_, **__: None)
    done = good("serve", "fts5", "--host", host)
    assert (f"warning: there is no password, and {host} can be reached" in done.err) is warned


# --- a full disk

LIMITED = """
import resource, sys
from pmb_hf.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
sys.exit(main())
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("flag", [[], ["--json"]], ids=["table", "json"])
def test_output_to_a_full_disk_is_an_error(
    tmp_path: Path, unbuffered: str, flag: list[str]
) -> None:
    with (tmp_path / "out.txt").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, "1000", "explain", *flag],
            cwd=tmp_path,
            env=environment(PYTHONUNBUFFERED=unbuffered),
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: File too large\n")
    assert "Traceback" not in done.stderr


def limited(size: int, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command that can write no file beyond ``size`` bytes."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(size), *arguments],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_disk_that_is_full_in_the_run_keeps_what_was_measured(tmp_path: Path) -> None:
    call = ("run", "--provider", "bm25", "--out", "r.json")
    done = limited(20_000, *call, cwd=tmp_path)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert lines[-1] == "error: File too large: r.json.journal"
    assert "what was measured is kept in r.json.journal: go on with --resume" in lines[-2]
    assert "Traceback" not in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["r.json.journal"]
    journal = (tmp_path / "r.json.journal").read_bytes()
    assert journal.endswith(b"}\n")
    kept = [json.loads(line) for line in journal.splitlines()]
    assert sum("record" in line for line in kept) > 10
    good_again = program(*call, "--resume", cwd=tmp_path)
    assert good_again.code == 0, good_again.err
    assert len(read_report(tmp_path / "r.json").records) == 89


def test_a_disk_that_is_full_at_the_end_keeps_what_was_measured(tmp_path: Path) -> None:
    call = ("run", "--provider", "bm25", "--out", "r.json", "--quiet")
    assert program(*call, cwd=tmp_path).code == 0
    whole = len((tmp_path / "r.json").read_bytes())
    (tmp_path / "r.json").unlink()
    done = limited(whole - 5000, *call, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: File too large: ")
    assert done.stderr.splitlines()[-1].endswith("/r.json")
    assert "go on with --resume" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["r.json.journal"]
    assert program(*call, "--resume", cwd=tmp_path).code == 0
    assert len(read_report(tmp_path / "r.json").records) == 89


@pytest.mark.parametrize("command", ["curve", "rescore", "report"])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, command: str) -> None:
    assert program("run", "--provider", "bm25", "--out", "r.json", cwd=tmp_path).code == 0
    out = {"curve": "out.svg", "rescore": "out.json", "report": "out.html"}[command]
    (tmp_path / out).write_text("as it was")
    done = limited(1000, command, "r.json", "-o", out, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: File too large: ")
    assert ".part" not in done.stderr
    assert (tmp_path / out).read_text() == "as it was"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["r.json", out])


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupt_in_a_provider_is_one(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    program_text = (
        "import os, signal, sys; from pmb_hf.cli import main\n"
        "from pmb_hf.providers import fts5\n"
        "class Ctrl(fts5.Fts5Provider):\n"
        f"    def add(self, **row): os.kill(os.getpid(), {sent:d})\n"
        "from pmb_hf.providers import registry\n"
        "registry.create = lambda name, options=None: Ctrl()\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program_text, "run", "--provider", "fts5"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.rglob("*")) == []


def test_an_interrupt_while_commands_are_read_is_one_word() -> None:
    program_text = (
        "import os, signal, sys\n"
        "class Ctrl:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Ctrl())\n"
        "from pmb_hf.__main__ import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program_text, "--help"],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


def test_a_full_disk_while_growing_names_the_folder(tmp_path: Path) -> None:
    done = limited(1000, "data", "grow", "-n", "1000", "-o", "more", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "error: File too large: more"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(
    "command",
    [
        ["data", "from-log", "pipe", "--beliefs", "b.jsonl", "-o", "out"],
        ["sweep", "pipe", "-o", "out"],
        ["run", "--provider", "bm25", "--corpus", "corpus"],
    ],
    ids=["from-log", "sweep", "corpus"],
)
def test_a_named_pipe_is_no_file_to_read(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "b.jsonl").write_text("{}")
    (tmp_path / "corpus").mkdir()
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "corpus" / "beliefs.seed.json")
    done = program(*command, cwd=tmp_path)
    assert done.code == 2
    assert "is a named pipe, no file" in done.err
    assert len(done.err.splitlines()) <= 3
