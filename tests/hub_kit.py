"""Clients for tests with the loopback Hub: in this process, or as programs of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli_kit import Done, environment
from hub import TOKEN, Hub

if TYPE_CHECKING:
    import pytest

REPO = "org/precisionmembench"
SETTINGS = {"HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


def sign_in(monkeypatch: pytest.MonkeyPatch, hub: Hub, token: str | None = TOKEN) -> None:
    """Let this process's clients use the Hub. The library has read its settings already."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    if token is None:
        monkeypatch.delenv("HF_TOKEN", raising=False)
    else:
        monkeypatch.setenv("HF_TOKEN", token)


def client_environment(hub: Hub, home: Path, **more: str) -> dict[str, str]:
    """The environment of a fresh client, with caches of its own."""
    caches = {
        "HF_HOME": str(home / "hf"),
        "HF_DATASETS_CACHE": str(home / "hf" / "datasets"),
        "HF_EVALUATE_CACHE": str(home / "hf" / "evaluate"),
        "HF_METRICS_CACHE": str(home / "hf" / "metrics"),
        "HF_MODULES_CACHE": str(home / "hf" / "modules"),
    }
    return environment(**caches, **SETTINGS, HF_ENDPOINT=hub.url, HF_TOKEN=TOKEN, **more)


def program(hub: Hub, home: Path, *arguments: str | Path, **more: str) -> Done:
    """``pmb`` as a program of its own."""
    return run(["-m", "pmb_hf", *map(str, arguments)], client_environment(hub, home, **more), home)


def python(hub: Hub, home: Path, code: str, **more: str) -> Done:
    """Python code in a fresh process that can import the package."""
    return run(["-c", code], client_environment(hub, home, **more), home)


def run(arguments: list[str], env: dict[str, str], cwd: Path) -> Done:
    """A Python process that has ended."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=env,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def folder(home: Path, **files: bytes | str) -> Path:
    """A small export: a card, a board, two reports, one parquet file (of no real content)."""
    card = "---\nconfigs:\n- config_name: runs\n  data_files: runs/*.parquet\n---\n# Card\n"
    content: dict[str, Any] = {
        "README.md": card,
        "leaderboard.json": "{}\n",
        "reports/a.json": '{"a": 1}\n',
        "reports/b.json": '{"b": 1}\n',
        "runs/test-00000-of-00001.parquet": b"PAR1" + bytes(range(256)) * 40,
        **files,
    }
    for name, data in content.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return home


def everything_of(error: BaseException) -> str:
    """All that a traceback, a log or a debugger's summary of an error could show."""
    import traceback

    shown = ["".join(traceback.format_exception(error))]
    link: BaseException | None = error
    while link is not None:
        shown += [repr(link), repr(vars(link)), repr(link.args)]
        link = link.__cause__ or link.__context__
    return "\n".join(shown) + os.linesep
