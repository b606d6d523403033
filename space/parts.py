"""Pieces that every tab uses: views drawn by board.js, texts, and the state of the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from pmb_hf.board.style import palette, plotly_file, shared

SPACE_CSS = (Path(__file__).parent / "space.css").read_text(encoding="utf-8")
PLOTLY_ADDRESS = f"gradio_api/file={plotly_file()}"

THEME = gr.themes.Base(
    primary_hue="blue",
    neutral_hue="slate",
    radius_size="sm",
    # Names of fonts that the visitor has: nothing is loaded.
    font=["system-ui", "-apple-system", "Segoe UI", "sans-serif"],
    font_mono=["ui-monospace", "SF Mono", "Consolas", "monospace"],
)


def head() -> str:
    """What stands in the page's head: our script, no address of another host."""
    return f"<script>{shared('board.js')}</script>"


def css() -> str:
    """The page's styles."""
    return palette() + shared("board.css") + SPACE_CSS


def view(kind: str, value: Mapping[str, Any] | None, label: str) -> gr.HTML:
    """A place that board.js fills from JSON; nothing of ``value`` is read as HTML.

    ``kind`` is a function of board.js: look, compare, cases or tell.
    """
    script = (
        "const root = element.querySelector('.pmb');"
        f"const show = () => window.PMB.{kind}(root, props.value);"
        "show(); watch('value', show);"
    )
    return gr.HTML(
        value=value,
        html_template=f'<div class="pmb" role="region" aria-label="{label}"></div>',
        js_on_load=script,
        apply_default_css=False,
        label=label,
    )


def quiet(**options: Any) -> dict[str, Any]:
    """Options of an event that is no public endpoint and shows no curtain."""
    return {"api_visibility": "private", "show_progress": "hidden", **options}
