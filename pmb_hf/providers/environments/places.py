"""Where environments lie, and which of them are whole.

::

    ROOT/NAME.lock                  held while NAME is installed or removed
    ROOT/NAME/environment.json      written last: what is not named in it is not there
    ROOT/NAME/ID/                   the environment; a new one gets a new ID
    ROOT/NAME/ID/.in-use            held by every run that uses it
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from ...errors import InputError

ROOT_ENV = "PMB_ENVIRONMENTS"
INSIDE_ENV = "PMB_INSIDE_ENVIRONMENT"
"""Set in a child, to its environment's name: none is entered from within one."""

MARKER = "environment.json"
IN_USE = ".in-use"
SCHEMA = 1

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment that is whole.

    Attributes:
        name: Its name.
        directory: Where it lies.
        python: The version of its Python.
        version: The version of the package that it is there for.
        lock: The SHA-256 of the lock file that it was made by.
        packages: The version of every package in it.
    """

    name: str
    directory: Path
    python: str
    version: str | None
    lock: str | None
    packages: dict[str, str]

    @property
    def executable(self) -> Path:
        """Its Python."""
        if sys.platform == "win32":
            return self.directory / "Scripts" / "python.exe"
        return self.directory / "bin" / "python"

    @property
    def in_use(self) -> Path:
        """The file that its users hold."""
        return self.directory / IN_USE


def root() -> Path:
    """The directory of all environments: ``$PMB_ENVIRONMENTS``, or among the user's data."""
    given = os.environ.get(ROOT_ENV)
    return Path(given) if given else platformdirs.user_data_path("pmb-hf") / "environments"


def home(name: str) -> Path:
    """The directory of one environment.

    Raises:
        InputError: It can't be a name.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} can't be the name of an environment.")
    return root() / name


def installed(name: str) -> Environment | None:
    """The environment of this name if it is whole, else None."""
    place = home(name)
    try:
        told = json.loads((place / MARKER).read_text(encoding="utf-8"))
        found = _read(name, place, told)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.executable.exists() else None


def _read(name: str, place: Path, told: Any) -> Environment:
    if told["schema"] != SCHEMA:
        raise ValueError("made by another version")
    return Environment(
        name=name,
        directory=place / Path(str(told["directory"])).name,
        python=str(told["python"]),
        version=told["version"],
        lock=told["lock"],
        packages=dict(told["packages"]),
    )


def marker_text(made: Environment) -> str:
    """What the marker of an environment holds."""
    told = {
        "schema": SCHEMA,
        "directory": made.directory.name,
        "python": made.python,
        "version": made.version,
        "lock": made.lock,
        "packages": made.packages,
    }
    return json.dumps(told, indent=2, allow_nan=False) + "\n"
