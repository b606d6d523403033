"""Where output goes: results to standard output, all else to standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import typer

from ..tables.text import clean_lines
from ..tokens import hidden

if TYPE_CHECKING:
    from rich.console import RenderableType

UNREAD = 141
"""The exit code if whoever read the output stopped reading, as for a signal SIGPIPE."""

MAX_WIDTH = 120
"""Wider tables are harder to read, whatever the terminal."""
_PADDING = re.compile(r" +$", re.MULTILINE)


def show(*parts: RenderableType) -> None:
    """Print tables and texts, a blank line between them."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    console.width = min(console.width, MAX_WIDTH)
    with console.capture() as capture:
        for number, part in enumerate(parts):
            if number:
                console.print()
            console.print(part)
    text = _PADDING.sub("", capture.get())
    _write(text, color=console.is_terminal or None)


def show_json(value: Any) -> None:
    """Print strict JSON in UTF-8, and nothing else."""
    write_text(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2) + "\n")


def write_text(text: str) -> None:
    """Print text as it is, in UTF-8 whatever the terminal's encoding."""
    _write(text, utf8=True)


def line(text: str) -> None:
    """Print one line of a result."""
    _write(clean_lines(text) + "\n")


def _write(text: str, *, color: bool | None = None, utf8: bool = False) -> None:
    shown = hidden(text)
    made = shown.encode("utf-8", "backslashreplace") if utf8 else shown
    try:
        typer.echo(made, nl=False, color=color)
    except BrokenPipeError:
        # What is still in the buffer would raise again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(UNREAD) from None


def note(text: str) -> None:
    """Tell something beside the result, on standard error."""
    typer.echo(_safe(text), err=True)


def error_line(text: str) -> None:
    """Say what went wrong, in red where there are colours."""
    typer.secho(f"error: {_safe(text)}", fg="red", err=True, color=_color())


def hint_line(text: str) -> None:
    """Say what helps."""
    typer.secho(_safe(text), dim=True, err=True, color=_color())


def _safe(text: str) -> str:
    """Foreign text that neither steers the terminal nor shows a token of the Hub."""
    return hidden(clean_lines(text))


def _color() -> bool | None:
    return False if os.environ.get("NO_COLOR") else None


def is_terminal() -> bool:
    """Whether standard error is seen by somebody."""
    return sys.stderr.isatty()
