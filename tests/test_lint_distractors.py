"""The linter tells every way in which a distractor could change an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from pmb_hf.corpus import load_corpus
from pmb_hf.grow import Grower, Recipe
from pmb_hf.grow.asked import asked_by, questions
from pmb_hf.lint.distractors import lint_distractors
from pmb_hf.schema import OPEN_QUESTION, Belief

CORPUS = load_corpus("native")
GROWER = Grower(CORPUS, Recipe(1000))
UNRELATED = next(
    b
    for kind, b in GROWER.beliefs()
    if kind == "unrelated" and b.scope == ("domain:theatre",) and b.user_id == "maren"
)


def codes(*beliefs: Belief) -> list[str]:
    return [finding.code for finding in lint_distractors(CORPUS, beliefs)]


def changed(**fields: Any) -> list[str]:
    return codes(replace(UNRELATED, **fields))


def test_a_good_one_is_not_complained_of() -> None:
    assert codes(UNRELATED) == []


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"content": "The smoke comes from the left wing."}, "distractor-right-answer"),
        ({"aliases": ("DSM",)}, "distractor-right-answer"),
        ({"canonical_name": "supernumeraries"}, "distractor-right-answer"),
        ({"pinned": True}, "distractor-pinned"),
        ({"scope": ("user:universal",)}, "distractor-prelude"),
        ({"id": "b-petra"}, "duplicate-belief-id"),
        ({"superseded_by": "b-nope"}, "unknown-id"),
        ({"superseded_by": "b-idris-stings"}, "unknown-id"),
        ({"participants": ("b-petra",)}, "distractor-participants"),
    ],
)
def test_each_fault_is_told(fields: dict[str, Any], code: str) -> None:
    assert code in changed(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"user_id": "somebody-else"},
        {"scope": ("domain:nowhere",)},
        {"resolved_at": "2025-01-01T00:00:00Z"},
        {"superseded_by": "b-petra", "epistemic_status": "superseded"},
        {"type": OPEN_QUESTION},
    ],
)
def test_what_the_harness_rules_out_may_say_anything(fields: dict[str, Any]) -> None:
    assert changed(content="The smoke comes from the left wing.", **fields) == []


def test_a_place_where_a_query_takes_all_is_closed() -> None:
    user, scope = next(iter(asked_by(CORPUS).closed))
    found = codes(replace(UNRELATED, user_id=user, scope=(scope,)))
    assert "distractor-right-answer" in found


def test_copies_of_gold_are_found_wherever_they_could_be_right() -> None:
    """Every gold belief under a new id, as it is: the linter must object to each."""
    by_id = {belief.id: belief for belief in CORPUS.beliefs}
    gold = sorted({g for question in questions(CORPUS) for g in question.gold} & by_id.keys())
    assert len(gold) > 15
    for number, belief_id in enumerate(gold):
        copy = replace(by_id[belief_id], id=f"x-{number:03d}", participants=())
        assert codes(copy), belief_id


def test_ids_must_ascend() -> None:
    assert codes(UNRELATED, UNRELATED) == ["distractor-order"]


def test_it_reads_a_stream_and_keeps_none_of_it() -> None:
    read = 0

    def stream() -> Iterator[Belief]:
        nonlocal read
        for _, belief in GROWER.beliefs():
            read += 1
            yield replace(belief, participants=("b-petra",))

    found = list(islice(lint_distractors(CORPUS, stream()), 3))
    assert len(found) == 3
    assert read == 3


def test_none_at_all_is_a_warning() -> None:
    assert codes() == ["no-distractors"]
