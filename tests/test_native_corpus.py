"""The native corpus: its counts, its labels, and that nothing of upstream's is in it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from agreement import agreement_table, kappa, labelled

from pmb_hf.corpus import NATIVE_DIR, load_corpus
from pmb_hf.expectations import expectations
from pmb_hf.schema import CORPUS_FILES, SESSION_CATEGORY

ROOT = Path(__file__).parent.parent
CATEGORIES = {
    "Alias resolution": 23,
    "Scope disambiguation": 12,
    "Fuzzy matching and prefix guards": 7,
    "Design boundary cases": 6,
    "Type routing and open questions": 6,
    "Budget eviction and capacity": 5,
    "Relation expansion": 4,
    "Persona prelude content": 4,
    "Supersession chain exclusion": 3,
    "Ranking stability": 3,
    "Counter-signal retrieval": 2,
    "Cross-user isolation": 1,
    "Cold start behavior": 1,
}


def test_counts_are_those_of_the_benchmark() -> None:
    corpus = load_corpus("native")
    assert len(corpus.beliefs) == 35
    assert Counter(case.category for case in corpus.cases) == CATEGORIES
    assert len(corpus.sessions) == 2
    assert sum(len(session.turns) for session in corpus.sessions) == 12
    wanted = expectations(corpus)
    assert sum(bool(e.gold) for e in wanted.values() if e.turn_index is None) == 43
    assert sum(e.category == SESSION_CATEGORY for e in wanted.values()) == 12


def test_it_has_what_the_benchmark_asks_for() -> None:
    corpus = load_corpus("native")
    beliefs = {belief.id: belief for belief in corpus.beliefs}
    chains = [b for b in corpus.beliefs if b.superseded_by in beliefs]
    assert any(beliefs[b.superseded_by or ""].superseded_by in beliefs for b in chains)
    assert len({b.user_id for b in corpus.beliefs}) == 2
    assert any(case.user_id not in {b.user_id for b in corpus.beliefs} for case in corpus.cases)
    scopes = {scope for belief in corpus.beliefs for scope in belief.scope}
    assert len([scope for scope in scopes if scope.startswith("domain:")]) == 2
    assert {0, 1, 2} <= {case.max_beliefs for case in corpus.cases}
    assert any(b.resolved_at and b.pinned for b in corpus.beliefs)
    assert any(b.participants for b in corpus.beliefs)
    assert any(b.reinforcement_count == 0 for b in corpus.beliefs)
    changes = [c for s in corpus.sessions for turn in s.turns for c in turn.changes]
    assert any(c.create for c in changes)
    assert any(c.add_aliases for c in changes)
    assert any(c.set_content for c in changes)
    assert any(c.superseded_by for c in changes)
    assert len(corpus.sessions[0].turns) >= 10
    assert corpus.sessions[1].depends_on == (corpus.sessions[0].case_id,)


def test_every_case_says_what_it_tests_and_why() -> None:
    corpus = load_corpus("native")
    for case in corpus.cases:
        assert case.description, case.case_id
        assert case.rationale, case.case_id
    for session in corpus.sessions:
        for turn in session.turns:
            assert turn.rationale, (session.case_id, turn.turn_index)
    ranking = [case for case in corpus.cases if case.category == "Ranking stability"]
    assert all(c.expect.relevant.ordered_before or c.expect.pinned.ordered_before for c in ranking)


def test_the_agreement_in_the_design_page_is_the_one_of_the_labels() -> None:
    page = (ROOT / "design" / "native-corpus.md").read_text(encoding="utf-8")
    assert agreement_table() in page


def test_labels_choose_only_what_can_be_chosen() -> None:
    for row in labelled():
        for name, needed in row.needed.items():
            assert needed <= set(row.choosable), (row.key, name)


@pytest.mark.parametrize(
    ("decisions", "value"),
    [
        ([], None),
        ([(False, False)] * 3, None),
        ([(True, True), (False, False)], 1.0),
        ([(True, False), (False, True)], -1.0),
        ([(True, True), (True, False), (False, True), (False, False)], 0.0),
    ],
)
def test_kappa(decisions: list[tuple[bool, bool]], value: float | None) -> None:
    assert kappa(decisions) == value


def test_nothing_of_upstream_is_in_it(upstream_dir: Path) -> None:
    def strings(value: object) -> set[str]:
        if isinstance(value, dict):
            return set().union(*(strings(v) for k, v in value.items() if k != "category"))
        if isinstance(value, list):
            return set().union(*map(strings, value))
        return {value.strip().casefold()} if isinstance(value, str) else set()

    ours: set[str] = set()
    theirs: set[str] = set()
    for name in CORPUS_FILES:
        ours |= strings(json.loads((NATIVE_DIR / name).read_text(encoding="utf-8")))
        theirs |= strings(json.loads((upstream_dir / "fixtures" / name).read_text()))
    shared = {text for text in ours & theirs if len(text) > 16}
    assert shared <= {"implicit_continuation", "establishes_topic"}
