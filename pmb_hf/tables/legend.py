"""In what reports of one provider differ, to tell them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from ..comparability import Entry
from ..leaderboard.facts import facts
from ..leaderboard.traits import DATE, MODELS, traits
from .cells import NONE
from .layout import BOLD, DIM, Id, plain, table
from .text import clean

if TYPE_CHECKING:
    from rich.table import Table

_SHOWN = 60


def differing(entries: Sequence[Entry]) -> list[dict[str, str]]:
    """For each entry what it differs in from the others of its provider, as one types it.

    The traits that tell runs apart, the rules that it is scored under, corpus, version of
    pmb-hf and namespace; the date of the run if that does not tell them apart.
    """
    told: list[dict[str, str]] = [{} for _ in entries]
    groups: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        groups.setdefault(entry.report.provider, []).append(place)
    for places in groups.values():
        traits = [_traits(entries[place]) for place in places]
        dates = [trait.pop(DATE) for trait in traits]
        names = dict.fromkeys(name for trait in traits for name in trait)
        differ = [name for name in names if len({trait.get(name) for trait in traits}) > 1]
        for place, trait in zip(places, traits, strict=True):
            told[place] = {name: trait[name] for name in differ if name in trait}
        apart = len({tuple(told[place].items()) for place in places}) == len(places)
        if not apart and len(set(dates)) > 1:
            for place, date in zip(places, dates, strict=True):
                told[place][DATE] = date
    return told


def _traits(entry: Entry) -> dict[str, str]:
    """What tells runs apart, and beside it on what and how this one was scored and kept apart."""
    found = facts(entry.report)
    config = entry.report.provenance.get("config")
    namespace = config.get("namespace") if isinstance(config, Mapping) else None
    told = list(traits(found))
    options = {trait.value for trait in told if trait.option}
    return {
        # A model that an option names is told as that option.
        **{
            trait.name: trait.value or NONE
            for trait in told
            if trait.name not in MODELS or trait.value not in options
        },
        "rules": entry.evaluation.rules.name,
        "corpus": f"{entry.report.corpus_name} {(entry.report.corpus_sha256 or '')[:9]}".strip(),
        "pmb-hf": found["pmbHf"] or NONE,
        "namespace": str(namespace) if namespace else NONE,
    }


def legend(entries: Sequence[Entry], files: Sequence[Sequence[Path]]) -> Table | None:
    """A row for each report whose provider has several; ``None`` if every name says enough."""
    providers = [entry.report.provider for entry in entries]
    made = table("Report")
    made.columns[0].overflow = "fold"
    made.add_column(Text("file, and in what it differs", style=DIM), overflow="fold")
    for entry, paths, told in zip(entries, files, differing(entries), strict=True):
        if providers.count(entry.report.provider) > 1:
            file = Id(" + ".join(map(str, paths)))
            traits = [_trait(name, value) for name, value in told.items()]
            about = [Text(" · ".join(traits), style=DIM)] if traits else []
            made.add_row(plain(entry.name, BOLD), Group(file, *about))
    return made if made.row_count else None


def _trait(name: str, value: str) -> str:
    shown = clean(value, _SHOWN)
    return (
        f"{name.removeprefix('option ')}={shown}"
        if name.startswith("option ")
        else (f"{name} {shown}")
    )
