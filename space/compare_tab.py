"""Two to four systems, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr
from board_tab import Table
from parts import choices, quiet, told, view
from source import Source

from pmb_hf.board.columns import order
from pmb_hf.board.model import SYSTEMS_COMPARED, Board


def with_answers(board: Board, corpus: str, rules: str) -> list[Mapping[str, Any]]:
    """The rows whose answers are known, from best to worst."""
    rows = board.rows(*board.choose(corpus or "", rules or ""))
    return [row for row in order(rows) if board.answers.get(row["id"])]


def first_of(rows: Sequence[Mapping[str, Any]], most: int) -> list[str]:
    """The names to begin with."""
    return [row["name"] for row in rows][:most]


def tab(source: Source, board: Board, table: Table) -> tuple[gr.Dropdown, gr.HTML]:
    """The tab; gives the choice of systems, and the comparison."""
    rows = with_answers(board, *board.choose())
    chosen = gr.Dropdown(
        choices(row["name"] for row in rows),
        value=first_of(rows, 2),
        multiselect=True,
        max_choices=SYSTEMS_COMPARED,
        label="Systems, two to four",
        interactive=True,
    )
    start = compared(board, *board.choose(), first_of(rows, 2))
    result = view("compare", start, "Comparison")

    @told
    def show(corpus: str, rules: str, names: list[str] | None) -> dict[str, Any]:
        return compared(source.board(), corpus, rules, names or [])

    @told
    def renew(corpus: str, rules: str, names: list[str] | None) -> tuple[Any, ...]:
        found = with_answers(source.board(), corpus, rules)
        known = [row["name"] for row in found]
        kept = [name for name in names or [] if name in known] or first_of(found, 2)
        return gr.Dropdown(choices=choices(known), value=kept), show(corpus, rules, kept)

    inputs = [table.corpus, table.rules, chosen]
    chosen.change(show, inputs, result, trigger_mode="always_last", **quiet())
    gr.on([table.corpus.change, table.rules.change], renew, inputs, [chosen, result], **quiet())
    return chosen, result


def compared(board: Board, corpus: str, rules: str, names: Sequence[str]) -> dict[str, Any]:
    """The comparison of the named rows, in the order of ``names``."""
    known = {row["name"]: row for row in board.rows(*board.choose(corpus or "", rules or ""))}
    found = board.compare([known[name] for name in names if name in known])
    return found | {"left": gone(names, known)}


def gone(names: Sequence[str], known: Mapping[str, Any]) -> list[str]:
    """The names that an older page still offers, but the board no longer has."""
    return [name for name in names if name not in known]
