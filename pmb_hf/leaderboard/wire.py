"""``leaderboard.json``: strict JSON with a line a row, so that changes can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import ReportError
from ..report_reader import read_json
from .board import KIND, SCHEMA_VERSION
from .facts import Row

FILE = "leaderboard.json"

_DEPTHS = {"corpora": 3, "rows": 1, "answers": 1, "rules": 1, "measures": 1}
"""How deep the lists and mappings under a key are broken into lines."""


def dump_board(tree: Row) -> str:
    """The file's text; the same board gives the same bytes."""
    lines = [
        f"  {json.dumps(key)}: {_lines(value, _DEPTHS.get(key, 0), '  ')}"
        for key, value in tree.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: Any, depth: int, indent: str) -> str:
    inner = indent + "  "
    if not depth or not value or not isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if isinstance(value, list):
        items = [_lines(item, depth - 1, inner) for item in value]
        opening, closing = "[", "]"
    else:
        items = [f"{json.dumps(k)}: {_lines(v, depth - 1, inner)}" for k, v in value.items()]
        opening, closing = "{", "}"
    return f"{opening}\n{inner}" + f",\n{inner}".join(items) + f"\n{indent}{closing}"


def read_board(path: str | Path) -> Row:
    """Read a ``leaderboard.json``, or the one in an export's directory.

    Only its frame is checked; a row that is broken is for the reader to leave out.

    Raises:
        ReportError: If there is none, or it can't be read; names the file.
    """
    file = Path(path)
    if file.is_dir():
        file = file / FILE
    if not file.is_file():
        raise ReportError(f"there is no {file}; `pmb export REPORTS... -o {file.parent}` makes it")
    tree = read_json(file)
    if not isinstance(tree, dict) or tree.get("kind") != KIND:
        raise ReportError(f"{file} is no leaderboard of pmb-hf")
    if tree.get("schemaVersion") != SCHEMA_VERSION:
        raise ReportError(
            f"{file}: schemaVersion {tree.get('schemaVersion')!r} is not known to this version of "
            f"pmb-hf, which reads {SCHEMA_VERSION}; upgrade pmb-hf"
        )
    for key in ("corpora", "rows", "answers"):
        if not isinstance(tree.get(key), list):
            raise ReportError(f"{file}: {key!r} must be a list")
    for number, corpus in enumerate(tree["corpora"]):
        _check_corpus(corpus, f"{file}: corpora[{number}]")
    return tree


def _check_corpus(corpus: Any, where: str) -> None:
    if not isinstance(corpus, dict):
        raise ReportError(f"{where} must be an object")
    for key in ("id", "name"):
        if not isinstance(corpus.get(key), str):
            raise ReportError(f"{where}.{key} must be a string")
    if not isinstance(corpus.setdefault("sha256", None), str | None):
        raise ReportError(f"{where}.sha256 must be a string or null")
