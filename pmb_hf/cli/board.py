"""``pmb space``: the leaderboard in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import examples
from .output import line, note

EPILOG = examples(
    "pmb space", "pmb space --export hf_export --port 9000", "pmb export reports/*.json --static"
)


def space(
    export: Annotated[
        Path, typer.Option("--export", metavar="DIR", help="What `pmb export` wrote.")
    ] = Path("hf_export"),
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="N", min=0, max=65535, help="The port; 0 chooses a free one."
        ),
    ] = 7860,
) -> None:
    """Show the leaderboard in the browser.

    It is what the Space on the Hub shows. It serves until it is interrupted, and
    follows the export when that changes. Without an export, the page says how to
    make one. The page that needs no server is written by `pmb export --static`.
    """
    from ..board.local import serve_space

    serve_space(export, host=host, port=port, told=line)
    note("stopped")
