"""Pictures of the rows that the leaderboard shows."""

from __future__ import annotations

from typing import Any

import gradio as gr
from board_tab import Table, shown_rows
from parts import PLOTLY_ADDRESS, quiet, told, view
from source import Source

from pmb_hf.board.style import marks, noise_labels
from pmb_hf.board.wire import chart_rows


def tab(source: Source, own: gr.Tab, table: Table) -> gr.HTML:
    """The tab; it is drawn when it is opened and when corpus, rules or search change."""
    pictures = view("look", None, "Pictures")

    @told
    def draw(*filters: Any) -> dict[str, Any]:
        corpus, rules, _, _, query, shown, sort, down = filters
        rows = shown_rows(source.board(), corpus, rules, query, shown, sort, down)
        return {
            **chart_rows(rows),
            "style": marks(),
            "noise_labels": noise_labels(),
            "plotly": PLOTLY_ADDRESS,
        }

    gr.on(
        [own.select, table.corpus.input, table.rules.input, table.query.change, table.shown.input],
        draw,
        table.filters,
        pictures,
        trigger_mode="always_last",
        **quiet(),
    )
    return pictures
