"""``pmb measures``: what there is."""

from __future__ import annotations

from .options import JsonOption, examples
from .output import show, show_json

MEASURES_EPILOG = examples("pmb measures", "pmb measures --json")


def measures(as_json: JsonOption = False) -> None:
    """List the measures with their definitions."""
    from ..measures import MEASURES

    if as_json:
        show_json({"measures": [measure._asdict() for measure in MEASURES.values()]})
        return
    from ..tables.lists import measures as table

    show(table(MEASURES.values()))
