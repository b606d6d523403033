"""How to run and submit, what the measures and rules are, and common questions."""

from __future__ import annotations

import gradio as gr

from pmb_hf.board.about import FAQ, HOW_TO_RUN, HOW_TO_SUBMIT
from pmb_hf.board.static import measures_markup, rules_markup


def tab() -> None:
    """The tab: our own texts, and tables made from the package's declarations."""
    for text in (HOW_TO_RUN, HOW_TO_SUBMIT, FAQ):
        gr.Markdown(text)
    for table in (rules_markup(), measures_markup()):
        gr.HTML(f'<div class="pmb">{table}</div>', apply_default_css=False)
