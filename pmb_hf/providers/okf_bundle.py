"""A bundle of markdown files, in the manner of the Open Knowledge Format.

Each file has a front matter with a ``type``, which the format demands, a ``title`` and
``tags``, and the memory's text as its body. Where it lies is made of its type and its
name; no belief id shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from .store import Memory, engine_text, scopes_of

_NO_WORD = re.compile(r"[^a-z0-9]+")
_PATH_WORD = 60


class Bundle:
    """The files of one user."""

    def __init__(self) -> None:
        """Start empty."""
        self._paths: dict[int, str] = {}
        self._memories: dict[str, Memory] = {}

    def put(self, memory: Memory) -> None:
        """Write a memory's file; the memory with this key moves if its name changed."""
        self.remove(memory.key)
        path = self._free_path(memory)
        self._paths[memory.key] = path
        self._memories[path] = memory

    def remove(self, key: int) -> None:
        """Remove a memory's file, if there is one."""
        path = self._paths.pop(key, None)
        if path is not None:
            del self._memories[path]

    def view(self, scopes: Sequence[str] | None) -> dict[str, Memory]:
        """The memories by path, in order of the paths; only those in scope, unless None."""
        return {
            path: memory
            for path, memory in sorted(self._memories.items())
            if scopes is None or set(scopes) & set(scopes_of(memory.metadata))
        }

    def _free_path(self, memory: Memory) -> str:
        folder = _word(memory.metadata.get("type")) or "note"
        name = _word(memory.metadata.get("canonicalName")) or f"note-{memory.key}"
        path, number = f"{folder}/{name}.md", 1
        while path in self._memories:
            number += 1
            path = f"{folder}/{name}-{number}.md"
        return path


def listing(files: dict[str, Memory]) -> str:
    """What a list of the files shows: a line of path and title each."""
    if not files:
        return "The bundle is empty."
    return "\n".join(f"{path} - {_title(memory, path)}" for path, memory in files.items())


def content(memory: Memory, path: str) -> str:
    """A file as it is read."""
    lines = [
        "---",
        f"type: {json.dumps(_text(memory.metadata.get('type')) or 'note')}",
        f"title: {json.dumps(_title(memory, path))}",
        f"tags: {json.dumps([engine_text(scope) for scope in scopes_of(memory.metadata)])}",
        "---",
        "",
        engine_text(memory.text),
    ]
    return "\n".join(lines)


def _title(memory: Memory, path: str) -> str:
    name = " ".join(_text(memory.metadata.get("canonicalName")).split())
    return name or path.rpartition("/")[2].removesuffix(".md")


def _text(value: Any) -> str:
    return engine_text(value) if isinstance(value, str) else ""


def _word(value: Any) -> str:
    return _NO_WORD.sub("-", _text(value).lower())[:_PATH_WORD].strip("-")
