"""``manifest.json``: what a corpus holds, in counts and hashes.

It stands beside the three files, so that a changed file or a changed count can
be told. ``python -m pmb_hf.corpus.manifest DIR`` writes it anew.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import CorpusError
from ..expectations import expectations
from ..records import PASS_KINDS
from ..schema import CORPUS_FILES, SESSION_CATEGORY, Corpus
from . import corpus_sha256, read_corpus, read_json

MANIFEST_FILE = "manifest.json"
SCHEMA_VERSION = 1


def counts(corpus: Corpus) -> dict[str, Any]:
    """How much of everything ``corpus`` holds.

    ``beliefs``, ``cases``, ``active`` (cases with gold), ``sessions``, ``turns``,
    ``activeTurns``; ``categories`` (cases by category, and the turns as a category of
    their own) and ``passKinds`` (cases only).

    Raises:
        CorpusError: If a turn changes a belief that is not there.
    """
    wanted = expectations(corpus).values()
    cases = [expected for expected in wanted if expected.turn_index is None]
    turns = [expected for expected in wanted if expected.turn_index is not None]
    categories = Counter(case.category for case in cases)
    if turns:
        categories[SESSION_CATEGORY] += len(turns)
    kinds = Counter(case.pass_kind for case in cases)
    return {
        "beliefs": len(corpus.beliefs),
        "cases": len(corpus.cases),
        "active": sum(bool(case.gold) for case in cases),
        "sessions": len(corpus.sessions),
        "turns": sum(len(session.turns) for session in corpus.sessions),
        "activeTurns": sum(bool(turn.gold) for turn in turns),
        "categories": dict(categories),
        "passKinds": {kind: kinds[kind] for kind in PASS_KINDS},
    }


def make_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of the corpus in ``directory``; ``sha256`` is over all three files.

    Raises:
        CorpusError: If a file can't be read, or a turn changes a belief that is not there.
    """
    corpus, _ = read_corpus(directory)
    files = {}
    for name in CORPUS_FILES:
        data = (directory / name).read_bytes()
        files[name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    return {
        "schemaVersion": SCHEMA_VERSION,
        "name": directory.resolve().name,
        "counts": counts(corpus),
        "sha256": corpus_sha256(directory),
        "files": files,
    }


def write_manifest(directory: Path) -> Path:
    """Write ``manifest.json`` into ``directory`` and return its path.

    Raises:
        CorpusError: As :func:`make_manifest`.
    """
    manifest = make_manifest(directory)
    path = directory / MANIFEST_FILE
    text = json.dumps(manifest, ensure_ascii=False, allow_nan=False, indent=2)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def check_manifest(directory: Path) -> list[str]:
    """Where ``manifest.json`` and the data differ, a line each; ``[]`` if they agree.

    The name is free, so that a corpus may be copied to a directory of another name.

    Raises:
        CorpusError: If the manifest or a corpus file can't be read.
    """
    found = read_json(directory / MANIFEST_FILE)
    if not isinstance(found, dict):
        raise CorpusError(
            f"{directory / MANIFEST_FILE} must be a JSON object; {_remedy(directory)}"
        )
    stated, actual = (dict(_leaves(m, "")) for m in (found, make_manifest(directory)))
    return [
        f"{path} is {stated.get(path)!r} and should be {actual.get(path)!r}"
        for path in dict.fromkeys((*actual, *stated))
        if path != "name" and (path not in stated or stated[path] != actual.get(path))
    ]


def _remedy(directory: Path) -> str:
    return f"write it anew with `python -m {__name__} {directory}`"


def _leaves(value: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if isinstance(item, dict) and len(path) < 1000:
            yield from _leaves(item, f"{path}{key}.")
        else:
            yield f"{path}{key}", item


def main(arguments: list[str]) -> int:
    """Write the manifest of the directory that is named; returns the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m pmb_hf.corpus.manifest DIR\n")
        return 2
    try:
        path = write_manifest(Path(arguments[0]))
    except CorpusError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
