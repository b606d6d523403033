"""The files of a submission, as lines, and what is found in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from ..tables.text import clean

SKIPPED = {
    *(".git", ".venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache"),
    *(".ruff_cache", ".tox", ".idea", ".vscode"),
}
"""What tools leave in a folder. A Dockerfile has no business there."""
SOURCES = {
    *(".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".go", ".rs", ".java", ".kt", ".rb", ".php"),
    *(".cs", ".c", ".cc", ".cpp", ".ex", ".exs", ".scala", ".sh", ".lua"),
}
_CHECKED = re.compile(
    r"(?i)dockerfile|compose\.ya?ml$|\.md$|(requirements|constraints)[\w.-]*\.(txt|in)$|\.toml$"
    r"|^package\.json$|^go\.mod$|^gemfile$|^\.env"
)
"""Beside sources, what the checks look into."""
_MOST_FILES, _MOST_BYTES, _MOST_IN_ALL, _LONGEST_LINE = 5000, 2_000_000, 50_000_000, 10_000
_LONGEST_MESSAGE = 500

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
        return Finding(self.path, line, rule, ERROR, clean(message, _LONGEST_MESSAGE))

    def warning(self, line: int | None, rule: str, message: str) -> Finding:
        """A finding that does not."""
        return Finding(self.path, line, rule, WARNING, clean(message, _LONGEST_MESSAGE))

    def unread(self, why: str) -> Finding:
        """It was not looked into: an error if the checks are for such files."""
        checked = self.is_source or _CHECKED.search(self.name) is not None
        said = f"{why}, so it was not looked into"
        return self.error(None, "unread", said) if checked else self.warning(None, "unread", said)

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
    total = 0
    for number, path in enumerate(_walk(folder)):
        if number >= _MOST_FILES:
            raise InputError(f"{folder} holds more than {_MOST_FILES} files; is it a submission?")
        text = Text(path.relative_to(folder).as_posix(), ())
        if path.is_symlink():
            unread.append(text.error(None, "link", "a link; put the file itself there"))
            continue
        if (size := path.stat().st_size) > _MOST_BYTES:
            unread.append(text.unread(f"larger than {_MOST_BYTES:,} bytes ({size:,})"))
            continue
        data = path.read_bytes()
        if b"\0" in data:
            unread.append(text.warning(None, "unread", "binary; look at it yourself"))
            continue
        total += len(data)
        if total > _MOST_IN_ALL:
            raise InputError(
                f"{folder} holds more than {_MOST_IN_ALL:,} bytes of text; is it a submission?"
            )
        lines = tuple(re.split(r"\r\n|\r|\n", data.decode("utf-8", "replace")))
        if (longest := max(map(len, lines))) > _LONGEST_LINE:
            unread.append(text.unread(f"a line is longer than {_LONGEST_LINE:,} ({longest:,})"))
            continue
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
