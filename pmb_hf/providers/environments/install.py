"""Makes and removes environments. What was interrupted is never taken for whole."""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ...errors import InputError, PmbError
from ...files import write_atomically
from .places import MARKER, Environment, home, installed, marker_text, root
from .pythons import find_python
from .recipes import SERVING, Recipe, lock_text
from .users import is_in_use
from .versions import plain_name

RECIPE = "recipe.toml"

_LAST_LINES = 12
_NO_NETWORK = (
    "Failed to establish a new connection",
    "Name or service not known",
    "Temporary failure in name resolution",
    "NewConnectionError",
    "ConnectTimeoutError",
    "Network is unreachable",
    "ReadTimeoutError",
)
_FREEZE = (
    "import json; from importlib.metadata import distributions; "
    "print(json.dumps({d.metadata['Name']: d.version for d in distributions()}))"
)
_TOOLS = frozenset({"pip", "setuptools", "wheel"})

Tell = Callable[[str], None]


class InstallError(PmbError):
    """An environment could not be made; nothing of it is left."""


def install(
    recipe: Recipe,
    *,
    upgrade: bool = False,
    python: str | None = None,
    locked: bool = True,
    pip_args: Sequence[str] = (),
    tell: Tell | None = None,
) -> Environment:
    """Make an environment in the locked versions, unless it is there.

    Args:
        recipe: What belongs in it.
        upgrade: Make it anew even if it is there.
        python: The Python to make it from; found if None.
        locked: False takes the newest versions that the recipe allows.
        pip_args: Further arguments of ``pip install``.
        tell: Called with what is done next.

    Raises:
        InputError: No Python fits, another process installs it, or a run uses it.
        InstallError: A step failed; holds its last lines.
    """
    say = tell or (lambda text: None)
    with _alone(recipe.name):
        there = installed(recipe.name)
        if there is not None and not upgrade:
            return there
        _refuse_in_use(there)
        found = find_python(recipe, python)
        place = home(recipe.name)
        _sweep(place, there)
        directory = place / secrets.token_hex(4)
        try:
            made = _make(recipe, directory, found.path, found.version, locked, pip_args, say)
            write_atomically(place / MARKER, marker_text(made))
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        _sweep(place, made)
        return made


def remove(name: str) -> bool:
    """Remove an environment; tells whether there was one.

    Raises:
        InputError: It is being installed, or a run uses it.
    """
    with _alone(name):
        place = home(name)
        if not place.exists():
            return False
        _refuse_in_use(installed(name))
        (place / MARKER).unlink(missing_ok=True)
        shutil.rmtree(place)
        return True


def lock_of(made: Environment) -> str:
    """The text of a lock file with the versions in an environment."""
    system = f"{platform.system()} {platform.machine()}".lower()
    return lock_text(made.packages, ".".join(made.python.split(".")[:2]), system)


def differences(recipe: Recipe, made: Environment) -> list[str]:
    """What is in an environment in another version than the lock says.

    A build of the same version (``2.13.0+cpu``) is not another version.
    """
    have = {plain_name(name): version for name, version in made.packages.items()}
    return [
        f"{name} {have[name]} instead of {version}"
        for name, version in recipe.locked.items()
        if name in have and version not in (have[name], have[name].partition("+")[0])
    ]


def _make(
    recipe: Recipe,
    directory: Path,
    python: str,
    version: str,
    locked: bool,
    pip_args: Sequence[str],
    say: Tell,
) -> Environment:
    say(f"making an environment of Python {version} in {directory}")
    directory.parent.mkdir(parents=True, exist_ok=True)
    _step("making the environment", recipe.name, [python, "-I", "-m", "venv", str(directory)])
    made = Environment(recipe.name, directory, version, None, recipe.lock_hash, {})
    say(f"installing {', '.join(recipe.requirements)}")
    constrained = ["-c", str(recipe.lock_path)] if locked and recipe.locked else []
    pip = [str(made.executable), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    install_args = ["install", *constrained, *pip_args, *recipe.requirements, *SERVING]
    _step("pip", recipe.name, [*pip, *install_args])
    for number, arguments in enumerate(recipe.setup, 1):
        say(f"setup {number} of {len(recipe.setup)}")
        _step(f"setup {number}", recipe.name, [str(made.executable), *arguments])
    shutil.copyfile(recipe.path, directory / RECIPE)
    made.in_use.touch()
    told = _step("listing", recipe.name, [str(made.executable), "-I", "-c", _FREEZE])
    packages = {
        name: text
        for name, text in sorted(json.loads(told).items())
        if plain_name(name) not in _TOOLS
    }
    by_name = {plain_name(name): text for name, text in packages.items()}
    return Environment(
        name=recipe.name,
        directory=directory,
        python=version,
        version=by_name.get(plain_name(recipe.package)),
        lock=recipe.lock_hash if locked else None,
        packages=packages,
    )


def _step(what: str, name: str, command: Sequence[str]) -> str:
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX"}
    }
    try:
        done = subprocess.run(  # noqa: S603 - our own arguments and the recipe's
            command,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except OSError as error:
        raise InstallError(f"environment {name!r}: {what} can't be started: {error}") from error
    if done.returncode == 0:
        return done.stdout
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    advice = ""
    if any(mark in line for line in said for mark in _NO_NETWORK):
        advice = " The package index can't be reached: check the network and pip's configuration."
    last = "\n".join(f"  {line}" for line in said[-_LAST_LINES:])
    raise InstallError(
        f"environment {name!r}: {what} failed with code {done.returncode}; nothing was kept."
        f"{advice} Its last lines:\n{last}"
    )


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Let only one process at a time change an environment."""
    from filelock import FileLock, Timeout

    path = home(name).with_name(f"{name}.lock")
    root().mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise InputError(
            f"environment {name!r} is being installed or removed by another process ({path} is "
            "held): wait for it."
        ) from None
    try:
        yield
    finally:
        lock.release()


def _refuse_in_use(there: Environment | None) -> None:
    if there is not None and is_in_use(there):
        raise InputError(f"environment {there.name!r} is in use: wait until the run is over.")


def _sweep(place: Path, keep: Environment | None) -> None:
    """Remove what an interrupted or earlier installation has left."""
    if place.is_dir():
        for path in place.iterdir():
            if path.is_dir() and (keep is None or path != keep.directory):
                shutil.rmtree(path, ignore_errors=True)
