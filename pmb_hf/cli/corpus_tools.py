"""``pmb data new`` and ``pmb data from-log``: a corpus of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..tables.text import count_of
from .options import JsonOption, examples
from .output import line, note, show_json

_SHOWN_NOTES = 20

NEW_EPILOG = examples("pmb data new my-corpus", "pmb data lint my-corpus")
FROM_LOG_EPILOG = examples(
    "pmb data from-log queries.jsonl --beliefs memories.jsonl -o my-corpus",
    "pmb run --corpus my-corpus --provider bm25 --fail-under recall=0.9",
)


def new(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where it goes; made if need be.")
    ],
) -> None:
    """Start a small corpus of your own, with comments.

    It is valid and can be run as it is. Nothing is ever overwritten.
    """
    from ..starter import start

    for path in start(directory):
        line(str(path))
    note(f"Change the rows to yours, then: pmb data lint {directory}")


def from_log(
    log: Annotated[
        Path,
        typer.Argument(metavar="LOG", help="JSON lines: {query, expected: [ids]}, and more."),
    ],
    beliefs: Annotated[
        Path,
        typer.Option(
            "--beliefs", metavar="FILE", help="Memories, {id, text}: JSON lines or a JSON list."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Directory for the corpus.")
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Replace the corpus that is in DIR already.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a corpus of logged queries and memories.

    Each query says which ids should have come back: exactly these. Optional in a
    query: user_id, scope, id, max_beliefs, category, description. Optional in a
    memory: any field of a belief. If any line is faulty, every faulty line is
    named and nothing is written.
    """
    from ..from_log import from_log as make

    made = make(log, beliefs, out, overwrite=force)
    if as_json:
        show_json({**made._asdict(), "directory": str(made.directory)})
        return
    for text in made.notes[:_SHOWN_NOTES]:
        note(f"note: {text}")
    if len(made.notes) > _SHOWN_NOTES:
        note(f"note: and {len(made.notes) - _SHOWN_NOTES} more; --json has them all")
    merged = f", {count_of(made.merged, 'repeated line')} merged" if made.merged else ""
    line(
        f"Wrote {made.directory}: {count_of(made.beliefs, 'belief')}, "
        f"{count_of(made.cases, 'case')}{merged}"
    )
