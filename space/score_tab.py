"""Score a file of the visitor: in process, kept nowhere, beside the board."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import gradio as gr
from board_tab import cells, looks
from guard import Rate, sweep
from parts import quiet, view
from source import Source

from pmb_hf.board.columns import COMPACT, choose, order
from pmb_hf.board.upload import MOST_BYTES, MOST_ROWS, SUFFIXES, score_file
from pmb_hf.errors import PmbError
from pmb_hf.rules import RULES

USES, PER_S = 10, 60.0
LEFT_S = 900.0
"""An upload that is never scored is deleted after so many seconds."""

HOW = (
    "A report of `pmb run`, or predictions: rows of `case_id` and `relevant_beliefs`, best first; "
    "rows of sessions have a `turn_index` too. JSON, JSON Lines or Parquet, at most "
    f"{MOST_BYTES // 1_000_000} MB and {MOST_ROWS:,} rows. The file is scored here and then "
    "deleted; nothing is published."
)


def tab(source: Source) -> None:
    """The tab."""
    rate = Rate(USES, PER_S)
    gr.Markdown(HOW)
    with gr.Row(equal_height=False):
        file = gr.File(
            label="Report or predictions", file_types=list(SUFFIXES), height=150, scale=2
        )
        with gr.Column(scale=1):
            rules = gr.Dropdown(list(RULES), value="spec", label="Rules", interactive=True)
            miss = gr.Checkbox(label="Count cases that are missing as failed", value=False)
            go = gr.Button("Score", variant="primary")
    result = view("tell", None, "Result")
    columns = choose(COMPACT)
    beside = gr.Dataframe(
        value={"headers": [c.head for c in columns], "data": []},
        **looks(columns),
        visible=False,
        interactive=False,
        label="Your file beside the board",
        max_height=560,
        elem_classes="board-table",
        latex_delimiters=[],
    )

    def score(path: str | None, rules: str, miss: bool, request: gr.Request) -> tuple[Any, ...]:
        hidden = gr.Dataframe(visible=False)
        if path is None:
            return {"errors": ["Choose a file first."]}, hidden, None
        try:
            if not rate.allows(request.client.host if request.client else ""):
                text = f"At most {USES} files a minute can be scored; wait a little."
                return {"errors": [text]}, hidden, None
            scored = score_file(Path(path), rules, on_missing="miss" if miss else "error")
        except (PmbError, ValueError) as error:
            return {"errors": [str(error)]}, hidden, None
        finally:
            shutil.rmtree(Path(path).parent, ignore_errors=True)
            sweep(Path(file.GRADIO_CACHE), LEFT_S)
        board = source.board()
        rows = [scored.row, *order(board.rows(scored.corpus, rules))]
        frame = gr.Dataframe(value=cells(rows, columns), **looks(columns), visible=True)
        return scored.told, frame, None

    go.click(
        score,
        [file, rules, miss],
        [result, beside, file],
        concurrency_limit=1,
        **quiet(show_progress="minimal"),
    )
