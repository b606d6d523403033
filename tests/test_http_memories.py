"""Resolution of ids, merging by rank, and what counts as having arrived."""

from __future__ import annotations

import contextlib
import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.providers import http_wire as wire
from pmb_hf.providers.http_errors import AnswerError, TooLargeError
from pmb_hf.providers.http_memories import Found, Written, merge
from pmb_hf.providers.http_ready import has_arrived, probes, queries_for
from pmb_hf.providers.protocol import AddRow, Hit

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["results", "id", "metadata", "beliefId", "score", "memory"]), inner
        )
    ),
    max_leaves=20,
)


def row(belief_id: str, text: str = "name: text", user: str = "ana", **metadata: Any) -> AddRow:
    return AddRow(
        belief_id=belief_id, user_id=user, text=text, aliases=(), metadata={"scope": [], **metadata}
    )


@given(JSON)
def test_any_json_is_results_or_a_typed_problem(tree: Any) -> None:
    for answer in (tree, {"results": tree}, {"results": [tree]}):
        try:
            rows = wire.results_of(answer)
        except AnswerError:
            continue
        written = Written(str)
        for found in map(written.find, rows):
            assert found.hit.id is None or found.hit.id.isprintable()
            json.dumps(found.hit.score, allow_nan=False)
        with contextlib.suppress(AnswerError):
            assert all(isinstance(own, str) for own in wire.stored_ids(answer))


@given(st.binary(max_size=300))
def test_any_bytes_are_json_or_a_typed_problem(data: bytes) -> None:
    for read in (wire.load, wire.first_line):
        try:
            read(data)
        except AnswerError:
            assert read is wire.load
    assert wire.first_line(data).isprintable()


@given(st.binary(max_size=2000), st.integers(1, 2000), st.integers(1, 64), st.booleans())
def test_unpacking_never_passes_the_limit(data: bytes, limit: int, step: int, packed: bool) -> None:
    raw = gzip.compress(data) if packed else data
    unpacker = wire.Unpacker("gzip" if packed else "", limit)
    try:
        for start in range(0, len(raw), step):
            unpacker.feed(raw[start : start + step])
        assert unpacker.finish() == data
        assert len(data) <= limit
    except TooLargeError:
        assert len(data) > limit or len(raw) > limit
    assert len(unpacker.data) <= limit + 1


def test_ids_are_resolved_in_order() -> None:
    written = Written(lambda text: text.replace("key", "***"))
    written.note(row("b-1"), ["mem-1", "mem-1b"])
    written.note(row("b-2"), ["mem-2"])

    def find(own: str | None, named: str | None) -> tuple[str | None, str]:
        found = written.find(wire.Row(own, named, None, None, None))
        return found.hit.id, found.how

    assert find("b-1", "b-2") == ("b-1", "id")
    assert find("mem-2", "b-1") == ("b-1", "metadata")
    assert find("mem-2", "b-gone") == ("b-gone", "metadata")
    assert find("mem-2", "b-key") == ("b-***", "metadata")
    assert find("mem-1b", None) == ("b-1", "stored")
    assert find("mem-9", None) == (None, "none")
    assert find(None, None) == (None, "none")
    assert written.own_ids("ana", "b-1") == ["mem-1", "mem-1b"]
    assert written.own_ids("ben", "b-1") == ["b-1"]
    written.forget("ana", "b-1")
    assert written.present == [("ana", "b-2")]
    assert find("mem-1", None) == (None, "none")
    assert find("b-1", None) == ("b-1", "id")
    written.clear()
    assert find("b-1", None) == (None, "none")


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=6, unique=True), min_size=1, max_size=4),
    st.integers(1, 6),
)
def test_merging_keeps_order_and_adds_no_duplicate(ids: list[list[str]], limit: int) -> None:
    answers = [[Found(Hit(name), "id") for name in answer] for answer in ids]
    merged = [found.hit.id for found in merge(answers, limit)]
    assert len(merged) == len(set(merged))
    assert len(merged) <= max(limit, *map(len, ids))
    everything = {name for answer in ids for name in answer}
    assert set(merged) <= everything
    if len(everything) <= limit:
        assert set(merged) == everything
    firsts = [answer[0] for answer in ids if answer]
    assert merged[:1] == firsts[:1]


def test_merging_keeps_duplicates_and_excess_of_one_answer() -> None:
    answers = [[Found(Hit(name), "id") for name in "aab"], [Found(Hit(None), "none")]]
    assert [found.hit.id for found in merge(answers, 1)] == ["a", None, "a"]


@pytest.mark.parametrize(
    ("hits", "before", "now", "arrived"),
    [
        ([], None, {}, False),
        ([Hit("b-2")], None, {}, False),
        ([Hit("b-1")], None, {}, True),
        ([Hit("b-1", text="anything")], None, {}, True),
        # Hidden, as what is superseded or resolved may be.
        ([], {}, {"supersededBy": "b-2"}, True),
        ([], {}, {"resolvedAt": "2026-01-01"}, True),
        ([], {}, {"epistemicStatus": "superseded"}, True),
        # Texts: the old one, the new one, one of its own, none.
        ([Hit("b-1", text="old:  text\n")], {"text": "old: text"}, {}, False),
        ([Hit("b-1", text="name: text")], {"text": "old: text"}, {}, True),
        ([Hit("b-1", text="a summary")], {"text": "old: text"}, {}, True),
        ([Hit("b-1")], {"text": "old: text"}, {}, True),
        # States, in both spellings.
        ([Hit("b-1", metadata={"supersededBy": None})], {}, {"supersededBy": "b-2"}, False),
        ([Hit("b-1", metadata={"superseded_by": None})], {}, {"supersededBy": "b-2"}, False),
        ([Hit("b-1", metadata={"superseded_by": "b-2"})], {}, {"supersededBy": "b-2"}, True),
        ([Hit("b-1", metadata={"resolvedAt": None})], {}, {"resolvedAt": "2026"}, False),
        ([Hit("b-1", metadata={})], {}, {"supersededBy": "b-2"}, True),
    ],
)
def test_has_arrived(
    hits: list[Hit], before: dict[str, Any] | None, now: dict[str, Any], arrived: bool
) -> None:
    old = None if before is None else row("b-1", **{"text": "name: text", **before})
    assert has_arrived(hits, row("b-1", **now), old) is arrived


def test_queries_and_probes() -> None:
    assert queries_for(row("b", "kiln, oven: Bakes: bread")) == [
        "kiln, oven",
        "kiln, oven: Bakes: bread",
    ]
    assert queries_for(row("b", "just text")) == ["just text"]
    assert queries_for(row("b", "  ")) == ["b"]
    assert max(map(len, queries_for(row("b", "x" * 9000)))) <= 1000
    rows = [row("1"), row("2", user="ben"), row("3"), row("4")]
    assert [probe["belief_id"] for probe in probes(rows)] == ["1", "4", "2"]
    assert list(probes([])) == []


@given(st.text())
def test_clean_text_is_printable_and_stays_so(text: str) -> None:
    cleaned = wire.clean(text)
    assert cleaned.isprintable()
    assert wire.clean(cleaned) == cleaned
    assert len(wire.cut(cleaned)) <= 200
