"""This package's own code in an environment, without anything that it needs elsewhere.

Not by its directory on the path: that may be the site-packages of another
environment, whose packages must not be seen. A copy of the modules lies in the
environment under the hash of their content, so that a changed one is another.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import time
from functools import cache
from pathlib import Path

from .places import Environment

PACKAGE = Path(__file__).resolve().parents[2]

_OLD_S = 24 * 3600


@cache
def _modules() -> tuple[str, tuple[tuple[str, bytes], ...]]:
    """The modules of this package, and a hash of all."""
    digest = hashlib.sha256()
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] == "_hub":
            continue
        content = path.read_bytes()
        digest.update(f"{place.as_posix()}\0{len(content)}\0".encode() + content)
        found.append((str(place), content))
    return digest.hexdigest()[:16], tuple(found)


def code_in(environment: Environment) -> Path:
    """The directory in the environment that holds this package; filled first if need be."""
    version, modules = _modules()
    home = environment.directory / "pmb"
    place = home / version
    if place.is_dir():
        return place
    part = home / f".{version}-{secrets.token_hex(4)}"
    for name, content in modules:
        path = part / PACKAGE.name / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    try:
        part.rename(place)
    except OSError:  # another process was faster
        shutil.rmtree(part, ignore_errors=True)
        if not place.is_dir():
            raise
    _forget_old(home, place)
    return place


def _forget_old(home: Path, keep: Path) -> None:
    """Remove copies of other versions, if they are too old for a run to be still using them."""
    for path in home.iterdir():
        if path != keep and time.time() - path.stat().st_mtime > _OLD_S:
            shutil.rmtree(path, ignore_errors=True)
