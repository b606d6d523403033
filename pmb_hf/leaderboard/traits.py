"""What tells runs of one provider apart: one list, for settings, labels and legends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..rules import SPEC
from ..tables.text import clean, numbered, typed
from .facts import CONTROL, Row

DATE = "date"
"""The trait that is of a run, and not of its setting."""
MODELS = ("embedding", "llm")
_OPTION = "option "
_SHOWN = 60


class Trait(NamedTuple):
    """One thing in which runs of a provider can differ.

    Attributes:
        name: What it is called; an option is ``option NAME``.
        value: Its value as one types it; ``None`` if there is none, or it is not known.
        label: What a run's label says of it; ``None`` if it is what is usual.
    """

    name: str
    value: str | None
    label: str | None

    @property
    def option(self) -> str | None:
        """The name of the provider's option that it is, if it is one."""
        return self.name.removeprefix(_OPTION) if self.name.startswith(_OPTION) else None


def traits(row: Row) -> Iterator[Trait]:
    """The traits of a board's row, or of a run's `facts`; the most telling first.

    What is usual has no label: no option, one that is off, no distractors, a run under ``spec``.
    """
    source, edition = row["source"], row.get("edition")
    yield Trait("source", source, "computed" if source == CONTROL else None)
    yield Trait("edition", edition, None if edition is None else f"published {edition}")
    for name, key in zip(MODELS, ("embeddingModel", "llm"), strict=True):
        yield Trait(name, row[key], row[key])
    for key, value in sorted(row["options"].items()):
        usual = value is None or value is False
        shown = clean(f"{key}={typed(value)}", _SHOWN)
        yield Trait(f"{_OPTION}{key}", typed(value), None if usual else shown)
    yield _distractors(row["distractors"])
    for name, key in (("version", "providerVersion"), ("text mode", "textMode")):
        yield Trait(name, row[key], row[key])
    cap = row["returnCap"]
    asked = None if cap is None else f"{cap} results asked for"
    yield Trait("return cap", None if cap is None else typed(cap), asked)
    rules = row["runRules"]
    yield Trait("run under", rules, None if rules == SPEC.name else f"run under {rules}")
    yield Trait(DATE, row["date"], row["date"])


def setting_of(row: Row) -> tuple[Any, ...]:
    """What rows share that are runs of one system with one set of options.

    Of a run whose options are not known nobody can tell: it is one of its own.
    """
    if row["optionsSha256"] is None:
        return (row["id"],)
    told = ((trait.name, trait.value) for trait in traits(row) if trait.name != DATE)
    return (row["corpus"], row["provider"], row["optionsSha256"], *told)


def repeats(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows by setting, each in the order that they come in."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(setting_of(row), []).append(row)
    return list(found.values())


def label_rows(rows: Sequence[Row]) -> None:
    """Give each row a ``label`` that is its own among the rows of its corpus.

    It is the provider's name, and what a row of that name differs in from the others:
    version, options, distractors, rules of the run; the date or a number if nothing else
    tells them apart. Runs of one setting are numbered in the order of ``rows``:
    ``bm25 · run 2``.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["corpus"], row["provider"]), []).append(row)
    for (_, provider), same in groups.items():
        settings = repeats(same)
        labels = _labels(provider, [runs[0] for runs in settings])
        for runs, label in zip(settings, labels, strict=True):
            for number, row in enumerate(runs, 1):
                row["label"] = label if len(runs) == 1 else f"{label} · run {number}"


def _labels(provider: str, same: Sequence[Row]) -> list[str]:
    labels = [provider] * len(same)
    found = [{trait.name: trait.label for trait in traits(row)} for row in same]
    for name in dict.fromkeys(name for labelled in found for name in labelled):
        values = [labelled.get(name) for labelled in found]
        if len(set(labels)) == len(labels):
            break
        if len(set(values)) > 1:
            labels = [
                label if value is None else f"{label} · {value}"
                for label, value in zip(labels, values, strict=True)
            ]
    return numbered(labels)


def _distractors(recipe: Mapping[str, Any] | None) -> Trait:
    """How many there were, and what else their recipe says."""
    if recipe is None:
        return Trait("distractors", "0", None)
    told = dict(recipe)
    count = typed(told.pop("count", None))
    rest = [f"{key} {typed(value)}" for key, value in sorted(told.items())]
    label = f"among {count} distractors of seed {typed(told.get('seed'))}"
    return Trait("distractors", ", ".join([count, *rest]), clean(label, _SHOWN))
