"""Tests of pmb_hf.dataset_rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pmb_hf.asking import Asker, Query
from pmb_hf.corpus import load_corpus
from pmb_hf.dataset_rows import (
    BOOL,
    CONFIGS,
    DEFAULT_CONFIG,
    FLOAT,
    INT,
    PAIRS,
    SCORE,
    STRING,
    STRINGS,
    Row,
    query_id,
    rows,
)
from pmb_hf.expectations import expectations
from pmb_hf.parsing import parse_corpus
from pmb_hf.providers.controls import EmptyProvider
from pmb_hf.rows import KIND_COLUMNS, expectation_from_row
from pmb_hf.rules import get_rules
from pmb_hf.schema import BELIEFS_FILE, CASES_FILE, SESSIONS_FILE, Corpus
from pmb_hf.states import moments, seed
from pmb_hf.strict import Reader

NATIVE = load_corpus()
PYTHON = {STRING: str, BOOL: bool, INT: int, SCORE: int, FLOAT: float}
NULLABLE = {
    *("rationale", "notes", "description", "label", "assistant_message", "turn_signal"),
    *("changes", "depends_on", "relevant_should_only_include", "questions_should_only_include"),
    *("prelude_non_empty", "prelude_is_null", "resolved_at", "superseded_by", "relation_type"),
    *("subtype", "why_it_matters", "last_reinforced_at", "created_at", "updated_at"),
}


@pytest.fixture(params=["native", "official"])
def corpus(request: pytest.FixtureRequest) -> Corpus:
    """Each corpus in turn; the official one if its files are here."""
    if request.param == "native":
        return NATIVE
    upstream: Path = request.getfixturevalue("upstream_dir")
    return load_corpus("official", fixtures=upstream / "fixtures")


def fits(value: Any, kind: str) -> bool:
    """Whether a value is of a column's type."""
    if kind == STRINGS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind == PAIRS:
        return isinstance(value, list) and all(fits(item, STRINGS) for item in value)
    return type(value) is PYTHON[kind]


@pytest.mark.parametrize("config", CONFIGS)
def test_rows_have_exactly_the_columns_and_their_types(corpus: Corpus, config: str) -> None:
    for row in rows(corpus, config):
        assert list(row) == [column.name for column in CONFIGS[config].columns]
        for column in CONFIGS[config].columns:
            value = row[column.name]
            assert fits(value, column.type) or (value is None and column.name in NULLABLE), column


@pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))
def test_columns_are_named_once_and_described(config: Any) -> None:
    names = [column.name for column in config.columns]
    assert len(set(names)) == len(names)
    for column in config.columns:
        assert column.description.endswith("."), column
        assert "|" not in column.description, "it would break the card's table"
        assert "\n" not in column.description


def test_counts() -> None:
    counts = {config: len(rows(NATIVE, config)) for config in CONFIGS}
    assert counts == {
        "retrieval": 77,
        "sessions": 12,
        "beliefs": 35,
        "corpus": 37,
        "queries": 89,
        "qrels": counts["qrels"],
    }
    assert DEFAULT_CONFIG in CONFIGS


def test_unknown_config() -> None:
    with pytest.raises(KeyError, match="nope"):
        rows(NATIVE, "nope")


def test_rows_are_references(corpus: Corpus) -> None:
    made = [*rows(corpus, "retrieval"), *rows(corpus, "sessions")]
    assert [expectation_from_row(row) for row in made] == list(expectations(corpus).values())


def test_kind_columns_hold_every_belief_once(corpus: Corpus) -> None:
    seeded = sorted(seed(corpus))
    for row in rows(corpus, "retrieval"):
        assert sorted(b for column in KIND_COLUMNS.values() for b in row[column]) == seeded
    for row, moment in zip(rows(corpus, "sessions"), moments(corpus), strict=True):
        held = sorted(b for column in KIND_COLUMNS.values() for b in row[column])
        assert held == sorted(moment.store)


def test_provider_decides_says_whether_a_run_asks(corpus: Corpus) -> None:
    class Asked(EmptyProvider):
        asked = 0

        def search(self, **arguments: Any) -> Any:
            self.asked += 1
            return super().search(**arguments)

    provider = Asked()
    asker = Asker(provider, get_rules("spec"))
    store = seed(corpus)
    decided = []
    for case in corpus.cases:
        before = provider.asked
        asker.ask(Query("c", "", case.user_id, case.scope, case.query, case.max_beliefs), store)
        decided.append(provider.asked > before)
    assert [row["provider_decides"] for row in rows(corpus, "retrieval")] == decided
    assert 0 < sum(decided) < len(decided)


