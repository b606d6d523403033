"""Distractors: the same from the same seed, in their shares, and never a right answer."""

from __future__ import annotations

from collections import Counter
from functools import cache

import corpora
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.context import in_scope, is_live
from pmb_hf.corpus import load_corpus
from pmb_hf.errors import CorpusError, InputError
from pmb_hf.grow import KINDS, SHARES, Grower, Grown, Recipe
from pmb_hf.grow.asked import asked_by, questions
from pmb_hf.grow.recipe import BLOCK
from pmb_hf.grow.values import Draw, altered
from pmb_hf.grow.words import FUNCTION_WORDS, THEMES, invented_name, stem_set, stems
from pmb_hf.lint.distractors import lint_distractors
from pmb_hf.schema import OPEN_QUESTION, UNIVERSAL, Belief, Corpus

SEEDS = st.integers(-(2**40), 2**40)
NUMBERS = st.integers(0, 10**8)


@cache
def native() -> Corpus:
    return load_corpus("native")


def grower(count: int = 10**9, seed: int = 0, users: int = 100) -> Grower:
    return Grower(native(), Recipe(count, seed, users))


def rows(count: int, seed: int = 0, **more: int) -> list[tuple[str, Belief]]:
    return list(Grower(native(), Recipe(count, seed, **more)).beliefs())


@given(SEEDS, NUMBERS)
def test_a_number_gives_one_belief(seed: int, number: int) -> None:
    first, second = grower(seed=seed), grower(seed=seed)
    second.belief(0)  # what was made before does not matter
    assert first.belief(number) == second.belief(number)
    assert first.number_of(first.belief(number).id) == number


@given(SEEDS, st.integers(1, 200), st.integers(0, 200))
def test_fewer_are_the_first_of_more(seed: int, count: int, more: int) -> None:
    assert rows(count + more, seed)[:count] == rows(count, seed)


@given(SEEDS, st.integers(1, 400))
def test_kinds_stand_in_their_shares(seed: int, count: int) -> None:
    kinds = Counter(kind for kind, _ in rows(count, seed))
    assert set(kinds) <= set(KINDS)
    for kind, share in SHARES.items():
        whole = count // BLOCK * share
        assert whole <= kinds[kind] <= whole + share


@given(SEEDS, NUMBERS)
def test_none_is_a_right_answer_by_the_rules_of_the_harness(seed: int, number: int) -> None:
    made = grower(seed=seed)
    start = number // BLOCK * BLOCK
    asked = list(questions(native()))
    for kind, belief in made.beliefs(start, start + BLOCK):
        could = any(
            belief.user_id == question.user_id
            and is_live(belief)
            and in_scope(belief, question.scopes)
            and not belief.pinned
            and belief.type != OPEN_QUESTION
            for question in asked
        )
        assert not could or kind == "unrelated", (kind, belief)


@given(SEEDS, NUMBERS)
def test_the_unrelated_share_no_word_with_the_corpus(seed: int, number: int) -> None:
    words = asked_by(native()).stems
    start = number // BLOCK * BLOCK
    for kind, belief in grower(seed=seed).beliefs(start, start + BLOCK):
        if kind == "unrelated":
            said = stem_set((belief.canonical_name, *belief.aliases, belief.content))
            assert not said & words


@given(SEEDS, st.integers(1, 10**6), NUMBERS)
def test_the_linter_finds_nothing(seed: int, users: int, start: int) -> None:
    made = grower(seed=seed, users=users)
    beliefs = [belief for _, belief in made.beliefs(start, start + 3 * BLOCK)]
    assert list(lint_distractors(native(), beliefs)) == []


def test_each_kind_is_what_it_says() -> None:
    corpus = native()
    by_id = {belief.id: belief for belief in corpus.beliefs}
    by_name = {belief.canonical_name: belief for belief in corpus.beliefs}
    names = {name for b in corpus.beliefs for name in (b.canonical_name, *b.aliases)}
    scopes = asked_by(corpus).scopes
    mine = {belief.user_id for belief in corpus.beliefs}
    seen = Counter[str]()
    for kind, belief in rows(2000, seed=5):
        seen[kind] += 1
        if kind == "near_duplicate":
            original = by_name[belief.canonical_name]
            assert belief.content != original.content
            assert (belief.aliases, belief.user_id) == (original.aliases, original.user_id)
            assert scopes.isdisjoint(belief.scope)
        elif kind == "other_user_copy":
            original = by_name[belief.canonical_name]
            assert (belief.content, belief.scope) == (original.content, original.scope)
            assert belief.user_id not in mine
        elif kind == "homonym":
            assert belief.canonical_name in by_name
            assert belief.content != by_name[belief.canonical_name].content
            assert scopes.isdisjoint(belief.scope)
        elif kind == "superseded":
            original = by_id[belief.superseded_by or ""]
            assert belief.epistemic_status == "superseded"
            assert belief.canonical_name == original.canonical_name
            assert (belief.user_id, belief.scope) == (original.user_id, original.scope)
        elif kind == "resolved":
            assert belief.type == OPEN_QUESTION
            assert belief.resolved_at
        elif kind == "alias_collision":
            assert set(belief.aliases) <= names
            assert belief.user_id not in mine or scopes.isdisjoint(belief.scope)
        else:
            assert is_live(belief)
            assert belief.user_id in mine
            assert UNIVERSAL not in belief.scope
    assert set(seen) == set(KINDS)


