"""Reads an export. It never fails: what can't be read costs itself alone, and is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ..leaderboard.board import SCHEMA_VERSION
from ..tables.text import clean
from .columns import COLUMNS
from .model import Board, Key
from .wire import answer, board_rows, case_row, corpus_told, mapping, unique, without_doubles

FILE = "leaderboard.json"
"""The file of an export that holds everything that is shown."""

MOST_BYTES = 200_000_000
MOST_PROBLEMS = 20

_Made = TypeVar("_Made")
_FAULTS = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)


def read_export(folder: str | Path, *, origin: str | None = None) -> Board:
    """The board of an export folder; an empty one that says why if it can't be read."""
    path = Path(folder) / FILE
    told = str(origin or folder)
    try:
        if path.stat().st_size > MOST_BYTES:
            return Board(problems=[f"{FILE} is larger than {MOST_BYTES:,} bytes."], origin=told)
        tree = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Board(origin=told)
    except (OSError, ValueError, RecursionError) as error:
        return Board(problems=[_sentence(f"{FILE} can't be read", error)], origin=told)
    if not isinstance(tree, dict):
        return Board(problems=[f"{FILE} must be an object."], origin=told)
    return replace(board_of(tree), origin=told)


def board_of(tree: Mapping[str, Any]) -> Board:
    """The board of a parsed ``leaderboard.json``."""
    if tree.get("schemaVersion", SCHEMA_VERSION) != SCHEMA_VERSION:
        return Board(problems=[f"{FILE} is of another version of pmb-hf; upgrade to read it."])
    problems: list[str] = []
    entries: list[dict[str, Any]] = []
    rules: dict[str, list[str]] = {}
    for row, made in _each(tree, "rows", "row", _drawn_rows, problems):
        entries += made
        rules[str(row["id"])] = [entry["rules"] for entry in made]
    entries = without_doubles(entries)
    unique(entries)
    corpora: dict[str, Mapping[str, Any]] = {}
    cases: dict[str, list[Mapping[str, Any]]] = {}
    for corpus, told in _each(tree, "corpora", "corpus", corpus_told, problems):
        name = str(corpus["id"])
        corpora[name] = told
        cases[name] = [
            made for _, made in _each(corpus, "cases", "case", _case_of(corpus), problems)
        ]
    return Board(
        entries=entries,
        cases=cases,
        answers=_answers(tree, rules, problems),
        problems=problems,
        corpora=corpora,
        updated=_updated(tree),
    )


def _drawn_rows(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of one item, every cell of which can be shown."""
    made = board_rows(row)
    for entry in made:
        for column in COLUMNS.values():
            column.shown(entry)
    return made


def _case_of(corpus: Mapping[str, Any]) -> Callable[[Any], dict[str, Any]]:
    return lambda case: case_row(case, corpus)


def _answers(
    tree: Mapping[str, Any], rules: Mapping[str, list[str]], problems: list[str]
) -> dict[str, dict[Key, Mapping[str, Any]]]:
    found: dict[str, dict[Key, Mapping[str, Any]]] = {}

    def of_run(row: Mapping[str, Any]) -> None:
        key = str(row["caseId"]), row["turnIndex"]
        for name in rules.get(str(row["run"]), ()):
            if name in row["scores"]:
                found.setdefault(f"{row['run']}/{name}", {})[key] = answer(row, name)

    for _ in _each(tree, "answers", "answer", of_run, problems):
        pass
    return found


def _each(
    tree: Mapping[str, Any],
    key: str,
    noun: str,
    make: Callable[[Any], _Made],
    problems: list[str],
) -> Iterable[tuple[Any, _Made]]:
    """Each item of a list with what is made of it; an item that is broken is left out."""
    items = tree.get(key)
    if not isinstance(items, list):
        problems.append(f"{FILE} has no list {key!r}.")
        return
    for number, item in enumerate(items, 1):
        try:
            made = make(mapping(item))
        except _FAULTS as error:
            if len(problems) < MOST_PROBLEMS:
                problems.append(_sentence(f"{noun} {number} of {FILE} is left out", error))
            continue
        yield item, made


def _sentence(what: str, error: BaseException) -> str:
    why = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
    if "' object " in why or "unsupported operand" in why:  # Python's own words
        why = "a value in it is of the wrong kind"
    if isinstance(error, OSError):  # visitors need not know the folder
        why = error.strerror or type(error).__name__
    begun = what if what.startswith(FILE) else f"{what[0].upper()}{what[1:]}"
    return clean(f"{begun}: {why}", 240).rstrip(".") + "."


def _updated(tree: Mapping[str, Any]) -> str | None:
    value = tree.get("updated")
    return clean(value, 40) if isinstance(value, str) else None