def test_room_and_budget() -> None:
    made = {row["case_id"]: row for row in rows(NATIVE, "retrieval")}
    for case in NATIVE.cases:
        row = made[case.case_id]
        assert row["max_beliefs"] == (20 if case.max_beliefs is None else case.max_beliefs)
        assert 0 <= row["room"] <= row["max_beliefs"]
        if row["pass_kind"] == "trivially_empty":
            assert not row["provider_decides"]


def test_none_and_empty_are_kept_apart() -> None:
    expects: list[Row] = [{"relevantBeliefs": {"shouldOnlyInclude": []}}, {"pinnedFacts": {}}]
    made = rows(small([{"expect": expect} for expect in expects]), "sessions")
    assert [row["relevant_should_only_include"] for row in made] == [[], None]
    assert [row["must_be_empty"] for row in made] == [True, False]


def test_changes_are_strict_json() -> None:
    changed = [row for row in rows(NATIVE, "sessions") if row["changes"] is not None]
    wanted = [turn for session in NATIVE.sessions for turn in session.turns if turn.changes]
    assert len(changed) == len(wanted) > 0
    for row, turn in zip(changed, wanted, strict=True):
        for found, change in zip(json.loads(row["changes"]), turn.changes, strict=True):
            if change.create is None:
                assert found["belief_id"] == change.belief_id
                assert None not in found.values()
            else:
                assert found["create"]["id"] == change.create.id
                assert found["create"]["content"] == change.create.content


def test_retrieval_layout_joins(corpus: Corpus) -> None:
    documents = Counter(row["_id"] for row in rows(corpus, "corpus"))
    queries = Counter(row["_id"] for row in rows(corpus, "queries"))
    assert max(documents.values()) == max(queries.values()) == 1
    pairs = Counter((row["query-id"], row["corpus-id"]) for row in rows(corpus, "qrels"))
    assert max(pairs.values()) == 1
    assert {query for query, _ in pairs} <= set(queries)
    assert {document for _, document in pairs} <= set(documents)
    gold = {
        query_id(row["case_id"], row.get("turn_index")): set(row["gold"])
        for row in (*rows(corpus, "retrieval"), *rows(corpus, "sessions"))
    }
    assert set(gold) == set(queries)
    for query in {query for query, _ in pairs}:
        assert {document for other, document in pairs if other == query} == gold[query]


def small(session_turns: list[Row]) -> Corpus:
    """A corpus of one belief and one session."""
    belief = {
        "_id": "kiln",
        "user_id": "ada",
        "type": "entity",
        "canonical_name": "kiln_no_2",
        "aliases": ["oven"],
        "content": "Fires at 1240 degrees.",
        "scope": ["domain:pottery"],
    }
    turns = [
        {
            "turnIndex": number,
            "scope": ["domain:pottery"],
            "userMessage": f"How hot is it, {number}?",
            "topics": ["kiln"],
            "expect": {"relevantBeliefs": {"shouldOnlyInclude": ["kiln"]}},
            **turn,
        }
        for number, turn in enumerate(session_turns)
    ]
    session = {"caseId": "s", "turns": turns}
    files = {BELIEFS_FILE: [belief], CASES_FILE: [], SESSIONS_FILE: [session]}
    return parse_corpus("small", files, Reader())


def test_a_turn_about_what_changed_is_not_in_qrels() -> None:
    update = {"beliefId": "kiln", "setContent": "Fires at 1100 degrees."}
    made = small([{"updateBeliefAtTurn": update}, {}])
    assert [row["query-id"] for row in rows(made, "qrels")] == ["s#0"]
    assert [row["_id"] for row in rows(made, "queries")] == ["s#0", "s#1"]


def test_what_a_corpus_leaves_out_is_null() -> None:
    made = small([{}])
    (turn,) = rows(made, "sessions")
    absent = ("rationale", "notes", "label", "assistant_message", "changes", "depends_on")
    assert {turn[name] for name in absent} == {None}
    (belief,) = rows(made, "beliefs")
    assert belief["created_at"] is None
    assert belief["text"] == "kiln no 2, oven: Fires at 1240 degrees."
    (document,) = rows(made, "corpus")
    assert document["title"] == "kiln no 2"
