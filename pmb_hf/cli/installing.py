"""``pmb install``: dataset and metric by name, without the network."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import JsonOption, examples
from .output import line, show_json

EPILOG = examples("pmb install", "pmb install --uninstall")


def install(
    uninstall: Annotated[
        bool, typer.Option("--uninstall", help="Remove what an install put there.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Let datasets and evaluate find the benchmark by name.

    Then load_dataset("precisionmembench", "retrieval") and
    evaluate.load("precisionmembench") work from any directory, offline too.
    """
    from .. import install as installing

    done = installing.uninstall() if uninstall else installing.install()
    if as_json:
        view = done._asdict()
        paths = {name: [str(path) for path in view[name]] for name in ("written", "removed")}
        places = {name: str(view[name]) for name in ("dataset", "metric")}
        show_json(view | paths | places)
        return
    for label, directories in (("wrote", done.written), ("removed", done.removed)):
        for directory in directories:
            line(f"{label} {directory}")
    if not done.written and not done.removed:
        line("nothing to remove" if uninstall else "all is there already")
