"""The board as Space and static page show it: rows, cases and answers, all of them plain JSON.

Texts from data are made safe to show (``tables.text.clean``) where rows are made;
here they are chosen, put in order and compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from ..rules import RULES
from ..stats import bootstrap, mean

Key = tuple[str, int | None]
"""``(case_id, turn_index)``; the turn is ``None`` for a single-turn case."""

CONTROLS, PUBLISHED, INCOMPLETE, APART = KINDS = (
    "floor and ceiling",
    "published by upstream",
    "incomplete",
    "not comparable",
)
"""Rows that a reader may hide."""

SYSTEMS_COMPARED = 4
_COMPARED = {
    "Single turn": ("passed", "precision", "recall"),
    "Sessions": ("passed", "precision", "recall", "drift"),
}


@dataclass(frozen=True)
class Board:
    """Everything that is shown.

    Attributes:
        entries: The rows; each names its ``corpus`` and ``rules``.
        cases: For each corpus its cases and turns in order: ``case_id``, ``turn``,
            ``category``, ``title`` and ``info`` (query, expected beliefs, texts).
        answers: For each row's id, its answers by :data:`Key`.
        problems: What of the export could not be read, in sentences.
        corpora: For each corpus what there is to say of it: ``sha256``.
        updated: When the export was made, as text; ``None`` if it does not say.
        origin: Where it was read from.
    """

    entries: Sequence[Mapping[str, Any]] = ()
    cases: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    answers: Mapping[str, Mapping[Key, Mapping[str, Any]]] = field(default_factory=dict)
    problems: Sequence[str] = ()
    corpora: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    updated: str | None = None
    origin: str = ""

    def names(self) -> list[str]:
        """The corpora that there are rows of."""
        return list(dict.fromkeys(str(row["corpus"]) for row in self.entries))

    def choices(self) -> list[tuple[str, str]]:
        """The corpora as they are called, and their ids."""
        found = {name: str(self.corpora.get(name, {}).get("name") or name) for name in self.names()}
        alike = list(found.values())
        return [(name if alike.count(label) > 1 else label, name) for name, label in found.items()]

    def rules(self, corpus: str) -> list[str]:
        """The rule sets under which there are rows of a corpus, the default first."""
        found = {str(row["rules"]) for row in self.entries if row["corpus"] == corpus}
        return [name for name in RULES if name in found] + sorted(found - RULES.keys())

    def choose(self, corpus: str = "", rules: str = "") -> tuple[str, str]:
        """That corpus and those rules, or the first there are; empty if there is no row."""
        names = self.names()
        if not names:
            return "", ""
        chosen = corpus if corpus in names else names[0]
        known = self.rules(chosen)
        return chosen, rules if rules in known else known[0]

    def rows(self, corpus: str, rules: str) -> list[Mapping[str, Any]]:
        """The rows of a corpus under a set of rules."""
        return [r for r in self.entries if r["corpus"] == corpus and r["rules"] == rules]

    def titles(self, corpus: str) -> list[tuple[str, str]]:
        """Title and id of each case and session of a corpus."""
        found: dict[str, str] = {}
        for case in self.cases.get(corpus, ()):
            found.setdefault(str(case["case_id"]), str(case["title"]))
        return [(title, case_id) for case_id, title in found.items()]

    def case(self, corpus: str, case_id: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """A case or a session turn by turn, and what ``rows`` answered."""
        found = [c for c in self.cases.get(corpus, ()) if c["case_id"] == case_id]
        if not found:
            return {"empty": "Choose a case." if self.cases.get(corpus) else NO_CASES}
        turns = [
            {
                "title": case["turn_title"],
                "info": case["info"],
                "answers": [
                    {"name": row["name"], **answer}
                    for row in rows
                    if (answer := self._answer(row, case)) is not None
                ],
            }
            for case in found
        ]
        first = found[0]
        return {
            "title": first["title"],
            "category": first["category"],
            "description": first["description"],
            "turns": turns,
        }

    def _answer(self, row: Mapping[str, Any], case: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self.answers.get(row["id"], {}).get((case["case_id"], case["turn"]))

    def compare(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Two to four rows of one corpus under the same rules, case by case."""
        chosen = list(rows)[:SYSTEMS_COMPARED]
        corpus = str(chosen[0]["corpus"]) if chosen else ""
        categories = dict.fromkeys(c for row in chosen for c in row["categories"])
        cases = self.cases.get(corpus, ())
        return {
            "systems": [{"name": r["name"], "categories": r["categories"]} for r in chosen],
            "categories": list(categories),
            "pairs": [self._pair(a, b) for a, b in combinations(chosen, 2)],
            "parting": list(self._parting(chosen, cases)),
            "cases": len({k for row in chosen for k in self.answers.get(row["id"], ())}),
        }

    def _pair(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
        first, second = self.answers.get(a["id"], {}), self.answers.get(b["id"], {})
        measures = []
        for part, names in _COMPARED.items():
            session = part == "Sessions"
            keys = [k for k in first if k in second and (k[1] is not None) == session]
            pairs = [(first[key], second[key]) for key in keys]
            for name in names:
                label = f"{part}: {'pass rate' if name == 'passed' else name}"
                if (found := _difference(label, name, pairs)) is not None:
                    measures.append(found)
        marks = [f"{row['name']}: {text}" for row in (a, b) for text in row["marks"]]
        return {"a": a["name"], "b": b["name"], "measures": measures, "marks": marks}

    def _parting(
        self, rows: Sequence[Mapping[str, Any]], cases: Iterable[Mapping[str, Any]]
    ) -> Iterable[dict[str, Any]]:
        for case in cases:
            found = [self._answer(row, case) for row in rows]
            passed = [None if answer is None else bool(answer["passed"]) for answer in found]
            if True in passed and False in passed:
                place = None if case["turn"] is None else f"turn {case['turn']}"
                turn = f", {case['turn_title']}" if case["turn_title"] else ""
                yield {
                    "title": case["title"].removesuffix(" (session)") if place else case["title"],
                    "place": place,
                    "full": case["title"] + turn,
                    "passed": passed,
                    "query": case["info"]["query"],
                }


NO_CASES = "The export holds no cases of this corpus."


def _difference(
    label: str, name: str, pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> dict[str, Any] | None:
    """The paired difference of a measure; ``None`` if no pair has it.

    The interval is :func:`~pmb_hf.stats.bootstrap`'s, as in ``pmb compare``.
    """
    values = [
        (float(a[name]), float(b[name]))
        for a, b in pairs
        if a.get(name) is not None and b.get(name) is not None
    ]
    differences = [b - a for a, b in values]
    interval = bootstrap(differences)
    if interval is None:
        return None
    better = -1 if name == "drift" else 1
    wins = sum(d * better > 0 for d in differences)
    losses = sum(d * better < 0 for d in differences)
    return {
        "label": label,
        "n": len(values),
        "a": mean([a for a, _ in values]),
        "b": mean([b for _, b in values]),
        "difference": mean(differences),
        "low": interval.low,
        "high": interval.high,
        "wins": wins,
        "losses": losses,
        "ties": len(values) - wins - losses,
    }


def matching(
    rows: Iterable[Mapping[str, Any]], query: str, shown: Sequence[str] = KINDS
) -> list[Mapping[str, Any]]:
    """The rows that hold all words of ``query`` and are of no kind that is hidden."""
    words = query.casefold().split()
    return [
        row
        for row in rows
        if all(word in row["search"] for word in words)
        and not any(row[_FLAGS[kind]] for kind in KINDS if kind not in shown)
    ]


_FLAGS = {CONTROLS: "control", PUBLISHED: "published", INCOMPLETE: "incomplete", APART: "apart"}
