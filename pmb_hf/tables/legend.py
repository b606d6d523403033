"""In what reports of one provider differ, to tell them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from ..comparability import Entry
from ..leaderboard.facts import facts
from .cells import NONE
from .layout import BOLD, DIM, plain, table
from .text import clean, typed

if TYPE_CHECKING:
    from rich.table import Table

_SHOWN = 60


def differing(entries: Sequence[Entry]) -> list[dict[str, str]]:
    """For each entry what it differs in from the others of its provider, as one types it.

    Options, rules, text mode, corpus, store size, version and namespace; the date of the
    run if that does not tell them apart.
    """
    told: list[dict[str, str]] = [{} for _ in entries]
    groups: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        groups.setdefault(entry.report.provider, []).append(place)
    for places in groups.values():
        traits = [_traits(entries[place]) for place in places]
        dates = [trait.pop("date") for trait in traits]
        names = dict.fromkeys(name for trait in traits for name in trait)
        differ = [name for name in names if len({trait.get(name) for trait in traits}) > 1]
        for place, trait in zip(places, traits, strict=True):
            told[place] = {name: trait[name] for name in differ if name in trait}
        apart = len({tuple(told[place].items()) for place in places}) == len(places)
        if not apart and len(set(dates)) > 1:
            for place, date in zip(places, dates, strict=True):
                told[place]["date"] = date
    return told


def _traits(entry: Entry) -> dict[str, str]:
    found = facts(entry.report)
    config = entry.report.provenance.get("config")
    namespace = config.get("namespace") if isinstance(config, Mapping) else None
    among: Mapping[str, Any] = entry.report.among or {}
    return {
        **{f"option {key}": typed(value) for key, value in sorted(found["options"].items())},
        "rules": entry.evaluation.rules.name,
        "run under": found["runRules"],
        "text mode": found["textMode"] or NONE,
        "corpus": f"{entry.report.corpus_name} {(entry.report.corpus_sha256 or '')[:9]}".strip(),
        "distractors": typed(among.get("count", 0)),
        "version": found["providerVersion"] or NONE,
        "pmb-hf": found["pmbHf"] or NONE,
        "namespace": str(namespace) if namespace else NONE,
        "date": found["date"] or NONE,
    }


def legend(entries: Sequence[Entry], files: Sequence[Sequence[Path]]) -> Table | None:
    """A row for each report whose provider has several; ``None`` if every name says enough."""
    providers = [entry.report.provider for entry in entries]
    made = table("Report")
    made.columns[0].overflow = "fold"
    made.add_column(Text("file, and in what it differs", style=DIM), overflow="fold")
    for entry, paths, told in zip(entries, files, differing(entries), strict=True):
        if providers.count(entry.report.provider) > 1:
            file = plain(" + ".join(map(str, paths)))
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
