"""The command line as a whole: help, exit codes, streams, and its reference."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from cli_kit import environment, pmb, program

from pmb_hf import __version__, rules
from pmb_hf.cli import app, reference
from pmb_hf.cli.guard import EXIT_CODES, GuardedGroup
from pmb_hf.errors import PmbError, ProviderError
from pmb_hf.providers.registry import available

ROOT = Path(__file__).resolve().parent.parent


def commands() -> Iterator[tuple[list[str], Any]]:
    def walk(path: list[str], command: Any) -> Iterator[tuple[list[str], Any]]:
        inner = getattr(command, "commands", None)
        if inner is None:
            yield path, command
            return
        for name, child in inner.items():
            yield from walk([*path, name], child)

    yield from walk([], typer.main.get_command(app))


COMMANDS = [path for path, _ in commands()]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_help_has_an_example_and_fits(path: list[str], flag: str) -> None:
    done = pmb(*path, flag, columns=80)
    assert done.code == 0
    assert "Examples:" in done.out
    assert f"  pmb {' '.join(path)}" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert not done.err


def test_help_lists_every_command_on_one_whole_line() -> None:
    for path in COMMANDS:
        out = pmb(*path[:-1], "--help", columns=80).out
        (text,) = re.findall(rf"^  {path[-1]} +(\S.*)$", out, re.MULTILINE)
        assert text.endswith(".")
        assert not text.endswith("...")


@pytest.mark.parametrize("path", [[], ["data"]])
def test_a_group_alone_shows_its_help(path: list[str]) -> None:
    done = pmb(*path)
    assert done.code == 0
    assert done.out == pmb(*path, "--help").out


def test_version() -> None:
    assert pmb("--version").out == f"pmb-hf {__version__}\n"


def test_the_reference_is_up_to_date() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert text == reference.render(), "python -m pmb_hf.cli.reference > docs/cli.md"
    for path in COMMANDS:
        assert f"## `pmb {' '.join(path)}`\n" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rn"], "No such command 'rn'"),
        (["run"], "--provider"),
        (["run", "--provider", "bm25", "--nope"], "--nope"),
        (["run", "--provider", "bm26"], "Did you mean 'bm25'"),
        (["run", "--provider", "bm25", "--rules", "sped"], "did you mean 'spec'"),
        (["run", "--provider", "bm25", "--option", "top_k"], "key=value"),
        (["run", "--provider", "bm25", "--option", "a=1", "--option", "a=2"], "twice"),
        (["run", "--provider", "bm25", "--parts", "rest"], "retrieval, sessions"),
        (["run", "--provider", "bm25", "--text-mode", "x"], "canonical_name_aliases"),
        (["run", "--provider", "bm25", "--max-failures", "0"], "--max-failures"),
        (["run", "--provider", "bm25", "--ready-timeout", "nan"], "--ready-timeout"),
        (["run", "--provider", "bm25", "--corpus", "nowhere"], "nowhere"),
        (["run", "--provider", "bm25", "--resume"], "nothing to resume"),
        (["run", "--provider", "bm25", "--resume", "--out", "x.json"], "nothing to resume"),
        (["show", "nope.json"], "nope.json"),
        (["show"], "REPORT"),
        (["score", "nope.jsonl"], "nope.jsonl"),
        (["explain", "zzz"], "no case 'zzz'"),
        (["providers", "bm26"], "did you mean 'bm25'"),
        (["data", "lint", "nowhere", "--fixtures"], "--fixtures"),
    ],
)
def test_wrong_use_is_one_line_and_2(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = pmb(*arguments)
    assert done.code == 2
    assert done.out == ""
    first, *rest = done.err.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert "Traceback" not in done.err
    assert all(line.startswith("See `pmb ") for line in rest)
    assert not list(tmp_path.iterdir())


def guarded(error: BaseException) -> typer.Typer:
    made = typer.Typer(cls=GuardedGroup, rich_markup_mode=None)

    @made.callback(invoke_without_command=True)
    def fail() -> None:
        raise error

    return made


def ended(made: typer.Typer, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code: int = made([], standalone_mode=False)
    captured = capsys.readouterr()
    assert captured.out == ""
    return code, captured.err


@pytest.mark.parametrize("error", [PmbError("broken"), ProviderError("broken")])
def test_our_errors_are_their_exit_codes(
    error: PmbError, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(guarded(error), capsys) == (error.exit_code, "error: broken\n")


def test_a_bug_is_one_line_that_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PMB_DEBUG", raising=False)
    code, err = ended(guarded(KeyError("no such\nthing")), capsys)
    assert code == 70
    assert err.count("\n") == 1
    assert "KeyError" in err
    assert "bug in pmb-hf" in err
    assert "PMB_DEBUG=1" in err
    assert "Traceback" not in err


def test_a_bug_shows_where_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMB_DEBUG", "1")
    code, err = ended(guarded(KeyError("thing")), capsys)
    assert code == 70
    assert "Traceback" in err
    assert "line" in err


def test_a_file_that_fails_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    error = PermissionError(13, "Permission denied", "/root/x")
    assert ended(guarded(error), capsys) == (2, "error: Permission denied: /root/x\n")


def test_an_interrupt_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(guarded(KeyboardInterrupt()), capsys)[0] == 130


def test_messages_can_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = ended(guarded(PmbError("a\x1b[2Jb\u202ec\n  d")), capsys)
    assert err == "error: a␛[2Jb\ufffdc\n  d\n"


def test_exit_codes_of_the_program(tmp_path: Path) -> None:
    assert program("--version", cwd=tmp_path).code == 0
    wrong = program("run", "--provider", "bm26", cwd=tmp_path)
    assert (wrong.code, wrong.out) == (2, "")
    dead = program("run", "--provider", "http://127.0.0.1:1", "--quiet", cwd=tmp_path)
    assert dead.code == 3
    assert dead.err.startswith("error: ")
    assert dead.err.count("\n") == 1
    (tmp_path / "empty").mkdir()
    assert program("data", "lint", "empty", cwd=tmp_path).code == 1
    assert {0, 1, 2, 3} <= set(EXIT_CODES)


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "pmb_hf", "measures", "--json"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == b""


def test_any_encoding_will_do(tmp_path: Path) -> None:
    done = program("measures", cwd=tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.code == 0
    assert "mean_precision" in done.out


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1", "FORCE_COLOR": ""}, {}])
def test_no_escape_codes_without_a_terminal(variables: dict[str, str], tmp_path: Path) -> None:
    done = program("measures", cwd=tmp_path, **variables)
    assert done.code == 0
    assert "\x1b" not in done.out + done.err


def test_help_names_what_there_is() -> None:
    run_help = " ".join(pmb("run", "--help").out.split())
    for name in rules.RULES:
        assert name in run_help
    listed = pmb("providers").out
    for info in available():
        assert info.name in listed


def test_main_takes_no_arguments_and_returns_the_code(tmp_path: Path) -> None:
    code = "import sys; from pmb_hf.cli import main; sys.argv = ['pmb', 'rn']; print(main())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "2\n"
