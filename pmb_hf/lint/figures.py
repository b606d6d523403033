"""Figures that a manifest or a README beside a corpus states, against its data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..corpus.manifest import MANIFEST_FILE, check_manifest
from ..errors import CorpusError
from .findings import Finding, error

README_FILE = "README.md"

_NUMBER = r"(?<![\w.,/-])(\d+)"
# "5 cases of …" speaks of some of them, so its figure is no total.
_TOTAL = r"\b(?!\s+(?:of|that|with|which|where|whose|from|about|per|for|each|a)\b)"
_STATEMENTS: Mapping[str, re.Pattern[str]] = {
    key: re.compile(_NUMBER + pattern, re.IGNORECASE)
    for key, pattern in {
        "beliefs": rf"\s+beliefs{_TOTAL}",
        "cases": rf"\s+(?:single-turn\s+|retrieval\s+|scored\s+)?cases{_TOTAL}",
        "sessions": rf"\s+sessions{_TOTAL}",
        "turns": rf"\s+(?:scored\s+|session\s+)*turns{_TOTAL}",
        "active": (
            r"(?:\s+of\s+(?:the\s+)?\d+)?(?:\s+cases)?(?:\s+are)?\s+active\b"
            r"(?!\s+(?:beliefs|sessions|turns)\b)"
        ),
        "activeTurns": r"\s+active\s+(?:session\s+)?turns\b",
    }.items()
}
_LABELS = {"active": "active cases", "activeTurns": "active turns"}


def manifest_findings(directory: Path) -> Iterator[Finding]:
    """Where ``manifest.json``, if there is one, differs from the data."""
    if not (directory / MANIFEST_FILE).exists():
        return
    advice = f"write it anew with `python -m pmb_hf.corpus.manifest {directory}`"
    try:
        for difference in check_manifest(directory):
            message = f"{difference}; if the data is right, {advice}"
            yield error("manifest", MANIFEST_FILE, message)
    except CorpusError as problem:
        yield error("manifest", MANIFEST_FILE, f"can't be checked: {problem}")


def readme_findings(directory: Path, counts: Mapping[str, Any]) -> Iterator[Finding]:
    """Where ``README.md``, if there is one, states counts that are not those of the data."""
    path = directory / README_FILE
    if not path.exists():
        return
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        yield error("readme-figure", README_FILE, f"can't be read: {problem}")
        return
    # What a program prints in a code block is an example; its lines still count.
    text = re.sub(r"```.*?```", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    for label, pattern, right in _expected(counts):
        for found in pattern.finditer(text):
            if found[1].lstrip("0") != str(right):
                line = text.count("\n", 0, found.start()) + 1
                stated = " ".join(found[0].split())
                message = f"says {stated!r}, and the data has {right} {label}; correct it"
                yield error("readme-figure", f"{README_FILE}:{line}", message)


def _expected(counts: Mapping[str, Any]) -> Iterator[tuple[str, re.Pattern[str], int]]:
    for key, pattern in _STATEMENTS.items():
        yield _LABELS.get(key, key), pattern, counts[key]
    for category, count in counts["categories"].items():
        # "Alias resolution 23," in prose, or a row of a table.
        name = r"\s+".join(map(re.escape, category.split()))
        if name:
            row = rf"\b{name}\s*[|:(]?\s*(\d+)(?=\s*[|,.;)·]|\s*$)"
            pattern = re.compile(row, re.IGNORECASE | re.MULTILINE)
            yield f"in {category!r}", pattern, count
