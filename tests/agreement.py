"""Agreement between labels and gold: percent and Cohen's kappa, by category.

A label says, for a case and a belief that a right answer could hold, whether
the belief is needed. Kappa is Cohen's (1960), over these decisions; it is
``None`` where both sides only ever say no.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pmb_hf.context import eligible
from pmb_hf.corpus import load_corpus
from pmb_hf.expectations import expectations
from pmb_hf.schema import SESSION_CATEGORY
from pmb_hf.states import moments, seed

LABELS = Path(__file__).parent / "data" / "native_labels.json"
PAIRS = (("first", "gold"), ("second", "gold"), ("first", "second"))


class Labelled(NamedTuple):
    """One case or turn with who says that what is needed."""

    key: str
    category: str
    choosable: tuple[str, ...]
    needed: dict[str, frozenset[str]]


def labelled() -> Iterator[Labelled]:
    """Every case and turn of the native corpus with gold and both labels."""
    corpus = load_corpus("native")
    labels = json.loads(LABELS.read_text(encoding="utf-8"))
    wanted = expectations(corpus)
    store = seed(corpus)

    def row(key: str, category: str, choosable: tuple[str, ...], gold: frozenset[str]) -> Labelled:
        needed = {name: frozenset(labels[name][key]) for name in ("first", "second")}
        return Labelled(key, category, choosable, {**needed, "gold": gold})

    for case in corpus.cases:
        choosable = eligible(store, case.user_id, case.scope)
        yield row(case.case_id, case.category, choosable, wanted[case.case_id, None].gold)
    for moment in moments(corpus):
        name, turn = moment.session.case_id, moment.turn
        choosable = eligible(moment.store, moment.session.user_id, turn.scope)
        gold = wanted[name, turn.turn_index].gold
        yield row(f"{name}#{turn.turn_index}", SESSION_CATEGORY, choosable, gold)


def kappa(decisions: list[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of paired yes/no decisions."""
    n = len(decisions)
    if not n:
        return None
    agreed = sum(a == b for a, b in decisions) / n
    first = sum(a for a, _ in decisions) / n
    second = sum(b for _, b in decisions) / n
    chance = first * second + (1 - first) * (1 - second)
    return None if chance == 1 else (agreed - chance) / (1 - chance)


def agreement_table() -> str:
    """The table of design/native-corpus.md."""
    rows = list(labelled())
    categories = [*dict.fromkeys(row.category for row in rows), "all"]
    lines = [
        "| category | cases | decisions | first / gold | second / gold | first / second |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for category in categories:
        chosen = [row for row in rows if category in (row.category, "all")]
        decisions = sum(len(row.choosable) for row in chosen)
        cells = [category, str(len(chosen)), str(decisions)]
        for a, b in PAIRS:
            same = sum(row.needed[a] == row.needed[b] for row in chosen)
            pairs = [
                (belief in row.needed[a], belief in row.needed[b])
                for row in chosen
                for belief in row.choosable
            ]
            value = kappa(pairs)
            shown = "–" if value is None else f"{value:.2f}"
            cells.append(f"{same} ({100 * same / len(chosen):.0f} %), κ {shown}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
