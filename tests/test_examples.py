"""The examples run, and the page about them shows them as they are; each of its blocks is tried."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from pmb_hf.doctor import CHECKS, examine, exit_code
from pmb_hf.providers.fts5 import Fts5Provider
from pmb_hf.providers.http_secrets import environment_headers
from pmb_hf.providers.protocol import Provider, supports_update
from pmb_hf.report_reader import read_report
from pmb_hf.runner import run
from pmb_hf.serve import make_app, running
from pmb_hf.serve.bodies import AddBody, SearchBody

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
PAGE = (ROOT / "docs" / "wrapping-your-system.md").read_text(encoding="utf-8")
PMB = "import sys; from pmb_hf.cli import main; sys.exit(main())"
URL = "http://127.0.0.1:8080"


class Block(NamedTuple):
    language: str
    text: str


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert {block[0] for block in found} == {"bash", "python", "toml", "json"}
    return [Block(*block).text for block in found if block[0] == language]


def python(*arguments: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pydantic looks its annotations up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def wrapper() -> Iterator[str]:
    """The URL of the example, started by the command that the page gives."""
    command = next(line for line in commands() if line.startswith("uvicorn "))
    assert command.endswith(" --port 8080")
    program, _, arguments = command.removesuffix("8080").partition(" ")
    process = subprocess.Popen(
        [sys.executable, "-m", program, *arguments.split(), "0"],
        cwd=EXAMPLES,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = ""
        while "running on" not in line:
            line = process.stderr.readline()
            assert line, "uvicorn ended"
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found is not None
        yield found[0]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def commands() -> list[str]:
    return [line for block in blocks("bash") for line in block.splitlines()]


# ---- the examples


def test_the_page_shows_the_examples_as_they_are() -> None:
    assert blocks("python") == [
        (EXAMPLES / name).read_text(encoding="utf-8")
        for name in ("in_process_adapter.py", "wrapper_service.py")
    ]


@pytest.mark.parametrize(
    ("name", "told"), [("in_process_adapter.py", 25), ("wrapper_service.py", 40)]
)
def test_the_examples_are_as_short_as_the_page_says(name: str, told: int) -> None:
    lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) == told
    assert f"in {told} lines (blank ones not counted)" in PAGE


def test_the_adapter_runs_as_the_page_says(tmp_path: Path) -> None:
    assert "python in_process_adapter.py" in commands()
    done = python(str(EXAMPLES / "in_process_adapter.py"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    passed = re.fullmatch(r"(\d+) of 77 cases passed\n", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 34  # more than a system that finds nothing
    report = read_report(tmp_path / "word-overlap.json")
    assert (len(report.cases), len(report.turns)) == (77, 12)
    assert {record.status for record in report.records} == {"ok"}
    assert report.can_update is True


def test_the_adapter_is_a_provider_by_its_entry_point() -> None:
    (block,) = blocks("toml")
    (entry,) = tomllib.loads(block)["project"]["entry-points"]["pmb_hf.providers"].values()
    module, _, name = entry.partition(":")
    provider = getattr(loaded(module), name)()
    assert isinstance(provider, Provider)
    assert supports_update(provider)


def test_the_doctor_finds_nothing_wrong_with_the_wrapper(wrapper: str) -> None:
    checks = examine(wrapper, allow_reset=True)
    assert [check for check in checks if check.ok is False] == []
    assert {check.name for check in checks if check.ok is None} == {"health", "wait", "delete"}
    assert exit_code(checks) == 0


def test_class_and_service_give_the_same_results(wrapper: str) -> None:
    inside = run(loaded("in_process_adapter").WordOverlap())
    over = run(wrapper)
    assert [r.results for r in over.records] == [r.results for r in inside.records]
    assert [r.relevant for r in over.records] == [r.relevant for r in inside.records]


# ---- the page


@pytest.mark.parametrize(
    "line", [line for line in commands() if line.startswith("pmb ") and URL in line]
)
def test_a_command_of_the_page_does_what_it_says(line: str, wrapper: str, tmp_path: Path) -> None:
    arguments = shlex.split(line.replace(URL, wrapper))[1:]
    done = python("-c", PMB, *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    if arguments[0] == "run":
        (path,) = (tmp_path / "reports").glob("*.json")
        report = read_report(path)
        assert {record.status for record in report.records} == {"ok"}
        assert (len(report.cases), len(report.turns)) == (77, 12)


def test_what_is_served_by_the_page_announces_itself_as_the_page_says(tmp_path: Path) -> None:
    (line,) = [line for line in commands() if line.startswith("pmb serve")]
    told = json.loads(blocks("json")[-1])
    assert f"--port {told['port']}" in line
    arguments = shlex.split(line.replace("8080", "0"))[1:]
    process = subprocess.Popen(
        [sys.executable, "-c", PMB, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = json.loads(process.stdout.readline())
        assert httpx.get(said["url"] + "/docs").status_code == 200
        process.terminate()
        process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    port = str(said["port"])
    assert json.loads(json.dumps(said).replace(port, "8080")) == told


def test_every_command_of_the_page_is_known() -> None:
    """Those that are not run above: installing, and setting secrets."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    kinds = []
    for line in commands():
        words = shlex.split(line, comments=True)
        kinds.append(words[0])
        if words[0] == "pip":
            assert words == ["pip", "install", ".[serve]"]
            assert "serve" in extras["optional-dependencies"]
    assert sorted(kinds) == sorted(
        ["pip", "python", "uvicorn", "pmb", "pmb", "pmb", "export", "export"]
    )


def test_the_passwords_of_the_page_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for line in commands():
        if line.startswith("export "):
            name, _, value = shlex.split(line)[1].partition("=")
            monkeypatch.setenv(name, value)
    assert environment_headers() == {"Authorization": "Bearer SECRET", "X-Api-Key": "SECRET"}


def test_the_bodies_of_the_page_are_what_is_sent_and_answered(wrapper: str) -> None:
    add, search, answer = (json.loads(block) for block in blocks("json")[:3])
    AddBody.model_validate(add)
    SearchBody.model_validate(search)
    with running(make_app(Fts5Provider())) as served:
        for url in (wrapper, served):
            httpx.delete(url + "/reset").raise_for_status()
            httpx.post(url + "/add", json=add).raise_for_status()
            found = httpx.post(url + "/search", json={**search, "query": "tide table"}).json()
            assert [row["id"] for row in found["results"]] == ["b-tides"]
            assert set(found["results"][0]) <= set(answer["results"][0])
        assert set(found["results"][0]) == set(answer["results"][0])


def test_the_page_lists_the_checks() -> None:
    rows = re.findall(r"^\| (\w+) \| (●?) \| (.*) \|$", PAGE, re.MULTILINE)
    assert [tuple(row) for row in rows] == [
        (plan.name, "●" if plan.required else "", plan.advice or "It only measures.")
        for plan in CHECKS
    ]


def test_the_page_lists_the_calls() -> None:
    with running(make_app(Fts5Provider())) as url:
        paths = httpx.get(url + "/openapi.json").json()["paths"]
    served = {f"{method.upper()} {path}" for path, ops in paths.items() for method in ops}
    assert set(re.findall(r"^\| `([A-Z]+ /\w+)", PAGE, re.MULTILINE)) == served
