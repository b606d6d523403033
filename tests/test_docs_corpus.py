"""docs/your-own-corpus.md and docs/ci.md: what they tell readers to run is run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from pmb_hf.limits import parse_allowance, parse_limit

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
WALKTHROUGH, CI = "your-own-corpus.md", "ci.md"
PROGRESS = re.compile(r"(retrieval|sessions): \d+/\d+")
PREFIX = 'pmb() { "$PMB_PYTHON" -m pmb_hf "$@"; }\n'

pytest_plugins = ["pytester"]


class Block(NamedTuple):
    """A code block: its language, its text, and the line of prose before it."""

    language: str
    text: str
    before: str


def blocks(name: str) -> Iterator[Block]:
    text = (DOCS / name).read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        before = text[: found.start()].rstrip().splitlines()[-1]
        yield Block(found[1], found[2], before)


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the lines that it is said to print."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *expected = part.splitlines()
        yield command, expected


def matches(expected: list[str], printed: list[str]) -> bool:
    """Whether lines are as expected; ``…`` is any text, and alone any number of lines."""
    if not expected:
        return not printed
    first, rest = expected[0], expected[1:]
    if first == "…":
        return any(matches(rest, printed[n:]) for n in range(len(printed) + 1))
    pattern = re.sub(r"([*?\[])", r"[\1]", first).replace("…", "*")
    return bool(printed) and fnmatchcase(printed[0], pattern) and matches(rest, printed[1:])


def in_bash(
    command: str, directory: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would; its exit code is for the caller to look at."""
    return subprocess.run(
        ["bash", "-c", PREFIX + command],
        cwd=directory,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def walk(directory: Path) -> None:
    """Write the files of the walkthrough and run its commands, in order, in ``directory``."""
    environment = {
        **os.environ,
        "PMB_PYTHON": sys.executable,
        "COLUMNS": "120",
        "NO_COLOR": "1",
        "PYTHONPATH": str(ROOT),
    }
    code = 0
    for block in blocks(WALKTHROUGH):
        named = re.search(r"`([\w.]+)`:$", block.before)
        if named:
            (directory / named[1]).write_text(block.text, encoding="utf-8")
            continue
        assert block.language == "console", block
        for command, expected in commands(block.text):
            if command == "echo $?":
                assert expected == [str(code)]
                continue
            done = in_bash(command, directory, environment)
            code = done.returncode
            # Hints go to standard error, and so does what ends with an error; progress does, too.
            printed = (done.stdout + done.stderr).splitlines()
            told = [line.rstrip() for line in printed if not PROGRESS.fullmatch(line)]
            assert matches(expected, told), f"$ {command}\n" + "\n".join(told)


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a reader stands who has done all of the walkthrough."""
    home = tmp_path_factory.mktemp("walk")
    walk(home)
    return home


def test_walkthrough_prints_what_it_says(walked: Path) -> None:
    assert (walked / "baseline.json").is_file()
    assert not (walked / "nowhere").exists()


def test_pytest_example_passes_after_the_walkthrough(
    pytester: pytest.Pytester, walked: Path
) -> None:
    shutil.copytree(walked, pytester.path, dirs_exist_ok=True)
    (example,) = (block.text for block in blocks(CI) if block.language == "python")
    pytester.makepyfile(example)
    installed = any(point.name == "pmb_hf" for point in entry_points(group="pytest11"))
    named = [] if installed else ["-p", "pmb_hf.pytest_plugin"]
    pytester.runpytest_subprocess(*named).assert_outcomes(passed=3)


def test_gates_of_the_workflows_are_met_after_the_walkthrough(walked: Path, tmp_path: Path) -> None:
    shutil.copytree(walked, tmp_path, dirs_exist_ok=True)
    github, gitlab = (yaml.safe_load(b.text) for b in blocks(CI) if b.language == "yaml")
    steps = [step.get("run", "") for step in github["jobs"]["gate"]["steps"]]
    commands = [text for text in (*steps, *gitlab["memory"]["script"]) if text.startswith("pmb ")]
    assert len(commands) == 3
    environment = {**os.environ, "PMB_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    for command in commands:
        done = in_bash(command, tmp_path, environment)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"


def test_workflows_are_yaml_and_their_limits_can_be_read() -> None:
    found = [yaml.safe_load(block.text) for block in blocks(CI) if block.language == "yaml"]
    assert len(found) == 2
    text = (DOCS / CI).read_text(encoding="utf-8")
    limits = re.findall(r"--fail-under (\S*=[\d.]+)", text)
    assert limits
    for limit in limits:
        parse_limit(limit)


@pytest.mark.parametrize(
    ("heading", "parse"), [("| limit |", parse_limit), ("| allowance |", parse_allowance)]
)
def test_every_limit_of_the_tables_can_be_read(heading: str, parse: object) -> None:
    text = (DOCS / CI).read_text(encoding="utf-8")
    table = text[text.index(heading) :].split("\n\n", 1)[0].splitlines()[2:]
    found = [limit for row in table for limit in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert len(found) >= 5
    assert callable(parse)
    for limit in found:
        parse(limit)


def test_links_between_documents_lead_somewhere() -> None:
    for name in (WALKTHROUGH, CI):
        for target in re.findall(r"\]\(([\w.-]+\.md)\)", (DOCS / name).read_text(encoding="utf-8")):
            assert (DOCS / target).is_file(), target
