"""The PrecisionMemBench leaderboard: a Gradio app over exported JSON.

Where the export lies is told by ``PMB_EXPORT`` (a folder) or ``PMB_LEADERBOARD_REPO`` (a
dataset repository of the Hub); beside the app, ``export/`` is looked for.
"""

from __future__ import annotations

import os

# Set before gradio is imported: it would report its start to its makers.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
# Whoever connects from this machine could name any address: see guard.address_of.
os.environ.setdefault("FORWARDED_ALLOW_IPS", "")

import sys
from pathlib import Path
from typing import Any

from pmb_hf.board.visitors import VARIABLE, end_on_sigterm, fetch_nothing, own_folder

os.environ[VARIABLE] = str(own_folder())

import gradio as gr

# `pmb space` starts this file from elsewhere.
sys.path.insert(0, str(Path(__file__).resolve().parent))

import about_tab
import board_tab
import cases_tab
import compare_tab
import link
import look_tab
import score_tab
from parts import THEME, choices, css, head, offered, view
from source import Source

from pmb_hf.board.static import notices
from pmb_hf.board.style import plotly_file
from pmb_hf.board.upload import MOST_BYTES

QUEUE_SIZE = 32
AT_ONCE = 4


def build(source: Source) -> gr.Blocks:
    """The app over what ``source`` gives; it is read again when it changes."""
    board = source.board()
    corpus, rules = board.choose()
    own_folder()  # each page asks for it, wherever it is now
    with gr.Blocks(
        title="PrecisionMemBench leaderboard", analytics_enabled=False, fill_width=True
    ) as demo:
        gr.HTML(
            "<h1>PrecisionMemBench</h1>"
            "<p>Does a memory system return the beliefs that a query needs, and nothing else?</p>",
            elem_classes="title",
        )
        told = view("tell", notices(board), "Notices")
        with gr.Row(elem_classes="top"):
            corpora = gr.Dropdown(
                offered(board.choices()),
                value=corpus or None,
                label="Corpus",
                interactive=True,
                scale=1,
            )
            sets = gr.Dropdown(
                choices(board.rules(corpus)),
                value=rules or None,
                label="Rules",
                interactive=True,
                scale=1,
            )
            query = gr.Textbox(
                label="Search systems",
                placeholder="name, version, mark…",
                max_length=200,
                scale=2,
            )
        with gr.Tabs() as tabs:
            with gr.Tab("Leaderboard", id="board"):
                table = board_tab.tab(board, corpora, sets, query)
            with gr.Tab("Look", id="look") as look:
                look_tab.tab(source, look, table)
            with gr.Tab("Compare", id="compare"):
                chosen, comparison = compare_tab.tab(source, board, table)
            with gr.Tab("Cases", id="cases"):
                one, systems, answers = cases_tab.tab(source, board, table)
            with gr.Tab("Score yours", id="score"):
                score_tab.tab(source)
            with gr.Tab("Submit / About", id="about"):
                about_tab.tab()
        share = gr.Button("Copy a link to this view", size="sm", elem_classes="share")
        address = gr.Textbox(label="Link to this view", visible=False, interactive=False)
        board_tab.events(source, table, told)
        link.copying(table, [chosen, systems], one, share, address)
        places = link.Places(tabs, chosen, comparison, one, systems, answers, told)
        link.events(source, demo, table, places)
    fetch_nothing(demo)
    return demo


def launch(
    source: Source, *, port: int | None = None, host: str | None = None, **more: Any
) -> gr.Blocks:
    """Start serving; what ``Blocks.launch`` takes can be given as well."""
    demo = build(source)
    # Everything else that lies beside it stays hidden.
    gr.set_static_paths([plotly_file()])
    demo.queue(max_size=QUEUE_SIZE, default_concurrency_limit=AT_ONCE)
    demo.launch(
        server_port=port,
        server_name=host,
        theme=THEME,
        css=css(),
        head=head(),
        footer_links=[],
        ssr_mode=False,
        max_file_size=MOST_BYTES,
        **more,
    )
    return demo


if __name__ == "__main__":
    end_on_sigterm()
    launch(Source.from_environment())
