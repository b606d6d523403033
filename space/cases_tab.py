"""One case or session: what it asks, what was expected and why, and what came back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr
from board_tab import Table
from compare_tab import first_of, gone, with_answers
from parts import choices, offered, quiet, told, view
from source import Source

from pmb_hf.board.model import Board

SYSTEMS_SHOWN = 4


def tab(source: Source, board: Board, table: Table) -> tuple[gr.Dropdown, gr.Dropdown, gr.HTML]:
    """The tab; gives the choices of case and systems, and the view."""
    corpus, rules = board.choose()
    titles, rows = board.titles(corpus), with_answers(board, corpus, rules)
    case = titles[0][1] if titles else None
    with gr.Row():
        one = gr.Dropdown(
            offered(titles), value=case, label="Case or session", interactive=True, scale=2
        )
        systems = gr.Dropdown(
            choices(row["name"] for row in rows),
            value=first_of(rows, SYSTEMS_SHOWN),
            multiselect=True,
            label="Systems",
            interactive=True,
            scale=3,
        )
    shown = view(
        "cases", answered(board, corpus, rules, case, first_of(rows, SYSTEMS_SHOWN)), "Case"
    )

    @told
    def show(corpus: str, rules: str, case: str | None, names: list[str] | None) -> dict[str, Any]:
        return answered(source.board(), corpus, rules, case, names or [])

    @told
    def renew(
        corpus: str, rules: str, case: str | None, names: list[str] | None
    ) -> tuple[Any, ...]:
        board = source.board()
        corpus, rules = board.choose(corpus or "", rules or "")
        titles, found = board.titles(corpus), with_answers(board, corpus, rules)
        known = [row["name"] for row in found]
        kept = [name for name in names or [] if name in known] or first_of(found, SYSTEMS_SHOWN)
        ids = [case_id for _, case_id in titles]
        case = case if case in ids else ids[0] if ids else None
        return (
            gr.Dropdown(choices=offered(titles), value=case),
            gr.Dropdown(choices=choices(known), value=kept),
            answered(board, corpus, rules, case, kept),
        )

    inputs = [table.corpus, table.rules, one, systems]
    gr.on([one.change, systems.change], show, inputs, shown, trigger_mode="always_last", **quiet())
    gr.on(
        [table.corpus.change, table.rules.change], renew, inputs, [one, systems, shown], **quiet()
    )
    return one, systems, shown


def answered(
    board: Board, corpus: str, rules: str, case: str | None, names: Sequence[str]
) -> dict[str, Any]:
    """The case with the answers of the named rows, in the order of ``names``."""
    corpus, rules = board.choose(corpus or "", rules or "")
    known = {row["name"]: row for row in board.rows(corpus, rules)}
    found = board.case(corpus, case or "", [known[name] for name in names if name in known])
    return found | {"left": gone(names, known)}
