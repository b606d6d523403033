"""What a reader of a board sees: rows in order, under one set of rules. Plain JSON, tolerant.

A row that is broken is left out and counted; the others are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .facts import CONTROL, PUBLISHED, Row
from .marks import PARTS

_FAULTS = (KeyError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True)
class View:
    """The rows of one corpus under one set of rules.

    Attributes:
        corpus: The corpus's row.
        rules: The rules.
        rows: The rows with figures under them: the ranked ones first, then those that are
            not, then floor and ceiling; each part's figures under ``figures``.
        broken: How many rows could not be read.
    """

    corpus: Mapping[str, Any]
    rules: str
    rows: tuple[Row, ...]
    broken: int


def own_rows(board: Row) -> list[Row]:
    """The rows that were made from reports, and not published or computed."""
    return [
        row
        for row in board["rows"]
        if isinstance(row, dict) and row.get("source") not in (CONTROL, PUBLISHED)
    ]


def reasons(row: Row, rules: str) -> list[str]:
    """Why a row, or a part of it, is not ranked under ``rules``."""
    figures = row["scores"].get(rules)
    if figures is None:
        return []
    return [
        f"{mark['part']}: {mark['text']}" if mark["part"] else str(mark["text"])
        for mark in figures["marks"]
        if mark["blocks"]
    ]


def tables(board: Row, rules: str, corpus: str | None = None) -> list[View]:
    """A view of each corpus, or of those that are called ``corpus``, that has rows under them."""
    found = []
    for about in board["corpora"]:
        if corpus is not None and corpus not in (about.get("name"), about.get("id")):
            continue
        read = list(_read(board, about.get("id"), rules))
        rows = [row for row in read if row is not None]
        if any(row["source"] != CONTROL for row in rows) or len(rows) < len(read):
            rows.sort(key=_place)
            found.append(View(about, rules, tuple(rows), len(read) - len(rows)))
    return found


def _read(board: Row, corpus: Any, rules: str) -> Iterator[Row | None]:
    for row in board["rows"]:
        try:
            if row["corpus"] != corpus or rules not in row["scores"]:
                continue
            made = {**row, "figures": row["scores"][rules]}
            _check(made)
            yield made
        except _FAULTS:
            yield None


def _check(row: Row) -> None:
    """Raise one of ``_FAULTS`` if what tables show of a row is not there, or of another kind."""
    for mark in row["figures"]["marks"]:
        if not isinstance(mark["text"], str) or not isinstance(mark["part"], str | None):
            raise TypeError("a mark must be text")
    if not isinstance(row["label"], str) or not isinstance(row["source"], str):
        raise TypeError("a label must be text")
    for part in PARTS:
        view = row["figures"][part]
        if view is not None:
            known = [view["rank"], view["answered"], view["of"], *(view["summary"] or {}).values()]
            if not all(isinstance(value, int | float | None) for value in known):
                raise TypeError("a figure must be a number")


def _place(row: Row) -> tuple[Any, ...]:
    parts = [row["figures"][part] or {} for part in PARTS]
    ranks = [part.get("rank") for part in parts]
    summary = parts[0].get("summary") or {}
    merit = (summary.get("passed_active") or 0, summary.get("passed") or 0)
    return (
        row["source"] == CONTROL,
        ranks[0] is None,
        ranks[0] or 0,
        *(-int(value) for value in merit),
        ranks[1] is None,
        ranks[1] or 0,
        str(row["label"]),
    )


def chosen(board: Row, rules: str, corpus: str | None = None) -> Row:
    """The views as a JSON-ready mapping."""
    return {
        "updated": board.get("updated"),
        "rules": rules,
        "corpora": [
            {
                "id": view.corpus["id"],
                "name": view.corpus["name"],
                "sha256": view.corpus["sha256"],
                "broken": view.broken,
                "rows": [
                    {name: value for name, value in row.items() if name != "scores"}
                    for row in view.rows
                ],
            }
            for view in tables(board, rules, corpus)
        ],
    }
