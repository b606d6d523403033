"""Exports for tests of the board, the Space and the static page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pmb_hf.corpus import load_corpus
from pmb_hf.leaderboard.board import Run, board
from pmb_hf.leaderboard.wire import dump_board
from pmb_hf.providers.registry import create
from pmb_hf.report import Report
from pmb_hf.runner import run

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "**bold** [a](javascript:alert(3)) `c` $$x$$ ${alert(4)} {{7*7}}",
    "\"'`&lt;b&gt; <a href='javascript:alert(5)'>a</a>",
    "\u202egnirts מימין",
    "W" * 300,
)
SYSTEMS = ("bm25", "fts5")


@cache
def report(provider: str) -> Report:
    """A real run of a built-in provider on the native corpus."""
    return run(create(provider), load_corpus("native"), name=provider)


def tree(names: Sequence[str], *, published: bool = False) -> dict[str, Any]:
    """A board of runs that are called so; every second answers like the other provider."""
    corpus = load_corpus("native")
    runs = []
    for number, name in enumerate(names):
        made = replace(report(SYSTEMS[number % 2]), provider=name)
        stamp = {**made.provenance, "startedAt": f"2026-11-01T00:{number // 60:02d}:00Z"}
        runs.append(Run(replace(made, provenance=stamp), corpus))
    made_board: dict[str, Any] = json.loads(
        dump_board(board(runs, corpora=[corpus], published=published))
    )
    return made_board


def write(folder: Path, made: dict[str, Any]) -> Path:
    """Write a board as an export holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "leaderboard.json").write_text(json.dumps(made), encoding="utf-8")
    return folder
