"""Score a file of the visitor: in process, published nowhere, beside the board."""

from __future__ import annotations

from typing import Any

import gradio as gr
from board_tab import cells, looks
from guard import Rate, address_of
from parts import quiet, view
from source import Source

from pmb_hf.board.columns import COMPACT, choose, order
from pmb_hf.board.upload import MISS, MOST_BYTES, MOST_ROWS, SUFFIXES, score_file
from pmb_hf.board.visitors import GONE, KEPT, uploaded
from pmb_hf.errors import PmbError
from pmb_hf.rules import RULES

USES, USES_OF_ALL, PER_S = 10, 60, 60.0

HOW = (
    "A report of `pmb run`, or predictions: rows of `case_id` and `relevant_beliefs`, best first; "
    "rows of sessions have a `turn_index` too. JSON, JSON Lines or Parquet, at most "
    f"{MOST_BYTES // 1_000_000} MB and {MOST_ROWS:,} rows. The file is scored here, kept for at "
    f"most {KEPT} and then deleted; nothing is published."
)
REFUSED = (
    "The file was not scored: it is none that was uploaded here, or not of a kind that is scored "
    f"({', '.join(SUFFIXES)}), or a choice beside it is none of the list. Choose the file again."
)


class Limits:
    """How often files are scored: for one address, and for all together."""

    def __init__(self) -> None:
        self._each, self._all = Rate(USES, PER_S), Rate(USES_OF_ALL, PER_S)

    def refusal(self, address: str) -> str | None:
        """Why a file from ``address`` is not scored now; else it counts."""
        if not self._each.allows(address):
            return f"At most {USES} files a minute are scored for one address; wait a little."
        if not self._all.allows(""):
            return f"At most {USES_OF_ALL} files a minute are scored for all; wait a little."
        return None


def tab(source: Source) -> None:
    """The tab."""
    limits = Limits()
    gr.Markdown(HOW)
    with gr.Row(equal_height=False):
        file = gr.File(
            label="Report or predictions", file_types=list(SUFFIXES), height=150, scale=2
        )
        with gr.Column(scale=1):
            rules = gr.Dropdown(list(RULES), value="spec", label="Rules", interactive=True)
            miss = gr.Checkbox(label=MISS, value=False)
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

    def score(
        path: str | None, rules: str | None, miss: bool, request: gr.Request
    ) -> tuple[Any, ...]:
        if path is None:
            return _refused("Choose a file first.")
        why = limits.refusal(address_of(request))
        if why is not None:
            return _refused(why)
        mine = uploaded(path)
        if mine is None:
            return _refused(GONE)
        try:
            scored = score_file(mine, rules or "", on_missing="miss" if miss else "error")
        except (PmbError, ValueError) as error:
            return _refused(str(error))
        board = source.board()
        rows = [scored.row, *order(board.rows(scored.corpus, rules or ""))]
        frame = gr.Dataframe(value=cells(rows, columns), **looks(columns), visible=True)
        return scored.told, frame

    shown = [result, beside]
    scoring = go.click(
        score,
        [file, rules, miss],
        shown,
        concurrency_limit=1,
        **quiet(show_progress="minimal"),
    )
    # Gradio may refuse what is sent before `score` sees it.
    scoring.failure(lambda: _refused(REFUSED), None, shown, **quiet())
    # What is shown was scored with other choices, or from another file.
    changes = [rules.input, miss.input, file.upload, file.clear]
    gr.on(changes, lambda: (None, _hidden()), None, shown, **quiet())


def _refused(text: str) -> tuple[Any, ...]:
    return {"errors": [text]}, _hidden()


def _hidden() -> gr.Dataframe:
    return gr.Dataframe(visible=False)
