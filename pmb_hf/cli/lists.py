"""``pmb providers`` and ``pmb measures``: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import UnknownNameError
from .options import JsonOption, examples, hint
from .output import show, show_json

PROVIDERS_EPILOG = examples("pmb providers", "pmb providers bm25", "pmb providers --json")
MEASURES_EPILOG = examples("pmb measures", "pmb measures --json")


def providers(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show this one with its options.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the memory systems that can be run, and their options."""
    from ..providers.registry import available

    infos = available()
    if name is not None:
        infos = [info for info in infos if info.name == name]
        if not infos:
            known = [info.name for info in available()]
            raise UnknownNameError(f"no provider {name!r}{hint(name, known)}")
    if as_json:
        from .views import provider

        show_json({"providers": [provider(info) for info in infos]})
        return
    from ..tables import lists as tables

    show(*(map(tables.provider, infos) if name else [tables.providers(infos)]))


def measures(as_json: JsonOption = False) -> None:
    """List the measures with their definitions."""
    from ..measures import MEASURES

    if as_json:
        show_json({"measures": [measure._asdict() for measure in MEASURES.values()]})
        return
    from ..tables.lists import measures as table

    show(table(MEASURES.values()))
