"""Pieces that every tab uses: views drawn by board.js, texts, and the state of the page."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
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
).set(
    # Gradio's own have a contrast below 4.5 in the light.
    body_text_color_subdued="*neutral_600",
    button_primary_background_fill="*primary_700",
    button_primary_background_fill_hover="*primary_800",
    button_primary_background_fill_dark="*primary_700",
    button_primary_background_fill_hover_dark="*primary_600",
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


_JOINER = "\u2060"
_KEY = re.compile(r"\w+(?:\.[\w-]+)*")


def label(name: str) -> str:
    """``name`` as Gradio shows it unchanged.

    Gradio translates texts that are keys of its own (``common.submit``, ``file``) or are marked
    for it (``__i18n__``). A word joiner, which is not seen, keeps it from finding them.
    """
    found = name.replace("__i18n__", f"__i18n{_JOINER}__")
    return found + _JOINER if _KEY.fullmatch(found) else found


def offered(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """What a dropdown offers for these labels and values."""
    return [(label(shown), value) for shown, value in pairs]


def choices(names: Iterable[str]) -> list[tuple[str, str]]:
    """What a dropdown offers for these names; it gives back the name itself."""
    return offered((name, name) for name in names)


FAILED = "This view can't be drawn, so what you see is the one before. Reload the page to go on."


def told(event: Callable[..., Any]) -> Callable[..., Any]:
    """An event that says so when it fails; Gradio would leave the old view without a word."""

    @wraps(event)
    def safe(*values: Any, **named: Any) -> Any:
        try:
            return event(*values, **named)
        except gr.Error:
            raise
        except Exception as error:
            traceback.print_exception(error)
            raise gr.Error(FAILED, print_exception=False) from error

    return safe


def quiet(**options: Any) -> dict[str, Any]:
    """Options of an event that is no public endpoint and shows no curtain."""
    return {"api_visibility": "private", "show_progress": "hidden", **options}
