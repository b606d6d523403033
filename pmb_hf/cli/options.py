"""Options that several commands share, and what their values mean."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError, UnknownNameError
from ..report import Report
from ..rules import RULES
from ..schema import Corpus

RulesOption = Annotated[
    str, typer.Option("--rules", metavar="RULES", help=f"Scoring rules: {', '.join(RULES)}.")
]
OwnRulesOption = Annotated[
    str | None,
    typer.Option(
        "--rules",
        metavar="RULES",
        help=f"Scoring rules: {', '.join(RULES)}. Default: the report's own.",
    ),
]
CorpusOption = Annotated[
    str,
    typer.Option("--corpus", metavar="CORPUS", help="native, official, or a directory of yours."),
]
ReportCorpusOption = Annotated[
    str | None,
    typer.Option(
        "--corpus",
        metavar="CORPUS",
        help="native, official, or a directory. Default: the corpus that the report names.",
    ),
]
FixturesOption = Annotated[
    Path | None,
    typer.Option(
        "--fixtures",
        metavar="DIR",
        help="Upstream's fixtures, for the official corpus; else those of `pmb data fetch`.",
    ),
]
DistractorsOption = Annotated[
    Path | None,
    typer.Option(
        "--distractors",
        metavar="DIR",
        help="Distractors around the corpus, made by `pmb data grow`.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print strict JSON instead of tables.")]


def in_seconds(value: float | None) -> float | None:
    """Callback of an option that takes seconds: refuses NaN and what is less than 0."""
    if value is not None and not value >= 0:
        raise typer.BadParameter(f"{value:g} is no number of seconds, 0 or more")
    return value


def examples(*lines: str) -> str:
    """The end of a command's help: lines to copy, one a line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def known_rules(name: str) -> str:
    """``name`` if it is a rule set.

    Raises:
        UnknownNameError: If it is none; says which is near.
    """
    if name not in RULES:
        raise UnknownNameError(f"no rules {name!r}{hint(name, list(RULES))}")
    return name


def hint(word: str, known: Sequence[str]) -> str:
    """What may be meant by ``word``, and what there is."""
    near = difflib.get_close_matches(word, known, n=1)
    meant = f"; did you mean {near[0]!r}? There are" if near else "; there are"
    return f"{meant}: {', '.join(known)}"


def key_values(given: Sequence[str], option: str = "--option") -> dict[str, str]:
    """What was given by a repeated option, each time as ``key=value``.

    Raises:
        InputError: If one is not of that form, or a key is there twice.
    """
    found: dict[str, str] = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise InputError(f"{option} takes key=value, not {item!r}")
        if key in found:
            raise InputError(f"{option} {key} is there twice")
        found[key] = value
    return found


def corpus_of(report: Report, corpus: str | None, fixtures: Path | None) -> Corpus:
    """The corpus that a report is to be scored against.

    Raises:
        InputError: If the report is on a corpus of the user's own and none is given.
        CorpusError: If it can't be loaded.
    """
    from ..corpus import load_corpus

    name = corpus or report.corpus_name
    if corpus is None and name not in ("native", "official"):
        raise InputError(
            f"the report of {report.provider!r} is on corpus {name!r}; "
            "give its directory by --corpus DIR"
        )
    # Among several reports the fixtures are for those on the official corpus.
    return load_corpus(name, fixtures=fixtures if name == "official" else None)
