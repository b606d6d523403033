"""What belongs in each environment: ``NAME.toml`` and ``NAME.lock``, read."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import InputError, UnknownNameError
from .versions import plain_name, split

HERE = Path(__file__).parent
SERVING = (
    "fastapi>=0.115",
    "uvicorn>=0.30",
    "pydantic>=2.9,<3",
    "httpx>=0.27,<1",
    "platformdirs>=4",
)
"""What this package needs in an environment to serve a provider there."""
START_TIMEOUT_S = 120.0

_KEYS = {"python", "requirements", "notes", "start_timeout_s", "setup", "variables"}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an environment is made.

    Attributes:
        name: Its name.
        path: The ``.toml`` file.
        python: The range of Pythons that will do.
        requirements: What is asked for; the first is what the environment is for.
        notes: What to know about it.
        start_timeout_s: Seconds until the provider must be there.
        setup: Arguments of the environment's Python, run once each.
        variables: Set where it runs; ``{site}`` and ``{state}`` are filled in.
        locked: The version of every package, by name; empty without a lock file.
        locked_python: The Python that the lock was made with, such as ``3.11``.
    """

    name: str
    path: Path
    python: str
    requirements: tuple[str, ...]
    notes: str = ""
    start_timeout_s: float = START_TIMEOUT_S
    setup: tuple[tuple[str, ...], ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    locked: dict[str, str] = field(default_factory=dict)
    locked_python: str | None = None

    @property
    def lock_path(self) -> Path:
        """The ``.lock`` file; it need not exist."""
        return self.path.with_suffix(".lock")

    @property
    def package(self) -> str:
        """The name of the package that it is there for."""
        return split(self.requirements[0])[0]

    @property
    def lock_hash(self) -> str | None:
        """The SHA-256 of the lock file; None without one."""
        try:
            return hashlib.sha256(self.lock_path.read_bytes()).hexdigest()
        except OSError:
            return None


def names(directory: Path = HERE) -> list[str]:
    """The names of all environments that can be made."""
    return sorted(path.stem for path in directory.glob("*.toml"))


def recipe(name: str, directory: Path = HERE) -> Recipe:
    """Read the files of an environment.

    Raises:
        UnknownNameError: There is none of this name.
        InputError: A file can't be read; names file and key.
    """
    known = names(directory)
    if name not in known:
        raise UnknownNameError(f"no environment {name!r}; there are: {', '.join(known)}.")
    return read_recipe(directory / f"{name}.toml")


def read_recipe(path: Path, name: str | None = None) -> Recipe:
    """Read one file and the lock beside it; see `recipe`."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} can't be read: {error}") from error
    unknown = sorted(set(told) - _KEYS)
    if unknown:
        raise InputError(f"{path}: unknown key {unknown[0]!r}; known: {', '.join(sorted(_KEYS))}.")
    requirements = _texts(path, "requirements", told.get("requirements"))
    if not requirements:
        raise InputError(f"{path}: requirements is empty: name what the environment is for.")
    setup = told.get("setup", [])
    if not isinstance(setup, list):
        raise InputError(f"{path}: setup must be a list of lists of texts.")
    variables = told.get("variables", {})
    if not isinstance(variables, dict):
        raise InputError(f"{path}: variables must be a table of texts.")
    _texts(path, "variables", list(variables.values()))
    locked, locked_python = _read_lock(path.with_suffix(".lock"))
    return Recipe(
        name=name or path.stem,
        path=path,
        python=str(told.get("python", ">=3.11")),
        requirements=requirements,
        notes=str(told.get("notes", "")),
        start_timeout_s=float(told.get("start_timeout_s", START_TIMEOUT_S)),
        setup=tuple(_texts(path, "setup", step) for step in setup),
        variables=dict(variables),
        locked=locked,
        locked_python=locked_python,
    )


def lock_text(packages: dict[str, str], python: str, system: str) -> str:
    """What a lock file holds."""
    lines = sorted(f"{plain_name(name)}=={version}" for name, version in packages.items())
    return "\n".join([f"# python {python} {system}", *lines]) + "\n"


def _read_lock(path: Path) -> tuple[dict[str, str], str | None]:
    if not path.exists():
        return {}, None
    locked: dict[str, str] = {}
    python = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if text.startswith("# python "):
            python = text.split()[2]
        if not text or text.startswith("#"):
            continue
        name, equals, version = text.partition("==")
        if not equals:
            raise InputError(f"{path}, line {number}: expected NAME==VERSION, not {text!r}.")
        locked[plain_name(name)] = version
    return locked, python


def _texts(path: Path, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{path}: {key} must be texts.")
    return tuple(value)
