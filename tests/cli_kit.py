"""Calls ``pmb`` in tests: in this process, or as a program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from pmb_hf.cli import app

ROOT = Path(__file__).resolve().parent.parent


class Done(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as strict JSON."""
        return json.loads(self.out, parse_constant=_refuse)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no strict JSON")


def pmb(*arguments: str | Path, columns: int = 120) -> Done:
    """Run a command in this process."""
    result = CliRunner().invoke(
        app, [str(a) for a in arguments], env={"COLUMNS": str(columns), "NO_COLOR": "1"}
    )
    return Done(result.exit_code, result.stdout, result.stderr)


def good(*arguments: str | Path, columns: int = 120) -> Done:
    """Run a command in this process that must end well."""
    done = pmb(*arguments, columns=columns)
    assert done.code == 0, done
    return done


def environment(**variables: str) -> dict[str, str]:
    """The environment of a child process that can import the package."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, **variables}


def program(*arguments: str | Path, cwd: Path, **variables: str) -> Done:
    """Run a command as a program of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "pmb_hf", *map(str, arguments)],
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)
