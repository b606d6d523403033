"""Texts that were taken out of a report before it was published, and what can be made again.

A report of the official corpus quotes texts that are not the exporter's to publish. Ids and
figures stay. The persona prelude is made again from the corpus when the report is scored,
as the harness had made it, so that its figures are the same. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .context import persona_prelude
from .expectations import RetrievalKey
from .measured import Record
from .records import Rules
from .schema import Corpus
from .states import moments, seed

KEY = "withheld"
"""Where a report's provenance says so."""

FIELDS = ("description", "label", "personaPrelude")

_QUOTED = re.compile(r"persona prelude (lacks|contains): .*", re.DOTALL)
_UNQUOTED = {
    "lacks": "persona prelude lacks a text that it must contain",
    "contains": "persona prelude contains a text that it must not",
}


def without_text(failure: str) -> str:
    """A failure without the words that it quotes from the corpus; ids stay.

    >>> without_text("persona prelude lacks: in metres")
    'persona prelude lacks a text that it must contain'
    """
    return _QUOTED.sub(lambda found: _UNQUOTED[found[1]], failure)


def withhold(tree: Mapping[str, Any], corpus: Corpus, run_rules: Rules) -> dict[str, Any]:
    """A written report (``report_json.report_tree``) without texts of its corpus."""
    made = dict(tree)
    preludes, queries = _preludes(corpus, run_rules), _queries(corpus)
    session = tree.get("session")
    odd: list[list[Any]] = []

    def rows(given: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [_row(row, preludes, queries, odd) for row in given]

    if "cases" in tree:
        made["cases"] = rows(tree["cases"])
    if isinstance(session, Mapping):
        made["session"] = {**session, "cases": rows(session["cases"])}
    if "distractors" in tree:
        made["distractors"] = [_belief(belief) for belief in tree["distractors"]]
    told: dict[str, Any] = {"fields": list(FIELDS)}
    if odd:
        told["notRestored"] = odd
    made["provenance"] = {**tree.get("provenance", {}), KEY: told}
    return made


def _row(
    row: Mapping[str, Any],
    preludes: Mapping[RetrievalKey, str],
    queries: Mapping[RetrievalKey, str],
    odd: list[list[Any]],
) -> dict[str, Any]:
    key = row["caseId"], row.get("turnIndex")
    if row["personaPrelude"] != preludes[key]:
        odd.append(list(key))  # it was not given, or was another text: it can't be made again
    query = queries[key].strip()

    def bare(text: str) -> str:
        """A service may say again what it was asked."""
        return text.replace(query, "…") if query else text

    shown = dict(row) | {
        "personaPrelude": None,
        "failures": [bare(without_text(failure)) for failure in row["failures"]],
        "error": row["error"] and bare(row["error"]),
    }
    for name in ("description", "label"):
        if name in shown:
            shown[name] = ""
    return shown


def _belief(belief: Mapping[str, Any]) -> dict[str, Any]:
    """A distractor by its kind alone; its words may be made of the corpus's."""
    blank = {"content": "", "canonical_name": belief["_id"], "aliases": [], "why_it_matters": ""}
    return dict(belief) | {name: value for name, value in blank.items() if name in belief}


def restored(
    records: Iterable[Record], provenance: Mapping[str, Any], corpus: Corpus, run_rules: Rules
) -> tuple[Record, ...]:
    """The records with the preludes that were taken out of the report."""
    told = provenance.get(KEY)
    if not isinstance(told, Mapping):
        return tuple(records)
    odd = {tuple(key) for key in told.get("notRestored") or () if isinstance(key, list)}
    preludes = _preludes(corpus, run_rules)
    return tuple(
        replace(record, prelude=preludes.get(record.key))
        if record.prelude is None and record.key not in odd
        else record
        for record in records
    )


def _preludes(corpus: Corpus, run_rules: Rules) -> dict[RetrievalKey, str]:
    store = seed(corpus)
    by_user = {user: persona_prelude(store, user) for user in {c.user_id for c in corpus.cases}}
    found: dict[RetrievalKey, str] = {(c.case_id, None): by_user[c.user_id] for c in corpus.cases}
    for moment in moments(corpus, shared=run_rules.session_state == "shared"):
        key = moment.session.case_id, moment.turn.turn_index
        found[key] = persona_prelude(moment.store, moment.session.user_id)
    return found


def _queries(corpus: Corpus) -> dict[RetrievalKey, str]:
    found: dict[RetrievalKey, str] = {(case.case_id, None): case.query for case in corpus.cases}
    for session in corpus.sessions:
        for turn in session.turns:
            found[session.case_id, turn.turn_index] = turn.query
    return found
