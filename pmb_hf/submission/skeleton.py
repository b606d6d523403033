"""Writes the skeleton of a submission: a service that works, to be filled with a system."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import InputError
from ..files import write_atomically

_TEMPLATES = Path(__file__).with_name("skeleton_files")
FILES = {
    "service.py": "service.txt",
    "memory.py": "memory.txt",
    "requirements.txt": "requirements.txt",
    "Dockerfile": "dockerfile.txt",
    "docker-compose.yml": "compose.txt",
    "SUBMISSION.md": "submission.txt",
}
"""The files of the skeleton, and the templates that they are made from."""


def new(name: str, into: str | Path = ".") -> Path:
    """Write the skeleton into a new folder ``name`` in ``into``.

    Raises:
        InputError: If the name can't be a folder's, or there is something already.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise InputError(f"{name!r} can't name a submission; use letters, digits, '.', '_' and '-'")
    folder = Path(into) / name
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is there already and not empty; choose another name")
    for path, template in FILES.items():
        text = (_TEMPLATES / template).read_text(encoding="utf-8")
        write_atomically(folder / path, text.replace("{{name}}", name))
    return folder
