"""Hides the Hub's tokens in text: whole ones, and what is left of one that was cut.

A token is what ``HF_TOKEN`` or ``hf auth login`` gave. Standard library only: what is shown is
looked through whether or not the Hub was asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

HIDDEN = "<token>"
FORM = re.compile(r"\b(?:hf|api_org)_[A-Za-z0-9]{27,}")
"""What a token of the Hub looks like."""

_ENV = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_PIECE = 8
"""So many characters of a token in a row are a part of it. What is shorter is no token."""
_LARGEST = 65_536


def stored() -> list[str]:
    """The tokens that are here: of the environment, and of the file of ``hf auth login``."""
    found = [os.environ.get(name, "").strip() for name in _ENV]
    try:
        with _file().open("rb") as file:
            found.append(file.read(_LARGEST).decode("utf-8", "replace").strip())
    except (OSError, RuntimeError, ValueError):
        pass  # there is none, or it can't be read; then nobody can send it
    return [token for token in found if len(token) >= _PIECE]


def _file() -> Path:
    """Where ``huggingface_hub`` keeps the token."""
    if named := os.environ.get("HF_TOKEN_PATH"):
        return Path(named).expanduser()
    if home := os.environ.get("HF_HOME"):
        return Path(home).expanduser() / "token"
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "huggingface" / "token"


def hidden(text: str, tokens: Iterable[str] | None = None) -> str:
    """``text`` without tokens, and without any longer part of one.

    Args:
        text: What is to be shown.
        tokens: The tokens; by default those that are here.

    >>> hidden("no to hf_abcdefghijkl, hf_abcdefg…", ["hf_abcdefghijkl"])
    'no to <token>, <token>…'
    """
    for token in stored() if tokens is None else tokens:
        text = _without(text, token)
    return FORM.sub(HIDDEN, text)


def _without(text: str, token: str) -> str:
    if len(token) < _PIECE:
        return text.replace(token, HIDDEN) if token else text
    pieces = {token[start : start + _PIECE] for start in range(len(token) - _PIECE + 1)}
    marked: list[list[int]] = []
    for start in sorted(place for piece in pieces for place in _places(text, piece)):
        if marked and start <= marked[-1][1]:
            marked[-1][1] = start + _PIECE
        else:
            marked.append([start, start + _PIECE])
    for start, end in reversed(marked):
        text = f"{text[:start]}{HIDDEN}{text[end:]}"
    return text


def _places(text: str, piece: str) -> Iterable[int]:
    place = text.find(piece)
    while place >= 0:
        yield place
        place = text.find(piece, place + 1)


class Covered:
    """A stream that hides tokens in whatever is written to it, by us or by a library."""

    def __init__(self, stream: TextIO) -> None:
        """Stand before ``stream``."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write without tokens."""
        self._stream.write(hidden(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each without tokens."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """All else is the stream's own."""
        return getattr(self._stream, name)
