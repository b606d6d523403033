"""The leaderboard's part of the card: tables in Markdown, safe whatever a provider is called."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from .dataset_card import markdown_table, renew
from .errors import PmbError
from .leaderboard.facts import CONTROL, PUBLISHED, Row
from .leaderboard.marks import RETRIEVAL, SESSION
from .leaderboard.subjects import OFFICIAL
from .leaderboard.tables import shown_rules
from .official import COMMIT, REPOSITORY
from .summary import round_half_up
from .tables.text import clean

PART = "leaderboard"
_BEFORE = "\n## Load it\n"
_NAME_LENGTH, _MARK_LENGTH = 80, 200
_NONE = "–"
_SEAL = "<!-- as exported: {} -->"

HOW_TO = """\
There are no runs yet. `pmb run --provider NAME` makes a report, and `pmb export reports/*.json`
puts it here; `pmb providers` says which systems there are."""

OFFICIAL_IDS = f"""\
Cases and beliefs of this corpus are those of [{REPOSITORY}](https://github.com/{REPOSITORY}) at
commit `{COMMIT[:7]}`, Copyright (c) 2026 Jeffrey Flynt, under the MIT license. Only their ids
are here; `pmb data fetch` gets their texts."""

_HEAD = ("rank", "system", "passed", "active", "precision", "recall", "drift", "p50 ms", "remarks")


def with_leaderboard(template: str, section: str) -> str:
    """The card's template with the leaderboard's section before the one on loading.

    Raises:
        PmbError: If the template has no such place.
    """
    before, found, after = template.partition(_BEFORE)
    if not found:
        raise PmbError("the card's template has no section '## Load it'")
    return f"{before}\n{section.rstrip()}\n{found}{after}"


def sealed(card: str) -> str:
    """The card with the hash of its text at the end, by which `is_own` knows it again."""
    return f"{card.rstrip()}\n\n{_SEAL.format(_hash(card))}\n"


def is_own(card: str) -> bool:
    """Whether a card is as an export wrote it. One without a seal is, if it has our parts."""
    text, found, rest = card.rpartition("\n\n" + _SEAL.partition("{")[0])
    if not found:
        return f"<!-- {PART} -->" in card
    return rest.strip() == f"{_hash(text)} -->"


def _hash(card: str) -> str:
    return hashlib.sha256(card.rstrip().encode()).hexdigest()[:16]


def leaderboard_part(card: str, board: Row) -> str:
    """The card with the tables of ``board`` in their place."""
    return renew(card, PART, "\n\n".join(_blocks(board)))


def _blocks(board: Row) -> Iterable[str]:
    rules = board["defaultRules"]
    own = [row for row in board["rows"] if row["source"] not in (CONTROL, PUBLISHED)]
    if not own:
        yield HOW_TO
    for corpus in board["corpora"]:
        rows = [row for row in board["rows"] if row["corpus"] == corpus["id"]]
        ours = [row for row in rows if row["source"] != PUBLISHED]
        if any(row["source"] != CONTROL for row in ours):
            name, digest = _code(corpus["name"]), _code(corpus["sha256"] or "not known")
            yield f"### Corpus `{name}`, SHA-256 `{digest}`"
            if corpus["name"] == OFFICIAL:
                yield OFFICIAL_IDS
            yield _table(ours, rules)
    told = [row for row in board["rows"] if row["source"] == PUBLISHED]
    for edition in sorted({row["edition"] for row in told}, reverse=True):
        same = [row for row in told if row["edition"] == edition]
        under = f"upstream-{edition}"
        yield f"### Published by upstream ({edition}), not run by us; rules `{under}`"
        yield _table(same, under)


def _table(rows: Sequence[Row], rules: str) -> str:
    found = [(row, row["scores"][shown_rules(row, rules)]) for row in rows]
    lines = [_line(row, figures, shown_rules(row, rules) == rules) for row, figures in found]
    order = sorted(range(len(rows)), key=lambda n: _place(*found[n]))
    return markdown_table(_HEAD, [lines[n] for n in order])


def _place(row: Row, figures: Row) -> tuple[Any, ...]:
    part = figures[RETRIEVAL] or {}
    summary = part.get("summary") or {}
    rank = part.get("rank")
    merit = (summary.get("passed_active") or 0, summary.get("passed") or 0)
    control = row["source"] == CONTROL
    return (control, rank is None, rank or 0, *(-value for value in merit), row["label"])


def _line(row: Row, figures: Row, same_rules: bool) -> list[str]:
    part, session = figures[RETRIEVAL], figures[SESSION]
    summary: Mapping[str, Any] = (part or {}).get("summary") or {}
    turns: Mapping[str, Any] = (session or {}).get("summary") or {}
    rank = (part or {}).get("rank")
    remarks = [mark["text"] for mark in figures["marks"]]
    if not same_rules:
        remarks.insert(0, "under other rules")
    return [
        _NONE if rank is None else str(rank),
        markdown_text(row["label"], _NAME_LENGTH),
        _passed(part, summary),
        _number(summary.get("passed_active"), 0),
        _mean(summary, "precision"),
        _mean(summary, "recall"),
        _mean(turns, "drift"),
        _number(summary.get("p50_latency_ms"), 2),
        markdown_text("; ".join(remarks), _MARK_LENGTH) or "",
    ]


def _passed(part: Mapping[str, Any] | None, summary: Mapping[str, Any]) -> str:
    if part is None:
        return _NONE
    if not summary:
        return f"{part['answered']}/{part['of']} cases"
    return f"{summary.get('passed', _NONE)}/{summary.get('cases', _NONE)}"


def _mean(summary: Mapping[str, Any], name: str) -> str:
    value, n = summary.get(f"mean_{name}"), summary.get(f"n_{name}")
    shown = _number(value, 3)
    return shown if value is None or n is None else f"{shown} ({n})"


def _number(value: float | None, digits: int) -> str:
    return _NONE if value is None else f"{round_half_up(value, digits):.{digits}f}"


def markdown_text(text: str, limit: int) -> str:
    r"""Foreign text as text: no markup, no link, no line of its own.

    >>> print(markdown_text("a|<b>[c](d)`", 80))
    a\|&lt;b&gt;\[c\](d)\`
    """
    safe = escape(clean(text, limit), quote=False)
    safe = re.sub(r"([\\`*_\[\]|~#!])", r"\\\1", safe)
    # What looks like an address becomes a link by itself.
    return safe.replace("://", ":&#47;&#47;").replace("www.", "www&#46;").replace("@", "&#64;")


def _code(text: str) -> str:
    return clean(text, _NAME_LENGTH).replace("`", "'")