def test_unrelated_ones_pass_every_filter_of_the_asker() -> None:
    """Else a store that filters well would not notice how many there are."""
    asked = {(q.user_id, scope) for q in questions(native()) for scope in q.scopes}
    inside = [b for kind, b in rows(2000) if kind == "unrelated"]
    assert sum((b.user_id, b.scope[0]) in asked for b in inside) > len(inside) * 0.9


def test_other_users_are_as_many_as_asked_for() -> None:
    mine = asked_by(native()).users
    others = {belief.user_id for _, belief in rows(2000, users=7)} - mine
    assert len(others) == 7


def test_a_scope_in_which_a_query_takes_all_stays_closed() -> None:
    corpus = corpora.parsed()
    for question in questions(corpus):
        if question.takes_all:
            closed = {(question.user_id, scope) for scope in question.scopes}
            assert closed <= asked_by(corpus).closed
    made = Grower(corpus, Recipe(400))
    shut = asked_by(corpus).closed
    for kind, belief in made.beliefs():
        if kind == "unrelated":
            assert not {(belief.user_id, scope) for scope in belief.scope} & shut
    assert list(lint_distractors(corpus, (b for _, b in made.beliefs()))) == []


def test_a_corpus_that_speaks_of_every_theme_still_grows() -> None:
    """Then words are invented."""
    from dataclasses import replace

    corpus = native()
    said = " ".join(" ".join(theme) for theme in THEMES)
    first = replace(corpus.beliefs[0], content=said)
    full = replace(corpus, beliefs=(first, *corpus.beliefs[1:]))
    beliefs = [belief for _, belief in Grower(full, Recipe(200)).beliefs()]
    assert list(lint_distractors(full, beliefs)) == []


def test_the_official_corpus_grows_too(upstream_dir) -> None:
    corpus = load_corpus("official", fixtures=upstream_dir / "fixtures")
    beliefs = (belief for _, belief in Grower(corpus, Recipe(1000)).beliefs())
    assert list(lint_distractors(corpus, beliefs)) == []


@pytest.mark.parametrize("change", [{"count": 0}, {"count": 10**10}, {"users": 0}, {"version": 99}])
def test_a_recipe_out_of_range_is_refused(change: dict[str, int]) -> None:
    with pytest.raises(InputError):
        Recipe(**{"count": 10, **change})


def test_a_corpus_with_ids_like_distractors_is_refused() -> None:
    from dataclasses import replace

    corpus = native()
    taken = replace(corpus.beliefs[0], id="grown-000000001")
    with pytest.raises(CorpusError, match="grown-"):
        Grower(replace(corpus, beliefs=(taken, *corpus.beliefs[1:])), Recipe(10))


def test_distractors_are_found_by_id_and_nothing_else_is() -> None:
    grown = Grown(native(), Recipe(50, seed=3))
    beliefs = list(grown.beliefs())
    strange = [
        "b-petra",
        "grown-000000050",
        "grown-1",
        "grown-00000000１",
        "grown-",
        "",
        "grown--1",
    ]
    found = grown.find([beliefs[7].id, beliefs[49].id, *strange])
    assert found == {b.id: b for b in (beliefs[7], beliefs[49])}


@given(st.text(max_size=80), st.integers())
def test_altered_texts_differ_or_have_no_value(text: str, seed: int) -> None:
    new = altered(text, Draw(seed))
    assert new is None or new != text


def test_altered_keeps_the_words() -> None:
    new = altered("Six plants on Monday, 94 dBA, left of the red door.", Draw(1))
    assert new is not None
    assert new.startswith("Six plants on ")
    assert "Monday" not in new
    assert "94" not in new
    assert "red" not in new


@given(st.integers(0, 10**7))
def test_invented_names_are_single_words(number: int) -> None:
    name = invented_name(number)
    assert name.isalpha()
    assert name[0].isupper()
    assert len(list(stems(name))) == 1


def test_sentences_are_made_of_function_words_alone() -> None:
    """Between the blanks: every other word of a distractor is chosen against the corpus."""
    from pmb_hf.grow.recipe import _SENTENCES

    blanks = dict.fromkeys("npqmauk", "")
    for sentence in _SENTENCES:
        assert not list(stems(sentence.format(**blanks))), sentence
    assert all(word == word.casefold() for word in FUNCTION_WORDS)
