"""The files of a submission, as lines, and what is found in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError

SKIPPED = {
    *(".git", ".venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache"),
    *(".ruff_cache", ".tox", ".idea", ".vscode"),
}
"""What tools leave in a folder. A Dockerfile has no business there."""
SOURCES = {
    *(".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".go", ".rs", ".java", ".kt", ".rb", ".php"),
    *(".cs", ".c", ".cc", ".cpp", ".ex", ".exs", ".scala", ".sh", ".lua"),
}
_MOST_FILES, _MOST_BYTES = 5000, 2_000_000

ERROR, WARNING = "error", "warning"


class Finding(NamedTuple):
    """One thing that is wrong: where, which rule, how bad, and what to do."""

    file: str
    line: int | None
    rule: str
    severity: str
    message: str


class Text(NamedTuple):
    """A text file: its path from the folder, and its lines."""

    path: str
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def is_source(self) -> bool:
        """Whether it holds a program."""
        return Path(self.path).suffix.lower() in SOURCES

    def error(self, line: int | None, rule: str, message: str) -> Finding:
        """A finding that makes the check fail."""
        return Finding(self.path, line, rule, ERROR, message)

    def warning(self, line: int | None, rule: str, message: str) -> Finding:
        """A finding that does not."""
        return Finding(self.path, line, rule, WARNING, message)

    def numbered(self) -> Iterator[tuple[int, str]]:
        """Lines with their numbers, from 1."""
        return iter(enumerate(self.lines, 1))


def read(folder: Path) -> tuple[list[Text], list[Finding]]:
    """Every text file of a folder, and what was not looked into.

    Raises:
        InputError: If it is no folder, or far too much for a submission.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; `pmb submission new NAME` makes one")
    found: list[Text] = []
    unread: list[Finding] = []
    for number, path in enumerate(_walk(folder)):
        if number >= _MOST_FILES:
            raise InputError(f"{folder} holds more than {_MOST_FILES} files; is it a submission?")
        text = Text(path.relative_to(folder).as_posix(), ())
        if path.is_symlink():
            unread.append(text.error(None, "link", "a link; put the file itself there"))
            continue
        data = path.read_bytes() if path.stat().st_size <= _MOST_BYTES else b"\0"
        if b"\0" in data:
            unread.append(text.warning(None, "unread", "binary or too long; look at it yourself"))
            continue
        lines = tuple(re.split(r"\r\n|\r|\n", data.decode("utf-8", "replace")))
        found.append(text._replace(lines=lines))
    return found, unread


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in SKIPPED and path.is_dir():
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        elif path.is_file() or path.is_symlink():
            yield path
