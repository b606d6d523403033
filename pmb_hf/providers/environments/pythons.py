"""Finds a Python that an environment can be made from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...errors import InputError
from .recipes import Recipe
from .versions import fits

MINORS = ("3.11", "3.12", "3.13")
_PROBE = "import sys, venv, ensurepip; print('%d.%d.%d' % sys.version_info[:3])"
_PROBE_S = 30


class Python(NamedTuple):
    """An interpreter and its version."""

    path: str
    version: str


def find_python(recipe: Recipe, given: str | None = None) -> Python:
    """A Python in the recipe's range; the one that its lock was made with comes first.

    Raises:
        InputError: There is none, or ``given`` will not do; says what was tried.
    """
    tried: list[str] = []
    for candidate in [given] if given else _candidates(recipe):
        version = probe(candidate)
        if version is not None and fits(version, recipe.python):
            return Python(candidate, version)
        tried.append(f"{candidate} ({version or 'does not run, or can make no environment'})")
    if given:
        raise InputError(
            f"environment {recipe.name!r} needs Python {recipe.python}; {tried[0]} will not do."
        )
    raise InputError(
        f"environment {recipe.name!r} needs Python {recipe.python}, and none was found "
        f"({'; '.join(tried) or 'none at all'}). Install one, or name it by --python PATH."
    )


def probe(path: str) -> str | None:
    """The version of a Python that can make environments, or None."""
    try:
        done = subprocess.run(  # noqa: S603 - a Python that was found, or named by the user
            [path, "-I", "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=_PROBE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _candidates(recipe: Recipe) -> Iterator[str]:
    first = recipe.locked_python
    order = [minor for minor in (first, *MINORS) if minor is not None]
    seen: set[str] = set()
    for minor in dict.fromkeys(order):
        if fits(minor, recipe.python):
            for path in _of_minor(minor):
                if path not in seen:
                    seen.add(path)
                    yield path


def _of_minor(minor: str) -> Iterator[str]:
    if f"{sys.version_info.major}.{sys.version_info.minor}" == minor:
        # Of a virtual environment, the Python that it was made from.
        yield str(getattr(sys, "_base_executable", None) or sys.executable)
    found = shutil.which(f"python{minor}")
    if found:
        yield found
    home = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    if home.is_dir():
        for version in sorted(home.glob(f"{minor}*"), reverse=True):
            yield str(version / "bin" / "python")
